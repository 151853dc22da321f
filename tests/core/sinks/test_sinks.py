"""Sinks: the result of each emit, delivery, buffering and termination."""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs._core.overflow import Overflow
from pyrs.errors import BufferOverflow, EmitFailed, NonPositiveRequest, NullSignal
from pyrs.sinks import EmitResult, Sink
from pyrs.testing import TestSubscriber
from tests.core.sinks.kinds import ALL, UNBUFFERED
from tests.core.support import CancellingSubscriber, subscribe
from tests.waiting import collected


@pytest.fixture(params=ALL)
def sink(request: pytest.FixtureRequest) -> Sink[Any]:
    return ALL[request.param]()


# Properties of every sink.


def test_elements_and_completion_are_delivered(sink: Sink[Any]) -> None:
    subscriber = subscribe(sink.stream)
    assert [sink.try_emit(n) for n in (1, 2, 3)] == [EmitResult.OK] * 3
    assert sink.try_emit_complete() is EmitResult.OK
    subscriber.assert_complete().assert_elements(1, 2, 3)


def test_error_follows_the_elements(sink: Sink[Any]) -> None:
    subscriber = subscribe(sink.stream)
    error = ValueError("none")
    sink.emit(1)
    sink.emit_error(error)
    assert subscriber.assert_elements(1).assert_error(ValueError) is error


def test_emit_after_termination_returns_terminated(sink: Sink[Any]) -> None:
    subscribe(sink.stream)
    sink.emit_complete()
    assert sink.try_emit(1) is EmitResult.TERMINATED
    assert sink.try_emit_complete() is EmitResult.TERMINATED
    assert sink.try_emit_error(ValueError()) is EmitResult.TERMINATED


def test_emit_inside_on_next_after_termination_returns_terminated(sink: Sink[Any]) -> None:
    results: list[EmitResult] = []

    def end_and_emit(subscriber: Any, n: int) -> None:
        results.extend([sink.try_emit_complete(), sink.try_emit(2), sink.try_emit_complete()])

    subscriber = TestSubscriber[Any](None, on_element=end_and_emit)
    sink.stream.subscribe(subscriber)
    sink.emit(1)
    assert results == [EmitResult.OK, EmitResult.TERMINATED, EmitResult.TERMINATED]
    subscriber.assert_complete().assert_elements(1)


@pytest.mark.parametrize("failed", [True, False])
def test_subscriber_after_termination_receives_the_terminal_signal(sink: Sink[Any], failed: bool) -> None:
    if failed:
        sink.emit_error(ValueError())
    else:
        sink.emit_complete()
    subscriber = subscribe(sink.stream, 0)
    subscriber.assert_error(ValueError) if failed else subscriber.assert_complete()


def test_none_raises_null_signal(sink: Sink[Any]) -> None:
    none: Any = None
    for emit in (sink.try_emit, sink.emit, sink.try_emit_error, sink.emit_error):
        with pytest.raises(NullSignal):
            emit(none)
    with pytest.raises(NullSignal):
        sink.stream.subscribe(none)


def test_emit_error_rejects_non_exceptions(sink: Sink[Any]) -> None:
    with pytest.raises(TypeError, match="error"):
        sink.try_emit_error("no")  # type: ignore[arg-type]


def test_elements_respect_demand(sink: Sink[Any]) -> None:
    subscriber = subscribe(sink.stream, 2)
    results = [sink.try_emit(n) for n in range(4)]
    subscriber.assert_elements(0, 1)
    assert results[:2] == [EmitResult.OK] * 2
    subscriber.request(5)
    assert len(subscriber.assert_rules().elements) == (2 if EmitResult.OVERFLOW in results else 4)


@pytest.mark.parametrize("n", [0, -1])
def test_illegal_request_fails_its_subscriber(sink: Sink[Any], n: int) -> None:
    subscriber = subscribe(sink.stream)
    subscriber.request(n)
    subscriber.assert_error(NonPositiveRequest)
    assert sink.subscriber_count == 0


def test_illegal_request_in_on_subscribe_signals_on_error(sink: Sink[Any]) -> None:
    subscribe(sink.stream, -1).assert_error(NonPositiveRequest)


def test_cancelled_subscriber_receives_nothing(sink: Sink[Any]) -> None:
    subscriber = subscribe(sink.stream)
    sink.emit(1)
    subscriber.cancel()
    subscriber.cancel()
    sink.try_emit(2)
    sink.try_emit_complete()
    subscriber.assert_elements(1).assert_live()
    assert sink.subscriber_count == 0


def test_cancel_during_on_next_stops_after_current_element(sink: Sink[Any]) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=lambda this, n: this.cancel())
    sink.stream.subscribe(subscriber)
    sink.emit(1)
    sink.try_emit(2)
    subscriber.assert_elements(1).assert_live()


def test_exception_in_on_next_cancels_and_is_dropped(sink: Sink[Any], dropped: Any) -> None:
    def raise_error(this: Any, n: int) -> None:
        raise ValueError(n)

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=raise_error)
    sink.stream.subscribe(subscriber)
    assert sink.try_emit(1) is EmitResult.OK
    assert [str(error) for error in dropped.take()] == ["1"]
    assert sink.subscriber_count == 0
    sink.try_emit(2)
    subscriber.assert_elements(1).assert_live()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_error", "on_complete"])
def test_exception_in_another_signal_is_dropped(sink: Sink[Any], signal: str, dropped: Any) -> None:
    def raise_error(*arguments: Any) -> None:
        raise ValueError(signal)

    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    setattr(subscriber, signal, raise_error)
    sink.stream.subscribe(subscriber)
    if signal == "on_error":
        sink.emit_error(KeyError())
    elif signal == "on_complete":
        sink.emit_complete()
    assert [str(error) for error in dropped.take()] == [signal]
    assert sink.subscriber_count == 0


def test_interrupt_propagates_after_every_subscriber_is_signalled() -> None:
    def interrupt(this: Any, n: int) -> None:
        raise KeyboardInterrupt

    for make in (sinks.multicast, sinks.multicast_best_effort, sinks.replay):
        sink: Sink[Any] = make()
        first: TestSubscriber[Any] = TestSubscriber(None, on_element=interrupt)
        sink.stream.subscribe(first)
        second = subscribe(sink.stream)
        with pytest.raises(KeyboardInterrupt):
            sink.try_emit(1)
        assert sink.try_emit(2) is EmitResult.OK
        second.assert_elements(1, 2)
        first.assert_elements(1)


def test_stream_of_a_sink_supports_operators(sink: Sink[Any]) -> None:
    seen: list[Any] = []
    sink.stream.map(lambda n: n + 1).filter(lambda n: n % 2).subscribe(on_next=seen.append)
    for n in range(6):
        sink.emit(n)
    assert seen == [1, 3, 5]


def test_signals_run_in_the_subscribers_context(sink: Sink[Any]) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    token = variable.set("subscriber")
    sink.stream.subscribe(on_next=lambda n: seen.append(variable.get()))
    variable.reset(token)
    variable.set("pusher")
    sink.emit(1)
    assert seen == ["subscriber"]


def test_error_note_names_the_operator(sink: Sink[Any]) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    sink.stream.map(lambda n: 1 // n).filter(lambda n: True).subscribe(subscriber)
    sink.emit(0)
    notes = subscriber.assert_error(ZeroDivisionError).__notes__
    assert len(notes) == 1 and notes[0].startswith("in map(")


@pytest.mark.parametrize("name", ["multicast", *UNBUFFERED, "replay"])
def test_subscriber_can_cancel_another_during_on_next(name: str) -> None:
    sink = ALL[name]()
    second: TestSubscriber[Any] = TestSubscriber(None)
    first: TestSubscriber[Any] = TestSubscriber(None, on_element=lambda this, n: second.cancel())
    sink.stream.subscribe(first)
    sink.stream.subscribe(second)
    sink.emit(1)
    first.assert_elements(1)
    second.assert_elements()


def test_subscriber_added_while_buffered_elements_are_emitted_receives_the_next_one() -> None:
    sink = sinks.multicast()
    late: TestSubscriber[Any] = TestSubscriber(1)

    def subscribe_late(this: Any, n: int) -> None:
        if n == 0:
            sink.stream.subscribe(late)

    first: TestSubscriber[Any] = TestSubscriber(0, on_element=subscribe_late)
    sink.stream.subscribe(first)
    for n in range(4):
        sink.emit(n)
    first.request(9)
    first.assert_elements(0, 1)
    late.assert_elements(1)
    late.request(9)
    first.assert_elements(0, 1, 2, 3)
    late.assert_elements(1, 2, 3)


# unicast.


def test_unicast_buffers_elements_for_its_subscriber() -> None:
    sink = sinks.unicast(capacity=3)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK] * 3
    assert sink.try_emit(3) is EmitResult.OVERFLOW
    sink.emit_complete()
    subscriber = subscribe(sink.stream, 2)
    subscriber.assert_elements(0, 1).assert_live()
    subscriber.request(1)
    subscriber.assert_complete().assert_elements(0, 1, 2)


def test_unicast_accepts_one_subscriber_ever() -> None:
    sink = sinks.unicast()
    first = subscribe(sink.stream)
    subscribe(sink.stream).assert_error(RuntimeError)
    sink.emit(1)
    first.assert_elements(1)
    first.cancel()
    subscribe(sink.stream).assert_error(RuntimeError)
    assert sink.try_emit(2) is EmitResult.CANCELLED
    assert sink.try_emit_complete() is EmitResult.CANCELLED


def test_unicast_is_not_cancelled_by_a_rejected_subscriber() -> None:
    sink: Any = sinks.unicast()

    class InterposingLock:
        """Wraps the sink's lock. Another Subscriber subscribes and cancels after the first release."""

        def __init__(self, lock: Any) -> None:
            self.lock = lock

        def __enter__(self) -> None:
            self.lock.acquire()

        def __exit__(self, *raised: object) -> None:
            self.lock.release()
            sink._lock = self.lock
            sink.stream.subscribe(CancellingSubscriber(0))

    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    sink._lock = InterposingLock(sink._lock)
    sink.stream.subscribe(subscriber)
    subscriber.request(1)
    assert sink.try_emit(1) is EmitResult.OK
    subscriber.assert_elements(1)


def test_unicast_is_cancelled_by_a_cancel_in_on_subscribe() -> None:
    sink = sinks.unicast()
    sink.stream.subscribe(CancellingSubscriber(0))
    assert sink.try_emit(1) is EmitResult.CANCELLED


@pytest.mark.parametrize(
    ("overflow", "result", "elements"),
    [
        (None, EmitResult.OVERFLOW, [1, 2]),
        ("drop_oldest", EmitResult.OK, [2, 3]),
        (Overflow.DROP_LATEST, EmitResult.OK, [1, 2]),
        ("buffer", EmitResult.OK, [1, 2, 3]),
        ("error", EmitResult.OVERFLOW, [1, 2]),
    ],
)
def test_unicast_applies_its_overflow_strategy(
    overflow: Any, result: EmitResult, elements: list[int], dropped: Any
) -> None:
    sink = sinks.unicast(2, overflow)
    subscriber = subscribe(sink.stream, 0)
    sink.emit(1)
    sink.emit(2)
    assert sink.try_emit(3) is result
    subscriber.request(5)
    subscriber.assert_elements(*elements)
    lost = 1 if result is EmitResult.OK and len(elements) == 2 else 0
    assert (dropped.elements, sink.dropped) == (lost, lost)
    if overflow == "error":
        subscriber.assert_error(BufferOverflow)
    else:
        subscriber.assert_live()


# multicast.


def test_multicast_follows_the_slowest_subscriber() -> None:
    sink = sinks.multicast(capacity=2)
    fast, slow = subscribe(sink.stream), subscribe(sink.stream, 1)
    assert [sink.try_emit(n) for n in range(4)] == [EmitResult.OK] * 3 + [EmitResult.OVERFLOW]
    fast.assert_elements(0)
    slow.assert_elements(0)
    slow.request(1)
    fast.assert_elements(0, 1)
    slow.cancel()
    fast.assert_elements(0, 1, 2)
    assert sink.try_emit(9) is EmitResult.OK
    fast.assert_elements(0, 1, 2, 9)


def test_multicast_counts_demand_after_a_bounded_subscriber_has_subscribed() -> None:
    sink = sinks.multicast(capacity=2)
    unbounded = subscribe(sink.stream)
    sink.emit(0)
    bounded = subscribe(sink.stream, 0)
    sink.emit(1)
    bounded.assert_elements()
    bounded.request(1)
    bounded.assert_elements(1)
    sink.emit(2)
    bounded.assert_elements(1)
    bounded.request(pyrs.UNBOUNDED)
    sink.emit(3)
    bounded.assert_elements(1, 2, 3)
    late = subscribe(sink.stream, 1)
    bounded.cancel()
    sink.emit(4)
    sink.emit(5)
    late.assert_elements(4)
    unbounded.assert_elements(0, 1, 2, 3, 4)


def test_multicast_buffers_for_the_first_subscriber_only() -> None:
    sink = sinks.multicast(capacity=2)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK, EmitResult.OK, EmitResult.ZERO_SUBSCRIBERS]
    first = subscribe(sink.stream)
    second = subscribe(sink.stream)
    sink.emit(3)
    first.assert_elements(0, 1, 3)
    second.assert_elements(3)


def test_multicast_is_cancelled_with_its_last_subscriber(dropped: Any) -> None:
    sink = sinks.multicast()
    subscriber = subscribe(sink.stream, 0)
    sink.emit(1)
    subscriber.cancel()
    assert sink.try_emit(2) is EmitResult.CANCELLED
    assert dropped.elements == 1
    assert "cancelled" in repr(sink)


def test_subscriber_after_auto_cancel_completes() -> None:
    sink = sinks.multicast()
    subscribe(sink.stream).cancel()
    late = subscribe(sink.stream)
    late.assert_complete()
    assert sink.try_emit(1) is sink.try_emit_complete() is EmitResult.CANCELLED
    late.assert_elements()
    assert sink.stream.collect(timeout=5.0) == []
    assert sink.subscriber_count == 0


def test_subscriber_completes_if_its_on_subscribe_triggers_auto_cancel() -> None:
    sink = sinks.multicast()
    other = subscribe(sink.stream)

    class LateSubscriber(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Any, /) -> None:
            super().on_subscribe(subscription)
            other.cancel()

    late = LateSubscriber(None)
    sink.stream.subscribe(late)
    late.assert_complete()


def test_multicast_without_auto_cancel_buffers_for_the_next_subscriber() -> None:
    sink = sinks.multicast(auto_cancel=False)
    subscribe(sink.stream, 0).cancel()
    assert sink.try_emit(2) is EmitResult.OK
    subscribe(sink.stream).assert_elements(2)


def test_error_waits_for_buffered_elements() -> None:
    sink = sinks.multicast()
    subscriber = subscribe(sink.stream, 0)
    sink.emit(1)
    sink.emit_error(ValueError())
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(1).assert_error(ValueError)


# multicast_best_effort and multicast_all_or_nothing.


def test_best_effort_counts_the_drops_of_a_slow_subscriber(dropped: Any) -> None:
    sink = sinks.multicast_best_effort()
    assert sink.try_emit(0) is EmitResult.ZERO_SUBSCRIBERS
    fast, slow = subscribe(sink.stream), subscribe(sink.stream, 1)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK] * 3
    fast.assert_elements(0, 1, 2)
    slow.assert_elements(0)
    assert (sink.dropped, dropped.elements) == (2, 2)
    slow.request(1)
    sink.emit(3)
    slow.assert_elements(0, 3)
    fast.cancel()
    assert sink.try_emit(4) is EmitResult.OVERFLOW
    assert sink.dropped == 2


def test_all_or_nothing_emits_only_if_every_subscriber_has_demand() -> None:
    sink = sinks.multicast_all_or_nothing()
    fast, slow = subscribe(sink.stream), subscribe(sink.stream, 1)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK, EmitResult.OVERFLOW, EmitResult.OVERFLOW]
    slow.request(1)
    sink.emit(3)
    for each in (fast, slow):
        each.assert_elements(0, 3)


# replay.


def test_replay_delivers_every_element_at_each_subscribers_pace() -> None:
    sink = sinks.replay()
    early = subscribe(sink.stream, 1)
    for n in range(3):
        sink.emit(n)
    late = subscribe(sink.stream)
    late.assert_elements(0, 1, 2)
    early.assert_elements(0)
    sink.emit_complete()
    early.request(2)
    for each in (early, late, subscribe(sink.stream)):
        each.assert_complete().assert_elements(0, 1, 2)


def test_replay_limit_keeps_the_history_and_the_backlog_of_slow_subscribers() -> None:
    sink = sinks.replay(2, capacity=3)
    slow = subscribe(sink.stream, 0)
    assert [sink.try_emit(n) for n in range(6)] == [EmitResult.OK] * 5 + [EmitResult.OVERFLOW]
    assert sink.subscriber_count == 1
    subscribe(sink.stream).assert_elements(3, 4)
    slow.request(10)
    slow.assert_elements(0, 1, 2, 3, 4)
    assert sink.try_emit(5) is EmitResult.OK


def test_replay_discards_old_elements() -> None:
    time = schedulers.VirtualTime()
    sink = sinks.replay(seconds=10, scheduler=time)
    for n in range(4):
        sink.emit(n)
        time.advance_by(4)
    subscribe(sink.stream).assert_elements(2, 3)
    time.advance_by(60)
    late = subscribe(sink.stream)
    late.assert_elements()
    sink.emit(9)
    late.assert_elements(9)
    sink.emit_complete()
    subscribe(sink.stream).assert_complete().assert_elements(9)


def test_replay_releases_unreachable_elements() -> None:
    class Element:
        pass

    sink = sinks.replay(limit=1)
    element = Element()
    reference = weakref.ref(element)
    sink.emit(element)
    del element
    sink.emit(Element())
    collected(lambda: reference() is None)


# emit and its failure handlers.


def test_emit_raises_emit_failed_with_the_result() -> None:
    sink = sinks.multicast_best_effort()
    with pytest.raises(EmitFailed, match="element: zero_subscribers") as raised:
        sink.emit(1)
    assert raised.value.result == "zero_subscribers"
    sink.emit_complete()
    with pytest.raises(EmitFailed, match="completion: terminated"):
        sink.emit_complete()
    with pytest.raises(EmitFailed, match="error: terminated"):
        sink.emit_error(ValueError())


def test_on_failure_decides_whether_to_retry() -> None:
    sink = sinks.multicast(1)
    sink.emit(1)
    results: list[EmitResult] = []

    def subscribe_and_retry(result: EmitResult) -> bool:
        results.append(result)
        subscribe(sink.stream)
        return True

    sink.emit(2, on_failure=subscribe_and_retry)
    assert results == [EmitResult.ZERO_SUBSCRIBERS]
    with pytest.raises(TypeError, match="on_failure"):
        sink.emit(3, on_failure=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sinks.unicast(0), "capacity"),
        (lambda: sinks.unicast("1"), "capacity"),  # type: ignore[arg-type]
        (lambda: sinks.unicast(1, "latest"), "overflow"),
        (lambda: sinks.unicast(1, 3), "overflow"),  # type: ignore[arg-type]
        (lambda: sinks.multicast(0), "capacity"),
        (lambda: sinks.replay(0), "limit"),
        (lambda: sinks.replay(1, 0), "seconds"),
        (lambda: sinks.replay(1, capacity=0), "capacity"),
        (lambda: sinks.replay(scheduler=1), "scheduler"),  # type: ignore[arg-type]
        (lambda: sinks.busy_looping(-1), "seconds"),
    ],
)
def test_wrong_arguments_raise(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_repr_shows_the_state() -> None:
    sink = sinks.multicast(8)
    assert repr(sink) == "<multicast(8): 0 subscribers, 0 buffered>"
    subscribe(sink.stream, 0)
    sink.emit(1)
    assert repr(sink) == "<multicast(8): 1 subscribers, 1 buffered>"
    assert repr(sink.stream.map(str)) == "<multicast(8): 1 subscribers, 1 buffered>.map(str)"
    sink.emit_complete()
    assert repr(sink).endswith("1 buffered, completed>")
    assert repr(sinks.replay(2, 1.5)) == "<replay(2, seconds=1.5): 0 subscribers, 0 buffered>"
    assert repr(sinks.unicast(2, "error")) == "<unicast(2, 'error'): 0 subscribers, 0 buffered>"
    failed = sinks.multicast_best_effort()
    failed.emit_error(ValueError())
    assert repr(failed) == "<multicast_best_effort(): 0 subscribers, 0 buffered, failed with ValueError>"


def test_import_pyrs_does_not_load_sinks() -> None:
    program = "import sys, pyrs; print('pyrs.sinks' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "False"
