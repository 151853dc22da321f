"""The Subscribers through which a coordinator takes its upstreams: with a bounded queue, or signal by signal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice, repeat, takewhile
from operator import is_
from threading import RLock
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.context import attach
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import IteratorConsumer, null_element
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal

__all__ = ["DirectInput", "Input", "QueuedInput", "RefilledInput"]

T = TypeVar("T")

_BATCH = 256


class Input(Subscriber[T]):
    """One upstream of a coordinator.

    ``request`` and ``cancel`` may be called from any thread, also before ``on_subscribe`` came: demand is kept until
    then, and a Subscription that comes too late is cancelled. Rules: 2.3, 2.4, 2.5, 2.6, 2.8, 2.12, 2.13.
    """

    __slots__ = ("_closed", "_demand", "_guard", "_subscription")

    def __init__(self) -> None:
        self._guard = RLock()  # may be taken again by its thread: a finalizer, run by the collector, may cancel
        self._subscription: Subscription | None = None
        self._demand = 0  # what is to be requested when the Subscription comes
        self._closed = False  # ended or cancelled

    @property
    def closed(self) -> bool:
        """Whether it ended or was cancelled."""
        return self._closed

    def subscribe_to(self, source: Publisher[T]) -> None:
        """Subscribe to the source; what its ``subscribe`` raises is its error (1.9)."""
        try:
            attach(source, self)
        except Exception as error:
            if hooks.is_exit(error):
                raise
            self.on_error(error)

    def request(self, n: int) -> None:
        """Request n more, now or as soon as there is a Subscription."""
        with self._guard:
            subscription = self._subscription
            if subscription is None:
                self._demand += n
                return
        subscription.request(min(n, UNBOUNDED))  # 3.17: a stranger's long holds no more

    def cancel(self) -> None:
        """Cancel, unless it ended (2.6)."""
        with self._guard:
            self._closed = True
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            try:
                subscription.cancel()
            except Exception as error:  # 3.15 is the upstream's to keep; ours has to return normally all the same
                hooks.on_error_dropped(error, f"raised by cancel() of {type(subscription).__name__}")

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        with self._guard:
            refused = self._closed or self._subscription is not None
            if not refused:
                self._subscription = subscription
            demand, self._demand = self._demand, 0
        if refused:
            subscription.cancel()  # 2.5
        elif demand:
            subscription.request(min(demand, UNBOUNDED))

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        if self._close():
            self._end(error)
        else:
            hooks.on_error_dropped(error, "the stream was over")

    def on_complete(self) -> None:
        if self._close():
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        """The upstream ended, with this error or well. Called once at most, and not after a cancel."""

    def _close(self) -> bool:
        """Note a terminal signal (2.4) and return whether it was the first and nobody cancelled before."""
        with self._guard:
            first, self._closed = not self._closed, True
            self._subscription = None
        return first


class RefilledInput(Input[T]):
    """Requests ``prefetch`` elements, and more when three quarters were taken. Rules: 2.1, 2.2, 2.7, 2.11.

    Args:
        prefetch: how many elements are requested and not yet taken, at most.
    """

    __slots__ = ("_low", "_used")

    def __init__(self, prefetch: int) -> None:
        super().__init__()
        self._demand = prefetch
        self._low = prefetch - (prefetch >> 2)
        self._used = 0

    @property
    def until_refill(self) -> int:
        """How many are to be taken before more is requested: who takes several at once takes no more than that."""
        return self._low - self._used

    def taken(self, n: int = 1) -> None:
        """So many elements were taken. By one thread at a time."""
        self._used += n
        if self._used >= self._low:
            used, self._used = self._used, 0
            if not self._closed:
                self.request(used)


class QueuedInput(RefilledInput[T], IteratorConsumer[T], Generic[T]):
    """Keeps up to ``prefetch`` elements for the lane to take, and requests more when three quarters were taken.

    The lane reads ``elements``, ``ended`` and ``error`` (in this order: what came before the end is in the queue by the
    time that ``ended`` is set) and says ``taken(n)`` for what it took. Rules: 2.1, 2.2, 2.7, 2.11.

    Args:
        owner: the coordinator.
        prefetch: how many elements are requested and held at most.
        passes: whether an element may go by the queue, straight to the Subscriber, when the lane is idle, the queue
            empty and an element demanded: for operators that would do just that with it.
    """

    __slots__ = ("_owner", "_passes", "elements", "ended", "error")

    steady_only = True

    def __init__(self, owner: Coordinator[Any], prefetch: int, *, passes: bool = False) -> None:
        super().__init__(prefetch)
        self._owner = owner
        self._passes = passes
        self.elements: deque[T] = deque()
        self.ended = False
        self.error: BaseException | None = None

    @property
    def used_up(self) -> bool:
        """Whether it ended well and every element was taken."""
        return self.ended and not self.elements and self.error is None

    def cancel(self) -> None:
        """Cancel, unless it ended, and let go of what was not taken."""
        super().cancel()
        self.elements.clear()

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            return
        if self._passes and not self.elements and self._owner.pass_on(element):
            self.taken()
            return
        self.elements.append(element)
        self._notify()

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        # At C speed, which is why it takes only what cannot stall in the middle of a batch.
        taken = 0
        try:
            while taken < limit and not self._closed:
                size = min(limit - taken, _BATCH)
                batch = list(islice(iterator, size))
                if any(map(is_, batch, repeat(None))):  # not "None in batch", which asks each element what it equals
                    self.elements.extend(takewhile(lambda element: element is not None, batch))
                    raise null_element()
                self.elements.extend(batch)
                taken += len(batch)
                if len(batch) < size:
                    break
        finally:
            self._notify()
        return taken

    def _end(self, error: BaseException | None) -> None:
        self.error = error
        self.ended = True
        self._notify()

    def _notify(self) -> None:
        """There is something for the lane to see. From any thread."""
        self._owner.wake()


class DirectInput(Input[T], Generic[T]):
    """Posts each signal to the lane: elements come in as many as were requested.

    Args:
        owner: the coordinator.
        on_element: called on the lane with each element.
        on_end: called on the lane with None at ``on_complete``; by default nothing happens.
        on_failure: called on the lane with the error; by default the stream fails with it.
    """

    __slots__ = ("_on_element", "_on_end", "_on_failure", "_owner")

    def __init__(
        self,
        owner: Coordinator[Any],
        on_element: Callable[[T], object],
        on_end: Callable[[None], object] | None = None,
        on_failure: Callable[[BaseException], object] | None = None,
    ) -> None:
        super().__init__()
        self._owner = owner
        self._on_element = on_element
        self._on_end = on_end
        self._on_failure = on_failure or owner._fail

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if not self._closed:
            self._owner.post(self._on_element, element)

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self._owner.post(self._on_failure, error)
        elif self._on_end is not None:
            self._owner.post(self._on_end)
