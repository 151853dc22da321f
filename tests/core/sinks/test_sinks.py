"""Sinks: what becomes of each push, who gets what, and that one thread at a time signals."""

from __future__ import annotations

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
from tests.waiting import collected

ALL: dict[str, Callable[[], Sink[Any]]] = {
    "unicast": sinks.unicast,
    "multicast": sinks.multicast,
    "best_effort": sinks.multicast_best_effort,
    "all_or_nothing": sinks.multicast_all_or_nothing,
    "replay": sinks.replay,
}
HOLDING = ("unicast", "multicast", "replay")
DIRECT = ("best_effort", "all_or_nothing")


@pytest.fixture(params=ALL)
def sink(request: pytest.FixtureRequest) -> Sink[Any]:
    return ALL[request.param]()


def subscribed(sink: Sink[Any], request: int | None = None) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    sink.stream.subscribe(subscriber)
    return subscriber


# What they have in common.


def test_elements_and_the_end_arrive(sink: Sink[Any]) -> None:
    subscriber = subscribed(sink)
    assert [sink.try_emit(n) for n in (1, 2, 3)] == [EmitResult.OK] * 3
    assert sink.try_emit_complete() is EmitResult.OK
    subscriber.assert_complete().assert_elements(1, 2, 3)


def test_an_error_arrives_after_the_elements(sink: Sink[Any]) -> None:
    subscriber = subscribed(sink)
    error = ValueError("bad")
    sink.emit(1)
    sink.emit_error(error)
    assert subscriber.assert_elements(1).assert_error(ValueError) is error


def test_after_the_end_every_push_is_terminated(sink: Sink[Any]) -> None:
    subscribed(sink)
    sink.emit_complete()
    assert sink.try_emit(1) is EmitResult.TERMINATED
    assert sink.try_emit_complete() is EmitResult.TERMINATED
    assert sink.try_emit_error(ValueError()) is EmitResult.TERMINATED


@pytest.mark.parametrize("failed", [True, False])
def test_who_comes_after_the_end_is_told(sink: Sink[Any], failed: bool) -> None:
    if failed:
        sink.emit_error(ValueError())
    else:
        sink.emit_complete()
    subscriber = subscribed(sink, 0)
    subscriber.assert_error(ValueError) if failed else subscriber.assert_complete()


@pytest.mark.parametrize("bad", [None])
def test_none_is_refused(sink: Sink[Any], bad: Any) -> None:
    for push in (sink.try_emit, sink.emit, sink.try_emit_error, sink.emit_error):
        with pytest.raises(NullSignal):
            push(bad)
    with pytest.raises(NullSignal):
        sink.stream.subscribe(bad)


def test_an_error_must_be_one(sink: Sink[Any]) -> None:
    with pytest.raises(TypeError, match="error"):
        sink.try_emit_error("no")  # type: ignore[arg-type]


def test_demand_is_kept(sink: Sink[Any]) -> None:
    subscriber = subscribed(sink, 2)
    results = [sink.try_emit(n) for n in range(4)]
    subscriber.assert_elements(0, 1)
    assert results[:2] == [EmitResult.OK] * 2
    subscriber.request(5)
    assert len(subscriber.assert_rules().elements) == (2 if EmitResult.OVERFLOW in results else 4)


@pytest.mark.parametrize("n", [0, -1])
def test_an_illegal_request_fails_that_subscriber_alone(sink: Sink[Any], n: int) -> None:
    subscriber = subscribed(sink)
    subscriber.request(n)
    subscriber.assert_error(NonPositiveRequest)
    assert sink.subscriber_count == 0


def test_an_illegal_request_in_on_subscribe_is_answered(sink: Sink[Any]) -> None:
    subscribed(sink, -1).assert_error(NonPositiveRequest)


def test_a_subscriber_that_cancelled_gets_nothing(sink: Sink[Any]) -> None:
    subscriber = subscribed(sink)
    sink.emit(1)
    subscriber.cancel()
    subscriber.cancel()
    sink.try_emit(2)
    sink.try_emit_complete()
    subscriber.assert_elements(1).assert_live()
    assert sink.subscriber_count == 0


def test_a_cancel_inside_on_next_is_the_last_of_it(sink: Sink[Any]) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=lambda it, n: it.cancel())
    sink.stream.subscribe(subscriber)
    sink.emit(1)
    sink.try_emit(2)
    subscriber.assert_elements(1).assert_live()


def test_a_subscriber_that_raises_is_cancelled_and_reported(sink: Sink[Any], dropped: Any) -> None:
    def fails(it: Any, n: int) -> None:
        raise ValueError(n)

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=fails)
    sink.stream.subscribe(subscriber)
    assert sink.try_emit(1) is EmitResult.OK
    assert [str(error) for error in dropped.take()] == ["1"]
    assert sink.subscriber_count == 0
    sink.try_emit(2)
    subscriber.assert_elements(1).assert_live()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_error", "on_complete"])
def test_what_other_signals_raise_is_reported(sink: Sink[Any], signal: str, dropped: Any) -> None:
    def fails(*arguments: Any) -> None:
        raise ValueError(signal)

    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    setattr(subscriber, signal, fails)
    sink.stream.subscribe(subscriber)
    if signal == "on_error":
        sink.emit_error(KeyError())
    elif signal == "on_complete":
        sink.emit_complete()
    assert [str(error) for error in dropped.take()] == [signal]
    assert sink.subscriber_count == 0


def test_an_interrupt_travels_on_when_all_were_signalled() -> None:
    def interrupted(it: Any, n: int) -> None:
        raise KeyboardInterrupt

    for make in (sinks.multicast, sinks.multicast_best_effort, sinks.replay):
        sink: Sink[Any] = make()
        first: TestSubscriber[Any] = TestSubscriber(None, on_element=interrupted)
        sink.stream.subscribe(first)
        second = subscribed(sink)
        with pytest.raises(KeyboardInterrupt):
            sink.try_emit(1)
        assert sink.try_emit(2) is EmitResult.OK
        second.assert_elements(1, 2)
        first.assert_elements(1)


def test_the_operators_of_its_stream(sink: Sink[Any]) -> None:
    seen: list[Any] = []
    sink.stream.map(lambda n: n + 1).filter(lambda n: n % 2).subscribe(on_next=seen.append)
    for n in range(6):
        sink.emit(n)
    assert seen == [1, 3, 5]


def test_context_variables_of_whoever_subscribed(sink: Sink[Any]) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    token = variable.set("subscriber")
    sink.stream.subscribe(on_next=lambda n: seen.append(variable.get()))
    variable.reset(token)
    variable.set("pusher")
    sink.emit(1)
    assert seen == ["subscriber"]


def test_an_error_names_the_stage_that_it_arose_in(sink: Sink[Any]) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    sink.stream.map(lambda n: 1 // n).filter(lambda n: True).subscribe(subscriber)
    sink.emit(0)
    notes = subscriber.assert_error(ZeroDivisionError).__notes__
    assert len(notes) == 1 and notes[0].startswith("in map(")


@pytest.mark.parametrize("name", ["multicast", *DIRECT, "replay"])
def test_one_may_cancel_another_while_an_element_goes_out(name: str) -> None:
    sink = ALL[name]()
    second: TestSubscriber[Any] = TestSubscriber(None)
    first: TestSubscriber[Any] = TestSubscriber(None, on_element=lambda it, n: second.cancel())
    sink.stream.subscribe(first)
    sink.stream.subscribe(second)
    sink.emit(1)
    first.assert_elements(1)
    second.assert_elements()


def test_one_that_comes_while_held_elements_go_out_takes_part_in_the_next() -> None:
    sink = sinks.multicast()
    late: TestSubscriber[Any] = TestSubscriber(1)

    def come(it: Any, n: int) -> None:
        if n == 0:
            sink.stream.subscribe(late)

    first: TestSubscriber[Any] = TestSubscriber(0, on_element=come)
    sink.stream.subscribe(first)
    for n in range(4):
        sink.emit(n)
    first.request(9)
    first.assert_elements(0, 1)
    late.assert_elements(1)
    late.request(9)
    first.assert_elements(0, 1, 2, 3)
    late.assert_elements(1, 2, 3)


# Unicast.


class Leaving(TestSubscriber[Any]):
    """Cancels in on_subscribe."""

    def on_subscribe(self, subscription: Any, /) -> None:
        super().on_subscribe(subscription)
        subscription.cancel()


def test_unicast_holds_elements_for_its_subscriber() -> None:
    sink = sinks.unicast(capacity=3)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK] * 3
    assert sink.try_emit(3) is EmitResult.OVERFLOW
    sink.emit_complete()
    subscriber = subscribed(sink, 2)
    subscriber.assert_elements(0, 1).assert_live()
    subscriber.request(1)
    subscriber.assert_complete().assert_elements(0, 1, 2)


def test_unicast_has_one_subscriber_in_its_life() -> None:
    sink = sinks.unicast()
    first = subscribed(sink)
    subscribed(sink).assert_error(RuntimeError)
    sink.emit(1)
    first.assert_elements(1)
    first.cancel()
    subscribed(sink).assert_error(RuntimeError)
    assert sink.try_emit(2) is EmitResult.CANCELLED
    assert sink.try_emit_complete() is EmitResult.CANCELLED


def test_unicast_is_not_cancelled_by_one_that_was_too_late() -> None:
    sink: Any = sinks.unicast()

    class Between:
        """The sink's lock: when it is given back for the first time, another Subscriber has come and gone."""

        def __init__(self, lock: Any) -> None:
            self.lock = lock

        def __enter__(self) -> None:
            self.lock.acquire()

        def __exit__(self, *raised: object) -> None:
            self.lock.release()
            sink._lock = self.lock
            sink.stream.subscribe(Leaving(0))

    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    sink._lock = Between(sink._lock)
    sink.stream.subscribe(subscriber)
    subscriber.request(1)
    assert sink.try_emit(1) is EmitResult.OK
    subscriber.assert_elements(1)


def test_unicast_is_cancelled_by_one_that_cancels_in_on_subscribe() -> None:
    sink = sinks.unicast()

    sink.stream.subscribe(Leaving(0))
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
def test_unicast_overflow(overflow: Any, result: EmitResult, elements: list[int], dropped: Any) -> None:
    sink = sinks.unicast(2, overflow)
    subscriber = subscribed(sink, 0)
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


# Multicast.


def test_multicast_goes_as_the_slowest() -> None:
    sink = sinks.multicast(capacity=2)
    fast, slow = subscribed(sink), subscribed(sink, 1)
    assert [sink.try_emit(n) for n in range(4)] == [EmitResult.OK] * 3 + [EmitResult.OVERFLOW]
    fast.assert_elements(0)
    slow.assert_elements(0)
    slow.request(1)
    fast.assert_elements(0, 1)
    slow.cancel()
    fast.assert_elements(0, 1, 2)
    assert sink.try_emit(9) is EmitResult.OK
    fast.assert_elements(0, 1, 2, 9)


def test_multicast_counts_demand_as_soon_as_one_comes_whose_demand_is_bounded() -> None:
    sink = sinks.multicast(capacity=2)
    unbounded = subscribed(sink)
    sink.emit(0)
    bounded = subscribed(sink, 0)
    sink.emit(1)
    bounded.assert_elements()
    bounded.request(1)
    bounded.assert_elements(1)
    sink.emit(2)
    bounded.assert_elements(1)
    bounded.request(pyrs.UNBOUNDED)
    sink.emit(3)
    bounded.assert_elements(1, 2, 3)
    late = subscribed(sink, 1)
    bounded.cancel()
    sink.emit(4)
    sink.emit(5)
    late.assert_elements(4)
    unbounded.assert_elements(0, 1, 2, 3, 4)


def test_multicast_holds_for_the_first_and_not_for_later_ones() -> None:
    sink = sinks.multicast(capacity=2)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK, EmitResult.OK, EmitResult.ZERO_SUBSCRIBERS]
    first = subscribed(sink)
    second = subscribed(sink)
    sink.emit(3)
    first.assert_elements(0, 1, 3)
    second.assert_elements(3)


def test_multicast_is_cancelled_with_its_last_subscriber(dropped: Any) -> None:
    sink = sinks.multicast()
    subscriber = subscribed(sink, 0)
    sink.emit(1)
    subscriber.cancel()
    assert sink.try_emit(2) is EmitResult.CANCELLED
    assert dropped.elements == 1
    assert "cancelled" in repr(sink)


def test_who_comes_when_multicast_was_cancelled_is_told_the_end() -> None:
    sink = sinks.multicast()
    subscribed(sink).cancel()
    late = subscribed(sink)
    late.assert_complete()
    assert sink.try_emit(1) is sink.try_emit_complete() is EmitResult.CANCELLED
    late.assert_elements()
    assert sink.stream.collect(timeout=5.0) == []
    assert sink.subscriber_count == 0


def test_who_is_in_on_subscribe_while_the_last_other_one_cancels_is_told_the_end() -> None:
    sink = sinks.multicast()
    other = subscribed(sink)

    class Late(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Any, /) -> None:
            super().on_subscribe(subscription)
            other.cancel()

    late = Late(None)
    sink.stream.subscribe(late)
    late.assert_complete()


def test_multicast_without_auto_cancel_waits_for_the_next_one() -> None:
    sink = sinks.multicast(auto_cancel=False)
    subscribed(sink, 0).cancel()
    assert sink.try_emit(2) is EmitResult.OK
    subscribed(sink).assert_elements(2)


def test_the_end_waits_for_what_is_held() -> None:
    sink = sinks.multicast()
    subscriber = subscribed(sink, 0)
    sink.emit(1)
    sink.emit_error(ValueError())
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(1).assert_error(ValueError)


# Nothing held.


def test_best_effort_counts_what_a_slow_one_loses(dropped: Any) -> None:
    sink = sinks.multicast_best_effort()
    assert sink.try_emit(0) is EmitResult.ZERO_SUBSCRIBERS
    fast, slow = subscribed(sink), subscribed(sink, 1)
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


def test_all_or_nothing() -> None:
    sink = sinks.multicast_all_or_nothing()
    fast, slow = subscribed(sink), subscribed(sink, 1)
    assert [sink.try_emit(n) for n in range(3)] == [EmitResult.OK, EmitResult.OVERFLOW, EmitResult.OVERFLOW]
    slow.request(1)
    sink.emit(3)
    for each in (fast, slow):
        each.assert_elements(0, 3)


# Replay.


def test_replay_gives_everything_to_everybody_at_their_pace() -> None:
    sink = sinks.replay()
    early = subscribed(sink, 1)
    for n in range(3):
        sink.emit(n)
    late = subscribed(sink)
    late.assert_elements(0, 1, 2)
    early.assert_elements(0)
    sink.emit_complete()
    early.request(2)
    for each in (early, late, subscribed(sink)):
        each.assert_complete().assert_elements(0, 1, 2)


def test_replay_with_a_limit_holds_so_many_and_what_the_slow_ones_lack() -> None:
    sink = sinks.replay(2, capacity=3)
    slow = subscribed(sink, 0)
    assert [sink.try_emit(n) for n in range(6)] == [EmitResult.OK] * 5 + [EmitResult.OVERFLOW]
    assert sink.subscriber_count == 1
    subscribed(sink).assert_elements(3, 4)
    slow.request(10)
    slow.assert_elements(0, 1, 2, 3, 4)
    assert sink.try_emit(5) is EmitResult.OK


def test_replay_forgets_what_is_too_old() -> None:
    time = schedulers.VirtualTime()
    sink = sinks.replay(seconds=10, scheduler=time)
    for n in range(4):
        sink.emit(n)
        time.advance_by(4)
    subscribed(sink).assert_elements(2, 3)
    time.advance_by(60)
    nothing = subscribed(sink)
    nothing.assert_elements()
    sink.emit(9)
    nothing.assert_elements(9)
    sink.emit_complete()
    subscribed(sink).assert_complete().assert_elements(9)


def test_replay_lets_go_of_what_nobody_can_get() -> None:
    import weakref

    class Element:
        pass

    sink = sinks.replay(limit=1)
    element = Element()
    gone = weakref.ref(element)
    sink.emit(element)
    del element
    sink.emit(Element())
    collected(lambda: gone() is None)


# Emit, and its handlers.


def test_emit_raises_what_became_of_it() -> None:
    sink = sinks.multicast_best_effort()
    with pytest.raises(EmitFailed, match="element: zero_subscribers") as raised:
        sink.emit(1)
    assert raised.value.result == "zero_subscribers"
    sink.emit_complete()
    with pytest.raises(EmitFailed, match="end: terminated"):
        sink.emit_complete()
    with pytest.raises(EmitFailed, match="error: terminated"):
        sink.emit_error(ValueError())


def test_on_failure_decides() -> None:
    sink = sinks.multicast(1)
    sink.emit(1)
    asked: list[EmitResult] = []

    def make_room(result: EmitResult) -> bool:
        asked.append(result)
        subscribed(sink)
        return True

    sink.emit(2, on_failure=make_room)
    assert asked == [EmitResult.ZERO_SUBSCRIBERS]
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
def test_bad_arguments(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_repr_shows_the_state() -> None:
    sink = sinks.multicast(8)
    assert repr(sink) == "<multicast(8): 0 subscribers, 0 held>"
    subscribed(sink, 0)
    sink.emit(1)
    assert repr(sink) == "<multicast(8): 1 subscribers, 1 held>"
    assert repr(sink.stream.map(str)) == "<multicast(8): 1 subscribers, 1 held>.map(str)"
    sink.emit_complete()
    assert repr(sink).endswith("1 held, completed>")
    assert repr(sinks.replay(2, 1.5)) == "<replay(2, seconds=1.5): 0 subscribers, 0 held>"
    assert repr(sinks.unicast(2, "error")) == "<unicast(2, 'error'): 0 subscribers, 0 held>"
    failed = sinks.multicast_best_effort()
    failed.emit_error(ValueError())
    assert repr(failed) == "<multicast_best_effort(): 0 subscribers, 0 held, failed with ValueError>"


def test_importing_pyrs_loads_no_sink() -> None:
    import subprocess
    import sys

    program = "import sys, pyrs; print('pyrs.sinks' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "False"
    assert pyrs.Stream is not None
