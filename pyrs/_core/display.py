"""Format values, functions and types for reprs and messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from reprlib import Repr
from typing import Any

_CONTAINERS: Any = (list, dict, set, frozenset, deque, type({}.keys()), type({}.values()), type({}.items()))


class _Short(Repr):
    """Formats a part of a long value: ``Repr`` formats some types as a whole."""

    repr_bytes = repr_bytearray = Repr.repr_str

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, _CONTAINERS) and len(x) > self.maxlist:  # such as a Counter, or the items of a dict
            return f"<{type(x).__name__} of {len(x)} elements>"
        return super().repr_instance(x, level)


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


class LazyText:
    """Text that is formatted when it is shown: a repr may be slow, or run a query."""

    def __init__(self, show: Callable[..., str], *arguments: Any) -> None:
        self._show = show
        self._arguments = arguments
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            try:
                self._text = self._show(*self._arguments)
            except Exception as error:  # raised by a third-party repr, which must not replace a noted error
                self._text = f"<a call whose repr raised {type(error).__name__}>"
        return self._text


def call_of(name: str, show: Callable[[Any], str], value: Any) -> LazyText:
    """Return the text of a call; ``show`` formats the value as its arguments."""
    return LazyText(_call, name, show, value)


def _call(name: str, show: Callable[[Any], str], value: Any) -> str:
    return f"{name}({show(value)})"


def chained(source: object, call: object) -> str:
    """Return the text of a call on a source.

    The call is empty if another operator shows it: ``share()`` is one call and two operators.
    """
    text = str(call)
    return f"{source!r}.{text}" if text else repr(source)


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
