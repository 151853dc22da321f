"""Combining operators under concurrency: no element is lost, duplicated or out of order, and no stream blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pytest

import pyrs
from pyrs._core.executor import DaemonExecutor
from pyrs.testing import TestSubscriber
from tests.rounds import rounds
from tests.waiting import DEADLINE, on_threads, run_on_threads

SOURCES = 4


class Emitter(pyrs.Publisher[Any]):
    """Emits (name, 0), (name, 1), ... on demand, on its own thread."""

    def __init__(self, name: int, count: int, executor: DaemonExecutor) -> None:
        self.name = name
        self.count = count
        self.executor = executor

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        emission = _Emission(self, subscriber)
        subscriber.on_subscribe(emission)
        self.executor.execute(emission.run)


class _Emission(pyrs.Subscription):
    def __init__(self, emitter: Emitter, subscriber: pyrs.Subscriber[Any]) -> None:
        self.emitter = emitter
        self.subscriber = subscriber
        self.changed = threading.Condition()
        self.demand = 0
        self.cancelled = False

    def request(self, n: int, /) -> None:
        with self.changed:
            self.demand += n
            self.changed.notify()

    def cancel(self) -> None:
        with self.changed:
            self.cancelled = True
            self.changed.notify()

    def run(self) -> None:
        for number in range(self.emitter.count):
            with self.changed:
                assert self.changed.wait_for(lambda: self.demand or self.cancelled, DEADLINE)
                if self.cancelled:
                    return
                self.demand -= 1
            self.subscriber.on_next((self.emitter.name, number))
        self.subscriber.on_complete()


def emitters_of(emitters: list[Emitter]) -> pyrs.Stream[Emitter]:
    """Return a stream that emits the given Emitters on another thread."""
    return pyrs.Stream(Emitter(0, len(emitters), emitters[0].executor)).map(lambda pair: emitters[pair[1]])


Build = Callable[[list[Emitter]], pyrs.Stream[Any]]
MERGING: dict[str, Build] = {
    "merge": lambda emitters: pyrs.merge(emitters, prefetch=3),
    "flat_map": lambda emitters: pyrs.from_iterable(emitters).flat_map(lambda each: each, prefetch=2),
    "flat_map, concurrency=2": lambda emitters: pyrs.from_iterable(emitters).flat_map(lambda each: each, concurrency=2),
}


@pytest.mark.parametrize("operator", MERGING)
def test_concurrent_requests_and_cancels_lose_no_element(operator: str, executor: DaemonExecutor) -> None:
    random = Random(4)
    for _ in range(rounds(1_000)):
        count = random.choice([1, 4, 12])
        cancels = random.random() < 0.3
        subscriber: TestSubscriber[Any] = TestSubscriber(random.choice([0, 1, SOURCES * count]))
        start = threading.Barrier(3 + cancels)

        def request_repeatedly(subscriber: TestSubscriber[Any], start: threading.Barrier, times: int) -> None:
            start.wait(DEADLINE)
            for _ in range(times):
                subscriber.request(1)

        def cancel(subscriber: TestSubscriber[Any], start: threading.Barrier, times: int) -> None:
            start.wait(DEADLINE)
            subscriber.cancel()

        tasks = [request_repeatedly, request_repeatedly, *[cancel] * cancels]
        with on_threads(*(partial(task, subscriber, start, SOURCES * count) for task in tasks)):
            MERGING[operator]([Emitter(name, count, executor) for name in range(SOURCES)]).subscribe(subscriber)
            start.wait(DEADLINE)
        if not cancels:
            assert len(subscriber.await_complete()) == SOURCES * count
        subscriber.assert_rules()
        for name in range(SOURCES):
            numbers = [number for which, number in list(subscriber.elements) if which == name]
            assert numbers == list(range(len(numbers)))


EXACT: dict[str, tuple[Build, Callable[[int], list[Any]]]] = {
    "zip": (
        lambda emitters: pyrs.zip(emitters, prefetch=2),
        lambda count: [tuple((name, n) for name in range(SOURCES)) for n in range(count)],
    ),
    "concat": (pyrs.concat, lambda count: [(name, n) for name in range(SOURCES) for n in range(count)]),
    "concat_map": (
        lambda emitters: emitters_of(emitters).concat_map(lambda each: each, prefetch=2),
        lambda count: [(name, n) for name in range(SOURCES) for n in range(count)],
    ),
}


@pytest.mark.parametrize("operator", EXACT)
def test_ordered_operators_keep_the_order_under_concurrency(operator: str, executor: DaemonExecutor) -> None:
    build, model = EXACT[operator]
    random = Random(5)
    for _ in range(rounds(500)):
        count = random.choice([0, 1, 5, 12])
        subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda this, _: this.request(1))
        build([Emitter(name, count, executor) for name in range(SOURCES)]).subscribe(subscriber)
        if operator != "zip" and not count:
            subscriber.request(1)
        assert subscriber.await_complete() == model(count)


def test_last_tuple_of_combine_latest_contains_the_last_elements(executor: DaemonExecutor) -> None:
    for _ in range(500):
        subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda this, _: this.request(1))
        pyrs.combine_latest([Emitter(name, 9, executor) for name in range(SOURCES)], prefetch=2).subscribe(subscriber)
        rows = subscriber.await_complete()
        assert rows[-1] == tuple((name, 8) for name in range(SOURCES))
        for before, after in pairwise(rows):
            assert sum(old != new for old, new in zip(before, after, strict=True)) == 1
            assert all(old <= new for old, new in zip(before, after, strict=True))


def test_switch_map_emits_no_element_of_a_replaced_stream(executor: DaemonExecutor) -> None:
    for _ in range(500):
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        inners = [Emitter(name, 20, executor) for name in range(SOURCES)]
        emitters_of(inners).switch_map(lambda each: each, prefetch=3).subscribe(subscriber)
        elements = subscriber.await_complete()
        assert elements == sorted(elements)
        assert elements[-20:] == [(SOURCES - 1, n) for n in range(20)]


@pytest.mark.parametrize("name", ["take_until", "skip_until", "with_latest_from"])
def test_signal_of_the_other_source_at_any_moment_keeps_elements_contiguous(
    name: str, executor: DaemonExecutor
) -> None:
    for _ in range(400):
        subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda this, _: this.request(1))
        main = pyrs.Stream(Emitter(0, 10, executor))
        getattr(main, name)(Emitter(1, 1, executor)).subscribe(subscriber)
        elements = [element[0] if name == "with_latest_from" else element for element in subscriber.await_complete()]
        if name == "take_until":
            assert elements == [(0, n) for n in range(len(elements))]
        else:
            assert elements == [(0, n) for n in range(10 - len(elements), 10)]


@pytest.mark.parametrize("operator", [*MERGING, *EXACT])
def test_no_lock_is_held_during_on_next(operator: str, executor: DaemonExecutor) -> None:
    """Another thread can call request and repr during on_next."""

    def request_on_another_thread(subscriber: TestSubscriber[Any], element: Any) -> None:
        def request_and_show() -> None:
            subscriber.request(1)
            assert "demand" in repr(subscriber.subscription) or operator.startswith("concat")

        run_on_threads(request_and_show)

    build = MERGING[operator] if operator in MERGING else EXACT[operator][0]
    subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=request_on_another_thread)
    build([Emitter(name, 5, executor) for name in range(SOURCES)]).subscribe(subscriber)
    assert len(subscriber.await_complete()) == (5 if operator == "zip" else 20)
