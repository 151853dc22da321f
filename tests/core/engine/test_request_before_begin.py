"""A request before ``on_subscribe``, or between it and the subscription to upstream, is not lost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.serial import SerialSubscription
from pyrs.errors import NonPositiveRequest
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, run_on_threads


async def double(n: int) -> int:
    return 2 * n


async def numbers() -> Any:
    for n in range(3):
        yield n


STREAMS: dict[str, tuple[Callable[[], pyrs.Stream[Any]], list[Any]]] = {
    "map(coroutine)": (lambda: pyrs.range(3).map(double), [0, 2, 4]),
    "map(coroutine, concurrency)": (lambda: pyrs.range(3).map(double, concurrency=2), [0, 2, 4]),
    "merge": (lambda: pyrs.range(3).merge(pyrs.empty()), [0, 1, 2]),
    "zip": (lambda: pyrs.range(3).zip(pyrs.range(3)), [(0, 0), (1, 1), (2, 2)]),
    "combine_latest": (lambda: pyrs.just(0).combine_latest(pyrs.range(2)), [(0, 0), (0, 1)]),
    "flat_map": (lambda: pyrs.range(3).flat_map(pyrs.just), [0, 1, 2]),
    "concat_map": (lambda: pyrs.range(3).concat_map(pyrs.just), [0, 1, 2]),
    "switch_map": (lambda: pyrs.just(0).switch_map(pyrs.just), [0]),
    "timeout": (lambda: pyrs.range(3).timeout(DEADLINE), [0, 1, 2]),
    "debounce": (lambda: pyrs.just(0).debounce(0.001), [0]),
    "sample": (lambda: pyrs.just(0).sample(0.001), [0]),
    "delay": (lambda: pyrs.range(3).delay(0.001), [0, 1, 2]),
    "buffer(seconds)": (lambda: pyrs.range(3).buffer(2, seconds=DEADLINE), [[0, 1], [2]]),
    "publish_on": (lambda: pyrs.range(3).publish_on(pyrs.schedulers.default()), [0, 1, 2]),
    "subscribe_on": (lambda: pyrs.range(3).subscribe_on(pyrs.schedulers.default()), [0, 1, 2]),
    "limit_rate": (lambda: pyrs.range(3).limit_rate(2), [0, 1, 2]),
    "on_backpressure_buffer": (lambda: pyrs.range(3).on_backpressure_buffer(8), [0, 1, 2]),
    "take_until": (lambda: pyrs.range(3).take_until(pyrs.never()), [0, 1, 2]),
    "retry": (lambda: pyrs.range(3).retry(1), [0, 1, 2]),
    "create": (lambda: pyrs.create(lambda emitter: (emitter.next(0), emitter.complete())), [0]),
    "from_async_iterable": (lambda: pyrs.from_async_iterable(numbers()), [0, 1, 2]),
    "interval": (lambda: pyrs.interval(0.001).take(2), [0, 1]),
    "timer": (lambda: pyrs.timer(0.001), [0]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_request_from_another_thread_before_the_upstream_subscription_is_fulfilled(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, expected = STREAMS[name]
    introduce = SerialSubscription._introduce_with_turn

    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    requested: list[bool] = []

    def introduce_then_request(subscription: SerialSubscription[Any]) -> None:
        introduce(subscription)
        if subscriber.subscription is not None and not requested:
            requested.append(True)
            run_on_threads(partial(subscriber.request, 100))

    monkeypatch.setattr(SerialSubscription, "_introduce_with_turn", introduce_then_request)
    make().subscribe(subscriber)
    assert requested == [True]
    subscriber.await_complete(DEADLINE)
    assert subscriber.elements == expected


@pytest.mark.parametrize("name", ["merge", "publish_on", "retry", "timer"])
def test_cancel_before_an_interrupt_of_on_subscribe_releases_the_subscriber(name: str) -> None:
    class Interrupting(TestSubscriber[Any]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            kept.append(subscription)
            subscription.cancel()
            raise KeyboardInterrupt

    kept: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        STREAMS[name][0]().subscribe(Interrupting())
    assert kept[0]._subscriber is None


@pytest.mark.parametrize("chain", [lambda publisher: publisher, lambda publisher: publisher.map(int)])
def test_request_before_on_subscribe_is_sent_when_the_subscription_arrives(chain: Callable[[Any], Any]) -> None:
    clock = schedulers.VirtualTime()
    elements: list[int] = []
    with SubmissionPublisher[int](clock) as publisher:
        subscription = chain(publisher).subscribe(on_next=elements.append, request=1)
        subscription.request(2)
        for n in range(4):
            publisher.submit(n)
        clock.run()
        assert elements == [0, 1, 2]
        subscription.request(1)
        clock.run()
        assert elements == [0, 1, 2, 3]


def test_illegal_request_before_on_subscribe_fails_the_stream() -> None:
    clock = schedulers.VirtualTime()
    errors: list[BaseException] = []
    with SubmissionPublisher[int](clock) as publisher:
        publisher.subscribe(on_error=errors.append, request=0).request(0)
        clock.run()
    assert [type(error) for error in errors] == [NonPositiveRequest]


def test_queue_of_requests_before_on_subscribe_takes_little_memory() -> None:
    tracemalloc.start()
    try:
        subscribers = [CallbackSubscriber(print, None, None, None) for _ in range(100)]
        assert tracemalloc.get_traced_memory()[0] < len(subscribers) * 500
    finally:
        tracemalloc.stop()
