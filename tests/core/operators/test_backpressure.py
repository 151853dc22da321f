"""Prefetching operators, and the on_backpressure operators for sources without back pressure."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.errors import BufferOverflow, NonPositiveRequest
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import notes_of
from tests.rounds import rounds
from tests.waiting import DEADLINE

Wrap = Callable[[Any], pyrs.Stream[Any]]
Operate = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

PREFETCHING: dict[str, Operate] = {
    "prefetch(1)": lambda stream: stream.prefetch(1),
    "prefetch(8)": lambda stream: stream.prefetch(8),
    "limit_rate(8)": lambda stream: stream.limit_rate(8),
    "limit_rate(8, low=8)": lambda stream: stream.limit_rate(8, 8),
    "limit_rate(8, low=1)": lambda stream: stream.limit_rate(8, 1),
}

UNBOUNDED: dict[str, Operate] = {
    "on_backpressure_buffer(2, 'error')": lambda stream: stream.on_backpressure_buffer(2),
    "on_backpressure_buffer(2, 'drop_oldest')": lambda stream: stream.on_backpressure_buffer(2, "drop_oldest"),
    "on_backpressure_buffer(2, 'drop_latest')": lambda stream: stream.on_backpressure_buffer(2, "drop_latest"),
    "on_backpressure_drop()": lambda stream: stream.on_backpressure_drop(),
    "on_backpressure_latest()": lambda stream: stream.on_backpressure_latest(),
    "on_backpressure_error()": lambda stream: stream.on_backpressure_error(),
}

EVERY = PREFETCHING | UNBOUNDED
UNBUFFERED = ("on_backpressure_drop()", "on_backpressure_error()")


@pytest.fixture(params=list(EVERY))
def operator(request: pytest.FixtureRequest) -> Operate:
    return EVERY[request.param]


@pytest.fixture(params=list(UNBOUNDED))
def unbounded(request: pytest.FixtureRequest) -> Operate:
    return UNBOUNDED[request.param]


class TestAllBackpressureOperators:
    def test_every_element_is_emitted_with_unbounded_demand(self, source: Wrap, operator: Operate) -> None:
        assert operator(source(range(1000))).collect(timeout=DEADLINE) == list(range(1000))

    def test_take_cancels_upstream(self, operator: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        operator(publisher.stream()).take(2).subscribe(subscriber)
        publisher.next(1)
        publisher.assert_not_cancelled()
        publisher.next(2)
        publisher.assert_cancelled(1)
        subscriber.assert_elements(1, 2).assert_complete()

    def test_cancel_reaches_upstream(self, operator: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        operator(publisher.stream()).subscribe(subscriber)
        subscriber.cancel()
        publisher.assert_cancelled(1)

    def test_error_follows_the_elements(self, operator: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        operator(publisher.stream()).subscribe(subscriber)
        publisher.next(1)
        publisher.error(KeyError("late"))
        subscriber.assert_elements(1).assert_error(KeyError)

    @pytest.mark.parametrize("text", [text for text in EVERY if text not in UNBUFFERED])
    def test_error_follows_a_buffered_element(self, text: str) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(0)
        EVERY[text](publisher.stream()).subscribe(subscriber)
        publisher.next(1)
        publisher.error(KeyError("late"))
        subscriber.assert_elements().assert_live()
        subscriber.request(1)
        subscriber.assert_elements(1).assert_error(KeyError)

    def test_none_element_signals_null_signal(self, operator: Operate) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        operator(pyrs.from_iterable([1, None])).subscribe(subscriber)
        subscriber.assert_elements(1).assert_error(pyrs.NullSignal)

    def test_negative_request_signals_on_error(self, operator: Operate) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        operator(pyrs.never()).subscribe(subscriber)
        assert subscriber.subscription is not None
        subscriber.subscription.request(-1)
        subscriber.assert_error(NonPositiveRequest)

    def test_repr_shows_the_call(self) -> None:
        for text, operate in EVERY.items():
            assert repr(operate(pyrs.just(1))) == f"just(1).{text}"


class TestPrefetching:
    @pytest.mark.parametrize(
        ("text", "refill"), [("limit_rate(8)", 6), ("limit_rate(8, low=8)", 8), ("prefetch(1)", 1)]
    )
    def test_refill_is_requested_after_the_documented_number_of_elements(self, text: str, refill: int) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        EVERY[text](publisher.stream()).subscribe(subscriber)
        (first,) = publisher.requests
        for n in range(refill):
            assert publisher.requests == [first]
            publisher.next(n)
        assert publisher.requests == [first, refill]

    @pytest.mark.parametrize(("low", "requests"), [(None, [4, 3, 3, 3]), (1, [4, *[1] * 10]), (4, [4, 4, 4])])
    def test_refill_requests_are_the_same_for_a_batch_of_elements(self, low: int | None, requests: list[int]) -> None:
        received: list[int] = []
        assert pyrs.range(10).do_on_request(received.append).limit_rate(4, low).collect() == [*range(10)]
        assert received == requests

    def test_prefetch_is_the_buffer_limit(self, source: Wrap) -> None:
        pulled: list[int] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        source(range(1000)).map(lambda n: (pulled.append(n), n)[1]).prefetch(8).subscribe(subscriber)
        assert len(pulled) == 8
        for n in range(1, 100):
            subscriber.request(1)
            assert len(subscriber.elements) == n
            assert len(pulled) <= n + 8

    @pytest.mark.parametrize("text", list(PREFETCHING))
    def test_any_pattern_of_requests_delivers_every_element(self, text: str, source: Wrap) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        PREFETCHING[text](source(range(100))).subscribe(subscriber)
        subscriber.assert_elements(*range(5))
        for n in (7, 1, 40, 48, 1):
            subscriber.request(n)
        assert subscriber.await_complete() == list(range(100))

    @pytest.mark.parametrize("text", list(PREFETCHING))
    def test_concurrent_requests_lose_no_element(self, text: str, source: Wrap) -> None:
        pool = schedulers.pool(2)
        for _ in range(rounds(100)):
            subscriber: TestSubscriber[int] = TestSubscriber()
            PREFETCHING[text](source(range(40))).subscribe(subscriber)
            barrier = threading.Barrier(3)

            def request_repeatedly(
                barrier: threading.Barrier = barrier, subscriber: TestSubscriber[int] = subscriber
            ) -> None:
                barrier.wait(DEADLINE)
                for _ in range(20):
                    subscriber.request(1)

            pool.execute(request_repeatedly)
            pool.execute(request_repeatedly)
            barrier.wait(DEADLINE)
            subscriber.request(1)
            assert subscriber.await_complete() == list(range(40))
            subscriber.assert_rules()
        assert pool.close(DEADLINE)

    def test_prefetch_and_limit_rate_reject_wrong_arguments(self) -> None:
        stream = pyrs.just(1)
        with pytest.raises(ValueError, match="count"):
            stream.prefetch(0)
        with pytest.raises(TypeError, match="high"):
            stream.limit_rate("many")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="low"):
            stream.limit_rate(4, 5)
        with pytest.raises(ValueError, match="low"):
            stream.limit_rate(4, 0)


class TestOnBackpressure:
    def test_unbounded_demand_is_requested_upstream(self, unbounded: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        unbounded(publisher.stream()).subscribe(subscriber)
        subscriber.request(3)
        assert publisher.requests == [pyrs.UNBOUNDED]

    @pytest.mark.parametrize(
        ("text", "expected", "lost"),
        [
            ("on_backpressure_buffer(2, 'drop_oldest')", [0, 4, 5], 3),
            ("on_backpressure_buffer(2, 'drop_latest')", [0, 1, 2], 3),
            ("on_backpressure_drop()", [0], 5),
            ("on_backpressure_latest()", [0, 5], 4),
        ],
    )
    def test_overflow_strategy_drops_the_documented_elements(
        self, text: str, expected: list[int], lost: int, source: Wrap, dropped: Any
    ) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        UNBOUNDED[text](source(range(6))).subscribe(subscriber)
        assert dropped.elements >= 1
        subscriber.request(10)
        subscriber.assert_elements(*expected).assert_complete()
        assert dropped.elements == lost

    def test_callback_replaces_the_element_hook(self, dropped: Any) -> None:
        lost: list[int] = []
        for stream in (
            pyrs.range(6).on_backpressure_buffer(2, "drop_oldest", lost.append),
            pyrs.range(6).on_backpressure_buffer(2, pyrs.Overflow.DROP_LATEST, lost.append),
            pyrs.range(6).on_backpressure_drop(lost.append),
        ):
            stream.subscribe(TestSubscriber(1))
        assert lost == [1, 2, 3, 3, 4, 5, 1, 2, 3, 4, 5]
        assert dropped.elements == 0

    def test_element_hook_is_called_at_the_first_drop_and_the_end_of_a_series(self, dropped: Any) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.stream().on_backpressure_drop().subscribe(subscriber)
        publisher.next(*range(10))
        assert dropped.elements == 1
        subscriber.request(1)
        publisher.next(10)
        assert dropped.elements == 10
        publisher.next(11, 12)
        subscriber.cancel()
        assert dropped.elements == 12
        subscriber.assert_elements(10)

    def test_buffered_elements_precede_the_overflow_error(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        rejected: list[int] = []
        publisher.stream().on_backpressure_buffer(2, "error", rejected.append).subscribe(subscriber)
        publisher.next(1, 2, 3)
        publisher.assert_not_cancelled()
        publisher.next(4)
        publisher.assert_cancelled(1)
        assert rejected == [4]
        subscriber.assert_elements(1).assert_live()
        subscriber.request(2)
        subscriber.assert_elements(1, 2, 3)
        error = subscriber.assert_error(BufferOverflow)
        assert "on_backpressure_buffer(2, 'error')" in error.__notes__[0]  # type: ignore[attr-defined]

    def test_on_backpressure_error_fails_at_the_first_element_without_demand(self, source: Wrap) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        source(range(5)).on_backpressure_error().subscribe(subscriber)
        subscriber.assert_elements(0, 1).assert_error(BufferOverflow)

    def test_exception_of_a_callback_signals_on_error(self) -> None:
        def broken(element: int) -> None:
            raise OSError(element)

        for operate in (
            lambda stream: stream.on_backpressure_drop(broken),
            lambda stream: stream.on_backpressure_buffer(1, "drop_latest", broken),
            lambda stream: stream.on_backpressure_buffer(1, "drop_oldest", broken),
            lambda stream: stream.on_backpressure_buffer(1, "error", broken),
        ):
            publisher: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber()
            operate(publisher.stream()).subscribe(subscriber)
            publisher.next(0)
            if not publisher.cancel_count:
                publisher.next(1)
            publisher.assert_cancelled(1)
            subscriber.request(2)
            subscriber.assert_error(OSError)

    def test_on_backpressure_operators_reject_wrong_arguments(self) -> None:
        stream = pyrs.just(1)
        with pytest.raises(ValueError, match="capacity"):
            stream.on_backpressure_buffer(0)
        with pytest.raises(ValueError, match="overflow must be one of 'error', 'drop_oldest', 'drop_latest'"):
            stream.on_backpressure_buffer(1, "latest")
        with pytest.raises(TypeError, match="overflow"):
            stream.on_backpressure_buffer(1, 1)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="on_overflow"):
            stream.on_backpressure_buffer(1, "error", 1)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="on_dropped"):
            stream.on_backpressure_drop(1)  # type: ignore[arg-type]

    @pytest.mark.parametrize("text", list(UNBOUNDED))
    def test_concurrent_elements_and_requests_lose_no_element(self, text: str, dropped: Any) -> None:
        count = 40
        pool = schedulers.pool(2)
        for _ in range(rounds(400)):
            publisher: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber()
            UNBOUNDED[text](publisher.stream()).subscribe(subscriber)
            barrier, done = threading.Barrier(2), threading.Event()

            def request_repeatedly(
                barrier: threading.Barrier = barrier,
                done: threading.Event = done,
                subscriber: TestSubscriber[int] = subscriber,
            ) -> None:
                barrier.wait(DEADLINE)
                for _ in range(count + 1):
                    subscriber.request(1)
                done.set()

            pool.execute(request_repeatedly)
            barrier.wait(DEADLINE)
            dropped.counts.clear()
            for n in range(count):
                if not publisher.cancel_count:
                    publisher.next(n)
            if not publisher.cancel_count:
                publisher.complete()
            assert done.wait(DEADLINE)
            subscriber.await_end()
            assert subscriber.elements == sorted(set(subscriber.elements))
            if subscriber.completed:
                assert len(subscriber.elements) + dropped.elements == count
            subscriber.assert_rules()
        assert pool.close(DEADLINE)


class TestReduce:
    def test_elements_without_demand_are_combined_and_none_is_dropped(self, dropped: Any) -> None:
        publisher, subscriber = TestPublisher[str](), TestSubscriber[str](1)
        publisher.stream().on_backpressure_reduce(lambda a, b: a + b).subscribe(subscriber)
        publisher.next("a", "b", "c", "d")
        subscriber.assert_elements("a")
        subscriber.request(2)
        subscriber.assert_elements("a", "bcd")
        publisher.next("e", "f", "g")
        publisher.complete()
        assert not subscriber.ended
        subscriber.request(1)
        subscriber.assert_elements("a", "bcd", "e", "fg").assert_complete()
        assert publisher.requests == [pyrs.UNBOUNDED]
        assert dropped.elements == 0

    @pytest.mark.parametrize("result", [ZeroDivisionError("planned"), None])
    def test_failing_function_fails_the_stream_after_the_buffered_element(self, result: Any) -> None:
        def function(a: int, b: int) -> Any:
            if result is not None:
                raise result

        publisher, subscriber = TestPublisher[int](), TestSubscriber[int](0)
        publisher.stream().on_backpressure_reduce(function).subscribe(subscriber)
        publisher.next(1, 2)
        publisher.assert_cancelled(1)
        subscriber.request(1)
        subscriber.assert_elements(1)
        error = subscriber.await_error()
        assert type(error) is (type(result) if result is not None else pyrs.errors.NullSignal)
        assert "in on_backpressure_reduce(function)" in notes_of(error)[0]
