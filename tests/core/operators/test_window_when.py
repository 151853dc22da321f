"""window_when: openings, closings, demand, unread windows, termination and errors."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.operators import toggling
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.waiting import collected


class Toggled:
    """A subscribed ``window_when`` whose source, openings and closings are TestPublishers.

    Each window is subscribed to when it is emitted, with a demand of ``reads`` elements.
    """

    def __init__(self, demand: int = pyrs.UNBOUNDED, prefetch: int = 256, reads: int | None = pyrs.UNBOUNDED) -> None:
        self.source, self.openings = TestPublisher[int](), TestPublisher[str]()
        self.closings: dict[str, TestPublisher[int]] = {}
        self.windows: list[TestSubscriber[int]] = []
        self.reads = reads
        self.counting = [Counting.of(self.source), Counting.of(self.openings)]
        self.outer: TestSubscriber[Any] = TestSubscriber(demand, on_element=self.read)
        self.counting[0].stream().window_when(self.counting[1], self.closing, prefetch=prefetch).subscribe(self.outer)

    def read(self, _: object, window: pyrs.Stream[int]) -> None:
        self.windows.append(TestSubscriber(self.reads))
        window.subscribe(self.windows[-1])

    def closing(self, name: str) -> TestPublisher[int]:
        self.closings[name] = TestPublisher()
        return self.closings[name]


EVENTS = st.lists(st.sampled_from(["element", "open", "close"]), max_size=30)


@quick
@given(events=EVENTS)
def test_window_when_matches_the_list_model(events: list[str]) -> None:
    toggled = Toggled()
    windows: list[list[int]] = []
    active: dict[str, list[int]] = {}
    for n, event in enumerate(events):
        if event == "element":
            toggled.source.next(n)
            for each in active.values():
                each.append(n)
        elif event == "open":
            toggled.openings.next(str(n))
            active[str(n)] = []
            windows.append(active[str(n)])
        elif active:
            name = sorted(active)[n % len(active)]
            toggled.closings[name].next(n)
            toggled.closings[name].assert_cancelled(1)
            del active[name]
        assert [each.elements for each in toggled.windows] == windows
        assert sum(not each.ended for each in toggled.windows) == len(active)
    toggled.source.complete()
    for each in (toggled.outer, *toggled.windows):
        each.await_complete()
        each.assert_rules()
    toggled.openings.assert_cancelled(1)


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_opening_whose_closing_is_empty_emits_an_empty_window(numbers: list[int], demands: list[int]) -> None:
    def read(openings: pyrs.Stream[int]) -> pyrs.Stream[int]:
        return pyrs.never().window_when(openings, lambda _: pyrs.empty()).map(lambda window: len(window.collect()))

    agrees(read, numbers, [0] * len(numbers), demands)


def test_open_window_that_is_not_read_limits_the_requests() -> None:
    toggled = Toggled(prefetch=4, reads=0)
    assert [each.requests for each in toggled.counting] == [[4], [pyrs.UNBOUNDED]]
    toggled.source.next(1, 2, 3)  # no window is open: these are dropped, and three others are requested
    assert toggled.counting[0].requests == [4, 3]
    toggled.openings.next("a", "b")
    toggled.source.next(4, 5, 6, 7)
    assert toggled.counting[0].requests == [4, 3]
    toggled.windows[0].request(4)
    assert toggled.counting[0].requests == [4, 3]  # the other window is full
    toggled.windows[1].cancel()
    toggled.closings["b"].assert_cancelled(1)
    assert toggled.counting[0].requests == [4, 3, 4]


def test_completion_of_the_openings_waits_for_the_open_windows() -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.openings.complete()
    toggled.source.next(1)
    assert not toggled.outer.ended
    toggled.closings["a"].complete()
    toggled.outer.await_complete()
    assert toggled.windows[0].await_complete() == [1]
    toggled.source.assert_cancelled(1)


def test_cancel_of_the_last_window_completes_the_stream() -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.openings.complete()
    toggled.windows[0].cancel()
    toggled.outer.await_complete()
    toggled.source.assert_cancelled(1)
    toggled.closings["a"].assert_cancelled(1)


@pytest.mark.parametrize("failing", ["source", "openings", "closing"])
def test_error_fails_the_windows_and_the_stream_and_cancels_the_others(failing: str) -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.source.next(1)
    publishers: dict[str, TestPublisher[Any]] = {"source": toggled.source, "openings": toggled.openings}
    publishers["closing"] = toggled.closings["a"]
    publishers.pop(failing).error(ValueError("planned"))
    assert str(toggled.outer.await_error()) == str(toggled.windows[0].await_error()) == "planned"
    assert toggled.windows[0].elements == [1]
    for each in publishers.values():
        each.assert_cancelled(1)


def test_cancel_of_the_stream_does_not_cancel_the_open_windows() -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.outer.cancel()
    toggled.openings.assert_cancelled(1)
    toggled.source.next(1)
    assert toggled.windows[0].elements == [1]
    toggled.closings["a"].next(0)
    assert toggled.windows[0].await_complete() == [1]
    toggled.source.assert_cancelled(1)


def test_window_that_is_dropped_unread_does_not_block_the_stream() -> None:
    source = TestPublisher[int]()
    counting = Counting.of(source)
    openings = TestPublisher[int]()
    counting.stream().window_when(openings, lambda _: pyrs.never(), prefetch=2).subscribe(on_next=lambda window: None)
    openings.next(0)
    source.next(1, 2)
    collected(lambda: counting.requested >= 4, "no element was requested")


def test_wrong_arguments_raise() -> None:
    never = pyrs.never()
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: never.window_when(3, pyrs.just), TypeError, "openings must be a Publisher"),  # type: ignore[arg-type]
        (lambda: never.window_when(never, 3), TypeError, "closing must be callable"),  # type: ignore[arg-type]
        (lambda: never.window_when(never, pyrs.just, prefetch=0), ValueError, "prefetch must be at least 1"),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()


def test_finalizer_can_cancel_a_window_at_any_instruction() -> None:
    """The trace function cancels where the garbage collector could run a finalizer that does so."""
    for number in range(1, 120):
        source: TestPublisher[str] = TestPublisher()
        openings: TestPublisher[int] = TestPublisher()
        readers: list[TestSubscriber[str]] = []
        errors: list[BaseException] = []
        stream = source.stream().window_when(openings.stream(), lambda _: pyrs.never())
        stream.subscribe(
            on_next=lambda window, readers=readers: readers.append(read(window)),  # type: ignore[misc]
            on_error=errors.append,
        )
        openings.next(1, 2, 3)
        countdown = itertools.count(number, -1)

        def trace(frame: Any, event: str, _: Any, reader: Any = readers[0], countdown: Any = countdown) -> Any:
            if frame.f_code.co_filename != toggling.__file__:
                return trace
            frame.f_trace_opcodes = True
            if event == "opcode" and not next(countdown):
                reader.cancel()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            source.next("element")
        finally:
            sys.settrace(before)
        assert errors == [], number
        assert [reader.elements for reader in readers[1:]] == [["element"]] * 2, number


def read(window: pyrs.Stream[str]) -> TestSubscriber[str]:
    reader: TestSubscriber[str] = TestSubscriber(9)
    window.subscribe(reader)
    return reader
