"""publish, share, replay and cache: connections, demand of several Subscribers, history and termination."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.errors import Disconnected, NonPositiveRequest
from pyrs.stream.stream import ConnectableStream
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import Counting
from tests.core.support import subscribe
from tests.waiting import collected

# publish.


def test_connect_subscribes_to_the_source(source: Callable[[Any], pyrs.Stream[Any]]) -> None:
    counting = Counting.of(source([1, 2, 3]))
    shared = counting.stream().publish()
    assert isinstance(shared, ConnectableStream)
    subscribers = [subscribe(shared), subscribe(shared)]
    assert counting.subscriptions == 0
    connection = shared.connect()
    assert counting.subscriptions == 1
    for each in subscribers:
        assert each.await_complete() == [1, 2, 3]
    connection.cancel()


def test_second_connect_returns_the_same_connection() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    assert shared.connect() is shared.connect()
    assert publisher.subscribe_count == 1


def test_slowest_subscriber_limits_demand() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish(4)
    fast, slow = subscribe(shared), subscribe(shared, 1)
    shared.connect()
    assert publisher.requests == [4]
    publisher.next(0, 1, 2, 3)
    fast.assert_elements(0)
    slow.assert_elements(0)
    assert sum(publisher.requests) == 4
    slow.request(2)
    fast.assert_elements(0, 1, 2)
    assert sum(publisher.requests) == 7  # refilled after three quarters
    slow.cancel()
    fast.assert_elements(0, 1, 2, 3)
    publisher.next(4).complete()
    assert fast.await_complete() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("prefetch", [1, 2, 3, 4, 256])
def test_outstanding_requests_never_exceed_prefetch(prefetch: int) -> None:
    requested: list[int] = []

    def check(n: int) -> None:
        requested.append(n)
        assert sum(requested) - len(subscriber.elements) <= prefetch

    shared = pyrs.range(1000).do_on_request(check).publish(prefetch)
    subscriber = subscribe(shared, 0)
    shared.connect()
    assert requested == [prefetch]
    for _ in range(1000):
        subscriber.request(1)
    assert subscriber.await_complete() == list(range(1000))


def test_late_subscriber_receives_later_elements_only() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    early = subscribe(shared)
    shared.connect()
    publisher.next(1)
    late = subscribe(shared)
    publisher.next(2).complete()
    assert early.await_complete() == [1, 2]
    assert late.await_complete() == [2]


def test_publish_pauses_without_subscribers() -> None:
    shared = pyrs.range(10).publish(4)
    shared.connect()
    first = subscribe(shared, 2)
    first.assert_elements(0, 1)
    first.cancel()
    second = subscribe(shared)
    assert second.await_complete() == list(range(2, 10))


def test_connect_after_completion_starts_a_new_connection() -> None:
    shared = pyrs.range(2).publish()
    first = subscribe(shared)
    shared.connect()
    first.await_complete()
    second = subscribe(shared)
    second.assert_elements().assert_live()
    shared.connect()
    assert second.await_complete() == [0, 1]


def test_subscriber_added_in_on_complete_waits_for_the_next_connection() -> None:
    shared = pyrs.range(2).publish()
    second: TestSubscriber[int] = TestSubscriber(None)
    shared.subscribe(on_complete=lambda: shared.subscribe(second))
    shared.connect()
    second.assert_elements().assert_live()
    shared.connect()
    assert second.await_complete() == [0, 1]


def test_error_reaches_every_subscriber_after_its_elements() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    fast, slow = subscribe(shared), subscribe(shared, 0)
    shared.connect()
    publisher.next(1).error(ValueError())
    fast.assert_live()
    slow.request(1)
    for each in (fast, slow):
        each.assert_elements(1).assert_error(ValueError)


def test_error_without_subscribers_is_dropped(dropped: Any) -> None:
    pyrs.error(ValueError("planned")).publish().connect()
    assert [str(error) for error in dropped.take()] == ["planned"]


def test_error_without_subscribers_is_dropped_once_behind_buffered_elements(dropped: Any) -> None:
    connectable = pyrs.just(1).concat(pyrs.error(ValueError("planned"))).publish()
    connection = connectable.connect()
    assert [str(error) for error in dropped.errors] == ["planned"]
    connection.cancel()
    assert [str(error) for error in dropped.take()] == ["planned"]


def test_disconnect_fails_current_subscribers(dropped: Any) -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    subscriber = subscribe(shared, 0)
    connection = shared.connect()
    publisher.next(1)
    connection.cancel()
    connection.cancel()
    assert publisher.cancel_count == 1
    subscriber.assert_elements().assert_error(Disconnected)
    assert dropped.elements == 1
    later = subscribe(shared)
    later.assert_live()
    shared.connect()
    publisher.next(2).complete()
    assert later.await_complete() == [2]


def test_disconnect_after_completion_keeps_buffered_elements() -> None:
    shared = pyrs.range(3).publish()
    slow = subscribe(shared, 1)
    connection = shared.connect()
    connection.cancel()
    slow.assert_live().request(5)
    assert slow.await_complete() == [0, 1, 2]


def test_illegal_request_fails_only_its_subscriber() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    good, bad = subscribe(shared), subscribe(shared, 0)
    shared.connect()
    publisher.next(1)
    good.assert_elements()
    bad.request(0)
    bad.assert_error(NonPositiveRequest)
    good.assert_elements(1).assert_live()


def test_subscriber_that_raises_does_not_affect_the_others(dropped: Any) -> None:
    def raise_error(subscriber: Any, n: int) -> None:
        raise ValueError(n)

    for make in (lambda s: s.publish().auto_connect(2), lambda s: s.publish().ref_count(2), lambda s: s.replay()):
        shared = make(pyrs.range(3))
        bad: TestSubscriber[int] = TestSubscriber(None, on_element=raise_error)
        shared.subscribe(bad)
        good = subscribe(shared)
        if isinstance(shared, ConnectableStream):
            shared.connect()
        assert good.await_complete() == [0, 1, 2]
        bad.assert_elements(0).assert_live()
        assert [str(error) for error in dropped.take()] == ["0"]


def test_operators_on_a_connectable_share_the_connection() -> None:
    shared = pyrs.range(4).publish()
    even = subscribe(shared.filter(lambda n: n % 2 == 0))
    text = subscribe(shared.map(str))
    shared.connect()
    assert even.await_complete() == [0, 2]
    assert text.await_complete() == ["0", "1", "2", "3"]


# auto_connect.


def test_auto_connect_waits_for_the_number_of_subscribers() -> None:
    publisher = TestPublisher[int]()
    connections: list[Any] = []
    shared = publisher.stream().publish().auto_connect(2, connections.append)
    first = subscribe(shared)
    assert publisher.subscribe_count == 0
    second = subscribe(shared)
    assert publisher.subscribe_count == 1
    first.cancel()
    second.cancel()
    assert publisher.cancel_count == 0
    connections[0].cancel()
    assert publisher.cancel_count == 1


def test_auto_connect_with_zero_connects_immediately() -> None:
    publisher = TestPublisher[int]()
    publisher.stream().publish().auto_connect(0)
    assert publisher.subscribe_count == 1


# ref_count.


def test_ref_count_connects_and_disconnects() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish().ref_count(2)
    first = subscribe(shared)
    assert publisher.subscribe_count == 0
    second = subscribe(shared)
    assert publisher.subscribe_count == 1
    publisher.next(1)
    first.cancel()
    first.cancel()
    publisher.next(2)
    assert publisher.cancel_count == 0
    second.cancel()
    assert publisher.cancel_count == 1
    first.assert_elements(1).assert_live()
    second.assert_elements(1, 2).assert_live()
    third, fourth = subscribe(shared), subscribe(shared)
    assert publisher.subscribe_count == 2
    publisher.next(3).complete()
    assert third.await_complete() == fourth.await_complete() == [3]


def test_share_reconnects_after_completion() -> None:
    counting = Counting.of(pyrs.range(3))
    shared = counting.stream().share()
    assert shared.collect() == [0, 1, 2]
    assert shared.take(2).collect() == [0, 1]
    assert shared.collect() == [0, 1, 2]
    assert counting.subscriptions == 3


def test_ref_count_stays_connected_during_the_grace_period() -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        subscribe(shared).cancel()
        time.advance_by(9)
        second = subscribe(shared)
        time.advance_by(60)
        assert (publisher.subscribe_count, publisher.cancel_count, time.pending) == (1, 0, 0)
        second.cancel()
        time.advance_by(10)
        assert publisher.cancel_count == 1
        subscribe(shared)
        assert publisher.subscribe_count == 2


@pytest.mark.parametrize("seconds", [None, 10])
def test_illegal_request_removes_the_subscriber_from_the_count(seconds: int | None) -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(2, seconds=seconds)
        first, second = subscribe(shared), subscribe(shared)
        first.request(0)
        first.assert_error(NonPositiveRequest)
        assert publisher.cancel_count == 0
        second.cancel()
        time.advance_by(10)
        assert publisher.cancel_count == 1
        third = subscribe(shared)
        assert publisher.subscribe_count == 1
        third.request(-1)
        subscribe(shared)
        assert publisher.subscribe_count == 1


def test_last_cancel_disconnects_if_it_races_with_the_cancel_of_the_timer() -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        first = subscribe(shared)
        operator: Any = shared.source
        timer = operator._period.timer
        set_after, cancel = timer.set_after, timer.cancel
        late: list[Any] = []

        def set_late(seconds: float) -> None:
            timer.set_after = set_after
            late.append(subscribe(shared))  # after the first Subscriber was removed, and before the timer is set
            timer.cancel = leave
            set_after(seconds)

        def leave() -> None:
            timer.cancel = cancel
            late[0].cancel()  # sets the timer again
            cancel()

        timer.set_after = set_late
        first.cancel()
        late[0].cancel()
        time.advance_by(20)
        assert publisher.cancel_count == 1


def test_source_may_complete_during_the_grace_period() -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        subscribe(shared).cancel()
        publisher.complete()
        after = subscribe(shared)
        assert publisher.subscribe_count == 2
        time.advance_by(60)
        after.await_complete()


@pytest.mark.parametrize("error", [None, OSError("planned")])
def test_terminated_connection_leaves_no_timer(error: OSError | None, dropped: Any) -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        present = subscribe(shared)
        present.cancel()
        assert time.pending == 1
        publisher.complete() if error is None else publisher.error(error)
        assert time.pending == 0
        present = subscribe(shared)
        present.cancel()  # after the terminal signal there is nothing to disconnect
        assert time.pending == 0
    assert dropped.take() == ([] if error is None else [error])


def test_elements_of_a_completed_source_are_kept_during_the_grace_period() -> None:
    for waits in (9, 11):
        publisher = TestPublisher[int]()
        with schedulers.use(schedulers.VirtualTime()) as time:
            shared = publisher.stream().publish().ref_count(seconds=10)
            subscribe(shared).cancel()
            publisher.next(1).complete()
            time.advance_by(waits)
            after = subscribe(shared)
            after.assert_elements(*[1] * (waits < 10))
            assert time.pending == 0


def test_scheduler_closed_during_the_grace_period_disconnects() -> None:
    scheduler = schedulers.single()
    publisher = TestPublisher[int]()
    subscribe(publisher.stream().publish().ref_count(seconds=0.01, scheduler=scheduler)).cancel()
    scheduler.close()
    publisher.await_cancelled()


def test_share_restarts_after_the_last_subscriber_sent_an_illegal_request() -> None:
    shared = pyrs.range(3).share()
    subscriber = subscribe(shared, 1)
    subscriber.request(0)
    assert isinstance(subscriber.await_error(), pyrs.NonPositiveRequest)
    assert shared.collect() == [0, 1, 2]


def test_subscriber_that_raises_is_removed_from_the_count(dropped: Any) -> None:
    def raise_error(subscriber: Any, n: int) -> None:
        raise ValueError(n)

    publisher = TestPublisher[int]()
    publisher.stream().share().subscribe(TestSubscriber[int](None, on_element=raise_error))
    publisher.next(1)
    assert len(dropped.take()) == 1
    assert publisher.cancel_count == 1


def test_timer_that_fires_after_its_cancel_does_nothing() -> None:
    class UncancellableScheduler(schedulers.VirtualTime):
        def schedule(self, task: Any, delay: float = 0.0) -> Any:
            super().schedule(task, delay)
            return super().schedule(lambda: None)

    publisher = TestPublisher[int]()
    time = UncancellableScheduler()
    shared = publisher.stream().publish().ref_count(seconds=10, scheduler=time)
    subscribe(shared).cancel()
    subscribe(shared)
    time.advance_by(60)
    assert publisher.cancel_count == 0


def test_closed_scheduler_disconnects_immediately() -> None:
    publisher = TestPublisher[int]()
    time = schedulers.VirtualTime()
    shared = publisher.stream().publish().ref_count(seconds=10, scheduler=time)
    subscriber = subscribe(shared)
    time.close()
    subscriber.cancel()
    assert publisher.cancel_count == 1


def test_cancel_in_on_subscribe_leaves_no_connection() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().share()

    class CancellingSubscriber(pyrs.Subscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            subscription.cancel()

        def on_next(self, element: int, /) -> None: ...
        def on_error(self, error: BaseException, /) -> None: ...
        def on_complete(self) -> None: ...

    shared.subscribe(CancellingSubscriber())
    assert publisher.subscribe_count == publisher.cancel_count


# replay and cache.


def test_replay_delivers_the_history_to_late_subscribers(source: Callable[[Any], pyrs.Stream[Any]]) -> None:
    shared = source([1, 2, 3]).replay()
    early = subscribe(shared, 1)
    shared.connect()
    late = subscribe(shared)
    assert late.await_complete() == [1, 2, 3]
    early.assert_elements(1).request(5)
    assert early.await_complete() == [1, 2, 3]


def test_replay_limit_bounds_the_history() -> None:
    shared = pyrs.range(5).replay(2)
    shared.connect()
    for _ in range(2):
        assert shared.collect() == [3, 4]
    assert shared.connect() is shared.connect()  # on_complete is replayed too, without a new connection


def test_replay_demand_is_limited_by_the_slowest_subscriber() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay(2, prefetch=4)
    slow = subscribe(shared, 0)
    shared.connect()
    publisher.next(0, 1, 2, 3)
    assert sum(publisher.requests) == 4
    slow.request(3)
    assert sum(publisher.requests) == 7
    publisher.next(4).complete()
    assert subscribe(shared).await_complete() == [3, 4]
    slow.request(5)
    assert slow.await_complete() == [0, 1, 2, 3, 4]


def test_replay_continues_without_subscribers() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay(1, prefetch=2)
    shared.connect()
    for n in range(10):
        publisher.next(n)
    subscribe(shared).assert_elements(9)


def test_replay_discards_old_elements() -> None:
    publisher = TestPublisher[int]()
    time = schedulers.VirtualTime()
    shared = publisher.stream().replay(seconds=5, scheduler=time)
    shared.connect()
    publisher.next(1)
    time.advance_by(3)
    publisher.next(2)
    time.advance_by(3)
    subscribe(shared).assert_elements(2)


@pytest.mark.parametrize("trigger", ["a Subscriber", "an element"])
def test_expired_elements_are_released_by_the_next_subscriber_or_element(trigger: str) -> None:
    class Element:
        pass

    time = schedulers.VirtualTime()
    references: list[weakref.ref[Element]] = []
    sink = sinks.replay(seconds=5, scheduler=time)
    for _ in range(3):
        element = Element()
        references.append(weakref.ref(element))
        sink.emit(element)
        del element
    time.advance_by(60)
    if trigger == "a Subscriber":
        subscribe(sink.stream).assert_elements()
        collected(lambda: [each() is None for each in references[:2]] == [True, True])
        assert references[2]() is not None, "the last one is kept until another follows"
    sink.emit(Element())
    collected(lambda: [each() is None for each in references] == [True, True, True])


def test_replay_keeps_the_error() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay()
    shared.connect()
    publisher.next(1).error(ValueError())
    subscribe(shared).assert_elements(1).assert_error(ValueError)


def test_disconnected_replay_starts_with_an_empty_history() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay()
    slow = subscribe(shared, 0)
    connection = shared.connect()
    publisher.next(1)
    connection.cancel()
    slow.assert_elements().assert_error(Disconnected)
    subscribe(shared).assert_elements().assert_live()
    shared.connect()
    assert publisher.subscribe_count == 2


def test_replay_with_ref_count_subscribes_once() -> None:
    counting = Counting.of(pyrs.range(3))
    shared = counting.stream().replay().ref_count()
    assert shared.collect() == shared.collect() == [0, 1, 2]
    assert counting.subscriptions == 1


def test_cache_subscribes_once() -> None:
    counting = Counting.of(pyrs.range(3))
    cached = counting.stream().cache()
    assert counting.subscriptions == 0
    first = subscribe(cached, 1)
    first.cancel()
    assert cached.collect() == cached.collect() == [0, 1, 2]
    assert pyrs.range(5).cache(2).collect() == [0, 1, 2, 3, 4]
    assert counting.subscriptions == 1


# Arguments and reprs.


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda s: s.publish(0), ValueError, "prefetch"),
        (lambda s: s.publish("1"), TypeError, "prefetch"),
        (lambda s: s.publish().auto_connect(-1), ValueError, "subscribers"),
        (lambda s: s.publish().auto_connect(1, 2), TypeError, "on_connect"),
        (lambda s: s.publish().ref_count(0), ValueError, "subscribers"),
        (lambda s: s.publish().ref_count(1, -1), ValueError, "seconds"),
        (lambda s: s.publish().ref_count(1, 1, scheduler=1), TypeError, "scheduler"),
        (lambda s: s.replay(0), ValueError, "limit"),
        (lambda s: s.replay(1, 0), ValueError, "seconds"),
        (lambda s: s.replay(1, prefetch=0), ValueError, "prefetch"),
        (lambda s: s.replay(scheduler=1), TypeError, "scheduler"),
        (lambda s: s.cache(0), ValueError, "limit"),
        (lambda s: s.publish().subscribe(1), TypeError, "subscriber"),
    ],
)
def test_wrong_arguments_raise(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make(pyrs.range(3))


def test_repr_shows_the_call() -> None:
    stream = pyrs.range(3)
    base = repr(stream)
    assert repr(stream.publish()) == f"{base}.publish()"
    assert repr(stream.publish().auto_connect(2)) == f"{base}.publish().auto_connect(2)"
    assert repr(stream.publish().ref_count()) == f"{base}.publish().ref_count()"
    assert repr(stream.publish().ref_count(2, 0.5)) == f"{base}.publish().ref_count(2, seconds=0.5)"
    assert repr(stream.share().map(str)) == f"{base}.share().map(str)"
    assert repr(stream.replay(2, 0.5)) == f"{base}.replay(2, seconds=0.5)"
    assert repr(stream.cache()) == f"{base}.cache()"
    assert repr(pyrs.never().publish().connect()) == "<Connection of publish(): connected, 0 subscribers>"
    assert repr(pyrs.empty().publish().connect()) == "<Connection of publish(): ended, 0 subscribers>"
