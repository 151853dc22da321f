"""sequence_equal: results, early decisions, demand and errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestPublisher
from tests.core.modelling import WAYS, Counting, quick
from tests.core.support import notes_of, subscribe

FEW = st.lists(st.integers(0, 1), max_size=5)


@pytest.mark.parametrize("way", WAYS)
@quick
@given(a=FEW, b=FEW, prefetch=st.integers(1, 3))
def test_matches_the_comparison_of_lists(way: str, a: list[int], b: list[int], prefetch: int) -> None:
    for source in (WAYS[way], WAYS["list"]):
        subscriber = subscribe(WAYS[way](a).sequence_equal(source(b), prefetch=prefetch))
        assert subscriber.await_complete() == [a == b]
        subscriber.assert_rules()


def test_first_difference_decides_and_cancels_both() -> None:
    a, b = TestPublisher[int](), TestPublisher[int]()
    subscriber = subscribe(a.stream().sequence_equal(b))
    a.next(1, 2)
    b.next(1)
    assert not subscriber.ended
    b.next(3)
    assert subscriber.await_complete() == [False]
    a.assert_cancelled(1)
    b.assert_cancelled(1)


def test_difference_in_length_decides() -> None:
    a, b = TestPublisher[int](), TestPublisher[int]()
    subscriber = subscribe(a.stream().sequence_equal(b))
    a.complete()
    assert not subscriber.ended
    b.next(1)
    assert subscriber.await_complete() == [False]
    b.assert_cancelled(1)


def test_result_waits_for_demand() -> None:
    counting = Counting([1, 2])
    subscriber = subscribe(counting.stream().sequence_equal(pyrs.just(1, 2), prefetch=4), 0)
    assert (subscriber.ended, counting.requests) == (False, [4])
    subscriber.request(1)
    assert subscriber.await_complete() == [True]


@pytest.mark.parametrize("failing", [0, 1])
def test_error_of_a_stream_follows_its_elements(failing: int) -> None:
    publishers = [TestPublisher[int](), TestPublisher[int]()]
    subscriber = subscribe(publishers[0].stream().sequence_equal(publishers[1]))
    publishers[failing].next(1)
    publishers[failing].error(ValueError("planned"))
    assert not subscriber.ended
    publishers[1 - failing].next(1)
    assert str(subscriber.await_error()) == "planned"
    publishers[1 - failing].assert_cancelled(1)


def test_failing_comparer_names_the_operator() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        pyrs.just(1).sequence_equal(pyrs.just(0), lambda a, b: a // b).block()
    assert "in sequence_equal(just(1), just(0), comparer=" in notes_of(raised.value)[0]


def test_result_of_the_comparer_without_a_truth_value_names_the_operator() -> None:
    """The result of ``==`` for two numpy arrays has no truth value."""

    class Ambiguous:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    with pytest.raises(ValueError, match="ambiguous") as raised:
        pyrs.just(1).sequence_equal(pyrs.just(0), lambda a, b: Ambiguous()).block()
    assert "in sequence_equal(just(1), just(0), comparer=" in notes_of(raised.value)[0]


def test_result_is_a_single() -> None:
    assert isinstance(pyrs.range(3).sequence_equal(pyrs.range(3)), pyrs.Single)


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match=r"others\[0\] must be a Publisher"):
        pyrs.just(1).sequence_equal(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="comparer must be callable"):
        pyrs.just(1).sequence_equal(pyrs.just(1), 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prefetch must be at least 1"):
        pyrs.just(1).sequence_equal(pyrs.just(1), prefetch=0)
