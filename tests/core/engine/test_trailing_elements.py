"""Stages that emit something after their source has ended: serial signals, and nothing kept when all is over."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from operator import add
from threading import Event, Thread
from typing import Any

import pytest

import pyrs
from pyrs import sinks
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import collected

Build = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

TAILS: dict[str, Build] = {
    "take_last": lambda stream: stream.take_last(5),
    "buffer": lambda stream: stream.buffer(5, skip=1),
    "to_list": lambda stream: stream.to_list(),
    "materialize": lambda stream: stream.ignore_elements().materialize(),
    "default_if_empty": lambda stream: stream.ignore_elements().default_if_empty(7),
    "scan": lambda stream: stream.ignore_elements().scan(add, 0),
}


class Slow(pyrs.Subscriber[Any]):
    """Stays in its first on_next until it is told to leave."""

    def __init__(self) -> None:
        self.entered = Event()
        self.leave = Event()
        self.signals: list[str] = []
        self.over = Event()
        self.subscription: Any = None

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription

    def on_next(self, element: Any) -> None:
        self.signals.append("next")
        self.entered.set()
        assert self.leave.wait(30)
        self.signals.append("returned")

    def on_error(self, error: BaseException) -> None:
        self.signals.append(type(error).__name__)
        self.over.set()

    def on_complete(self) -> None:
        self.signals.append("complete")
        self.over.set()


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.parametrize("name", TAILS)
def test_rule_1_3_the_answer_to_a_wrong_request_waits_for_the_element_of_the_tail(name: str, n: int) -> None:
    source, slow = TestPublisher[int](), Slow()
    TAILS[name](source.stream()).subscribe(slow)
    if name == "scan":
        source.complete()  # its first element waits for demand, and the end for that
    else:
        slow.subscription.request(9)
        source.next(1, 2)
    thread = Thread(target=lambda: slow.subscription.request(9) if name == "scan" else source.complete())
    thread.start()
    assert slow.entered.wait(30)
    slow.subscription.request(n)
    assert slow.signals == ["next"]
    slow.leave.set()
    thread.join(30)
    assert slow.signals == ["next", "returned", "NonPositiveRequest"]


@pytest.mark.parametrize("name", TAILS)
def test_rule_3_9_where_the_source_has_ended_and_nothing_was_demanded(name: str) -> None:
    source, subscriber = TestPublisher[int](), TestSubscriber[Any](0)
    TAILS[name](source.stream()).subscribe(subscriber)
    source.complete()
    if name not in ("take_last", "buffer"):  # of nothing they make nothing
        subscriber.request(0)
        assert isinstance(subscriber.error, pyrs.NonPositiveRequest)
        assert subscriber.elements == []


class Thing:
    """What is gathered, and can be seen to go."""


GATHERERS: dict[str, Build] = {
    "to_list": lambda stream: stream.to_list(),
    "to_set": lambda stream: stream.to_set(),
    "to_dict": lambda stream: stream.to_dict(id),
    "take_last": lambda stream: stream.take_last(5),
    "reduce": lambda stream: stream.reduce(lambda _, element: element),
    "last": lambda stream: stream.last(),
    "buffer": lambda stream: stream.buffer(3),
    "scan": lambda stream: stream.scan(lambda _, element: element),
    "scan from": lambda stream: stream.scan(lambda _, element: element, Thing()),
    "distinct": lambda stream: stream.distinct(),
    "distinct_until_changed": lambda stream: stream.distinct_until_changed(),
}


@pytest.mark.parametrize("end", ["cancel", "complete", "error"])
@pytest.mark.parametrize("name", GATHERERS)
def test_rule_3_13_what_was_gathered_is_let_go_though_the_subscription_is_kept(name: str, end: str) -> None:
    class Forgetful(TestSubscriber[Any]):
        def on_next(self, element: Any) -> None:
            pass

    source, subscriber = sinks.multicast_best_effort(), Forgetful(None)
    GATHERERS[name](source.stream).subscribe(subscriber)
    things = [Thing() for _ in range(4)]
    watches = [weakref.ref(thing) for thing in things]
    while things:
        source.emit(things.pop())
    kept = subscriber.subscription
    if end == "cancel":
        kept.cancel()
    elif end == "complete":
        source.emit_complete()
    else:
        source.emit_error(OSError("x"))
    collected(lambda: [watch() for watch in watches] == [None] * 4)
    assert kept is not None
