"""Sinks with one Subscriber, a shared buffer, a history or no buffer."""

from __future__ import annotations

from threading import get_ident
from time import monotonic, sleep
from typing import Final

from pyrs._core import hooks
from pyrs._core.hub import EMITTING, IDLE, NON_SERIALIZED, OK, AlignedHub, EmitResult, HubSubscription
from pyrs._core.overflow import Overflow
from pyrs._core.replay import ReplayHub
from pyrs.api import T
from pyrs.errors import BufferOverflow, NullSignal
from pyrs.sinks.sink import Sink


class UnicastSink(AlignedHub[T], Sink[T]):
    """``unicast(capacity, overflow)``: buffers elements for its one Subscriber."""

    _capacity: int

    def __init__(self, capacity: int, overflow: Overflow | None) -> None:
        super().__init__(capacity)
        self._strategy = overflow
        self._claimant: HubSubscription[T] | None = None  # the first Subscriber
        self._lost: list[T] = []  # dropped elements that are not reported yet

    def _admit(self, subscription: HubSubscription[T]) -> None:
        with self._lock:
            refused = self._claimant is not None
            if not refused:
                self._claimant = subscription
        if refused:
            subscription.finish(RuntimeError("a unicast sink accepts one Subscriber: use multicast() for several"))
        else:
            super()._admit(subscription)
            self._left()  # the Subscriber may have cancelled in on_subscribe

    def _left(self) -> None:
        with self._lock:
            if self._claimant is not None and not self._claimant._live:
                self._abandoned = True
        self.wake_here()

    def _finish(self) -> None:
        super()._finish()
        claimant = self._claimant
        if claimant is not None and not claimant._live:  # a live one receives the terminal signal from _admit
            self._missed_error(claimant)

    def _missed_error(self, subscription: HubSubscription[T]) -> None:
        if subscription is self._claimant:  # no later Subscriber receives the error
            self._report_error(f"{self._call()}: the Subscriber cancelled")

    def _overflowed(self, element: T) -> EmitResult:
        strategy = self._strategy
        if strategy is Overflow.BUFFER:
            self._buffer.append(element)
        elif strategy is Overflow.DROP_OLDEST:
            try:
                self._lost.append(self._buffer.popleft())
            except IndexError:
                pass  # the drain loop has just emitted it
            self._buffer.append(element)
        elif strategy is Overflow.DROP_LATEST:
            self._lost.append(element)
            return OK
        else:
            if strategy is Overflow.ERROR:
                self._ended = True
                self._error = self._unreceived = BufferOverflow(
                    f"{self._call()}: the buffer of {self._capacity} elements is full"
                )
                self._again = True
            return EmitResult.OVERFLOW
        self._again = True
        return OK

    def _enqueue(self, element: T) -> EmitResult:
        result = super()._enqueue(element)
        if self._lost:
            with self._lock:
                lost, self._lost = self._lost, []
                self.dropped += len(lost)
            hooks.on_next_dropped(len(lost), f"{self._call()}: the buffer is full")
            hooks.discard_all(self.discards, lost)
        return result

    def _call(self) -> str:
        return f"unicast({self._capacity}" + (f", {self._strategy.value!r})" if self._strategy else ")")


class AlignedSink(AlignedHub[T], Sink[T]):
    """``multicast(capacity)``: emits to all Subscribers at the pace of the slowest."""

    _capacity: int

    def __init__(self, capacity: int, auto_cancel: bool) -> None:
        super().__init__(capacity)
        self._auto_cancel = auto_cancel

    def _left(self) -> None:
        with self._lock:
            if self._auto_cancel and not self._subscriptions:
                self._abandoned = True
        self.wake_here()

    def _call(self) -> str:
        return f"multicast({self._capacity})"


class ReplaySink(ReplayHub[T], Sink[T]):
    """``replay(limit, seconds)``: emits the history first, then new elements."""

    def _call(self) -> str:
        given = "" if self._limit is None else str(self._limit)
        if self._seconds is not None:
            given += f"{', ' if given else ''}seconds={self._seconds:g}"
        return f"replay({given})"


_MAX_WAIT_SECONDS: Final = 0.1
"""The maximum number of seconds that a push waits for another thread's terminal signal."""


class DirectSink(Sink[T]):
    """``multicast_best_effort()`` and ``multicast_all_or_nothing()``: no buffer."""

    def __init__(self, all_or_nothing: bool) -> None:
        super().__init__()
        self._all_or_nothing = all_or_nothing

    def try_emit(self, element: T, /) -> EmitResult:
        if element is None:
            raise NullSignal("None is not an element")
        deadline = 0.0
        while (outcome := self.attempt(self._emit_or_miss, element)) is None:
            deadline = deadline or monotonic() + _MAX_WAIT_SECONDS
            if not self._may_become_free(deadline):
                with self._lock:
                    return self._refusal() or NON_SERIALIZED  # inside a signal: there is no buffer for the element
        result, missed = outcome
        if missed:
            with self._lock:  # the turn is released, so another thread may push
                self.dropped += missed
            hooks.on_next_dropped(missed, f"{self._call()}: a Subscriber had no demand")
        return result

    def _emit_or_miss(self, element: T) -> tuple[EmitResult, int]:
        """Signal the Subscribers with demand and return the result and the drops.

        The second item of the tuple is the number of drops to report. Each Subscriber without demand is a drop, unless
        no Subscriber has demand. The caller has the turn.
        """
        missed = 0
        try:
            self._owner = get_ident()
            self._activity = EMITTING
            subscriptions = self._subscriptions
            refused = self._rejection(subscriptions)
            if refused is not None:
                return refused, 0
            for each in subscriptions:
                if each._requested > each._emitted:
                    each._emitted += 1
                    try:
                        each.on_next(element)
                    except BaseException as error:
                        self._subscriber_raised(each, error)
                else:
                    missed += 1
            if self._unsettled:
                self._settle_late(element, len(subscriptions) - missed)
                self._raise_interrupt()
        finally:
            self._activity = IDLE
        return (EmitResult.OVERFLOW, 0) if missed == len(subscriptions) else (OK, missed)

    def _may_become_free(self, deadline: float) -> bool:
        """Yield to other threads; return whether the turn may still become free.

        While another thread pushes, the result is False. A thread that emits a terminal signal releases the turn soon.
        """
        activity = self._activity  # read before the owner, which is written first
        if activity == EMITTING or (activity != IDLE and self._owner == get_ident()):
            return False
        sleep(0)
        return monotonic() < deadline

    def _rejection(self, subscriptions: tuple[HubSubscription[T], ...]) -> EmitResult | None:
        if self._ended:
            return EmitResult.TERMINATED
        if not subscriptions:
            return EmitResult.ZERO_SUBSCRIBERS
        if self._all_or_nothing:
            for each in subscriptions:
                if each._requested <= each._emitted:
                    return EmitResult.OVERFLOW
        return None

    def _demanded(self, subscription: HubSubscription[T]) -> None:
        pass  # there is no buffer to emit from

    def _left(self) -> None:
        pass

    def _drain(self) -> None:
        if self._ended and not self._over:
            self._finish()

    def _call(self) -> str:
        return "multicast_all_or_nothing()" if self._all_or_nothing else "multicast_best_effort()"
