"""Filtering operators against a list model: demand, cancellation and errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.core.support import RecordingSubscription

Numbers = pyrs.Stream[int]


def is_small(n: int) -> bool:
    return n < 4


def up_to_first_large(numbers: list[int]) -> list[int]:
    small = list(itertools.takewhile(is_small, numbers))
    return numbers[: len(small) + 1]


def first_of_each(numbers: list[int], key: Callable[[int], int]) -> list[int]:
    first: dict[int, int] = {}
    for n in numbers:
        first.setdefault(key(n), n)
    return list(first.values())


MODELS: dict[str, tuple[Callable[[Numbers], Numbers], Callable[[list[int]], list[int]]]] = {
    "take_while": (lambda s: s.take_while(is_small), lambda x: list(itertools.takewhile(is_small, x))),
    "take_while inclusive": (lambda s: s.take_while(is_small, inclusive=True), up_to_first_large),
    "skip_last(0)": (lambda s: s.skip_last(0), lambda x: x),
    "skip_last(3)": (lambda s: s.skip_last(3), lambda x: x[:-3]),
    "take_last(0)": (lambda s: s.take_last(0), lambda x: []),
    "take_last(3)": (lambda s: s.take_last(3), lambda x: x[-3:]),
    "skip(0)": (lambda s: s.skip(0), lambda x: x),
    "skip(3)": (lambda s: s.skip(3), lambda x: x[3:]),
    "skip many": (lambda s: s.skip(2**80), lambda x: []),
    "skip_while": (lambda s: s.skip_while(is_small), lambda x: list(itertools.dropwhile(is_small, x))),
    "ignore_elements": (lambda s: s.ignore_elements(), lambda x: []),
    "distinct": (lambda s: s.distinct(), lambda x: first_of_each(x, int)),
    "distinct key": (lambda s: s.distinct(abs), lambda x: first_of_each(x, abs)),
    "changed": (lambda s: s.distinct_until_changed(), lambda x: [k for k, _ in itertools.groupby(x)]),
    "changed key": (
        lambda s: s.distinct_until_changed(lambda n: n % 2),
        lambda x: [next(group) for _, group in itertools.groupby(x, lambda n: n % 2)],
    ),
    "of_type": (lambda s: s.map(lambda n: n if n % 2 else str(n)).of_type(int), lambda x: [n for n in x if n % 2]),
}


@pytest.mark.parametrize("name", MODELS)
@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_operator_matches_the_list_model(name: str, numbers: list[int], demands: list[int]) -> None:
    operator, model = MODELS[name]
    agrees(operator, numbers, model(numbers), demands)


@quick
@given(numbers=NUMBERS, demands=DEMANDS, names=st.lists(st.sampled_from(sorted(MODELS)), max_size=4))
def test_chain_matches_the_list_model(numbers: list[int], demands: list[int], names: list[str]) -> None:
    expected, chosen = numbers, [MODELS[name] for name in names if name != "of_type"]
    for _, model in chosen:
        expected = model(expected)

    def chain(stream: Numbers) -> Numbers:
        for operator, _ in chosen:
            stream = operator(stream)
        return stream

    agrees(chain, numbers, expected, demands)


@quick
@given(numbers=NUMBERS, within=st.integers(0, 4))
def test_comparer_receives_the_last_emitted_element(numbers: list[int], within: int) -> None:
    expected: list[int] = []
    for n in numbers:
        if not expected or abs(expected[-1] - n) > within:
            expected.append(n)
    agrees(lambda s: s.distinct_until_changed(comparer=lambda a, b: abs(a - b) <= within), numbers, expected)


def test_comparer_may_be_false() -> None:
    class Equal(dict[str, int]):
        def __call__(self, last: int, element: int) -> bool:
            return True

    assert pyrs.range(3).distinct_until_changed(comparer=Equal()).collect() == [0]


@pytest.mark.parametrize(
    ("operator", "demands", "requests"),
    [
        (lambda s: s.skip(3), [2, 1, pyrs.UNBOUNDED], [5, 1, pyrs.UNBOUNDED]),
        (lambda s: s.take_while(is_small), [2, 1], [2, 1]),
        (lambda s: s.take_last(2), [1, 1], [pyrs.UNBOUNDED]),
        (lambda s: s.ignore_elements(), [1, 1], [pyrs.UNBOUNDED]),
        (lambda s: s.of_type(str), [1], [1] * 11),
        (lambda s: s.skip_while(is_small), [1], [1] * 5),
        (lambda s: s.distinct(lambda n: n // 5), [2], [2, 1, 1, 1, 1]),
        (lambda s: s.distinct_until_changed(lambda n: n // 5), [2], [2, 1, 1, 1, 1]),
        (lambda s: s.distinct(lambda n: 0), [pyrs.UNBOUNDED], [pyrs.UNBOUNDED]),
    ],
)
def test_upstream_requests_match_the_documented_demand(
    operator: Callable[[Numbers], Numbers], demands: list[int], requests: list[int]
) -> None:
    source = Counting(range(10))
    subscriber: TestSubscriber[int] = TestSubscriber()
    operator(source.stream()).subscribe(subscriber)
    assert source.requests == []
    for n in demands:
        subscriber.request(n)
    assert source.requests == requests


@pytest.mark.parametrize("inclusive", [False, True])
def test_take_while_cancels_and_pulls_no_more(inclusive: bool) -> None:
    source = Counting(range(100))
    expected = [0, 1, 2, 3, 4] if inclusive else [0, 1, 2, 3]
    assert source.stream().take_while(is_small, inclusive=inclusive).collect() == expected
    assert (source.pulled, source.cancels) == (5, 1)
    pulled: list[int] = []
    fused = pyrs.from_iterable(pulled.append(n) or n for n in range(100))  # type: ignore[func-returns-value]
    assert fused.take_while(is_small, inclusive=inclusive).collect() == expected
    assert pulled == [0, 1, 2, 3, 4]


class Nesting(pyrs.Publisher[int]):
    """Emit inside of ``request``, also if that is called inside of ``on_next`` (rule 3.2)."""

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        numbers = iter(range(10))
        subscription = RecordingSubscription()
        subscription.on_request = lambda n: [
            subscriber.on_next(number) for number in itertools.islice(numbers, n) if not subscription.cancelled
        ]
        subscriber.on_subscribe(subscription)


@pytest.mark.parametrize(
    "operator",
    [
        lambda s: s.take(3),
        lambda s: s.take_while(lambda n: n != 2, inclusive=True),
        lambda s: s.handle(lambda n, sink: sink.next(n) or (n == 2 and sink.complete()) or None),
        lambda s: s.element_at(2),
    ],
    ids=["take", "take_while", "handle", "element_at"],
)
def test_no_element_follows_the_last_one_if_its_subscriber_requests_more(operator: Callable[[Numbers], Any]) -> None:
    subscriber = TestSubscriber[int](1, on_element=lambda this, _: this.request(1))
    operator(pyrs.Stream(Nesting())).subscribe(subscriber)
    assert subscriber.await_complete()[-1] == 2


@pytest.mark.parametrize("way", ["fused", "pushed"])
def test_completion_follows_the_last_element_without_another_request(way: str) -> None:
    for operator, demand, expected in [
        (lambda s: s.take_while(is_small, inclusive=True), 5, [0, 1, 2, 3, 4]),
        (lambda s: s.take_last(2), 2, [8, 9]),
        (lambda s: s.skip(8), 2, [8, 9]),
        (lambda s: s.skip_while(lambda n: n < 9), 1, [9]),
        (lambda s: s.distinct(), 10, list(range(10))),
    ]:
        source = pyrs.range(10) if way == "fused" else Counting(range(10)).stream()
        subscriber: TestSubscriber[int] = TestSubscriber(demand)
        operator(source).subscribe(subscriber)
        assert subscriber.await_complete() == expected


@pytest.mark.parametrize("way", ["fused", "pushed"])
@pytest.mark.parametrize(
    ("operator", "name"),
    [
        (lambda s, f: s.take_while(f), "take_while(raise_error)"),
        (lambda s, f: s.take_while(f, inclusive=True), "take_while(raise_error, inclusive=True)"),
        (lambda s, f: s.skip_while(f), "skip_while(raise_error)"),
        (lambda s, f: s.distinct(f), "distinct(raise_error)"),
        (lambda s, f: s.distinct_until_changed(f), "distinct_until_changed(key=raise_error)"),
        (lambda s, f: s.skip(0).distinct_until_changed(comparer=f), "distinct_until_changed(comparer=raise_error)"),
    ],
)
@pytest.mark.parametrize("error", [ValueError, StopIteration])
def test_exception_of_the_function_signals_on_error(
    operator: Callable[[Any, Any], Numbers], name: str, way: str, error: type[Exception]
) -> None:
    def raise_error(*arguments: int) -> bool:
        raise error("no")

    source = Counting(range(9))
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.range(9) if way == "fused" else source.stream(), raise_error).subscribe(subscriber)
    caught = subscriber.await_error()
    subscriber.assert_rules()
    if error is ValueError or way == "pushed":
        assert isinstance(caught, error)
        assert any(note.startswith(f"in {name}") and __file__ in note for note in caught.__notes__)
    else:
        assert isinstance(caught, RuntimeError)  # StopIteration must not complete the stream
    assert way == "fused" or source.cancels == 1


@pytest.mark.parametrize("name", MODELS)
def test_upstream_error_and_downstream_cancel_are_propagated(name: str) -> None:
    failure = ValueError("no")
    operator, _ = MODELS[name]
    source = Counting([1, 2, 5], failure)
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(source.stream()).subscribe(subscriber)
    if "take_while" in name:
        subscriber.await_complete()
    else:
        assert subscriber.await_error() is failure
    source = Counting(range(100))
    subscriber = TestSubscriber()
    operator(source.stream()).subscribe(subscriber)
    subscriber.cancel()
    assert source.cancels == 1


def test_cancel_discards_the_elements_of_take_last() -> None:
    seen: list[int] = []
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source = Counting(range(10))
    source.stream().take_last(5).map(lambda n: seen.append(n) or n).subscribe(subscriber)  # type: ignore[func-returns-value]
    subscriber.cancel()
    subscriber.request(3)
    assert (subscriber.elements, seen, source.cancels) == ([5], [5], 0)
    assert source.stream().take_last(5).take(2).collect() == [5, 6]


def test_unhashable_key_signals_on_error() -> None:
    subscriber: TestSubscriber[list[int]] = TestSubscriber(None)
    pyrs.just(1, [2], 3).distinct().subscribe(subscriber)
    subscriber.await_error(TypeError)
    assert subscriber.elements == [1]


def test_none_element_signals_null_signal() -> None:
    for operator in (lambda s: s.take_last(1), lambda s: s.distinct(), lambda s: s.skip(1)):
        with pytest.raises(pyrs.NullSignal):
            operator(pyrs.range(3).map(lambda n: None)).collect()


def test_repr_shows_the_call() -> None:
    stream = pyrs.range(9).take_while(is_small).take_last(2).skip(1).skip_while(len).ignore_elements()
    assert repr(stream) == "range(0, 9).take_while(is_small).take_last(2).skip(1).skip_while(len).ignore_elements()"
    assert repr(pyrs.range(2).distinct().distinct(abs)) == "range(0, 2).distinct().distinct(abs)"
    assert repr(pyrs.range(2).distinct_until_changed(abs)) == "range(0, 2).distinct_until_changed(key=abs)"
    assert repr(pyrs.range(2).of_type(int)) == "range(0, 2).of_type(int)"


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.take_while(1), TypeError, "predicate must be callable, not int"),
        (lambda s: s.skip_while(None), TypeError, "predicate must be callable, not NoneType"),
        (lambda s: s.take_last(-1), ValueError, "count must be at least 0, not -1"),
        (lambda s: s.take_last("1"), TypeError, "count must be an integer, not str"),
        (lambda s: s.skip(-1), ValueError, "count must be at least 0, not -1"),
        (lambda s: s.skip(1.5), TypeError, "count must be an integer, not float"),
        (lambda s: s.distinct("x"), TypeError, "key must be callable, not str"),
        (lambda s: s.distinct_until_changed("x"), TypeError, "key must be callable, not str"),
        (lambda s: s.distinct_until_changed(comparer="x"), TypeError, "comparer must be callable, not str"),
        (lambda s: s.of_type("x"), TypeError, "cls must be a class, not str"),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))
