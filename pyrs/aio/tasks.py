"""A coroutine function that runs as a task of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from pyrs.aio.loops import create_task, loop_for, run_on


def start_task(
    function: Callable[[], Any],
    context: Context | None,
    on_failure: Callable[[BaseException], object],
) -> Callable[[bool], None]:
    """Run the function as a task, on the running loop or else the background loop.

    Args:
        function: called on the loop; its result is awaited.
        context: the context variables of the call.
        on_failure: called on the loop with the task's exception; with a RuntimeError after a cancel by others.

    Returns:
        A function for the end of the stream, which any thread may call once. Its argument says whether to cancel the
        task. Only the task's own exceptions are reported after that.
    """
    loop = loop_for()
    task: asyncio.Future[None] | None = None
    ended = cancelled = interrupted = False

    async def run() -> None:
        await function()

    def launch() -> None:
        nonlocal task
        if not ended:
            task = create_task(loop, run())
            task.add_done_callback(done)
            if cancelled:  # by the coroutine itself, which an eager task factory has started
                interrupt()

    def done(finished: asyncio.Future[None]) -> None:
        nonlocal task
        task = None
        if finished.cancelled():
            if not ended:
                on_failure(RuntimeError("the task was cancelled externally"))
        elif (error := finished.exception()) is not None:
            on_failure(error)

    def end(cancel: bool) -> None:
        nonlocal ended, cancelled
        ended, cancelled = True, cancel
        if cancel:
            try:
                run_on(loop, None, interrupt)
            except RuntimeError:  # the loop is closed and has discarded its tasks
                pass

    def interrupt() -> None:
        nonlocal interrupted
        if task is not None and not interrupted:  # a second cancel would interrupt the clean-up of the task
            interrupted = True
            task.cancel()

    run_on(loop, context, launch)
    return end


def is_cancel(error: BaseException) -> bool:
    """Return whether the error was raised because the running task ends early.

    A stream or a function may also raise a CancelledError as an ordinary error, for example because it awaits another
    task that was cancelled. Python 3.10 cannot tell the two apart.
    """
    if not isinstance(error, asyncio.CancelledError):
        return isinstance(error, GeneratorExit)  # the loop was closed
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is None or cancelling() > 0
