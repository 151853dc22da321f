"""The part of an operator that passes one upstream on after the other: retry, concat, switch_if_empty, ..."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.context import attach, bound, capture
from pyrs._core.demand import UNBOUNDED, checked_count, in_words, non_positive
from pyrs._core.drain import DrainLoop
from pyrs._core.operator import Operator, Startable
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NonPositiveRequest, NullSignal

__all__ = ["Leg", "SubscriptionArbiter"]

T = TypeVar("T")


class SubscriptionArbiter(Startable, Generic[T]):
    """One Subscriber's subscription to sources that follow each other.

    There is one source at a time, so its signals are serial and are handed on as they come, without a queue. Demand
    that a source left over is asked of the next. A source that ends inside its own ``subscribe`` leads to a loop and
    not to a recursion (3.3).

    An operator says what it does in:

    * ``_begin()``: ``_switch_to(source)`` the first source.
    * ``_source_completed()``, ``_source_failed(error)``: ``_switch_to`` another, ``_complete()`` or ``_fail(error)``.
    * ``_release()``: let go of timers and the like. May be called from any thread, and more than once.

    Rules: 1.1, 1.6, 1.7, 1.8, 1.9, 2.3, 2.4, 2.5, 2.6, 2.13, 3.2, 3.5, 3.6, 3.7, 3.8, 3.9, 3.13, 3.15. The answer to
    request(n <= 0) comes from the source that is on, serially (1.3). Where none is on it comes from here, at once.
    """

    __slots__ = (
        "_context",
        "_emitted",
        "_illegal",
        "_leg",
        "_live",
        "_lock",
        "_operator",
        "_requested",
        "_started",
        "_subscriber",
        "_subscribing",
    )

    def __init__(self, subscriber: Subscriber[T], operator: Operator[Any]) -> None:
        self._subscriber: Subscriber[T] | None = subscriber
        self._operator = operator
        self._context = capture()  # in which everything is signalled
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._requested = 0  # under the lock
        self._illegal = 1  # an n <= 0 that was requested: from then on no source comes on; under the lock
        self._started = False  # on_subscribe has returned; under the lock
        self._emitted = 0  # written by the source that is on
        self._live = True
        self._leg: Leg[T] | None = None
        self._subscribing = _Subscribing()

    # What an operator says.

    @abstractmethod
    def _begin(self) -> None:
        """Switch to the first source. Called once, after ``on_subscribe`` was handed on."""

    def _source_completed(self) -> None:
        """The source completed. By default that is the end."""
        self._complete()

    def _source_failed(self, error: BaseException) -> None:
        """The source failed. By default the stream does."""
        self._fail(error)

    def _release(self) -> None:
        """Let go of timers and the like."""

    # What the Subscriber may do.

    def request(self, n: int, /) -> None:
        if n.__class__ is not int:
            n = checked_count(n)
        with self._lock:
            if not self._live:
                return  # 3.6
            leg = self._leg
            subscription = None if leg is None else leg.subscription
            answers = False
            if n > 0:
                self._requested += n  # 3.8; a Python int has no bound to wrap at
            elif self._illegal > 0:
                self._illegal = n
                if subscription is None:
                    self._leg = None  # one that has not come yet is refused when it comes
                    answers = self._started
        if subscription is not None:
            subscription.request(min(n, UNBOUNDED))  # 3.17: a stranger's long holds no more
        elif answers:
            bound(partial(self._fail, non_positive(n)), self._context)()  # 3.9; nobody signals, and nobody will (1.3)

    def cancel(self) -> None:
        self._take_subscriber()

    def __repr__(self) -> str:
        return (
            f"<{self._operator.call} {'live' if self._live else 'over'}, {in_words(self._requested - self._emitted)}>"
        )

    # For operators.

    def start(self) -> None:
        """Signal ``on_subscribe``, then begin. Called once."""
        subscriber = self._subscriber
        assert subscriber is not None
        try:
            subscriber.on_subscribe(self)  # 1.9
        except BaseException as error:
            self._subscriber_raised(error, "on_subscribe")
        with self._lock:
            self._started = True
            illegal = self._illegal
        if illegal <= 0 and self._live:
            self._fail(non_positive(illegal))  # 3.9
        elif self._live:
            try:
                self._begin()
            except BaseException as error:
                self._raised(error)

    def _switch_to(self, source: Publisher[T]) -> bool:
        """Pass this source on from now: subscribe to it, with the demand that was not met. The one before has ended.

        Returns:
            Whether it was subscribed to: no more where the stream is over.
        """
        leg: Leg[T] = Leg(self)
        with self._lock:
            if not self._live or self._illegal <= 0:
                return False
            before, self._leg = self._leg, leg
        if before is not None:
            before.cancel()
        self._subscribing.add(source, leg)
        return True

    def _complete(self) -> None:
        """Signal ``on_complete``, unless the stream is over (1.5, 1.7)."""
        subscriber = self._take_subscriber()
        if subscriber is not None:
            try:
                subscriber.on_complete()
            except BaseException as error:
                self._subscriber_raised(error, "on_complete", subscriber)

    def _fail(self, error: BaseException) -> None:
        """Signal ``on_error``, unless the stream is over; then the error goes to the hook (1.4, 1.7)."""
        subscriber = self._take_subscriber()
        if subscriber is not None:
            try:
                subscriber.on_error(error)
            except BaseException as raised:
                self._subscriber_raised(raised, "on_error", subscriber)
        elif not hooks.is_exit(error):
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream was over")

    def _answer(self, error: BaseException) -> None:
        """Signal the answer to a wrong request, unless whoever requested has had it already (3.9)."""
        if self._live:
            self._fail(error)

    def _raised(self, error: BaseException) -> None:
        """A function of the user's raised in this operator: the stream fails with that."""
        self._operator.blame(error)
        self._fail(error)
        if hooks.is_exit(error):
            raise error

    # What keeps the rules.

    def _take_subscriber(self) -> Subscriber[T] | None:
        """End the stream and forget both sides (3.13). Only the first caller is given the Subscriber (1.7)."""
        with self._lock:
            if not self._live:
                return None  # 3.7
            self._live = False
            subscriber, self._subscriber = self._subscriber, None
            leg, self._leg = self._leg, None
        if leg is not None:
            leg.cancel()
        self._release()
        return subscriber

    def _subscriber_raised(self, error: BaseException, signal: str, subscriber: Subscriber[T] | None = None) -> None:
        """The Subscriber broke 2.13: its Subscription counts as cancelled, and the hook is told, never the Subscriber.

        Raises:
            BaseException: the error itself, if it is an interrupt or an exit.
        """
        who = self._take_subscriber() or subscriber
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {signal} of {type(who).__name__}" if who else signal)


class _Subscribing(DrainLoop):
    """Subscribes to one source after the other, in a loop."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        super().__init__()
        self._next: tuple[Publisher[Any], Leg[Any]] | None = None

    def add(self, source: Publisher[Any], leg: Leg[Any]) -> None:
        self._next = (source, leg)
        self.run_here()

    def _has_work(self) -> bool:
        return self._next is not None

    def _work(self) -> None:
        upcoming, self._next = self._next, None
        if upcoming is not None:
            source, leg = upcoming
            try:
                attach(source, leg)
            except Exception as error:  # 1.9
                if hooks.is_exit(error):
                    raise
                leg.on_error(error)


class Leg(Subscriber[T]):
    """The Subscriber of one source of a relay. A Subscriber takes one Publisher in its life (2.5, 2.12)."""

    __slots__ = ("_relay", "subscription")

    def __init__(self, relay: SubscriptionArbiter[T]) -> None:
        self._relay = relay
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        relay = self._relay
        with relay._lock:
            refused = relay._leg is not self or self.subscription is not None
            if not refused:
                self.subscription = subscription
                # From here on request() reaches this source; what was asked for before is asked here.
                demand = relay._requested - relay._emitted if relay._requested < UNBOUNDED else UNBOUNDED  # 3.17
        if refused:
            subscription.cancel()  # 2.5
        elif demand:
            subscription.request(demand)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        relay = self._relay
        if relay._leg is self:
            relay._emitted += 1
            subscriber = relay._subscriber
            if subscriber is not None:
                try:
                    subscriber.on_next(element)
                except BaseException as error:
                    relay._subscriber_raised(error, "on_next")

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        if not self._ended():
            hooks.on_error_dropped(error, "the stream was over")
            return
        relay = self._relay
        if relay._illegal <= 0:  # 3.9: that is no failure of the source, so nothing else may come in its place
            relay._answer(error if isinstance(error, NonPositiveRequest) else non_positive(relay._illegal))
            return
        try:
            relay._source_failed(error)
        except BaseException as raised:
            relay._raised(raised)

    def on_complete(self) -> None:
        if not self._ended():
            return
        relay = self._relay
        if relay._illegal <= 0:  # 3.9: it has ended instead of answering, and no other source is asked
            relay._answer(non_positive(relay._illegal))
            return
        try:
            relay._source_completed()
        except BaseException as raised:
            relay._raised(raised)

    def cancel(self) -> None:
        """Cancel, unless it ended (2.6)."""
        subscription, self.subscription = self.subscription, None
        if subscription is not None:
            try:
                subscription.cancel()
            except Exception as error:  # 3.15 is the upstream's to keep; ours has to return normally all the same
                hooks.on_error_dropped(error, f"raised by cancel() of {type(subscription).__name__}")

    def _ended(self) -> bool:
        """Note a terminal signal (2.4) and return whether this source was on."""
        relay = self._relay
        with relay._lock:
            if relay._leg is not self:
                return False
            self.subscription = None
            relay._leg = None
        return True
