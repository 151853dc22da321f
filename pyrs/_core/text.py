"""How streams are shown, and arguments checked where they enter."""

from __future__ import annotations

from operator import index
from reprlib import Repr
from typing import Any, TypeVar

__all__ = ["checked_callable", "checked_natural", "name_of", "short"]

F = TypeVar("F")

_short = Repr()
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxdict = 4
_short.maxother = _short.maxstring = 40
short = _short.repr
"""A repr that stays on one line."""


def name_of(function: Any) -> str:
    """Return the name by which a reader knows the function."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else short(function)


def checked_callable(function: F, parameter: str) -> F:
    """Return the function if it can be called.

    Raises:
        TypeError: it cannot.
    """
    if not callable(function):
        raise TypeError(f"{parameter} must be callable, not {type(function).__name__}")
    return function


def checked_natural(n: int, parameter: str, least: int = 0) -> int:
    """Return n if it is an integer of at least ``least``.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is too small.
    """
    try:
        n = index(n)
    except TypeError:
        raise TypeError(f"{parameter} must be an integer, not {type(n).__name__}") from None
    if n < least:
        raise ValueError(f"{parameter} must be at least {least}, not {n}")
    return n
