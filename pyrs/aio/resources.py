"""Implement using_when: a stream within an asynchronous context manager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.display import kind_of, name_of
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_publisher
from pyrs.aio.loops import create_task, loop_for, run_on
from pyrs.api import Publisher, Subscriber

Task = asyncio.Future[Any]


class _UsingWhenRun(SubscriptionArbiter[Any]):
    """Enters and exits the context manager in tasks of the loop."""

    _operator: UsingWhen

    def __init__(self, subscriber: Subscriber[Any], operator: UsingWhen) -> None:
        super().__init__(subscriber, operator)
        self._loop = loop_for()
        self._entering: Task | None = None  # used on the loop's thread only
        # Contains the manager between its entry and its exit. It is a list, because pop() is atomic.
        self._inside: list[AbstractAsyncContextManager[Any]] = []

    def _begin(self) -> None:
        manager = self._operator.resource()
        if not (hasattr(manager, "__aenter__") and hasattr(manager, "__aexit__")):
            raise TypeError(f"the result of resource must be an asynchronous context manager, not {kind_of(manager)}")
        run_on(self._loop, self._context, self._enter, manager)

    def _enter(self, manager: AbstractAsyncContextManager[Any]) -> None:
        if self._live:
            self._entering = self._start(_awaited(manager.__aenter__), partial(self._entered, manager))

    def _start(self, coroutine: Coroutine[Any, Any, Any], done: Callable[[Task], object]) -> Task:
        task = create_task(self._loop, coroutine)
        task.add_done_callback(done)
        return task

    def _entered(self, manager: AbstractAsyncContextManager[Any], task: Task) -> None:
        self._entering = None
        failure = _error_of(task, self._operator.call)
        if failure is not None:
            if self._live or not task.cancelled():
                self._operator.blame(failure)
                self._fail(failure)
            return
        self._inside.append(manager)
        if not self._live:  # cancelled while the manager was entered
            self._exit(None, self._exited_quietly)
            return
        try:
            source = checked_publisher(self._operator.use(task.result()), "the result of use")
        except BaseException as error:
            self._operator.blame(error)
            self._source_failed(error)
            if hooks.is_exit(error):
                raise
        else:
            self._switch_to(source)

    def _source_completed(self) -> None:
        self._exit(None, self._exited)

    def _source_failed(self, error: BaseException) -> None:
        self._exit(error, partial(self._exited_after, error))

    def _exit(self, error: BaseException | None, done: Callable[[Task], object]) -> None:
        """Exit the context manager, if it was entered and not exited yet."""
        try:
            manager = self._inside.pop()  # a concurrent terminal signal or cancel finds the list empty
        except IndexError:
            return
        details = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        try:
            run_on(self._loop, self._context, lambda: self._start(_awaited(manager.__aexit__, *details), done))
        except RuntimeError as closed:  # the loop is closed
            self._fail(closed if error is None else error)

    def _exited(self, task: Task) -> None:
        error = _error_of(task, self._operator.call)
        if error is not None:
            self._operator.blame(error)
        self._end_with(error)

    def _exited_after(self, failure: BaseException, task: Task) -> None:
        self._fail(failure)
        self._exited_quietly(task)

    def _exited_quietly(self, task: Task) -> None:
        error = _error_of(task, self._operator.call)
        if error is not None and not hooks.is_exit(error):
            hooks.on_error_dropped(error, f"raised by the exit of the resource of {self._operator.call}")

    def _release(self) -> None:
        self._exit(None, self._exited_quietly)
        if not self._loop.is_closed():
            run_on(self._loop, None, self._cancel_entry)

    def _cancel_entry(self) -> None:
        if self._entering is not None:
            self._entering.cancel()


async def _awaited(function: Callable[..., Any], *arguments: Any) -> Any:
    return await function(*arguments)


def _error_of(task: Task, call: object) -> BaseException | None:
    """Return the error of a finished task."""
    # A CancelledError would look like a cancellation of the consumer's task.
    return RuntimeError(f"a task of {call} was cancelled") if task.cancelled() else task.exception()


class UsingWhen(Operator[Any]):
    """``using_when(resource, use)``: a stream within an asynchronous context manager."""

    run_type = _UsingWhenRun

    def __init__(
        self, resource: Callable[[], AbstractAsyncContextManager[Any]], use: Callable[[Any], Publisher[Any]]
    ) -> None:
        super().__init__(None, f"using_when({name_of(resource)}, {name_of(use)})")
        self.resource = checked_callable(resource, "resource")
        self.use = checked_callable(use, "use")
