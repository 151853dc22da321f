"""A cancel while an operator signals an element reaches the source before on_next has returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

import pyrs
from pyrs._core.drain import DrainLoop
from pyrs.operators.scheduling import Crossing
from pyrs.schedulers import VirtualTime, inline
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE

Operator = Callable[[pyrs.Stream[int]], pyrs.Stream[Any]]


def pushed(n: int) -> pyrs.Stream[int]:
    return pyrs.just(n).concat(pyrs.empty())


OPERATORS: dict[str, Operator] = {
    "none": lambda s: s,
    "timeout": lambda s: s.timeout(60),
    "delay": lambda s: s.delay(0, scheduler=inline()),
    "buffer": lambda s: s.buffer(1, seconds=60),
    "limit_rate": lambda s: s.limit_rate(2),
    "on_backpressure_buffer": lambda s: s.on_backpressure_buffer(9),
    "throttle_latest": lambda s: s.throttle_latest(60),
    "flat_map": lambda s: s.flat_map(pyrs.just),
    "flat_map of pushed streams": lambda s: s.flat_map(pushed),
    "flat_map_sequential": lambda s: s.flat_map_sequential(pyrs.just),
    "inner stream of flat_map": lambda s: pyrs.range(1).flat_map(lambda _: s),
    "concat_map": lambda s: s.concat_map(pyrs.just),
    "switch_map": lambda s: s.switch_map(pyrs.just),
    "inner stream of switch_map": lambda s: pyrs.just(0).switch_map(lambda _: s),
    "expand": lambda s: s.expand(lambda _: pyrs.empty()),
    "inner stream of expand": lambda s: pyrs.just(0).expand(lambda n: pyrs.empty() if n else s).skip(1),
    "switch_on_first": lambda s: s.switch_on_first(lambda signal, stream: stream),
    "zip": lambda s: s.zip(pyrs.range(9)),
    "merge": lambda s: s.merge(pyrs.never()),
    "combine_latest": lambda s: s.combine_latest(pyrs.just(0)),
    "with_latest_from": lambda s: s.with_latest_from(pyrs.just(0)),
    "take_until": lambda s: s.take_until(pyrs.never()),
    "first_with_signal": lambda s: s.first_with_signal(pyrs.never()),
    "two operators": lambda s: s.timeout(60).flat_map(pyrs.just),
}


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_take_releases_the_resource_before_the_next_source_is_subscribed_to(operator: Operator) -> None:
    events: list[str] = []
    source = TestPublisher[int]()

    @contextmanager
    def connection() -> Iterator[None]:
        events.append("open")
        yield
        events.append("close")

    rows = operator(pyrs.using(connection, lambda _: source)).take(1)
    subscriber = TestSubscriber[Any](None)
    pyrs.range(2).concat_map(lambda _: rows).subscribe(subscriber)
    source.next(1)
    assert events == ["open", "close", "open"]
    source.next(1)
    assert len(subscriber.await_complete()) == 2
    assert events == ["open", "close"] * 2


def test_take_calls_the_cancel_callback_before_the_next_function_of_create() -> None:
    events: list[str] = []
    emitters: list[pyrs.Emitter[int]] = []

    def connect(emitter: pyrs.Emitter[int]) -> None:
        events.append("open")
        emitter.on_cancel(lambda: events.append("close"))
        emitters.append(emitter)

    subscriber = TestSubscriber[int](None)
    pyrs.create(connect).take(1).repeat(1).subscribe(subscriber)
    emitters[0].next(1)
    assert events == ["open", "close", "open"]
    emitters[1].next(2)
    assert subscriber.await_complete() == [1, 2]
    assert events == ["open", "close"] * 2


def test_share_connects_again_after_take_behind_an_operator() -> None:
    sources: list[TestPublisher[int]] = []

    def connect() -> TestPublisher[int]:
        sources.append(TestPublisher[int]())
        return sources[-1]

    subscriber = TestSubscriber[int](None)
    pyrs.defer(connect).share().timeout(60).take(1).repeat(1).subscribe(subscriber)
    sources[0].next(1)
    assert len(sources) == 2
    sources[1].next(2)
    assert subscriber.await_complete() == [1, 2]


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_cancel_reaches_the_source_while_another_thread_is_in_on_next(operator: Operator, discarded: list[Any]) -> None:
    source, entered, leave = TestPublisher[int](), Event(), Event()

    def block(subscriber: TestSubscriber[Any], element: Any) -> None:
        entered.set()
        assert leave.wait(DEADLINE)

    subscriber = TestSubscriber[Any](None, on_element=block)
    operator(source.stream()).subscribe(subscriber)
    thread = Thread(target=source.next, args=(1,))
    thread.start()
    assert entered.wait(DEADLINE)
    subscriber.cancel()
    source.assert_cancelled()
    leave.set()
    thread.join(DEADLINE)
    assert len(subscriber.elements) == 1


def test_cancel_reaches_the_source_if_an_element_takes_the_turn_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The task of the element waits for a thread, and only this task can release the stream."""
    source, scheduler = TestPublisher[int](), VirtualTime()
    subscriber = TestSubscriber[int](None)
    source.stream().publish_on(scheduler).subscribe(subscriber)
    scheduler.advance_by(0)

    def overtaken(loop: DrainLoop) -> None:
        source.next(1)
        DrainLoop.wake_here(loop)

    monkeypatch.setattr(Crossing, "wake_here", overtaken)
    subscriber.cancel()
    source.assert_cancelled()
