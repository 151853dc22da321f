"""What becomes of an element that comes when there is no room for it."""

from __future__ import annotations

from enum import Enum

__all__ = ["Overflow", "checked_overflow"]


class Overflow(Enum):
    """What becomes of an element that comes when there is no room for it.

    Wherever one is taken, its value does as well: ``overflow="drop_oldest"``. Which of them a place takes, it says.
    The names are Reactor's.
    """

    ERROR = "error"
    """The stream fails with ``BufferOverflow``, after what was held."""

    DROP_OLDEST = "drop_oldest"
    """The element that has been held longest makes room."""

    DROP_LATEST = "drop_latest"
    """The element that just came is dropped; what was held stays."""

    BUFFER = "buffer"
    """It is held all the same: the buffer grows without a bound."""

    DROP = "drop"
    """Nothing is held: an element that nobody has demanded is dropped."""

    LATEST = "latest"
    """One element is held, and the next one takes its place."""


def checked_overflow(value: Overflow | str, *allowed: Overflow, parameter: str = "overflow") -> Overflow:
    """Return the strategy that the value names, if it is one of those allowed here; of all, when none are given.

    Raises:
        TypeError: it is neither an Overflow nor a string.
        ValueError: it names none, or one that is not allowed here.

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
