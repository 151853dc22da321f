"""group_by against a dict model: buffering, back pressure between groups, cancellation and errors."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.errors import BufferOverflow
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import NUMBERS, WAYS, Counting, quick
from tests.core.support import subscribe
from tests.rounds import rounds
from tests.waiting import collected, uncollected

Groups = TestSubscriber[Any]


def remainder(n: int) -> int:
    return n % 3


def model(numbers: list[int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for n in numbers:
        groups.setdefault(remainder(n), []).append(n)
    return groups


@quick
@given(numbers=NUMBERS, prefetch=st.integers(1, 5), step=st.integers(1, 3))
def test_group_by_matches_the_dict_model(numbers: list[int], prefetch: int, step: int) -> None:
    expected = model(numbers)
    for way, source in WAYS.items():
        read: dict[int, TestSubscriber[int]] = {}
        groups: Groups = TestSubscriber(None, on_element=lambda _, g, read=read: read.update({g.key: subscribe(g, 0)}))
        source(numbers).group_by(remainder, prefetch=prefetch).subscribe(groups)
        while not all(reader.completed for reader in read.values()) or not groups.completed:
            for reader in list(read.values()):
                reader.request(step)
        assert {key: reader.await_complete() for key, reader in read.items()} == expected, way
        assert list(read) == list(expected)
        groups.assert_rules()


@quick
@given(numbers=NUMBERS, prefetch=st.integers(1, 9))
def test_buffer_never_exceeds_prefetch_and_is_refilled(numbers: list[int], prefetch: int) -> None:
    source = Counting(numbers * 3)
    groups: Groups = TestSubscriber(None)
    source.stream().group_by(remainder, prefetch=prefetch).subscribe(groups)
    assert source.pulled == min(prefetch, len(numbers * 3))
    readers = [subscribe(group, 1) for group in groups.elements]  # only the last one requests more
    for _ in range(len(numbers) * 3):
        if readers:
            readers[-1].request(1)
        read = sum(len(reader.elements) for reader in readers)
        assert source.pulled - read <= prefetch
        if not groups.completed:
            assert source.pulled - read > prefetch - max(1, prefetch - (prefetch >> 2))


def test_unread_group_blocks_the_others_until_it_is_cancelled() -> None:
    source = Counting([0, 1, 1, 0, 1, 1, 0, 0, 0, 1])
    groups: Groups = TestSubscriber(None)
    source.stream().group_by(lambda n: n, prefetch=3).subscribe(groups)
    ones = subscribe(groups.elements[1])
    assert (ones.elements, source.pulled) == ([1, 1, 1, 1], 7)  # three zeros are buffered
    subscribe(groups.elements[0], 0).cancel()
    assert ones.await_complete() == [1, 1, 1, 1, 1]
    groups.await_complete()
    assert [group.key for group in groups.elements] == [0, 1, 0]
    assert groups.elements[2].collect() == [0, 0]


def test_group_by_accepts_a_value_function_and_none_as_key() -> None:
    words = pyrs.just("a", "bc", "d")
    groups = words.group_by(lambda word: None, str.upper).flat_map(
        lambda group: group.to_list().map(lambda each: (group.key, each))
    )
    assert groups.collect() == [(None, ["A", "BC", "D"])]


def test_groups_wait_for_demand() -> None:
    source = Counting(range(9))
    groups: Groups = TestSubscriber(1)
    source.stream().group_by(lambda n: n, prefetch=4).subscribe(groups)
    assert ([group.key for group in groups.elements], source.pulled) == ([0], 4)
    subscribe(groups.elements[0])
    groups.request(2)
    assert [group.key for group in groups.elements] == [0, 1, 2]


def test_max_groups_signals_buffer_overflow() -> None:
    source = Counting(range(9))
    groups: Groups = TestSubscriber(None)
    source.stream().group_by(lambda n: n, max_groups=3).subscribe(groups)
    error = groups.await_error(BufferOverflow)
    assert "more than 3 groups" in str(error)
    assert any("in group_by" in note for note in error.__notes__)
    assert (len(groups.elements), source.cancels) == (3, 1)
    assert [subscribe(group).await_error() for group in groups.elements] == [error] * 3
    take_one: Callable[[Any], Any] = lambda group: group.take(1)  # noqa: E731
    assert pyrs.range(500).group_by(lambda n: n, max_groups=1).flat_map(take_one).collect() == list(range(500))


def test_group_accepts_one_subscriber() -> None:
    (group,) = pyrs.just(1, 2).group_by(lambda n: "x").collect()
    assert (group.key, repr(group), group.collect()) == ("x", "group('x')", [1, 2])
    message = "group('x') accepts one Subscriber; use publish().ref_count(n) for n Subscribers"
    assert str(subscribe(group).await_error(RuntimeError)) == message


def test_several_subscribers_of_a_group_receive_each_element_as_its_error_advises() -> None:
    def split(group: pyrs.Stream[int]) -> pyrs.Stream[int]:
        shared = group.publish().ref_count(2)
        return pyrs.merge(shared.filter(lambda n: n % 2), shared.filter(lambda n: not n % 2))

    assert sorted(pyrs.range(1000).group_by(lambda n: n % 3).flat_map(split).collect()) == list(range(1000))


@pytest.mark.parametrize("where", ["key", "value"])
@pytest.mark.parametrize("error", [ValueError, StopIteration])
def test_exception_of_a_function_fails_the_groups_and_the_stream(where: str, error: type[Exception]) -> None:
    def fail_at_four(n: int) -> int:
        if n == 4:
            raise error("no")
        return remainder(n)

    source = Counting(range(9))
    groups: Groups = TestSubscriber(None)
    stream: Any = source.stream()
    (stream.group_by(fail_at_four) if where == "key" else stream.group_by(remainder, fail_at_four)).subscribe(groups)
    failure = groups.await_error(error)
    assert any(note.startswith("in group_by(") and __file__ in note for note in failure.__notes__)
    readers = [subscribe(group) for group in groups.elements]
    assert [reader.await_error() for reader in readers] == [failure] * 3
    assert [reader.elements for reader in readers][2] == [2]
    assert (source.pulled, source.cancels) == (5, 1)


def test_unhashable_key_and_none_value_signal_on_error() -> None:
    for key, value, kind in ((lambda n: [n], None, TypeError), (remainder, lambda n: None, pyrs.NullSignal)):
        groups: Groups = TestSubscriber(None)
        stream: Any = pyrs.range(3)
        stream.group_by(key, value).subscribe(groups)
        groups.await_error(kind)


def test_upstream_error_follows_the_buffered_elements() -> None:
    failure = ValueError("no")
    groups: Groups = TestSubscriber(0)
    Counting([0, 3, 1], failure).stream().group_by(remainder).subscribe(groups)
    groups.assert_live()
    groups.request(9)
    assert groups.await_error() is failure
    readers = [subscribe(group) for group in groups.elements]
    assert [(reader.elements, reader.error) for reader in readers] == [([0, 3], failure), ([1], failure)]


def test_upstream_is_cancelled_when_the_last_emitted_group_is_cancelled() -> None:
    source: TestPublisher[int] = TestPublisher()
    groups: Groups = TestSubscriber(2)
    source.stream().group_by(remainder).subscribe(groups)
    source.next(0, 1, 2)  # there is no demand for the third group
    readers = [subscribe(group) for group in groups.elements]
    groups.cancel()
    source.assert_not_cancelled()
    source.next(3, 4, 5, 8)
    assert [reader.elements for reader in readers] == [[0, 3], [1, 4]]
    readers[0].cancel()
    source.assert_not_cancelled()
    source.next(6)  # its group is cancelled, and no new group is created
    readers[1].cancel()
    source.assert_cancelled(1)
    source = TestPublisher()
    source.stream().group_by(remainder).take(1).flat_map(lambda group: group.take(2)).subscribe(
        groups := TestSubscriber(9)
    )
    source.next(1, 2, 4)
    assert groups.await_complete() == [1, 4]
    source.assert_cancelled(1)


def test_cancelled_groups_are_released() -> None:
    source: TestPublisher[int] = TestPublisher()
    references: list[weakref.ref[Any]] = []
    source.stream().group_by(lambda n: n).subscribe(
        on_next=lambda group: (
            references.append(weakref.ref(group.source.part)),
            group.take(1).subscribe(on_next=lambda n: None),
        )
    )
    source.next(*range(50))
    # The last group is released with the next element.
    collected(lambda: sum(each() is not None for each in references) <= 1)


def test_elements_of_cancelled_groups_use_no_demand() -> None:
    groups: Groups = TestSubscriber(1)
    source = Counting([0, *[1] * 50, 0, 3])
    source.stream().group_by(remainder, prefetch=2).subscribe(groups)
    zeros = subscribe(groups.elements[0])
    groups.cancel()
    assert zeros.await_complete() == [0, 0, 3]
    assert source.pulled == 53


def test_groups_can_be_read_on_several_threads(threaded: Callable[[Any], pyrs.Stream[Any]]) -> None:
    total, read = 6_000, []
    done = threading.Semaphore(0)

    def on_group(groups: Groups, group: Any) -> None:
        reader: TestSubscriber[int] = TestSubscriber(1, on_element=lambda self, _: self.request(1), timeout=60)
        read.append((group.key, reader))

        def run() -> None:
            group.subscribe(reader)
            reader.await_complete()
            done.release()

        threading.Thread(target=run, daemon=True).start()

    groups: Groups = TestSubscriber(None, on_element=on_group, timeout=60)
    threaded(pyrs.range(total)).group_by(remainder, prefetch=8).subscribe(groups)
    groups.await_complete()
    assert all(done.acquire(timeout=60) for _ in range(3))
    assert {key: reader.elements for key, reader in read} == model(list(range(total)))
    for _, reader in read:
        reader.assert_rules()


def test_short_lived_groups_lose_no_element() -> None:
    total = rounds(20_000)
    result = (
        pyrs.range(total)
        .group_by(remainder, prefetch=4, max_groups=3)
        .flat_map(lambda group: group.take(2), prefetch=1)
    )
    assert sorted(result.collect()) == list(range(total))
    subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda self, _: self.request(1), timeout=60)
    result.subscribe(subscriber)
    assert sorted(subscriber.await_complete()) == list(range(total))


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.group_by(1), TypeError, "key must be callable, not int"),
        (lambda s: s.group_by(abs, 1), TypeError, "value must be callable, not int"),
        (lambda s: s.group_by(abs, prefetch=0), ValueError, "prefetch must be at least 1, not 0"),
        (lambda s: s.group_by(abs, max_groups="1"), TypeError, "max_groups must be an integer, not str"),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


def test_pending_error_is_dropped_on_cancel(dropped: Any) -> None:
    failure = ValueError("no")
    groups: Groups = TestSubscriber(0)
    Counting([0, 1], failure).stream().group_by(remainder).subscribe(groups)
    groups.cancel()
    assert dropped.take() == [failure]


@pytest.mark.parametrize("error", [None, OSError("planned")])
def test_termination_costs_linear_time_in_the_number_of_groups(error: OSError | None) -> None:
    def calls(groups: int) -> int:
        """Count the calls and generator steps that termination takes with this number of groups."""
        source: TestPublisher[int] = TestPublisher()
        readers: list[TestSubscriber[Any]] = []
        source.stream().group_by(lambda n: n, prefetch=groups, max_groups=groups).subscribe(
            on_next=lambda group: readers.append(subscribe(group, 0)), on_error=lambda error: None
        )
        source.next(*range(groups))
        count = 0

        def counting(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(counting)
        try:
            with uncollected():  # finalizers would add calls
                source.complete() if error is None else source.error(error)
                for each in readers:
                    each.request(1)
        finally:
            sys.setprofile(before)
        for each in readers:
            assert each.completed or each.error is error
        return count

    assert calls(800) < 5 * calls(200)


def test_repr_shows_the_call() -> None:
    assert repr(pyrs.range(3).group_by(abs)) == "range(0, 3).group_by(abs)"
    assert repr(pyrs.range(3).group_by(abs, str)) == "range(0, 3).group_by(abs, str)"
