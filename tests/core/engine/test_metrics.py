"""Metrics: the counters, also under concurrency, and the observer."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import run_on_threads


def test_every_kind_of_termination_is_counted() -> None:
    metrics = pyrs.Metrics("numbers")
    pyrs.range(3).metrics(metrics).collect()
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    pyrs.just(1).concat(pyrs.error(OSError())).metrics(metrics).subscribe(subscriber)
    pyrs.range(9).metrics(metrics).take(2).collect()
    assert (metrics.subscribed, metrics.active) == (3, 0)
    assert (metrics.completed, metrics.failed, metrics.cancelled) == (1, 1, 1)
    assert metrics.elements == 3 + 1 + 2
    assert metrics.requested == pyrs.UNBOUNDED
    assert metrics.demand == 0


def test_counters_reflect_live_streams() -> None:
    now = 10.0
    metrics = pyrs.Metrics("orders", clock=lambda: now)
    source: TestPublisher[int] = TestPublisher()
    first: TestSubscriber[int] = TestSubscriber(3)
    second: TestSubscriber[int] = TestSubscriber(5)
    stream = source.stream().metrics(metrics)
    stream.subscribe(first)
    stream.subscribe(second)
    before = metrics.first_element_seconds
    assert before is None
    now = 12.5
    source.next(1)
    assert (metrics.active, metrics.requested, metrics.elements, metrics.demand) == (2, 8, 2, 6)
    assert metrics.first_element_seconds == 2.5
    assert repr(metrics) == (
        "<Metrics 'orders': 2 subscribed, 8 requested, 2 elements, 0 completed, 0 failed, 0 cancelled, 6 demanded>"
    )
    second.cancel()
    assert (metrics.active, metrics.demand, metrics.cancelled) == (1, 2, 1)
    source.complete()
    assert (metrics.active, metrics.demand, metrics.completed) == (0, 0, 1)


def test_illegal_request_counts_only_as_a_failure() -> None:
    metrics = pyrs.Metrics("numbers")
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.range(3).metrics(metrics).subscribe(subscriber)
    subscriber.request(-5)
    assert (metrics.requested, metrics.demand, metrics.failed) == (0, 0, 1)


def test_notebook_representation_lists_the_counters() -> None:
    metrics = pyrs.Metrics("<orders>")
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.never().metrics(metrics).subscribe(subscriber)
    html = metrics._repr_html_()
    assert "<caption>&lt;orders&gt;</caption>" in html
    assert "<tr><th>demand</th><td>unbounded</td></tr>" in html
    pyrs.just(1).metrics(metrics).collect()
    assert "first element" in metrics._repr_html_()


def test_observer_receives_every_increment() -> None:
    increments: list[tuple[str, float]] = []
    now = 0.0
    metrics = pyrs.Metrics("numbers", observer=lambda counter, by: increments.append((counter, by)), clock=lambda: now)
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.range(2).metrics(metrics).subscribe(subscriber)
    now = 1.5
    subscriber.request(2)
    assert increments == [
        ("subscribed", 1),
        ("requested", 2),
        ("first_element_seconds", 1.5),
        ("elements", 1),
        ("elements", 1),
        ("completed", 1),
        ("seconds", 1.5),
    ]


@pytest.mark.parametrize("raised", [KeyError, CancelledError, RecursionError])
def test_exception_of_the_observer_does_not_change_the_stream(raised: type[BaseException], dropped: Any) -> None:
    def observer(counter: str, by: float) -> None:
        raise raised(counter)

    assert pyrs.range(2).metrics(pyrs.Metrics("numbers", observer=observer)).collect() == [0, 1]
    assert {type(error) for error in dropped.take()} == {raised}


def test_exception_of_the_clock_at_a_cancel_is_reported(dropped: Any) -> None:
    """Rule 3.15: cancel() returns normally."""
    times = iter([0.0])
    source, subscriber = TestPublisher[int](), TestSubscriber[int](1)
    source.stream().metrics(pyrs.Metrics("numbers", clock=lambda: next(times))).subscribe(subscriber)
    subscriber.cancel()
    source.assert_cancelled(1)
    assert [type(error) for error in dropped.take()] == [StopIteration]


def test_concurrent_streams_lose_no_count() -> None:
    metrics = pyrs.Metrics("numbers")
    start = threading.Barrier(4)

    def work() -> None:
        start.wait(30)
        for _ in range(200):
            pyrs.range(20).metrics(metrics).take(10).collect()

    run_on_threads(*[work] * 4)
    assert (metrics.subscribed, metrics.cancelled, metrics.elements) == (800, 800, 8_000)
    assert (metrics.requested, metrics.demand, metrics.active) == (8_000, 0, 0)


def test_element_after_cancel_is_counted_without_demand() -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    seconds = iter([0.0, 1.0, 2.0])

    def clock() -> float:
        now = next(seconds)
        if now == 1.0:  # the clock is read at the first element
            subscriber.cancel()
        return now

    metrics = pyrs.Metrics("numbers", clock=clock)
    pyrs.range(5).metrics(metrics).subscribe(subscriber)
    subscriber.request(3)
    assert (metrics.demand, metrics.elements, metrics.cancelled) == (0, 1, 1)


def test_cancel_during_emission_leaves_no_demand() -> None:
    for _ in range(300):
        metrics = pyrs.Metrics("numbers")
        start = threading.Barrier(2)
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.range(10**9).metrics(metrics).subscribe(subscriber)

        def cancel(start: threading.Barrier = start, subscriber: TestSubscriber[int] = subscriber) -> None:
            start.wait(30)
            subscriber.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        start.wait(30)
        subscriber.request(50)
        thread.join(30)
        assert metrics.demand == 0
        # One element may be counted but not delivered, if the cancel arrives between the two steps.
        assert metrics.elements - len(subscriber.elements) in (0, 1)
        assert (metrics.cancelled, metrics.active) == (1, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: pyrs.Metrics(3), "name must be a string, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.Metrics("a", observer=3), "observer must be callable"),  # type: ignore[arg-type]
        (lambda: pyrs.Metrics("a", clock=3), "clock must be callable"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_raise_type_error(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wrong()
