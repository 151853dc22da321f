"""Rules of Subscriptions (section 3) and Processors (section 4), most of them for every way to drive a stream."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import stack_depth
from tests.waiting import run_on_threads, uncollected

Source = Callable[[Iterable[Any]], pyrs.Stream[Any]]


def test_rule_3_2_request_is_allowed_in_on_subscribe_and_on_next(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda self, n: self.request(1))
    source(range(100)).subscribe(subscriber)
    subscriber.assert_elements(*range(100)).assert_complete()


@pytest.mark.parametrize("stages", ["none", "fused", "staged"])
def test_rule_3_3_a_million_requests_in_on_next_use_constant_stack_depth(
    stages: str, hidden: Callable[[Any], pyrs.Stream[Any]]
) -> None:
    count = 1_000_000 if stages != "staged" else 100_000
    depths: set[int] = set()

    class OneByOne(pyrs.Subscriber[int]):
        seen = 0
        completed = False

        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            self.subscription = subscription
            subscription.request(1)

        def on_next(self, element: int, /) -> None:
            self.seen += 1
            if element % 9_973 == 0:
                depths.add(stack_depth())
            self.subscription.request(1)

        def on_error(self, error: BaseException, /) -> None:
            raise error

        def on_complete(self) -> None:
            self.completed = True

    subscriber = OneByOne()
    numbers = pyrs.range(count)
    if stages == "fused":
        numbers = numbers.map(lambda n: n).filter(lambda n: True)
    elif stages == "staged":
        numbers = hidden(numbers).map(lambda n: n).filter(lambda n: True)
    numbers.subscribe(subscriber)
    assert (subscriber.seen, subscriber.completed) == (count, True)
    assert len(depths) == 1


def test_rule_3_5_cancel_returns_while_an_element_is_delivered(source: Source) -> None:
    for _ in range(20):
        flowing, cancelled = threading.Event(), threading.Barrier(4)

        def at_ten(
            subscriber: TestSubscriber[int],
            number: int,
            flowing: threading.Event = flowing,
            cancelled: threading.Barrier = cancelled,
        ) -> None:
            if number == 10:
                flowing.set()
                cancelled.wait(30)

        subscriber: TestSubscriber[int] = TestSubscriber(on_element=at_ten)

        def cancel(
            subscriber: TestSubscriber[int] = subscriber,
            flowing: threading.Event = flowing,
            cancelled: threading.Barrier = cancelled,
        ) -> None:
            flowing.wait(30)
            subscriber.cancel()
            cancelled.wait(30)

        source(range(100)).subscribe(subscriber)
        run_on_threads(*[cancel] * 3, partial(subscriber.request, 1_000))
        subscriber.assert_elements(*range(11)).assert_live()


def test_rule_3_6_and_3_7_calls_after_cancel_have_no_effect(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source(range(10)).subscribe(subscriber)
    subscriber.cancel()
    subscriber.cancel()
    for n in (1, 0, -1, pyrs.UNBOUNDED):
        subscriber.request(n)
    subscriber.assert_elements(0).assert_live()


def test_rule_3_8_requests_add_up(source: Source) -> None:
    class RequestingSubscriber(TestSubscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            super().on_subscribe(subscription)
            for n in (1, 2, 3):
                self.request(n)

    subscriber = RequestingSubscriber()
    source(range(100)).subscribe(subscriber)
    subscriber.assert_elements(*range(6))


@pytest.mark.parametrize("n", [0, -1, -(2**63)])
def test_rule_3_9_non_positive_request_signals_on_error(source: Source, n: int) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    source(range(10)).subscribe(subscriber)
    subscriber.request(2)
    subscriber.request(n)
    error = subscriber.assert_elements(0, 1).assert_error(pyrs.NonPositiveRequest)
    assert isinstance(error, ValueError)
    assert isinstance(error, pyrs.SpecViolation)
    assert (error.rule, error.party) == ("3.9", "Subscriber")
    assert "3.9" in str(error)
    assert str(n) in str(error)
    subscriber.request(5)
    subscriber.assert_elements(0, 1)


def test_rule_3_9_zero_request_in_on_next_with_unbounded_demand_signals_on_error(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=lambda self, n: self.request(0))
    source(range(10)).subscribe(subscriber)
    subscriber.assert_elements(0).assert_error(pyrs.NonPositiveRequest)


def test_rule_3_9_negative_request_to_never_signals_on_error() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(5)
    pyrs.never().subscribe(subscriber)
    subscriber.assert_live()
    subscriber.request(-5)
    subscriber.assert_error(pyrs.NonPositiveRequest)


@pytest.mark.parametrize("n", [1.5, "1", None])
def test_request_of_a_non_integer_raises_type_error(n: Any) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.range(3).subscribe(subscriber)
    with pytest.raises(TypeError, match="n must be an integer"):
        subscriber.await_subscription().request(n)
    subscriber.assert_live()


def test_rule_3_10_and_3_11_request_signals_on_the_calling_thread(source: Source) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    source(range(2)).subscribe(subscriber)
    subscriber.request(3)
    subscriber.assert_complete()
    assert subscriber.thread_names == {threading.current_thread().name}


def test_rule_3_12_and_3_13_termination_releases_subscriber_and_source(source: Source) -> None:
    class Elements:
        def __iter__(self) -> Iterator[int]:
            return iter(range(10))

    with uncollected():  # reference counting alone must free the objects
        for end in ("cancel", "complete"):
            elements = Elements()
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            source(elements).subscribe(subscriber)
            if end == "cancel":
                subscriber.cancel()
            else:
                subscriber.request(100)
            subscription = subscriber.await_subscription()
            references = weakref.ref(subscriber), weakref.ref(elements)
            del subscriber, elements
            assert [reference() for reference in references] == [None, None], end
            subscription.request(1)
            subscription.cancel()


def test_rule_3_13_cancel_closes_an_iterator_that_pyrs_created_and_no_other() -> None:
    closed: list[str] = []

    def numbers(name: str) -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            closed.append(name)

    class IterableOfNumbers:
        def __iter__(self) -> Iterator[int]:
            return numbers("created")

    passed = numbers("passed")
    assert pyrs.from_iterable(IterableOfNumbers()).take(2).collect() == [0, 1]
    assert closed == ["created"]
    assert pyrs.from_iterable(passed).take(2).collect() == [0, 1]
    assert closed == ["created"]
    assert next(passed) == 2


def test_an_iterator_that_has_every_attribute_is_not_closed(dropped: Any) -> None:
    class Remote:
        """An iterator whose attributes are methods of an object of another process, as those of Py4J are."""

        def __init__(self) -> None:
            self.numbers = iter(range(3))

        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            return next(self.numbers)

        def __getattr__(self, name: str) -> Any:
            def method() -> None:
                raise RuntimeError(f"there is no method {name}")

            return method

    class Elements:
        def __iter__(self) -> Iterator[int]:
            return Remote()

    assert pyrs.from_iterable(Elements()).collect() == [0, 1, 2]
    assert dropped.take() == []


def test_rule_3_15_cancel_returns_normally_if_closing_the_iterator_fails(dropped: Any) -> None:
    class Elements:
        def __iter__(self) -> Iterator[int]:
            try:
                yield from range(10)
            finally:
                raise OSError("cannot close")

    subscriber: TestSubscriber[int] = TestSubscriber(1)
    pyrs.from_iterable(Elements()).subscribe(subscriber)
    subscriber.cancel()
    assert [str(error) for error in dropped.take()] == ["cannot close"]


def test_rule_3_16_request_returns_normally_if_on_next_raises(source: Source, dropped: Any) -> None:
    def raise_error(subscriber: TestSubscriber[int], number: int) -> None:
        raise ValueError("mine")

    subscriber: TestSubscriber[int] = TestSubscriber(on_element=raise_error)
    source(range(3)).subscribe(subscriber)
    subscriber.request(3)
    subscriber.assert_elements(0).assert_live()
    assert [str(error) for error in dropped.take()] == ["mine"]


def test_rule_3_17_demand_beyond_the_largest_long_is_accepted(source: Source) -> None:
    class RequestingSubscriber(TestSubscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            super().on_subscribe(subscription)
            for n in (2**63 - 1, 2**63 - 1, 1, 2**70):
                self.request(n)

    subscriber = RequestingSubscriber(on_element=lambda self, n: self.request(2**63 - 1))
    source(range(1_000)).subscribe(subscriber)
    subscriber.assert_elements(*range(1_000)).assert_complete()


BEYOND = 2**70

Subscribe = Callable[[pyrs.Stream[Any]], object]


def with_large_request(build: Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]) -> Subscribe:
    def subscribe(stream: pyrs.Stream[Any]) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        build(stream).subscribe(subscriber)
        subscriber.request(BEYOND)

    return subscribe


FORWARDING_DEMAND: dict[str, Subscribe] = {
    "a stage": with_large_request(lambda stream: stream.map(str)),
    "several stages": with_large_request(lambda stream: stream.metrics(pyrs.Metrics("it")).log(level=0).filter(bool)),
    "concat": with_large_request(lambda stream: stream.concat(pyrs.empty())),
    "take_until": with_large_request(lambda stream: stream.take_until(pyrs.never())),
    "with_latest_from": with_large_request(lambda stream: stream.with_latest_from(pyrs.never())),
    "timeout": with_large_request(lambda stream: stream.timeout(1_000)),
    "delay": with_large_request(lambda stream: stream.delay(1, prefetch=BEYOND)),
    "limit_rate": with_large_request(lambda stream: stream.limit_rate(BEYOND)),
    "merge": with_large_request(lambda stream: stream.merge(pyrs.never(), prefetch=BEYOND)),
    "window": with_large_request(lambda stream: stream.window(7)),
    "publish": with_large_request(lambda stream: stream.publish(BEYOND).auto_connect()),
    "strict": with_large_request(lambda stream: pyrs.Stream(pyrs.strict(stream))),
    "subscribe": lambda stream: stream.subscribe(on_next=print, request=BEYOND),
    "the Subscription of subscribe": lambda stream: stream.subscribe(on_next=print, request=0).request(BEYOND),
    "to_iterable": lambda stream: next(stream.start_with(0).to_iterable(prefetch=BEYOND)),
}


@pytest.mark.parametrize("name", FORWARDING_DEMAND)
def test_rule_3_17_requests_to_a_foreign_publisher_are_capped_at_the_largest_long(name: str) -> None:
    publisher: TestPublisher[Any] = TestPublisher()
    FORWARDING_DEMAND[name](publisher.stream())
    assert publisher.requests[-1] == 2**63 - 1
    assert max(publisher.requests) == 2**63 - 1


@pytest.mark.parametrize("n", [1.5, "1", None])
def test_request_of_a_non_integer_through_a_stage_raises_type_error(n: Any) -> None:
    publisher: TestPublisher[Any] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    publisher.stream().map(str).subscribe(subscriber)
    with pytest.raises(TypeError, match="n must be an integer"):
        subscriber.await_subscription().request(n)
    subscriber.assert_live()


def test_rule_4_1_and_4_2_stages_propagate_errors(hidden: Callable[[Any], pyrs.Stream[Any]]) -> None:
    failure = ValueError("upstream")
    subscriber: TestSubscriber[Any] = TestSubscriber()
    hidden(pyrs.error(failure)).map(str).filter(bool).take(3).subscribe(subscriber)
    assert subscriber.assert_error() is failure
