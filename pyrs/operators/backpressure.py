"""Backpressure operators: limit_rate and on_backpressure_*."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Any

from pyrs._core import hooks
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import name_of
from pyrs._core.inputs import Input
from pyrs._core.operator import Operator
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.stage import PushedStage, StageRun
from pyrs._core.validation import checked_callable, checked_element, checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.errors import BufferOverflow, NullSignal
from pyrs.operators.scheduling import Crossing

Action = Callable[[Any], object]


class LimitRate(Operator[Any]):
    """``limit_rate(high, low)`` and ``prefetch(n)``: bounded requests upstream."""

    def __init__(self, source: Publisher[Any], high: int, low: int | None, call: str, parameter: str = "high") -> None:
        self.high = checked_natural(high, parameter, 1)
        self.low = low if low is None else checked_natural(low, "low", 1)
        if self.low is not None and self.low > self.high:
            raise ValueError(f"low must be at most {high}, the value of {parameter}, not {low}")
        super().__init__(source, call)

    def run(self, subscriber: Subscriber[Any]) -> Crossing:
        return Crossing(subscriber, self, self.high, self.low)


class Drops:
    """Reports dropped elements: each one to a callback, or their number to the hook.

    The first of several consecutive drops is reported immediately. The number of the others is reported when an element
    is accepted, or when the stream terminates or is cancelled.
    """

    def __init__(self, action: Action | None, where: str) -> None:
        self._action = action
        self._where = where
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._unreported = 0
        self.dropping = False

    def add(self, element: Any) -> None:
        """Report a dropped element; an exception of the callback propagates."""
        if self._action is not None:
            self._action(element)
            return
        with self._lock:
            first, self.dropping = not self.dropping, True
            if not first:
                self._unreported += 1
        if first:
            hooks.on_next_dropped(1, self._where)

    def flush(self) -> None:
        """Report the remaining drops, when an element is accepted or the stream ends."""
        with self._lock:
            count, self._unreported = self._unreported, 0
            self.dropping = False
        hooks.on_next_dropped(count, self._where)


class _UndemandedRun(StageRun):
    def __init__(self, stage: BackpressureDrop) -> None:
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self._requested = 0  # under the lock
        self._emitted = 0  # changed by upstream, whose signals are serial
        self._drops = Drops(stage.action, stage.call)

    def begin(self) -> None:
        self.request_upstream(UNBOUNDED)

    def request(self, n: int) -> None:
        if n > 0:
            with self._lock:
                self._requested += n  # demand adds up (§3.8)
        else:
            self.request_upstream(n)  # the source answers it (§3.9)

    def on_next(self, element: Any) -> None:
        if self._requested == self._emitted:
            self._drops.add(element)  # it was not demanded (§1.1)
            self.discard(element)
            return
        self._emitted += 1
        if self._drops.dropping:
            self._drops.flush()
        self.emit(element)

    def on_complete(self) -> None:
        self._drops.flush()
        self.complete()

    def on_error(self, error: BaseException) -> None:
        self._drops.flush()
        self.fail(error)

    def on_cancel(self) -> None:
        self._drops.flush()


class BackpressureDrop(PushedStage):
    """``on_backpressure_drop()``: drops elements without demand."""

    call = "on_backpressure_drop()"
    run_type = _UndemandedRun

    def __init__(self, on_dropped: Action | None) -> None:
        self.action = None if on_dropped is None else checked_callable(on_dropped, "on_dropped")


class BackpressureError(BackpressureDrop):
    """``on_backpressure_error()``: fails on an element without demand."""

    call = "on_backpressure_error()"

    def __init__(self) -> None:
        super().__init__(_refuse)


def _refuse(_: object) -> None:
    raise BufferOverflow("an element exceeded the demand")


class _Buffer(Input[Any]):
    """Buffers elements without demand.

    Upstream's signals are serial (§1.3), so the buffer has one producer.
    """

    def __init__(self, owner: _BackpressureBufferRun, operator: BackpressureBuffer) -> None:
        super().__init__(owner, UNBOUNDED)
        self._operator = operator
        self._capacity = operator.capacity
        self._overflow = operator.overflow
        self.drops = Drops(operator.on_overflow, str(operator.call))
        self.elements: deque[Any] = deque()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
            return
        elements = self.elements
        if not elements and self._owner.try_emit(element):
            if self.drops.dropping:
                self.drops.flush()
            return
        if len(elements) >= self._capacity:
            element = self._overflowed(element)
            if element is None:
                return
        elif self.drops.dropping:
            self.drops.flush()
        elements.append(element)
        if self.closed:  # cancelled since the check above: the queue may have been emptied already
            hooks.discard_all(self.discards, elements)
        self._owner.wake()

    def _overflowed(self, element: Any) -> Any:
        """Apply the overflow strategy; return the element to buffer, or None."""
        try:
            if self._overflow is Overflow.DROP_LATEST:
                dropped, element = element, None
                return self._replace(dropped, None)
            if self._overflow is Overflow.ERROR:
                if self._operator.on_overflow is not None:
                    self._operator.on_overflow(element)
                raise BufferOverflow(f"the buffer of {self._capacity} elements is full")
            try:
                oldest = self.elements.popleft()
            except IndexError:
                return element  # the drain loop has just emitted all of them
            return self._replace(oldest, element)
        except BaseException as error:
            self._operator.blame(error)
            self.fail(error)
            if element is not None:
                self.discard(element)
            if hooks.is_exit(error):
                raise
            return None

    def _replace(self, dropped: Any, element: Any) -> Any:
        """Drop an element; return the one to buffer instead."""
        try:
            self.drops.add(dropped)
        finally:
            self.discard(dropped)
        return element


class _BackpressureBufferRun(Coordinator[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: BackpressureBuffer) -> None:
        super().__init__(subscriber, operator)
        self._input = operator.buffer_type(self, operator)

    def _advance(self) -> None:
        source = self._input
        ended = source.ended  # read first: if it is true, the buffer contains all remaining elements
        while not self._interrupted and self._demand() > 0:
            try:
                element = source.elements.popleft()
            except IndexError:  # upstream may remove the oldest element at any time
                break
            self._emit(element)
        if ended and not source.elements:
            self._end_with(source.take_error())

    def _release(self) -> None:
        self._input.cancel()
        self._discard_all(self._input.elements)
        self._input.drops.flush()


class BackpressureBuffer(Operator[Any]):
    """``on_backpressure_buffer(capacity)`` and ``on_backpressure_latest()``."""

    run_type = _BackpressureBufferRun
    buffer_type = _Buffer

    def __init__(
        self,
        source: Publisher[Any],
        capacity: int,
        overflow: Overflow | str,
        on_overflow: Action | None,
        call: str | None = None,
    ) -> None:
        self.capacity = checked_natural(capacity, "capacity", 1)
        self.overflow = checked_overflow(overflow, Overflow.ERROR, Overflow.DROP_OLDEST, Overflow.DROP_LATEST)
        self.on_overflow = None if on_overflow is None else checked_callable(on_overflow, "on_overflow")
        super().__init__(source, call or f"on_backpressure_buffer({capacity}, {self.overflow.value!r})")


class _ReducingBuffer(_Buffer):
    """Combines a new element with the buffered one."""

    _operator: BackpressureReduce

    def _replace(self, dropped: Any, element: Any) -> Any:
        try:
            return checked_element(self._operator.function(dropped, element), "function")
        except BaseException:
            self.elements.append(dropped)
            if self.closed:  # cancelled while the function ran: the buffer may have been emptied
                hooks.discard_all(self.discards, self.elements)
            raise


class BackpressureReduce(BackpressureBuffer):
    """``on_backpressure_reduce(function)``: combines elements without demand into one."""

    buffer_type = _ReducingBuffer

    def __init__(self, source: Publisher[Any], function: Callable[[Any, Any], Any]) -> None:
        self.function = checked_callable(function, "function")
        call = f"on_backpressure_reduce({name_of(function)})"
        super().__init__(source, 1, Overflow.DROP_OLDEST, None, call)
