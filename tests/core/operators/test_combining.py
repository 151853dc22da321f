"""merge, concat, zip, combine_latest, with_latest_from, start_with, switch_if_empty, take_until, skip_until."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick

Wrap = Callable[[Any], pyrs.Stream[Any]]
Combine = Callable[..., pyrs.Stream[Any]]

OPERATORS: dict[str, Combine] = {
    "merge": pyrs.merge,
    "concat": pyrs.concat,
    "zip": pyrs.zip,
    "combine_latest": pyrs.combine_latest,
    "with_latest_from": lambda a, b: pyrs.Stream(a).with_latest_from(b),
    "switch_if_empty": lambda a, b: pyrs.Stream(a).switch_if_empty(b),
    "take_until": lambda a, b: pyrs.Stream(a).take_until(b),
    "skip_until": lambda a, b: pyrs.Stream(a).skip_until(b),
}
CONCURRENT = [name for name in OPERATORS if name not in ("concat", "switch_if_empty")]


@pytest.fixture(params=OPERATORS)
def operator(request: pytest.FixtureRequest) -> Combine:
    return OPERATORS[request.param]


@pytest.fixture(params=CONCURRENT)
def concurrent(request: pytest.FixtureRequest) -> Combine:
    return OPERATORS[request.param]


# Properties of every combining operator.


def test_cancel_reaches_every_source(concurrent: Combine) -> None:
    a, b = TestPublisher[int](), TestPublisher[int]()
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    concurrent(a, b).subscribe(subscriber)
    a.assert_subscribers(1)
    b.assert_subscribers(1)
    subscriber.cancel()
    a.assert_cancelled(1)
    b.assert_cancelled(1)


@pytest.mark.parametrize("failing", [0, 1])
def test_error_of_one_source_fails_the_stream_and_cancels_the_other(concurrent: Combine, failing: int) -> None:
    sources = [TestPublisher[int](), TestPublisher[int]()]
    failure = ValueError("no")
    subscriber: TestSubscriber[Any] = TestSubscriber(1)
    concurrent(*sources).subscribe(subscriber)
    sources[failing].error(failure)
    assert subscriber.await_error() is failure
    sources[1 - failing].assert_cancelled(1)


def test_illegal_request_signals_on_error(operator: Combine, wrap: Wrap) -> None:
    for a, b in ((pyrs.never(), pyrs.never()), (wrap(pyrs.just(1, 2)), pyrs.never())):
        subscriber: TestSubscriber[Any] = TestSubscriber()
        operator(a, b).subscribe(subscriber)
        subscriber.request(0)
        assert "3.9" in str(subscriber.await_error(pyrs.NonPositiveRequest))


def test_non_publisher_raises_type_error(operator: Combine) -> None:
    with pytest.raises(TypeError, match="must be a Publisher: int has no subscribe"):
        operator(pyrs.just(1), 5)


def test_subscriber_that_raises_receives_no_more_signals(operator: Combine, wrap: Wrap, dropped: Any) -> None:
    def fail(subscriber: TestSubscriber[Any], element: Any) -> None:
        raise ValueError("mine")

    other = pyrs.just(1) if operator is not OPERATORS["take_until"] else pyrs.never()
    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=fail)
    operator(wrap(pyrs.just(1, 2)), other).subscribe(subscriber)
    assert len(subscriber.assert_live().elements) == 1
    assert [str(error) for error in dropped.take()] == ["mine"]


@pytest.mark.parametrize("name", ["merge", "concat", "zip", "combine_latest"])
def test_sources_may_be_an_iterable_and_may_be_empty(name: str, wrap: Wrap) -> None:
    operator = OPERATORS[name]
    sources = [wrap(pyrs.just(1)), wrap(pyrs.just(2))]
    assert operator(sources).collect() == operator(*sources).collect() == operator(iter(sources)).collect()
    assert operator([]).collect() == operator().collect() == []
    assert operator(wrap(pyrs.just(3))).collect() in ([3], [(3,)])


def test_repr_shows_the_call() -> None:
    a, b = pyrs.range(3), pyrs.just("x")
    assert repr(a.merge(b)) == "merge(range(0, 3), just('x'))"
    assert repr(a.concat(b)) == "concat(range(0, 3), just('x'))"
    assert repr(a.zip(b, combine=max)) == "zip(range(0, 3), just('x'), combine=max)"
    assert repr(pyrs.combine_latest([a, b])) == "combine_latest(range(0, 3), just('x'))"
    assert repr(a.with_latest_from(b)) == "range(0, 3).with_latest_from(just('x'))"
    assert repr(a.start_with(-2, -1)) == "range(0, 3).start_with(-2, -1)"
    assert repr(a.switch_if_empty(b).map(str)) == "range(0, 3).switch_if_empty(just('x')).map(str)"
    assert repr(a.take_until(b)) == "range(0, 3).take_until(just('x'))"
    assert repr(a.skip_until(b)) == "range(0, 3).skip_until(just('x'))"


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.merge(1), TypeError, r"others\[0\] must be a Publisher: int has no subscribe"),
        (lambda s: s.merge(s, concurrency=0), ValueError, "concurrency must be at least 1, not 0"),
        (lambda s: s.merge(s, prefetch=0), ValueError, "prefetch must be at least 1, not 0"),
        (lambda s: s.zip(s, prefetch="1"), TypeError, "prefetch must be an integer, not str"),
        (lambda s: s.zip(s, combine=1), TypeError, "combine must be callable, not int"),
        (lambda s: s.combine_latest(s, combine=1), TypeError, "combine must be callable, not int"),
        (lambda s: s.combine_latest(s, prefetch=0), ValueError, "prefetch must be at least 1, not 0"),
        (lambda s: s.with_latest_from(s, 5), TypeError, "combine must be callable, not int"),
        (lambda s: s.start_with(1, None), pyrs.NullSignal, "None is not an element"),
        (lambda s: s.concat(None), TypeError, r"others\[0\] must be a Publisher: NoneType"),
        (lambda s: pyrs.zip(5), TypeError, r"sources\[0\] must be a Publisher: int"),  # type: ignore[call-overload]
        (lambda s: pyrs.merge([s, 5]), TypeError, r"sources\[1\] must be a Publisher: int"),  # type: ignore[list-item]
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


@pytest.mark.parametrize("name", ["zip", "combine_latest", "with_latest_from"])
def test_combine_that_raises_or_returns_none_signals_on_error(name: str, wrap: Wrap) -> None:
    def return_none(*elements: Any) -> None:
        return None

    def raise_error(*elements: Any) -> None:
        raise ValueError(elements)

    source = wrap(pyrs.just(1))
    for combine, kind in ((return_none, pyrs.NullSignal), (raise_error, ValueError)):
        with pytest.raises(kind) as raised:
            getattr(source, name)(pyrs.just(2), combine=combine).collect()
        assert f"{name}(" in "".join(getattr(raised.value, "__notes__", ()))
    assert getattr(source, name)(pyrs.just(2), combine=lambda a, b: a + b).collect() == [3]


# merge.


class TestMerge:
    def test_elements_are_merged_in_order_of_arrival(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        a.stream().merge(b, prefetch=4).subscribe(subscriber)
        assert a.requests == b.requests == [4]
        a.next(1)
        b.next(2)
        a.next(3)
        subscriber.assert_elements(1, 2, 3)
        a.complete()
        subscriber.assert_live()
        b.complete()
        subscriber.assert_complete()

    def test_buffered_elements_are_replaced_only_after_they_are_emitted(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber()
        a.stream().merge(b, prefetch=4).subscribe(subscriber)
        a.next(1, 2, 3, 4)
        b.next(5).complete()
        assert a.requests == [4]
        subscriber.request(3)
        assert a.requests == [4, 3]
        subscriber.request(2)
        assert sorted(subscriber.elements) == [1, 2, 3, 4, 5]

    def test_infinite_iterables_alternate(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(8)
        pyrs.merge([pyrs.from_iterable(itertools.repeat(n)) for n in (1, 2)], prefetch=2).subscribe(subscriber)
        subscriber.assert_elements(1, 1, 2, 2, 1, 1, 2, 2).cancel()

    def test_concurrency_limits_the_subscribed_sources(self) -> None:
        sources = [TestPublisher[int](cold=True) for _ in range(3)]
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.merge(sources, concurrency=2).subscribe(subscriber)
        sources[2].emit(5).assert_was_not_subscribed()
        sources[1].complete()
        subscriber.assert_elements(5)
        sources[0].complete()
        subscriber.await_complete()

    def test_delay_errors_signals_the_error_after_the_other_sources(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        a.stream().merge(b, delay_errors=True).subscribe(subscriber)
        a.error(ValueError("other"))
        b.emit(1)
        assert str(subscriber.await_error()) == "other"
        subscriber.assert_elements(1)

    def test_error_during_subscription_skips_the_remaining_sources(self) -> None:
        last = TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.merge(pyrs.error(ValueError("no")), last).subscribe(subscriber)
        subscriber.await_error(ValueError)
        last.assert_no_subscribers()

    def test_merge_of_ten_thousand_sources_emits_every_element(self, wrap: Wrap) -> None:
        assert sorted(pyrs.merge(wrap(pyrs.just(n)) for n in range(10_000)).collect()) == list(range(10_000))


# concat, start_with, switch_if_empty.


class TestSequentialSources:
    def test_remaining_demand_goes_to_the_next_source(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        pyrs.concat(a, b).subscribe(subscriber)
        a.next(1, 2)
        b.assert_was_not_subscribed()
        a.complete()
        assert (a.requests, b.requests) == ([5], [3])
        b.emit(3)
        assert subscriber.await_complete() == [1, 2, 3]

    def test_error_prevents_subscription_to_the_next_source(self) -> None:
        b = TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        pyrs.concat(pyrs.error(ValueError("no")), b).subscribe(subscriber)
        subscriber.await_error(ValueError)
        b.assert_was_not_subscribed()

    def test_ten_thousand_sources_use_constant_stack_depth(self, wrap: Wrap) -> None:
        stream = pyrs.concat(wrap(pyrs.just(n)) for n in range(10_000))
        assert stream.collect() == list(range(10_000))
        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda this, n: this.request(1))
        stream.subscribe(subscriber)
        assert len(subscriber.await_complete()) == 10_000

    def test_start_with_emits_its_elements_before_subscribing(self, wrap: Wrap) -> None:
        source = TestPublisher[int](cold=True).emit(3, 4)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        wrap(source.stream()).start_with(1, 2).subscribe(subscriber)
        subscriber.assert_elements(1)
        source.assert_was_not_subscribed()
        subscriber.request(2)
        subscriber.assert_elements(1, 2, 3)
        source.assert_max_requested(1)
        subscriber.request(2)
        subscriber.assert_elements(1, 2, 3, 4).assert_complete()
        assert wrap(pyrs.just(1)).start_with().collect() == [1]

    def test_switch_if_empty_subscribes_only_if_the_source_is_empty(self, wrap: Wrap) -> None:
        other = TestPublisher[int](cold=True).emit(7, 8)
        assert wrap(pyrs.just(1)).switch_if_empty(other).collect() == [1]
        other.assert_was_not_subscribed()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        wrap(pyrs.empty()).switch_if_empty(other).subscribe(subscriber)
        subscriber.assert_elements(7)
        other.assert_max_requested(1)
        subscriber.request(1)
        subscriber.assert_elements(7, 8).assert_complete()
        assert wrap(pyrs.empty()).switch_if_empty(pyrs.empty()).collect() == []

    def test_switch_if_empty_propagates_an_error(self) -> None:
        with pytest.raises(ValueError, match="no"):
            pyrs.error(ValueError("no")).switch_if_empty(pyrs.just(1)).collect()

    @pytest.mark.parametrize("second", [False, True])
    def test_cancel_reaches_the_current_source(self, second: bool) -> None:
        for operator in (pyrs.concat, OPERATORS["switch_if_empty"]):
            a, b = TestPublisher[int](), TestPublisher[int]()
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            operator(a, b).subscribe(subscriber)
            if second:
                a.complete()
            subscriber.cancel()
            assert (a.cancel_count, b.cancel_count) == ((0, 1) if second else (1, 0))


# then, zip.


class TestThen:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS)
    def test_then_ignores_the_elements_and_emits_the_other_stream(self, numbers: list[int], demands: list[int]) -> None:
        agrees(lambda s: s.then(pyrs.just("a", "b")), numbers, ["a", "b"], demands)

    def test_first_request_runs_the_source_and_the_other_stream_gets_the_exact_demand(self) -> None:
        first, other = Counting([1, 2, 3]), Counting("abc")
        subscriber: TestSubscriber[str] = TestSubscriber()
        first.stream().then(other).subscribe(subscriber)
        assert (first.requests, other.subscriptions) == ([], 0)
        subscriber.request(2)
        assert (first.requests, other.requests) == ([pyrs.UNBOUNDED], [2])
        assert subscriber.elements == ["a", "b"]

    def test_error_prevents_subscription_to_the_other_stream(self) -> None:
        other = Counting("abc")
        with pytest.raises(ValueError, match="planned"):
            pyrs.error(ValueError("planned")).then(other).collect()
        assert other.subscriptions == 0

    def test_repr_shows_the_call_and_a_non_publisher_is_rejected(self) -> None:
        assert repr(pyrs.just(1).then(pyrs.just(2))).endswith(".then(just(2))")
        with pytest.raises(TypeError, match="other must be a Publisher"):
            pyrs.just(1).then([2])  # type: ignore[call-overload]


class TestZip:
    def test_zip_completes_with_the_shortest_source(self, wrap: Wrap) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        wrap(pyrs.range(100)).zip(wrap(pyrs.just("a", "b"))).subscribe(subscriber)
        subscriber.request(2)
        subscriber.assert_elements((0, "a"), (1, "b")).assert_complete()

    def test_zip_completes_without_demand_if_a_source_is_exhausted(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        pyrs.zip(a, b).subscribe(subscriber)
        a.next(1)
        b.complete()
        subscriber.assert_complete()
        a.assert_cancelled(1)
        other = TestPublisher[int]()
        assert pyrs.zip(pyrs.empty(), other).collect() == []
        other.assert_was_not_subscribed()

    def test_zip_refills_before_it_emits_the_remaining_tuples(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        requested: list[int] = []
        subscriber: TestSubscriber[Any] = TestSubscriber(on_element=lambda *_: requested.append(sum(a.requests)))
        pyrs.zip(a, b, prefetch=4).subscribe(subscriber)
        a.next(1, 2, 3, 4)
        b.next(1, 2, 3, 4)
        subscriber.request(4)
        assert requested == [4, 4, 4, 7]

    def test_zip_requests_prefetch_and_refills_at_three_quarters(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        pyrs.zip(a, b, prefetch=4).subscribe(subscriber)
        assert a.requests == b.requests == [4]
        a.next(1, 2, 3, 4)
        assert a.requests == [4]
        b.next(1, 2, 3)
        assert a.requests == b.requests == [4, 3]
        assert subscriber.elements == [(1, 1), (2, 2), (3, 3)]

    def test_error_follows_the_elements_of_its_source(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        pyrs.zip(a, b).subscribe(subscriber)
        a.next(1).error(ValueError("no"))
        subscriber.assert_live()
        b.next(1)
        subscriber.await_error(ValueError)
        subscriber.assert_elements((1, 1))

    def test_buffered_error_is_dropped_if_another_source_is_exhausted(self, dropped: Any) -> None:
        a, b = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        pyrs.zip(a, b).subscribe(subscriber)
        a.next(1).error(ValueError("buffered"))
        b.complete()
        subscriber.assert_complete()
        assert [str(error) for error in dropped.take()] == ["buffered"]

    def test_cancel_during_on_next_stops_after_current_element(self, wrap: Wrap) -> None:
        def cancel(subscriber: TestSubscriber[Any], row: Any) -> None:
            if row[0] == 1:
                subscriber.cancel()

        subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=cancel)
        pyrs.zip(wrap(pyrs.range(9)), wrap(pyrs.range(9)), pyrs.range(9)).subscribe(subscriber)
        subscriber.assert_elements((0, 0, 0), (1, 1, 1)).assert_live()


def test_zip_emits_buffered_elements_of_a_completed_source_in_several_requests() -> None:
    source = TestPublisher[int]()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.zip(source, prefetch=4).subscribe(subscriber)
    source.next(1, 2, 3, 4).complete()
    subscriber.request(3)
    subscriber.request(1)
    subscriber.assert_elements((1,), (2,), (3,), (4,)).assert_complete()


# combine_latest, with_latest_from.


class TestLatest:
    def test_combine_latest_emits_for_each_element_after_every_source_has_one(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[str]()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        a.stream().combine_latest(b).subscribe(subscriber)
        a.next(1, 2)
        b.next("a")
        a.next(3)
        b.next("b").complete()
        a.next(4).complete()
        subscriber.assert_elements((2, "a"), (3, "a"), (3, "b"), (4, "b")).assert_complete()

    def test_combine_latest_keeps_the_order_of_arrival_without_demand(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[str]()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        a.stream().combine_latest(b, prefetch=4).subscribe(subscriber)
        a.next(1)
        b.next("a")
        a.next(2)
        b.next("b")
        a.next(3, 4)
        assert a.requests == b.requests == [4]
        for _ in range(4):
            subscriber.request(1)
        assert a.requests == [4, 3]
        subscriber.request(9)
        subscriber.assert_elements((1, "a"), (2, "a"), (2, "b"), (3, "b"), (4, "b"))

    def test_combine_latest_refills_for_elements_that_are_not_combined(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[str]()
        pyrs.combine_latest(a, b, prefetch=4).subscribe(TestSubscriber())
        a.next(1, 2, 3)
        assert a.requests == [4, 3]

    def test_combine_latest_completes_if_a_source_is_empty(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[str]()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        pyrs.combine_latest(a, b).subscribe(subscriber)
        a.next(1)
        b.complete()
        subscriber.assert_complete()
        a.assert_cancelled(1)

    def test_combine_latest_subscribes_to_all_sources_before_draining_one(self, wrap: Wrap) -> None:
        def endless() -> Iterator[int]:
            for n in range(1_000_000):
                assert n < 10_000, "the source is drained before the others are subscribed"
                yield n

        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        pyrs.combine_latest(wrap(pyrs.from_iterable(endless())), pyrs.just("a"), prefetch=4).take(3).subscribe(
            subscriber
        )
        subscriber.assert_elements((3, "a"), (4, "a"), (5, "a")).assert_complete()

    def test_combine_latest_accepts_elements_during_subscribe(self) -> None:
        def emit(emitter: Any) -> None:
            while not emitter.cancelled:
                emitter.next("a")

        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        pyrs.combine_latest(pyrs.just(1), pyrs.create(emit)).take(2).subscribe(subscriber)
        subscriber.assert_elements((1, "a"), (1, "a")).assert_complete()

    @pytest.mark.parametrize(
        "first", [pyrs.empty(), pyrs.error(OSError("planned")), pyrs.just(1).concat(pyrs.error(OSError()))]
    )
    def test_combine_latest_skips_remaining_sources_after_termination(self, first: pyrs.Stream[Any]) -> None:
        second = TestPublisher[int]()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        pyrs.combine_latest(first, second).subscribe(subscriber)
        assert subscriber.completed or isinstance(subscriber.error, OSError)
        assert second.subscribe_count == 0

    def test_combine_latest_signals_the_first_error_after_preceding_elements(self, dropped: Any) -> None:
        a, b = TestPublisher[int](), TestPublisher[str]()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        pyrs.combine_latest(a, b).subscribe(subscriber)
        a.next(1)
        b.next("a").error(ValueError("first"))
        a.error(ValueError("second"))
        subscriber.request(1)
        assert str(subscriber.await_error()) == "first"
        subscriber.assert_elements((1, "a"))
        assert [str(error) for error in dropped.take()] == ["second"]

    def test_with_latest_from_combines_with_the_latest_element(self) -> None:
        a, b = TestPublisher[int](), TestPublisher[str]()
        subscriber: TestSubscriber[Any] = TestSubscriber(2)
        a.stream().with_latest_from(b).subscribe(subscriber)
        assert (a.requests, b.requests) == ([2], [pyrs.UNBOUNDED])
        a.next(1)
        assert a.requests == [2, 1]
        b.next("a", "b")
        a.next(2)
        b.next("c").complete()
        a.next(3)
        subscriber.assert_elements((2, "b"), (3, "c")).assert_live()
        assert a.requests == [2, 1]
        a.complete()
        subscriber.assert_complete()

    def test_with_latest_from_an_empty_source_completes(self) -> None:
        a = TestPublisher[int]()
        subscriber: TestSubscriber[Any] = TestSubscriber()
        a.stream().with_latest_from(pyrs.empty()).subscribe(subscriber)
        subscriber.assert_complete()
        a.assert_no_subscribers()
        b = TestPublisher[int]()
        subscriber = TestSubscriber()
        a.stream().with_latest_from(b).subscribe(subscriber)
        b.complete()
        subscriber.assert_complete()
        a.assert_cancelled()

    def test_with_latest_from_emits_every_element_with_single_requests(self, wrap: Wrap) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda this, _: this.request(1))
        wrap(pyrs.range(5_000)).with_latest_from(pyrs.just(0)).subscribe(subscriber)
        assert len(subscriber.await_complete()) == 5_000


# take_until, skip_until.


class TestUntil:
    @pytest.mark.parametrize("trigger", [lambda other: other.next(0), lambda other: other.complete()])
    def test_take_until_completes_on_the_first_signal(self, trigger: Callable[[Any], object]) -> None:
        main, other = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        main.stream().take_until(other).subscribe(subscriber)
        assert (main.requests, other.requests) == ([5], [1])
        main.next(1, 2)
        subscriber.assert_elements(1, 2).assert_live()
        trigger(other)
        subscriber.assert_elements(1, 2).assert_complete()
        main.assert_cancelled(1)

    def test_take_until_completes_with_its_source_and_cancels_the_other(self, wrap: Wrap) -> None:
        other = TestPublisher[int]()
        assert wrap(pyrs.range(5_000)).take_until(other).collect() == list(range(5_000))
        other.assert_cancelled(1)

    def test_take_until_with_an_immediate_signal_does_not_subscribe(self) -> None:
        main = TestPublisher[int]()
        assert main.stream().take_until(pyrs.just(1)).collect() == []
        main.assert_was_not_subscribed()

    @pytest.mark.parametrize("trigger", [lambda other: other.next(0), lambda other: other.complete()])
    def test_skip_until_emits_after_the_first_signal(self, trigger: Callable[[Any], object]) -> None:
        main, other = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        main.stream().skip_until(other).subscribe(subscriber)
        main.next(1, 2, 3)
        assert main.requests == [2, 1, 1, 1]
        trigger(other)
        main.next(4, 5).complete()
        subscriber.assert_elements(4, 5).assert_complete()

    def test_skip_until_completes_with_its_source(self, wrap: Wrap) -> None:
        other = TestPublisher[int]()
        assert wrap(pyrs.range(5_000)).skip_until(other).collect() == []
        other.assert_cancelled(1)
        assert wrap(pyrs.range(3)).skip_until(pyrs.empty()).collect() == [0, 1, 2]

    @pytest.mark.parametrize("name", ["take_until", "skip_until"])
    def test_take_until_and_skip_until_complete_with_single_requests(self, name: str, wrap: Wrap) -> None:
        other = pyrs.never() if name == "take_until" else pyrs.just(0)
        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda this, _: this.request(1))
        getattr(wrap(pyrs.range(5_000)), name)(other).subscribe(subscriber)
        assert len(subscriber.await_complete()) == 5_000


def test_repeated_concat_is_flattened_and_reprs_stay_short() -> None:
    pages: pyrs.Stream[int] = pyrs.just(0)
    for n in range(1, 2_000):
        pages = pages.concat(pyrs.just(n))
    assert pages.collect() == list(range(2_000))
    merged, zipped = pyrs.range(3), pyrs.range(3)
    for _ in range(40):
        merged, zipped = merged.merge(merged), zipped.zip(zipped)  # type: ignore[assignment]
    assert max(len(repr(each)) for each in (pages, merged, zipped)) < 1_000
    assert repr(pyrs.just(*range(300_000))) == "just(0, 1, 2, 3, 4, 5, 6, 7, ...)"
