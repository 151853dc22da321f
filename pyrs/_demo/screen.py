"""Print the demo's output as plain text.

At a terminal the progress line is overwritten in place; elsewhere each update is a line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

DIAGRAM = """\
      JVM                    Python                 JVM                       Python
  +----------------+     +-----------------+    +-----------------------+    +-------------------+
  | Reactor Flux   | --> | RatingProcessor | -> | SubmissionPublisher   | -> | PatientSubscriber |
  | of ratings     |     | parse, keep 3+  |    | java.util.concurrent  |    | {batch:>3} at a time,    |
  |                |     | stars, enrich   |    | .Flow, buffers {buffer:>3}    |    | then a pause      |
  +----------------+     +-----------------+    +-----------------------+    +-------------------+
          <------------------ request(n): the demand of each stage -----------------
"""

_COLUMNS = ("seconds", "published", "seen", "kept", "submitted", "taken", "requested")
_OWNERS = ("", "Reactor", "Processor", "Processor", "Submission", "Subscriber", "Subscriber")
_WIDTH = 12


class Screen:
    """Print lines, and flush each one."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._terminal = self._out.isatty()
        self._unfinished = False
        self.error: OSError | None = None  # of a write that failed

    def finish_line(self) -> None:
        """Write a line break after a progress line that is overwritten in place."""
        if self._unfinished:
            self._unfinished = False
            self._write("\n")

    def say(self, text: str = "") -> None:
        """Print one or more lines."""
        self.finish_line()
        self._write(f"{text}\n")

    def title(self, text: str) -> None:
        """Print an underlined heading."""
        self.say(f"\n{text}\n{'-' * len(text)}")

    def fact(self, label: str, text: str) -> None:
        """Print a label and its value."""
        self.say(f"  {label:<30} {text}")

    def progress_head(self) -> None:
        """Print the column headings of ``progress``."""
        self.say("".join(name.rjust(_WIDTH) for name in _OWNERS))
        self.say("".join(name.rjust(_WIDTH) for name in _COLUMNS))

    def progress(self, seconds: float, numbers: Sequence[int]) -> None:
        """Print one row of the live table."""
        row = f"{seconds:{_WIDTH}.1f}" + "".join(f"{number:{_WIDTH},}" for number in numbers)
        if self._terminal:
            self._unfinished = True
            self._write("\r" + row)
        else:
            self.say(row)

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except OSError as error:
            self.error = error
            raise
