"""Publisher rules 1.1 to 1.11, checked for every way to drive a stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestSubscriber
from tests.waiting import run_on_threads

Source = Callable[[Iterable[Any]], pyrs.Stream[Any]]


def test_rule_1_1_emits_no_more_than_requested(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    source(range(10)).subscribe(subscriber)
    subscriber.assert_elements()
    for n in (1, 2, 3):
        subscriber.request(n)
    subscriber.assert_elements(0, 1, 2, 3, 4, 5).assert_live()


def test_rule_1_1_fused_chain_pulls_only_for_demand() -> None:
    pulled: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(10):
            pulled.append(number)
            yield number

    stream = pyrs.from_iterable(numbers()).map(lambda n: n).filter(lambda n: n % 2).take(3)
    subscriber: TestSubscriber[int] = TestSubscriber()
    stream.subscribe(subscriber)
    assert pulled == []
    subscriber.request(1)
    assert pulled == [0, 1]
    subscriber.request(1)
    assert pulled == [0, 1, 2, 3]
    subscriber.request(pyrs.UNBOUNDED)
    assert pulled == [0, 1, 2, 3, 4, 5], "take(3) has completed"
    subscriber.assert_elements(1, 3, 5).assert_complete()


def test_rule_1_2_may_emit_fewer_than_requested(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(100)
    source(range(3)).subscribe(subscriber)
    subscriber.assert_elements(0, 1, 2).assert_complete()


def test_rule_1_3_requests_from_several_threads_are_served_serially(source: Source) -> None:
    count, threads = 2_000, 4
    subscriber: TestSubscriber[int] = TestSubscriber()
    source(range(count)).subscribe(subscriber)
    start = threading.Barrier(threads)

    def request_repeatedly() -> None:
        start.wait(30)
        for _ in range(count // threads):
            subscriber.request(1)

    run_on_threads(*[request_repeatedly] * threads)
    subscriber.await_count(count, 30)
    subscriber.assert_elements(*range(count))


def test_rule_1_3_no_on_next_before_on_subscribe_returns(source: Source) -> None:
    calls: list[str] = []

    class RequestingSubscriber(TestSubscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            super().on_subscribe(subscription)
            self.request(1)
            calls.append("on_subscribe returned")

        def on_next(self, element: int, /) -> None:
            super().on_next(element)
            calls.append("on_next")

    source(range(3)).subscribe(RequestingSubscriber())
    assert calls == ["on_subscribe returned", "on_next"]


@pytest.mark.parametrize("fused", [True, False])
def test_rule_1_4_exception_of_the_iterable_signals_on_error(
    fused: bool, hidden: Callable[[Any], pyrs.Stream[Any]]
) -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("broken")

    class Elements:
        def __iter__(self) -> Iterator[int]:
            return failing()

    elements: pyrs.Stream[Any] = pyrs.from_iterable(Elements())
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    (elements if fused else hidden(elements)).map(lambda n: n).subscribe(subscriber)
    subscriber.assert_elements(1).assert_error(KeyError)


@pytest.mark.parametrize("stage", ["map", "filter"])
@pytest.mark.parametrize("fused", [True, False])
def test_rule_1_4_exception_of_a_function_signals_on_error_and_cancels_upstream(
    stage: str, fused: bool, hidden: Callable[[Any], pyrs.Stream[Any]]
) -> None:
    closed: list[bool] = []

    class Elements:
        def __iter__(self) -> Iterator[int]:
            try:
                yield from range(10)
            finally:
                closed.append(True)

    def function(number: int) -> int:
        if number == 2:
            raise LookupError(number)
        return number + 1

    elements: pyrs.Stream[Any] = pyrs.from_iterable(Elements())
    if not fused:
        elements = hidden(elements)
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    getattr(elements, stage)(function).subscribe(subscriber)
    assert str(subscriber.assert_error(LookupError)) == "2"
    assert len(subscriber.elements) == 2
    assert closed == [True]


@pytest.mark.parametrize("fused", [True, False])
def test_rule_1_4_stop_iteration_of_a_function_signals_on_error(
    fused: bool, hidden: Callable[[Any], pyrs.Stream[Any]]
) -> None:
    def function(number: int) -> int:
        if number == 2:
            raise StopIteration
        return number

    numbers: pyrs.Stream[Any] = pyrs.range(3)  # function raises for the last element
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    (numbers if fused else hidden(numbers)).map(function).take(3).filter(lambda n: True).subscribe(subscriber)
    subscriber.assert_elements(0, 1).assert_error(RuntimeError if fused else StopIteration)


@pytest.mark.parametrize(
    "build",
    [
        lambda numbers, raise_error: numbers.map(raise_error).map(str),
        lambda numbers, raise_error: numbers.filter(raise_error).map(str),
        lambda numbers, raise_error: numbers.map(str).filter(raise_error),
        lambda numbers, raise_error: numbers.map(str).filter(str.isdigit).filter(raise_error).map(str),
        lambda numbers, raise_error: numbers.skip_while(raise_error).map(str),
        lambda numbers, raise_error: (
            numbers.map(str).filter(str.isspace).map(str).concat(numbers.filter(raise_error).map(str))
        ),
    ],
)
def test_rule_1_4_stop_iteration_for_the_first_element_signals_on_error(
    build: Callable[[pyrs.Stream[Any], Callable[[Any], bool]], pyrs.Stream[Any]],
) -> None:
    def raise_error(number: Any) -> bool:
        if int(number) == 0:
            raise StopIteration
        return True

    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    build(pyrs.range(3), raise_error).subscribe(subscriber)
    subscriber.assert_elements().assert_error(RuntimeError)


def test_rule_1_5_completes_with_the_last_element_if_the_end_is_known() -> None:
    streams = (pyrs.just(1, 2), pyrs.range(2).map(str), pyrs.from_iterable(iter(range(9))).take(2).map(str))
    for stream in (*streams, *map(pyrs.from_iterable, ([1, 2], "ab", "a\u00e9", "a\U0001f600", b"ab"))):
        subscriber: TestSubscriber[Any] = TestSubscriber(2)
        stream.subscribe(subscriber)
        assert len(subscriber.elements) == 2
        subscriber.assert_complete()


def test_rule_1_5_completes_on_the_next_request_if_the_end_is_unknown() -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(2)
    pyrs.from_iterable(n for n in range(2)).subscribe(subscriber)
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(0, 1).assert_complete()


def test_rule_1_6_and_1_7_no_signal_after_on_complete(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    source(range(2)).subscribe(subscriber)
    subscriber.assert_complete()
    for _ in range(3):
        subscriber.request(1)
        subscriber.request(-1)
        subscriber.cancel()
    subscriber.assert_elements(0, 1).assert_complete()


def test_rule_1_8_cancel_during_on_next_stops_after_current_element(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=lambda self, n: n == 3 and self.cancel())
    source(range(10)).subscribe(subscriber)
    subscriber.assert_elements(0, 1, 2, 3).assert_live()


def test_rule_1_8_no_signal_after_cancel_before_the_first_request(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    source(range(10)).subscribe(subscriber)
    subscriber.cancel()
    subscriber.request(5)
    subscriber.assert_elements().assert_live()


def test_rule_1_9_subscribe_rejects_none(source: Source) -> None:
    with pytest.raises(pyrs.NullSignal) as caught:
        source(range(3)).subscribe(None)  # type: ignore[call-overload]
    assert caught.value.rule == "1.9"
    assert isinstance(caught.value, TypeError)
    for stream in (pyrs.empty(), pyrs.never(), pyrs.error(ValueError())):
        with pytest.raises(pyrs.NullSignal):
            stream.source.subscribe(None)  # type: ignore[arg-type]


def test_rule_1_9_source_that_cannot_start_signals_on_error_after_on_subscribe() -> None:
    class FailingIterable:
        def __iter__(self) -> Iterator[int]:
            raise PermissionError("not permitted")

    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.from_iterable(FailingIterable()).map(str).subscribe(subscriber)
    subscriber.assert_error(PermissionError)
    assert subscriber.subscription is not None


def test_rule_1_9_subscribe_returns_normally_if_on_subscribe_raises(source: Source, dropped: Any) -> None:
    class RaisingSubscriber(TestSubscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            super().on_subscribe(subscription)
            raise ValueError("mine")

    subscriber = RaisingSubscriber(3)
    source(range(3)).subscribe(subscriber)
    subscriber.assert_elements().assert_live()
    assert [str(error) for error in dropped.take()] == ["mine"]


def test_rule_1_10_and_1_11_each_subscriber_receives_all_elements() -> None:
    stream = pyrs.range(5).map(lambda n: n * 2).take(3)
    subscribers = [TestSubscriber(n) for n in (1, 2, 3)]  # type: list[TestSubscriber[int]]
    for subscriber in subscribers:
        stream.subscribe(subscriber)
    assert [subscriber.elements for subscriber in subscribers] == [[0], [0, 2], [0, 2, 4]]


@pytest.mark.parametrize("fused", [True, False])
def test_rule_2_13_none_element_signals_null_signal(fused: bool, hidden: Callable[[Any], pyrs.Stream[Any]]) -> None:
    numbers: pyrs.Stream[Any] = pyrs.from_iterable([1, None, 3])
    for stream in (pyrs.just(1, 2).map(lambda n: None if n == 2 else n), numbers):
        subscriber: TestSubscriber[Any] = TestSubscriber(5)
        (stream if fused else hidden(stream)).subscribe(subscriber)
        subscriber.assert_elements(1).assert_error(pyrs.NullSignal)


@pytest.mark.parametrize("fused", [True, False])
def test_none_is_allowed_between_stages(fused: bool, hidden: Callable[[Any], pyrs.Stream[Any]]) -> None:
    numbers: pyrs.Stream[Any] = pyrs.range(4)
    stream = (numbers if fused else hidden(numbers)).map(lambda n: n if n % 2 else None)
    assert stream.filter(lambda n: n is not None).collect() == [1, 3]
