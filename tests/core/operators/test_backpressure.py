"""Operators that request ahead, and those for sources that cannot be slowed: buffer, drop, latest, error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.errors import BufferOverflow, NonPositiveRequest
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE

Wrap = Callable[[Any], pyrs.Stream[Any]]
Operate = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

AHEAD: dict[str, Operate] = {
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

EVERY = AHEAD | UNBOUNDED


@pytest.fixture(params=list(EVERY))
def every(request: pytest.FixtureRequest) -> Operate:
    return EVERY[request.param]


@pytest.fixture(params=list(UNBOUNDED))
def unbounded(request: pytest.FixtureRequest) -> Operate:
    return UNBOUNDED[request.param]


class TestEvery:
    def test_with_unbounded_demand_every_element_passes(self, source: Wrap, every: Operate) -> None:
        assert every(source(range(1000))).collect(timeout=DEADLINE) == list(range(1000))

    def test_take_behind_it_cancels_upstream(self, every: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        every(publisher.stream()).take(2).subscribe(subscriber)
        publisher.next(1)
        publisher.assert_not_cancelled()
        publisher.next(2)
        publisher.assert_cancelled(1)
        subscriber.assert_elements(1, 2).assert_complete()

    def test_cancel_reaches_upstream(self, every: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        every(publisher.stream()).subscribe(subscriber)
        subscriber.cancel()
        publisher.assert_cancelled(1)

    def test_an_error_comes_after_what_is_held(self, every: Operate) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        every(publisher.stream()).subscribe(subscriber)
        publisher.next(1)
        publisher.error(KeyError("late"))
        subscriber.assert_elements(1).assert_error(KeyError)

    def test_none_is_refused(self, every: Operate) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        every(pyrs.from_iterable([1, None])).subscribe(subscriber)
        subscriber.assert_elements(1).assert_error(pyrs.NullSignal)

    def test_a_demand_of_nothing(self, every: Operate) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        every(pyrs.never()).subscribe(subscriber)
        assert subscriber.subscription is not None
        subscriber.subscription.request(-1)
        subscriber.assert_error(NonPositiveRequest)

    def test_how_it_is_shown(self) -> None:
        for text, operate in EVERY.items():
            assert repr(operate(pyrs.just(1))) == f"just(1).{text}"


class TestAhead:
    @pytest.mark.parametrize(
        ("text", "refill"), [("limit_rate(8)", 6), ("limit_rate(8, low=8)", 8), ("prefetch(1)", 1)]
    )
    def test_requests_above(self, text: str, refill: int) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        EVERY[text](publisher.stream()).subscribe(subscriber)
        (first,) = publisher.requests
        for n in range(refill):
            assert publisher.requests == [first]
            publisher.next(n)
        assert publisher.requests == [first, refill]

    def test_it_holds_no_more_than_it_says(self, source: Wrap) -> None:
        pulled: list[int] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        source(range(1000)).map(lambda n: (pulled.append(n), n)[1]).prefetch(8).subscribe(subscriber)
        assert len(pulled) == 8
        for n in range(1, 100):
            subscriber.request(1)
            assert len(subscriber.elements) == n
            assert len(pulled) <= n + 8

    @pytest.mark.parametrize("text", list(AHEAD))
    def test_more_taken_than_the_low_tide_and_more_held(self, text: str, source: Wrap) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        AHEAD[text](source(range(100))).subscribe(subscriber)
        subscriber.assert_elements(*range(5))
        for n in (7, 1, 40, 48, 1):
            subscriber.request(n)
        assert subscriber.await_complete() == list(range(100))

    @pytest.mark.parametrize("text", list(AHEAD))
    def test_requests_from_two_threads_lose_nothing(self, text: str, source: Wrap) -> None:
        pool = schedulers.pool(2)
        for _ in range(100):
            subscriber: TestSubscriber[int] = TestSubscriber()
            AHEAD[text](source(range(40))).subscribe(subscriber)
            barrier = threading.Barrier(3)

            def ask(barrier: threading.Barrier = barrier, who: TestSubscriber[int] = subscriber) -> None:
                barrier.wait(DEADLINE)
                for _ in range(20):
                    who.request(1)

            pool.execute(ask)
            pool.execute(ask)
            barrier.wait(DEADLINE)
            subscriber.request(1)
            assert subscriber.await_complete() == list(range(40))
            subscriber.assert_rules()
        assert pool.close(DEADLINE)

    def test_what_it_refuses(self) -> None:
        stream = pyrs.just(1)
        with pytest.raises(ValueError, match="count"):
            stream.prefetch(0)
        with pytest.raises(TypeError, match="high"):
            stream.limit_rate("many")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="low"):
            stream.limit_rate(4, 5)
        with pytest.raises(ValueError, match="low"):
            stream.limit_rate(4, 0)


class TestUnbounded:
    def test_everything_is_requested_at_once(self, unbounded: Operate) -> None:
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
    def test_which_elements_are_dropped(
        self, text: str, expected: list[int], lost: int, source: Wrap, dropped: Any
    ) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        UNBOUNDED[text](source(range(6))).subscribe(subscriber)
        assert dropped.elements >= 1
        subscriber.request(10)
        subscriber.assert_elements(*expected).assert_complete()
        assert dropped.elements == lost

    def test_the_callback_is_told_in_place_of_the_hook(self, dropped: Any) -> None:
        lost: list[int] = []
        for stream in (
            pyrs.range(6).on_backpressure_buffer(2, "drop_oldest", lost.append),
            pyrs.range(6).on_backpressure_buffer(2, pyrs.Overflow.DROP_LATEST, lost.append),
            pyrs.range(6).on_backpressure_drop(lost.append),
        ):
            stream.subscribe(TestSubscriber(1))
        assert lost == [1, 2, 3, 3, 4, 5, 1, 2, 3, 4, 5]
        assert dropped.elements == 0

    def test_the_hook_is_told_when_the_dropping_is_over(self, dropped: Any) -> None:
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

    def test_what_is_held_comes_before_the_error_of_an_overflow(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        refused: list[int] = []
        publisher.stream().on_backpressure_buffer(2, "error", refused.append).subscribe(subscriber)
        publisher.next(1, 2, 3)
        publisher.assert_not_cancelled()
        publisher.next(4)
        publisher.assert_cancelled(1)
        assert refused == [4]
        subscriber.assert_elements(1).assert_live()
        subscriber.request(2)
        subscriber.assert_elements(1, 2, 3)
        error = subscriber.assert_error(BufferOverflow)
        assert "on_backpressure_buffer(2, 'error')" in error.__notes__[0]  # type: ignore[attr-defined]

    def test_an_error_without_a_buffer_comes_at_once(self, source: Wrap) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        source(range(5)).on_backpressure_error().subscribe(subscriber)
        subscriber.assert_elements(0, 1).assert_error(BufferOverflow)

    def test_callbacks_that_raise(self) -> None:
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

    def test_what_they_refuse(self) -> None:
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
    def test_elements_and_requests_from_two_threads(self, text: str, dropped: Any) -> None:
        rounds, count = 400, 40
        pool = schedulers.pool(2)
        for _ in range(rounds):
            publisher: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber()
            UNBOUNDED[text](publisher.stream()).subscribe(subscriber)
            barrier, done = threading.Barrier(2), threading.Event()

            def ask(
                barrier: threading.Barrier = barrier,
                done: threading.Event = done,
                subscriber: TestSubscriber[int] = subscriber,
            ) -> None:
                barrier.wait(DEADLINE)
                for _ in range(count + 1):
                    subscriber.request(1)
                done.set()

            pool.execute(ask)
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
