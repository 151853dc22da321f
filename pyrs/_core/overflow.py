"""Overflow: the strategies for elements that exceed demand and buffer capacity."""

from __future__ import annotations

from enum import Enum

__all__ = ["Overflow", "checked_overflow"]


class Overflow(Enum):
    """The strategies for an element that exceeds demand when the buffer is full.

    A parameter accepts a member or its value, such as ``overflow="drop_oldest"``, and documents which members it
    allows. The names are Reactor's.
    """

    ERROR = "error"
    """The stream fails with ``BufferOverflow``, after the buffered elements."""

    DROP_OLDEST = "drop_oldest"
    """The oldest buffered element is dropped."""

    DROP_LATEST = "drop_latest"
    """The new element is dropped."""

    BUFFER = "buffer"
    """The element is buffered without a bound: memory grows."""

    DROP = "drop"
    """There is no buffer: an element without demand is dropped."""

    LATEST = "latest"
    """One element is buffered; a new one replaces it."""


def checked_overflow(value: Overflow | str, *allowed: Overflow, parameter: str = "overflow") -> Overflow:
    """Return the strategy of a member or value, if it is one of those allowed.

    All strategies are allowed if none are given.

    Raises:
        TypeError: ``value`` is neither an Overflow nor a string.
        ValueError: ``value`` names no strategy, or one that is not allowed.

    Examples:
        >>> checked_overflow("error", Overflow.ERROR, Overflow.DROP)
        <Overflow.ERROR: 'error'>
    """
    if not isinstance(value, (Overflow, str)):
        raise TypeError(f"{parameter} must be an Overflow or its name, not {type(value).__name__}")
    choice = allowed or tuple(Overflow)
    for each in choice:
        if value is each or value == each.value:
            return each
    given = value.value if isinstance(value, Overflow) else value
    raise ValueError(f"{parameter} must be one of {', '.join(repr(each.value) for each in choice)}, not {given!r}")
