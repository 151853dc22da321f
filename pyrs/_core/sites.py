"""Where an operator was assembled, and how an error comes to say so.

Each operator remembers the line of user code that called it: one look at a few stack frames when a stream is built,
nothing for each element. An error that arises in an operator is given a note with its name and that line, which
Python prints below the traceback.
"""

from __future__ import annotations

import sys
from os.path import dirname, join
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from types import CodeType, FrameType

__all__ = ["Site", "add_note", "assembly_site", "code_of", "is_ours"]

_PACKAGE = join(dirname(dirname(__file__)), "")


class Site(NamedTuple):
    """A line of source code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def assembly_site() -> Site | None:
    """Return the innermost line on the stack that is not of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_ours(file):
            return Site(file, frame.f_lineno)
        frame = frame.f_back
    return None


def is_ours(file: str) -> bool:
    """Return whether a code object's file belongs to this package."""
    return file.startswith(_PACKAGE)


def code_of(function: object) -> CodeType | None:
    """Return the code that runs when the function is called, None if it is not Python's."""
    for _ in range(8):  # a partial of a method of a ... ends somewhere
        code = getattr(function, "__code__", None)
        if code is not None:
            return cast("CodeType", code)
        inner = getattr(function, "func", None) or getattr(function, "__func__", None)
        if inner is None:
            return None if isinstance(function, type) else getattr(_call_of(function), "__code__", None)
        function = inner
    return None


def _call_of(function: object) -> object:
    return next((vars(each)["__call__"] for each in type(function).__mro__ if "__call__" in vars(each)), None)


def add_note(error: BaseException, note: str) -> None:
    """Add a note to the error, once. Python 3.10 keeps notes, but does not print them."""
    notes = getattr(error, "__notes__", ())
    if note in notes:
        return
    try:
        if sys.version_info >= (3, 11):
            error.add_note(note)
        else:
            error.__notes__ = [*notes, note]  # type: ignore[attr-defined]
    except Exception:  # a foreign exception may refuse; what it says by itself must do
        pass
