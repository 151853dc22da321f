"""filter_when, delay_until and repeat_when: another Publisher decides about an element or a repetition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.core.support import notes_of
from tests.waiting import DEADLINE

Decide = Callable[[pyrs.Stream[Any], Callable[[Any], Any]], pyrs.Stream[Any]]
OPERATORS: dict[str, Decide] = {
    "filter_when": lambda stream, function: stream.filter_when(function),
    "delay_until": lambda stream, function: stream.delay_until(function),
}


@pytest.fixture(params=OPERATORS)
def operator(request: pytest.FixtureRequest) -> Decide:
    return OPERATORS[request.param]


def test_error_of_the_function_or_its_stream_fails_the_stream(operator: Decide) -> None:
    def raise_error(n: int) -> Any:
        raise ValueError(n)

    for function in (raise_error, lambda n: pyrs.error(ValueError(n))):
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        source: TestPublisher[int] = TestPublisher()
        operator(source.stream(), function).subscribe(subscriber)
        source.next(3)
        assert subscriber.await_error(ValueError).args == (3,)
        source.assert_cancelled(1)


@pytest.mark.parametrize("name", OPERATORS)
def test_error_names_the_operator(name: str) -> None:
    with pytest.raises(TypeError, match="must return a Publisher, not int") as raised:
        OPERATORS[name](pyrs.just(1), lambda n: n).collect()
    assert f"in {name}(" in notes_of(raised.value)[0]


def test_next_function_call_waits_for_the_previous_stream(operator: Decide) -> None:
    decisions: list[TestPublisher[bool]] = []

    def decide(n: int) -> TestPublisher[bool]:
        decisions.append(TestPublisher())
        return decisions[-1]

    subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
    operator(pyrs.just(1, 2), decide).subscribe(subscriber)
    assert (len(decisions), subscriber.elements) == (1, [])
    decisions[0].next(True)
    decisions[0].complete()
    assert (len(decisions), subscriber.elements) == (2, [1])
    subscriber.cancel()


@pytest.mark.parametrize("name", OPERATORS)
def test_prefetch_is_requested_and_a_cancel_reaches_both_streams(name: str) -> None:
    source, decision = TestPublisher[int](), TestPublisher[bool]()
    counting = Counting.of(source)
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    getattr(counting.stream(), name)(lambda n: decision, prefetch=2).subscribe(subscriber)
    assert counting.requests == [2]
    source.next(1)
    subscriber.cancel()
    source.assert_cancelled(1)
    decision.assert_cancelled(1)


def test_coroutine_function_is_awaited(operator: Decide) -> None:
    async def is_odd(n: int) -> bool:
        return n % 2 == 1

    expected = [1, 3] if operator is OPERATORS["filter_when"] else [0, 1, 2, 3]
    assert operator(pyrs.range(4), is_odd).collect(timeout=DEADLINE) == expected


class TestFilterWhen:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS)
    def test_first_element_of_the_decision_decides(self, numbers: list[int], demands: list[int]) -> None:
        def predicate(n: int) -> pyrs.Stream[bool]:
            decision = pyrs.just(n > 0, n <= 0) if n else pyrs.empty()
            return decision if n % 2 else Counting.of(decision).stream()

        agrees(lambda s: s.filter_when(predicate), numbers, [n for n in numbers if n > 0], demands)

    def test_one_element_of_the_decision_is_requested(self) -> None:
        decision = Counting([1, 0])
        assert pyrs.just(5).filter_when(lambda n: decision).collect() == [5]
        assert (decision.requests, decision.cancels) == ([1], 1)


class TestDelayUntil:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS)
    def test_elements_are_emitted_unchanged(self, numbers: list[int], demands: list[int]) -> None:
        agrees(lambda s: s.delay_until(lambda n: Counting(range(abs(n)))), numbers, numbers, demands)

    def test_element_waits_for_completion(self) -> None:
        trigger: TestPublisher[str] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.just(5).delay_until(lambda n: trigger).subscribe(subscriber)
        trigger.next("not yet")
        assert subscriber.elements == []
        trigger.complete()
        assert subscriber.await_complete() == [5]


class TestRepeatWhen:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS)
    def test_each_signal_starts_a_round(self, numbers: list[int], demands: list[int]) -> None:
        counting = Counting(numbers)  # a generator cannot be subscribed to again
        agrees(lambda _: counting.stream().repeat_when(lambda counts: counts.take(2)), numbers, numbers * 3, demands)

    def test_signals_receive_the_number_of_elements_of_each_round(self) -> None:
        rounds = iter([[1, 2], [], [3]])
        counts: list[int] = []
        stream = pyrs.defer(lambda: pyrs.from_iterable(next(rounds)))
        assert stream.repeat_when(lambda c: c.do_on_next(counts.append).take(2)).collect() == [1, 2, 3]
        assert counts == [2, 0]

    def test_error_of_a_round_fails_the_stream(self) -> None:
        signals: TestPublisher[str] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        pyrs.error(ValueError("planned")).repeat_when(lambda counts: signals).subscribe(subscriber)
        assert str(subscriber.await_error()) == "planned"
        signals.assert_cancelled(1)

    def test_error_of_the_signals_waits_for_the_current_round(self) -> None:
        source, signals = TestPublisher[int](), TestPublisher[str]()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        source.stream().repeat_when(lambda counts: signals).subscribe(subscriber)
        signals.error(OSError("signals"))
        source.next(1)
        assert not subscriber.ended
        source.complete()
        assert str(subscriber.await_error()) == "signals"

    def test_20000_rounds_use_constant_stack_depth(self) -> None:
        assert len(pyrs.just(1).repeat_when(lambda counts: counts.take(20_000)).collect()) == 20_001

    def test_remaining_demand_goes_to_the_next_round(self) -> None:
        counting = Counting([1, 2])
        subscriber: TestSubscriber[int] = TestSubscriber(3)
        counting.stream().repeat_when(lambda counts: counts).subscribe(subscriber)
        assert (counting.requests, subscriber.elements) == ([3, 1], [1, 2, 1])
        subscriber.cancel()

    def test_repr_shows_the_call(self) -> None:
        assert repr(pyrs.never().repeat_when(bool)) == "never().repeat_when(bool)"  # type: ignore[arg-type]
