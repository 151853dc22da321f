"""Overflow: the strategies for elements that exceed demand and buffer capacity."""

from __future__ import annotations

from enum import Enum


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


def checked_overflow(value: Overflow | str, *allowed: Overflow) -> Overflow:
    """Return the member that a member or its value stands for, if it is allowed.

    Without ``allowed``, every member is.
    """
    if not isinstance(value, (Overflow, str)):
        raise TypeError(f"overflow must be an Overflow or its value, not {type(value).__name__}")
    choice = allowed or tuple(Overflow)
    for each in choice:
        if value is each or value == each.value:
            return each
    given = value.value if isinstance(value, Overflow) else value
    raise ValueError(f"overflow must be one of {', '.join(repr(each.value) for each in choice)}, not {given!r}")
