"""flat_map_sequential: order, concurrency, demand and errors; ``test_flattening`` tests all flattening operators."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick


class TestFlatMapSequential:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS, concurrency=st.integers(1, 4), prefetch=st.integers(1, 3))
    def test_inner_streams_are_emitted_in_order(
        self, numbers: list[int], demands: list[int], concurrency: int, prefetch: int
    ) -> None:
        def inner(n: int) -> pyrs.Stream[int]:
            source = pyrs.from_iterable([n] * max(0, n))
            return source if n % 2 else Counting.of(source).stream()

        agrees(
            lambda s: s.flat_map_sequential(inner, concurrency=concurrency, prefetch=prefetch),
            numbers,
            [n for n in numbers for _ in range(n)],
            demands,
        )

    def test_later_inner_streams_are_subscribed_at_once_and_emitted_in_order(self) -> None:
        first, second = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        later = Counting.of(second)
        pyrs.just(first, later).flat_map_sequential(lambda publisher: publisher, prefetch=4).subscribe(subscriber)
        second.next(3, 4)
        assert later.requests == [4]
        first.next(1)
        assert subscriber.elements == [1]
        first.next(2)
        first.complete()
        assert subscriber.elements == [1, 2, 3, 4]
        second.complete()
        subscriber.await_complete()

    def test_an_outer_element_is_requested_when_the_first_inner_stream_completes(self) -> None:
        outer, first, second = TestPublisher[Any](), TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        counting = Counting.of(outer)
        counting.stream().flat_map_sequential(lambda publisher: publisher, concurrency=2).subscribe(subscriber)
        outer.next(first, second)
        second.complete()
        assert counting.requested == 2
        first.complete()
        assert counting.requested == 4

    def test_errors_are_emitted_in_order(self, dropped: Any) -> None:
        outer, first = TestPublisher[Any](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        outer.stream().flat_map_sequential(lambda publisher: publisher).subscribe(subscriber)
        outer.next(first, pyrs.error(ValueError("second")))
        outer.error(OSError("outer"))
        first.next(1)
        assert not subscriber.ended
        first.complete()
        assert str(subscriber.await_error()) == "second"
        assert subscriber.elements == [1]
        assert [str(error) for error in dropped.take()] == ["outer"]

    def test_delay_errors_signals_the_first_error_after_all_inner_streams(self, dropped: Any) -> None:
        stream = pyrs.just(1, 2, 3).flat_map_sequential(
            lambda n: pyrs.error(ValueError(n)) if n < 3 else pyrs.just(n), delay_errors=True
        )
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        stream.subscribe(subscriber)
        assert str(subscriber.await_error()) == "1"
        assert subscriber.elements == [3]
        assert [str(error) for error in dropped.take()] == ["2"]
