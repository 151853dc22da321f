"""Every operator emits the same signals for a fused iterable and for a Publisher, after each request.

The sources are empty, have one element or three, and complete or fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.testing import TestSubscriber
from tests.core.modelling import Counting
from tests.operator_registry import SAMPLES
from tests.waiting import DEADLINE

Source = Callable[[list[int]], pyrs.Stream[Any]]


def raising(elements: list[int]) -> Iterator[int]:
    yield from elements
    raise ValueError("planned")


def pushed(source: Source) -> Source:
    """Return the source as a Publisher that operators cannot fuse with."""
    return lambda elements: Counting.of(source(elements)).stream()


FUSED: dict[str, Source] = {
    "list": pyrs.from_iterable,
    "mapped": lambda elements: pyrs.from_iterable(elements).map(lambda element: element),
    "taken": lambda elements: pyrs.from_iterable(iter([*elements, 9])).take(len(elements)),
    "generator": lambda elements: pyrs.from_iterable(element for element in elements),
    "failing": lambda elements: pyrs.from_iterable(raising(elements)),
}

OTHER_THREADS = {
    "delay",
    "delay_subscription",
    "map(coroutine)",
    "publish_on",
    "subscribe_on",
}
"""For these operators, only the final state is compared, not the state after each request."""

IN_TURNS = {"merge"}
"""``merge`` alternates between an iterable and the other source, so an error of the iterable may arrive later."""

Trace = list[tuple[int, str | None]]


def trace(stream: pyrs.Stream[Any], demands: tuple[int, ...], *, to_the_end: bool) -> Trace:
    """Return the number of elements and the terminal signal, before and after each request.

    With ``to_the_end``, return only those after the terminal signal.
    """
    subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
    stream.subscribe(subscriber)
    states: Trace = []
    for n in (0, *demands):
        if n:
            subscriber.request(n)
        how = None if not subscriber.ended else "complete" if subscriber.error is None else type(subscriber.error)
        states.append((len(subscriber.elements), how and str(how)))
    if to_the_end:
        subscriber.await_end()
        states = [(len(subscriber.elements), repr(subscriber.error))]
    subscriber.cancel()
    subscriber.assert_rules()
    return states


@pytest.fixture(autouse=True)
def ignore_drops(dropped: Any) -> Iterator[None]:
    yield
    dropped.take()


@pytest.mark.parametrize("form", sorted(FUSED))
@pytest.mark.parametrize("name", sorted(name for name, sample in SAMPLES.items() if sample.over is not None))
def test_operator_emits_the_same_signals_for_an_iterable_and_a_publisher(name: str, form: str) -> None:
    sample, source = SAMPLES[name], FUSED[form]
    if name in IN_TURNS and form == "failing":
        pytest.skip("an iterable signals its error when it is pulled, which merge does in alternation")
    for elements in ([], [1], [1, 2, 3]):
        demands: tuple[int, ...]
        for demands in ((), (1,), (1, 1, 100), (100,)):
            to_the_end = name in OTHER_THREADS
            if to_the_end and 100 not in demands:
                continue
            # Virtual time does not advance here. In real time, results such as those of `sample` depend on the machine.
            with nullcontext() if to_the_end else schedulers.use(schedulers.VirtualTime()):
                fused = trace(sample.apply(source(list(elements))), demands, to_the_end=to_the_end)
                over_publisher = trace(sample.apply(pushed(source)(list(elements))), demands, to_the_end=to_the_end)
            assert fused == over_publisher, (elements, demands)


MORE: dict[str, Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]] = {
    "buffer(2, skip=1)": lambda s: s.buffer(2, skip=1),
    "buffer(1, skip=2)": lambda s: s.buffer(1, skip=2),
    "first()": lambda s: s.first(),
    "last()": lambda s: s.last(),
    "element_at(1)": lambda s: s.element_at(1),
    "reduce(max)": lambda s: s.reduce(max),
    "single()": lambda s: s.single(),
    "scan(max, 0)": lambda s: s.scan(max, 0),
    "take(0)": lambda s: s.take(0),
    "take_last(2)": lambda s: s.take_last(2),
    "take_while(inclusive)": lambda s: s.take_while(lambda n: n < 2, inclusive=True),
    "take_last.buffer": lambda s: s.take_last(2).buffer(2, skip=1),
    "buffer.single": lambda s: s.buffer(2, skip=1).single(),
    "skip.first": lambda s: s.skip(3).first(),
}
"""Calls with other arguments than the samples, and chains."""


@pytest.mark.parametrize("form", sorted(FUSED))
@pytest.mark.parametrize("name", sorted(MORE))
def test_other_arguments_and_chains_emit_the_same_signals_for_both_kinds_of_source(name: str, form: str) -> None:
    apply, source = MORE[name], FUSED[form]
    for elements in ([], [1], [1, 2, 3]):
        demands: tuple[int, ...]
        for demands in ((), (1,), (1, 1, 100), (100,)):
            fused = trace(apply(source(list(elements))), demands, to_the_end=False)
            over_publisher = trace(apply(pushed(source)(list(elements))), demands, to_the_end=False)
            assert fused == over_publisher, (elements, demands)


def test_overlapping_buffer_of_an_empty_stream_completes_without_demand() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.empty().buffer(2, skip=1).subscribe(subscriber)
    assert subscriber.await_complete() == []


@pytest.mark.parametrize("name", ["first()", "last()", "reduce(max)", "single()", "element_at(1)"])
def test_missing_element_fails_the_stream_without_demand(name: str) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    MORE[name](pyrs.empty()).subscribe(subscriber)
    assert isinstance(subscriber.await_error(), pyrs.NoElement)


def test_missing_element_of_an_inner_stream_fails_flat_map_and_names_the_operator() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.just(0).flat_map(lambda _: pyrs.empty().single()).subscribe(subscriber)
    error = subscriber.await_error()
    assert isinstance(error, pyrs.NoElement)
    assert any("single()" in note for note in getattr(error, "__notes__", ()))


def test_error_after_the_last_incomplete_buffer_needs_no_demand() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.from_iterable(raising([1])).buffer(2).subscribe(subscriber)
    subscriber.request(1)
    assert str(subscriber.await_error()) == "planned"
    assert subscriber.elements == [[1]]
