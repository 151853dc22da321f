"""Operators that concatenate streams, combine their elements or select one stream.

They are concat, then, start_with, switch_if_empty, zip, sequence_equal, merge_comparing, first_with_signal and
first_with_value.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import eq
from typing import Any, ClassVar

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import LazyText, call_of, clipped, listed, name_of, short
from pyrs._core.inputs import DirectInput, QueuedInput
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_element, checked_natural, checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NoElement, NullSignal

_NAMED = 8  # the number of sources that a repr shows


def checked_sources(sources: Sequence[Publisher[Any]], parameter: str = "sources") -> tuple[Publisher[Any], ...]:
    """Return the sources; reject one that is not a Publisher."""
    return tuple(checked_publisher(source, f"{parameter}[{place}]") for place, source in enumerate(sources))


def as_publishers(sources: Sequence[object], parameter: str = "sources") -> tuple[Publisher[Any], ...]:
    """Return the sources as Publishers.

    An iterable becomes a Publisher of its elements. A str or bytes is rejected.
    """
    return tuple(_as_publisher(source, f"{parameter}[{place}]") for place, source in enumerate(sources))


def _as_publisher(source: Any, parameter: str) -> Publisher[Any]:
    if isinstance(source, (str, bytes)):
        raise TypeError(
            f"{parameter} must be a Publisher or an iterable of elements, not {type(source).__name__}; "
            "use pyrs.just for a stream of the whole value, or pyrs.from_iterable for a stream of its items"
        )
    if isinstance(source, Iterable) and not isinstance(source, type) and not hasattr(source, "subscribe"):
        return IterablePublisher(source, (), call_of("from_iterable", short, source))
    return checked_publisher(source, parameter)


def call_text(
    operator: str, sources: Sequence[Publisher[Any]], combine: object = None, parameter: str = "combine"
) -> LazyText:
    """Return the user's call, shortened."""
    return LazyText(_call_text, operator, sources, combine, parameter)


def _call_text(operator: str, sources: Sequence[Publisher[Any]], combine: object, parameter: str) -> str:
    arguments = [clipped(repr(source)) for source in sources[:_NAMED]]
    arguments += ["..."] if len(sources) > _NAMED else []
    arguments += [f"{parameter}={name_of(combine)}"] if combine is not None else []
    return f"{operator}({', '.join(arguments)})"


def same(element: Any) -> Any:
    """Return the element."""
    return element


def as_tuple(*elements: Any) -> tuple[Any, ...]:
    """Combine elements into a tuple."""
    return elements


class _ConcatRun(SubscriptionArbiter[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: Concat | StartWith | Then) -> None:
        super().__init__(subscriber, operator)
        self._sources = iter(operator.sources)

    def _begin(self) -> None:
        self._source_completed()

    def _source_completed(self) -> None:
        source = next(self._sources, None)
        if source is None:
            self._complete()
        else:
            self._switch_to(source)


class Concat(Operator[Any]):
    """``concat(a, b, ...)``: the sources, sequentially."""

    run_type = _ConcatRun

    def __init__(self, sources: Sequence[Publisher[Any]]) -> None:
        self.sources = checked_sources(sources)
        first = sources[0] if sources else None
        if isinstance(first, Concat):  # flattened: a loop of concat() calls creates one operator
            self.sources = (*first.sources, *self.sources[1:])
        super().__init__(None, call_text("concat", self.sources))


class StartWith(Operator[Any]):
    """``start_with(*elements)``: these elements, then the source."""

    run_type = _ConcatRun

    def __init__(self, source: Publisher[Any], elements: Sequence[Any]) -> None:
        if any(element is None for element in elements):
            raise NullSignal("start_with(None): None is not an element")
        super().__init__(source, call_of("start_with", listed, elements))
        self.sources: tuple[Publisher[Any], ...] = (IterablePublisher(elements, (), self.call), source)


class _SwitchIfEmptyRun(_ConcatRun):
    def _source_completed(self) -> None:
        if self._emitted:
            self._complete()
        else:
            super()._source_completed()


class Then(Operator[Any]):
    """``then(other)``: the other stream, after a source without elements."""

    name = "then"
    run_type = _ConcatRun

    def __init__(self, source: Publisher[Any], other: Publisher[Any]) -> None:
        super().__init__(source, call_text(self.name, [other]))
        self.sources = (source, checked_publisher(other, "other"))


class SwitchIfEmpty(Then):
    """``switch_if_empty(other)``: the source, or ``other`` if the source is empty."""

    name = "switch_if_empty"
    run_type = _SwitchIfEmptyRun


class _ZipInput(QueuedInput[Any]):
    def _end(self, error: BaseException | None) -> None:
        super()._end(error)
        if not self.elements:  # read last: if the drain loop takes the last element later, it checks ``ended`` itself
            self._owner._exhausted = True
            self._notify()


class _ZipRun(Coordinator[Any]):
    """Emits a row once each source has an element.

    If each element caused a scan of all sources, the time for a row would be quadratic in the number of sources.
    Therefore the drain loop counts the leading sources that have an element, and scans all sources only if each has
    one, or one is exhausted.
    """

    _exhausted = False  # a source may have ended with an empty queue

    def __init__(self, subscriber: Subscriber[Any], operator: CombiningOperator) -> None:
        super().__init__(subscriber, operator)
        self._sources = operator.sources
        self._combine: Callable[..., Any] = operator.combine
        self._inputs = [_ZipInput(self, operator.prefetch) for _ in operator.sources]
        self._filled = 0  # the number of leading inputs that have an element

    def _begin(self) -> None:
        for each, source in zip(self._inputs, self._sources, strict=True):
            if not self._live:
                break  # an exhausted source completes the stream
            each.subscribe_to(source)
        if not self._inputs:
            self.post(self._end_with)

    def _advance(self) -> None:
        inputs = self._inputs
        while not self._interrupted:
            rows = self._demand()
            if not self._exhausted:
                while self._filled < len(inputs) and inputs[self._filled].elements:
                    self._filled += 1
                if not rows or not inputs or self._filled < len(inputs):
                    return
            self._exhausted = False
            for each in inputs:
                ended = each.ended  # read first: if it is true, the queue contains all remaining elements
                rows = min(rows, len(each.elements), each.prefetch.until_refill)
                if ended and not each.elements:
                    self._end_with(each.take_error())
                    return
            if rows:
                self._emit_rows(rows)
                self._filled = 0
                self._exhausted = True

    def _emit_rows(self, rows: int) -> None:
        takes = [each.elements.popleft for each in self._inputs]
        done = 0
        while done < rows and not self._interrupted:
            done += 1
            elements = [take() for take in takes]
            try:
                row = checked_element(self._combine(*elements), "combine")
            except BaseException as error:
                self._discard_all(elements)
                self._raised(error)
                return
            self._emit(row)
        for each in self._inputs:
            each.taken(done)


class _MergeComparingRun(_ZipRun):
    """Emits the smallest next element once each active source has one.

    With ``reverse``, it emits the largest. The sources are sorted by their next elements, and equal ones by their
    places, so that an element costs one binary search.
    """

    _operator: MergeComparing

    def __init__(self, subscriber: Subscriber[Any], operator: MergeComparing) -> None:
        super().__init__(subscriber, operator)
        self._keys: list[Any] = []  # the keys of the next elements, sorted
        self._places: list[int] = []  # the places of their sources
        self._vacant = [*range(len(self._inputs))][::-1]  # the places of the other active sources
        self._first, self._sign = (-1, -1) if operator.reverse else (0, 1)

    def _advance(self) -> None:
        inputs, vacant, first = self._inputs, self._vacant, self._first
        while not self._interrupted:
            if self._exhausted:
                self._exhausted = False  # a source behind one that has no element yet may have failed
                vacant.sort(key=lambda place: inputs[place].error is not None and not inputs[place].elements)
            while vacant:
                each = inputs[vacant[-1]]
                ended = each.ended  # read first: if it is true, the queue contains all remaining elements
                if each.elements:
                    try:
                        self._insert(vacant[-1], self._combine(each.elements[0]))
                    except BaseException as error:
                        self._raised(error)
                        return
                elif not ended:
                    return
                elif each.error is not None:
                    self._end_with(each.take_error())
                    return
                del vacant[-1]
            if not self._places:
                self._complete()
                return
            if self._requested <= self._emitted:
                return
            place = self._places.pop(first)
            self._keys.pop(first)
            vacant.append(place)
            self._emit(inputs[place].elements.popleft())
            inputs[place].taken()

    def _insert(self, place: int, key: Any) -> None:
        keys, places = self._keys, self._places
        index = bisect_right(keys, key)
        if index and not keys[index - 1] < key:  # equal keys are in the order of their places
            sign = self._sign
            index = bisect_left(places, sign * place, bisect_left(keys, key, 0, index), index, key=sign.__mul__)
        keys.insert(index, key)
        places.insert(index, place)

    def _release(self) -> None:
        super()._release()
        self._keys.clear()


class CombiningOperator(Operator[Any]):
    """The base class of operators that apply a function to elements of their sources."""

    name: str
    parameter = "combine"
    default: ClassVar[Callable[..., Any]] = as_tuple

    def __init__(self, sources: Sequence[Publisher[Any]], combine: Callable[..., Any] | None, prefetch: int) -> None:
        super().__init__(None, call_text(self.name, sources, combine, self.parameter))
        self.sources = checked_sources(sources)
        self.combine = type(self).default if combine is None else checked_callable(combine, self.parameter)
        self.prefetch = checked_natural(prefetch, "prefetch", 1)


class Zip(CombiningOperator):
    """``zip(a, b, ...)``: combines the n-th elements of all sources."""

    name = "zip"
    run_type = _ZipRun


class _SequenceEqualRun(_ZipRun):
    """Compares the n-th elements of two streams, and emits the result on demand."""

    _equal: bool | None = None  # the result, once it is known

    def _advance(self) -> None:
        a, b = self._inputs
        while self._equal is None and not self._interrupted:
            # Read first: if an item is true, the queue contains all remaining elements.
            ended = [each.ended for each in self._inputs]
            rows = min(len(a.elements), len(b.elements))
            if not rows:
                self._compare_ends(ended)
                break
            self._compare(rows)
        if self._equal is not None and self._demand():
            self._emit(self._equal)
            self._complete()

    def _compare(self, rows: int) -> None:
        a, b = self._inputs
        for _ in range(rows):
            pair = [a.elements.popleft(), b.elements.popleft()]
            try:
                differs = not self._combine(*pair)  # the result may have no truth value
            except BaseException as error:
                self._discard_all(pair)
                self._raised(error)
                return
            self._discard_all(pair)
            if differs:
                self._decide(False)
            if differs or self._interrupted:
                return
        for each in self._inputs:
            each.taken(rows)

    def _compare_ends(self, ended: list[bool]) -> None:
        exhausted = [end and not each.elements for each, end in zip(self._inputs, ended, strict=True)]
        for each, is_exhausted in zip(self._inputs, exhausted, strict=True):
            if is_exhausted and each.error is not None:
                self._end_with(each.take_error())
                return
        if all(exhausted):
            self._decide(True)
        elif any(exhausted) and any(each.elements for each in self._inputs):
            self._decide(False)

    def _decide(self, equal: bool) -> None:
        self._equal = equal
        for each in self._inputs:
            each.cancel()


class SequenceEqual(CombiningOperator):
    """``sequence_equal(other, comparer)``: whether two streams emit equal elements."""

    name, parameter = "sequence_equal", "comparer"
    run_type = _SequenceEqualRun
    default = eq


class MergeComparing(CombiningOperator):
    """``merge_comparing(a, b, ...)``: merges sorted sources."""

    name, parameter = "merge_comparing", "key"
    run_type = _MergeComparingRun
    default = same

    def __init__(
        self, sources: Sequence[Publisher[Any]], key: Callable[[Any], Any] | None, reverse: bool, prefetch: int
    ) -> None:
        super().__init__(sources, key, prefetch)
        self.reverse = reverse


class _RaceRun(Coordinator[Any]):
    """Forwards demand to every source until one wins, then emits the winner's signals."""

    _operator: FirstWithSignal

    def __init__(self, subscriber: Subscriber[Any], operator: FirstWithSignal) -> None:
        super().__init__(subscriber, operator)
        self._inputs = [_Racer(self) for _ in operator.sources]
        self._active = len(self._inputs)
        self._error: BaseException | None = None  # the first error of a source that has lost
        self.winner: _Racer | None = None  # set in the drain loop

    def _begin(self) -> None:
        for each, source in zip(self._inputs, self._operator.sources, strict=True):
            if self.winner is not None or not self._live:
                break
            each.subscribe_to(source)

    def _requested_more(self, n: int) -> None:
        winner = self.winner
        for each in self._inputs if winner is None else (winner,):
            each.request(n)

    def on_source_element(self, racer: _Racer, element: Any) -> None:
        """Emit an element of the winner; without a winner, the element's source wins."""
        if self._wins(racer):
            self._emit(element)
        else:
            self._discard(element)

    def on_source_end(self, racer: _Racer, error: BaseException | None) -> None:
        """Handle the terminal signal of a source, in the drain loop."""
        if self.winner is None and self._operator.by_value:
            self._lost(error)
        elif self._wins(racer):
            self._end_with(error)
        else:
            self._drop(error)

    def _wins(self, racer: _Racer) -> bool:
        if self.winner is None:
            self.winner = racer
            racer.passes = True
            for each in self._inputs:
                if each is not racer:
                    each.cancel()
        return self.winner is racer

    def _lost(self, error: BaseException | None) -> None:
        self._active -= 1
        if error is not None and hooks.is_exit(error):
            self._fail(error)
        elif self._error is None:
            self._error = error
        elif error is not None:
            hooks.on_error_dropped(error, f"{self._operator.call}: another source has failed before")
        if not self._active and self._live:
            missing = NoElement(f"{self._operator.call}: no source emitted an element")
            missing.__cause__, self._error = self._error, None
            self._raised(missing)

    def _release(self) -> None:
        super()._release()
        self._drop(self._error)


class _Racer(DirectInput[Any]):
    def __init__(self, owner: _RaceRun) -> None:
        super().__init__(owner, partial(owner.on_source_element, self), partial(owner.on_source_end, self))

    def _end(self, error: BaseException | None) -> None:
        self._owner.post_end(self._on_end, error)


class FirstWithSignal(Operator[Any]):
    """``first_with_signal(a, b, ...)``: the source that signals first."""

    name, by_value = "first_with_signal", False
    run_type = _RaceRun

    def __init__(self, sources: Sequence[Publisher[Any]]) -> None:
        super().__init__(None, call_text(self.name, sources))
        self.sources = checked_sources(sources)


class FirstWithValue(FirstWithSignal):
    """``first_with_value(a, b, ...)``: the source that emits an element first."""

    name, by_value = "first_with_value", True
