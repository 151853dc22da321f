"""Operators that emit one element: results compared with a list model, demand, and failures."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick

Numbers = pyrs.Stream[int]


def is_even(n: int) -> bool:
    return n % 2 == 0


MODELS: dict[str, tuple[Callable[[Numbers], pyrs.Stream[Any]], Callable[[list[int]], Any]]] = {
    "to_list": (lambda s: s.to_list(), lambda x: x),
    "to_set": (lambda s: s.to_set(), set),
    "to_dict": (lambda s: s.to_dict(abs), lambda x: {abs(n): n for n in x}),
    "to_dict value": (lambda s: s.to_dict(abs, str), lambda x: {abs(n): str(n) for n in x}),
    "count": (lambda s: s.count(), len),
    "reduce": (lambda s: s.reduce(operator.sub, 9), lambda x: functools.reduce(operator.sub, x, 9)),
    "first": (lambda s: s.first(default=99), lambda x: [*x, 99][0]),
    "last": (lambda s: s.last(default=99), lambda x: [99, *x][-1]),
    "element_at": (lambda s: s.element_at(3, default=99), lambda x: [*x[3:4], 99][0]),
    "any": (lambda s: s.any(is_even), lambda x: any(map(is_even, x))),
    "all": (lambda s: s.all(is_even), lambda x: all(map(is_even, x))),
}
WITHOUT_DEFAULT: dict[str, Callable[[Numbers], pyrs.Stream[Any]]] = {
    "first": lambda s: s.first(),
    "last": lambda s: s.last(),
    "element_at": lambda s: s.element_at(3),
    "reduce": lambda s: s.reduce(max),
    "single": lambda s: s.single(),
}
UNMODELLED: dict[str, Callable[[Numbers], pyrs.Stream[Any]]] = {
    "single": lambda s: s.single(),
    "default_if_empty": lambda s: s.default_if_empty(9),
}


@pytest.mark.parametrize("name", MODELS)
@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_operator_matches_the_list_model(name: str, numbers: list[int], demands: list[int]) -> None:
    operate, model = MODELS[name]
    agrees(operate, numbers, [model(numbers)], demands)


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_default_if_empty_matches_the_list_model(numbers: list[int], demands: list[int]) -> None:
    agrees(lambda s: s.default_if_empty(99), numbers, numbers or [99], demands)
    agrees(lambda s: s.filter(is_even).default_if_empty(99).take(3), numbers, [*filter(is_even, numbers)][:3] or [99])


@quick
@given(numbers=NUMBERS)
def test_reduce_without_initial_matches_functools(numbers: list[int]) -> None:
    if numbers:
        agrees(lambda s: s.reduce(operator.sub), numbers, [functools.reduce(operator.sub, numbers)])


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_single_emits_the_only_element(numbers: list[int], demands: list[int]) -> None:
    agrees(lambda s: s.take(1).single(), numbers or [7], (numbers or [7])[:1], demands)


@pytest.mark.parametrize("pushed", [False, True])
def test_single_signals_too_many_elements_and_cancels_at_the_second(pushed: bool) -> None:
    source, pulled = Counting(range(9)), []
    iterable = pyrs.from_iterable(pulled.append(n) or n for n in range(9))  # type: ignore[func-returns-value]
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    (source.stream() if pushed else iterable).single().subscribe(subscriber)
    assert source.requests == pulled == []
    subscriber.request(pyrs.UNBOUNDED)
    error = subscriber.await_error(pyrs.TooManyElements)
    assert str(error).startswith("single(): the stream emitted a second element")
    assert any("in single()" in note for note in error.__notes__)
    assert subscriber.elements == []
    if pushed:
        assert (source.requests, source.pulled, source.cancels) == ([2], 2, 1)
    else:
        assert pulled == [0, 1]


def test_single_emits_when_the_source_completes() -> None:
    publisher: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    publisher.stream().single().subscribe(subscriber)
    publisher.next(5)
    assert subscriber.elements == []
    publisher.complete()
    assert subscriber.await_complete() == [5]


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("name", WITHOUT_DEFAULT)
def test_missing_element_fails_the_stream_with_no_element(name: str, pushed: bool) -> None:
    stream = WITHOUT_DEFAULT[name](Counting([]).stream() if pushed else pyrs.empty())
    expected = "before that" if name == "element_at" else "without an"
    with pytest.raises(pyrs.NoElement, match=rf"{name}\(.*\): the stream completed {expected} element") as caught:
        stream.collect()
    assert isinstance(caught.value, LookupError)
    assert any(f"in {name}" in note for note in caught.value.__notes__)


def test_await_of_element_at_returns_the_element_or_raises_no_element() -> None:
    async def main() -> None:
        assert await pyrs.range(9).element_at(3) == 3
        with pytest.raises(pyrs.NoElement):
            await pyrs.range(3).element_at(3)

    asyncio.run(main())


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_completion_follows_the_element_without_another_request(name: str, pushed: bool) -> None:
    operate, model = MODELS[name]
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    operate(Counting([1, 3, 5]).stream() if pushed else pyrs.just(1, 3, 5)).subscribe(subscriber)
    assert subscriber.await_complete() == [model([1, 3, 5])]


@pytest.mark.parametrize("pushed", [False, True])
def test_default_if_empty_completes_without_further_demand(pushed: bool) -> None:
    for elements, expected in (([], [9]), ([1, 2], [1, 2])):
        subscriber: TestSubscriber[int] = TestSubscriber(len(expected))
        source = Counting(elements).stream() if pushed else pyrs.from_iterable(elements)
        source.default_if_empty(9).subscribe(subscriber)
        assert subscriber.await_complete() == expected


@pytest.mark.parametrize(
    ("operate", "requests", "pulled"),
    [
        (lambda s: s.first(), [1], 1),
        (lambda s: s.first(default=1), [1], 1),
        (lambda s: s.element_at(3), [4], 4),
        (lambda s: s.element_at(2**70), [pyrs.UNBOUNDED], 10),
        (lambda s: s.any(lambda n: n == 2), [pyrs.UNBOUNDED], 3),
        (lambda s: s.all(lambda n: n < 2), [pyrs.UNBOUNDED], 3),
        (lambda s: s.last(), [pyrs.UNBOUNDED], 10),
        (lambda s: s.default_if_empty(0), [pyrs.UNBOUNDED], 10),
    ],
)
def test_upstream_requests_match_the_documented_demand(
    operate: Callable[[Numbers], pyrs.Stream[Any]], requests: list[int], pulled: int
) -> None:
    source = Counting(range(10))
    subscriber: TestSubscriber[Any] = TestSubscriber()
    operate(source.stream()).subscribe(subscriber)
    assert source.requests == []
    subscriber.request(pyrs.UNBOUNDED)
    subscriber.request(1)
    subscriber.await_end()
    assert (source.requests, source.pulled, source.cancels) == (requests, pulled, int(pulled < 10))
    given: list[int] = []
    fused = pyrs.from_iterable(given.append(n) or n for n in range(10))  # type: ignore[func-returns-value]
    subscriber = TestSubscriber(None)
    operate(fused).subscribe(subscriber)
    subscriber.await_end()
    assert len(given) == pulled


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize(
    ("operate", "name"),
    [
        (lambda s, f: s.reduce(f), "reduce(raise_error)"),
        (lambda s, f: s.reduce(f, 1), "reduce(raise_error, 1)"),
        (lambda s, f: s.to_dict(f), "to_dict(raise_error)"),
        (lambda s, f: s.to_dict(int, f), "to_dict(int, raise_error)"),
        (lambda s, f: s.any(f), "any(raise_error)"),
        (lambda s, f: s.all(f), "all(raise_error)"),
    ],
)
def test_exception_of_the_function_signals_on_error(
    operate: Callable[[Any, Any], pyrs.Stream[Any]], name: str, pushed: bool
) -> None:
    def raise_error(*arguments: int) -> int:
        raise ValueError("no")

    source = Counting([1, 2, 3])
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    operate(source.stream() if pushed else pyrs.just(1, 2, 3), raise_error).subscribe(subscriber)
    error = subscriber.await_error(ValueError)
    assert any(note.startswith(f"in {name}, ") for note in error.__notes__)
    assert source.cancels == int(pushed)


@pytest.mark.parametrize("name", [*MODELS, *UNMODELLED])
def test_upstream_error_and_downstream_cancel_are_propagated(name: str) -> None:
    failure = ValueError("no")
    operate = MODELS[name][0] if name in MODELS else UNMODELLED[name]
    source = Counting([], failure)
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    operate(source.stream()).subscribe(subscriber)
    assert subscriber.await_error() is failure
    assert subscriber.elements == []
    source = Counting(range(9))
    subscriber = TestSubscriber()
    operate(source.stream()).subscribe(subscriber)
    subscriber.cancel()
    assert source.cancels == 1


def test_function_that_returns_none_fails_the_stream() -> None:
    for source in (pyrs.just(1, 2), Counting([1, 2]).stream()):
        nothing = source.map(lambda n: None)
        for single in (nothing.first(), nothing.last(), nothing.reduce(max, 0).map(lambda n: None)):
            with pytest.raises((pyrs.NullSignal, TypeError)):
                single.collect()


def test_repr_shows_the_call() -> None:
    numbers = pyrs.range(3)
    expected = {
        "to_set()": numbers.to_set(),
        "to_dict(abs)": numbers.to_dict(abs),
        "to_dict(abs, str)": numbers.to_dict(abs, str),
        "reduce(max)": numbers.reduce(max),
        "reduce(max, 3)": numbers.reduce(max, 3),
        "first()": numbers.first(),
        "first(default=1)": numbers.first(default=1),
        "last(default='x')": numbers.last(default="x"),
        "element_at(2)": numbers.element_at(2),
        "element_at(2, default=0)": numbers.element_at(2, default=0),
        "single()": numbers.single(),
        "default_if_empty(0)": numbers.default_if_empty(0),
        "any(is_even)": numbers.any(is_even),
        "all(is_even)": numbers.all(is_even),
    }
    assert {name: f"range(0, 3).{name}" for name in expected} == {
        name: repr(stream) for name, stream in expected.items()
    }


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.reduce(1), TypeError, "function must be callable, not int"),
        (lambda s: s.to_dict(1), TypeError, "key must be callable, not int"),
        (lambda s: s.to_dict(abs, 1), TypeError, "value must be callable, not int"),
        (lambda s: s.first(default=None), pyrs.NullSignal, "default must not be None"),
        (lambda s: s.last(default=None), pyrs.NullSignal, "default must not be None"),
        (lambda s: s.element_at(0, default=None), pyrs.NullSignal, "default must not be None"),
        (lambda s: s.element_at(-1), ValueError, "index must be at least 0, not -1"),
        (lambda s: s.element_at("1"), TypeError, "index must be an integer, not str"),
        (lambda s: s.default_if_empty(None), pyrs.NullSignal, "value must not be None"),
        (lambda s: s.any(1), TypeError, "predicate must be callable, not int"),
        (lambda s: s.all(None), TypeError, "predicate must be callable, not NoneType"),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))
