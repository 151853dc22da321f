"""buffer: by count against lists, by time in virtual time; what is held, what is asked for, and nothing dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers
from pyrs.schedulers import VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick


def pieces(elements: list[int], count: int, skip: int | None) -> list[list[int]]:
    return [elements[start : start + count] for start in range(0, len(elements), skip or count)]


@quick
@given(
    numbers=NUMBERS,
    demands=DEMANDS,
    count=st.integers(1, 5),
    skip=st.none() | st.integers(1, 7),
    taken=st.integers(0, 5),
)
def test_by_count_against_lists(
    numbers: list[int], demands: list[int], count: int, skip: int | None, taken: int
) -> None:
    expected = pieces(numbers, count, skip)
    agrees(lambda s: s.buffer(count, skip=skip), numbers, expected, demands)
    agrees(lambda s: s.buffer(count, skip=skip).take(taken), numbers, expected[:taken], demands)


@quick
@given(count=st.integers(1, 5), skip=st.integers(1, 7), wanted=st.integers(1, 5))
def test_by_count_no_more_is_requested_than_it_takes(count: int, skip: int, wanted: int) -> None:
    numbers = list(range(50))
    source = Counting(numbers)
    subscriber: TestSubscriber[list[int]] = TestSubscriber()
    source.stream().buffer(count, skip=skip).subscribe(subscriber)
    for _ in range(wanted):
        subscriber.request(1)
    assert source.requested == (wanted - 1) * skip + count
    subscriber.request(pyrs.UNBOUNDED)
    assert subscriber.await_complete() == pieces(numbers, count, skip)
    pulled: list[int] = []
    fused = pyrs.from_iterable(pulled.append(n) or n for n in numbers)  # type: ignore[func-returns-value]
    subscriber = TestSubscriber(wanted)
    fused.buffer(count, skip=skip).subscribe(subscriber)
    assert len(pulled) == (wanted - 1) * skip + count


@pytest.mark.parametrize("pushed", [False, True])
def test_the_end_comes_with_the_last_list(pushed: bool) -> None:
    for count, skip in ((2, None), (3, None), (3, 1), (4, 3)):
        expected = pieces([1, 2, 3, 4], count, skip)
        subscriber: TestSubscriber[list[int]] = TestSubscriber(len(expected))
        source = Counting([1, 2, 3, 4]).stream() if pushed else pyrs.range(1, 5)
        source.buffer(count, skip=skip).subscribe(subscriber)
        assert subscriber.await_complete() == expected


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize(("skip", "expected"), [(None, [[0, 1, 2], [3, 4]]), (2, [[0, 1, 2], [2, 3, 4], [4]])])
def test_what_came_before_an_error_comes_before_it(pushed: bool, skip: int | None, expected: list[list[int]]) -> None:
    failure = ValueError("no")

    def fails(n: int) -> int:
        if n == 5:
            raise failure
        return n

    source = Counting(range(9)).stream() if pushed else pyrs.range(9)
    subscriber: TestSubscriber[list[int]] = TestSubscriber(len(expected) - 1)
    source.map(fails).buffer(3, skip=skip).subscribe(subscriber)
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(*expected)
    if not pushed:
        subscriber.request(1)  # an iterator tells of its error when it is asked again
    assert subscriber.await_error() is failure
    assert any("in map(fails)" in note for note in failure.__notes__)


def test_a_function_that_raises_stop_iteration_ends_no_buffer_quietly() -> None:
    def stops(n: int) -> int:
        if n == 4:
            raise StopIteration
        return n

    subscriber: TestSubscriber[list[int]] = TestSubscriber(None)
    pyrs.range(9).map(stops).buffer(3).subscribe(subscriber)
    subscriber.await_error(RuntimeError)
    assert subscriber.elements == [[0, 1, 2], [3]]


class Timed:
    """A buffer over a publisher of the test's, in virtual time."""

    def __init__(self, count: int | None, request: int = 0, prefetch: int = 256) -> None:
        self.time = VirtualTime()
        self.source: TestPublisher[int] = TestPublisher()
        self.subscriber: TestSubscriber[list[int]] = TestSubscriber(request)
        with schedulers.use(self.time):
            self.source.stream().buffer(count, seconds=timedelta(seconds=1), prefetch=prefetch).subscribe(
                self.subscriber
            )

    @property
    def requested(self) -> int:
        return sum(self.source.requests)


def test_by_time_a_list_begins_with_its_first_element() -> None:
    at = Timed(None, request=9)
    at.time.advance_by(5)
    assert at.time.pending == 0
    at.source.next(1)
    at.time.advance_by(0.5)
    at.source.next(2)
    at.subscriber.assert_elements()
    at.time.advance_by(0.5)
    at.subscriber.assert_elements([1, 2])
    at.time.advance_by(9)
    at.source.next(3).complete()
    assert at.subscriber.await_complete() == [[1, 2], [3]]
    assert at.time.pending == 0


def test_by_both_whichever_comes_first() -> None:
    at = Timed(3, request=9)
    at.source.next(1, 2, 3)
    at.subscriber.assert_elements([1, 2, 3])
    assert at.time.pending == 0
    at.source.next(4)
    at.time.advance_by(0.9)
    at.source.next(5)
    at.time.advance_by(0.1)
    at.subscriber.assert_elements([1, 2, 3], [4, 5])
    at.source.next(6)
    at.time.advance_by(0.9)
    at.subscriber.assert_elements([1, 2, 3], [4, 5])
    at.time.advance_by(0.1)
    at.subscriber.assert_elements([1, 2, 3], [4, 5], [6])


def test_a_list_that_is_due_and_not_demanded_goes_on_filling_and_nothing_is_dropped() -> None:
    at = Timed(None, prefetch=4)
    at.source.next(1)
    at.time.advance_by(1)
    at.source.next(2, 3)
    at.time.advance_by(5)
    at.source.next(4)
    assert at.requested == 4  # upstream waits
    at.subscriber.assert_elements().assert_live()
    at.subscriber.request(1)
    at.subscriber.assert_elements([1, 2, 3, 4])
    assert at.requested == 8
    at.source.next(5)
    at.time.advance_by(1)
    at.subscriber.request(1)
    at.subscriber.assert_elements([1, 2, 3, 4], [5])


def test_without_demand_the_ends_wait_behind_what_there_is() -> None:
    for count in (None, 3):
        for failure in (None, ValueError("no")):
            at = Timed(count)
            at.source.next(1, 2)
            at.source.complete() if failure is None else at.source.error(failure)
            at.subscriber.assert_elements().assert_live()
            at.subscriber.request(1)
            at.subscriber.assert_elements([1, 2])
            assert at.subscriber.await_end().error is failure
            assert at.time.pending == 0


def test_with_a_count_no_list_is_longer_and_what_is_held_is_bounded() -> None:
    at = Timed(3, prefetch=4)
    sent = 0
    while sent < at.requested:
        at.source.next(sent)
        sent += 1
    assert sent == 6  # a list, and as many ahead
    at.time.advance_by(9)
    at.subscriber.request(1)
    at.subscriber.assert_elements([0, 1, 2])
    assert at.requested == 9
    at.subscriber.request(1)
    at.subscriber.assert_elements([0, 1, 2], [3, 4, 5])


def test_a_cancel_goes_up_and_stops_the_clock() -> None:
    at = Timed(None, request=1)
    at.source.next(1)
    assert at.time.pending == 1
    at.subscriber.cancel()
    at.source.assert_cancelled()
    assert at.time.pending == 0
    assert at.subscriber.elements == []


def test_a_closed_scheduler_is_an_error() -> None:
    at = Timed(None, request=1)
    at.time.close()
    at.source.next(1)
    at.subscriber.await_error(schedulers.SchedulerClosed)
    at.source.assert_cancelled()


@quick
@given(
    steps=st.lists(st.sampled_from(["next", "request", "short", "long"]), max_size=40),
    count=st.none() | st.integers(1, 4),
)
def test_whatever_happens_when_everything_comes_once_and_in_order(steps: list[str], count: int | None) -> None:
    at = Timed(count, prefetch=3)
    sent = 0
    for step in steps:
        if step == "next" and sent < at.requested:
            at.source.next(sent)
            sent += 1
        elif step == "request":
            at.subscriber.request(1)
        elif step in ("short", "long"):
            at.time.advance_by(0.25 if step == "short" else 1)
        assert at.requested - sent <= 3 + (count or 0)
        gathered = sum(map(len, at.subscriber.elements))
        if not at.subscriber.elements or len(at.subscriber.elements) < steps.count("request"):
            continue
        assert sent - gathered <= 3 + (count or 0)
    at.source.complete()
    at.subscriber.request(pyrs.UNBOUNDED)
    lists = at.subscriber.await_complete()
    assert [n for each in lists for n in each] == list(range(sent))
    assert all(lists)
    assert count is None or max(map(len, lists), default=0) <= count


@pytest.mark.parametrize("count", [None, 7])
def test_time_elements_and_requests_race(count: int | None) -> None:
    total = 20_000
    subscriber: TestSubscriber[list[int]] = TestSubscriber(1, on_element=lambda self, _: self.request(1), timeout=60)
    worker = threading.Thread(
        target=lambda: pyrs.range(total).buffer(count, seconds=0.0005, prefetch=64).subscribe(subscriber)
    )
    worker.start()
    lists = subscriber.await_complete()
    worker.join(60)
    subscriber.assert_rules()
    assert [n for each in lists for n in each] == list(range(total))


def test_an_error_that_nobody_waits_for_any_more_goes_to_the_hook(dropped: Any) -> None:
    failure = ValueError("no")
    at = Timed(None)
    at.source.next(1).error(failure)
    at.subscriber.cancel()
    assert dropped.take() == [failure]
    subscriber: TestSubscriber[list[int]] = TestSubscriber(1)
    source: TestPublisher[int] = TestPublisher()
    source.stream().buffer(2, skip=1).subscribe(subscriber)
    source.next(1, 2).error(failure)
    subscriber.cancel()
    assert dropped.take() == [failure]
    assert subscriber.elements == [[1, 2]]


def test_shown_as_written() -> None:
    numbers = pyrs.range(3)
    assert repr(numbers.buffer(2).buffer(2, skip=1)) == "range(0, 3).buffer(2).buffer(2, skip=1)"
    assert repr(numbers.buffer(seconds=1)) == "range(0, 3).buffer(seconds=1.0)"
    assert repr(numbers.buffer(5, seconds=0.5)) == "range(0, 3).buffer(5, seconds=0.5)"


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.buffer(), TypeError, "buffer requires count, seconds, or both"),
        (lambda s: s.buffer(0), ValueError, "count must be at least 1, not 0"),
        (lambda s: s.buffer("1"), TypeError, "count must be an integer, not str"),
        (lambda s: s.buffer(1, skip=0), ValueError, "skip must be at least 1, not 0"),
        (lambda s: s.buffer(1, skip=1, seconds=1), TypeError, "skip cannot be combined with seconds"),
        (lambda s: s.buffer(seconds=0), ValueError, "seconds must be finite and greater than 0"),
        (lambda s: s.buffer(seconds="1"), TypeError, "seconds must be a number of seconds or a timedelta"),
        (lambda s: s.buffer(0, seconds=1), ValueError, "count must be at least 1, not 0"),
        (lambda s: s.buffer(seconds=1, prefetch=0), ValueError, "prefetch must be at least 1, not 0"),
        (lambda s: s.buffer(seconds=1, scheduler=3), TypeError, "scheduler must be a Scheduler, not int"),
    ],
)
def test_bad_arguments_are_refused_where_they_enter(
    wrong: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


@pytest.mark.parametrize("how", ["fused", "pushed"])
def test_a_count_or_skip_may_be_larger_than_what_is_counted_in(how: str) -> None:
    numbers = pyrs.range(3) if how == "fused" else pyrs.range(3).concat(pyrs.empty())
    assert numbers.buffer(2**70).collect() == [[0, 1, 2]]
    assert numbers.buffer(1, skip=2**70).collect() == [[0]]
    assert numbers.buffer(2, skip=2**63 + 1).collect() == [[0, 1]]
