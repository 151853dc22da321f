"""Sinks and threads: pushes that collide, pushes from inside a signal, and nothing lost where many do something."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pyrs import sinks
from pyrs._core.hub import AlignedHub
from pyrs.errors import EmitFailed, NonPositiveRequest
from pyrs.sinks import EmitResult, Sink
from pyrs.testing import TestSubscriber

ALL: dict[str, Callable[[], Sink[Any]]] = {
    "unicast": sinks.unicast,
    "multicast": sinks.multicast,
    "best_effort": sinks.multicast_best_effort,
    "all_or_nothing": sinks.multicast_all_or_nothing,
    "replay": sinks.replay,
}
HOLDING = ("unicast", "multicast", "replay")
DIRECT = ("best_effort", "all_or_nothing")


def subscribed(sink: Sink[Any], request: int | None = None) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    sink.stream.subscribe(subscriber)
    return subscriber


@pytest.mark.parametrize("name", ALL)
def test_a_push_beside_another_threads_push_is_refused(name: str) -> None:
    sink = ALL[name]()
    inside, go = threading.Event(), threading.Event()

    def hold(it: Any, n: int) -> None:
        if n == 1:
            inside.set()
            assert go.wait(30)

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

    def again(result: EmitResult) -> bool:
        tries.append(result)
        if len(tries) == 3:
            go.set()
            thread.join(30)
        return True

    sink.emit(3, on_failure=again)
    assert tries == [EmitResult.NON_SERIALIZED] * 3
    assert results == [EmitResult.OK]
    subscriber.assert_elements(1, 3)


@pytest.mark.parametrize("name", HOLDING)
def test_a_push_from_inside_on_next_follows_the_current_element(name: str) -> None:
    sink = ALL[name]()
    results: list[EmitResult] = []

    def feed(it: Any, n: int) -> None:
        if n < 3:
            results.append(sink.try_emit(n + 1))
        elif n == 3:
            results.append(sink.try_emit_complete())

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=feed)
    sink.stream.subscribe(subscriber)
    second = subscribed(sink) if name != "unicast" else subscriber
    sink.emit(0)
    assert results == [EmitResult.OK] * 4
    for each in (subscriber, second):
        each.assert_complete().assert_elements(0, 1, 2, 3)


@pytest.mark.parametrize("name", DIRECT)
def test_a_push_from_inside_on_next_has_no_place_where_nothing_is_held(name: str) -> None:
    sink = ALL[name]()
    results: list[EmitResult] = []

    def feed(it: Any, n: int) -> None:
        results.extend([sink.try_emit(n + 1), sink.try_emit_complete()])

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=feed)
    sink.stream.subscribe(subscriber)
    second = subscribed(sink)
    sink.emit(0)
    assert results == [EmitResult.NON_SERIALIZED, EmitResult.OK]
    for each in (subscriber, second):
        each.assert_complete().assert_elements(0)


def test_a_hundred_thousand_pushes_from_inside_on_next_nest_nowhere() -> None:
    sink = sinks.unicast(1)
    left = 100_000

    def feed(n: int) -> None:
        nonlocal left
        left -= 1
        if left:
            assert sink.try_emit(n + 1) is EmitResult.OK

    sink.stream.subscribe(on_next=feed)
    sink.emit(0)
    assert left == 0


@pytest.mark.parametrize("name", ["multicast", "replay"])
def test_a_push_beside_another_threads_drain_is_taken_and_reaches_all(name: str) -> None:
    sink = ALL[name]()
    inside, go = threading.Event(), threading.Event()

    def hold(it: Any, n: int) -> None:
        inside.set()
        assert go.wait(30)

    fast = subscribed(sink)
    slow: TestSubscriber[Any] = TestSubscriber(0, on_element=hold)
    sink.stream.subscribe(slow)
    sink.emit(1)
    thread = threading.Thread(target=slow.request, args=(2,))
    thread.start()
    assert inside.wait(30)
    assert sink.try_emit(2) is EmitResult.OK
    go.set()
    thread.join(30)
    for each in (fast, slow):
        each.assert_elements(1, 2)


@pytest.mark.parametrize("name", DIRECT)
def test_a_push_beside_another_threads_subscribe_and_cancel_is_taken(name: str) -> None:
    sink: Any = ALL[name]()
    inside, go = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        assert go.wait(30)

    subscriber = subscribed(sink)
    sink._drain = hold

    def come_and_go() -> None:
        subscribed(sink, 1).cancel()
        inside.set()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    assert inside.wait(30)
    assert sink.try_emit(1) is EmitResult.OK
    go.set()
    thread.join(30)
    subscriber.assert_elements(1)


@pytest.mark.parametrize("name", DIRECT)
def test_a_push_beside_the_answer_to_another_ones_wrong_request_waits_a_moment(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = ALL[name]()
    inside, go = threading.Event(), threading.Event()
    results: list[EmitResult] = []

    class Wrong(TestSubscriber[Any]):
        def on_error(self, error: BaseException, /) -> None:
            super().on_error(error)
            results.append(sink.try_emit(0))  # from inside a signal
            inside.set()
            assert go.wait(30)

    subscriber = subscribed(sink)
    wrong = Wrong(1)
    sink.stream.subscribe(wrong)
    thread = threading.Thread(target=wrong.request, args=(0,))
    thread.start()
    assert inside.wait(30)

    def let_go(seconds: float) -> None:
        go.set()
        thread.join(30)

    monkeypatch.setattr("pyrs.sinks.multicasting.monotonic", lambda: 0.0)  # the moment lasts
    monkeypatch.setattr("pyrs.sinks.multicasting.sleep", let_go)
    assert sink.try_emit(1) is EmitResult.OK
    assert results == [EmitResult.NON_SERIALIZED]
    subscriber.assert_elements(1)
    wrong.assert_error(NonPositiveRequest)


@pytest.mark.parametrize("name", DIRECT)
def test_a_push_waits_no_longer_than_a_moment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sink: Any = ALL[name]()
    now = iter(range(10))
    monkeypatch.setattr("pyrs.sinks.multicasting.monotonic", lambda: next(now) / 20)
    monkeypatch.setattr("pyrs.sinks.multicasting.sleep", lambda seconds: None)
    sink._turn.pop()  # somebody is just about to say what he wants it for
    assert sink.try_emit(1) is EmitResult.NON_SERIALIZED


@pytest.mark.parametrize("name", ALL)
def test_an_interrupt_leaves_nothing_to_wait_for_the_next_push(name: str) -> None:
    sink = ALL[name]()

    def interrupted(it: Any, n: int) -> None:
        sink.try_emit_complete()  # found later by whoever signals now
        raise KeyboardInterrupt

    first: TestSubscriber[Any] = TestSubscriber(None, on_element=interrupted)
    sink.stream.subscribe(first)
    second = subscribed(sink) if name != "unicast" else None
    with pytest.raises(KeyboardInterrupt):
        sink.try_emit(1)
    if second is not None:
        second.assert_complete().assert_elements(1)
    else:
        assert sink.try_emit(2) is EmitResult.TERMINATED


# Races.


@pytest.mark.parametrize("name", [name for name in ALL if name != "unicast"])
def test_one_pushes_while_others_come_and_go(name: str) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        sink = ALL[name]()
        subscriber = subscribed(sink)
        stop = threading.Event()

        def come_and_go() -> None:
            while not stop.is_set():
                subscribed(sink).cancel()

        threads = [threading.Thread(target=come_and_go) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for n in range(2000):
                # Who came may hold the turn, and not get on with it, until the buffer is full: then it is so, and said.
                while (result := sink.try_emit(n)) is EmitResult.OVERFLOW and name == "multicast":
                    pass
                assert result is EmitResult.OK
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()
        sink.emit_complete()
        subscriber.await_complete()
        subscriber.assert_elements(*range(2000))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("name", ["multicast", "replay"])
def test_nothing_is_lost_or_doubled_between_pushes_and_requests(name: str) -> None:
    """One thread pushes, two Subscribers request from threads of their own, one comes late, one cancels."""
    count = 60
    for _ in range(300):
        sink = sinks.multicast(16) if name == "multicast" else sinks.replay(16, capacity=16)
        staying = [subscribed(sink, 0) for _ in range(2)]
        leaving = subscribed(sink, 0)
        late: TestSubscriber[Any] = TestSubscriber(None)
        start = threading.Barrier(5)

        def push(sink: Sink[Any] = sink, start: threading.Barrier = start) -> None:
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

        def leave(subscriber: TestSubscriber[Any] = leaving, start: threading.Barrier = start) -> None:
            start.wait(30)
            subscriber.request(10)
            subscriber.cancel()

        def come(sink: Sink[Any] = sink, start: threading.Barrier = start, late: Any = late) -> None:
            start.wait(30)
            sink.stream.subscribe(late)

        threads = [threading.Thread(target=request, args=(each,)) for each in staying]
        threads += [threading.Thread(target=each) for each in (push, leave, come)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        for each in staying:
            assert each.await_complete() == list(range(count))
        left = leaving.assert_rules().elements
        assert left == list(range(len(left)))
        came = late.await_complete()
        assert came == list(range(count - len(came), count))


@pytest.mark.parametrize("name", ["multicast", "best_effort", "all_or_nothing", "replay", "unicast"])
def test_every_push_that_was_ok_arrives_once_and_the_others_never(name: str) -> None:
    """Three threads push at once: what is refused is refused wholly."""
    for _ in range(300):
        sink = sinks.unicast(4096) if name == "unicast" else ALL[name]()
        subscriber = subscribed(sink)
        start = threading.Barrier(3)
        taken: list[list[int]] = [[], [], []]

        def push(which: int, sink: Sink[Any] = sink, start: Any = start, taken: Any = taken) -> None:
            start.wait(30)
            for n in range(30):
                if sink.try_emit((which, n)) is EmitResult.OK:
                    taken[which].append(n)

        threads = [threading.Thread(target=push, args=(which,)) for which in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        subscriber.assert_rules()
        for which in range(3):
            assert [n for each, n in subscriber.elements if each == which] == taken[which]


def test_subscribing_and_the_end_at_once() -> None:
    for make in (sinks.multicast, sinks.multicast_best_effort, sinks.replay):
        for _ in range(500):
            sink: Sink[Any] = make()
            subscriber: TestSubscriber[Any] = TestSubscriber(None)
            start = threading.Barrier(2)

            def come(sink: Any = sink, subscriber: Any = subscriber, start: Any = start) -> None:
                start.wait(30)
                sink.stream.subscribe(subscriber)

            thread = threading.Thread(target=come)
            thread.start()
            start.wait(30)
            sink.emit_complete(on_failure=lambda result: True)
            thread.join(30)
            assert subscriber.await_complete() == []


class _Joined(AlignedHub[Any]):
    """Somebody subscribes, on another thread, as soon as the first push has looked for Subscribers."""

    def __init__(self, joins: Callable[[_Joined], None]) -> None:
        self._joins: Callable[[_Joined], None] | None = None
        self._listed: Any = ()
        super().__init__(capacity=1)
        self._joins = joins

    @property
    def _taps(self) -> Any:
        listed, joins = self._listed, self._joins
        if joins is not None:
            self._joins = None
            thread = threading.Thread(target=joins, args=(self,))
            thread.start()
            thread.join(30)
        return listed

    @_taps.setter
    def _taps(self, listed: Any) -> None:
        self._listed = listed


def test_a_push_beside_the_first_subscribe_is_held_for_whoever_comes() -> None:
    reader: TestSubscriber[int] = TestSubscriber(None)
    hub = _Joined(lambda hub: hub.subscribe(reader))
    assert hub.try_emit(1) is EmitResult.OK
    assert hub.try_emit(2) is EmitResult.OK
    reader.assert_elements(1, 2)
