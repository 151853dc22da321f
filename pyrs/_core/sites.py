"""Where an operator was assembled, and how an error comes to say so.

Each operator remembers the line of user code that called it: one look at a few stack frames when a stream is built,
nothing for each element. An error that arises in an operator is given a note with its name and that line, which
Python prints below the traceback.
"""

from __future__ import annotations

import sys
from os.path import dirname, join
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, cast

if TYPE_CHECKING:
    from types import CodeType, FrameType

__all__ = [
    "Site",
    "add_note",
    "assembly_site",
    "blame",
    "code_of",
    "code_of_iterator",
    "is_coroutine_function",
    "is_ours",
    "raise_again",
]

_MOST_NOTES = 32
"""The most notes an error is given. One that is kept and signalled for ever would grow otherwise."""

_MOST_RAISES: Final = 8
"""How often an error may be raised again before its traceback is cut back to the one that it came with."""


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
        if not file.startswith(_PACKAGE):  # as is_ours, without the call: this runs for each operator of each stream
            return Site(file, frame.f_lineno)
        frame = frame.f_back
    return None


_COROUTINE = 0x80 | 0x100  # inspect.CO_COROUTINE, inspect.CO_ITERABLE_COROUTINE
_PACKAGE = join(dirname(dirname(assembly_site.__code__.co_filename)), "")  # __file__ may be spelled in another way


def is_ours(file: str) -> bool:
    """Return whether a code object's file belongs to this package."""
    return file.startswith(_PACKAGE)


def blame(error: BaseException, call: str, site: Site | None) -> None:
    """Note on the error in which call it arose, and where that was assembled."""
    add_note(error, f"in {call}" + (f", assembled at {site}" if site else ""))


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


def is_coroutine_function(function: object) -> bool:
    """Return whether a call gives a coroutine: without ``inspect``, which takes long to import.

    True for functions made by ``async def`` and for those marked as such. A plain function that returns a coroutine is
    not recognized: see ``checked_result``.
    """
    code = code_of(function)
    return (code is not None and bool(code.co_flags & _COROUTINE)) or _is_marked(function)


def _is_marked(function: object) -> bool:
    """Return whether ``inspect.markcoroutinefunction`` was there (3.12), or what libraries did before it came."""
    for _ in range(8):
        for name in ("_is_coroutine_marker", "_is_coroutine"):
            if type(getattr(function, name, None)) is object:  # the marks; a mock has anything by any name
                return True
        inner = getattr(function, "func", None) or getattr(function, "__func__", None)
        if inner is None:
            return False
        function = inner
    return False


def _call_of(function: object) -> object:
    return next((vars(each)["__call__"] for each in type(function).__mro__ if "__call__" in vars(each)), None)


def code_of_iterator(iterator: object) -> CodeType | None:
    """Return the code that runs when the iterator is asked for its next element, None if it is not Python's."""
    code = getattr(iterator, "gi_code", None)
    return code if code is not None else code_of(getattr(type(iterator), "__next__", None))


def add_note(error: BaseException, note: str) -> None:
    """Add a note to the error, once. Python 3.10 keeps notes, but does not print them."""
    try:
        notes = getattr(error, "__notes__", ())
        if note not in notes and len(notes) < _MOST_NOTES:
            # Not error.add_note: 3.10 has none, and one that is frozen refuses every attribute.
            BaseException.__setattr__(error, "__notes__", [*notes, note])
    except Exception:  # a foreign exception may refuse all the same; what it says by itself must do
        pass


def raise_again(error: BaseException) -> NoReturn:
    """Raise an error that was signalled.

    It may be signalled to many, for ever: one that is cached, or replayed. Python puts the frames of whoever it passes
    in front of its traceback, and all that those hold stays alive with it. So they are dropped, after a while: an error
    that comes up through streams within streams tells of them all.
    """
    came_with = entry = error.__traceback__
    raises = 0
    while entry is not None:
        if entry.tb_frame.f_code is raise_again.__code__:
            raises += 1
            came_with = entry.tb_next
        entry = entry.tb_next
    try:
        raise error if raises < _MOST_RAISES else error.with_traceback(came_with)
    finally:
        del error, came_with  # or the error, its traceback and this frame keep each other alive
