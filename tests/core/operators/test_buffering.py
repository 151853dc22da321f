"""buffer: by count, compared with a list model, and by time, in virtual time."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers
from pyrs.schedulers import VirtualTime
from pyrs.schedulers.timer import Timer
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick


def chunks(elements: list[int], count: int, skip: int | None) -> list[list[int]]:
    return [elements[start : start + count] for start in range(0, len(elements), skip or count)]


@quick
@given(
    numbers=NUMBERS,
    demands=DEMANDS,
    count=st.integers(1, 5),
    skip=st.none() | st.integers(1, 7),
    taken=st.integers(0, 5),
)
def test_by_count_matches_the_list_model(
    numbers: list[int], demands: list[int], count: int, skip: int | None, taken: int
) -> None:
    expected = chunks(numbers, count, skip)
    agrees(lambda s: s.buffer(count, skip=skip), numbers, expected, demands)
    agrees(lambda s: s.buffer(count, skip=skip).take(taken), numbers, expected[:taken], demands)


@quick
@given(count=st.integers(1, 5), skip=st.integers(1, 7), wanted=st.integers(1, 5))
def test_by_count_requests_no_more_than_needed(count: int, skip: int, wanted: int) -> None:
    numbers = list(range(50))
    source = Counting(numbers)
    subscriber: TestSubscriber[list[int]] = TestSubscriber()
    source.stream().buffer(count, skip=skip).subscribe(subscriber)
    for _ in range(wanted):
        subscriber.request(1)
    assert source.requested == (wanted - 1) * skip + count
    subscriber.request(pyrs.UNBOUNDED)
    assert subscriber.await_complete() == chunks(numbers, count, skip)
    pulled: list[int] = []
    fused = pyrs.from_iterable(pulled.append(n) or n for n in numbers)  # type: ignore[func-returns-value]
    subscriber = TestSubscriber(wanted)
    fused.buffer(count, skip=skip).subscribe(subscriber)
    assert len(pulled) == (wanted - 1) * skip + count


@pytest.mark.parametrize("pushed", [False, True])
def test_completion_follows_the_last_list_without_another_request(pushed: bool) -> None:
    for count, skip in ((2, None), (3, None), (3, 1), (4, 3)):
        expected = chunks([1, 2, 3, 4], count, skip)
        subscriber: TestSubscriber[list[int]] = TestSubscriber(len(expected))
        source = Counting([1, 2, 3, 4]).stream() if pushed else pyrs.range(1, 5)
        source.buffer(count, skip=skip).subscribe(subscriber)
        assert subscriber.await_complete() == expected


@pytest.mark.parametrize("failure", [ValueError("no"), CancelledError("no")], ids=repr)
@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize(("skip", "expected"), [(None, [[0, 1, 2], [3, 4]]), (2, [[0, 1, 2], [2, 3, 4], [4]])])
def test_partial_lists_precede_the_error(
    pushed: bool, skip: int | None, expected: list[list[int]], failure: BaseException
) -> None:
    def fail_at_five(n: int) -> int:
        if n == 5:
            raise failure
        return n

    source = Counting(range(9)).stream() if pushed else pyrs.range(9)
    subscriber: TestSubscriber[list[int]] = TestSubscriber(len(expected) - 1)
    source.map(fail_at_five).buffer(3, skip=skip).subscribe(subscriber)
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(*expected)
    if not pushed:
        subscriber.request(1)  # an iterator raises its error at the next pull
    assert subscriber.await_error() is failure
    assert any("in map(fail_at_five)" in note for note in failure.__notes__)


def test_stop_iteration_of_a_function_signals_on_error() -> None:
    def raise_stop_iteration(n: int) -> int:
        if n == 4:
            raise StopIteration
        return n

    subscriber: TestSubscriber[list[int]] = TestSubscriber(None)
    pyrs.range(9).map(raise_stop_iteration).buffer(3).subscribe(subscriber)
    subscriber.await_error(RuntimeError)
    assert subscriber.elements == [[0, 1, 2], [3]]


class TimedBuffer:
    """A time-based buffer over a TestPublisher, in virtual time."""

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


def test_timer_starts_with_the_first_element() -> None:
    buffer = TimedBuffer(None, request=9)
    buffer.time.advance_by(5)
    assert buffer.time.pending == 0
    buffer.source.next(1)
    buffer.time.advance_by(0.5)
    buffer.source.next(2)
    buffer.subscriber.assert_elements()
    buffer.time.advance_by(0.5)
    buffer.subscriber.assert_elements([1, 2])
    buffer.time.advance_by(9)
    buffer.source.next(3).complete()
    assert buffer.subscriber.await_complete() == [[1, 2], [3]]
    assert buffer.time.pending == 0


def test_deadline_that_passes_while_an_element_is_handled_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, buffer = Timer.claim, TimedBuffer(None, request=9)

    def claim_before_the_deadline(timer: Timer) -> bool:
        fired = claim(timer)
        monkeypatch.setattr(Timer, "claim", claim)
        buffer.time.advance_by(0.5)
        return fired

    buffer.source.next(1)
    buffer.time.advance_by(0.5)
    monkeypatch.setattr(Timer, "claim", claim_before_the_deadline)
    buffer.source.next(2)
    buffer.subscriber.assert_elements([1, 2])


def test_list_is_emitted_at_the_first_limit_of_count_and_time() -> None:
    buffer = TimedBuffer(3, request=9)
    buffer.source.next(1, 2, 3)
    buffer.subscriber.assert_elements([1, 2, 3])
    assert buffer.time.pending == 0
    buffer.source.next(4)
    buffer.time.advance_by(0.9)
    buffer.source.next(5)
    buffer.time.advance_by(0.1)
    buffer.subscriber.assert_elements([1, 2, 3], [4, 5])
    buffer.source.next(6)
    buffer.time.advance_by(0.9)
    buffer.subscriber.assert_elements([1, 2, 3], [4, 5])
    buffer.time.advance_by(0.1)
    buffer.subscriber.assert_elements([1, 2, 3], [4, 5], [6])


def test_due_list_without_demand_keeps_filling() -> None:
    buffer = TimedBuffer(None, prefetch=4)
    buffer.source.next(1)
    buffer.time.advance_by(1)
    buffer.source.next(2, 3)
    buffer.time.advance_by(5)
    buffer.source.next(4)
    assert buffer.requested == 4
    buffer.subscriber.assert_elements().assert_live()
    buffer.subscriber.request(1)
    buffer.subscriber.assert_elements([1, 2, 3, 4])
    assert buffer.requested == 8
    buffer.source.next(5)
    buffer.time.advance_by(1)
    buffer.subscriber.request(1)
    buffer.subscriber.assert_elements([1, 2, 3, 4], [5])


def test_terminal_signal_waits_for_demand_for_the_last_list() -> None:
    for count in (None, 3):
        for failure in (None, ValueError("no")):
            buffer = TimedBuffer(count)
            buffer.source.next(1, 2)
            buffer.source.complete() if failure is None else buffer.source.error(failure)
            buffer.subscriber.assert_elements().assert_live()
            buffer.subscriber.request(1)
            buffer.subscriber.assert_elements([1, 2])
            assert buffer.subscriber.await_end().error is failure
            assert buffer.time.pending == 0


def test_count_bounds_lists_and_buffered_elements() -> None:
    buffer = TimedBuffer(3, prefetch=4)
    sent = 0
    while sent < buffer.requested:
        buffer.source.next(sent)
        sent += 1
    assert sent == 6  # a full list, and an input queue that holds at most ``count`` elements
    buffer.time.advance_by(9)
    buffer.subscriber.request(1)
    buffer.subscriber.assert_elements([0, 1, 2])
    assert buffer.requested == 9
    buffer.subscriber.request(1)
    buffer.subscriber.assert_elements([0, 1, 2], [3, 4, 5])


def test_cancel_cancels_upstream_and_the_timer() -> None:
    buffer = TimedBuffer(None, request=1)
    buffer.source.next(1)
    assert buffer.time.pending == 1
    buffer.subscriber.cancel()
    buffer.source.assert_cancelled()
    assert buffer.time.pending == 0
    assert buffer.subscriber.elements == []


def test_closed_scheduler_signals_on_error() -> None:
    buffer = TimedBuffer(None, request=1)
    buffer.time.close()
    buffer.source.next(1)
    buffer.subscriber.await_error(schedulers.SchedulerClosed)
    buffer.source.assert_cancelled()


@quick
@given(
    steps=st.lists(st.sampled_from(["next", "request", "short", "long"]), max_size=40),
    count=st.none() | st.integers(1, 4),
)
def test_every_element_is_emitted_once_and_in_order(steps: list[str], count: int | None) -> None:
    buffer = TimedBuffer(count, prefetch=3)
    sent = demanded = 0
    for step in steps:
        if step == "next" and sent < buffer.requested:
            buffer.source.next(sent)
            sent += 1
        elif step == "request":
            buffer.subscriber.request(1)
            demanded += 1
        elif step in ("short", "long"):
            buffer.time.advance_by(0.25 if step == "short" else 1)
        bound = 3 + (count or 0)
        assert buffer.requested - sent <= bound
        lists = buffer.subscriber.elements
        if len(lists) == demanded:  # with demand, a list without a count grows until it is due
            assert sent - sum(map(len, lists)) <= bound
    buffer.source.complete()
    buffer.subscriber.request(pyrs.UNBOUNDED)
    lists = buffer.subscriber.await_complete()
    assert [n for each in lists for n in each] == list(range(sent))
    assert all(lists)
    assert count is None or max(map(len, lists), default=0) <= count


@pytest.mark.parametrize("count", [None, 7])
def test_concurrent_timer_elements_and_requests_lose_no_element(count: int | None) -> None:
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


def test_pending_error_is_dropped_on_cancel(dropped: Any) -> None:
    failure = ValueError("no")
    buffer = TimedBuffer(None)
    buffer.source.next(1).error(failure)
    buffer.subscriber.cancel()
    assert dropped.take() == [failure]
    subscriber: TestSubscriber[list[int]] = TestSubscriber(1)
    source: TestPublisher[int] = TestPublisher()
    source.stream().buffer(2, skip=1).subscribe(subscriber)
    source.next(1, 2).error(failure)
    subscriber.cancel()
    assert dropped.take() == [failure]
    assert subscriber.elements == [[1, 2]]


def test_repr_shows_the_call() -> None:
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
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


@pytest.mark.parametrize("way", ["fused", "pushed"])
def test_count_and_skip_may_exceed_the_largest_long(way: str) -> None:
    numbers = pyrs.range(3) if way == "fused" else pyrs.range(3).concat(pyrs.empty())
    assert numbers.buffer(2**70).collect() == [[0, 1, 2]]
    assert numbers.buffer(1, skip=2**70).collect() == [[0]]
    assert numbers.buffer(2, skip=2**63 + 1).collect() == [[0, 1]]
