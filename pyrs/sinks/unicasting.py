"""UnicastSink: a sink for one Subscriber."""

from __future__ import annotations

from typing import TypeVar

from pyrs._core import hooks
from pyrs._core.hub import OK, AlignedHub, EmitResult, HubSubscription
from pyrs._core.overflow import Overflow
from pyrs.errors import BufferOverflow
from pyrs.sinks.sink import Sink

T = TypeVar("T")


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
        self._wake()

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
                self._error = BufferOverflow(f"{self._call()}: the buffer of {self._capacity} elements is full")
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

    def _buffered(self) -> int:
        return len(self._buffer)
