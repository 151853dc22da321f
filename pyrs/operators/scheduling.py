"""publish_on and subscribe_on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from threading import get_ident
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import bound_executor, capture
from pyrs._core.coordinator import Coordinator, TurnTaker
from pyrs._core.drain import TURN, DrainLoop, Execute
from pyrs._core.fusion import IteratorConsumer, null_element, skip
from pyrs._core.inputs import DirectInput, QueuedInput
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator, PublisherWrapper
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.validation import checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.schedulers import Scheduler
from pyrs.schedulers.base import not_a_scheduler
from pyrs.schedulers.threads import Inline


def _checked(scheduler: Scheduler) -> Scheduler:
    if not isinstance(scheduler, Scheduler):
        raise not_a_scheduler(scheduler)
    return scheduler


class PublishOn(Operator[Any]):
    """``publish_on(scheduler)``: emits signals on the scheduler."""

    def __init__(self, source: Publisher[Any], scheduler: Scheduler, prefetch: int) -> None:
        self.scheduler = _checked(scheduler)
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        super().__init__(source, f"publish_on({scheduler!r})")

    def run(self, subscriber: Subscriber[Any]) -> Crossing:
        scheduler, prefetch = self.scheduler, self.prefetch
        # Without an executor a drain loop runs inline; with Inline as executor it would recurse.
        execute = None if isinstance(scheduler, Inline) else bound_executor(scheduler, capture())
        return Crossing(subscriber, self, prefetch, execute=execute)


class Crossing(TurnTaker[Any]):
    """Emits the elements of a bounded queue, and refills the queue.

    The drain loop may run on another thread. A pulled source emits while the queue is refilled, on the draining thread.
    Its elements bypass the queue as far as they are demanded: to wait for a full batch would only delay them.

    Args:
        prefetch: the capacity of the queue.
        refill_at: the number of consumed elements after which the same number is requested; None for three quarters of
            ``prefetch``.
        execute: runs the drain loop; None for the calling thread.
    """

    def __init__(
        self,
        subscriber: Subscriber[Any],
        operator: Operator[Any],
        prefetch: int,
        refill_at: int | None = None,
        execute: Execute | None = None,
    ) -> None:
        super().__init__(subscriber, operator, execute)
        self._input = _CrossingInput(self, prefetch, refill_at=refill_at)
        self._prefetch = self._input.prefetch
        self._refilled_by = 0  # the draining thread while it refills, else 0

    def _advance(self) -> None:
        source, begin = self._input, self._emitted
        while not self._interrupted:
            ended = source.ended  # read first: if it is true, the queue contains all remaining elements
            count = self._emit_from(source.elements, self._prefetch.until_refill)
            self._prefetch.consumed += count
            if ended and not source.elements:
                self._end_with(source.take_error())
            elif self._prefetch.until_refill <= 0:
                self._refill()
            elif not count:
                return
            if self._turns and self._emitted - begin >= TURN:
                self._more = True
                break

    def _refill(self) -> None:
        self._refilled_by = get_ident()
        try:
            self._input.taken(0)
        finally:
            self._refilled_by = 0

    def _emit_queued(self) -> bool:
        """Emit the queued elements; return whether demand remains."""
        elements = self._input.elements
        if elements:
            self._prefetch.consumed += self._emit_from(elements)
        return not elements and self._live and self._demand() > 0

    def takes(self, element: Any) -> bool:
        """Emit the element and return True if it is demanded and this thread may drain."""
        if self._refilled_by and self._refilled_by == get_ident():
            return self._take(element)
        if self._turns:
            return False
        taken = self.attempt(self._take, element)
        if self._prefetch.until_refill <= 0:
            self.wake()
        return bool(taken)

    def takes_from(self, iterator: Iterator[Any], limit: int) -> int:
        """Emit up to ``limit`` elements like ``takes``, and return their number.

        The caller wakes the drain loop.
        """
        if self._refilled_by and self._refilled_by == get_ident():
            return self._take_from(iterator, limit)
        if self._turns:
            return 0
        taken = 0
        while taken < limit:
            # Stops at each refill, so that the source receives the same requests as for single elements.
            wanted = min(limit - taken, max(self._prefetch.until_refill, 1))
            count = self.attempt(partial(self._take_from, iterator), wanted) or 0
            taken += count
            if self._prefetch.until_refill <= 0:
                self.wake()
            if count < wanted:
                break
        return taken

    def _take(self, element: Any) -> bool:
        if not self._emit_queued():
            return False
        self._emit(element)
        self._prefetch.consumed += 1
        return True

    def _take_from(self, iterator: Iterator[Any], limit: int) -> int:
        count = 0
        while count < limit and self._emit_queued():
            wanted = min(limit - count, self._demand())
            taken = self._emit_through(iterator, wanted, steady=False)
            self._prefetch.consumed += taken
            count += taken
            if taken < wanted:
                break
        return count

    def _refused(self, error: Exception) -> None:
        if self._live:
            hooks.on_next_dropped(len(self._input.elements), f"{self._operator.call}: the scheduler is closed")
        super()._refused(error)


class _CrossingInput(QueuedInput[Any]):
    """The upstream side of ``publish_on``, ``limit_rate`` and ``prefetch``."""

    steady_only = False
    _owner: Crossing

    def on_next(self, element: Any, /) -> None:
        run = self._owner
        if element is None or self._closed or not run.takes(element):
            super().on_next(element)

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        run = self._owner
        count = run.takes_from(iterator, limit)
        if not run._live:
            self.cancel_upstream()  # fewer elements than the limit would mean the end, unless upstream is cancelled
            if self._upstream_over:
                return count  # otherwise another thread is inside the upstream's ``cancel``
        append, is_running = self.elements.append, run.is_running
        try:
            for element in islice(iterator, limit - count):
                if element is None:
                    raise null_element()
                append(element)
                count += 1
                if self._upstream_over:
                    break
                if not is_running():
                    run.wake()  # the first elements are not delayed by later ones
        finally:
            if self._closed:
                self._discard_late()
            run.wake()
        return count


def _pushes(source: Publisher[Any] | None) -> bool:
    """Return whether the source may push inside ``subscribe``.

    Demand must then not wait until ``subscribe`` returns.
    """
    while isinstance(source, (PublisherWrapper, PushedChainPublisher, Operator)):
        if getattr(source, "pushes", False):
            return True
        source = source.source
    return False


def _is_pulled(source: Publisher[Any] | None) -> bool:
    """Return whether the source is a chain over an iterable."""
    while isinstance(source, (PublisherWrapper, PushedChainPublisher)):
        source = source.source
    return isinstance(source, IterablePublisher)


class _SubscribeOnRun(Coordinator[Any]):
    """Emits each signal on the thread that delivers it.

    The drain loop serializes the signals with an error of the scheduler.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: SubscribeOn) -> None:
        super().__init__(subscriber, operator)
        self._source_pushes = operator.source_pushes
        self.pulled = _is_pulled(operator.source)
        self._input = _Passed(self)
        self._calls = _UpstreamCalls(self, self._input, bound_executor(operator.scheduler, self._context))

    def _begin(self) -> None:
        self._calls.subscribe(self._operator.source)

    def _requested_more(self, n: int) -> None:
        if self._source_pushes:
            self._input.request(n)
        else:
            self._calls.request(n)

    def pass_all(self, iterator: Iterator[Any], limit: int) -> int:
        """Signal up to ``limit`` elements of the iterator and return their number."""
        count = 0
        while count < limit and self._live:
            batch = min(limit - count, TURN)
            taken = self.attempt(partial(self._pass_batch, iterator), batch)
            if taken is None:  # another thread drains: queue the element
                taken, batch = 0, 1
                for element in islice(iterator, 1):
                    self._input.on_next(element)
                    taken = 1
            count += taken
            if not taken or taken < batch:
                break
        return count

    def _pass_batch(self, iterator: Iterator[Any], limit: int) -> int:
        if self._again:
            self._work()
        limit = min(limit, self._demand())
        return self._emit_through(iterator, limit, steady=False) if limit > 0 else 0


class SubscribeOn(Operator[Any]):
    """``subscribe_on(scheduler)``: subscribes and requests on the scheduler."""

    run_type = _SubscribeOnRun

    def __init__(self, source: Publisher[Any], scheduler: Scheduler) -> None:
        self.scheduler = _checked(scheduler)
        super().__init__(source, f"subscribe_on({scheduler!r})")
        self.source_pushes = _pushes(source)


class _Passed(DirectInput[Any], IteratorConsumer[Any]):
    """The upstream side of ``subscribe_on``."""

    _owner: _SubscribeOnRun

    def __init__(self, owner: _SubscribeOnRun) -> None:
        super().__init__(owner, owner._emit, owner._end_with)
        self.passes = True

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        count = self._owner.pass_all(iterator, limit)
        if self._owner._interrupted:
            self.cancel()  # fewer elements than the limit would mean the end, unless upstream is cancelled
            count += skip(iterator, limit - count, lambda: self._upstream_over, self.discard)
        return count


class _UpstreamCalls(DrainLoop):
    """Runs ``subscribe``, then the requests, on the scheduler.

    While ``subscribe`` runs for a source that is not pulled, a request runs on the calling thread.
    """

    def __init__(self, owner: _SubscribeOnRun, upstream: _Passed, execute: Execute) -> None:
        super().__init__(execute)
        self._owner = owner
        self._input = upstream
        self._source: Publisher[Any] | None = None
        self._wanted = 0  # the demand to request; under the owner's lock
        self._subscribing = False
        self._failed = False

    def subscribe(self, source: Publisher[Any]) -> None:
        self._source = source
        self._run_later()

    def request(self, n: int) -> None:
        with self._owner._lock:
            passes = self._subscribing
            if not passes:
                self._wanted += n
        if passes:
            self._input.request(n)
            return
        self._run_later()  # inside on_next this needs no task: the drain loop is running, and checks again

    def _run_later(self) -> None:
        self._again = True
        try:
            self.schedule()
        except Exception as error:  # the scheduler is closed; a third-party one may raise any error
            self._refused(error)

    def _refused(self, error: Exception) -> None:
        with self._owner._lock:
            first, self._failed = not self._failed, True
        if first:
            self._owner.post_end(self._owner._fail, error)

    def _work(self) -> None:
        self._again = False
        source = self._source
        if source is not None:  # else do not write: another thread may just have called subscribe
            self._source = None
        if source is not None and self._owner._live:
            if not self._owner.pulled:
                with self._owner._lock:
                    self._subscribing = True  # subscribe may run for any time: demand bypasses this drain loop
                    wanted, self._wanted = self._wanted, 0
                if wanted:
                    self._input.request(wanted)
            try:
                self._input.subscribe_to(source)
            finally:
                self._subscribing = False
        with self._owner._lock:
            wanted, self._wanted = self._wanted, 0
        if wanted:
            self._input.request(wanted)
