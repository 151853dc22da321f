"""map with a coroutine function.

Imported on first use, because asyncio is a slow import.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from pyrs._core.coordinator import Coordinator
from pyrs._core.display import name_of
from pyrs._core.inputs import QueuedInput
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_element
from pyrs.aio.loops import loop_for, run_on
from pyrs.api import Publisher, Subscriber


class _Call:
    """One element's call and its result."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.raised = False  # whether the function raised the error; otherwise its task was cancelled or not created
        self.task: asyncio.Task[Any] | None = None
        self.released = False  # the stream terminated before the result was emitted


class _AsyncMapRun(Coordinator[Any]):
    """Starts a call per element while fewer than ``concurrency`` are pending.

    Tasks are created, finished and cancelled on the asyncio loop. The drain loop emits the results of finished calls,
    on the thread that finishes a call, requests, or delivers an element.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: AsyncMap) -> None:
        super().__init__(subscriber, operator)
        self._function = operator.function
        self._ordered = operator.ordered
        self._concurrency = operator.concurrency
        self._input = QueuedInput[Any](self, operator.concurrency)
        self._calls: set[_Call] = set()  # the calls not emitted yet; changed in the drain loop only
        # The calls to emit, in the order of their elements or of completion.
        self._emit_queue: deque[_Call] = deque()
        # The calls without a task, in the order of their elements. Without this queue, a call that the loop's thread
        # starts at once could begin before an earlier one that another thread has only scheduled.
        self._launch_queue: deque[_Call] = deque()
        self._loop = loop_for()  # determined before on_subscribe: afterwards any thread may request

    def _advance(self) -> None:
        ended = self._input.ended  # read first: if it is true, the queue contains all remaining elements
        self._start_calls()
        self._emit_finished()
        if self._live and ended and not self._calls and not self._input.elements:
            self._end_with(self._input.take_error())

    def _start_calls(self) -> None:
        waiting = self._input.elements
        while waiting and len(self._calls) < self._concurrency:
            call = _Call(waiting.popleft())
            self._calls.add(call)
            if self._ordered:
                self._emit_queue.append(call)
            self._launch_queue.append(call)
            try:
                run_on(self._loop, self._context, self._launch)
            except RuntimeError:  # the loop is closed
                if self._live:
                    raise
                return

    def _emit_finished(self) -> None:
        while not self._interrupted:
            call = self._emit_queue[0] if self._emit_queue else None
            if call is None or not call.done or (call.error is None and not self._demand()):
                return
            self._emit_queue.popleft()
            self._calls.discard(call)
            if call.error is not None:
                self._discard(call.element)
                # _raised would raise a SystemExit again here. The task has already raised it in its loop.
                self._operator.blame(call.error)
                self._fail(call.error)
                return
            try:
                element = checked_element(call.result, f"{self._operator.call}: the coroutine")
            except TypeError as error:
                self._raised(error)
                return
            self._emit(element)
            if not self._input.closed:
                self._input.request(1)
            self._start_calls()

    def _launch(self) -> None:
        """Create the task of the next call, on the loop, once for each call."""
        call = self._launch_queue.popleft()
        if not self._live:
            return  # _release discards its element
        coroutine = _awaited(self._function, call.element)
        try:
            call.task = self._loop.create_task(coroutine)
        except BaseException as error:
            coroutine.close()  # the user's task factory rejected it
            call.error = error
            self._call_done(call)
            return
        call.task.add_done_callback(lambda task: self._task_ended(call, task))

    def _task_ended(self, call: _Call, task: asyncio.Task[Any]) -> None:
        """Record the outcome of the task, on the loop."""
        call.task = None
        result: Any = None
        if task.cancelled():
            # Other code cancelled the task, unless the stream has terminated. A CancelledError would look like a cancel
            # of the consumer's task.
            call.error = RuntimeError(f"a call of {self._operator.call} was cancelled")
        elif (error := task.exception()) is not None:
            call.error = error
            call.raised = True
        else:
            result = task.result()
        with self._lock:  # _release, on another thread, drops an outcome that it finds; the others are dropped here
            call.result = result
            call.done = True
            released = call.released
        if released and result is not None and result is not call.element:
            self._discard(result)
        if released and call.raised:
            self._drop(call.error)
        self._call_done(call)

    def _call_done(self, call: _Call) -> None:
        call.done = True
        if not self._ordered:
            self._emit_queue.append(call)
        self.wake()

    def _release(self) -> None:
        self._input.cancel()
        calls, self._calls = self._calls, set()
        self._emit_queue.clear()
        with self._lock:
            for call in calls:
                call.released = True
            dropped = [call.element if call.result is None else call.result for call in calls]
            errors = [call.error for call in calls if call.done and call.raised]
        self._discard_all(dropped)
        for error in errors:
            self._drop(error)
        if any(not call.done for call in calls):
            try:
                run_on(self._loop, None, _cancel, calls)
            except RuntimeError:  # the loop is closed and has discarded its tasks
                pass


class AsyncMap(Operator[Any]):
    """``map(coroutine_function, concurrency, ordered)``: awaits the function."""

    run_type = _AsyncMapRun

    def __init__(
        self, source: Publisher[Any], function: Callable[[Any], Awaitable[Any]], concurrency: int, ordered: bool
    ) -> None:
        how = f", concurrency={concurrency}" + ("" if ordered else ", ordered=False")
        super().__init__(source, f"map({name_of(function)}{how})")
        self.function = function
        self.concurrency = concurrency
        self.ordered = ordered


async def _awaited(function: Callable[[Any], Awaitable[Any]], element: Any) -> Any:
    return await function(element)


def _cancel(calls: set[_Call]) -> None:
    for call in calls:
        if call.task is not None:
            call.task.cancel()
