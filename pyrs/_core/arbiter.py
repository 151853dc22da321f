"""The engine of operators with one source at a time: concat, retry, ..."""

from __future__ import annotations

from typing import Any

from pyrs._core import hooks
from pyrs._core.context import attach_safely, capture
from pyrs._core.demand import UNBOUNDED, non_positive
from pyrs._core.drain import DrainLoop
from pyrs._core.operator import Operator, OperatorSubscription
from pyrs.api import Publisher, Subscriber, Subscription, T
from pyrs.errors import NonPositiveRequest, NullSignal


class SubscriptionArbiter(DrainLoop, OperatorSubscription[T]):
    """One Subscriber's subscription to a sequence of sources.

    One source is active at a time. Its signals are serial and are forwarded without a queue. Demand that a source did
    not serve is requested from the next one. A source that terminates inside its own ``subscribe`` leads to a loop and
    not to a recursion (§3.3).

    An operator may override:

    * ``_begin()``: call ``_switch_to`` with the first source, by default that of the operator.
    * ``_source_completed()``, ``_source_failed(error)``: call ``_switch_to`` with another source, ``_complete()`` or
      ``_fail(error)``.
    * ``_release()``: release timers and other resources, by default ``_timer``.

    The active source signals the error of an illegal request, because its signals are serial (§1.3). If no source is
    active, or the active one has no Subscription yet, the arbiter signals it, after ``on_subscribe`` has returned.

    Rules: 1.1, 1.3, 2.3, 2.4, 2.5, 2.6, 2.12, and those of ``DownstreamSubscription``.
    """

    def __init__(self, subscriber: Subscriber[T], operator: Operator[Any]) -> None:
        DrainLoop.__init__(self)  # the drain loop subscribes to one source after another
        OperatorSubscription.__init__(self, subscriber, capture())
        self._operator = operator
        self._started = False  # on_subscribe has returned; under the lock
        self._active: ActiveSource[T] | None = None
        self._upcoming: tuple[Publisher[T], ActiveSource[T]] | None = None  # subscribed to in the drain loop

    # Implemented by operators.

    def _begin(self) -> None:
        """Switch to the first source; ``start`` calls this after ``on_subscribe``."""
        self._switch_to(self._operator.source)

    def _source_completed(self) -> None:
        """React to the completion of the active source; by default, complete."""
        self._complete()

    def _source_failed(self, error: BaseException) -> None:
        """React to the failure of the active source; by default, fail."""
        self._fail(error)

    # Used by operators.

    def start(self) -> None:
        """Signal ``on_subscribe``, then begin; called once, by ``subscribe``."""
        self._introduce()
        with self._lock:
            self._started = True
            illegal = self._illegal
        if not self._live:
            return
        if illegal is not None:
            self._fail(illegal)  # 3.9
            return
        try:
            self._begin()
        except BaseException as error:
            self._raised(error)

    def _switch_to(self, source: Publisher[T]) -> bool:
        """Switch to the next source; return False after the end or an illegal request."""
        upcoming: ActiveSource[T] = ActiveSource(self)
        with self._lock:
            if not self._live or self._illegal is not None:
                return False
            before, self._active = self._active, upcoming
            self._demand_to = None
        if before is not None:
            before.cancel()
        self._upcoming = (source, upcoming)
        self.run_here()
        return True

    # The engine.

    def _has_work(self) -> bool:
        return self._upcoming is not None

    def _resume_after(self, error: BaseException) -> None:
        # An interrupt occurred before the next source was subscribed to. A stream that may never end must not continue
        # before the interrupt is raised.
        if hooks.is_exit(error):
            self._upcoming = None
            self._fail(error)
        else:
            super()._resume_after(error)

    def _work(self) -> None:
        upcoming = self._upcoming
        if upcoming is not None:  # else do not write: another thread may just have stored a source
            self._upcoming = None
            try:
                attach_safely(*upcoming)
            except BaseException as error:  # an exit; if this is a thread of a scheduler, no caller receives it
                self._raised(error)
                raise

    def _on_request(self, n: int) -> None:
        if n > 0:
            return  # requested from the next source when its Subscription arrives
        with self._lock:
            upstream = self._demand_to
            if upstream is None:
                self._active = None  # a Subscription that arrives later is cancelled
            answers = upstream is None and self._started
        if upstream is not None:
            upstream.request(n)
        elif answers:
            self._answer(non_positive(n))  # 3.9: no source is active, so no other signal can overlap (1.3)

    def _on_cancel(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._subscriber = None
        self._cancel_source()
        self._release()

    def _cancel_source(self) -> None:
        """Cancel the active source, if there is one, and ignore its later signals."""
        with self._lock:
            active, self._active = self._active, None
            self._demand_to = None
        if active is not None:
            active.cancel()

    def _answer(self, error: BaseException) -> None:
        """Fail with the error of an illegal request, unless the stream has ended (§3.9)."""
        if self._live:
            self._fail(error)


class ActiveSource(Subscriber[T]):
    """The Subscriber of one source of an arbiter (§2.5, §2.12)."""

    catches_user_errors = True

    def __init__(self, arbiter: SubscriptionArbiter[T]) -> None:
        self._arbiter = arbiter
        self.discards = arbiter.discards
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        arbiter = self._arbiter
        with arbiter._lock:
            refused = arbiter._active is not self or self.subscription is not None
            if not refused:
                self.subscription = subscription
                arbiter._demand_to = subscription  # from here on request() reaches this source
                demand = arbiter._demand() if arbiter._requested < UNBOUNDED else UNBOUNDED  # 3.17
        if refused:
            subscription.cancel()  # 2.5
        elif demand:
            subscription.request(demand)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        arbiter = self._arbiter
        if arbiter._active is self:
            arbiter._emitted += 1
            subscriber = arbiter._subscriber
            if subscriber is not None:
                try:
                    subscriber.on_next(element)
                except BaseException as error:
                    arbiter._subscriber_raised(error, "on_next")
                return
        hooks.discard(self.discards, element)

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._end(error)

    def on_complete(self) -> None:
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        """Record a terminal signal (§2.4), and react to it if this source was active."""
        arbiter = self._arbiter
        with arbiter._lock:
            was_active = arbiter._active is self
            if was_active:
                self.subscription = arbiter._active = arbiter._demand_to = None
        if not was_active:
            arbiter._drop(error)
        elif arbiter._illegal is not None:  # 3.9: also if the source completed; no other source may replace it
            arbiter._answer(error if isinstance(error, NonPositiveRequest) else arbiter._illegal)
        else:
            try:
                if error is None:
                    arbiter._source_completed()
                else:
                    arbiter._source_failed(error)
            except BaseException as raised:
                arbiter._raised(raised)

    def cancel(self) -> None:
        """Cancel, unless the source terminated (§2.6)."""
        subscription, self.subscription = self.subscription, None
        hooks.cancel_safely(subscription)
