"""Stages that emit elements after their source has completed: serial signals, and no references after termination."""

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
from tests.core.support import notes_of
from tests.waiting import collected

Build = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

TRAILING: dict[str, Build] = {
    "take_last": lambda stream: stream.take_last(5),
    "buffer": lambda stream: stream.buffer(5, skip=1),
    "to_list": lambda stream: stream.to_list(),
    "materialize": lambda stream: stream.ignore_elements().materialize(),
    "default_if_empty": lambda stream: stream.ignore_elements().default_if_empty(7),
    "scan": lambda stream: stream.ignore_elements().scan(add, 0),
}


class BlockingSubscriber(pyrs.Subscriber[Any]):
    """Block in on_next until the test sets ``leave``."""

    def __init__(self) -> None:
        self.entered = Event()
        self.leave = Event()
        self.signals: list[str] = []
        self.terminated = Event()
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
        self.terminated.set()

    def on_complete(self) -> None:
        self.signals.append("complete")
        self.terminated.set()


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.parametrize("name", TRAILING)
def test_rule_1_3_error_of_a_non_positive_request_waits_for_the_trailing_element(name: str, n: int) -> None:
    source, subscriber = TestPublisher[int](), BlockingSubscriber()
    TRAILING[name](source.stream()).subscribe(subscriber)
    if name == "scan":
        source.complete()  # the initial element waits for demand, and on_complete waits for that element
    else:
        subscriber.subscription.request(9)
        source.next(1, 2)
    thread = Thread(target=lambda: subscriber.subscription.request(9) if name == "scan" else source.complete())
    thread.start()
    assert subscriber.entered.wait(30)
    subscriber.subscription.request(n)
    assert subscriber.signals == ["next"]
    subscriber.leave.set()
    thread.join(30)
    assert subscriber.signals == ["next", "returned", "NonPositiveRequest"]


# take_last and buffer emit nothing for an empty source.
@pytest.mark.parametrize("name", sorted(TRAILING.keys() - {"take_last", "buffer"}))
def test_rule_3_9_zero_request_after_the_source_completed_signals_on_error(name: str) -> None:
    source, subscriber = TestPublisher[int](), TestSubscriber[Any](0)
    TRAILING[name](source.stream()).subscribe(subscriber)
    source.complete()
    subscriber.request(0)
    assert isinstance(subscriber.error, pyrs.NonPositiveRequest)
    assert subscriber.elements == []


class Element:
    """An element that can be weakly referenced."""


COLLECTING: dict[str, Build] = {
    "to_list": lambda stream: stream.to_list(),
    "to_set": lambda stream: stream.to_set(),
    "to_dict": lambda stream: stream.to_dict(id),
    "take_last": lambda stream: stream.take_last(5),
    "reduce": lambda stream: stream.reduce(lambda _, element: element),
    "last": lambda stream: stream.last(),
    "buffer": lambda stream: stream.buffer(3),
    "scan": lambda stream: stream.scan(lambda _, element: element),
    "scan with initial": lambda stream: stream.scan(lambda _, element: element, Element()),
    "distinct": lambda stream: stream.distinct(),
    "distinct_until_changed": lambda stream: stream.distinct_until_changed(),
    "buffer_until_changed": lambda stream: stream.buffer_until_changed(),
    "window_until_changed": lambda stream: stream.window_until_changed(),
}


@pytest.mark.parametrize("end", ["cancel", "complete", "error"])
@pytest.mark.parametrize("name", COLLECTING)
def test_rule_3_13_collected_elements_are_released_while_the_subscription_is_referenced(name: str, end: str) -> None:
    class DiscardingSubscriber(TestSubscriber[Any]):
        def on_next(self, element: Any) -> None:
            pass

    source, subscriber = sinks.multicast_best_effort(), DiscardingSubscriber(None)
    COLLECTING[name](source.stream).subscribe(subscriber)
    elements = [Element() for _ in range(4)]
    references = [weakref.ref(element) for element in elements]
    while elements:
        source.emit(elements.pop())
    subscription = subscriber.subscription
    if end == "cancel":
        subscription.cancel()
    elif end == "complete":
        source.emit_complete()
    else:
        source.emit_error(OSError("x"))
    collected(lambda: [reference() for reference in references] == [None] * 4)
    assert subscription is not None


def test_rule_3_13_keys_of_merge_comparing_are_released_on_cancel() -> None:
    class Key:
        def __lt__(self, other: object) -> bool:
            return False

    references: list[weakref.ref[Key]] = []

    def key(element: int) -> Key:
        created = Key()
        references.append(weakref.ref(created))
        return created

    subscriber: TestSubscriber[int] = TestSubscriber(0)
    pyrs.just(1).merge_comparing(pyrs.just(2), key=key).subscribe(subscriber)
    subscription = subscriber.subscription
    subscriber.cancel()
    collected(lambda: [reference() for reference in references] == [None] * 2)
    assert subscription is not None


@pytest.mark.parametrize("name", ["buffer", "materialize"])
def test_interrupt_of_a_stage_is_signalled_once(name: str) -> None:
    def interrupt(n: int) -> int:
        if n == 3:
            raise KeyboardInterrupt
        return n

    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(1 if name == "buffer" else 0)
    segments = source.stream().take(9).map(interrupt)  # map runs after take, in a later segment of the pushed chain
    stream = segments.buffer(3, skip=1) if name == "buffer" else TRAILING[name](segments)
    stream.map(str).subscribe(subscriber)
    if name == "materialize":
        subscriber.request(1)
    source.next(1, 2)
    with pytest.raises(KeyboardInterrupt) as raised:
        source.next(3)
    subscriber.request(9)
    assert subscriber.elements == (
        ["[1, 2]", "[2]"] if name == "buffer" else ["Notification.failed(KeyboardInterrupt())"]
    )
    source.assert_cancelled(1)
    assert [note.partition("(")[0] for note in notes_of(raised.value)] == ["in map"]


def test_interrupt_that_dematerialize_raises_again_is_signalled() -> None:
    def interrupt(n: int) -> None:
        raise KeyboardInterrupt

    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    source.stream().take(9).do_on_next(interrupt).materialize().dematerialize().subscribe(subscriber)
    subscriber.request(1)
    with pytest.raises(KeyboardInterrupt):
        source.next(1)
    subscriber.assert_error(KeyboardInterrupt)


@pytest.mark.parametrize(
    "after",
    [
        lambda stream, function: stream.map(function),
        lambda stream, function: stream.filter(function),
        lambda stream, function: stream.skip_while(function),
        lambda stream, function: stream.scan(function, 0),
        lambda stream, function: stream.any(function),
        lambda stream, function: stream.all(function),
    ],
)
@pytest.mark.parametrize(
    "trailing",
    [
        lambda stream: stream.count(),
        lambda stream: stream.last(default=0),
        lambda stream: stream.element_at(9, default=0),
        lambda stream: stream.any(lambda n: n > 9),
        lambda stream: stream.ignore_elements().default_if_empty(0),
        lambda stream: stream.take_last(1),
        lambda stream: stream.buffer(9),
        lambda stream: stream.buffer_until(lambda n: n > 9),
    ],
)
def test_stop_iteration_for_a_trailing_element_fails_the_stream(
    trailing: Build, after: Callable[[pyrs.Stream[Any], Any], pyrs.Stream[Any]]
) -> None:
    def function(*arguments: Any) -> bool:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        after(trailing(pyrs.just(1, 2)), function).collect()
    after(trailing(pyrs.just(1, 2)), lambda *arguments: True).take(9).collect()
