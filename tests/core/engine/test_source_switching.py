"""What every operator with one source at a time keeps: a wrong request is answered also while no source is on (3.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.errors import NonPositiveRequest
from pyrs.testing import TestPublisher, TestSubscriber

HOUR = 3600.0
HOURLY = pyrs.Backoff(first=HOUR, most=HOUR, jitter=0)


class Silent(pyrs.Publisher[Any]):
    """Signals nothing, not even on_subscribe, until it is told to."""

    def __init__(self) -> None:
        self.subscribers: list[pyrs.Subscriber[Any]] = []

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.subscribers.append(subscriber)


class Link(pyrs.Subscription):
    """What a Publisher by hand gives: notes what is asked of it, and does what it is told to by the way."""

    def __init__(self, on_request: Callable[[], object] = lambda: None) -> None:
        self.requests: list[int] = []
        self.cancelled = False
        self._on_request = on_request

    def request(self, n: int, /) -> None:
        self.requests.append(n)
        self._on_request()

    def cancel(self) -> None:
        self.cancelled = True


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.parametrize(
    "build",
    [
        lambda: pyrs.error(OSError("planned")).retry(backoff=HOURLY),
        lambda: pyrs.just(1).delay_subscription(HOUR),
    ],
    ids=["retry", "delay_subscription"],
)
def test_a_wrong_request_is_answered_at_once_while_a_timer_waits(build: Callable[[], pyrs.Stream[Any]], n: int) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    with schedulers.use(schedulers.VirtualTime()) as time:
        build().subscribe(subscriber)
    assert time.pending == 1
    subscriber.request(n)
    assert subscriber.assert_elements().assert_error(NonPositiveRequest).rule == "3.9"  # type: ignore[attr-defined]
    assert time.pending == 0


def test_a_wrong_request_is_answered_at_once_while_a_signal_to_retry_is_awaited() -> None:
    signals: TestPublisher[Any] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    pyrs.error(OSError("planned")).retry_when(lambda failures: signals.stream()).subscribe(subscriber)
    subscriber.request(0)
    subscriber.assert_elements().assert_error(NonPositiveRequest)
    assert signals.cancel_count == 1


def test_a_wrong_request_is_answered_while_concat_map_waits_for_an_outer_element() -> None:
    outer: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(5)
    outer.stream().concat_map(pyrs.just).subscribe(subscriber)
    outer.next(1)
    subscriber.request(0)
    subscriber.assert_elements(1).assert_error(NonPositiveRequest)
    assert outer.cancel_count == 1


def test_a_wrong_request_between_two_sources_ends_the_stream_without_the_second() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(5)
    source.stream().repeat(until=lambda: subscriber.request(0)).subscribe(subscriber)
    source.next(1).complete()
    subscriber.assert_elements(1).assert_error(NonPositiveRequest)
    assert source.subscribe_count == 1


def test_a_source_that_has_not_come_yet_is_not_waited_for_and_let_in_no_more() -> None:
    source = Silent()
    subscriber: TestSubscriber[int] = TestSubscriber(5)
    pyrs.Stream(source).repeat().subscribe(subscriber)
    subscriber.request(0)
    subscriber.assert_elements().assert_error(NonPositiveRequest)
    link = Link()
    source.subscribers[0].on_subscribe(link)
    assert (link.requests, link.cancelled) == ([], True)


def test_a_source_that_completes_instead_of_answering_is_not_followed_by_another() -> None:
    source = Silent()
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.Stream(source).concat(pyrs.just(1)).subscribe(subscriber)
    source.subscribers[0].on_subscribe(Link(source.subscribers[0].on_complete))
    subscriber.request(0)
    subscriber.assert_elements().assert_error(NonPositiveRequest)


def test_a_wrong_request_inside_on_subscribe_is_answered_when_that_has_returned() -> None:
    source: TestPublisher[int] = TestPublisher()
    signals: list[str] = []

    class Wrong(pyrs.Subscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            subscription.request(0)
            signals.append("on_subscribe returns")

        def on_next(self, element: int, /) -> None:
            raise AssertionError(element)

        def on_error(self, error: BaseException, /) -> None:
            signals.append(type(error).__name__)

        def on_complete(self) -> None:
            raise AssertionError("complete")

    source.stream().concat(pyrs.just(1)).subscribe(Wrong())
    assert signals == ["on_subscribe returns", "NonPositiveRequest"]
    assert source.subscribe_count == 0
