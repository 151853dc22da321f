"""window: by count against a list model, by time in virtual time; buffering, back pressure and cancellation."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers
from pyrs.schedulers import VirtualTime
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, WAYS, Counting, quick
from tests.core.support import subscribe
from tests.rounds import rounds
from tests.waiting import collected, run_on_threads

Windows = TestSubscriber[Any]


def expected_windows(elements: list[int], count: int, skip: int | None) -> list[list[int]]:
    return [elements[start : start + count] for start in range(0, len(elements), skip or count)]


@quick
@given(numbers=NUMBERS, demands=DEMANDS, count=st.integers(1, 5), skip=st.none() | st.integers(1, 7))
def test_by_count_matches_the_list_model(numbers: list[int], demands: list[int], count: int, skip: int | None) -> None:
    expected = expected_windows(numbers, count, skip)
    for way, source in WAYS.items():
        for late in (False, True):
            read: list[TestSubscriber[int]] = []
            windows: Windows = TestSubscriber(
                on_element=lambda _, window, read=read, late=late: late or read.append(subscribe(window))
            )
            source(numbers).window(count, skip=skip).subscribe(windows)
            demanded = 0
            for n in demands:
                windows.request(n)
                demanded += n
                assert len(windows.elements) == min(demanded, len(expected)), way
            windows.request(len(expected) + 1)
            if late:
                read.extend(subscribe(window) for window in windows.await_complete())
            windows.await_complete()
            assert [each.await_complete() for each in read] == expected, (way, late)
            windows.assert_rules()


@quick
@given(count=st.integers(1, 5), skip=st.integers(1, 7), wanted=st.integers(1, 5))
def test_by_count_requests_no_more_than_needed(count: int, skip: int, wanted: int) -> None:
    source = Counting(range(50))
    windows: Windows = TestSubscriber()
    source.stream().window(count, skip=skip).subscribe(windows)
    assert source.requests == []
    for _ in range(wanted):
        windows.request(1)
    assert source.requested == (wanted - 1) * skip + count
    assert len(windows.elements) == wanted
    expected = expected_windows(list(range(50)), count, skip)[:wanted]
    assert [subscribe(window).elements for window in windows.elements] == [
        [n for n in piece if n < source.requested] for piece in expected
    ]


def test_window_emits_elements_on_arrival_and_on_demand() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: Windows = TestSubscriber(1)
    source.stream().window(3).subscribe(windows)
    source.next(1)
    (window,) = windows.elements
    reader = subscribe(window, 0)
    source.next(2)
    reader.request(1)
    reader.assert_elements(1)
    reader.request(2)
    reader.assert_elements(1, 2).assert_live()
    source.next(3)
    assert reader.await_complete() == [1, 2, 3]
    assert repr(window) == "window"


def test_window_accepts_one_subscriber() -> None:
    (window,) = pyrs.just(1, 2).window(2).collect()
    assert window.collect() == [1, 2]
    error = subscribe(window).await_error(RuntimeError)
    assert str(error) == "window accepts one Subscriber; use publish().ref_count(n) for n Subscribers"


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_error_fails_the_open_windows_before_the_stream(seconds: float | None) -> None:
    failure = ValueError("no")
    source: TestPublisher[int] = TestPublisher()
    signals: list[str] = []
    windows: Windows = TestSubscriber(9)
    limits = {"skip": 1} if seconds is None else {"seconds": seconds}
    with schedulers.use(VirtualTime()):
        stream: Any = source.stream().window(3, **limits)  # type: ignore[call-overload]
        stream.subscribe(windows)
    source.next(1)
    windows.elements[0].subscribe(on_next=signals.append, on_error=lambda error: signals.append(windows.error is None))
    source.next(2).error(failure)
    assert windows.await_error() is failure
    assert signals == [1, 2, True]
    assert {id(subscribe(window).await_error()) for window in windows.elements[1:]} <= {id(failure)}


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_upstream_is_cancelled_after_the_last_open_window(seconds: float | None) -> None:
    for end in ("cancel", "fill", "unread"):
        source: TestPublisher[int] = TestPublisher()
        windows: Windows = TestSubscriber(5)
        with schedulers.use(VirtualTime()) as time:
            stream = source.stream().window(3) if seconds is None else source.stream().window(3, seconds=seconds)
            stream.subscribe(windows)
        source.next(1)
        reader = subscribe(windows.elements[0]) if end != "unread" else None
        windows.cancel()
        source.assert_not_cancelled()
        source.next(2)
        if reader is not None and end == "cancel":
            assert reader.elements == [1, 2]
            reader.cancel()
        else:
            source.next(3)
        source.assert_cancelled(1)
        if reader is None:
            assert subscribe(windows.elements[0]).await_complete() == [1, 2, 3]
        assert time.pending == 0


def test_cancel_between_windows_cancels_upstream() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: Windows = TestSubscriber(5)
    source.stream().window(2).subscribe(windows)
    source.next(1, 2)
    windows.cancel()
    source.assert_cancelled(1)
    assert subscribe(windows.elements[0]).await_complete() == [1, 2]


def test_cancel_releases_windows_without_demand() -> None:
    source = Counting(range(50))
    windows: Windows = TestSubscriber(1)
    source.stream().window(3, skip=1).subscribe(windows)
    windows.cancel()
    assert (len(windows.elements), source.cancels) == (1, 1)


def test_cancelled_window_still_counts_its_elements() -> None:
    source: TestPublisher[int] = TestPublisher()
    windows: Windows = TestSubscriber(5)
    source.stream().window(3).subscribe(windows)
    source.next(1)
    reader = subscribe(windows.elements[0])
    reader.cancel()
    source.next(2, 3, 4)
    assert (reader.elements, len(windows.elements)) == ([1], 2)
    assert subscribe(windows.elements[1]).elements == [4]


def test_flattened_windows_emit_every_element() -> None:
    identity: Callable[[Any], Any] = lambda window: window  # noqa: E731
    source = Counting(range(100))
    assert source.stream().window(3).flat_map(identity).collect() == list(range(100))
    assert source.stream().window(3).concat_map(identity).collect() == list(range(100))
    source = Counting(range(100))
    assert source.stream().window(3).take(2).concat_map(identity).collect() == [0, 1, 2, 3, 4, 5]
    assert (source.pulled, source.cancels) == (6, 1)


class TimedWindows:
    """Time-based windows over a TestPublisher, in virtual time. Each is subscribed to when it is emitted."""

    def __init__(self, count: int | None, request: int = 0, prefetch: int = 4, read: int | None = None) -> None:
        self.time = VirtualTime()
        self.source: TestPublisher[int] = TestPublisher()
        self.readers: list[TestSubscriber[int]] = []
        self.windows: Windows = TestSubscriber(
            request, on_element=lambda _, window: self.readers.append(subscribe(window, read))
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


def test_timer_starts_with_the_first_element() -> None:
    timed = TimedWindows(None, request=9)
    timed.time.advance_by(5)
    timed.source.next(1)
    timed.time.advance_by(0.9)
    timed.source.next(2)
    assert timed.read() == [([1, 2], False)]
    timed.time.advance_by(0.1)
    assert timed.read() == [([1, 2], True)]
    assert timed.time.pending == 0
    timed.time.advance_by(9)
    timed.source.next(3).complete()
    assert timed.read() == [([1, 2], True), ([3], True)]
    timed.windows.await_complete()
    assert timed.time.pending == 0


def test_window_closes_at_the_first_limit_of_count_and_time() -> None:
    timed = TimedWindows(2, request=9)
    timed.source.next(1, 2)
    assert (timed.read(), timed.time.pending) == ([([1, 2], True)], 0)
    timed.source.next(3)
    timed.time.advance_by(1)
    timed.source.next(4)
    assert timed.read() == [([1, 2], True), ([3], True), ([4], False)]


def test_due_window_stays_open_until_the_next_one_is_requested() -> None:
    timed = TimedWindows(3, request=1)
    timed.source.next(1)
    timed.time.advance_by(5)
    timed.source.next(2)
    assert timed.read() == [([1, 2], False)]
    timed.windows.request(1)
    assert timed.read() == [([1, 2], True)]
    timed.source.next(3)
    assert timed.read() == [([1, 2], True), ([3], False)]
    timed = TimedWindows(3, request=1)
    timed.source.next(1, 2, 3)  # the count closes the window without demand for the next one
    assert (timed.read(), timed.requested) == ([([1, 2, 3], True)], 3)


def test_unread_window_buffers_prefetch_elements() -> None:
    timed = TimedWindows(None, request=2, read=0)
    timed.source.next(1, 2, 3, 4)
    assert timed.requested == 4
    timed.time.advance_by(1)
    assert timed.requested == 8
    timed.source.next(5)
    assert timed.read() == [([], False), ([], False)]
    timed.readers[0].request(9)
    assert timed.readers[0].await_complete() == [1, 2, 3, 4]


def test_read_and_cancelled_windows_keep_requesting() -> None:
    timed = TimedWindows(None, request=1, read=0)
    timed.source.next(1, 2, 3, 4)
    timed.readers[0].request(3)
    assert (timed.read(), timed.requested) == ([([1, 2, 3], False)], 7)
    timed.source.next(5)
    timed.readers[0].cancel()
    for n in range(6, 20):
        timed.source.next(n)  # fails if there is no demand
    timed.windows.request(1)
    timed.time.advance_by(1)
    timed.source.next(99)
    timed.readers[1].request(1)
    assert timed.read() == [([1, 2, 3], False), ([99], False)]


def test_refill_is_requested_in_batches() -> None:
    timed = TimedWindows(None, request=1, prefetch=8)
    for n in range(1, 21):
        timed.source.next(n)
    assert timed.source.requests == [8, 6, 6, 6]


def test_open_window_of_a_cancelled_stream_is_closed_by_time() -> None:
    timed = TimedWindows(None, request=1)
    timed.source.next(1)
    timed.windows.cancel()
    timed.source.assert_not_cancelled()
    timed.time.advance_by(1)
    assert timed.read() == [([1], True)]
    timed.source.assert_cancelled(1)
    assert timed.time.pending == 0


@quick
@given(
    steps=st.lists(st.sampled_from(["next", "demand", "read", "short", "long"]), max_size=50),
    count=st.none() | st.integers(1, 4),
)
def test_every_element_is_emitted_once_and_in_order(steps: list[str], count: int | None) -> None:
    timed = TimedWindows(count, prefetch=3, read=0)
    sent = 0
    for step in steps:
        if step == "next" and sent < timed.requested:
            timed.source.next(sent)
            sent += 1
        elif step == "demand":
            timed.windows.request(1)
        elif step == "read" and timed.readers:
            timed.readers[-1].request(2)
        elif step in ("short", "long"):
            timed.time.advance_by(0.25 if step == "short" else 1)
        assert timed.requested - sent <= (count or 3)
        assert len(timed.windows.elements) <= steps.count("demand")
    timed.source.complete()
    for reader in timed.readers:
        reader.request(pyrs.UNBOUNDED)
    timed.windows.request(1)
    timed.windows.await_complete()
    read = timed.read()
    assert [n for elements, _ in read for n in elements] == list(range(sent))
    assert all(elements and completed for elements, completed in read)
    assert count is None or max((len(elements) for elements, _ in read), default=0) <= count


@pytest.mark.parametrize("count", [None, 7])
def test_concurrent_timer_elements_and_requests_lose_no_element(count: int | None) -> None:
    total = 10_000
    read: list[TestSubscriber[int]] = []

    def on_window(windows: Windows, window: Any) -> None:
        read.append(subscribe(window))
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


@pytest.mark.parametrize("part", ["window", "group"])
def test_concurrent_cancels_cancel_upstream_once(part: str) -> None:
    for _ in range(rounds(300)):
        source = Counting(range(60))
        stream: Any = source.stream().window(4) if part == "window" else source.stream().group_by(lambda n: n % 3)
        windows: Windows = TestSubscriber(request=2)
        stream.subscribe(windows)
        reader = subscribe(windows.elements[0], 1)
        start = threading.Barrier(3)

        def run(task: Callable[[], object], start: threading.Barrier = start) -> None:
            start.wait(30)
            task()

        tasks = [windows.cancel, reader.cancel, lambda windows=windows: windows.request(3)]
        run_on_threads(*(partial(run, task) for task in tasks))
        for window in windows.elements[1:]:
            subscribe(window).cancel()
        windows.assert_rules()
        reader.assert_rules()
        assert source.cancels == 1 or source.pulled == 60


def test_read_windows_are_released() -> None:
    source: TestPublisher[int] = TestPublisher()
    references: list[weakref.ref[Any]] = []
    source.stream().window(2).subscribe(
        on_next=lambda window: (references.append(weakref.ref(window.source)), window.subscribe(on_next=lambda n: None))
    )
    source.next(*range(10))
    collected(lambda: [each() is None for each in references] == [True] * 5)


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
def test_wrong_arguments_raise(wrong: Callable[[Any], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(pyrs.range(3))


def test_repr_shows_the_call() -> None:
    numbers = pyrs.range(3)
    assert repr(numbers.window(2, skip=1)) == "range(0, 3).window(2, skip=1)"
    assert repr(numbers.window(2, seconds=1)) == "range(0, 3).window(2, seconds=1.0)"
