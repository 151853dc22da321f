"""flat_map, concat_map, switch_map: what they give, what they ask for, how they end, and how deep the stack grows."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs._core.fusion import IteratorConsumer, null_element
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE

Wrap = Callable[[Any], pyrs.Stream[Any]]
Operator = Callable[[pyrs.Stream[Any], Callable[[Any], Any]], pyrs.Stream[Any]]

OPERATORS: dict[str, Operator] = {
    "flat_map": lambda stream, function: stream.flat_map(function),
    "concat_map": lambda stream, function: stream.concat_map(function),
    "switch_map": lambda stream, function: stream.switch_map(function),
}


@pytest.fixture(params=OPERATORS)
def operator(request: pytest.FixtureRequest) -> Operator:
    return OPERATORS[request.param]


@pytest.fixture(params=["fused", "pushed"])
def wrap(request: pytest.FixtureRequest, hidden: Wrap) -> Wrap:
    return hidden if request.param == "pushed" else lambda stream: stream


def tens(n: int) -> list[int]:
    return [10 * n, 10 * n + 1]


# What they have in common.


def test_a_synchronous_stream_is_flattened_in_order(operator: Operator, wrap: Wrap) -> None:
    stream = operator(wrap(pyrs.just(1, 2, 3)), lambda n: wrap(pyrs.from_iterable(tens(n))))
    assert stream.collect() == [10, 11, 20, 21, 30, 31]
    assert stream.collect() == [10, 11, 20, 21, 30, 31]


def test_one_by_one(wrap: Wrap) -> None:
    for operator in (OPERATORS["flat_map"], OPERATORS["concat_map"]):
        subscriber: TestSubscriber[int] = TestSubscriber()
        operator(wrap(pyrs.just(1, 2)), lambda n: wrap(pyrs.from_iterable(tens(n)))).subscribe(subscriber)
        for count in range(1, 5):
            subscriber.request(1)
            assert len(subscriber.await_count(count)) == count
        assert sorted(subscriber.await_complete()) == [10, 11, 20, 21]


def test_nothing_in_gives_nothing_out(operator: Operator, wrap: Wrap) -> None:
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


def test_cancel_in_on_next_stops_at_once(operator: Operator, wrap: Wrap) -> None:
    def cancel(subscriber: TestSubscriber[int], element: int) -> None:
        if element == 11:
            subscriber.cancel()

    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=cancel)
    operator(wrap(pyrs.just(1, 2)), lambda n: wrap(pyrs.from_iterable(tens(n)))).subscribe(subscriber)
    subscriber.assert_elements(10, 11).assert_live()


def test_an_inner_iterator_is_closed_at_a_cancel(operator: Operator) -> None:
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


def test_an_error_of_the_outer_stream(operator: Operator) -> None:
    failure = ValueError("outer")
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.just(1).concat(pyrs.error(failure)), pyrs.just).subscribe(subscriber)
    assert subscriber.await_error() is failure
    assert subscriber.elements == [1]


def test_an_error_of_an_inner_stream_comes_after_its_elements_and_cancels(operator: Operator, wrap: Wrap) -> None:
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


def test_an_iterable_that_fails(operator: Operator, wrap: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.just(7), lambda n: wrap(pyrs.from_iterable(failing(n)))).subscribe(subscriber)
    assert str(subscriber.await_error(ValueError)) == "in the iterable"
    assert subscriber.elements == [7]


def test_an_inner_element_that_is_none(operator: Operator, wrap: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber(None)
    operator(pyrs.just(7), lambda n: wrap(pyrs.from_iterable([n, None]))).subscribe(subscriber)
    subscriber.await_error(pyrs.NullSignal)
    assert subscriber.elements == [7]


def test_a_function_that_raises_names_the_operator_and_cancels(operator: Operator) -> None:
    def raises(n: int) -> pyrs.Stream[int]:
        raise ValueError(n)

    outer = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    operator(outer.stream(), raises).subscribe(subscriber)
    outer.next(3)
    error = subscriber.await_error(ValueError)
    assert error.args == (3,)
    assert "_map(raises), assembled at" in "".join(getattr(error, "__notes__", ()))
    outer.assert_cancelled(1)


def test_what_is_no_publisher_fails_and_says_what_to_do(operator: Operator) -> None:
    with pytest.raises(TypeError, match=r"must return a Publisher, not list; pyrs.from_iterable makes"):
        operator(pyrs.just(1), tens).collect()
    with pytest.raises(TypeError, match=r"must return a Publisher, not NoneType"):
        operator(pyrs.just(1), lambda n: None).collect()


def test_an_interrupt_in_the_function_is_raised_where_it_struck(operator: Operator) -> None:
    def interrupted(n: int) -> pyrs.Stream[int]:
        raise KeyboardInterrupt

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    with pytest.raises(KeyboardInterrupt):
        operator(pyrs.just(1), interrupted).subscribe(subscriber)
    subscriber.assert_rules()


def test_an_interrupt_in_an_inner_iterable_is_raised_where_it_struck(operator: Operator, wrap: Wrap) -> None:
    def interrupted() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    with pytest.raises(KeyboardInterrupt):
        operator(pyrs.just(1), lambda n: wrap(pyrs.from_iterable(interrupted()))).subscribe(subscriber)
    subscriber.assert_rules()
    assert subscriber.elements in ([1], [])  # it does not wait for what is held


def test_a_subscriber_that_raises_is_told_no_more(operator: Operator, wrap: Wrap, dropped: Any) -> None:
    def fail(subscriber: TestSubscriber[int], element: int) -> None:
        raise ValueError("mine")

    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=fail)
    operator(wrap(pyrs.just(1, 2)), lambda n: wrap(pyrs.from_iterable(tens(n)))).subscribe(subscriber)
    subscriber.assert_elements(10).assert_live()
    assert [str(error) for error in dropped.take()] == ["mine"]


@pytest.mark.parametrize("n", [0, -1])
def test_an_illegal_request_is_answered(operator: Operator, wrap: Wrap, n: int) -> None:
    for inner in (pyrs.never(), pyrs.just(1)):
        for outer in (pyrs.never(), wrap(pyrs.just(1))):
            subscriber: TestSubscriber[int] = TestSubscriber()
            operator(outer, [inner, inner].__getitem__).subscribe(subscriber)
            subscriber.request(n)
            assert "3.9" in str(subscriber.await_error(pyrs.NonPositiveRequest))


def test_synchronous_inner_streams_do_not_nest(operator: Operator, wrap: Wrap) -> None:
    """Synchronous inner streams, one after the other, in constant stack: 3.3."""
    count = 5_000
    inners: list[Callable[[int], pyrs.Stream[int]]] = [
        lambda n: wrap(pyrs.empty()),
        lambda n: wrap(pyrs.just(n)),
        lambda n: pyrs.just(n).concat(),
    ]
    for inner in inners:
        elements = operator(wrap(pyrs.range(count)), inner).collect()
        assert elements in ([], list(range(count)))
        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda me, n: me.request(1))
        operator(wrap(pyrs.range(count)), inner).subscribe(subscriber)
        assert subscriber.await_complete() == elements


def test_shown_as_written(operator: Operator) -> None:
    assert repr(operator(pyrs.range(3), pyrs.just)).endswith("_map(just)")
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
def test_bad_arguments_are_refused_where_they_enter(
    wrong: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


# flat_map.


class Batches(TestSubscriber[Any], IteratorConsumer[Any]):
    """Takes batches, and records them one by one, so that the rules are looked at."""

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
    def test_asks_for_concurrency_and_one_more_for_each_end(self) -> None:
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

    def test_an_inner_stream_is_asked_again_when_three_quarters_were_taken(self) -> None:
        inner = TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.just(1).flat_map(lambda _: inner, prefetch=8).subscribe(subscriber)
        inner.next(*range(8))
        subscriber.request(5)
        assert inner.requests == [8]
        subscriber.request(1)
        assert inner.requests == [8, 6]

    def test_an_iterable_is_pulled_from_as_demanded(self) -> None:
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

    def test_inner_streams_take_turns(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.just(1, 2, 3).flat_map(lambda n: pyrs.from_iterable(itertools.repeat(n)), prefetch=2).subscribe(subscriber)
        subscriber.request(12)
        subscriber.assert_elements(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3).cancel()

    def test_an_error_of_one_lets_go_of_the_others(self, dropped: Any) -> None:
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

    def test_an_error_that_was_held_when_another_ended_the_stream_goes_to_the_hook(self, dropped: Any) -> None:
        first, second = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.just(first, second).flat_map(lambda inner: inner).subscribe(subscriber)
        first.next(1, 2).error(ValueError("held"))
        second.error(ValueError("first"))
        assert str(subscriber.await_error()) == "first"
        assert [str(error) for error in dropped.take()] == ["held"]

    def test_delayed_errors_come_when_all_are_finished(self, dropped: Any) -> None:
        def inner(n: int) -> pyrs.Stream[int]:
            return pyrs.from_iterable(failing(n)) if n % 2 else pyrs.just(n, n)

        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.range(5).flat_map(inner, delay_errors=True).subscribe(subscriber)
        for _ in range(8):
            subscriber.request(1)
        assert str(subscriber.await_error(ValueError)) == "in the iterable"
        assert sorted(subscriber.elements) == [0, 0, 1, 2, 2, 3, 4, 4]
        assert len(dropped.take()) == 1

    def test_a_delayed_error_does_not_miscount_what_a_batch_gave(self, dropped: Any) -> None:
        subscriber = Batches(4)
        stream = pyrs.range(9).flat_map(lambda n: pyrs.from_iterable([n, n, None]), delay_errors=True)
        stream.subscribe(subscriber)
        subscriber.assert_elements(0, 0, 1, 1)
        subscriber.request(100)
        subscriber.await_error(pyrs.NullSignal)
        assert len(subscriber.elements) == 18
        assert len(dropped.take()) == 8

    def test_batches_are_counted(self) -> None:
        inner = TestPublisher[int]()
        subscriber = Batches(0)
        pyrs.just(1, 2).flat_map(lambda n: inner if n == 1 else pyrs.range(9)).subscribe(subscriber)
        inner.next(*range(10, 30))
        for _ in range(10):
            subscriber.request(2)
        assert len(subscriber.assert_rules().elements) == 20

    def test_a_function_that_cancels_begins_nothing(self) -> None:
        inner, closed = TestPublisher[int](), list[int]()

        class Numbers:
            def __iter__(self) -> Iterator[int]:
                return self

            def __next__(self) -> int:
                return 1

            def close(self) -> None:
                closed.append(1)

        class Opening:
            def __iter__(self) -> Iterator[int]:
                return Numbers()

        for publisher in (inner, pyrs.from_iterable(Opening())):
            subscriber: TestSubscriber[int] = TestSubscriber(None)

            def function(n: int, publisher: Any = publisher, subscriber: Any = subscriber) -> Any:
                subscriber.cancel()
                return publisher

            pyrs.just(1).flat_map(function).subscribe(subscriber)
            subscriber.assert_elements().assert_live()
        inner.assert_was_not_subscribed()
        assert closed == [1]

    def test_a_function_that_fails_later_lets_delayed_ones_finish(self) -> None:
        inner = TestPublisher[int]()

        def function(n: int) -> pyrs.Publisher[int]:
            return [inner][n]

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.range(9).flat_map(function, delay_errors=True).subscribe(subscriber)
        inner.emit(5)
        subscriber.await_error(IndexError)
        assert subscriber.elements == [5]

    def test_its_batches_reach_what_is_behind_it(self) -> None:
        twice = pyrs.range(50).flat_map(lambda n: pyrs.range(50)).flat_map(pyrs.just)
        assert twice.collect() == list(range(50)) * 50
        assert pyrs.range(50).flat_map(lambda n: pyrs.range(50)).count().block() == 2_500
        merged = pyrs.range(50).flat_map(lambda n: pyrs.range(50)).merge(pyrs.range(10))
        assert sorted(merged.collect()) == sorted([*list(range(50)) * 50, *range(10)])

    def test_a_function_is_called_without_a_lock(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()

        def function(n: int) -> pyrs.Stream[int]:
            helper = threading.Thread(target=subscriber.request, args=(1,))
            helper.start()
            helper.join(DEADLINE)
            assert not helper.is_alive()
            return pyrs.just(n)

        pyrs.range(5).flat_map(function).subscribe(subscriber)
        assert subscriber.await_complete() == [0, 1, 2, 3, 4]


# concat_map.


class TestConcatMap:
    def test_the_order_is_kept_whatever_comes_first(self) -> None:
        inners = [TestPublisher[str](cold=True), TestPublisher[str](cold=True)]
        subscriber: TestSubscriber[str] = TestSubscriber(None)
        pyrs.just(0, 1).concat_map(inners.__getitem__).subscribe(subscriber)
        inners[1].emit("second")
        inners[1].assert_was_not_subscribed()
        inners[0].emit("first")
        assert subscriber.await_complete() == ["first", "second"]

    def test_inner_streams_are_asked_for_what_is_demanded(self) -> None:
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

    def test_an_outer_error_has_its_turn(self, dropped: Any) -> None:
        outer, inner = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        outer.stream().concat_map(lambda _: inner).subscribe(subscriber)
        outer.next(1).error(ValueError("outer"))
        subscriber.assert_live()
        inner.emit(5)
        assert str(subscriber.await_error()) == "outer"
        assert subscriber.elements == [5]

    def test_an_outer_error_whose_turn_never_comes_goes_to_the_hook(self, dropped: Any) -> None:
        outer, inner = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        outer.stream().concat_map(lambda _: inner).subscribe(subscriber)
        outer.next(1).error(ValueError("outer"))
        inner.error(ValueError("inner"))
        assert str(subscriber.await_error()) == "inner"
        assert [str(error) for error in dropped.take()] == ["outer"]


# switch_map.


class TestSwitchMap:
    def test_the_newest_counts(self) -> None:
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

    def test_held_elements_of_a_replaced_stream_are_dropped(self, dropped: Any) -> None:
        outer, inners = TestPublisher[int](), [TestPublisher[str](), TestPublisher[str]()]
        subscriber: TestSubscriber[str] = TestSubscriber()
        outer.stream().switch_map(inners.__getitem__, prefetch=4).subscribe(subscriber)
        outer.next(0)
        assert inners[0].requests == [4]
        inners[0].next("a", "b").error(ValueError("never seen"))
        outer.next(1).complete()
        inners[1].emit("c")
        subscriber.request(5)
        assert subscriber.await_complete() == ["c"]
        assert [str(error) for error in dropped.take()] == ["never seen"]

    def test_only_the_newest_element_is_held_while_the_subscriber_is_busy(self) -> None:
        outer, first, made = TestPublisher[int](), TestPublisher[int](), list[int]()
        entered, leave = threading.Event(), threading.Event()

        def block(subscriber: TestSubscriber[int], element: int) -> None:
            if element == -1:
                entered.set()
                assert leave.wait(DEADLINE)

        def function(n: int) -> pyrs.Publisher[int]:
            made.append(n)
            return pyrs.just(n) if n else first

        subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=block)
        outer.stream().switch_map(function).subscribe(subscriber)
        outer.next(0)
        busy = threading.Thread(target=first.next, args=(-1, -2))
        busy.start()
        assert entered.wait(DEADLINE)
        outer.next(1, 2, 3).complete()
        leave.set()
        busy.join(DEADLINE)
        assert subscriber.await_complete() == [-1, 3]
        assert made == [0, 3]
