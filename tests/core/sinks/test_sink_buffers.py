"""The buffers of sinks: a cancel after termination, and the turns of several Subscribers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyrs import sinks
from pyrs.errors import BufferOverflow
from pyrs.sinks import EmitResult, Sink
from tests.core.support import CancellingSubscriber, subscribe


@pytest.mark.parametrize("make", [sinks.unicast, sinks.multicast])
@pytest.mark.parametrize("error", [None, ValueError("planned")])
def test_cancel_after_the_end_discards_the_buffer(
    make: Callable[[], Sink[Any]], error: ValueError | None, discarded: list[Any], dropped: Any
) -> None:
    sink = make()
    subscriber = subscribe(sink.stream, 1)
    for n in range(4):
        sink.emit(n)
    if error is None:
        sink.emit_complete()
    else:
        sink.emit_error(error)
    subscriber.cancel()
    subscriber.assert_elements(0)
    assert discarded == [1, 2, 3]
    assert dropped.elements == 3
    # A multicast sink keeps the error for later Subscribers.
    assert dropped.take() == ([error] if error is not None and make is sinks.unicast else [])
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
    assert [type(error) for error in dropped.take()] == [BufferOverflow]


@pytest.mark.parametrize("buffered", [0, 1])
def test_error_is_reported_once_if_the_subscriber_of_a_unicast_sink_cancels_in_on_subscribe(
    buffered: int, dropped: Any
) -> None:
    sink, error = sinks.unicast(), ValueError("planned")
    for n in range(buffered):
        sink.emit(n)
    sink.emit_error(error)
    sink.stream.subscribe(CancellingSubscriber())
    assert dropped.take() == [error]
    subscribe(sink.stream).assert_error(RuntimeError)


def test_error_that_a_unicast_sink_delivers_is_not_reported(dropped: Any) -> None:
    sink, error = sinks.unicast(), ValueError("planned")
    sink.emit(1)
    sink.emit_error(error)
    subscriber = subscribe(sink.stream)
    assert subscriber.error is error
    subscriber.cancel()
    assert dropped.errors == []


@pytest.mark.parametrize("make", [sinks.multicast, sinks.replay])
def test_subscriber_that_emits_for_each_element_does_not_starve_the_others(make: Callable[[], Sink[Any]]) -> None:
    sink, numbers = make(), range(2_000)
    received: list[int] = []
    received_before_the_last: list[int] = []

    def emit_next(n: int) -> None:
        if n + 1 in numbers:
            sink.emit(n + 1)
        else:
            received_before_the_last.extend(received)

    sink.stream.subscribe(on_next=emit_next)
    sink.stream.subscribe(on_next=received.append)
    sink.emit(0)
    assert len(received_before_the_last) > 1_000
    assert received == [*numbers]
