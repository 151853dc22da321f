"""Call a function at a line that the test chooses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any


class AtLine:
    """Calls a function at the n-th line that the traced code runs on this thread.

    Args:
        traced: the functions, or the names of the files, whose lines count.
        line: n.
        call: the function to call.

    Attributes:
        place: the name of the function and the number of the line, when it was reached.
    """

    def __init__(self, traced: Iterable[Any], line: int, call: Callable[[], object]) -> None:
        self.traced = {getattr(each, "__code__", each) for each in traced}
        self.line = line
        self.call = call
        self.seen = 0
        self.place = ""

    @property
    def reached(self) -> bool:
        return self.seen >= self.line

    def __enter__(self) -> AtLine:
        self.before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *ignored: object) -> None:
        sys.settrace(self.before)

    def _trace(self, at: FrameType, event: str, argument: object) -> Any:
        counts = at.f_code in self.traced or at.f_code.co_filename in self.traced
        return self._look if counts and not self.reached else None

    def _look(self, at: FrameType, event: str, argument: object) -> Any:
        if event == "line" and not self.reached:
            self.seen += 1
            if self.reached:
                sys.settrace(None)
                self.place = f"{at.f_code.co_name}:{at.f_lineno}"
                self.call()
        return self._look
