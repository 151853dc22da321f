"""A coroutine function that runs as a task of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from pyrs.aio.loops import loop_for, run_on


def start_task(
    function: Callable[[], Any],
    context: Context | None,
    on_failure: Callable[[BaseException], object],
) -> Callable[[], None]:
    """Run the function as a task, on the running loop or else the background loop.

    Args:
        function: called on the loop; its result is awaited.
        context: the context variables of the call.
        on_failure: called on the loop with the task's exception; with a RuntimeError after a cancel by others.

    Returns:
        A function that cancels the task, once, from any thread. Only the task's own exceptions are reported after that.
    """
    loop = loop_for()
    task: asyncio.Task[None] | None = None
    cancelled = stopped = False

    async def run() -> None:
        await function()

    def launch() -> None:
        nonlocal task
        if not cancelled:
            task = loop.create_task(run())
            task.add_done_callback(done)
            if cancelled:  # by the coroutine itself, which an eager task factory has started
                stop()  # type: ignore[unreachable]

    def done(finished: asyncio.Task[None]) -> None:
        nonlocal task
        task = None
        if finished.cancelled():
            if not cancelled:
                on_failure(RuntimeError("the task was cancelled externally"))
        elif (error := finished.exception()) is not None:
            on_failure(error)

    def cancel() -> None:
        nonlocal cancelled
        cancelled = True
        try:
            run_on(loop, None, stop)
        except RuntimeError:  # the loop is closed and has discarded its tasks
            pass

    def stop() -> None:
        nonlocal stopped
        if task is not None and not stopped:  # a second cancel would interrupt the clean-up of the task
            stopped = True
            task.cancel()

    run_on(loop, context, launch)
    return cancel
