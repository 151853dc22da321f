"""The strict guard: stands between a Publisher and a Subscriber and names the rule that one of them breaks."""

from __future__ import annotations

from threading import Lock, get_ident
from typing import Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, add_demand, checked_count, non_positive
from pyrs._core.states import TRANSITIONS, Signal, State, Step
from pyrs._core.subscription import checked_subscriber
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import (
    ConcurrentSignals,
    DemandExceeded,
    NullSignal,
    SignalAfterTerminal,
    SpecViolation,
    SubscribedTwice,
)

__all__ = ["GuardedPublisher", "GuardedSubscriber"]

T = TypeVar("T")


class GuardedPublisher(Publisher[T]):
    """A foreign Publisher, each of whose Subscribers is guarded."""

    def __init__(self, source: Publisher[T]) -> None:
        self.source = source

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Subscribe with a guard around the Subscriber. Rules: 1.9."""
        guarded = GuardedSubscriber(checked_subscriber(subscriber))
        try:
            self.source.subscribe(guarded)
        except Exception as error:  # 1.9: the only legal way to tell is on_error
            guarded.source_raised(error)

    def __repr__(self) -> str:
        return repr(self.source)


class GuardedSubscriber(Subscriber[T], Subscription, Generic[T]):
    """Passes on what the rules allow; the first violation ends the stream with an error that cites the rule.

    The Publisher is cancelled and the Subscriber gets ``on_error(SpecViolation)``, serially, also where the violation
    was that signals came from two threads. Violations after the end, and what the Subscriber raises, go to the hook.

    Rules: 1.1, 1.3, 1.7, 1.9, 2.5, 2.12, 2.13, 3.6, 3.7, 3.9, 3.13, 3.15, 3.16.
    """

    def __init__(self, subscriber: Subscriber[T]) -> None:
        self._subscriber: Subscriber[T] | None = subscriber
        self._upstream: Subscription | None = None
        self._name = type(subscriber).__name__
        self._lock = Lock()
        self._state = State.WAITING
        self._demand = 0
        self._thread = 0  # the thread that is signalling, and how deep: a thread may nest (3.2), two may not overlap
        self._depth = 0
        self._verdict: BaseException | None = None  # an error to be signalled as soon as nobody is signalling

    # From the Publisher.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Pass the first one on, cancel any other. Rules: 1.9, 2.5, 2.12."""
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        if not self._enter():
            self._cancel(subscription)
            return
        try:
            with self._lock:
                step = self._advance(Signal.ON_SUBSCRIBE)
                subscriber = self._subscriber
                if not step.violation:
                    self._upstream = subscription
            if step.violation:
                self._cancel(subscription)
                hooks.on_error_dropped(SubscribedTwice(f"on_subscribe reached {self._name} twice"), "strict guard")
            elif subscriber is not None:
                self._tell(subscriber.on_subscribe, "on_subscribe", self)
        finally:
            self._leave()

    def on_next(self, element: T, /) -> None:
        """Pass it on if it was requested. Rules: 1.1, 1.3, 1.7, 1.9, 2.8, 2.13."""
        if element is None:
            raise self._null("on_next(None)")
        if not self._enter():
            return
        try:
            with self._lock:
                step = self._advance(Signal.ON_NEXT)
                if step.passes and self._demand < UNBOUNDED:
                    self._demand -= 1
                exceeded = self._demand < 0
                subscriber = self._subscriber
            if exceeded:
                self._convict(DemandExceeded("on_next without demand"))
            elif step.violation:
                self._convict(_violation(step, "on_next"))
            elif step.passes and subscriber is not None:
                self._tell(subscriber.on_next, "on_next", element)
        finally:
            self._leave()

    def on_error(self, error: BaseException, /) -> None:
        """Pass the first terminal signal on. Rules: 1.3, 1.7, 1.9, 2.13."""
        if error is None:
            raise self._null("on_error(None)")
        self._terminal(Signal.ON_ERROR, error)

    def on_complete(self) -> None:
        """Pass the first terminal signal on. Rules: 1.3, 1.7, 1.9."""
        self._terminal(Signal.ON_COMPLETE, None)

    def source_raised(self, error: BaseException) -> None:
        """The Publisher's ``subscribe`` raised, which it must not: say so through ``on_error``. Rules: 1.9."""
        self._convict(error)

    # From the Subscriber.

    def request(self, n: int, /) -> None:
        """Count the demand and pass it on; n <= 0 is answered here. Rules: 3.6, 3.8, 3.9, 3.16, 3.17."""
        n = checked_count(n)
        with self._lock:
            if not self._advance(Signal.REQUEST).passes:
                return
            if n > 0:
                self._demand = add_demand(self._demand, n)
            upstream = self._upstream
        if n <= 0:
            self._convict(non_positive(n))
        elif upstream is not None:
            try:
                upstream.request(n)
            except Exception as error:
                self._convict(SpecViolation(f"request({n}) raised {error!r}", rule="3.16", party="Subscription"))

    def cancel(self) -> None:
        """Cancel the Publisher once and let go of both sides. Rules: 3.5, 3.7, 3.12, 3.13, 3.15."""
        with self._lock:
            if not self._advance(Signal.CANCEL).passes:
                return
            self._subscriber = None
            upstream, self._upstream = self._upstream, None
        self._cancel(upstream)

    # The bench.

    def _advance(self, signal: Signal) -> Step:
        step = TRANSITIONS[self._state, signal]
        if not step.violation:
            self._state = step.state
        return step

    def _enter(self) -> bool:
        me = get_ident()
        with self._lock:
            if self._depth == 0 or self._thread == me:
                self._thread = me
                self._depth += 1
                return True
        self._convict(ConcurrentSignals("signals from two threads at the same time"))
        return False

    def _leave(self) -> None:
        with self._lock:
            self._depth -= 1
        self._pronounce()

    def _terminal(self, signal: Signal, error: BaseException | None) -> None:
        if not self._enter():
            return
        try:
            with self._lock:
                step = self._advance(signal)
                subscriber = self._subscriber
                if step.passes:
                    self._subscriber = self._upstream = None
            if step.violation:
                self._convict(_violation(step, signal.value))
            elif step.passes and subscriber is not None:
                if error is None:
                    self._tell(subscriber.on_complete, "on_complete")
                else:
                    self._tell(subscriber.on_error, "on_error", error)
            elif error is not None:
                hooks.on_error_dropped(error, "the stream was cancelled")
        finally:
            self._leave()

    def _null(self, what: str) -> NullSignal:
        error = NullSignal(what)
        self._convict(error, raised=True)
        return error  # 2.13: the caller hears of it in any case

    def _convict(self, error: BaseException, raised: bool = False) -> None:
        """End the stream with this error: cancel at once, signal as soon as nobody else is signalling (1.3)."""
        with self._lock:
            late = self._state in (State.CANCELLED, State.ENDED)
            upstream, self._upstream = self._upstream, None
            before, self._state = self._state, State.ENDED if not late else self._state
            if not late:
                self._verdict = error
        if late:
            if not raised:
                hooks.on_error_dropped(error, "strict guard, after the end")
            return
        self._cancel(upstream)
        if before is State.WAITING:
            self._introduce()
        self._pronounce()

    def _introduce(self) -> None:
        """The Publisher never called ``on_subscribe``: no signal may come before it all the same (1.9)."""
        if self._enter():
            try:
                if self._subscriber is not None:
                    self._tell(self._subscriber.on_subscribe, "on_subscribe", self)
            finally:
                with self._lock:
                    self._depth -= 1

    def _pronounce(self) -> None:
        with self._lock:
            if self._verdict is None or self._depth:
                return  # whoever is signalling does it when it leaves
            verdict, self._verdict = self._verdict, None
            subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._tell(subscriber.on_error, "on_error", verdict)

    def _tell(self, method: object, signal: str, *arguments: object) -> None:
        try:
            method(*arguments)  # type: ignore[operator]
        except BaseException as error:
            with self._lock:
                self._subscriber = self._verdict = None
                if self._state is not State.ENDED:
                    self._state = State.CANCELLED
                upstream, self._upstream = self._upstream, None
            self._cancel(upstream)  # 2.13
            if hooks.is_exit(error):
                raise
            hooks.on_error_dropped(error, f"raised by {signal} of {self._name}")

    def _cancel(self, upstream: Subscription | None) -> None:
        if upstream is not None:
            try:
                upstream.cancel()
            except Exception as error:
                hooks.on_error_dropped(error, f"raised by cancel() of {type(upstream).__name__} (rule 3.15)")


def _violation(step: Step, signal: str) -> SpecViolation:
    if step.rule == "1.7":
        return SignalAfterTerminal(f"{signal} after the end")
    return SpecViolation(f"{signal} before on_subscribe", rule=step.rule, party="Publisher")
