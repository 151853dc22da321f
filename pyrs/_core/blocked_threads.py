"""Track threads blocked on a stream.

No work of the stream may be scheduled on the event loop of such a thread, which is stalled.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any, TypeVar

R = TypeVar("R")


class _ThreadState(local):
    blocked = False


_this_thread = _ThreadState()


def is_blocked() -> bool:
    """Return whether this thread blocks on a stream, so that its loop is stalled."""
    return _this_thread.blocked


def while_blocked(function: Callable[..., R], *arguments: Any) -> R:
    """Call a function that starts or drives a stream on which this thread blocks."""
    before, _this_thread.blocked = _this_thread.blocked, True
    try:
        return function(*arguments)
    finally:
        _this_thread.blocked = before
