"""A coroutine function that runs as a task of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from pyrs.aio.loops import loop_for, run_on

__all__ = ["start_task"]


def start_task(
    function: Callable[[], Any],
    context: Context | None,
    on_failure: Callable[[BaseException], object],
) -> Callable[[], None]:
    """Run the function as a task, on the running loop or else the background loop.

    Args:
        function: called on the loop; its result is awaited.
        context: the context variables of the call.
        on_failure: called on the loop with the task's exception, or with a RuntimeError if the task was cancelled
            externally.

    Returns:
        A function that cancels the task, from any thread. After that only exceptions that the task raises itself are
        reported.
    """
    started = _Started(loop_for(), function, on_failure)
    run_on(started.loop, context, started.launch)
    return started.cancel


class _Started:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        function: Callable[[], Any],
        on_failure: Callable[[BaseException], object],
    ) -> None:
        self.loop = loop
        self._function = function
        self._on_failure = on_failure
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    def launch(self) -> None:
        if not self._cancelled:
            self._task = self.loop.create_task(self._run())
            self._task.add_done_callback(self._done)

    async def _run(self) -> None:
        await self._function()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            if not self._cancelled:
                self._on_failure(RuntimeError("the task was cancelled externally"))
        elif (error := task.exception()) is not None:
            self._on_failure(error)

    def cancel(self) -> None:
        self._cancelled = True
        try:
            run_on(self.loop, None, self._stop)
        except RuntimeError:  # the loop is closed and has discarded its tasks
            pass

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
