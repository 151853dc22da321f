"""Detect a blocked event loop on a busy machine: compare the ticks of the loop with the beats of a thread.

A busy machine slows both, but not equally: the loop may miss two seconds of beats while the thread runs on another
processor.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.waiting import DEADLINE

T = TypeVar("T")
BEAT_SECONDS = 0.002
BLOCKED_BEATS = 1_000


def run_at_pace(main: Coroutine[Any, Any, T]) -> tuple[T, list[int]]:
    """Run a coroutine alongside one that ticks; fail if the loop is blocked for two seconds of beats.

    Returns:
        The result of the coroutine, and the numbers of beats between the ticks of the loop.
    """
    beats = 0
    missed: list[int] = []
    finished = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not finished.wait(BEAT_SECONDS):
            beats += 1

    async def tick() -> None:
        seen = beats
        while True:
            try:
                await asyncio.sleep(BEAT_SECONDS)
            finally:  # also when it is cancelled, because the loop may be blocked until the end
                missed.append(beats - seen)
            seen = beats

    async def with_ticker() -> T:
        ticker = asyncio.create_task(tick())
        try:
            return await asyncio.wait_for(main, DEADLINE)
        finally:
            ticker.cancel()

    thread = threading.Thread(target=beat, name="pace", daemon=True)
    thread.start()
    try:
        result = asyncio.run(with_ticker())
    finally:
        finished.set()
        thread.join(DEADLINE)
    assert missed and max(missed) < BLOCKED_BEATS, f"the loop was blocked for {max(missed)} beats of a thread"
    return result, missed
