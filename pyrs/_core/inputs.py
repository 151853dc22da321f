"""The upstream side of an operator: the Subscribers of its sources."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any, Generic

from pyrs._core import hooks
from pyrs._core.context import attach_safely
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED, Prefetch
from pyrs._core.fusion import IteratorConsumer, non_null, null_element
from pyrs.api import Publisher, Subscriber, Subscription, T
from pyrs.errors import NullSignal

_BATCH = 256


class Input(Subscriber[T]):
    """One upstream of an operator.

    ``request`` and ``cancel`` may be called from any thread, also before ``on_subscribe``: demand is stored until
    then, and a Subscription that arrives after a cancel is cancelled.

    Args:
        owner: the operator's run, usually a ``Coordinator``, which is woken when the upstream terminates.
        demand: how many elements to request as soon as there is a Subscription.

    Attributes:
        ended: whether the upstream completed or failed. It is set after the last element was stored, so a reader must
            read it before the elements.
        error: the error of the upstream; None if it completed, has not ended, or if the owner has taken the error.

    Rules: 2.3, 2.4, 2.5, 2.6, 2.8, 2.9, 2.10, 2.12, 2.13.
    """

    catches_user_errors = True
    _cancelled = False  # the owner has cancelled
    _upstream_over = False  # set after the upstream's ``cancel`` was called, or when it has terminated

    def __init__(self, owner: Any = None, demand: int = 0) -> None:
        self._guard = RLock()  # reentrant: the collector may run a finalizer that cancels while the lock is held
        self._owner = owner
        self.discards = () if owner is None else hooks.discards_of(owner)
        self._subscription: Subscription | None = None
        self._demand = demand  # requested when the Subscription arrives
        self._closed = False  # terminated or cancelled
        self.ended = False
        self.error: BaseException | None = None

    def discard(self, element: T) -> None:
        """Discard an element that arrived too late, or that the operator drops."""
        hooks.discard(self.discards, element)

    @property
    def closed(self) -> bool:
        """True if the upstream terminated or was cancelled."""
        return self._closed

    def subscribe_to(self, source: Publisher[T]) -> None:
        """Subscribe to the source.

        An exception of ``subscribe`` counts as an error of the source (§1.9). An exit is also raised again.
        """
        try:
            attach_safely(source, self)
        except BaseException as error:  # an exit; if this is a thread of a scheduler, no caller receives it
            if not self._closed:
                subscription = self._subscription
                self.on_error(error)
                hooks.cancel_safely(subscription)
            raise

    def request(self, n: int) -> None:
        """Request n more, now or as soon as there is a Subscription."""
        with self._guard:
            subscription = self._subscription
            if subscription is None:
                self._demand += n
                return
        subscription.request(min(n, UNBOUNDED))  # 3.17: the maximum for a third-party Subscription

    def cancel(self) -> None:
        """Cancel, unless the upstream terminated (§2.6), and discard stored elements."""
        self.cancel_upstream()

    def cancel_upstream(self) -> None:
        """Cancel, unless the upstream terminated; stored elements are left to ``cancel``.

        An error that the owner has not taken is reported as dropped.
        """
        self._cancelled = True
        self._disconnect()

    def _disconnect(self) -> None:
        """Cancel the Subscription, and report an error that the owner has not taken."""
        subscription: Subscription | None = None
        try:
            with self._guard:
                self._closed = True
                subscription, self._subscription = self._subscription, None
            hooks.cancel_safely(subscription)
        finally:  # also after an interrupt: another thread may wait for this
            if subscription is not None:
                self._upstream_over = True
        self._drop_error()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        with self._guard:
            refused = self._subscription is not None
            if not refused:
                self._subscription = subscription
                if self._closed:  # read after the store: a finalizer or a signal handler may cancel at any line
                    refused, self._subscription = True, None
            demand, self._demand = self._demand, 0
        if refused:
            subscription.cancel()  # 2.5
        elif demand:
            subscription.request(demand if demand <= UNBOUNDED else UNBOUNDED)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
        else:
            self._receive(element)

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        if self._close():
            self._end(error)
        else:
            self._drop(error)

    def on_complete(self) -> None:
        if self._close():
            self._end(None)

    def fail(self, error: BaseException) -> None:
        """Cancel the upstream and end as if it had failed with this error."""
        try:
            self._disconnect()  # not ``cancel``: the owner receives the error, unless it has cancelled
        finally:  # also after an interrupt: another thread may wait for this
            self._end(error)

    def _drop_error(self) -> None:
        """Report an error that the owner has not taken as dropped."""
        if self.error is not None and (error := self.take_error()) is not None:
            self._drop(error)

    def _drop(self, error: BaseException) -> None:
        """Report an error as dropped; the owner reports it once for all of its inputs."""
        if self._owner is not None:
            self._owner._drop(error)
        else:
            hooks.report_late(error)

    def take_error(self) -> BaseException | None:
        """Remove and return the error, so that ``cancel`` does not report it as dropped."""
        with self._guard:  # the Subscriber's thread may cancel
            error, self.error = self.error, None
        return error

    def _receive(self, element: T) -> None:
        """Process an element; to save this frame, a subclass may override ``on_next``."""
        raise NotImplementedError

    def _end(self, error: BaseException | None) -> None:
        """Record the terminal signal; called at most once, not after a cancel."""
        self.error = error
        self.ended = True
        if self._cancelled:  # cancelled after ``_close``: cancel() may have found no error
            self._drop_error()
        self._notify()

    def _notify(self) -> None:
        """Wake the owner, on any thread."""
        if self._owner is not None:
            self._owner.wake()

    def _close(self) -> bool:
        """Record a terminal signal (§2.4); return whether the input was open until now."""
        with self._guard:
            first, self._closed = not self._closed, True
            self._subscription = None
        self._upstream_over = True
        return first


class TriggerInput(Input[Any]):
    """Requests one element, which ends the input like a completion.

    ``on_end`` is called with the error, or with None, on the thread of the upstream.
    """

    def __init__(self, owner: Any, on_end: Callable[[BaseException | None], object]) -> None:
        super().__init__(owner, 1)
        self._on_end = on_end

    def _receive(self, element: Any) -> None:
        self.cancel()
        self._on_end(None)
        self.discard(element)

    def _end(self, error: BaseException | None) -> None:
        self._on_end(error)


class PrefetchingInput(Input[T]):
    """Requests ``prefetch`` elements, and more after a part of them was consumed.

    Args:
        prefetch: the number of elements to request first.
        refill_at: the number of consumed elements after which the same number is requested; None for three quarters
            of ``prefetch``.

    Rules: 2.1, 2.2, 2.7, 2.11, and those of ``Input``.
    """

    def __init__(self, owner: Any, prefetch: int, refill_at: int | None = None) -> None:
        super().__init__(owner, prefetch)
        self.prefetch = Prefetch(prefetch, refill_at)

    def taken(self, n: int = 1) -> None:
        """Count n consumed elements and request more when due; called serially."""
        more = self.prefetch.consume(n)
        if more and not self._closed:
            self.request(more)


class CallbackInput(PrefetchingInput[T]):
    """Calls ``on_element`` and ``on_end`` on the thread of the upstream.

    The argument of ``on_end`` is the error, or None after completion.
    """

    def __init__(
        self,
        owner: Any,
        on_element: Callable[[T], object],
        on_end: Callable[[BaseException | None], object],
        prefetch: int = 0,
    ) -> None:
        super().__init__(owner, prefetch)
        self._receive = on_element  # type: ignore[assignment, method-assign]
        self._end = on_end  # type: ignore[assignment, method-assign]


class QueuedInput(PrefetchingInput[T], IteratorConsumer[T], Generic[T]):
    """Queues up to ``prefetch`` elements for the drain loop.

    The drain loop reads ``ended`` before ``elements``, and calls ``taken(n)`` for the elements that it consumed.

    Args:
        prefetch: the capacity of the queue.
        passes: whether an element is forwarded to the Subscriber directly if the drain loop is idle, the queue is empty
            and there is demand. For operators that forward elements unchanged.

    Rules: 2.1, 2.2, 2.7, 2.11, and those of ``Input``.
    """

    steady_only = True

    def __init__(
        self, owner: Coordinator[Any], prefetch: int, *, passes: bool = False, refill_at: int | None = None
    ) -> None:
        super().__init__(owner, prefetch, refill_at)
        self._pass = owner._emit_if_demanded if passes else None
        self.elements: deque[T] = deque()
        self._emptied = False  # cancel() has been called, and will empty or has emptied the queue

    def cancel(self) -> None:
        """Cancel, unless the upstream terminated, and discard the queued elements."""
        super().cancel()
        self._emptied = True
        hooks.discard_all(self.discards, self.elements)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
            return
        if self._pass is not None and not self.elements and self._owner.attempt(self._pass, element):
            prefetch = self.prefetch
            prefetch.consumed += 1  # taken(), inlined: this saves two frames per element
            if prefetch.consumed >= prefetch.refill_at:
                self.taken(0)
            return
        self.elements.append(element)
        if self._closed:  # cancel() may have emptied the queue before this element was appended
            self._discard_late()  # type: ignore[unreachable]
        self._notify()

    def _discard_late(self) -> None:
        """Discard elements that arrived after ``cancel`` emptied the queue.

        Called on the upstream thread. Until ``cancel`` is called, the drain loop may be reading the queue.
        """
        if self._emptied:
            hooks.discard_all(self.discards, self.elements)

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        # Read in batches, which is fast. Within a batch the iterator must not block, hence ``steady_only``.
        taken = 0
        try:
            while taken < limit and not self._closed:
                size = min(limit - taken, _BATCH)
                batch, null = non_null(iterator, size)
                self.elements += batch
                if self._closed:
                    self._discard_late()  # type: ignore[unreachable]
                if null:
                    raise null_element()
                taken += len(batch)
                if len(batch) < size:
                    break
        finally:
            self._notify()
        return taken


class DirectInput(Input[T], Generic[T]):
    """Posts each signal to the drain loop; the demand bounds the number of posts.

    ``on_end`` is called with None on completion. An error fails the stream.

    Attributes:
        passes: whether an element is forwarded to the Subscriber directly, if the drain loop is idle and there is
            demand.
    """

    def __init__(
        self, owner: Coordinator[Any], on_element: Callable[[T], object], on_end: Callable[[None], object]
    ) -> None:
        super().__init__(owner)
        self._on_element = on_element
        self._on_end = on_end
        self.passes = False  # not a class attribute, because it is read for each element

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
        elif not (self.passes and self._owner.try_emit(element)):
            self._owner.post_element(self._on_element, element)

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self._owner.post_end(self._owner._fail, error)
        else:
            self._owner.post(self._on_end)
