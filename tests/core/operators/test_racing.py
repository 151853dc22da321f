"""merge_comparing, first_with_signal and first_with_value: order, the winning source, demand, cancels and errors."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, WAYS, Counting, agrees, quick
from tests.waiting import DEADLINE, run_on_threads

Race = Callable[..., pyrs.Stream[Any]]
RACES: dict[str, Race] = {
    "first_with_signal": lambda a, *others: pyrs.Stream(a).first_with_signal(*others),
    "first_with_value": lambda a, *others: pyrs.Stream(a).first_with_value(*others),
}


@pytest.fixture(params=RACES)
def race(request: pytest.FixtureRequest) -> Race:
    return RACES[request.param]


class TestMergeComparing:
    @quick
    @given(
        numbers=NUMBERS,
        others=st.lists(NUMBERS, max_size=3),
        demands=DEMANDS,
        prefetch=st.integers(1, 4),
        way=st.sampled_from(sorted(WAYS)),
        reverse=st.booleans(),
    )
    def test_sorted_sources_are_merged_like_heapq_merge(
        self, numbers: list[int], others: list[list[int]], demands: list[int], prefetch: int, way: str, reverse: bool
    ) -> None:
        ordered = [sorted(each, reverse=reverse) for each in [numbers, *others]]
        agrees(
            lambda s: s.merge_comparing(*(WAYS[way](each) for each in ordered[1:]), reverse=reverse, prefetch=prefetch),
            ordered[0],
            list(heapq.merge(*ordered, reverse=reverse)),
            demands,
        )

    @quick
    @given(keys=st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=6), reverse=st.booleans())
    def test_equal_keys_keep_the_order_of_the_sources(self, keys: list[list[int]], reverse: bool) -> None:
        ordered = [[(key, place) for key in sorted(each, reverse=reverse)] for place, each in enumerate(keys)]
        first, *others = map(pyrs.from_iterable, ordered)
        merged = first.merge_comparing(*others, key=itemgetter(0), reverse=reverse)
        assert merged.collect() == list(heapq.merge(*ordered, key=itemgetter(0), reverse=reverse))

    def test_key_is_compared_and_equal_keys_keep_the_order_of_the_sources(self) -> None:
        words = pyrs.just("a", "ccc").merge_comparing(pyrs.just("b", "dd", "eee"), key=len)
        assert words.collect() == ["a", "b", "dd", "ccc", "eee"]

    def test_an_element_waits_until_each_active_source_has_one(self) -> None:
        first, second = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        first.stream().merge_comparing(second).subscribe(subscriber)
        first.next(1, 5)
        assert subscriber.elements == []
        second.next(3)
        assert subscriber.elements == [1, 3]
        second.complete()
        assert subscriber.elements == [1, 3, 5]
        first.complete()
        subscriber.await_complete()

    def test_error_follows_the_elements_of_its_source_and_cancels_the_other(self) -> None:
        first, second = TestPublisher[int](), TestPublisher[int]()
        subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        first.stream().merge_comparing(second).subscribe(subscriber)
        first.next(1)
        first.error(ValueError("planned"))
        second.next(2)
        assert str(subscriber.await_error()) == "planned"
        assert subscriber.elements == [1]
        second.assert_cancelled(1)

    @pytest.mark.parametrize("key", [lambda n: 1 // n, lambda n: object()])
    def test_exception_of_the_key_or_the_comparison_names_the_operator(self, key: Callable[[int], Any]) -> None:
        with pytest.raises((ZeroDivisionError, TypeError)) as raised:
            pyrs.just(0).merge_comparing(pyrs.just(0), key=key).collect()
        assert "merge_comparing(" in "".join(getattr(raised.value, "__notes__", ()))


class TestRace:
    @quick
    @given(numbers=NUMBERS, demands=DEMANDS)
    def test_winner_emits_all_its_elements(self, numbers: list[int], demands: list[int]) -> None:
        for race in RACES.values():
            if numbers or race is RACES["first_with_signal"]:
                agrees(lambda s, race=race: race(s, pyrs.never()), numbers, numbers, demands)  # type: ignore[misc]
                agrees(lambda s, race=race: race(pyrs.never(), s), numbers, numbers, demands)  # type: ignore[misc]

    def test_demand_goes_to_each_source_until_one_has_won(self, race: Race) -> None:
        first, second = TestPublisher[int](), TestPublisher[int]()
        counting = [Counting.of(first), Counting.of(second)]
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        race(*counting).subscribe(subscriber)
        assert [each.requests for each in counting] == [[2], [2]]
        second.next(7)
        assert [each.cancels for each in counting] == [1, 0]
        subscriber.request(3)
        assert [each.requests for each in counting] == [[2], [2, 3]]
        second.next(8)
        second.complete()
        assert subscriber.await_complete() == [7, 8]

    def test_sources_after_a_synchronous_winner_are_not_subscribed_to(self, race: Race) -> None:
        later = Counting([1])
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        race(pyrs.just(5, 6), later).subscribe(subscriber)
        assert (subscriber.elements, later.subscriptions) == ([5], 0)
        subscriber.cancel()

    def test_cancel_reaches_every_source(self, race: Race) -> None:
        sources = [TestPublisher[int](), TestPublisher[int]()]
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        race(*sources).subscribe(subscriber)
        subscriber.cancel()
        for each in sources:
            each.assert_cancelled(1)

    def test_empty_stream_wins_by_signal_and_loses_by_value(self) -> None:
        assert pyrs.empty().first_with_signal(pyrs.just(1)).collect() == []
        assert pyrs.empty().first_with_value(pyrs.just(1)).collect() == [1]

    def test_failed_stream_wins_by_signal_and_loses_by_value(self, dropped: Any) -> None:
        failing = pyrs.error(ValueError("planned"))
        with pytest.raises(ValueError, match="planned"):
            failing.first_with_signal(pyrs.just(1)).collect()
        assert failing.first_with_value(pyrs.just(1)).collect() == [1]
        assert [str(error) for error in dropped.take()] == ["planned"]

    def test_sources_without_an_element_fail_with_the_first_error_as_cause(self, dropped: Any) -> None:
        sources = [pyrs.empty(), pyrs.error(ValueError("first")), pyrs.error(OSError("second"))]
        with pytest.raises(pyrs.NoElement, match="no source emitted an element") as raised:
            RACES["first_with_value"](*sources).collect()
        assert str(raised.value.__cause__) == "first"
        assert [str(error) for error in dropped.take()] == ["second"]

    def test_concurrent_sources_have_one_winner(self, race: Race) -> None:
        for _ in range(50):
            sources = [TestPublisher[int]() for _ in range(3)]
            subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED, timeout=DEADLINE)
            race(*sources).subscribe(subscriber)
            start = threading.Barrier(3)

            def emit(source: TestPublisher[int], n: int, start: threading.Barrier = start) -> None:
                start.wait(DEADLINE)
                source.next(n, n)
                source.complete()

            run_on_threads(*(partial(emit, each, n) for n, each in enumerate(sources)))
            assert subscriber.await_complete() in ([0, 0], [1, 1], [2, 2])
            subscriber.assert_rules()

    def test_repr_shows_the_call_and_a_non_publisher_is_rejected(self, race: Race) -> None:
        name = next(name for name, each in RACES.items() if each is race)
        assert repr(race(pyrs.just(1), pyrs.just(2))) == f"{name}(just(1), just(2))"
        with pytest.raises(TypeError, match=r"others\[0\] must be a Publisher"):
            race(pyrs.just(1), [2])
