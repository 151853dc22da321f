"""Which thread waits for a stream, so that nothing of that stream is left to a loop that stands still meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any, TypeVar

__all__ = ["is_blocked", "while_blocked"]

R = TypeVar("R")


class _Here(local):
    blocked = False


_here = _Here()


def is_blocked() -> bool:
    """Return whether this thread runs a stream for which it is about to wait: no loop turns on it until that ends."""
    return _here.blocked


def while_blocked(function: Callable[..., R], *arguments: Any) -> R:
    """Call the function as one that starts, or drives, a stream for which this thread waits."""
    before, _here.blocked = _here.blocked, True
    try:
        return function(*arguments)
    finally:
        _here.blocked = before
