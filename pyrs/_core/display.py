"""Format values, functions and types for reprs and messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from reprlib import Repr
from typing import Any


class _Short(Repr):
    """Formats bytes like strings: ``Repr`` would format the whole value first."""

    repr_bytes = repr_bytearray = Repr.repr_str


_short = _Short()
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxdict = 4
_short.maxother = _short.maxstring = 40


def short(value: object) -> str:
    """Return a repr of limited length."""
    try:
        return _short.repr(value)
    except Exception:  # reprlib reads ``__class__`` of a third-party value whose repr raised
        return f"<{type(value).__name__} object>"


def clipped(text: str, most: int = 160) -> str:
    """Return the text, without its middle if it is longer than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-most // 4 :]}"


def listed(elements: Sequence[Any]) -> str:
    """Return the first eight elements, separated by commas."""
    return ", ".join([*map(short, elements[:8]), *(["..."] if len(elements) > 8 else [])])


def name_of(function: Any) -> str:
    """Return the display name of a function, which is the same in each process."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if isinstance(name, str):
        return name.rpartition("<locals>.")[2]
    if isinstance(function, partial):
        return f"functools.partial({name_of(function.func)})"
    kind = type(function)
    if getattr(kind, "__repr__", None) is object.__repr__:  # it contains an address
        return f"<{kind.__module__}.{kind.__qualname__} object>"
    return short(function)


def kind_of(value: object) -> str:
    """Return the type of a value for a message, or the name of a class."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
