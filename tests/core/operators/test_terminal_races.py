"""A terminal signal follows the elements of its source and keeps its error while another thread drains the operator.

A source emits its last elements and its terminal signal, and the Subscriber requests them, or cancels. One of these
operations stops at each of its lines, and the other one runs there on another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core import coordinator, hub, inputs, replay
from pyrs.operators import backpressure, combining, flattening, latest, merging, scheduling, switching, timing
from pyrs.testing import TestPublisher, TestSubscriber
from tests.campaigns.pairs import interleave

Build = Callable[[pyrs.Stream[int]], pyrs.Stream[Any]]

CLOCK = schedulers.VirtualTime()

OPERATORS: dict[str, tuple[Build, ModuleType]] = {
    "combine_latest": (lambda s: s.combine_latest(pyrs.just(0), combine=lambda n, _: n), latest),
    "concat_map": (lambda s: s.concat_map(pyrs.just), flattening),
    "flat_map, inner": (lambda s: pyrs.just(0).flat_map(lambda _: s), merging),
    "limit_rate": (lambda s: s.limit_rate(2), scheduling),
    "merge": (lambda s: s.merge(pyrs.empty()), merging),
    "merge_comparing": (lambda s: s.merge_comparing(pyrs.empty()), combining),
    "on_backpressure_buffer": (lambda s: s.on_backpressure_buffer(9), backpressure),
    "replay": (lambda s: s.replay().auto_connect(), replay),
    "share": (lambda s: s.share(), hub),
    "switch_map, inner": (lambda s: pyrs.just(0).switch_map(lambda _: s), flattening),
    "switch_on_first": (lambda s: s.switch_on_first(lambda signal, whole: whole), switching),
    "timeout": (lambda s: s.timeout(9, scheduler=CLOCK), timing),
    "with_latest_from": (lambda s: s.with_latest_from(pyrs.just(0), lambda n, _: n), latest),
    "zip": (lambda s: s.zip(pyrs.range(9), combine=lambda n, _: n), combining),
}


class Racing:
    """A Subscriber that has requested ``demand`` elements, of a source that has emitted one."""

    def __init__(self, build: Build, demand: int, error: Exception | None) -> None:
        self.source: TestPublisher[int] = TestPublisher(cold=True)
        self.subscriber: TestSubscriber[Any] = TestSubscriber(demand)
        self.error = error
        self.source.next(1)
        build(self.source.stream()).subscribe(self.subscriber)

    def request(self) -> None:
        self.subscriber.request(9)

    def end(self) -> None:
        self.source.next(2, 3)
        if self.error is None:
            self.source.complete()
        else:
            self.source.error(self.error)

    def verify(self) -> None:
        self.subscriber.await_end().assert_elements(1, 2, 3)
        assert self.subscriber.error is self.error


@pytest.mark.parametrize("error", [None, ValueError("planned")], ids=["completion", "error"])
@pytest.mark.parametrize("demand", [0, 9])
@pytest.mark.parametrize("name", OPERATORS)
def test_terminal_signal_follows_the_elements_while_another_thread_drains(
    name: str, demand: int, error: Exception | None
) -> None:
    build, module = OPERATORS[name]
    lines = 0
    for first, second in ((Racing.request, Racing.end), (Racing.end, Racing.request)):
        modules = [module, coordinator, inputs, hub]
        lines += interleave(modules, lambda: Racing(build, demand, error), first, second, Racing.verify)
    assert lines > 20


class Raising:
    """A Subscriber of an operator whose function raises for the first element."""

    def __init__(self, build: Callable[[pyrs.Stream[int], Callable[..., Any]], pyrs.Stream[Any]], dropped: Any) -> None:
        self.source: TestPublisher[int] = TestPublisher()
        self.subscriber: TestSubscriber[Any] = TestSubscriber()
        self.raised: list[BaseException] = []
        self.dropped = dropped
        build(self.source.stream(), self.fail).subscribe(self.subscriber)

    def fail(self, *_: object) -> Any:
        self.raised.append(ValueError("planned"))
        raise self.raised[-1]

    def emit(self) -> None:
        self.source.next(1, 2)

    def cancel(self) -> None:
        self.subscriber.cancel()

    def verify(self) -> None:
        received = [] if self.subscriber.error is None else [self.subscriber.error]
        assert received + self.dropped.take() == self.raised


@pytest.mark.parametrize(
    ("build", "module"),
    [
        (lambda s, function: s.flat_map(function, concurrency=2), merging),
        (lambda s, function: s.on_backpressure_buffer(1, "drop_latest", function), backpressure),
    ],
    ids=["flat_map", "on_backpressure_buffer"],
)
def test_exception_of_a_function_is_received_or_reported_while_another_thread_cancels(
    build: Callable[..., Any], module: ModuleType, dropped: Any
) -> None:
    modules = [module, coordinator, inputs]
    lines = interleave(modules, lambda: Raising(build, dropped), Raising.emit, Raising.cancel, Raising.verify)
    assert lines > 10
