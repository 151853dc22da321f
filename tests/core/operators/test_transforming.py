"""scan, handle, with_index, transform and notifications against a list model: demand, errors, completion."""

from __future__ import annotations

import itertools
import operator
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import Notification
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.tck.right import RightPublisher
from tests.waiting import run_on_threads

add = operator.add
MODELS: dict[str, tuple[Callable[[Any], Any], Callable[[list[int]], list[Any]]]] = {
    "scan": (lambda s: s.scan(add), lambda x: list(itertools.accumulate(x))),
    "scan with initial": (lambda s: s.scan(add, 5), lambda x: list(itertools.accumulate(x, initial=5))),
    "with_index": (lambda s: s.with_index(), lambda x: list(enumerate(x))),
    "materialize": (
        lambda s: s.materialize(),
        lambda x: [*map(Notification.next, x), Notification.completed()],
    ),
    "materialize and dematerialize": (lambda s: s.materialize().dematerialize(), lambda x: x),
}


@pytest.mark.parametrize("name", MODELS)
@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_operator_matches_the_list_model(name: str, numbers: list[int], demands: list[int]) -> None:
    operate, model = MODELS[name]
    agrees(operate, numbers, model(numbers), demands)


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_with_index_numbers_the_elements(numbers: list[int], demands: list[int]) -> None:
    agrees(lambda stream: stream.with_index(7), numbers, list(enumerate(numbers, 7)), demands)


@quick
@given(numbers=NUMBERS, demands=DEMANDS, initials=st.lists(st.integers(0, 9), max_size=4))
def test_chain_of_scans_matches_the_list_model(numbers: list[int], demands: list[int], initials: list[int]) -> None:
    expected = numbers
    for initial in initials:
        expected = list(itertools.accumulate(expected, initial=initial))

    def chain(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
        for initial in initials:
            stream = stream.scan(add, initial)
        return stream

    agrees(chain, numbers, expected, demands)


def test_initial_value_consumes_one_demand_and_requests_nothing() -> None:
    source = Counting([1, 2])
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source.stream().scan(add, 10).subscribe(subscriber)
    assert (subscriber.elements, source.requests) == ([10], [])
    subscriber.request(2)
    assert (subscriber.await_complete(), source.requests) == ([10, 11, 13], [2])
    pulled: list[int] = []
    fused = pyrs.from_iterable(pulled.append(n) or n for n in (1, 2))  # type: ignore[func-returns-value]
    subscriber = TestSubscriber(1)
    fused.scan(add, 10).subscribe(subscriber)
    assert (subscriber.elements, pulled) == ([10], [])


@pytest.mark.parametrize("pushed", [False, True])
def test_completion_follows_the_last_element_without_another_request(pushed: bool) -> None:
    for operate, expected in (
        (lambda s: s.scan(add), [1, 3]),
        (lambda s: s.scan(add, 5), [5, 6, 8]),
        (lambda s: s.with_index(), [(0, 1), (1, 2)]),
        (lambda s: s.scan(add, 5).materialize().take(2), [Notification.next(5), Notification.next(6)]),
    ):
        subscriber: TestSubscriber[Any] = TestSubscriber(len(expected))
        operate(Counting([1, 2]).stream() if pushed else pyrs.just(1, 2)).subscribe(subscriber)
        assert subscriber.await_complete() == expected


def test_initial_value_precedes_an_error() -> None:
    failure = ValueError("no")
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.error(failure).scan(add, 1).subscribe(subscriber)
    subscriber.assert_live()
    subscriber.request(1)
    assert (subscriber.elements, subscriber.await_error()) == ([1], failure)


def test_concurrent_requests_for_the_initial_value_lose_no_element() -> None:
    for _ in range(300):
        subscriber: TestSubscriber[int] = TestSubscriber()
        Counting(range(4)).stream().scan(add, 0).subscribe(subscriber)
        start = threading.Barrier(3)

        def request_twice(start: threading.Barrier = start, subscriber: TestSubscriber[int] = subscriber) -> None:
            start.wait(30)
            subscriber.request(1)
            subscriber.request(1)

        run_on_threads(*[request_twice] * 3)
        assert subscriber.await_complete() == [0, 0, 1, 3, 6]
        subscriber.assert_rules()


def test_materialize_and_dematerialize_round_trip_an_error() -> None:
    failure = ValueError("no")
    source = Counting([1], failure)
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    source.stream().materialize().subscribe(subscriber)
    assert subscriber.elements == [Notification.next(1)]
    subscriber.request(1)
    assert subscriber.await_complete() == [Notification.next(1), Notification.failed(failure)]
    subscriber = TestSubscriber(None)
    source.stream().materialize().dematerialize().subscribe(subscriber)
    assert (subscriber.elements, subscriber.await_error()) == ([1], failure)


def test_materialize_includes_errors_of_preceding_stages() -> None:
    (notification,) = pyrs.just(1).map(lambda n: n // 0).materialize().collect()
    assert isinstance(notification.error, ZeroDivisionError)
    source = Counting([1, 2])
    assert len(source.stream().map(lambda n: n // 0).materialize().collect()) == 1
    assert source.cancels == 1


def test_dematerialize_cancels_on_completion_and_rejects_other_elements() -> None:
    source = Counting([Notification.next(1), Notification.completed(), Notification.next(2)])
    assert source.stream().dematerialize().collect() == [1]
    assert (source.pulled, source.cancels) == (2, 1)
    with pytest.raises(TypeError, match="a stream of Notification, not of int"):
        pyrs.just(1).dematerialize().collect()  # type: ignore[misc]


def test_notifications_are_immutable_values() -> None:
    failure = ValueError("no")
    kinds = [Notification.next(1), Notification.failed(failure), Notification.completed()]
    assert list(map(repr, kinds)) == [
        "Notification.next(1)",
        "Notification.failed(ValueError('no'))",
        "Notification.completed()",
    ]
    assert len({*kinds, Notification.next(1), Notification.completed()}) == 3
    assert Notification.next(1) != 1
    assert pickle.loads(pickle.dumps(kinds[0])) == kinds[0]
    seen: list[Any] = []
    for notification in kinds:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.never().subscribe(subscriber)
        notification.accept(subscriber)
        seen.append((subscriber.elements, subscriber.error, subscriber.completed))
    assert seen == [([1], None, False), ([], failure, False), ([], None, True)]
    with pytest.raises(AttributeError, match="is immutable"):
        kinds[0].element = 2
    with pytest.raises(AttributeError, match="is immutable"):
        del kinds[0].element
    with pytest.raises(pyrs.NullSignal):
        Notification.next(None)
    with pytest.raises(pyrs.NullSignal):
        Notification.failed(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="error must be an exception, not int"):
        Notification.failed(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kind must be"):
        Notification("end")  # type: ignore[arg-type]
    with pytest.raises(pyrs.NullSignal):
        Notification("complete", 3)


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("given", [(), (1,)])
def test_exception_of_the_function_signals_on_error(pushed: bool, given: tuple[int, ...]) -> None:
    def raise_error(value: int, element: int) -> int:
        raise ValueError("no")

    source = Counting([1, 2, 3])
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    (source.stream() if pushed else pyrs.just(1, 2, 3)).scan(raise_error, *given).subscribe(subscriber)
    error = subscriber.await_error(ValueError)
    assert any("in scan(raise_error" in note for note in error.__notes__)
    assert (subscriber.elements, source.cancels) == ([1], int(pushed))


def test_none_element_signals_null_signal() -> None:
    for source in (pyrs.just(1, 2), Counting([1, 2]).stream()):
        with pytest.raises(pyrs.NullSignal):
            source.scan(lambda value, element: None).collect()
        with pytest.raises(pyrs.NullSignal):
            source.map(lambda n: None).materialize().dematerialize().collect()


@pytest.mark.parametrize("name", MODELS)
def test_cancel_is_propagated_upstream(name: str) -> None:
    source = Counting(range(9))
    subscriber: TestSubscriber[Any] = TestSubscriber(2)
    MODELS[name][0](source.stream()).subscribe(subscriber)
    subscriber.cancel()
    subscriber.request(5)
    assert (len(subscriber.elements), source.cancels) == (2, 1)


def test_repr_shows_the_call() -> None:
    stream = pyrs.range(3).scan(max).scan(max, 7).with_index().with_index(2).materialize().dematerialize()
    expected = "range(0, 3).scan(max).scan(max, 7).with_index().with_index(2).materialize().dematerialize()"
    assert repr(stream) == expected


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="function must be callable, not int"):
        pyrs.range(3).scan(3)  # type: ignore[call-overload]
    with pytest.raises(pyrs.NullSignal, match="initial must not be None"):
        pyrs.range(3).scan(max, None)
    with pytest.raises(TypeError, match="start must be an integer, not str"):
        pyrs.range(3).with_index("1")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, -1])
def test_rule_3_9_materialize_signals_an_illegal_request_as_on_error(n: int) -> None:
    subscriber: TestSubscriber[object] = TestSubscriber()
    pyrs.range(5).materialize().subscribe(subscriber)
    subscriber.request(n)
    subscriber.assert_elements()
    subscriber.assert_error(pyrs.NonPositiveRequest)


@pytest.mark.parametrize("n", [0, -1])
def test_rule_3_9_materialize_does_not_wrap_the_error_of_the_source(n: int) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(RightPublisher(5)).materialize().subscribe(subscriber)
    subscriber.request(n)
    assert isinstance(subscriber.error, pyrs.NonPositiveRequest)
    assert subscriber.elements == []


@pytest.mark.parametrize("before", ["source", "take(0)"])
def test_initial_value_is_emitted_after_on_subscribe_returns(before: str) -> None:
    class RequestingSubscriber(TestSubscriber[Any]):
        returned = False

        def on_subscribe(self, subscription: pyrs.Subscription) -> None:
            super().on_subscribe(subscription)
            self.request(5)
            assert self.elements == []
            self.returned = True

        def on_next(self, element: Any) -> None:
            assert self.returned
            super().on_next(element)

    source, subscriber = TestPublisher[int](cold=True).emit(1, 2).stream(), RequestingSubscriber()
    (source if before == "source" else source.take(0)).scan(operator.add, 10).subscribe(subscriber)
    subscriber.assert_elements(*([10, 11, 13] if before == "source" else [10]))
    subscriber.assert_complete()


def test_function_of_scan_is_not_called_after_a_cancel_in_an_earlier_stage(dropped: Any, discarded: list[Any]) -> None:
    calls: list[tuple[int, int]] = []
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(5)

    def cancel_at_two(n: int) -> int:
        if n == 2:
            subscriber.cancel()
        return n

    source.stream().map(cancel_at_two).scan(lambda a, n: calls.append((a, n)) or a + n, 10).subscribe(subscriber)
    source.next(1, 2)
    assert calls == [(10, 1)]
    assert discarded == [2]


def squares_until_nine(n: int, sink: Any) -> None:
    """Emit the squares of odd numbers, and complete at 9."""
    if n % 2:
        sink.next(n * n)
    if n == 9:
        sink.complete()


class TestHandle:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS)
    def test_handle_maps_drops_and_completes(self, numbers: list[int], demands: list[int]) -> None:
        taken = numbers[: numbers.index(9) + 1] if 9 in numbers else numbers
        agrees(lambda s: s.handle(squares_until_nine), numbers, [n * n for n in taken if n % 2], demands)

    @pytest.mark.parametrize("pushed", [False, True])
    def test_completion_follows_the_element_without_another_request_and_cancels_upstream(self, pushed: bool) -> None:
        counting = Counting([9, 9])
        source = counting.stream() if pushed else pyrs.just(9, 9)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        source.handle(squares_until_nine).subscribe(subscriber)
        assert subscriber.await_complete() == [81]
        assert counting.cancels == pushed

    def test_each_dropped_element_requests_another(self) -> None:
        counting = Counting([2, 4, 3, 5])
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        counting.stream().handle(squares_until_nine).subscribe(subscriber)
        assert subscriber.elements == [9]
        assert counting.requests == [1, 1, 1]

    @pytest.mark.parametrize("pushed", [False, True])
    @pytest.mark.parametrize("call", [lambda sink: (sink.next(1), sink.next(2)), lambda sink: sink.next(None)])
    def test_second_element_and_none_fail_the_stream(self, call: Callable[[Any], object], pushed: bool) -> None:
        source = Counting([1]).stream() if pushed else pyrs.just(1)
        with pytest.raises((RuntimeError, pyrs.NullSignal)) as raised:
            source.handle(lambda _, sink: call(sink)).collect()
        assert "handle(" in "".join(getattr(raised.value, "__notes__", ()))


class TestTransform:
    def test_transform_calls_the_function_once_at_assembly(self) -> None:
        given: list[object] = []

        def double(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
            given.append(stream)
            return stream.map(lambda n: 2 * n)

        source = pyrs.range(3)
        stream = source.transform(double)
        assert stream.collect() == stream.collect() == [0, 2, 4]
        assert given == [source]

    def test_transform_continues_the_fused_chain(self) -> None:
        stream = pyrs.range(9).map(str).transform(lambda stream: stream.take(2)).filter(bool)
        assert repr(stream) == "range(0, 9).map(str).take(2).filter(bool)"

    def test_transform_keeps_a_single(self) -> None:
        assert pyrs.range(3).transform(lambda stream: stream.count()).block() == 3

    def test_transform_wraps_a_foreign_publisher(self) -> None:
        assert pyrs.range(3).transform(lambda _: RightPublisher(2)).map(str).collect() == ["1", "2"]

    def test_transform_raises_errors_at_assembly(self) -> None:
        def broken(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
            raise KeyError("broken")

        async def coroutine(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
            return stream

        with pytest.raises(KeyError, match="broken"):
            pyrs.range(3).transform(broken)
        with pytest.raises(TypeError, match="the result of function must be a Publisher: list has no subscribe"):
            pyrs.range(3).transform(lambda stream: [stream])  # type: ignore[arg-type,return-value]
        with pytest.raises(TypeError, match="function must be callable, not int"):
            pyrs.range(3).transform(3)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="function must be a plain function"):
            pyrs.range(3).transform(coroutine)  # type: ignore[arg-type]

    def test_error_note_names_the_operator_inside_transform(self) -> None:
        with pytest.raises(ZeroDivisionError) as raised:
            pyrs.range(1).transform(lambda stream: stream.map(lambda n: 1 // n)).collect()
        notes = "".join(getattr(raised.value, "__notes__", ()))
        assert "in map(" in notes and __file__ in notes
