"""A loop that stands still, told from a machine that does: a thread beats beside it, and a busy machine slows both.

Not quite alike: of two processors one may stand still alone. So the loop is given two seconds of the thread's beats.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.shutdown.recorder import DEADLINE

T = TypeVar("T")
BEAT_SECONDS = 0.002
STOOD_STILL_BEATS = 1_000


def run_at_pace(main: Coroutine[Any, Any, T]) -> tuple[T, list[int]]:
    """Runs a coroutine beside one that ticks; fails if the loop stood still for two seconds of the thread's beats.

    Returns what the coroutine returned, and how many beats went by from each tick of the loop to the next.
    """
    beats = 0
    missed: list[int] = []
    over = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not over.wait(BEAT_SECONDS):
            beats += 1

    async def tick() -> None:
        seen = beats
        while True:
            try:
                await asyncio.sleep(BEAT_SECONDS)
            finally:  # also where it is cancelled: the loop may have stood still until the very end
                missed.append(beats - seen)
            seen = beats

    async def beside() -> T:
        ticker = asyncio.create_task(tick())
        try:
            return await asyncio.wait_for(main, DEADLINE)
        finally:
            ticker.cancel()

    thread = threading.Thread(target=beat, name="pace", daemon=True)
    thread.start()
    try:
        result = asyncio.run(beside())
    finally:
        over.set()
        thread.join(DEADLINE)
    assert missed and max(missed) < STOOD_STILL_BEATS, f"the loop stood still for {max(missed)} beats of a thread"
    return result, missed
