"""A chain of stages emits the same signals for a list of elements as for one ``on_next`` call per element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs._core.fusion import IteratorConsumer
from pyrs._core.pushed_chain import ConsumingChainSubscriber


class Recorder(IteratorConsumer[Any], pyrs.Subscriber[Any]):
    """Takes an iterator, records the signals, and cancels after ``stop`` elements."""

    def __init__(self, stop: int | None = None) -> None:
        self.signals: list[Any] = []
        self._stop = stop
        self._left: int | None = stop
        self._subscription: pyrs.Subscription | None = None

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self._subscription = subscription

    def request(self, n: int) -> None:
        assert self._subscription is not None
        self._subscription.request(n)

    def on_next(self, element: Any, /) -> None:
        self.signals.append(element)
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                assert self._subscription is not None
                self._subscription.cancel()

    def on_error(self, error: BaseException, /) -> None:
        self.signals.append((type(error), str(error), list(getattr(error, "__notes__", []))))

    def on_complete(self) -> None:
        self.signals.append("complete")

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        taken = 0
        for element in iterator:
            self.on_next(element)
            taken += 1
            if taken == limit or self._left == 0:
                break
        return taken


class Source(pyrs.Publisher[Any], pyrs.Subscription):
    """Emits a list on request, by ``consume`` or by ``on_next``, and records the demand."""

    carries_context = True

    def __init__(self, elements: list[Any], *, at_once: bool) -> None:
        self._elements = elements
        self._at_once = at_once
        self._position = 0
        self._demand = 0
        self._emitting = False
        self._cancelled = False
        self.requested = 0
        self.calls: list[str] = []
        self._subscriber: Any = None

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int, /) -> None:
        self.requested += n
        self._demand += n
        if self._emitting:
            return
        self._emitting = True
        while self._demand and self._position < len(self._elements) and not self._cancelled:
            self._emit(min(self._demand, len(self._elements) - self._position))
        self._emitting = False
        if self._position == len(self._elements) and not self._cancelled:
            self._cancelled = True
            self._subscriber.on_complete()

    def _emit(self, size: int) -> None:
        if not self._at_once:
            element = self._elements[self._position]
            self._position += 1
            self._demand -= 1
            self._subscriber.on_next(element)
            return
        assert isinstance(self._subscriber, ConsumingChainSubscriber)
        taken = self._subscriber.consume(iter(self._elements[self._position : self._position + size]), size)
        assert taken == size or self._cancelled
        self._position += taken
        self._demand -= taken

    def cancel(self) -> None:
        self._cancelled = True


async def _coroutine() -> None: ...


def _raises_at(place: int) -> Callable[[int], int]:
    def function(number: int) -> int:
        if number == place:
            raise ValueError(f"at {place}")
        return number

    return function


CHAINS: dict[str, Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]] = {
    "map": lambda s: s.map(lambda n: n * 2),
    "filter": lambda s: s.filter(lambda n: n % 3 == 0),
    "several": lambda s: s.map(lambda n: n + 1).filter(lambda n: n % 2 == 0).scan(lambda a, b: a + b).distinct(),
    "take_while": lambda s: s.map(lambda n: n + 1).take_while(lambda n: n < 7),
    "raises first": lambda s: s.map(_raises_at(0)),
    "raises later": lambda s: s.filter(lambda n: n != 2).map(_raises_at(5)).map(str),
    "filter raises": lambda s: s.filter(_raises_at(5)),
    "None": lambda s: s.map(lambda n: None if n == 4 else n),
    "coroutine": lambda s: s.map(lambda n: _coroutine()),
    "take": lambda s: s.map(str).take(3),
    "buffer": lambda s: s.map(str).buffer(3),
}


def observed(name: str, demands: list[int], stop: int | None, *, at_once: bool) -> tuple[Any, ...]:
    """Return the signals, the number of requested elements and the discarded elements."""
    discarded: list[Any] = []
    source, recorder = Source(list(range(10)), at_once=at_once), Recorder(stop)
    stream = CHAINS[name](pyrs.Stream(source)).do_on_discard(discarded.append)
    stream.subscribe(recorder)
    for n in demands:
        recorder.request(n)
    return recorder.signals, source.requested, [(type(each), str(each)[:16]) for each in discarded]


@pytest.mark.parametrize("stop", [None, 1, 3])
@pytest.mark.parametrize("demands", [[pyrs.UNBOUNDED], [100], [4, 1, 5, 5], [1] * 12], ids=str)
@pytest.mark.parametrize("name", CHAINS)
def test_list_of_elements_gives_the_same_signals_as_single_elements(
    name: str, demands: list[int], stop: int | None
) -> None:
    assert observed(name, demands, stop, at_once=True) == observed(name, demands, stop, at_once=False)


def test_terminal_signal_follows_elements_that_the_subscriber_collects() -> None:
    """Rule 1.7: a consumer may take all elements of the iterator before it stores one."""

    class Collecting(Recorder):
        def consume(self, iterator: Iterator[Any], limit: int) -> int:
            elements = list(iterator)
            self.signals += elements
            return len(elements)

    recorder = Collecting()
    pyrs.Stream(Source(list(range(10)), at_once=True)).map(_raises_at(5)).subscribe(recorder)
    recorder.request(100)
    assert recorder.signals[:5] == [0, 1, 2, 3, 4]
    assert recorder.signals[5][0] is ValueError


def test_interrupt_in_a_function_propagates_after_the_error_signal() -> None:
    def interrupted(number: int) -> int:
        if number == 2:
            raise KeyboardInterrupt
        return number

    recorder = Recorder()
    pyrs.Stream(Source(list(range(10)), at_once=True)).map(interrupted).subscribe(recorder)
    with pytest.raises(KeyboardInterrupt):
        recorder.request(100)
    assert recorder.signals[:2] == [0, 1]
    assert recorder.signals[2][0] is KeyboardInterrupt


def test_list_that_arrives_after_a_cancel_is_discarded() -> None:
    """A Subscriber accepts elements after its cancel (§2.8); the chain forwards none of them."""
    source, recorder = Source(list(range(10)), at_once=True), Recorder(stop=1)
    pyrs.Stream(source).map(str).subscribe(recorder)
    recorder.request(2)
    chain = source._subscriber
    assert chain.consume(iter([7, 8]), 2) < 2
    assert recorder.signals == ["0"]


@pytest.mark.parametrize(
    "build",
    [
        lambda: pyrs.range(10).do_on_request(id),
        lambda: pyrs.range(10).log("numbers").map(str),
        lambda: pyrs.just(range(10)).flat_map(pyrs.from_iterable, prefetch=2**64).map(str),
    ],
)
def test_outstanding_demand_may_exceed_the_largest_long(build: Callable[[], pyrs.Stream[Any]]) -> None:
    """Rule 3.17: two requests within ``on_next`` add up to more than an iterator of the standard library accepts."""
    signals: list[Any] = []

    def on_next(element: Any) -> None:
        signals.append(element)
        subscription.request(1)
        subscription.request(pyrs.UNBOUNDED)

    subscription = build().subscribe(
        on_next=on_next, on_error=signals.append, on_complete=lambda: signals.append("completed"), request=0
    )
    subscription.request(1)
    assert len(signals) == 11
    assert signals[-1] == "completed"
