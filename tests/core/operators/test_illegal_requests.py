"""request(0) inside on_next fails a synchronous stream before its remaining elements, even under unbounded demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.testing import TestSubscriber
from tests.core.modelling import Counting
from tests.waiting import eventually

LONG = 20_000
"""The length of the sources: finite, so that a test that fails terminates."""


def numbers() -> pyrs.Stream[int]:
    return pyrs.from_iterable(n for n in range(LONG))


SOURCES: dict[str, Callable[[], pyrs.Stream[int]]] = {
    "iterable": numbers,
    "range": lambda: pyrs.range(LONG),
    "publisher": lambda: Counting.of(numbers()).stream(),
}
OPERATORS: dict[str, Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]] = {
    "flat_map": lambda s: s.flat_map(pyrs.just),
    "flat_map of a long stream": lambda s: pyrs.just(0).flat_map(lambda _: s),
    "flat_map_sequential": lambda s: pyrs.just(0).flat_map_sequential(lambda _: s),
    "concat_map": lambda s: pyrs.just(0).concat_map(lambda _: s),
    "switch_map": lambda s: pyrs.just(0).switch_map(lambda _: s),
    "expand": lambda s: s.expand(lambda n: pyrs.empty()),
    "merge": lambda s: s.merge(numbers()),
    "merge_comparing": lambda s: s.merge_comparing(numbers()),
    "zip": lambda s: s.zip(numbers()),
    "combine_latest": lambda s: s.combine_latest(pyrs.just(0)),
    "prefetch": lambda s: s.prefetch(8),
    "split_lines": lambda s: s.map(lambda n: f"{n}\n").split_lines(),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("early", [True, False])
def test_rule_3_9_request_of_zero_inside_on_next_fails_the_stream_promptly(name: str, source: str, early: bool) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(
        pyrs.UNBOUNDED if early else 0, on_element=lambda this, _: len(this.elements) > 1 or this.request(0)
    )
    OPERATORS[name](SOURCES[source]()).subscribe(subscriber)
    if not early:
        subscriber.request(pyrs.UNBOUNDED)
    assert isinstance(subscriber.await_error(), pyrs.NonPositiveRequest)
    assert len(subscriber.elements) < 1_000


CALLED_BACK: dict[str, Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]] = {
    **OPERATORS,
    "no operator": lambda s: s,
    "map": lambda s: s.map(str),
    "handle and map": lambda s: s.do_on_request(lambda n: None).handle(lambda n, sink: sink.next(n)).map(str),
    "publish_on": lambda s: s.publish_on(schedulers.inline()),
    "subscribe_on": lambda s: s.subscribe_on(schedulers.inline()),
    "share": lambda s: s.share(),
    "cache": lambda s: s.cache(),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CALLED_BACK)
def test_rule_3_9_request_of_zero_inside_a_callback_fails_the_stream_promptly(name: str, source: str) -> None:
    seen: list[Any] = []
    errors: list[BaseException] = []

    def on_next(element: Any) -> None:
        seen.append(element)
        if len(seen) == 1:
            subscription.request(0)

    stream = CALLED_BACK[name](SOURCES[source]())
    subscription = stream.subscribe(on_next=on_next, on_error=errors.append, request=0)
    subscription.request(pyrs.UNBOUNDED)
    eventually(lambda: bool(errors), "no terminal signal")
    assert [type(error) for error in errors] == [pyrs.NonPositiveRequest]
    assert len(seen) < 1_000


def test_rule_3_9_request_of_zero_stops_the_replay_of_a_history() -> None:
    sink = sinks.replay()
    for n in range(LONG):
        sink.emit(n)
    subscriber: TestSubscriber[Any] = TestSubscriber(on_element=lambda this, _: this.request(0))
    sink.stream.subscribe(subscriber)
    subscriber.request(pyrs.UNBOUNDED)
    assert isinstance(subscriber.await_error(), pyrs.NonPositiveRequest)
    assert subscriber.elements == [0]
