"""A Subscriber whose methods are coroutines, awaited sequentially on its loop."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import capture
from pyrs._core.demand import UNBOUNDED
from pyrs._core.validation import checked_integer
from pyrs.aio.loops import create_task, loop_for, run_on
from pyrs.aio.tasks import is_cancel
from pyrs.aio.waking import TURN
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NullSignal


class QueueingSubscriber(Subscriber[Any], Subscription):
    """Queues signals for a Subscriber on a loop. Rules: 2.4, 2.5, 2.6, 2.8, 2.13."""

    def __init__(self, subscriber: Any) -> None:
        self._subscriber = subscriber
        self._signals: deque[tuple[str, Any]] = deque()
        self._subscription: Subscription | None = None
        self._ended = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        if self._subscription is not None or self._ended:
            subscription.cancel()  # 2.5
            return
        self._subscription = subscription
        if self._ended:  # cancelled since the check above, on another thread
            self._cancel()  # type: ignore[unreachable]
        else:
            self._begin()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        self._put("on_next", element)

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._put("on_error", error)

    def on_complete(self) -> None:
        self._put("on_complete")

    def _cancel(self) -> None:
        self._ended = True
        self._discard_signals()
        subscription, self._subscription = self._subscription, None
        hooks.cancel_safely(subscription)

    def _discard_signals(self) -> None:
        """Discard the queued elements, and report a queued error as dropped."""
        for name, argument in hooks.emptied(self._signals):
            self._discard_signal(name, argument)

    def _discard_signal(self, name: str, argument: Any) -> None:
        """Discard the element of a signal, or report its error as dropped."""
        if name == "on_next":
            hooks.discard((), argument)
        elif name == "on_error":
            hooks.report_late(argument)

    @abstractmethod
    def _begin(self) -> None:
        """Forward ``on_subscribe``, or send the first request."""

    @abstractmethod
    def _put(self, name: str, argument: Any = None) -> None:
        """Queue a signal, unless the stream has ended, and have the loop deliver it."""


class CoroutineSubscriber(QueueingSubscriber):
    """Delivers signals to a Subscriber whose methods may be coroutine functions.

    Signals may arrive on any thread; one task awaits them in order, on the loop that is running at ``subscribe``, else
    on the background loop, and lets other tasks run after every 128 signals. The queue is bounded by the demand. A
    method that raises violates §2.13: the Subscription is cancelled and the error is reported as dropped. A cancelled
    task or a closed loop cancels the Subscription. The Subscriber receives this object as its Subscription, so that a
    cancel ends the task.

    Rules: 2.4, 2.5, 2.6, 2.8, 2.11, 2.13.
    """

    def __init__(self, subscriber: Any) -> None:
        super().__init__(subscriber)
        self._loop = loop_for()
        self._context = capture()
        self._arrived = asyncio.Event()
        self._task: asyncio.Future[None] | None = None

    def _begin(self) -> None:
        self._signals.append(("on_subscribe", self))
        self._call(self._launch)

    def request(self, n: int, /) -> None:
        subscription = self._subscription
        if subscription is not None:
            subscription.request(min(checked_integer(n, "n"), UNBOUNDED))  # §3.17: the maximum of a Java long

    def cancel(self) -> None:
        if not self._ended:
            self._cancel()
            self._call(self._arrived.set)  # wakes the task, which then ends

    def _put(self, name: str, argument: Any = None) -> None:
        if not self._ended:
            self._signals.append((name, argument))
            if self._ended:  # a cancel may have emptied the queue before the append
                self._discard_signals()  # type: ignore[unreachable]
            self._call(self._arrived.set)
        else:
            self._discard_signal(name, argument)

    def _call(self, function: Callable[[], object]) -> None:
        try:
            run_on(self._loop, self._context, function)
        except RuntimeError:  # the loop is closed, so no signal will be consumed
            self._cancel()

    # The methods below run on the loop.

    def _launch(self) -> None:
        self._task = create_task(self._loop, self._run())
        self._task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Future[None]) -> None:
        self._task = None
        if task.cancelled():  # possibly before it started
            self._cancel()
        elif (error := task.exception()) is not None and not hooks.is_exit(error):  # _run reports an exit
            self._cancel()
            hooks.on_error_dropped(error, "raised by the task factory of the loop")

    async def _run(self) -> None:
        name = "on_subscribe"
        turn = 0
        try:
            while not self._ended:
                try:
                    name, argument = self._signals.popleft()
                except IndexError:  # a cancel may empty the queue at any time
                    self._arrived.clear()
                    # A signal after this line sets the event; an earlier one is seen by this check.
                    if not self._signals:
                        await self._arrived.wait()
                    continue
                if name in ("on_error", "on_complete"):
                    self._ended = True
                    self._subscription = None  # 2.4
                method = getattr(self._subscriber, name)
                result = method() if name == "on_complete" else method(argument)
                if isinstance(result, Awaitable):
                    await result
                turn += 1
                if turn == TURN:  # the methods may never wait, and a source may always have a next element
                    turn = 0
                    await asyncio.sleep(0)
        except BaseException as error:
            self._cancel()
            if is_cancel(error) or hooks.is_exit(error):
                raise
            hooks.on_error_dropped(error, f"raised by {name} of {type(self._subscriber).__name__}")
