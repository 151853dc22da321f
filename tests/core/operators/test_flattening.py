"""flat_map, flat_map_sequential, concat_map and switch_map: results, demand, termination, errors and stack depth."""

from __future__ import annotations

import itertools
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs._core.fusion import IteratorConsumer, null_element
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE, run_on_threads

Wrap = Callable[[Any], pyrs.Stream[Any]]
Operator = Callable[[pyrs.Stream[Any], Callable[[Any], Any]], pyrs.Stream[Any]]

OPERATORS: dict[str, Operator] = {
    "flat_map": lambda stream, function: stream.flat_map(function),
    "flat_map_sequential": lambda stream, function: stream.flat_map_sequential(function),
    "concat_map": lambda stream, function: stream.concat_map(function),
    "switch_map": lambda stream, function: stream.switch_map(function),
}


@pytest.fixture(params=OPERATORS)
def operator(request: pytest.FixtureRequest) -> Operator:
    return OPERATORS[request.param]


def two_elements(n: int) -> list[int]:
    return [10 * n, 10 * n + 1]


# Properties of every flattening operator.


def test_synchronous_inner_streams_are_flattened_in_order(operator: Operator, wrap: Wrap) -> None:
    stream = operator(wrap(pyrs.just(1, 2, 3)), lambda n: wrap(pyrs.from_iterable(two_elements(n))))
    assert stream.collect() == [10, 11, 20, 21, 30, 31]
    assert stream.collect() == [10, 11, 20, 21, 30, 31]


def test_single_requests_deliver_every_element(wrap: Wrap) -> None:
    for operator in (OPERATORS["flat_map"], OPERATORS["flat_map_sequential"], OPERATORS["concat_map"]):
        subscriber: TestSubscriber[int] = TestSubscriber()
        operator(wrap(pyrs.just(1, 2)), lambda n: wrap(pyrs.from_iterable(two_elements(n)))).subscribe(subscriber)
        for count in range(1, 5):
            subscriber.request(1)
            assert len(subscriber.await_count(count)) == count
        assert sorted(subscriber.await_complete()) == [10, 11, 20, 21]


def test_empty_outer_stream_completes(operator: Operator, wrap: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    operator(wrap(pyrs.empty()), lambda n: pyrs.just(n)).subscribe(subscriber)
    assert subscriber.await_complete() == []


def test_empty_inner_streams_need_no_demand(operator: Operator, wrap: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    operator(wrap(pyrs.range(40)), lambda n: wrap(pyrs.empty())).subscribe(subscriber)
    if operator is OPERATORS["concat_map"]:
        subscriber.request(1)
    assert subscriber.await_complete() == []


def test_cancel_reaches_the_outer_and_the_inner_streams(operator: Operator) -> None:
    outer, inner = TestPublisher[int](), TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    operator(outer.stream(), lambda n: inner).subscribe(subscriber)
    outer.next(1)
    inner.next(1)
    subscriber.assert_elements(1)
    subscriber.cancel()
    outer.assert_cancelled(1)
    inner.assert_cancelled(1)


def test_cancel_during_on_next_stops_after_current_element(operator: Operator, wrap: Wrap) -> None:
    def cancel(subscriber: TestSubscriber[int], element: int) -> None:
        if element == 11:
            subscriber.cancel()

    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=cancel)
    operator(wrap(pyrs.just(1, 2)), lambda n: wrap(pyrs.from_iterable(two_elements(n)))).subscribe(subscriber)
    subscriber.assert_elements(10, 11).assert_live()


def test_cancel_closes_the_inner_iterator(operator: Operator) -> None:
    closed: list[int] = []

    class Numbers:
        def __iter__(self) -> Iterator[int]:
            try:
                yield from itertools.count()
            finally:
                closed.append(1)

    subscriber: TestSubscriber[int] = TestSubscriber(3)
    operator(pyrs.just(1), lambda n: pyrs.from_iterable(Numbers())).subscribe(subscriber)
    assert closed == []
    subscriber.assert_elements(0, 1, 2).cancel()
    assert closed == [1]


def test_outer_error_is_propagated(operator: Operator) -> None:
    failure = ValueError("outer")
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.just(1).concat(pyrs.error(failure)), pyrs.just).subscribe(subscriber)
    assert subscriber.await_error() is failure
    assert subscriber.elements == [1]


def test_inner_error_follows_its_elements_and_cancels_the_outer_stream(operator: Operator, wrap: Wrap) -> None:
    failure, outer = ValueError("inner"), TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber()
    operator(outer.stream(), lambda n: wrap(pyrs.just(n)).concat(pyrs.error(failure))).subscribe(subscriber)
    outer.next(7)
    subscriber.assert_elements().assert_live()
    subscriber.request(5)
    assert subscriber.await_error() is failure
    assert subscriber.elements == [7]
    outer.assert_cancelled(1)


def failing(n: int) -> Iterator[int]:
    yield n
    raise ValueError("in the iterable")


def test_exception_of_an_inner_iterable_signals_on_error(operator: Operator, wrap: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.just(7), lambda n: wrap(pyrs.from_iterable(failing(n)))).subscribe(subscriber)
    assert str(subscriber.await_error(ValueError)) == "in the iterable"
    assert subscriber.elements == [7]


def test_elements_before_the_error_of_an_iterable_use_up_demand() -> None:
    """Callables take the elements of an iterable in batches, whose size is unknown after an error (rule 1.1)."""
    outer, elements, errors = TestPublisher[Any](), list[int](), list[BaseException]()
    stream = outer.stream().flat_map(pyrs.from_iterable)
    subscription = stream.subscribe(on_next=elements.append, on_error=errors.append, request=0)
    outer.next(failing(7), range(10, 20))
    subscription.request(3)
    assert (elements, [str(error) for error in errors]) == ([7], ["in the iterable"])


def test_inner_none_element_signals_null_signal(operator: Operator, wrap: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.just(7), lambda n: wrap(pyrs.from_iterable([n, None]))).subscribe(subscriber)
    subscriber.await_error(pyrs.NullSignal)
    assert subscriber.elements == [7]


def test_exception_of_the_function_names_the_operator_and_cancels(operator: Operator) -> None:
    def raise_error(n: int) -> pyrs.Stream[int]:
        raise ValueError(n)

    outer = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    operator(outer.stream(), raise_error).subscribe(subscriber)
    outer.next(3)
    error = subscriber.await_error(ValueError)
    assert error.args == (3,)
    name = next(name for name, each in OPERATORS.items() if each is operator)
    assert f"in {name}(raise_error), assembled at" in "".join(getattr(error, "__notes__", ()))
    outer.assert_cancelled(1)


def test_function_that_returns_no_publisher_fails_with_a_hint(operator: Operator) -> None:
    with pytest.raises(TypeError, match=r"must return a Publisher, not list; pyrs.from_iterable converts"):
        operator(pyrs.just(1), two_elements).collect()
    with pytest.raises(TypeError, match=r"must return a Publisher, not NoneType"):
        operator(pyrs.just(1), lambda n: None).collect()


def test_interrupt_in_the_function_propagates(operator: Operator) -> None:
    def interrupt(n: int) -> pyrs.Stream[int]:
        raise KeyboardInterrupt

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    with pytest.raises(KeyboardInterrupt):
        operator(pyrs.just(1), interrupt).subscribe(subscriber)
    subscriber.assert_rules()


def test_interrupt_in_an_inner_iterable_propagates(operator: Operator, wrap: Wrap) -> None:
    def interrupt() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    with pytest.raises(KeyboardInterrupt):
        operator(pyrs.just(1), lambda n: wrap(pyrs.from_iterable(interrupt()))).subscribe(subscriber)
    subscriber.assert_rules()
    assert subscriber.elements in ([1], [])  # the interrupt may discard buffered elements


def test_subscriber_that_raises_receives_no_more_signals(operator: Operator, wrap: Wrap, dropped: Any) -> None:
    def fail(subscriber: TestSubscriber[int], element: int) -> None:
        raise ValueError("mine")

    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=fail)
    operator(wrap(pyrs.just(1, 2)), lambda n: wrap(pyrs.from_iterable(two_elements(n)))).subscribe(subscriber)
    subscriber.assert_elements(10).assert_live()
    assert [str(error) for error in dropped.take()] == ["mine"]


@pytest.mark.parametrize("n", [0, -1])
def test_illegal_request_signals_on_error(operator: Operator, wrap: Wrap, n: int) -> None:
    for inner in (pyrs.never(), pyrs.just(1)):
        for outer in (pyrs.never(), wrap(pyrs.just(1))):
            subscriber: TestSubscriber[int] = TestSubscriber()
            operator(outer, [inner, inner].__getitem__).subscribe(subscriber)
            subscriber.request(n)
            assert "3.9" in str(subscriber.await_error(pyrs.NonPositiveRequest))


def test_rule_3_3_synchronous_inner_streams_use_constant_stack_depth(operator: Operator, wrap: Wrap) -> None:
    count = 2_000  # twice Python's limit of recursion
    inners: list[tuple[Callable[[int], pyrs.Stream[int]], list[int]]] = [
        (lambda n: wrap(pyrs.empty()), []),
        (lambda n: wrap(pyrs.just(n)), list(range(count))),
        (lambda n: pyrs.just(n).concat(), list(range(count))),
    ]
    for inner, elements in inners:
        assert operator(wrap(pyrs.range(count)), inner).collect() == elements
        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda this, n: this.request(1))
        operator(wrap(pyrs.range(count)), inner).subscribe(subscriber)
        assert subscriber.await_complete() == elements


def test_repr_shows_the_call(operator: Operator) -> None:
    assert repr(operator(pyrs.range(3), pyrs.just)).endswith("(just)")
    assert repr(pyrs.range(3).flat_map(pyrs.just)) == "range(0, 3).flat_map(just)"


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.flat_map(None), TypeError, "function must be callable, not NoneType"),
        (lambda s: s.concat_map(3), TypeError, "function must be callable, not int"),
        (lambda s: s.switch_map([]), TypeError, "function must be callable, not list"),
        (lambda s: s.flat_map(pyrs.just, concurrency=0), ValueError, "concurrency must be at least 1, not 0"),
        (lambda s: s.flat_map(pyrs.just, prefetch=0), ValueError, "prefetch must be at least 1, not 0"),
        (lambda s: s.concat_map(pyrs.just, prefetch="1"), TypeError, "prefetch must be an integer, not str"),
        (lambda s: s.switch_map(pyrs.just, prefetch=-1), ValueError, "prefetch must be at least 1, not -1"),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


# flat_map.


class BatchSubscriber(TestSubscriber[Any], IteratorConsumer[Any]):
    """Consume elements in batches, and record them one at a time so that the rules are checked."""

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        taken = 0
        for element in iterator:
            if element is None:
                raise null_element()
            self.on_next(element)
            taken += 1
            if taken == limit:
                break
        return taken


class TestFlatMap:
    def test_outer_demand_is_concurrency_plus_one_per_completed_inner_stream(self) -> None:
        outer, inners = TestPublisher[int](), [TestPublisher[str]() for _ in range(4)]
        subscriber: TestSubscriber[str] = TestSubscriber(None)
        outer.stream().flat_map(inners.__getitem__, concurrency=2, prefetch=8).subscribe(subscriber)
        assert outer.requests == [2]
        outer.next(0, 1)
        assert inners[0].requests == inners[1].requests == [8]
        inners[1].emit("a")
        assert outer.requests == [2, 1]
        outer.next(2).complete()
        inners[0].complete()
        subscriber.assert_live()
        inners[2].emit("b")
        assert subscriber.await_complete() == ["a", "b"]

    def test_inner_stream_is_refilled_at_three_quarters(self) -> None:
        inner = TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.just(1).flat_map(lambda _: inner, prefetch=8).subscribe(subscriber)
        inner.next(*range(8))
        subscriber.request(5)
        assert inner.requests == [8]
        subscriber.request(1)
        assert inner.requests == [8, 6]

    def test_inner_iterable_is_pulled_on_demand(self) -> None:
        pulled: list[int] = []

        def note(n: int) -> int:
            pulled.append(n)
            return n

        subscriber: TestSubscriber[int] = TestSubscriber()
        numbers = pyrs.range(100).map(note)
        pyrs.just(1).flat_map(lambda _: numbers).subscribe(subscriber)
        assert pulled == []
        subscriber.request(3)
        assert pulled == [0, 1, 2]

    def test_inner_streams_alternate(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.just(1, 2, 3).flat_map(lambda n: pyrs.from_iterable(itertools.repeat(n)), prefetch=2).subscribe(subscriber)
        subscriber.request(12)
        subscriber.assert_elements(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3).cancel()

    def test_memory_does_not_grow_with_the_elements_of_a_buffer_that_is_never_empty(self) -> None:
        def receive(count: int) -> None:
            inner = pyrs.range(count).do_on_request(lambda n: None)  # pushed: not pulled on demand
            stream = pyrs.just(0).flat_map(lambda _: inner)
            subscription = stream.subscribe(on_next=lambda _: subscription.request(1), request=0)
            subscription.request(1)

        receive(100)  # allocates what remains after the first use
        tracemalloc.start()
        try:
            receive(20_000)
            assert tracemalloc.get_traced_memory()[1] < 50_000
        finally:
            tracemalloc.stop()

    def test_inner_error_cancels_the_other_inner_streams(self, dropped: Any) -> None:
        good, bad, outer = TestPublisher[int](), TestPublisher[int](), TestPublisher[Any]()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        outer.stream().flat_map(lambda inner: inner).subscribe(subscriber)
        outer.next(good, bad)
        good.next(1, 2)
        failure = ValueError("no")
        bad.error(failure)
        assert subscriber.assert_elements(1).await_error() is failure
        good.assert_cancelled(1)
        outer.assert_cancelled(1)
        assert dropped.take() == []

    def test_buffered_error_is_dropped_if_another_error_terminates_the_stream(self, dropped: Any) -> None:
        first, second = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.just(first, second).flat_map(lambda inner: inner).subscribe(subscriber)
        first.next(1, 2).error(ValueError("buffered"))
        second.error(ValueError("first"))
        assert str(subscriber.await_error()) == "first"
        assert [str(error) for error in dropped.take()] == ["buffered"]

    def test_delay_errors_signals_the_error_after_all_inner_streams(self, dropped: Any) -> None:
        def inner(n: int) -> pyrs.Stream[int]:
            return pyrs.from_iterable(failing(n)) if n % 2 else pyrs.just(n, n)

        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.range(5).flat_map(inner, delay_errors=True).subscribe(subscriber)
        for _ in range(8):
            subscriber.request(1)
        assert str(subscriber.await_error(ValueError)) == "in the iterable"
        assert sorted(subscriber.elements) == [0, 0, 1, 2, 2, 3, 4, 4]
        assert len(dropped.take()) == 1

    def test_delayed_error_keeps_the_demand_of_a_batch_exact(self, dropped: Any) -> None:
        subscriber = BatchSubscriber(4)
        stream = pyrs.range(9).flat_map(lambda n: pyrs.from_iterable([n, n, None]), delay_errors=True)
        stream.subscribe(subscriber)
        subscriber.assert_elements(0, 0, 1, 1)
        subscriber.request(100)
        subscriber.await_error(pyrs.NullSignal)
        assert len(subscriber.elements) == 18
        assert len(dropped.take()) == 8

    def test_batches_respect_demand(self) -> None:
        inner = TestPublisher[int]()
        subscriber = BatchSubscriber(0)
        pyrs.just(1, 2).flat_map(lambda n: inner if n == 1 else pyrs.range(9)).subscribe(subscriber)
        inner.next(*range(10, 30))
        for _ in range(10):
            subscriber.request(2)
        assert len(subscriber.assert_rules().elements) == 20

    def test_cancel_in_the_function_skips_the_inner_stream(self) -> None:
        inner, closed = TestPublisher[int](), list[int]()

        class Numbers:
            def __iter__(self) -> Iterator[int]:
                return self

            def __next__(self) -> int:
                return 1

            def close(self) -> None:
                closed.append(1)

        class NumbersIterable:
            def __iter__(self) -> Iterator[int]:
                return Numbers()

        for publisher in (inner, pyrs.from_iterable(NumbersIterable())):
            subscriber: TestSubscriber[int] = TestSubscriber(None)

            def function(n: int, publisher: Any = publisher, subscriber: Any = subscriber) -> Any:
                subscriber.cancel()
                return publisher

            pyrs.just(1).flat_map(function).subscribe(subscriber)
            subscriber.assert_elements().assert_live()
        inner.assert_was_not_subscribed()
        assert closed == [1]

    def test_exception_of_the_function_is_delayed_with_delay_errors(self) -> None:
        inner = TestPublisher[int]()

        def function(n: int) -> pyrs.Publisher[int]:
            return [inner][n]

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.range(9).flat_map(function, delay_errors=True).subscribe(subscriber)
        inner.emit(5)
        subscriber.await_error(IndexError)
        assert subscriber.elements == [5]

    def test_batches_are_forwarded_to_downstream_operators(self) -> None:
        twice = pyrs.range(50).flat_map(lambda n: pyrs.range(50)).flat_map(pyrs.just)
        assert twice.collect() == list(range(50)) * 50
        assert pyrs.range(50).flat_map(lambda n: pyrs.range(50)).count().block() == 2_500
        merged = pyrs.range(50).flat_map(lambda n: pyrs.range(50)).merge(pyrs.range(10))
        assert sorted(merged.collect()) == sorted([*list(range(50)) * 50, *range(10)])

    def test_no_lock_is_held_during_the_function(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()

        def function(n: int) -> pyrs.Stream[int]:
            run_on_threads(partial(subscriber.request, 1))
            return pyrs.just(n)

        pyrs.range(5).flat_map(function).subscribe(subscriber)
        assert subscriber.await_complete() == [0, 1, 2, 3, 4]


# concat_map.


class TestConcatMap:
    def test_inner_streams_are_concatenated_in_order(self) -> None:
        inners = [TestPublisher[str](cold=True), TestPublisher[str](cold=True)]
        subscriber: TestSubscriber[str] = TestSubscriber(None)
        pyrs.just(0, 1).concat_map(inners.__getitem__).subscribe(subscriber)
        inners[1].emit("second")
        inners[1].assert_was_not_subscribed()
        inners[0].emit("first")
        assert subscriber.await_complete() == ["first", "second"]

    def test_inner_demand_is_the_outstanding_demand(self) -> None:
        outer, inner = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(3)
        outer.stream().concat_map(lambda _: inner, prefetch=4).subscribe(subscriber)
        assert outer.requests == [4]
        outer.next(1)
        assert inner.requests == [3]
        inner.next(1)
        subscriber.request(2)
        assert inner.requests == [3, 2]
        inner.complete()
        outer.next(2, 3)
        assert outer.requests == [4, 3]

    def test_outer_error_waits_for_the_current_inner_stream(self) -> None:
        outer, inner = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        outer.stream().concat_map(lambda _: inner).subscribe(subscriber)
        outer.next(1).error(ValueError("outer"))
        subscriber.assert_live()
        inner.emit(5)
        assert str(subscriber.await_error()) == "outer"
        assert subscriber.elements == [5]

    def test_pending_outer_error_is_dropped_if_the_inner_stream_fails(self, dropped: Any) -> None:
        outer, inner = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        outer.stream().concat_map(lambda _: inner).subscribe(subscriber)
        outer.next(1).error(ValueError("outer"))
        inner.error(ValueError("inner"))
        assert str(subscriber.await_error()) == "inner"
        assert [str(error) for error in dropped.take()] == ["outer"]

    def test_delay_errors_emits_all_inner_streams_before_the_first_error(self, dropped: Any) -> None:
        stream = pyrs.just(1, 2, 3).concat_map(
            lambda n: pyrs.just(n).concat(pyrs.error(ValueError(n))) if n < 3 else pyrs.just(n), delay_errors=True
        )
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        stream.subscribe(subscriber)
        assert str(subscriber.await_error()) == "1"
        assert subscriber.elements == [1, 2, 3]
        assert [str(error) for error in dropped.take()] == ["2"]

    def test_delayed_error_of_an_inner_stream_precedes_that_of_the_outer_stream(self, dropped: Any) -> None:
        outer: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        outer.stream().concat_map(lambda n: pyrs.error(ValueError(n)), delay_errors=True).subscribe(subscriber)
        outer.next(1)
        outer.error(OSError("outer"))
        assert str(subscriber.await_error()) == "1"
        assert [str(error) for error in dropped.take()] == ["outer"]


# switch_map.


class TestSwitchMap:
    def test_new_inner_stream_replaces_the_previous_one(self) -> None:
        outer, inners = TestPublisher[int](), [TestPublisher[str](), TestPublisher[str]()]
        subscriber: TestSubscriber[str] = TestSubscriber(None)
        outer.stream().switch_map(inners.__getitem__).subscribe(subscriber)
        assert outer.requests == [pyrs.UNBOUNDED]
        outer.next(0)
        inners[0].next("a")
        outer.next(1)
        inners[0].assert_cancelled(1)
        inners[1].next("b")
        outer.complete()
        subscriber.assert_elements("a", "b").assert_live()
        inners[1].complete()
        subscriber.await_complete()

    def test_buffered_elements_of_a_replaced_stream_are_discarded(self, dropped: Any) -> None:
        outer, inners = TestPublisher[int](), [TestPublisher[str](), TestPublisher[str]()]
        subscriber: TestSubscriber[str] = TestSubscriber()
        outer.stream().switch_map(inners.__getitem__, prefetch=4).subscribe(subscriber)
        outer.next(0)
        assert inners[0].requests == [4]
        inners[0].next("a", "b").error(ValueError("discarded"))
        outer.next(1).complete()
        inners[1].emit("c")
        subscriber.request(5)
        assert subscriber.await_complete() == ["c"]
        assert [str(error) for error in dropped.take()] == ["discarded"]

    def test_only_the_latest_outer_element_is_kept_while_on_next_blocks(self) -> None:
        outer, first, mapped = TestPublisher[int](), TestPublisher[int](), list[int]()
        entered, leave = threading.Event(), threading.Event()

        def block(subscriber: TestSubscriber[int], element: int) -> None:
            if element == -1:
                entered.set()
                assert leave.wait(DEADLINE)

        def function(n: int) -> pyrs.Publisher[int]:
            mapped.append(n)
            return pyrs.just(n) if n else first

        subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=block)
        outer.stream().switch_map(function).subscribe(subscriber)
        outer.next(0)
        emitting = threading.Thread(target=first.next, args=(-1, -2))
        emitting.start()
        assert entered.wait(DEADLINE)
        outer.next(1, 2, 3).complete()
        leave.set()
        emitting.join(DEADLINE)
        assert subscriber.await_complete() == [-1, 3]
        assert mapped == [0, 3]
