"""What the demo shows: plain text, also fine in a file; at a terminal the line of progress is written over itself."""

from __future__ import annotations

import sys
from typing import TextIO

from pyrs._demo.pipeline import Progress

DIAGRAM = """\
      JVM                    Python                 JVM                       Python
  +----------------+     +-----------------+    +-----------------------+    +-------------------+
  | Reactor Flux   | --> | RatingProcessor | -> | SubmissionPublisher   | -> | PatientSubscriber |
  | of ratings     |     | parse, keep 3+  |    | java.util.concurrent  |    | {batch:>3} at a time,    |
  |                |     | stars, enrich   |    | .Flow, holds {buffer:>3}      |    | then a rest       |
  +----------------+     +-----------------+    +-----------------------+    +-------------------+
          <------------ request(n): how many more each one can take ---------------
"""

_COLUMNS = ("seconds", "published", "seen", "kept", "submitted", "taken", "asked for")
_OWNERS = ("", "Reactor", "Processor", "Processor", "Submission", "Subscriber", "Subscriber")
_WIDTH = 12


class Screen:
    """Prints in the order in which things happen, at once."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._terminal = self._out.isatty()
        self._unfinished = False

    def finish_line(self) -> None:
        """Ends the line of progress, if it is one that is written over."""
        if self._unfinished:
            self._out.write("\n")
            self._out.flush()
            self._unfinished = False

    def say(self, text: str = "") -> None:
        """A line, or several."""
        self.finish_line()
        print(text, file=self._out, flush=True)

    def title(self, text: str) -> None:
        """The beginning of a part."""
        self.say(f"\n{text}\n{'-' * len(text)}")

    def fact(self, label: str, text: str) -> None:
        """One thing to know; what it is about stands on the left."""
        self.say(f"  {label:<30} {text}")

    def progress_head(self) -> None:
        """What the columns of `progress` are."""
        self.say("".join(name.rjust(_WIDTH) for name in _OWNERS))
        self.say("".join(name.rjust(_WIDTH) for name in _COLUMNS))

    def progress(self, seconds: float, now: Progress) -> None:
        """One line of the live table; a terminal sees it move."""
        numbers = (now.published, now.seen, now.kept, now.submitted, now.taken, now.asked)
        row = f"{seconds:{_WIDTH}.1f}" + "".join(f"{number:{_WIDTH},}" for number in numbers)
        if self._terminal:
            self._out.write("\r" + row)
            self._unfinished = True
            self._out.flush()
        else:
            self.say(row)
