"""The buffers of sinks whose Subscriber cancels after termination."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs import sinks
from pyrs.sinks import EmitResult, Sink
from tests.core.support import subscribe


@pytest.fixture
def discarded() -> Iterator[list[Any]]:
    """Return the list of all elements that are discarded during the test."""
    elements: list[Any] = []
    before = pyrs.set_discard_hook(elements.append)
    yield elements
    pyrs.set_discard_hook(before)


@pytest.mark.parametrize("make", [sinks.unicast, sinks.multicast])
@pytest.mark.parametrize("end", [Sink.emit_complete, lambda sink: sink.emit_error(ValueError("planned"))])
def test_cancel_after_the_end_discards_the_buffer(
    make: Callable[[], Sink[Any]], end: Callable[[Sink[Any]], None], discarded: list[Any], dropped: Any
) -> None:
    sink = make()
    subscriber = subscribe(sink.stream, 1)
    for n in range(4):
        sink.emit(n)
    end(sink)
    subscriber.cancel()
    subscriber.assert_elements(0)
    assert discarded == [1, 2, 3]
    assert dropped.elements == 3
    assert "0 subscribers, 0 buffered" in repr(sink)
    late = subscribe(sink.stream)
    late.await_end()
    late.assert_elements()


def test_cancel_after_an_overflow_that_fails_the_stream_discards_the_buffer(discarded: list[Any], dropped: Any) -> None:
    sink = sinks.unicast(2, "error")
    subscriber = subscribe(sink.stream, 0)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK, EmitResult.OK, EmitResult.OVERFLOW]
    subscriber.cancel()
    assert discarded == [0, 1]
    assert dropped.elements == 2
