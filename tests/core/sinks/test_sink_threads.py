"""Sinks under concurrency: no element is lost or duplicated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pyrs import sinks
from pyrs._core.hub import AlignedHub, HubSubscription
from pyrs.errors import EmitFailed, NonPositiveRequest
from pyrs.sinks import EmitResult, Sink
from pyrs.testing import TestSubscriber
from tests.core.sinks.kinds import ALL, BUFFERING, UNBUFFERED
from tests.core.support import frequent_thread_switches, subscribe
from tests.rounds import rounds
from tests.waiting import on_threads, run_on_threads


@pytest.mark.parametrize("name", ALL)
def test_emit_during_another_threads_emit_returns_non_serialized(name: str) -> None:
    sink = ALL[name]()
    inside, leave = threading.Event(), threading.Event()

    def hold(subscriber: Any, n: int) -> None:
        if n == 1:
            inside.set()
            assert leave.wait(30)

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=hold)
    sink.stream.subscribe(subscriber)
    results: list[EmitResult] = []
    thread = threading.Thread(target=lambda: results.append(sink.try_emit(1)))
    thread.start()
    assert inside.wait(30)
    assert sink.try_emit(2) is EmitResult.NON_SERIALIZED
    assert sink.try_emit_complete() is EmitResult.NON_SERIALIZED
    assert sink.try_emit_error(ValueError()) is EmitResult.NON_SERIALIZED
    with pytest.raises(EmitFailed, match="non_serialized"):
        sink.emit(2, on_failure=sinks.busy_looping(0.0))
    tries: list[EmitResult] = []

    def retry(result: EmitResult) -> bool:
        tries.append(result)
        if len(tries) == 3:
            leave.set()
            thread.join(30)
        return True

    sink.emit(3, on_failure=retry)
    assert tries == [EmitResult.NON_SERIALIZED] * 3
    assert results == [EmitResult.OK]
    subscriber.assert_elements(1, 3)


@pytest.mark.parametrize("name", BUFFERING)
def test_emit_inside_on_next_follows_the_current_element(name: str) -> None:
    sink = ALL[name]()
    results: list[EmitResult] = []

    def emit_next(subscriber: Any, n: int) -> None:
        if n < 3:
            results.append(sink.try_emit(n + 1))
        elif n == 3:
            results.append(sink.try_emit_complete())

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=emit_next)
    sink.stream.subscribe(subscriber)
    second = subscribe(sink.stream) if name != "unicast" else subscriber
    sink.emit(0)
    assert results == [EmitResult.OK] * 4
    for each in (subscriber, second):
        each.assert_complete().assert_elements(0, 1, 2, 3)


@pytest.mark.parametrize("name", UNBUFFERED)
def test_emit_inside_on_next_of_an_unbuffered_sink_returns_non_serialized(name: str) -> None:
    sink = ALL[name]()
    results: list[EmitResult] = []

    def emit_next(subscriber: Any, n: int) -> None:
        results.extend([sink.try_emit(n + 1), sink.try_emit_complete()])

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=emit_next)
    sink.stream.subscribe(subscriber)
    second = subscribe(sink.stream)
    sink.emit(0)
    assert results == [EmitResult.NON_SERIALIZED, EmitResult.OK]
    for each in (subscriber, second):
        each.assert_complete().assert_elements(0)


def test_100000_emits_inside_on_next_use_constant_stack_depth() -> None:
    sink = sinks.unicast(1)
    remaining = 100_000

    def emit_next(n: int) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining:
            assert sink.try_emit(n + 1) is EmitResult.OK

    sink.stream.subscribe(on_next=emit_next)
    sink.emit(0)
    assert remaining == 0


@pytest.mark.parametrize("name", ["multicast", "replay"])
def test_emit_during_another_threads_drain_reaches_every_subscriber(name: str) -> None:
    sink = ALL[name]()
    inside, leave = threading.Event(), threading.Event()

    def hold(subscriber: Any, n: int) -> None:
        inside.set()
        assert leave.wait(30)

    fast = subscribe(sink.stream)
    slow: TestSubscriber[Any] = TestSubscriber(0, on_element=hold)
    sink.stream.subscribe(slow)
    sink.emit(1)
    thread = threading.Thread(target=slow.request, args=(2,))
    thread.start()
    assert inside.wait(30)
    assert sink.try_emit(2) is EmitResult.OK
    leave.set()
    thread.join(30)
    for each in (fast, slow):
        each.assert_elements(1, 2)


@pytest.mark.parametrize("name", UNBUFFERED)
def test_emit_during_another_threads_subscribe_and_cancel_is_accepted(name: str) -> None:
    sink: Any = ALL[name]()
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        assert leave.wait(30)

    subscriber = subscribe(sink.stream)
    sink._drain = hold

    def subscribe_and_cancel() -> None:
        subscribe(sink.stream, 1).cancel()
        inside.set()

    thread = threading.Thread(target=subscribe_and_cancel)
    thread.start()
    assert inside.wait(30)
    assert sink.try_emit(1) is EmitResult.OK
    leave.set()
    thread.join(30)
    subscriber.assert_elements(1)


@pytest.mark.parametrize("name", UNBUFFERED)
def test_emit_during_the_error_of_an_illegal_request_waits_briefly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ALL[name]()
    inside, leave = threading.Event(), threading.Event()
    results: list[EmitResult] = []

    class EmittingSubscriber(TestSubscriber[Any]):
        def on_error(self, error: BaseException, /) -> None:
            super().on_error(error)
            results.append(sink.try_emit(0))  # inside a signal
            inside.set()
            assert leave.wait(30)

    subscriber = subscribe(sink.stream)
    failing = EmittingSubscriber(1)
    sink.stream.subscribe(failing)
    thread = threading.Thread(target=failing.request, args=(0,))
    thread.start()
    assert inside.wait(30)

    def finish_signal(seconds: float) -> None:
        leave.set()
        thread.join(30)

    monkeypatch.setattr("pyrs.sinks.multicasting.monotonic", lambda: 0.0)  # the wait does not expire
    monkeypatch.setattr("pyrs.sinks.multicasting.sleep", finish_signal)
    assert sink.try_emit(1) is EmitResult.OK
    assert results == [EmitResult.NON_SERIALIZED]
    subscriber.assert_elements(1)
    failing.assert_error(NonPositiveRequest)


@pytest.mark.parametrize("name", UNBUFFERED)
def test_emit_stops_waiting_after_its_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sink: Any = ALL[name]()
    now = iter(range(10))
    monkeypatch.setattr("pyrs.sinks.multicasting.monotonic", lambda: next(now) / 20)
    monkeypatch.setattr("pyrs.sinks.multicasting.sleep", lambda seconds: None)
    sink._turn.pop()  # simulates another thread that runs the drain loop
    assert sink.try_emit(1) is EmitResult.NON_SERIALIZED


@pytest.mark.parametrize("name", ALL)
def test_interrupt_in_on_next_does_not_delay_pending_signals(name: str) -> None:
    sink = ALL[name]()

    def interrupt(subscriber: Any, n: int) -> None:
        sink.try_emit_complete()  # delivered by the current drain loop
        raise KeyboardInterrupt

    first: TestSubscriber[Any] = TestSubscriber(None, on_element=interrupt)
    sink.stream.subscribe(first)
    second = subscribe(sink.stream) if name != "unicast" else None
    with pytest.raises(KeyboardInterrupt):
        sink.try_emit(1)
    if second is not None:
        second.assert_complete().assert_elements(1)
    else:
        assert sink.try_emit(2) is EmitResult.TERMINATED


# Races.


@pytest.mark.parametrize("name", [name for name in ALL if name != "unicast"])
def test_emit_reaches_a_subscriber_while_others_subscribe_and_cancel(name: str) -> None:
    with frequent_thread_switches():
        sink = ALL[name]()
        subscriber = subscribe(sink.stream)
        stop = threading.Event()

        def subscribe_and_cancel() -> None:
            while not stop.is_set():
                subscribe(sink.stream).cancel()

        with on_threads(*[subscribe_and_cancel] * 3):
            try:
                for n in range(2000):
                    # The drain loop may run on the thread of a new Subscriber until the buffer is full (OVERFLOW).
                    while (result := sink.try_emit(n)) is EmitResult.OVERFLOW and name == "multicast":
                        pass
                    assert result is EmitResult.OK
            finally:
                stop.set()
        sink.emit_complete()
        subscriber.await_complete()
        subscriber.assert_elements(*range(2000))


def test_replay_removes_cancelled_subscribers_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise three threads that subscribe and cancel would keep an emitting thread busy forever."""
    count, reads = 200, 0

    def joined(subscription: HubSubscription[Any]) -> int:
        nonlocal reads
        reads += 1
        return int(subscription.__dict__["joined at"])

    def join(subscription: HubSubscription[Any], number: int) -> None:
        subscription.__dict__["joined at"] = number

    monkeypatch.setattr(HubSubscription, "joined", property(joined, join))
    sink = sinks.replay()

    def subscribe_and_cancel(subscriber: Any, n: int) -> None:
        for _ in range(count):
            subscribe(sink.stream).cancel()

    sink.stream.subscribe(TestSubscriber(None, on_element=subscribe_and_cancel))
    assert sink.try_emit(1) is EmitResult.OK
    assert 0 < reads <= 3 * count


@pytest.mark.parametrize("name", ["multicast", "replay"])
def test_concurrent_emits_and_requests_lose_no_element(name: str) -> None:
    """One thread emits; each of the four Subscribers has its own thread."""
    count = 60
    for _ in range(rounds(300)):
        sink = sinks.multicast(16) if name == "multicast" else sinks.replay(16, capacity=16)
        staying = [subscribe(sink.stream, 0) for _ in range(2)]
        leaving = subscribe(sink.stream, 0)
        late: TestSubscriber[Any] = TestSubscriber(None)
        start = threading.Barrier(5)

        def emit(sink: Sink[Any] = sink, start: threading.Barrier = start) -> None:
            start.wait(30)
            for n in range(count):
                while sink.try_emit(n) is EmitResult.OVERFLOW:
                    pass
            while sink.try_emit_complete() is not EmitResult.OK:
                pass

        def request(subscriber: TestSubscriber[Any], start: threading.Barrier = start) -> None:
            start.wait(30)
            for _ in range(count):
                subscriber.request(1)

        def request_and_cancel(subscriber: TestSubscriber[Any] = leaving, start: threading.Barrier = start) -> None:
            start.wait(30)
            subscriber.request(10)
            subscriber.cancel()

        def subscribe_late(sink: Sink[Any] = sink, start: threading.Barrier = start, late: Any = late) -> None:
            start.wait(30)
            sink.stream.subscribe(late)

        run_on_threads(*(partial(request, each) for each in staying), emit, request_and_cancel, subscribe_late)
        for each in staying:
            assert each.await_complete() == list(range(count))
        before_cancel = leaving.assert_rules().elements
        assert before_cancel == list(range(len(before_cancel)))
        received = late.await_complete()
        assert received == list(range(count - len(received), count))


@pytest.mark.parametrize("name", ALL)
def test_only_accepted_emits_are_delivered(name: str) -> None:
    """Three threads emit concurrently: a rejected element reaches no Subscriber."""
    for _ in range(rounds(300)):
        sink = sinks.unicast(4096) if name == "unicast" else ALL[name]()
        subscriber = subscribe(sink.stream)
        start = threading.Barrier(3)
        accepted: list[list[int]] = [[], [], []]

        def emit(which: int, sink: Sink[Any] = sink, start: Any = start, accepted: Any = accepted) -> None:
            start.wait(30)
            for n in range(30):
                if sink.try_emit((which, n)) is EmitResult.OK:
                    accepted[which].append(n)

        run_on_threads(*(partial(emit, which) for which in range(3)))
        subscriber.assert_rules()
        for which in range(3):
            assert [n for each, n in subscriber.elements if each == which] == accepted[which]


def test_concurrent_subscribe_and_completion_complete_the_subscriber() -> None:
    for make in (sinks.multicast, sinks.multicast_best_effort, sinks.replay):
        for _ in range(500):
            sink: Sink[Any] = make()
            subscriber: TestSubscriber[Any] = TestSubscriber(None)
            start = threading.Barrier(2)

            def subscribe_late(sink: Any = sink, subscriber: Any = subscriber, start: Any = start) -> None:
                start.wait(30)
                sink.stream.subscribe(subscriber)

            thread = threading.Thread(target=subscribe_late)
            thread.start()
            start.wait(30)
            sink.emit_complete(on_failure=lambda result: True)
            thread.join(30)
            assert subscriber.await_complete() == []


class _InterposingHub(AlignedHub[Any]):
    """A hub to which another thread subscribes inside the first emit."""

    def __init__(self, subscribe_once: Callable[[_InterposingHub], None]) -> None:
        self._subscribe_once: Callable[[_InterposingHub], None] | None = None
        self._subscription_list: Any = ()
        super().__init__(capacity=1)
        self._subscribe_once = subscribe_once

    @property
    def _subscriptions(self) -> Any:
        subscriptions, subscribe_once = self._subscription_list, self._subscribe_once
        if subscribe_once is not None:
            self._subscribe_once = None
            thread = threading.Thread(target=subscribe_once, args=(self,))
            thread.start()
            thread.join(30)
        return subscriptions

    @_subscriptions.setter
    def _subscriptions(self, subscriptions: Any) -> None:
        self._subscription_list = subscriptions


def test_emit_during_the_first_subscribe_is_buffered() -> None:
    reader: TestSubscriber[int] = TestSubscriber(None)
    hub = _InterposingHub(lambda hub: hub.subscribe(reader))
    assert hub.try_emit(1) is EmitResult.OK
    assert hub.try_emit(2) is EmitResult.OK
    reader.assert_elements(1, 2)
