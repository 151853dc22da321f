"""A non-positive request is rejected between two sources, and while a source emits for ever (3.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.errors import NonPositiveRequest
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import RecordingSubscription, RunningTime

HOUR = 3600.0
HOURLY = pyrs.Backoff(first=HOUR, most=HOUR, jitter=0)


class ManualPublisher(pyrs.Publisher[Any]):
    """Keep each Subscriber and signal nothing, not even on_subscribe."""

    def __init__(self) -> None:
        self.subscribers: list[pyrs.Subscriber[Any]] = []

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.subscribers.append(subscriber)


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.parametrize(
    "build",
    [
        lambda: pyrs.error(OSError("planned")).retry(backoff=HOURLY),
        lambda: pyrs.just(1).delay_subscription(HOUR),
    ],
    ids=["retry", "delay_subscription"],
)
def test_non_positive_request_while_a_timer_is_pending_signals_on_error(
    build: Callable[[], pyrs.Stream[Any]], n: int
) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    with schedulers.use(schedulers.VirtualTime()) as time:
        build().subscribe(subscriber)
    assert time.pending == 1
    subscriber.request(n)
    assert subscriber.assert_elements().assert_error(NonPositiveRequest).rule == "3.9"  # type: ignore[attr-defined]
    assert time.pending == 0


def test_non_positive_request_while_retry_when_waits_signals_on_error() -> None:
    signals: TestPublisher[Any] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    pyrs.error(OSError("planned")).retry_when(lambda failures: signals.stream()).subscribe(subscriber)
    subscriber.request(0)
    subscriber.assert_elements().assert_error(NonPositiveRequest)
    assert signals.cancel_count == 1


def test_non_positive_request_while_concat_map_waits_for_an_outer_element_signals_on_error() -> None:
    outer: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(5)
    outer.stream().concat_map(pyrs.just).subscribe(subscriber)
    outer.next(1)
    subscriber.request(0)
    subscriber.assert_elements(1).assert_error(NonPositiveRequest)
    assert outer.cancel_count == 1


def test_non_positive_request_between_two_sources_prevents_the_second_subscription() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(5)
    source.stream().repeat(until=lambda: subscriber.request(0)).subscribe(subscriber)
    source.next(1).complete()
    subscriber.assert_elements(1).assert_error(NonPositiveRequest)
    assert source.subscribe_count == 1


def test_source_that_calls_on_subscribe_after_the_error_is_cancelled() -> None:
    source = ManualPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(5)
    pyrs.Stream(source).repeat().subscribe(subscriber)
    subscriber.request(0)
    subscriber.assert_elements().assert_error(NonPositiveRequest)
    subscription = RecordingSubscription()
    source.subscribers[0].on_subscribe(subscription)
    assert (subscription.requested, subscription.cancelled) == ([], 1)


def test_source_that_completes_on_a_non_positive_request_does_not_start_the_next_source() -> None:
    source = ManualPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.Stream(source).concat(pyrs.just(1)).subscribe(subscriber)
    source.subscribers[0].on_subscribe(RecordingSubscription(lambda n: source.subscribers[0].on_complete()))
    subscriber.request(0)
    subscriber.assert_elements().assert_error(NonPositiveRequest)


def test_non_positive_request_in_on_subscribe_is_answered_after_it_returns() -> None:
    source: TestPublisher[int] = TestPublisher()
    signals: list[str] = []

    class WrongSubscriber(pyrs.Subscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            subscription.request(0)
            signals.append("on_subscribe returns")

        def on_next(self, element: int, /) -> None:
            raise AssertionError(element)

        def on_error(self, error: BaseException, /) -> None:
            signals.append(type(error).__name__)

        def on_complete(self) -> None:
            raise AssertionError("complete")

    source.stream().concat(pyrs.just(1)).subscribe(WrongSubscriber())
    assert signals == ["on_subscribe returns", "NonPositiveRequest"]
    assert source.subscribe_count == 0


class Endless(pyrs.Publisher[int]):
    """Emit inside of ``request``, and call ``at_fifth`` before the fifth of at most 50 elements."""

    def __init__(self, at_fifth: Callable[[], object]) -> None:
        self.at_fifth = at_fifth
        self.emitted = 0

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        subscription = RecordingSubscription()

        def emit(n: int) -> None:
            for _ in range(n):
                if subscription.cancelled or self.emitted == 50:
                    return
                self.emitted += 1
                if self.emitted == 5:
                    self.at_fifth()
                subscriber.on_next(self.emitted)

        subscription.on_request = emit
        subscriber.on_subscribe(subscription)


@pytest.mark.parametrize(
    "operator",
    [
        lambda stream: stream.buffer_when(pyrs.never(), lambda _: pyrs.never(), prefetch=1),
        lambda stream: stream.with_latest_from(pyrs.never()),
    ],
    ids=["buffer_when", "with_latest_from"],
)
def test_non_positive_request_is_rejected_while_each_dropped_element_requests_the_next(
    operator: Callable[[pyrs.Stream[int]], pyrs.Stream[Any]],
) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    source = Endless(lambda: subscriber.request(0))
    operator(pyrs.Stream(source)).subscribe(subscriber)
    subscriber.assert_elements().assert_error(NonPositiveRequest)
    assert source.emitted == 5


def test_debounce_emits_no_element_after_a_non_positive_request() -> None:
    def request_nothing(subscriber: TestSubscriber[int], element: int) -> None:
        if element == 1:
            source.next(2)
            time.ahead = 5.0
            source.emit(3)
        else:
            subscriber.request(0)

    time, source = RunningTime(), TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=request_nothing)
    source.stream().debounce(4, scheduler=time).subscribe(subscriber)
    source.next(1)
    time.advance_by(4)
    subscriber.assert_elements(1, 2).assert_error(NonPositiveRequest)


def test_non_positive_request_is_rejected_while_each_list_requests_the_next() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    source = Endless(lambda: subscriber.request(0))
    pyrs.Stream(source).buffer(2, seconds=HOUR).subscribe(subscriber)
    subscriber.assert_elements([1, 2], [3, 4]).assert_error(NonPositiveRequest)
    assert source.emitted < 10
