"""Shared streams under concurrency: subscribe, cancel, connect and emit at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import subscribe
from tests.rounds import rounds
from tests.waiting import run_on_threads


def test_concurrent_subscribe_cancel_and_connect_lose_no_element(threaded: Callable[[Any], pyrs.Stream[Any]]) -> None:
    """The first Subscriber receives every element; a later one receives a gapless suffix of them."""
    for _ in range(300):
        shared = threaded(pyrs.range(40)).publish(8)
        first = subscribe(shared)
        leaving, late = TestSubscriber[Any](None), TestSubscriber[Any](None)
        start = threading.Barrier(4)

        def connect(shared: Any = shared, start: Any = start) -> None:
            start.wait(30)
            shared.connect()

        def subscribe_and_cancel(shared: Any = shared, start: Any = start, leaving: Any = leaving) -> None:
            start.wait(30)
            shared.subscribe(leaving)
            leaving.cancel()

        def subscribe_late(shared: Any = shared, start: Any = start, late: Any = late) -> None:
            start.wait(30)
            shared.subscribe(late)

        run_on_threads(connect, connect, subscribe_and_cancel, subscribe_late)
        assert first.await_complete() == list(range(40))
        shared.connect()  # for the late Subscriber, if it missed the first connection
        received = late.await_complete()
        assert received == list(range(40 - len(received), 40))
        prefix = list(leaving.assert_rules().elements)
        assert prefix == list(range(prefix[0], prefix[0] + len(prefix)) if prefix else [])


@pytest.mark.parametrize("way", ["share", "replayed", "grace"])
def test_concurrent_subscribers_all_complete(way: str, threaded: Callable[[Any], pyrs.Stream[Any]]) -> None:
    """Each Subscriber that does not cancel completes, with a gapless suffix of the elements."""
    for _ in range(rounds(200)):
        source = threaded(pyrs.range(30))
        if way == "share":
            shared = source.share()
        elif way == "replayed":
            shared = source.replay().ref_count()
        else:
            shared = source.publish().ref_count(seconds=0.0001)
        start = threading.Barrier(3)
        staying = [TestSubscriber[Any](None) for _ in range(2)]

        def subscribe_and_wait(subscriber: Any, shared: Any = shared, start: Any = start) -> None:
            start.wait(30)
            shared.subscribe(subscriber)
            subscriber.await_complete(30)

        def subscribe_and_cancel(shared: Any = shared, start: Any = start) -> None:
            start.wait(30)
            for _ in range(3):
                subscribe(shared, 1).cancel()

        run_on_threads(*(partial(subscribe_and_wait, each) for each in staying), subscribe_and_cancel)
        for each in staying:
            elements = each.assert_complete().elements
            assert elements == list(range(30 - len(elements), 30))
            if way == "replayed":
                assert len(elements) == 30


def test_no_connection_remains_after_every_subscriber_cancelled() -> None:
    for make in (lambda s: s.share(), lambda s: s.replay().ref_count(), lambda s: s.publish().ref_count(2)):
        for _ in range(rounds(200)):
            publisher = TestPublisher[int]()
            shared = make(publisher.stream())
            start = threading.Barrier(3)

            def subscribe_and_cancel(shared: Any = shared, start: Any = start) -> None:
                start.wait(30)
                for _ in range(5):
                    subscribe(shared, 1).assert_live().cancel()

            run_on_threads(*[subscribe_and_cancel] * 3)
            assert publisher.subscribe_count == publisher.cancel_count
