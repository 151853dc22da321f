"""The strict guards, which report the rules that third-party objects violate."""

from __future__ import annotations

from threading import RLock, get_ident
from typing import Any, Generic
from weakref import WeakSet

from pyrs._core import hooks
from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED, add_demand, non_positive
from pyrs._core.display import short
from pyrs._core.downstream import checked_subscriber, subscriber_name
from pyrs._core.states import TRANSITIONS, Signal, State, Transition
from pyrs._core.validation import checked_integer
from pyrs.api import Processor, Publisher, R, Subscriber, Subscription, T
from pyrs.errors import (
    ConcurrentSignals,
    DemandExceeded,
    NonPositiveRequest,
    NullSignal,
    SignalAfterTerminal,
    SpecViolation,
    SubscribedTwice,
)

DEEPEST = 32  # more nested signals on one thread count as unbounded recursion (§3.3)


class GuardedPublisher(Publisher[T]):
    """A third-party Publisher, with a guard around each of its Subscribers.

    Rules: 1.9, 1.10, and those of ``GuardedSubscriber`` that concern a Publisher or a Subscription.
    """

    carries_context = True

    def __init__(self, source: Publisher[T]) -> None:
        self.source = source
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._guards: WeakSet[GuardedSubscriber[T]] = WeakSet()

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Subscribe with a guard around the Subscriber (§1.9, §1.10)."""
        guard = GuardedSubscriber(checked_subscriber(subscriber), self.source)
        with self._lock:
            others = [other for other in self._guards if other is not guard]
            self._guards.add(guard)
        if any(other.serves(subscriber) for other in others):
            guard.refuse("was subscribed again while its stream was live")
            return
        try:
            attach(self.source, guard)
        except BaseException as error:  # §1.9: on_error is the only legal report
            guard.source_raised(error)
            if hooks.is_exit(error):
                raise

    def __repr__(self) -> str:
        return repr(self.source)


class GuardedSubscriber(Subscriber[T], Subscription, Generic[T]):
    """Forwards legal signals, and reports the rule and the party of each violation.

    A violation by a Publisher or a Subscription ends the stream: the Publisher is cancelled and the Subscriber receives
    ``on_error(SpecViolation)``. After concurrent signals, ``on_error`` is called when those signals have returned. A
    non-positive request also fails the stream (§3.9). A second ``on_subscribe`` (§2.12), an exception of ``cancel``
    (§3.15), other violations by the Subscriber, and violations after termination are reported to the dropped-errors
    hook. After the guard has failed a stream, it reports no further violation by the Publisher except a second
    ``on_subscribe``.

    If ``source`` is None, the guard also checks the Subscriber (§2.3, §2.7).

    Rules: 1.1, 1.3, 1.4, 1.7, 1.9, 2.3, 2.5, 2.7, 2.8, 2.12, 2.13, 3.1, 3.3, 3.5, 3.6, 3.7, 3.8, 3.9, 3.12, 3.13, 3.15,
    3.16, 3.17.
    """

    def __init__(self, subscriber: Subscriber[T], source: Publisher[T] | None = None) -> None:
        self._subscriber: Subscriber[T] | None = subscriber
        self.discards = hooks.discards_of(subscriber)
        self._upstream: Subscription | None = None
        self._name = f"Subscriber {subscriber_name(subscriber)}"
        self._source = "the Publisher" if source is None else f"Publisher {type(source).__name__}"
        self._subscription = "the Subscription"
        self._checks_subscriber = source is None
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._state = State.WAITING
        self._subscribed = False  # whether the Publisher called on_subscribe
        self._failed_by_guard = False  # whether the guard has failed the stream
        self._requested = 0
        self._demand = 0
        # The signalling thread and its nesting depth: one thread may nest signals (§3.2), two may not overlap (§1.3).
        self._thread = 0
        self._depth = 0
        self._terminating = 0  # the thread that is emitting a terminal signal
        self._caller = 0  # the thread inside request or cancel; reset when a signal is emitted inside that call (§3.10)
        self._pending_error: BaseException | None = None  # an error to emit as soon as no signal is running

    def __repr__(self) -> str:
        return f"<strict {self._name}, {self._state.value}>"

    # From the Publisher

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Forward the first Subscription, cancel any other (§1.9, §2.5, §2.12, §2.13)."""
        if subscription is None:
            raise self._null("on_subscribe")
        for method in ("request", "cancel"):
            if not callable(getattr(subscription, method, None)):
                what = f"on_subscribe was called with a {type(subscription).__name__}, which has no {method}()"
                self._fail_stream(self._violation("Publisher", "1.9", what))
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
                    if self._checks_subscriber:
                        self._source = f"the Publisher of {type(subscription).__name__}"
            if not step.violation:
                if subscriber is not None:
                    self._call(subscriber.on_subscribe, "on_subscribe", self)
                return
            self._cancel(subscription)
            if not first:
                self._drop(SubscribedTwice(f"{self._source}: on_subscribe was called a second time on {self._name}"))
        finally:
            self._leave()

    def on_next(self, element: T, /) -> None:
        """Forward a requested element (§1.1, §1.3, §1.7, §1.9, §2.8, §2.13, §3.3)."""
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
                what = f"on_next without demand: more elements than the {self._requested} requested"
                self._fail_stream(DemandExceeded(f"{self._source}: {what}"))
            elif step.violation:
                self._fail_stream(self._illegal_signal(step, "on_next"))
            elif deep and step.passes:
                what = f"recurses in request() and on_next() without a bound, more than {DEEPEST} levels so far"
                self._fail_stream(self._violation("Subscription", "3.3", what))
            elif step.passes and subscriber is not None:
                self._call(subscriber.on_next, "on_next", element)
        finally:
            self._leave()

    def on_error(self, error: BaseException, /) -> None:
        """Forward the first terminal signal (§1.3, §1.4, §1.7, §1.9, §2.13)."""
        if error is None:
            raise self._null("on_error")
        given: object = error
        if not isinstance(given, BaseException):
            what = f"on_error was called with {short(error)}, which is not an exception"
            error = self._violation("Publisher", "1.4", what)
        self._terminal(Signal.ON_ERROR, error)

    def on_complete(self) -> None:
        """Forward the first terminal signal (§1.3, §1.7, §1.9)."""
        self._terminal(Signal.ON_COMPLETE, None)

    def source_raised(self, error: BaseException) -> None:
        """Report an exception of the Publisher's ``subscribe`` (§1.9)."""
        self._fail_stream(self._violation("Publisher", "1.9", "subscribe()", error))

    # From the Subscriber

    def request(self, n: int, /) -> None:
        """Count and forward the demand; fail the stream if ``n <= 0``.

        Rules: 2.3, 2.7, 3.1, 3.6, 3.8, 3.9, 3.16, 3.17.
        """
        n = checked_integer(n, "n")
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
                self._fail_stream(NonPositiveRequest(f"{self._name}: {non_positive(n).message}"))
            elif upstream is not None:
                upstream.request(min(n, UNBOUNDED))
        except BaseException as error:
            if hooks.is_exit(error):
                raise
            self._fail_stream(self._violation("Subscription", "3.16", f"request({n})", error))
        finally:
            self._end_call()

    def cancel(self) -> None:
        """Cancel the Publisher once and release both sides.

        Rules: 2.3, 2.7, 3.1, 3.5, 3.7, 3.12, 3.13, 3.15.
        """
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

    # From GuardedPublisher

    def serves(self, subscriber: object) -> bool:
        """Return whether this guard has an active stream to the Subscriber (§2.12)."""
        subscribed = self._subscriber
        return subscribed is not None and (subscribed is subscriber or subscribed == subscriber)  # §2.12: by equality

    def refuse(self, why: str) -> None:
        """Report the violation of §1.10, and signal nothing to the Subscriber."""
        self._subscriber = None
        self._drop(self._violation("Subscriber", "1.10", why))

    # Implementation

    def _advance(self, signal: Signal) -> Transition:
        step = TRANSITIONS[self._state, signal]
        if not step.violation:
            self._state = step.state
        return step

    def _begin_call(self, what: str) -> SpecViolation | None:
        """Record the calling thread and return the violation of the call, if any.

        Called under the lock. Rules: 2.3, 2.7, 3.1.
        """
        thread = get_ident()
        caller = self._caller
        self._caller = caller or thread
        if self._state is State.WAITING:
            return self._violation("Subscriber", "3.1", f"{what} before on_subscribe")
        if not self._checks_subscriber:
            return None
        if self._terminating == thread:
            return self._violation("Subscriber", "2.3", f"{what} inside on_error or on_complete")
        if caller not in (0, thread) and self._state is State.ACTIVE:
            return self._violation("Subscriber", "2.7", f"{what} while another thread was inside request() or cancel()")
        return None

    def _end_call(self) -> None:
        with self._lock:
            if self._caller == get_ident():
                self._caller = 0

    def _enter(self) -> bool:
        """Begin a signal, or fail the stream if another thread is in one (§1.3)."""
        thread = get_ident()
        with self._lock:
            if self._caller == thread:
                # A request that emits (§3.10) may run as long as the stream. Other threads must be able to cancel it.
                self._caller = 0
            if self._depth == 0 or self._thread == thread:
                self._thread = thread
                self._depth += 1
                return True
        self._fail_stream(ConcurrentSignals(f"{self._source}: signals from two threads at the same time"))
        return False

    def _leave(self) -> None:
        with self._lock:
            self._depth -= 1
        self._emit_pending_error()

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
                self._fail_stream(self._illegal_signal(step, signal.value))
            elif step.passes and subscriber is not None:
                self._emit_terminal(subscriber, error)
            elif error is not None:
                hooks.on_error_dropped(error, "the stream was cancelled")
        finally:
            self._leave()

    def _null(self, signal: str) -> NullSignal:
        error = NullSignal(f"{self._source}: {signal}(None)")
        self._fail_stream(error, raised=True)
        return error  # §2.13: raised to the caller in any case

    def _fail_stream(self, error: BaseException, raised: bool = False) -> None:
        """Cancel at once, and emit the error when no signal is running (§1.3)."""
        with self._lock:
            before = self._state
            late = before in (State.CANCELLED, State.ENDED)
            silent = raised or self._failed_by_guard  # raised to the caller, or reported with the first violation
            upstream, self._upstream = self._upstream, None
            if not late:
                self._state, self._failed_by_guard, self._pending_error = State.CANCELLED, True, error
        if late:
            if not silent:
                self._drop(error)
            return
        self._cancel(upstream)
        if before is State.WAITING and self._enter():
            try:
                if self._subscriber is not None:  # §1.9: the Publisher has omitted on_subscribe
                    self._call(self._subscriber.on_subscribe, "on_subscribe", self)
            finally:
                self._leave()
        self._emit_pending_error()

    def _emit_pending_error(self) -> None:
        with self._lock:
            if self._pending_error is None or self._depth:
                return  # the signalling thread emits it when it leaves
            error, self._pending_error = self._pending_error, None
            subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._emit_terminal(subscriber, error)

    def _emit_terminal(self, subscriber: Subscriber[T], error: BaseException | None) -> None:
        self._terminating = get_ident()
        try:
            if error is None:
                self._call(subscriber.on_complete, "on_complete")
            else:
                self._call(subscriber.on_error, "on_error", error)
        finally:
            self._terminating = 0

    def _call(self, method: Any, signal: str, *arguments: object) -> None:
        try:
            method(*arguments)
        except BaseException as error:
            with self._lock:
                self._subscriber = self._pending_error = None
                if self._state is not State.ENDED:
                    self._state = State.CANCELLED
                upstream, self._upstream = self._upstream, None
            self._cancel(upstream)  # §2.13
            if hooks.is_exit(error):
                raise
            self._drop(self._violation("Subscriber", "2.13", signal, error))

    def _cancel(self, upstream: Subscription | None) -> None:
        if upstream is not None:
            try:
                upstream.cancel()
            except BaseException as error:
                if hooks.is_exit(error):
                    raise
                self._drop(self._violation("Subscription", "3.15", "cancel()", error))

    def _drop(self, error: BaseException) -> None:
        hooks.on_error_dropped(error, "strict")

    def _violation(self, party: str, rule: str, what: str, raised: BaseException | None = None) -> SpecViolation:
        """Return the error for a violation, with the exception ``raised`` as its cause."""
        name = {"Publisher": self._source, "Subscriber": self._name, "Subscription": self._subscription}[party]
        what = what if raised is None else f"{what} raised {raised!r}"
        violation = SpecViolation(f"{name}: {what}", rule=rule, party=party)
        violation.__cause__ = raised
        return violation

    def _illegal_signal(self, step: Transition, signal: str) -> SpecViolation:
        if step.rule == "1.7":
            return SignalAfterTerminal(f"{self._source}: {signal} after the terminal signal")
        return self._violation("Publisher", step.rule, f"{signal} before on_subscribe")


class GuardedProcessor(GuardedSubscriber[T], Processor[T, R]):
    """A third-party Processor, guarded in both of its roles (§4.1)."""

    def __init__(self, processor: Processor[T, R]) -> None:
        super().__init__(processor)
        self._publisher: GuardedPublisher[R] = GuardedPublisher(processor)

    def subscribe(self, subscriber: Subscriber[R], /) -> None:
        self._publisher.subscribe(subscriber)

    def __repr__(self) -> str:
        return f"<strict Processor {type(self._publisher.source).__name__}>"
