"""window: by count against lists, by time in virtual time; what is held, who holds up whom, and how it is cancelled."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers
from pyrs.schedulers import VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, WAYS, Counting, quick
from tests.waiting import collected

Windows = TestSubscriber[Any]


def pieces(elements: list[int], count: int, skip: int | None) -> list[list[int]]:
    return [elements[start : start + count] for start in range(0, len(elements), skip or count)]


@quick
@given(numbers=NUMBERS, demands=DEMANDS, count=st.integers(1, 5), skip=st.none() | st.integers(1, 7))
def test_by_count_against_lists(numbers: list[int], demands: list[int], count: int, skip: int | None) -> None:
    expected = pieces(numbers, count, skip)
    for way, source in WAYS.items():
        for late in (False, True):
            read: list[TestSubscriber[int]] = []
            windows: Windows = TestSubscriber(
                on_element=lambda _, window, read=read, late=late: late or read.append(listen(window))
            )
            source(numbers).window(count, skip=skip).subscribe(windows)
            demanded = 0
            for n in demands:
                windows.request(n)
                demanded += n
                assert len(windows.elements) == min(demanded, len(expected)), way
            windows.request(len(expected) + 1)
            if late:
                read.extend(listen(window) for window in windows.await_complete())
            windows.await_complete()
            assert [each.await_complete() for each in read] == expected, (way, late)
            windows.assert_rules()


def listen(window: pyrs.Publisher[int], request: int | None = None) -> TestSubscriber[int]:
    subscriber: TestSubscriber[int] = TestSubscriber(request)
    window.subscribe(subscriber)
    return subscriber


@quick
@given(count=st.integers(1, 5), skip=st.integers(1, 7), wanted=st.integers(1, 5))
def test_by_count_no_more_is_requested_than_it_takes(count: int, skip: int, wanted: int) -> None:
    source = Counting(range(50))
    windows: Windows = TestSubscriber()
    source.stream().window(count, skip=skip).subscribe(windows)
    assert source.requests == []
    for _ in range(wanted):
        windows.request(1)
    assert source.requested == (wanted - 1) * skip + count
    assert len(windows.elements) == wanted
    expected = pieces(list(range(50)), count, skip)[:wanted]
    assert [listen(window).elements for window in windows.elements] == [
        [n for n in piece if n < source.requested] for piece in expected
    ]


def test_elements_are_read_as_they_come_and_as_they_are_demanded() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: Windows = TestSubscriber(1)
    source.stream().window(3).subscribe(windows)
    source.next(1)
    (window,) = windows.elements
    reader = listen(window, 0)
    source.next(2)
    reader.request(1)
    reader.assert_elements(1)
    reader.request(2)
    reader.assert_elements(1, 2).assert_live()
    source.next(3)
    assert reader.await_complete() == [1, 2, 3]
    assert repr(window) == "window"


def test_a_window_has_one_subscriber() -> None:
    (window,) = pyrs.just(1, 2).window(2).collect()
    assert window.collect() == [1, 2]
    error = listen(window).await_error(RuntimeError)
    assert str(error) == "window can be subscribed to once"


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_an_error_ends_the_open_windows_and_then_the_stream(seconds: float | None) -> None:
    failure = ValueError("no")
    source: TestPublisher[int] = TestPublisher()
    story: list[str] = []
    windows: Windows = TestSubscriber(9)
    given = {"skip": 1} if seconds is None else {"seconds": seconds}
    with schedulers.use(VirtualTime()):
        stream: Any = source.stream().window(3, **given)  # type: ignore[call-overload]
        stream.subscribe(windows)
    source.next(1)
    windows.elements[0].subscribe(on_next=story.append, on_error=lambda error: story.append(windows.error is None))
    source.next(2).error(failure)
    assert windows.await_error() is failure
    assert story == [1, 2, True]
    assert {id(listen(window).await_error()) for window in windows.elements[1:]} <= {id(failure)}


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_upstream_is_cancelled_with_the_last_window_that_was_given(seconds: float | None) -> None:
    for ending in ("cancel", "fill", "unread"):
        source: TestPublisher[int] = TestPublisher()
        windows: Windows = TestSubscriber(5)
        with schedulers.use(VirtualTime()) as time:
            stream = source.stream().window(3) if seconds is None else source.stream().window(3, seconds=seconds)
            stream.subscribe(windows)
        source.next(1)
        reader = listen(windows.elements[0]) if ending != "unread" else None
        windows.cancel()
        source.assert_not_cancelled()
        source.next(2)
        if reader is not None and ending == "cancel":
            assert reader.elements == [1, 2]
            reader.cancel()
        else:
            source.next(3)
        source.assert_cancelled(1)
        if reader is None:
            assert listen(windows.elements[0]).await_complete() == [1, 2, 3]
        assert time.pending == 0


def test_a_cancel_between_windows_goes_up_at_once() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: Windows = TestSubscriber(5)
    source.stream().window(2).subscribe(windows)
    source.next(1, 2)
    windows.cancel()
    source.assert_cancelled(1)
    assert listen(windows.elements[0]).await_complete() == [1, 2]


def test_windows_that_wait_for_demand_are_let_go_by_a_cancel() -> None:
    source = Counting(range(50))
    windows: Windows = TestSubscriber(1)
    source.stream().window(3, skip=1).subscribe(windows)
    windows.cancel()
    assert (len(windows.elements), source.cancels) == (1, 1)


def test_a_window_that_was_cancelled_keeps_its_place() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: Windows = TestSubscriber(5)
    source.stream().window(3).subscribe(windows)
    source.next(1)
    reader = listen(windows.elements[0])
    reader.cancel()
    source.next(2, 3, 4)
    assert (reader.elements, len(windows.elements)) == ([1], 2)
    assert listen(windows.elements[1]).elements == [4]


def test_through_flat_map_and_take() -> None:
    same: Callable[[Any], Any] = lambda window: window  # noqa: E731
    source = Counting(range(100))
    assert source.stream().window(3).flat_map(same).collect() == list(range(100))
    assert source.stream().window(3).concat_map(same).collect() == list(range(100))
    source = Counting(range(100))
    assert source.stream().window(3).take(2).concat_map(same).collect() == [0, 1, 2, 3, 4, 5]
    assert (source.pulled, source.cancels) == (6, 1)


class Timed:
    """Windows over a publisher of the test's, in virtual time, each read when it comes."""

    def __init__(self, count: int | None, request: int = 0, prefetch: int = 4, read: int | None = None) -> None:
        self.time = VirtualTime()
        self.source: TestPublisher[int] = TestPublisher()
        self.readers: list[TestSubscriber[int]] = []
        self.windows: Windows = TestSubscriber(
            request, on_element=lambda _, window: self.readers.append(listen(window, read))
        )
        with schedulers.use(self.time):
            self.source.stream().window(count, seconds=1, prefetch=prefetch).subscribe(self.windows)

    @property
    def requested(self) -> int:
        return sum(self.source.requests)

    def read(self) -> list[tuple[list[int], bool]]:
        for each in (self.windows, *self.readers):
            each.assert_rules()
        return [(list(reader.elements), reader.completed) for reader in self.readers]


def test_by_time_a_window_begins_with_its_first_element() -> None:
    at = Timed(None, request=9)
    at.time.advance_by(5)
    at.source.next(1)
    at.time.advance_by(0.9)
    at.source.next(2)
    assert at.read() == [([1, 2], False)]
    at.time.advance_by(0.1)
    assert at.read() == [([1, 2], True)]
    assert at.time.pending == 0
    at.time.advance_by(9)
    at.source.next(3).complete()
    assert at.read() == [([1, 2], True), ([3], True)]
    at.windows.await_complete()
    assert at.time.pending == 0


def test_by_both_whichever_comes_first() -> None:
    at = Timed(2, request=9)
    at.source.next(1, 2)
    assert (at.read(), at.time.pending) == ([([1, 2], True)], 0)
    at.source.next(3)
    at.time.advance_by(1)
    at.source.next(4)
    assert at.read() == [([1, 2], True), ([3], True), ([4], False)]


def test_a_window_that_is_due_stays_open_until_the_next_one_is_demanded() -> None:
    at = Timed(3, request=1)
    at.source.next(1)
    at.time.advance_by(5)
    at.source.next(2)
    assert at.read() == [([1, 2], False)]
    at.windows.request(1)
    assert at.read() == [([1, 2], True)]
    at.source.next(3)
    assert at.read() == [([1, 2], True), ([3], False)]
    at = Timed(3, request=1)
    at.source.next(1, 2, 3)  # its count closes it all the same
    assert (at.read(), at.requested) == ([([1, 2, 3], True)], 3)


def test_a_window_that_is_not_read_holds_what_is_prefetched_until_the_next_one() -> None:
    at = Timed(None, request=2, read=0)
    at.source.next(1, 2, 3, 4)
    assert at.requested == 4  # upstream waits
    at.time.advance_by(1)
    assert at.requested == 8
    at.source.next(5)
    assert at.read() == [([], False), ([], False)]
    at.readers[0].request(9)
    assert at.readers[0].await_complete() == [1, 2, 3, 4]


def test_a_window_that_is_read_goes_on_and_one_that_is_cancelled_too() -> None:
    at = Timed(None, request=1, read=0)
    at.source.next(1, 2, 3, 4)
    at.readers[0].request(3)
    assert (at.read(), at.requested) == ([([1, 2, 3], False)], 7)
    at.source.next(5)
    at.readers[0].cancel()
    for n in range(6, 20):
        at.source.next(n)  # fails where it is not requested
    at.windows.request(1)
    at.time.advance_by(1)
    at.source.next(99)
    at.readers[1].request(1)
    assert at.read() == [([1, 2, 3], False), ([99], False)]


def test_what_was_read_is_requested_again_in_batches() -> None:
    at = Timed(None, request=1, prefetch=8)
    for n in range(1, 21):
        at.source.next(n)
    assert at.source.requests == [8, 6, 6, 6]


def test_a_timed_window_that_outlives_the_stream_is_closed_by_time() -> None:
    at = Timed(None, request=1)
    at.source.next(1)
    at.windows.cancel()
    at.source.assert_not_cancelled()
    at.time.advance_by(1)
    assert at.read() == [([1], True)]
    at.source.assert_cancelled(1)
    assert at.time.pending == 0


@quick
@given(
    steps=st.lists(st.sampled_from(["next", "demand", "read", "short", "long"]), max_size=50),
    count=st.none() | st.integers(1, 4),
)
def test_whatever_happens_when_everything_comes_once_and_in_order(steps: list[str], count: int | None) -> None:
    at = Timed(count, prefetch=3, read=0)
    sent = 0
    for step in steps:
        if step == "next" and sent < at.requested:
            at.source.next(sent)
            sent += 1
        elif step == "demand":
            at.windows.request(1)
        elif step == "read" and at.readers:
            at.readers[-1].request(2)
        elif step in ("short", "long"):
            at.time.advance_by(0.25 if step == "short" else 1)
        assert at.requested - sent <= (count or 3)
        assert len(at.windows.elements) <= steps.count("demand")
    at.source.complete()
    for reader in at.readers:
        reader.request(pyrs.UNBOUNDED)
    at.windows.request(1)
    at.windows.await_complete()
    read = at.read()
    assert [n for elements, _ in read for n in elements] == list(range(sent))
    assert all(elements and completed for elements, completed in read)
    assert count is None or max((len(elements) for elements, _ in read), default=0) <= count


@pytest.mark.parametrize("count", [None, 7])
def test_time_elements_and_requests_race(count: int | None) -> None:
    total = 10_000
    read: list[TestSubscriber[int]] = []

    def on_window(windows: Windows, window: Any) -> None:
        read.append(listen(window))
        windows.request(1)

    windows: Windows = TestSubscriber(1, on_element=on_window, timeout=60)
    worker = threading.Thread(
        target=lambda: pyrs.range(total).window(count, seconds=0.0005, prefetch=64).subscribe(windows)
    )
    worker.start()
    windows.await_complete()
    worker.join(60)
    assert [n for reader in read for n in reader.await_complete()] == list(range(total))
    for each in (windows, *read):
        each.assert_rules()


@pytest.mark.parametrize("what", ["window", "group"])
def test_cancels_race_with_elements(what: str) -> None:
    for _ in range(300):
        source = Counting(range(60))
        stream: Any = source.stream().window(4) if what == "window" else source.stream().group_by(lambda n: n % 3)
        windows: Windows = TestSubscriber(request=2)
        stream.subscribe(windows)
        reader = listen(windows.elements[0], 1)
        start = threading.Barrier(3)

        def run(task: Callable[[], object], start: threading.Barrier = start) -> None:
            start.wait(30)
            task()

        tasks = [windows.cancel, reader.cancel, lambda windows=windows: windows.request(3)]
        threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        for window in windows.elements[1:]:
            listen(window).cancel()
        windows.assert_rules()
        reader.assert_rules()
        assert source.cancels == 1 or source.pulled == 60


def test_nothing_is_kept_of_windows_that_were_read() -> None:
    source: TestPublisher[int] = TestPublisher()
    kept: list[weakref.ref[Any]] = []
    source.stream().window(2).subscribe(
        on_next=lambda window: (kept.append(weakref.ref(window.source)), window.subscribe(on_next=lambda n: None))
    )
    source.next(*range(10))
    collected(lambda: [each() is None for each in kept] == [True] * 5)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda s: s.window(), TypeError, "window requires count, seconds, or both"),
        (lambda s: s.window(0), ValueError, "count must be at least 1, not 0"),
        (lambda s: s.window(1, skip=0), ValueError, "skip must be at least 1, not 0"),
        (lambda s: s.window(1, skip=1, seconds=1), TypeError, "skip cannot be combined with seconds"),
        (lambda s: s.window(seconds=-1), ValueError, "seconds must be finite and greater than 0"),
        (lambda s: s.window(seconds=1, prefetch=0), ValueError, "prefetch must be at least 1, not 0"),
        (lambda s: s.window(seconds=1, scheduler=3), TypeError, "scheduler must be a Scheduler, not int"),
    ],
)
def test_bad_arguments_are_refused_where_they_enter(
    wrong: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


def test_shown_as_written() -> None:
    numbers = pyrs.range(3)
    assert repr(numbers.window(2, skip=1)) == "range(0, 3).window(2, skip=1)"
    assert repr(numbers.window(2, seconds=1)) == "range(0, 3).window(2, seconds=1.0)"
