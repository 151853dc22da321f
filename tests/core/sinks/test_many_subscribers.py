"""The cost of a Subscriber of a multicast sink does not depend on the number of the others, except for copies in C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import pyrs
from pyrs import sinks
from pyrs.sinks import Sink
from pyrs.testing import TestSubscriber
from tests.core.sinks.kinds import ALL, UNBUFFERED


def lines_of(action: Callable[[], object]) -> int:
    """Run the action and return the number of executed lines of the hubs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith(("hub.py", "replay.py")):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def run_to_completion(sink: Sink[Any], subscribers: list[TestSubscriber[Any]]) -> None:
    for each in subscribers:
        sink.subscribe(each)
    sink.emit_complete()


def run_to_cancel(sink: Sink[Any], subscribers: list[TestSubscriber[Any]]) -> None:
    for each in subscribers:
        sink.subscribe(each)
    for each in subscribers:
        each.cancel()


@pytest.mark.parametrize("name", ["multicast", *UNBUFFERED])
@pytest.mark.parametrize("run", [run_to_completion, run_to_cancel])
def test_steps_per_subscriber_are_constant(
    name: str, run: Callable[[Sink[Any], list[TestSubscriber[Any]]], None]
) -> None:
    few, many = (
        lines_of(lambda n=n: run(ALL[name](), [TestSubscriber(pyrs.UNBOUNDED) for _ in range(n)]))  # type: ignore[misc]
        for n in (50, 200)
    )
    assert many < few * 6


def test_steps_of_a_request_are_constant() -> None:
    def steps(count: int) -> int:
        sink, subscribers = sinks.replay(1), [TestSubscriber[int](1) for _ in range(count)]
        for each in subscribers:
            sink.subscribe(each)
        sink.emit(1)
        steps = lines_of(lambda: [each.request(1) for each in subscribers])
        sink.emit(2)
        assert all(each.elements == [1, 2] for each in subscribers)
        return steps

    assert steps(200) < steps(50) * 6


def test_bounded_demand_is_counted_after_other_subscribers_left() -> None:
    sink = sinks.multicast()
    slow, fast = TestSubscriber[int](1), TestSubscriber[int](None)
    sink.subscribe(slow)
    sink.subscribe(fast)
    sink.emit(1)
    sink.emit(2)
    assert fast.elements == slow.elements == [1]
    slow.cancel()
    assert fast.elements == [1, 2]
    late = TestSubscriber[int](1)
    sink.subscribe(late)
    sink.emit(3)
    sink.emit(4)
    assert fast.elements == [1, 2, 3]
    assert late.elements == [3]
    late.request(pyrs.UNBOUNDED)
    assert fast.elements == [1, 2, 3, 4]
