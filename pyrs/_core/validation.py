"""Validate the arguments of public functions."""

from __future__ import annotations

from math import inf
from operator import index
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyrs._core.display import kind_of
from pyrs._core.sites import is_coroutine_function
from pyrs.api import T
from pyrs.errors import NullSignal

if TYPE_CHECKING:
    from datetime import timedelta

Seconds: TypeAlias = "float | timedelta"
"""A duration. The text is resolved by type checkers only: datetime is a slow import."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final[Any] = _Missing()
"""Represents the absence of an argument or an element where None could not represent it."""


def checked_callable(function: T, parameter: str, *, awaited: bool = False) -> T:
    """Return the function, or raise a TypeError if it cannot be called.

    Also raise a TypeError for a coroutine function, unless ``awaited`` says that the caller awaits its coroutines. A
    coroutine that is not awaited never runs: every predicate would be true, and all keys would differ.
    """
    if not callable(function):
        raise TypeError(f"{parameter} must be callable, not {type(function).__name__}")
    if not awaited and is_coroutine_function(function):
        raise TypeError(
            f"{parameter} must be a plain function: nothing awaits a coroutine here; "
            "map, flat_map and for_each take coroutine functions, and from_awaitable creates a stream of the result"
        )
    return function


def checked_error(error: BaseException) -> BaseException:
    """Return the argument if it is an exception.

    Raises NullSignal for None, and TypeError for another object.
    """
    if error is None:
        raise NullSignal("error must not be None")
    if not isinstance(error, BaseException):
        raise TypeError(f"error must be an exception, not {type(error).__name__}")
    return error


def checked_given(value: T, parameter: str) -> T:
    """Return the value of a parameter, or raise a NullSignal if it is None."""
    if value is None:
        raise NullSignal(f"{parameter} must not be None: None is not an element")
    return value


def checked_integer(n: int, parameter: str) -> int:
    """Return ``n`` as an int, or raise a TypeError if it is not an integer."""
    try:
        return index(n)
    except TypeError:
        raise TypeError(f"{parameter} must be an integer, not {type(n).__name__}") from None


def checked_natural(n: int, parameter: str, least: int = 0) -> int:
    """Return ``n`` as an int, or raise a ValueError if it is less than ``least``."""
    n = checked_integer(n, parameter)
    if n < least:
        raise ValueError(f"{parameter} must be at least {least}, not {n}")
    return n


def checked_number(value: object, parameter: str, what: str = "a number") -> float:
    """Return a real number as a float; infinity if it is too large.

    Decimals, Fractions and numpy scalars are numbers; strings are not, and raise a TypeError.
    """
    try:
        if hasattr(value, "as_integer_ratio") or hasattr(value, "__index__"):
            return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return inf
    except TypeError:  # an array with several elements
        pass
    raise TypeError(f"{parameter} must be {what}, not {type(value).__name__}")


def checked_seconds(value: Seconds, parameter: str, *, positive: bool = False) -> float:
    """Return the seconds of a number or a timedelta; ``positive`` rejects 0."""
    if not isinstance(value, (int, float)) and hasattr(value, "total_seconds"):  # a timedelta
        value = value.total_seconds()
    seconds = checked_number(value, parameter, "a number of seconds or a timedelta")
    if not 0.0 <= seconds < inf or (positive and not seconds):
        least = "greater than" if positive else "at least"
        raise ValueError(f"{parameter} must be finite and {least} 0 seconds, not {seconds}")
    return seconds


def checked_timeout(value: Seconds, parameter: str) -> float:
    """Return the seconds of a wait, at most the maximum of the standard library."""
    return min(checked_seconds(value, parameter), TIMEOUT_MAX)


def checked_string(value: T, parameter: str) -> T:
    """Return the value, or raise a TypeError if it is not a string."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter} must be a string, not {type(value).__name__}")
    return value


def checked_publisher(publisher: T, parameter: str) -> T:
    """Return the publisher, or raise a TypeError if it is not a Publisher."""
    if isinstance(publisher, type):
        raise TypeError(f"{parameter} must be a Publisher, not {kind_of(publisher)}")
    if not callable(getattr(publisher, "subscribe", None)):
        advice = "; pyrs.from_iterable converts an iterable to a stream" if hasattr(publisher, "__iter__") else ""
        raise TypeError(f"{parameter} must be a Publisher: {type(publisher).__name__} has no subscribe(){advice}")
    return publisher


def checked_element(element: T | None, what: str) -> T:
    """Return an element, or raise a NullSignal that names its origin ``what``."""
    if element is None:
        raise NullSignal(f"None is not an element: {what} returned None")
    return element
