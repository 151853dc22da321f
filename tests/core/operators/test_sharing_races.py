"""Shared streams and threads: coming, going, connecting and emitting at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber


def subscribed(stream: pyrs.Stream[Any], request: int | None = None) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    stream.subscribe(subscriber)
    return subscriber


def test_subscribe_emit_cancel_and_connect_at_once(elsewhere: Callable[[Any], pyrs.Stream[Any]]) -> None:
    """Who stays gets everything from some element on, in order, none twice; who was there first gets all."""
    for _ in range(300):
        shared = elsewhere(pyrs.range(40)).publish(8)
        first = subscribed(shared)
        leaving, late = TestSubscriber[Any](None), TestSubscriber[Any](None)
        start = threading.Barrier(4)

        def connect(shared: Any = shared, start: Any = start) -> None:
            start.wait(30)
            shared.connect()

        def come_and_go(shared: Any = shared, start: Any = start, leaving: Any = leaving) -> None:
            start.wait(30)
            shared.subscribe(leaving)
            leaving.cancel()

        def come(shared: Any = shared, start: Any = start, late: Any = late) -> None:
            start.wait(30)
            shared.subscribe(late)

        threads = [threading.Thread(target=each) for each in (connect, connect, come_and_go, come)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert first.await_complete() == list(range(40))
        shared.connect()  # for the late one, where it was too late for the first connection
        came = late.await_complete()
        assert came == list(range(40 - len(came), 40))
        left = list(leaving.assert_rules().elements)
        assert left == list(range(left[0], left[0] + len(left)) if left else [])


@pytest.mark.parametrize("way", ["share", "replayed", "grace"])
def test_coming_and_going_of_many_never_strands_one(way: str, elsewhere: Callable[[Any], pyrs.Stream[Any]]) -> None:
    """Each either has cancelled or completes, with all that came from some element on."""
    for _ in range(200):
        source = elsewhere(pyrs.range(30))
        if way == "share":
            shared = source.share()
        elif way == "replayed":
            shared = source.replay().ref_count()
        else:
            shared = source.publish().ref_count(seconds=0.0001)
        start = threading.Barrier(3)
        staying = [TestSubscriber[Any](None) for _ in range(2)]

        def stay(subscriber: Any, shared: Any = shared, start: Any = start) -> None:
            start.wait(30)
            shared.subscribe(subscriber)
            subscriber.await_complete(30)

        def leave(shared: Any = shared, start: Any = start) -> None:
            start.wait(30)
            for _ in range(3):
                subscribed(shared, 1).cancel()

        threads = [threading.Thread(target=stay, args=(each,)) for each in staying] + [threading.Thread(target=leave)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        for each in staying:
            elements = each.assert_complete().elements
            assert elements == list(range(30 - len(elements), 30))
            if way == "replayed":
                assert len(elements) == 30


def test_no_connection_is_left_behind_when_all_have_gone() -> None:
    for make in (lambda s: s.share(), lambda s: s.replay().ref_count(), lambda s: s.publish().ref_count(2)):
        for _ in range(200):
            publisher = TestPublisher[int]()
            shared = make(publisher.stream())
            start = threading.Barrier(3)

            def come_and_go(shared: Any = shared, start: Any = start) -> None:
                start.wait(30)
                for _ in range(5):
                    subscribed(shared, 1).assert_live().cancel()

            threads = [threading.Thread(target=come_and_go) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()
            assert publisher.subscribe_count == publisher.cancel_count
