"""Synchronous stages as a Subscriber over any other Publisher. A stage says what it does; the rules are kept here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from pyrs._core import hooks
from pyrs._core.fusion import Stage, null_element
from pyrs._core.subscription import checked_subscriber
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal

__all__ = ["StageRun", "StagedPublisher"]


class StageRun(ABC):
    """One stage's part in one subscription.

    ``emit`` hands an element on towards the Subscriber, ``ask`` demand towards the Publisher, and ``finish`` ends the
    stream well from here: both sides are told. They are linked before the first signal.
    """

    __slots__ = ("ask", "emit", "finish")

    emit: Callable[[Any], None]
    ask: Callable[[int], None]
    finish: Callable[[], None]

    def begin(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Called once, after ``on_subscribe`` was handed on."""

    @abstractmethod
    def on_next(self, element: Any) -> None:
        """Take an element. What this raises is signalled downstream, and upstream is cancelled."""

    def request(self, n: int) -> None:
        """Take demand, from any thread. n <= 0 is handed on as it is: the source answers it (3.9), serially."""
        self.ask(n)


class StagedPublisher(Publisher[Any]):
    """A Publisher with synchronous stages behind it; all of them together are one Subscriber."""

    def __init__(self, source: Publisher[Any], stages: Sequence[Stage]) -> None:
        self.source = source
        self.stages = tuple(stages)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.source.subscribe(_StagedSubscriber(checked_subscriber(subscriber), self.stages))

    def __repr__(self) -> str:
        return ".".join([repr(self.source), *map(repr, self.stages)])


class _StagedSubscriber(Subscriber[Any], Subscription):
    """The Subscriber of the source and the Subscription of the Subscriber in one.

    Rules: 1.4, 1.6, 1.7, 1.8, 2.3, 2.4, 2.5, 2.6, 2.13, 3.6, 3.7, 3.13, 4.1, 4.2. Serial signals (1.3) and the answer
    to request(n <= 0) (3.9) come from the source; demand is kept element by element (1.1).
    """

    __slots__ = ("_first", "_last", "_lock", "_open", "_runs", "_subscribed", "_subscriber", "_upstream")

    def __init__(self, subscriber: Subscriber[Any], stages: Sequence[Stage]) -> None:
        self._lock = Lock()
        self._open = True  # neither cancelled nor ended
        self._subscribed = False
        self._subscriber: Subscriber[Any] | None = subscriber
        self._upstream: Subscription | None = None
        self._runs = [stage.run() for stage in stages]
        emit: Callable[[Any], None] = self._deliver
        for run in reversed(self._runs):
            run.emit, run.finish = emit, self._finish
            emit = run.on_next
        self._first = emit
        ask: Callable[[int], None] = self._request_upstream
        for run in self._runs:
            run.ask = ask
            ask = run.request
        self._last = ask

    # From upstream.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        with self._lock:
            again, self._subscribed = self._subscribed, True
        subscriber = self._subscriber
        if again or subscriber is None:
            subscription.cancel()  # 2.5
            return
        self._upstream = subscription
        try:
            subscriber.on_subscribe(self)
        except BaseException as error:
            self._subscriber_raised(error, "on_subscribe")
        for run in self._runs:
            run.begin()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")  # 2.13
        if not self._open:
            return  # 2.8
        try:
            self._first(element)
        except BaseException as error:
            self._fail(error)
            if hooks.is_exit(error):
                raise

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        subscriber, _ = self._close()  # the Subscription is over: nothing is called on it (2.3, 2.4)
        self._signal_error(subscriber, error)

    def on_complete(self) -> None:
        subscriber, _ = self._close()
        self._signal_complete(subscriber)

    # From downstream.

    def request(self, n: int, /) -> None:
        if self._open:  # 3.6
            self._last(n)

    def cancel(self) -> None:
        _, upstream = self._close()  # 3.7
        self._cancel(upstream)

    # From the stages.

    def _request_upstream(self, n: int) -> None:
        upstream = self._upstream
        if upstream is not None:
            upstream.request(n)

    def _deliver(self, element: Any) -> None:
        if element is None:
            raise null_element()
        subscriber = self._subscriber
        if subscriber is None:
            return
        try:
            subscriber.on_next(element)
        except BaseException as error:
            self._subscriber_raised(error, "on_next")

    def _finish(self) -> None:
        subscriber, upstream = self._close()
        self._cancel(upstream)  # 2.6
        self._signal_complete(subscriber)

    # What keeps the rules.

    def _close(self) -> tuple[Subscriber[Any] | None, Subscription | None]:
        """End the stream for both sides and forget them (3.13). Only the first caller is given them (1.7)."""
        with self._lock:
            self._open = False
            sides = self._subscriber, self._upstream
            self._subscriber = self._upstream = None
        return sides

    def _fail(self, error: BaseException) -> None:
        subscriber, upstream = self._close()
        self._cancel(upstream)
        if subscriber is not None or not hooks.is_exit(error):
            self._signal_error(subscriber, error)

    def _cancel(self, upstream: Subscription | None) -> None:
        if upstream is not None:
            try:
                upstream.cancel()
            except Exception as error:  # 3.15 is the upstream's to keep; ours has to return normally all the same
                hooks.on_error_dropped(error, f"raised by cancel() of {type(upstream).__name__}")

    def _signal_error(self, subscriber: Subscriber[Any] | None, error: BaseException) -> None:
        if subscriber is None:
            hooks.on_error_dropped(error, "the stream was over")
            return
        try:
            subscriber.on_error(error)
        except BaseException as raised:
            self._subscriber_raised(raised, "on_error")

    def _signal_complete(self, subscriber: Subscriber[Any] | None) -> None:
        if subscriber is not None:
            try:
                subscriber.on_complete()
            except BaseException as error:
                self._subscriber_raised(error, "on_complete")

    def _subscriber_raised(self, error: BaseException, signal: str) -> None:
        subscriber, upstream = self._close()
        self._cancel(upstream)  # 2.13: counts as cancelled, and the one who raised is not signalled again
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {signal} of {type(subscriber).__name__}" if subscriber else signal)
