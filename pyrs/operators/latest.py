"""combine_latest, with_latest_from, take_until and skip_until."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pyrs._core import hooks
from pyrs._core.coordinator import Coordinator
from pyrs._core.demand import UNBOUNDED
from pyrs._core.inputs import DirectInput, Input, PrefetchingInput, TriggerInput
from pyrs._core.operator import Operator
from pyrs._core.validation import MISSING, checked_callable, checked_element, checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.operators.combining import CombiningOperator, as_tuple, call_text


class WithOther(Operator[Any]):
    """The base class of operators with a source and another stream."""

    name: str

    def __init__(self, source: Publisher[Any], other: Publisher[Any], combine: Any = None) -> None:
        super().__init__(source, call_text(self.name, [other], combine))
        self.other = checked_publisher(other, "other")


class WithOtherRun(Coordinator[Any]):
    """Subscribes to the other stream before the source, and forwards demand."""

    _operator: WithOther
    _other: Input[Any]

    def _begin(self) -> None:
        self._other.subscribe_to(self._operator.other)
        if self._live:
            super()._begin()

    def _requested_more(self, n: int) -> None:
        self._input.request(n)

    def _upstreams(self) -> Iterable[Any]:
        return self._input, self._other


class _UntilRun(WithOtherRun):
    """Requests one element of the other stream."""

    def __init__(self, subscriber: Subscriber[Any], operator: TakeUntil) -> None:
        super().__init__(subscriber, operator)
        self._skips = operator.skips
        self.passes = not operator.skips  # otherwise elements are dropped, and one more is requested for each
        self._input = _Main(self)
        self._other = TriggerInput(self, self._other_signalled)

    def _other_signalled(self, error: BaseException | None) -> None:
        """Handle an element or the end of the other stream, from any thread."""
        if error is not None:
            self.post_end(self._fail, error)
        elif self._skips:
            self.passes = True
        else:
            self.post(self._end_with)


class _Main(DirectInput[Any]):
    def __init__(self, owner: _UntilRun) -> None:
        super().__init__(owner, owner._emit, owner._end_with)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
        elif not self._owner.passes:
            self.discard(element)
            self.request(1)  # replaces the dropped element
        elif not self._owner.try_emit(element):
            self._owner.post_element(self._on_element, element)


class TakeUntil(WithOther):
    """``take_until(other)``: elements until the other stream emits or completes."""

    run_type = _UntilRun
    name, skips = "take_until", False


class SkipUntil(TakeUntil):
    """``skip_until(other)``: elements after the other stream has emitted or completed."""

    name, skips = "skip_until", True


_ENDED: Any = object()  # marks the end of a source in the queue


class _CombineLatestRun(Coordinator[Any]):
    """All sources share one queue, in order of arrival.

    The queue is bounded: it contains at most ``prefetch`` elements and one terminal signal per source. It is not
    drained before the run subscribes to the last source, because an earlier source may be infinite and always ready.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: CombineLatest) -> None:
        super().__init__(subscriber, operator)
        self._sources = operator.sources
        self._combine = operator.combine
        self.queue: deque[tuple[_SharedQueueInput, Any]] = deque()
        self._inputs = [_SharedQueueInput(self, place, operator.prefetch) for place in range(len(operator.sources))]
        self._latest: list[Any] = [MISSING] * len(self._inputs)
        self._missing = len(self._inputs)  # the number of sources without an element
        self._active = len(self._inputs)  # the number of active sources
        self._beginning = True

    def _begin(self) -> None:
        for each, source in zip(self._inputs, self._sources, strict=True):
            self._beginning = each is not self._inputs[-1]
            each.subscribe_to(source)
            if not self._live or (each.ended and (each.error is not None or each.empty)):
                break  # this source terminates the stream
        self._beginning = False
        if not self._inputs:
            self.post(self._end_with)

    def _advance(self) -> None:
        queue, latest = self.queue, self._latest
        while queue and not (self._interrupted or self._beginning):
            each, element = queue[0]
            if element is _ENDED:
                queue.popleft()
                self._ended(each)
                continue
            missing = self._missing - (latest[each.place] is MISSING)
            if not missing and not self._demand():
                return
            queue.popleft()
            before, latest[each.place] = latest[each.place], element
            if self._missing and before is not MISSING:
                self._discard(before)  # it was never combined
            if not missing:
                try:
                    combined = checked_element(self._combine(*latest), "combine")
                except BaseException as error:
                    if not self._missing:
                        self._discard(element)
                    self._raised(error)
                    return
                self._missing = 0
                self._emit(combined)
            self._missing = missing
            each.taken()

    def _ended(self, each: _SharedQueueInput) -> None:
        error = each.take_error()
        self._active -= 1
        if error is not None:
            self._fail(error)
        elif not self._active or self._latest[each.place] is MISSING:
            self._complete()

    def _release(self) -> None:
        super()._release()
        self.discard_queue()
        latest, self._latest = self._latest, []
        for element in latest:
            if self._missing and element is not MISSING:
                self._discard(element)  # it was never combined

    def discard_queue(self) -> None:
        """Discard the queued elements; callable on any thread."""
        for _, element in hooks.emptied(self.queue):
            if element is not _ENDED:
                self._discard(element)


class CombineLatest(CombiningOperator):
    """``combine_latest(a, b, ...)``: the latest elements of all sources."""

    name = "combine_latest"
    run_type = _CombineLatestRun


class _SharedQueueInput(PrefetchingInput[Any]):
    """A source whose elements share a queue with those of the others."""

    def __init__(self, owner: _CombineLatestRun, place: int, prefetch: int) -> None:
        super().__init__(owner, prefetch)
        self.place = place
        self.empty = True  # no element has arrived

    def _receive(self, element: Any) -> None:
        self.empty = False
        self._owner.queue.append((self, element))
        if self._closed and self._owner._subscriber is None:  # released since ``on_next`` checked
            self._owner.discard_queue()
        self._owner.wake()

    def _notify(self) -> None:
        self._owner.queue.append((self, _ENDED))  # ``error`` is set: the drain loop may take the mark at once
        super()._notify()


class _WithLatestFromRun(WithOtherRun):
    _other: _LatestInput

    def __init__(self, subscriber: Subscriber[Any], operator: WithLatestFrom) -> None:
        super().__init__(subscriber, operator)
        self._combine = operator.combine
        self._input = DirectInput[Any](self, self._on_element, self._end_with)
        self._other = _LatestInput(self)

    def _on_element(self, element: Any) -> None:
        latest = self._other.use()
        if latest is MISSING:
            self._discard(element)
            self._input.request(1)  # replaces the dropped element
            return
        try:
            combined = checked_element(self._combine(element, latest), "combine")
        except BaseException as error:
            self._discard(element)
            self._raised(error)
            return
        self._emit(combined)

    def _release(self) -> None:
        super()._release()
        self._other.replace(MISSING)


class WithLatestFrom(WithOther):
    """``with_latest_from(other)``: each element with the other stream's latest one."""

    name = "with_latest_from"
    run_type = _WithLatestFromRun

    def __init__(self, source: Publisher[Any], other: Publisher[Any], combine: Callable[..., Any] | None) -> None:
        super().__init__(source, other, combine)
        self.combine = as_tuple if combine is None else checked_callable(combine, "combine")


class _LatestInput(Input[Any]):
    """Requests unbounded demand and stores the latest element."""

    def __init__(self, owner: _WithLatestFromRun) -> None:
        super().__init__(owner, UNBOUNDED)
        self.latest = MISSING
        self._used = True  # the latest element was combined

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        self.replace(element)

    def use(self) -> Any:
        """Mark the latest element as combined, and return it."""
        with self._guard:
            self._used = True
            return self.latest

    def replace(self, element: Any) -> None:
        """Set the latest element, and discard the one before it if it was not combined."""
        with self._guard:
            if self._closed and element is not MISSING:
                before, unused = element, True  # it arrived after the cancel
            else:
                before, self.latest = self.latest, element
                unused, self._used = not self._used and before is not MISSING, False
        if unused:
            self.discard(before)

    def _end(self, error: BaseException | None) -> None:
        owner = self._owner
        if error is not None:
            owner.post_end(owner._fail, error)
        elif self.latest is MISSING:
            owner.post(owner._end_with)  # no element can be emitted
