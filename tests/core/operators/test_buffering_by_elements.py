"""buffer_until, buffer_while and buffer_until_changed against list models: demand, errors and completion."""

from __future__ import annotations

import itertools
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

import pyrs
from pyrs.testing import TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.core.support import notes_of

Apply = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]


def is_third(n: int) -> bool:
    return n % 3 == 0


def until(numbers: list[int]) -> list[list[int]]:
    lists: list[list[int]] = [[]]
    for n in numbers:
        lists[-1].append(n)
        if is_third(n):
            lists.append([])
    return [each for each in lists if each]


def until_before(numbers: list[int]) -> list[list[int]]:
    lists: list[list[int]] = [[]]
    for n in numbers:
        if is_third(n):
            lists.append([])
        lists[-1].append(n)
    return [each for each in lists if each]


def runs(numbers: list[int]) -> list[list[int]]:
    return [list(group) for third, group in itertools.groupby(numbers, is_third) if third]


MODELS: dict[str, tuple[Apply, Callable[[list[int]], list[list[int]]]]] = {
    "buffer_until": (lambda s: s.buffer_until(is_third), until),
    "buffer_until(cut_before)": (lambda s: s.buffer_until(is_third, cut_before=True), until_before),
    "buffer_while": (lambda s: s.buffer_while(is_third), runs),
    "buffer_until_changed": (
        lambda s: s.buffer_until_changed(),
        lambda numbers: [list(group) for _, group in itertools.groupby(numbers)],
    ),
    "buffer_until_changed(key)": (
        lambda s: s.buffer_until_changed(is_third),
        lambda numbers: [list(group) for _, group in itertools.groupby(numbers, is_third)],
    ),
}


@pytest.mark.parametrize("name", MODELS)
@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_operator_matches_the_list_model(name: str, numbers: list[int], demands: list[int]) -> None:
    apply, model = MODELS[name]
    agrees(apply, numbers, model(numbers), demands)


def raising(numbers: list[int], error: type[BaseException]) -> Iterator[int]:
    yield from numbers
    raise error("planned")


@pytest.mark.parametrize("error", [ValueError, CancelledError])
@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_incomplete_list_precedes_the_error_of_the_source(name: str, pushed: bool, error: type[BaseException]) -> None:
    apply, model = MODELS[name]
    source = pyrs.from_iterable(raising([3, 1, 3], error))
    subscriber: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    apply(Counting.of(source).stream() if pushed else source).subscribe(subscriber)
    assert str(subscriber.await_error()) == "planned"
    assert subscriber.elements == model([3, 1, 3])


@pytest.mark.parametrize("collect", [lambda s: s.buffer(3), lambda s: s.buffer_until(lambda n: n == 1)])
def test_incomplete_list_precedes_a_recursion_error_of_the_source(
    collect: Callable[[pyrs.Stream[int]], pyrs.Stream[list[int]]],
) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    with pytest.raises(RecursionError):  # it is also raised to the caller of request()
        collect(pyrs.from_iterable(raising([3, 2, 1, 3], RecursionError))).subscribe(subscriber)
    assert isinstance(subscriber.await_error(), RecursionError)
    assert subscriber.elements == [[3, 2, 1], [3]]


@pytest.mark.parametrize("pushed", [False, True])
def test_exception_of_the_predicate_discards_the_incomplete_list(pushed: bool) -> None:
    def reciprocal(n: int) -> float:
        return 1 / n < 0

    counting = Counting([1, 2, 0, 3])
    subscriber: TestSubscriber[Any] = TestSubscriber(pyrs.UNBOUNDED)
    (counting.stream() if pushed else pyrs.just(1, 2, 0, 3)).buffer_until(reciprocal).subscribe(subscriber)
    error = subscriber.await_error()
    assert isinstance(error, ZeroDivisionError)
    assert "in buffer_until(reciprocal)" in notes_of(error)[0]
    assert subscriber.elements == []
    assert counting.cancels == pushed


def test_each_element_that_ends_no_list_requests_another() -> None:
    counting = Counting([1, 2, 3, 4, 5])
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    counting.stream().buffer_until(is_third).subscribe(subscriber)
    assert (counting.requests, subscriber.elements) == ([1, 1, 1], [[1, 2, 3]])
    subscriber.request(pyrs.UNBOUNDED)
    assert subscriber.await_complete() == [[1, 2, 3], [4, 5]]
    assert counting.requests == [1, 1, 1, pyrs.UNBOUNDED]


def test_completion_follows_the_last_list_without_another_request() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    pyrs.just(1, 3).buffer_until(is_third).subscribe(subscriber)
    assert subscriber.await_complete() == [[1, 3]]


def test_repr_shows_the_call() -> None:
    never = pyrs.never()
    assert repr(never.buffer_until(bool, cut_before=True)) == "never().buffer_until(bool, cut_before=True)"
    assert repr(never.buffer_while(bool)) == "never().buffer_while(bool)"
    assert repr(never.buffer_until_changed()) == "never().buffer_until_changed()"


def test_wrong_arguments_raise() -> None:
    never = pyrs.never()
    wrong: list[Callable[[], object]] = [
        lambda: never.buffer_until(None),  # type: ignore[arg-type]
        lambda: never.buffer_while(3),  # type: ignore[arg-type]
        lambda: never.buffer_until_changed("key"),  # type: ignore[arg-type]
    ]
    for call in wrong:
        with pytest.raises(TypeError, match="must be callable"):
            call()
