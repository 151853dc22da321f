"""Wait, with a deadline, for a signal, another thread, another process or the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyrs.testing import TestSubscriber

DEADLINE = 30.0
"""Seconds until a wait fails. Long enough that a slow machine never reaches it."""

MILLIS = int(DEADLINE * 1_000)

Message = str | Callable[[], str]
"""The message of a failure; a function is called only on failure."""


def recording(request: int = 0, again: int = 0, *, blocks: threading.Event | None = None) -> TestSubscriber[Any]:
    """Return a TestSubscriber whose waits end at DEADLINE.

    It requests ``request`` elements, and ``again`` after each element. ``on_next`` waits for ``blocks`` if given.
    """

    def received(subscriber: TestSubscriber[Any], element: object) -> None:
        if blocks is not None:
            blocks.wait(DEADLINE * 4)
        if again:
            subscriber.request(again)

    return TestSubscriber(request, on_element=received if again or blocks else None, timeout=DEADLINE)


@contextmanager
def on_threads(*tasks: Callable[[], object]) -> Iterator[None]:
    """Run each task on its own thread; at the end of the block, wait for all of them."""
    threads = [threading.Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(DEADLINE)
    assert not any(thread.is_alive() for thread in threads), "a task did not return in time"


def run_on_threads(*tasks: Callable[[], object]) -> None:
    """Run each task on its own thread, and wait for all of them."""
    with on_threads(*tasks):
        pass


def eventually(
    condition: Callable[[], object], what: Message = "the condition never became true", seconds: float = DEADLINE
) -> None:
    """Poll until the condition is true."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what if isinstance(what, str) else what()
        pause.wait(0.005)


async def eventually_on_loop(
    condition: Callable[[], object], what: Message = "the condition never became true", seconds: float = DEADLINE
) -> None:
    """Yield to the running asyncio loop until the condition is true, without creating a task."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what if isinstance(what, str) else what()
        await asyncio.sleep(0)


def collected(condition: Callable[[], object], what: Message = "the object is still referenced") -> None:
    """Run the garbage collector until the condition is true.

    One run is not enough. While another thread collects, or runs the finalizers that its collection found,
    ``gc.collect()`` collects nothing and returns at once. A thread that has just finished may still reference its last
    frame.
    """

    def collect_and_check() -> object:
        gc.collect()
        return condition()

    eventually(collect_and_check, what)


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the garbage collector, so that an interrupt or a RecursionError cannot hit an unrelated finalizer.

    Python swallows exceptions that a finalizer or the callback of a weak reference raises.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
