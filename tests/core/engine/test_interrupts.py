"""An interrupt at any moment of an emit call leaves no lock held and no drain loop blocked."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

import pyrs
from pyrs import sinks
from pyrs._core.drain import DrainLoop
from pyrs._core.serial import SerialSubscription
from tests.interrupts import Raising
from tests.waiting import run_on_threads, uncollected

ROUNDS = 150

OPERATORS: dict[str, Callable[[pyrs.Stream[int]], pyrs.Stream[int]]] = {
    "create": lambda stream: stream,
    "merge": lambda stream: stream.merge(pyrs.never()),
    "on_backpressure_buffer": lambda stream: stream.on_backpressure_buffer(1_000_000),
    "prefetch": lambda stream: stream.prefetch(4),
    "timeout": lambda stream: stream.timeout(1_000_000),
    "take_until": lambda stream: stream.take_until(pyrs.never()),
}

ENDLESS: dict[str, Callable[[], pyrs.Stream[int]]] = {
    "repeat": lambda: pyrs.just(1).repeat(10**9),
    "retry": lambda: pyrs.just(1).concat(pyrs.error(ValueError())).retry(),
    "limit_rate": lambda: pyrs.from_iterable(count()).concat(pyrs.empty()).limit_rate(2),
    "flat_map": lambda: pyrs.from_iterable(count()).flat_map(pyrs.just),
    "concat_map": lambda: pyrs.from_iterable(count()).concat_map(pyrs.just),
}
"""Streams that run their drain loop again and again, inside ``subscribe``."""

pytestmark = [
    pytest.mark.skipif(
        not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
        reason="the tests need an interval timer and the main thread",
    ),
    pytest.mark.timeout(method="thread"),  # the default method needs the timer that these tests use
]


class TimerInterrupt(KeyboardInterrupt):
    """The interrupt that the interval timer raises."""


@pytest.fixture(autouse=True)
def interrupts(dropped: Any) -> Iterator[None]:
    def interrupt(number: int, frame: object) -> None:
        raise TimerInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    dropped.take()


def push_until_interrupted(push: Callable[[int], object]) -> None:
    with uncollected(), pytest.raises(TimerInterrupt):
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00002, 0.0006))
        while True:
            push(1)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_live_stream_continues_after_an_interrupted_emit(name: str) -> None:
    for _ in range(ROUNDS):
        emitters: list[Any] = []
        seen: list[int] = []
        subscription = OPERATORS[name](pyrs.create(emitters.append)).subscribe(on_next=seen.append)
        emitter = emitters[0]
        push_until_interrupted(emitter.next)
        before = len(seen)
        for _ in range(3):
            emitter.next(2)
        assert emitter.cancelled or len(seen) > before
        subscription.cancel()


@pytest.mark.parametrize("make", [sinks.multicast, sinks.multicast_best_effort, sinks.replay])
def test_sink_serves_a_new_subscriber_after_an_interrupted_emit(make: Callable[[], Any]) -> None:
    for _ in range(ROUNDS):
        sink = make()
        sink.stream.subscribe(on_next=lambda element: None)
        push_until_interrupted(sink.try_emit)
        seen: list[int] = []
        sink.stream.subscribe(on_next=seen.append)
        for _ in range(3):
            sink.try_emit(2)
        assert seen[-3:] == [2, 2, 2] or "cancelled" in repr(sink)


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_interrupt_at_any_line_of_a_drain_loop_stops_an_endless_stream_soon(name: str) -> None:
    def interrupt(line: int) -> None:
        seen: list[int] = []

        def take(element: int) -> None:
            seen.append(element)
            if len(seen) == 1_000:
                raise RuntimeError("the stream continued after the interrupt")  # this error cancels the stream

        with uncollected(), Raising((DrainLoop.run_here, SerialSubscription._work), line):
            try:
                ENDLESS[name]().subscribe(on_next=take)
            except KeyboardInterrupt:
                stopped_soon.append(len(seen) < 1_000)

    stopped_soon: list[bool] = []
    for line in range(1, 31):
        # Each run has its own thread: a trace function that raises inside ``except`` leaves the handled exception set
        # in its thread.
        run_on_threads(partial(interrupt, line))
    assert stopped_soon == [True] * 30
