"""Implement using_when: a stream within an asynchronous context manager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.display import kind_of, name_of
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_publisher
from pyrs.aio.loops import create_task, loop_for, run_on
from pyrs.api import Publisher, Subscriber


class _UsingWhenRun(SubscriptionArbiter[Any]):
    """Enters and exits the context manager in one task of the loop.

    A manager may require one task: for example, a task group, or a manager that resets a context variable.
    """

    _operator: UsingWhen

    def __init__(self, subscriber: Subscriber[Any], operator: UsingWhen) -> None:
        super().__init__(subscriber, operator)
        self._loop = loop_for()
        self._source_error: BaseException | None = None
        # The attributes below are used on the loop's thread only.
        self._task: asyncio.Future[None] | None = None
        self._entered = False
        self._ended = asyncio.Event()  # set when the source or the stream has terminated

    def _begin(self) -> None:
        manager = self._operator.resource()
        if not (hasattr(manager, "__aenter__") and hasattr(manager, "__aexit__")):
            raise TypeError(f"the result of resource must be an asynchronous context manager, not {kind_of(manager)}")
        run_on(self._loop, self._context, self._launch, manager)

    def _source_completed(self) -> None:
        self._leave(None)

    def _source_failed(self, error: BaseException) -> None:
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        self._source_error = error
        try:
            run_on(self._loop, None, self._ended.set)
        except RuntimeError as closed:  # the loop is closed and has discarded its tasks
            self._fail(closed if error is None else error)

    def _release(self) -> None:
        try:
            run_on(self._loop, None, self._stop)
        except RuntimeError:  # the loop is closed and has discarded its tasks
            pass

    # The methods below run on the loop.

    def _launch(self, manager: AbstractAsyncContextManager[Any]) -> None:
        if self._live:
            self._task = create_task(self._loop, self._hold(manager))
            self._task.add_done_callback(self._task_done)
            if not self._live:  # cancelled by the entry itself, before the task was stored
                self._stop()  # type: ignore[unreachable]

    def _stop(self) -> None:
        self._ended.set()
        if self._task is not None and not self._entered:
            self._task.cancel()

    async def _hold(self, manager: AbstractAsyncContextManager[Any]) -> None:
        value = await manager.__aenter__()
        self._entered = True
        interrupt: BaseException | None = None
        if self._live:  # else cancelled while the manager was entered
            try:
                self._use(value)
            except BaseException as error:  # an exit, which is raised again after ``__aexit__``
                interrupt = error
        failure = await self._end()
        details = (None, None, None) if failure is None else (type(failure), failure, failure.__traceback__)
        raised: BaseException | None = None
        try:
            await manager.__aexit__(*details)
        except GeneratorExit:  # the loop was closed
            raise
        except BaseException as error:
            raised = error
            if hooks.is_exit(error):
                interrupt = error
        self._exited(failure, raised)
        if interrupt is not None:
            raise interrupt

    def _use(self, value: Any) -> None:
        try:
            source = checked_publisher(self._operator.use(value), "the result of use")
        except BaseException as error:
            self._operator.blame(error)
            self._source_failed(error)
            if hooks.is_exit(error):
                raise
        else:
            self._switch_to(source)

    async def _end(self) -> BaseException | None:
        """Wait for the end; return the error of the source, or the cancel of the task."""
        try:
            await self._ended.wait()
        except asyncio.CancelledError as error:  # the manager, such as a timeout, or asyncio.run cancelled the task
            if not self._ended.is_set():
                self._cancel_source()
                return error
        return self._source_error

    def _exited(self, failure: BaseException | None, raised: BaseException | None) -> None:
        """End the stream, possibly with an error of the source, the exit or the task."""
        if isinstance(raised, asyncio.CancelledError):
            raised = self._cancelled_by_others(raised)
        if failure is not self._source_error:  # the task was cancelled; the exit may raise the reason
            failure, raised = self._cancelled_by_others(failure) if raised is None else raised, None
            self._operator.blame(failure)
        if failure is None and self._live:
            if raised is not None:
                self._operator.blame(raised)
            self._end_with(raised)
            return
        if failure is not None:
            self._fail(failure)
        if raised is not None and not hooks.is_exit(raised):
            hooks.on_error_dropped(raised, f"raised by the exit of the resource of {self._operator.call}")

    def _task_done(self, task: asyncio.Future[None]) -> None:
        """Fail the stream if the manager could not be entered."""
        if not task.cancelled():
            error = task.exception()
        elif self._live:
            error = self._cancelled_by_others(None)
        else:
            return  # the stream was cancelled, and has cancelled the task
        if error is not None:
            self._operator.blame(error)
            self._fail(error)

    def _cancelled_by_others(self, cause: BaseException | None) -> RuntimeError:
        """Return the error of a cancelled task.

        A CancelledError itself would look like a cancel of the consumer's task.
        """
        error = RuntimeError(f"the task of {self._operator.call} was cancelled")
        error.__cause__ = cause
        return error


class UsingWhen(Operator[Any]):
    """``using_when(resource, use)``: a stream within an asynchronous context manager."""

    run_type = _UsingWhenRun

    def __init__(
        self, resource: Callable[[], AbstractAsyncContextManager[Any]], use: Callable[[Any], Publisher[Any]]
    ) -> None:
        super().__init__(None, f"using_when({name_of(resource)}, {name_of(use)})")
        self.resource = checked_callable(resource, "resource")
        self.use = checked_callable(use, "use")
