"""Waiting, with a deadline, for what others do in their own time: another thread, process or the garbage collector."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DEADLINE = 30.0
"""Seconds; what never comes fails so late, and only that: a slow machine must not."""


Message = str | Callable[[], str]
"""What to say of a failure; a function is called only then."""


def eventually(
    condition: Callable[[], object], what: Message = "it never came to be", seconds: float = DEADLINE
) -> None:
    """Looks again and again until it is so."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what if isinstance(what, str) else what()
        pause.wait(0.005)


def collected(condition: Callable[[], object], what: Message = "something still holds it") -> None:
    """Collects garbage until it is so.

    Once is not enough: while another thread collects (or runs the finalizers that its collection found),
    `gc.collect()` collects nothing and returns at once; and a thread that has just ended may hold its last frame.
    """

    def so() -> object:
        gc.collect()
        return condition()

    eventually(so, what)


@contextmanager
def uncollected() -> Iterator[None]:
    """Collects no garbage inside: where an interrupt or the end of the stack must not strike a finalizer of others.

    Python swallows what a finalizer or the callback of a weak reference raises.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
