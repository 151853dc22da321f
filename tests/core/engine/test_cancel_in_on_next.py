"""A cancel while an operator signals an element reaches the source before on_next has returned."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Lock, Thread
from typing import Any

import pytest

import pyrs
from pyrs._core.drain import DrainLoop
from pyrs.operators.scheduling import Crossing
from pyrs.operators.splitting import SplitRun
from pyrs.schedulers import VirtualTime, default, inline
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
    "parallel": lambda s: s.parallel(2).sequential(),
}

SPLITS: dict[str, Operator] = {
    "group_by": lambda s: s.group_by(lambda n: 0),
    "three groups": lambda s: s.group_by(lambda n: n % 3),
    "window of 1": lambda s: s.window(1),
    "window of 2": lambda s: s.window(2),
    "overlapping windows": lambda s: s.window(2, skip=1),
    "timed window": lambda s: s.window(seconds=60),
    "timed window of 2": lambda s: s.window(2, seconds=60),
    "window_until": lambda s: s.window_until(lambda n: n % 3 == 0),
    "window_until, cut_before": lambda s: s.window_until(lambda n: n % 3 == 0, cut_before=True),
    "window_while": lambda s: s.window_while(lambda n: n % 3 > 0),
    "window_until_changed": lambda s: s.window_until_changed(lambda n: n // 2),
    "window_when": lambda s: s.window_when(pyrs.just(0).concat(pyrs.never()), lambda _: pyrs.never()),
    "window_when, last window": lambda s: s.window_when(pyrs.just(0), lambda _: pyrs.never()),
}

FLATTENINGS: dict[str, Operator] = {
    "flat_map": lambda parts: parts.flat_map(lambda part: part),
    "flat_map of map": lambda parts: parts.flat_map(lambda part: part.map(str)),
    "flat_map of timeout": lambda parts: parts.flat_map(lambda part: part.timeout(60)),
    "flat_map_sequential": lambda parts: parts.flat_map_sequential(lambda part: part),
    "concat_map": lambda parts: parts.concat_map(lambda part: part),
    "switch_map": lambda parts: parts.switch_map(lambda part: part),
}

for _split in SPLITS:
    for _flatten in ("flat_map", "concat_map"):
        OPERATORS[f"{_split}, {_flatten}"] = lambda s, split=SPLITS[_split], flatten=FLATTENINGS[_flatten]: flatten(
            split(s)
        )


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


@pytest.mark.parametrize("limit", range(1, 6))
@pytest.mark.parametrize("flatten", FLATTENINGS.values(), ids=FLATTENINGS)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_take_of_parts_releases_the_resource_before_the_next_source_is_subscribed_to(
    split: Operator, flatten: Operator, limit: int
) -> None:
    events: list[str] = []
    source = TestPublisher[int]()

    @contextmanager
    def connection() -> Iterator[None]:
        events.append("open")
        yield
        events.append("close")

    rows = flatten(split(pyrs.using(connection, lambda _: source))).take(limit)
    subscriber = TestSubscriber[Any](None)
    pyrs.range(2).concat_map(lambda _: rows).subscribe(subscriber)
    numbers = iter(range(1, 20))
    while len(subscriber.elements) < limit:
        assert events == ["open"]
        source.next(next(numbers))
    assert events == ["open", "close", "open"]
    subscriber.cancel()


async def count_up() -> AsyncIterator[int]:
    for n in count(1):
        yield n


SOURCES: dict[str, Callable[[], pyrs.Stream[int]]] = {
    "from_async_iterable": lambda: pyrs.from_async_iterable(count_up()),
    "publish_on": lambda: pyrs.from_iterable(count(1)).publish_on(default()),
    "interval": lambda: pyrs.interval(0.0005, overflow="latest"),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("flatten", ["flat_map", "concat_map"])
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_parts_of_an_asynchronous_source_release_the_resource_before_it_is_acquired_again(
    split: Operator, flatten: str, source: Callable[[], pyrs.Stream[int]]
) -> None:
    free = Lock()

    @contextmanager
    def connection() -> Iterator[None]:
        assert free.acquire(blocking=False), "the previous source holds the connection"
        yield
        free.release()

    for limit in range(1, 5):
        rows = FLATTENINGS[flatten](split(pyrs.using(connection, lambda _: source()))).take(limit)
        assert rows.repeat(4).count().block(timeout=DEADLINE) == 5 * limit


BUFFERING = ["group_by", "timed window", "window_until_changed", "window_when", "window_when, last window"]


@pytest.mark.parametrize("name", BUFFERING)
def test_cancel_in_on_next_leaves_the_elements_of_a_part_to_the_drain_loop(name: str, discarded: list[Any]) -> None:
    source = TestPublisher[int]()

    def cancel(subscriber: TestSubscriber[Any], element: Any) -> None:
        parts.cancel()
        source.assert_cancelled(0)
        subscriber.cancel()
        source.assert_cancelled(1)
        assert discarded == []

    parts = TestSubscriber[Any](9)
    SPLITS[name](source.stream()).subscribe(parts)
    reader = TestSubscriber[Any](0, on_element=cancel)
    source.next(2, 3, 3)
    parts.elements[0].subscribe(reader)
    reader.request(9)
    reader.assert_elements(2)
    assert discarded == [3, 3]
    source.assert_cancelled(1)


@pytest.mark.parametrize("name", BUFFERING)
def test_cancel_by_another_thread_leaves_the_elements_of_a_part_to_the_drain_loop(
    name: str, discarded: list[Any]
) -> None:
    source, entered, leave = TestPublisher[int](), Event(), Event()

    def block(subscriber: TestSubscriber[Any], element: Any) -> None:
        entered.set()
        assert leave.wait(DEADLINE)

    parts, reader = TestSubscriber[Any](9), TestSubscriber[Any](0, on_element=block)
    SPLITS[name](source.stream()).subscribe(parts)
    source.next(2, 3, 3)
    parts.elements[0].subscribe(reader)
    thread = Thread(target=reader.request, args=(9,))
    thread.start()
    assert entered.wait(DEADLINE)
    reader.cancel()
    source.assert_cancelled(0)
    parts.cancel()
    source.assert_cancelled(1)
    assert discarded == []
    leave.set()
    thread.join(DEADLINE)
    reader.assert_elements(2)
    assert discarded == [3, 3]


def test_cancel_in_on_next_of_a_part_cancels_the_parts_that_were_not_emitted(discarded: list[Any]) -> None:
    source = TestPublisher[int]()

    def read(subscriber: TestSubscriber[Any], part: Any) -> None:
        part.take(1).subscribe(TestSubscriber[int](1))
        source.assert_cancelled(0)
        subscriber.cancel()
        source.assert_cancelled(1)

    parts = TestSubscriber[Any](0, on_element=read)
    source.stream().group_by(lambda n: n).subscribe(parts)
    source.next(1, 2, 3)
    parts.request(9)
    assert len(parts.elements) == 1
    assert discarded == [2, 3]


@pytest.mark.parametrize("call", ["_demand", "_emit"])
@pytest.mark.parametrize("place", range(2))
def test_cancel_by_another_thread_while_parts_are_emitted_cancels_each_other_part(
    call: str, place: int, monkeypatch: pytest.MonkeyPatch, discarded: list[Any]
) -> None:
    """The cancel occurs after the drain loop has found a part, or has removed it."""
    source, parts = TestPublisher[int](), TestSubscriber[Any](0)
    source.stream().group_by(lambda n: n).subscribe(parts)
    source.next(1, 2, 3)
    original, calls = getattr(SplitRun, call), iter(range(9))

    def cancel_and_call(run: Any, *arguments: Any) -> Any:
        if next(calls) == place:
            parts.cancel()
        return original(run, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SplitRun, call, cancel_and_call)
        parts.request(9)
    assert len(parts.elements) == place
    assert sorted(discarded) == [1, 2, 3][place:]
    for part in parts.elements:
        source.assert_cancelled(0)
        part.take(1).subscribe(TestSubscriber[int](1))
    source.assert_cancelled(1)


def test_cancel_in_on_next_cancels_the_closing_streams_of_buffer_when() -> None:
    source, openings = TestPublisher[int](), TestPublisher[int]()
    closings = [TestPublisher[int](), TestPublisher[int]()]

    def cancel(subscriber: TestSubscriber[Any], element: Any) -> None:
        subscriber.cancel()
        source.assert_cancelled(1)
        openings.assert_cancelled(1)
        closings[1].assert_cancelled(1)

    subscriber = TestSubscriber[Any](None, on_element=cancel)
    source.stream().buffer_when(openings, lambda n: closings[n]).subscribe(subscriber)
    openings.next(0, 1)
    source.next(7)
    closings[0].next(0)
    subscriber.assert_elements([7])
