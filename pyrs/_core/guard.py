"""The strict guard: stands between a Publisher and a Subscriber and names the rule that one of them breaks."""

from __future__ import annotations

from threading import RLock, get_ident
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from pyrs._core import hooks
from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED, add_demand, checked_count, non_positive
from pyrs._core.display import short
from pyrs._core.downstream import checked_subscriber
from pyrs._core.states import TRANSITIONS, Signal, State, Step
from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.errors import (
    ConcurrentSignals,
    DemandExceeded,
    NonPositiveRequest,
    NullSignal,
    SignalAfterTerminal,
    SpecViolation,
    SubscribedTwice,
)

__all__ = ["GuardedProcessor", "GuardedPublisher", "GuardedSubscriber"]

T = TypeVar("T")
R = TypeVar("R")

DEEPEST = 32  # signals inside signals on one thread, before it counts as recursion without a bound (3.3)


class GuardedPublisher(Publisher[T]):
    """A foreign Publisher, each of whose Subscribers is guarded against what it and its Subscriptions break.

    Rules: 1.9, 1.10, and those of ``GuardedSubscriber`` that are a Publisher's or a Subscription's.
    """

    carries_context = True

    def __init__(self, source: Publisher[T]) -> None:
        self.source = source
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._guards: WeakSet[GuardedSubscriber[T]] = WeakSet()

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Subscribe with a guard around the Subscriber. Rules: 1.9, 1.10."""
        guard = GuardedSubscriber(checked_subscriber(subscriber), self.source)
        with self._lock:
            others = [other for other in self._guards if other is not guard]
            self._guards.add(guard)
        if any(other.serves(subscriber) for other in others):
            guard.discard(f"Subscriber {type(subscriber).__name__} was subscribed again while its stream is live")
            return
        try:
            attach(self.source, guard)
        except BaseException as error:  # 1.9: the only legal way to tell is on_error
            guard.source_raised(error)
            if hooks.is_exit(error):
                raise

    def __repr__(self) -> str:
        return repr(self.source)


class GuardedSubscriber(Subscriber[T], Subscription, Generic[T]):
    """Passes on what the rules allow, and names the rule and the party of what they do not.

    What a Publisher or a Subscription breaks ends the stream: the Publisher is cancelled and the Subscriber gets
    ``on_error(SpecViolation)``, serially, also where the violation was that signals came from two threads. What cannot
    be told to the Subscriber goes to the hook for dropped errors: violations after the end, and what the Subscriber
    breaks itself.

    Args:
        subscriber: receives what is allowed.
        source: the Publisher that is judged. Without one the Subscriber is judged too (2.3, 2.7).

    Rules: 1.1, 1.3, 1.4, 1.7, 1.9, 2.3, 2.5, 2.7, 2.12, 2.13, 3.1, 3.3, 3.6, 3.7, 3.9, 3.13, 3.15, 3.16.
    """

    def __init__(self, subscriber: Subscriber[T], source: Publisher[T] | None = None) -> None:
        self._subscriber: Subscriber[T] | None = subscriber
        self._upstream: Subscription | None = None
        self._name = f"Subscriber {type(subscriber).__name__}"
        self._source = "the Publisher" if source is None else f"Publisher {type(source).__name__}"
        self._subscription = "the Subscription"
        self._judges_subscriber = source is None
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._state = State.WAITING
        self._subscribed = False  # whether the Publisher called on_subscribe
        self._judged = False  # whether the stream was ended here: then the Publisher's end is no longer its own
        self._requested = 0
        self._demand = 0
        self._thread = 0  # the thread that is signalling, and how deep: a thread may nest (3.2), two may not overlap
        self._depth = 0
        self._ending = 0  # the thread that is telling the end
        self._caller = 0  # the thread that is inside request or cancel, until it emits there (3.10)
        self._verdict: BaseException | None = None  # an error to be signalled as soon as nobody is signalling

    def __repr__(self) -> str:
        return f"<strict {self._name}, {self._state.value}>"

    # From the Publisher.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Pass the first one on, cancel any other. Rules: 1.9, 2.5, 2.12, 2.13."""
        if subscription is None:
            raise self._null("on_subscribe")
        for method in ("request", "cancel"):
            if not callable(getattr(subscription, method, None)):
                what = f"on_subscribe brought a {type(subscription).__name__}, which has no {method}()"
                self._convict(self._breaks("1.9", what))
                return
        if not self._enter():
            self._cancel(subscription)
            return
        try:
            with self._lock:
                first, self._subscribed = not self._subscribed, True
                step = self._advance(Signal.ON_SUBSCRIBE)
                subscriber = self._subscriber
                if not step.violation:
                    self._upstream = subscription
                    self._subscription = f"Subscription {type(subscription).__name__}"
                    if self._judges_subscriber:
                        self._source = f"the Publisher of {type(subscription).__name__}"
            if not step.violation:
                if subscriber is not None:
                    self._tell(subscriber.on_subscribe, "on_subscribe", self)
                return
            self._cancel(subscription)
            if not first:
                self._drop(SubscribedTwice(f"{self._source}: on_subscribe of {self._name} for the second time"))
        finally:
            self._leave()

    def on_next(self, element: T, /) -> None:
        """Pass it on if it was requested. Rules: 1.1, 1.3, 1.7, 1.9, 2.8, 2.13, 3.3."""
        if element is None:
            raise self._null("on_next")
        if not self._enter():
            return
        try:
            with self._lock:
                step = self._advance(Signal.ON_NEXT)
                if not step.violation and self._demand < UNBOUNDED:
                    self._demand -= 1
                exceeded = self._demand < 0
                deep = self._depth > DEEPEST
                subscriber = self._subscriber
            if exceeded:
                what = f"on_next without demand, beyond the {self._requested} requested"
                self._convict(DemandExceeded(f"{self._source}: {what}"))
            elif step.violation:
                self._convict(self._out_of_turn(step, "on_next"))
            elif deep and step.passes:
                what = f"{self._subscription} lets request() and on_next() nest without a bound, {DEEPEST} deep by now"
                self._convict(SpecViolation(what, rule="3.3", party="Subscription"))
            elif step.passes and subscriber is not None:
                self._tell(subscriber.on_next, "on_next", element)
        finally:
            self._leave()

    def on_error(self, error: BaseException, /) -> None:
        """Pass the first terminal signal on. Rules: 1.3, 1.4, 1.7, 1.9, 2.13."""
        if error is None:
            raise self._null("on_error")
        given: object = error
        if not isinstance(given, BaseException):
            error = self._breaks("1.4", f"on_error brought {short(error)}, which is no exception")
        self._terminal(Signal.ON_ERROR, error)

    def on_complete(self) -> None:
        """Pass the first terminal signal on. Rules: 1.3, 1.7, 1.9."""
        self._terminal(Signal.ON_COMPLETE, None)

    def source_raised(self, error: BaseException) -> None:
        """The Publisher's ``subscribe`` raised, which it must not: say so through ``on_error``. Rules: 1.9."""
        self._convict(_caused(self._breaks("1.9", f"subscribe() raised {error!r}"), error))

    # From the Subscriber.

    def request(self, n: int, /) -> None:
        """Count the demand and pass it on; n <= 0 is answered here. Rules: 2.3, 2.7, 3.1, 3.6, 3.8, 3.9, 3.16, 3.17."""
        n = checked_count(n)
        with self._lock:
            fault = self._begin_call(f"request({n})")
            step = self._advance(Signal.REQUEST)
            if step.passes and n > 0:
                self._requested += n
                self._demand = add_demand(self._demand, n)
            upstream = self._upstream
        try:
            if fault is not None:
                self._drop(fault)
            if not step.passes:
                return
            if n <= 0:
                self._convict(NonPositiveRequest(f"{self._name}: {non_positive(n).message}"))
            elif upstream is not None:
                upstream.request(min(n, UNBOUNDED))
        except BaseException as error:
            if hooks.is_exit(error):
                raise
            what = f"{self._subscription}: request({n}) raised {error!r}"
            self._convict(_caused(SpecViolation(what, rule="3.16", party="Subscription"), error))
        finally:
            self._end_call()

    def cancel(self) -> None:
        """Cancel the Publisher once and let go of both sides. Rules: 2.3, 2.7, 3.1, 3.5, 3.7, 3.12, 3.13, 3.15."""
        with self._lock:
            fault = self._begin_call("cancel()")
            upstream: Subscription | None = None
            if self._advance(Signal.CANCEL).passes:
                self._subscriber = None
                upstream, self._upstream = self._upstream, None
        try:
            if fault is not None:
                self._drop(fault)
            self._cancel(upstream)
        finally:
            self._end_call()

    # From the guarded Publisher.

    def serves(self, subscriber: object) -> bool:
        """Whether this Subscriber is the one behind the guard, and the stream is live. Rules: 2.12."""
        mine = self._subscriber
        return mine is not None and (mine is subscriber or mine == subscriber)  # 2.12: by equality

    def discard(self, why: str) -> None:
        """The Subscriber must not be told anything through this guard. Rules: 1.10."""
        self._subscriber = None
        self._drop(SpecViolation(why, rule="1.10", party="Subscriber"))

    # The bench.

    def _advance(self, signal: Signal) -> Step:
        step = TRANSITIONS[self._state, signal]
        if not step.violation:
            self._state = step.state
        return step

    def _begin_call(self, what: str) -> SpecViolation | None:
        """Note who calls, and return what is wrong with it. Called with the lock held. Rules: 2.3, 2.7, 3.1."""
        me = get_ident()
        caller = self._caller
        self._caller = caller or me
        if self._state is State.WAITING:
            return SpecViolation(f"{self._name}: {what} before on_subscribe", rule="3.1", party="Subscriber")
        if not self._judges_subscriber:
            return None
        if self._ending == me:
            what = f"{self._name}: {what} inside on_error or on_complete"
            return SpecViolation(what, rule="2.3", party="Subscriber")
        if caller not in (0, me) and self._state is State.ACTIVE:
            what = f"{self._name}: {what} while another thread was inside request() or cancel()"
            return SpecViolation(what, rule="2.7", party="Subscriber")
        return None

    def _end_call(self) -> None:
        with self._lock:
            if self._caller == get_ident():
                self._caller = 0

    def _enter(self) -> bool:
        me = get_ident()
        with self._lock:
            if self._caller == me:
                # A request that emits (3.10) may take as long as the stream does. Others have to be able to cancel it.
                self._caller = 0
            if self._depth == 0 or self._thread == me:
                self._thread = me
                self._depth += 1
                return True
        self._convict(ConcurrentSignals(f"{self._source}: signals from two threads at the same time"))
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
                self._convict(self._out_of_turn(step, signal.value))
            elif step.passes and subscriber is not None:
                self._tell_end(subscriber, error)
            elif error is not None:
                hooks.on_error_dropped(error, "the stream was cancelled")
        finally:
            self._leave()

    def _null(self, signal: str) -> NullSignal:
        error = NullSignal(f"{self._source}: {signal}(None)")
        self._convict(error, raised=True)
        return error  # 2.13: the caller hears of it in any case

    def _convict(self, error: BaseException, raised: bool = False) -> None:
        """End the stream with this error: cancel at once, signal as soon as nobody else is signalling (1.3)."""
        with self._lock:
            before = self._state
            late = before in (State.CANCELLED, State.ENDED)
            silent = raised or self._judged  # one report of a Publisher that goes on and on will do
            upstream, self._upstream = self._upstream, None
            if not late:
                self._state, self._judged, self._verdict = State.CANCELLED, True, error
        if late:
            if not silent:
                self._drop(error)
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
            self._tell_end(subscriber, verdict)

    def _tell_end(self, subscriber: Subscriber[T], error: BaseException | None) -> None:
        self._ending = get_ident()
        try:
            if error is None:
                self._tell(subscriber.on_complete, "on_complete")
            else:
                self._tell(subscriber.on_error, "on_error", error)
        finally:
            self._ending = 0

    def _tell(self, method: Any, signal: str, *arguments: object) -> None:
        try:
            method(*arguments)
        except BaseException as error:
            with self._lock:
                self._subscriber = self._verdict = None
                if self._state is not State.ENDED:
                    self._state = State.CANCELLED
                upstream, self._upstream = self._upstream, None
            self._cancel(upstream)  # 2.13
            if hooks.is_exit(error):
                raise
            what = f"{self._name}: {signal} raised {error!r}"
            self._drop(_caused(SpecViolation(what, rule="2.13", party="Subscriber"), error))

    def _cancel(self, upstream: Subscription | None) -> None:
        if upstream is not None:
            try:
                upstream.cancel()
            except BaseException as error:
                if hooks.is_exit(error):
                    raise
                what = f"Subscription {type(upstream).__name__}: cancel() raised {error!r}"
                self._drop(_caused(SpecViolation(what, rule="3.15", party="Subscription"), error))

    def _drop(self, error: BaseException) -> None:
        hooks.on_error_dropped(error, "strict")

    def _breaks(self, rule: str, what: str) -> SpecViolation:
        return SpecViolation(f"{self._source}: {what}", rule=rule, party="Publisher")

    def _out_of_turn(self, step: Step, signal: str) -> SpecViolation:
        if step.rule == "1.7":
            return SignalAfterTerminal(f"{self._source}: {signal} after the end")
        return self._breaks(step.rule, f"{signal} before on_subscribe")


class GuardedProcessor(Processor[T, R]):
    """A foreign Processor, guarded on both faces: what it is told, and what it tells. Rules: 4.1."""

    def __init__(self, processor: Processor[T, R]) -> None:
        self._processor = processor
        self._front: GuardedSubscriber[T] = GuardedSubscriber(processor)
        self._back: GuardedPublisher[R] = GuardedPublisher(processor)

    def subscribe(self, subscriber: Subscriber[R], /) -> None:
        self._back.subscribe(subscriber)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._front.on_subscribe(subscription)

    def on_next(self, element: T, /) -> None:
        self._front.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._front.on_error(error)

    def on_complete(self) -> None:
        self._front.on_complete()

    def __repr__(self) -> str:
        return f"<strict Processor {type(self._processor).__name__}>"


def _caused(violation: SpecViolation, cause: BaseException) -> SpecViolation:
    violation.__cause__ = cause
    return violation
