"""request(0) inside on_next fails a synchronous stream before its remaining elements, even under unbounded demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestSubscriber
from tests.core.modelling import Counting

LONG = 20_000
"""The length of the sources: finite, so that a test that fails terminates."""


def numbers() -> pyrs.Stream[int]:
    return pyrs.from_iterable(n for n in range(LONG))


SOURCES: dict[str, Callable[[], pyrs.Stream[int]]] = {
    "iterable": numbers,
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
