"""Record which line of user code assembles an operator, for notes on its errors.

Each operator records the line of user code that called it: a few stack frames are inspected when a stream is built, and
none per element. An error of an operator gets a note with the operator's call and that line, which Python prints below
the traceback.
"""

from __future__ import annotations

import sys
from functools import partial, partialmethod
from os.path import dirname, join
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, cast

if TYPE_CHECKING:
    from types import CodeType, FrameType

_MAX_NOTES = 32
"""The maximum number of notes per error. A replayed error receives further notes from each stream."""

_MAX_RAISES: Final = 8
"""The number of times that an error is raised before its traceback is reset."""


class Site(NamedTuple):
    """A line of source code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def assembly_site() -> Site | None:
    """Return the line of the innermost stack frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):  # is_own_code inlined: this runs for each operator of each stream
            return Site(file, frame.f_lineno)
        frame = frame.f_back
    return None


_COROUTINE = 0x80 | 0x100  # inspect.CO_COROUTINE, inspect.CO_ITERABLE_COROUTINE
_PACKAGE = join(dirname(dirname(assembly_site.__code__.co_filename)), "")  # __file__ may be spelled differently


def is_own_code(file: str) -> bool:
    """Return whether a code object's file belongs to this package."""
    return file.startswith(_PACKAGE)


def blame(error: BaseException, call: object, site: Site | None) -> None:
    """Add a note with the operator call that raised the error, and its line."""
    add_note(error, f"in {call}" + (f", assembled at {site}" if site else ""))


def code_of(function: object) -> CodeType | None:
    """Return the code object of a function or callable, or None if it has none."""
    for _ in range(8):  # limits the nesting of partials and bound methods
        code = getattr(function, "__code__", None)
        if code is not None:
            return cast("CodeType", code)
        inner = _inner(function)
        if inner is None:
            return None if isinstance(function, type) else getattr(_call_of(function), "__code__", None)
        function = inner
    return None


def _inner(function: object) -> object:
    """Return the function of a partial or a bound method, None for others."""
    if isinstance(function, partial | partialmethod):
        return function.func
    return getattr(function, "__func__", None)


def is_coroutine_function(function: object) -> bool:
    """Return whether a call of the function returns a coroutine.

    Does not import ``inspect``, which is slow. True for functions defined by ``async def`` and for those marked as
    such. A plain function that returns a coroutine is not recognized: see ``checked_result``.
    """
    code = code_of(function)
    return (code is not None and bool(code.co_flags & _COROUTINE)) or _is_marked(function)


def _is_marked(function: object) -> bool:
    """Return whether ``inspect`` or ``asyncio`` marked this as a coroutine function."""
    for _ in range(8):
        for name in ("_is_coroutine_marker", "_is_coroutine"):
            if type(getattr(function, name, None)) is object:  # the marker; a mock has every attribute
                return True
        inner = _inner(function)
        if inner is None:
            return False
        function = inner
    return False


def _call_of(function: object) -> object:
    return next((vars(each)["__call__"] for each in type(function).__mro__ if "__call__" in vars(each)), None)


def code_of_iterator(iterator: object) -> CodeType | None:
    """Return the code object of the iterator's ``__next__``, or None if it has none."""
    code = getattr(iterator, "gi_code", None)
    return code if code is not None else code_of(getattr(type(iterator), "__next__", None))


def add_note(error: BaseException, note: str) -> None:
    """Add a note to the error once; Python 3.10 stores notes but does not print them."""
    try:
        notes = getattr(error, "__notes__", ())
        if note not in notes and len(notes) < _MAX_NOTES:
            # Not error.add_note: Python 3.10 has none, and a frozen exception rejects attributes.
            BaseException.__setattr__(error, "__notes__", [*notes, note])
    except Exception:  # a third-party exception may reject attributes; the note is optional
        pass


def raise_again(error: BaseException) -> NoReturn:
    """Raise an error that was received in ``on_error``.

    A cached or replayed error may be raised any number of times. Each raise adds frames to its traceback, which refer
    to their local variables. Therefore the traceback is reset after several raises, but not after the first one,
    because the frames of nested streams help to debug.
    """
    original_traceback = entry = error.__traceback__
    raises = 0
    while entry is not None:
        if entry.tb_frame.f_code is raise_again.__code__:
            raises += 1
            original_traceback = entry.tb_next
        entry = entry.tb_next
    try:
        raise error if raises < _MAX_RAISES else error.with_traceback(original_traceback)
    finally:
        # Breaks the reference cycle of the error, its traceback and this frame.
        del error, original_traceback
