"""publish, share, replay, cache: one subscription to the source, and who gets what of it when."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.errors import Disconnected, NonPositiveRequest
from pyrs.stream.connectable import ConnectableStream
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import collected


def subscribed(stream: pyrs.Stream[Any], request: int | None = None) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    stream.subscribe(subscriber)
    return subscriber


class Counted(pyrs.Publisher[Any]):
    """Counts who subscribes to it, and who cancels."""

    def __init__(self, source: pyrs.Publisher[Any]) -> None:
        self.source = source
        self.subscribed = 0
        self.cancelled = 0

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.subscribed += 1
        self.source.subscribe(subscriber)


# Publish.


def test_nothing_happens_before_connect(source: Callable[[Any], pyrs.Stream[Any]]) -> None:
    counted = Counted(source([1, 2, 3]))
    shared = pyrs.Stream(counted).publish()
    assert isinstance(shared, ConnectableStream)
    subscribers = [subscribed(shared), subscribed(shared)]
    assert counted.subscribed == 0
    connection = shared.connect()
    assert counted.subscribed == 1
    for each in subscribers:
        assert each.await_complete() == [1, 2, 3]
    connection.cancel()


def test_connect_connects_once() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    assert shared.connect() is shared.connect()
    assert publisher.subscribe_count == 1


def test_the_slowest_decides() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish(4)
    fast, slow = subscribed(shared), subscribed(shared, 1)
    shared.connect()
    assert publisher.requests == [4]
    publisher.next(0, 1, 2, 3)
    fast.assert_elements(0)
    slow.assert_elements(0)
    assert sum(publisher.requests) == 4
    slow.request(2)
    fast.assert_elements(0, 1, 2)
    assert sum(publisher.requests) == 7  # three quarters have gone out
    slow.cancel()
    fast.assert_elements(0, 1, 2, 3)
    publisher.next(4).complete()
    assert fast.await_complete() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("prefetch", [1, 2, 3, 4, 256])
def test_the_source_is_never_asked_for_more_than_the_prefetch(prefetch: int) -> None:
    asked: list[int] = []

    class Watched(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            inner: Any = pyrs.range(1000)

            class Link(pyrs.Subscription):
                def __init__(self, real: pyrs.Subscription) -> None:
                    self.real = real

                def request(self, n: int, /) -> None:
                    asked.append(n)
                    assert sum(asked) - len(seen.elements) <= prefetch
                    self.real.request(n)

                def cancel(self) -> None:
                    self.real.cancel()

            class Pass(pyrs.Subscriber[int]):
                def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                    subscriber.on_subscribe(Link(subscription))

                def on_next(self, element: int, /) -> None:
                    subscriber.on_next(element)

                def on_error(self, error: BaseException, /) -> None:
                    subscriber.on_error(error)

                def on_complete(self) -> None:
                    subscriber.on_complete()

            inner.subscribe(Pass())

    shared = pyrs.Stream(Watched()).publish(prefetch)
    seen = subscribed(shared, 0)
    shared.connect()
    assert asked == [prefetch]
    for _ in range(1000):
        seen.request(1)
    assert seen.await_complete() == list(range(1000))


def test_a_later_one_gets_what_goes_out_from_then_on() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    early = subscribed(shared)
    shared.connect()
    publisher.next(1)
    late = subscribed(shared)
    publisher.next(2).complete()
    assert early.await_complete() == [1, 2]
    assert late.await_complete() == [2]


def test_without_a_subscriber_it_stands_still() -> None:
    shared = pyrs.range(10).publish(4)
    shared.connect()
    first = subscribed(shared, 2)
    first.assert_elements(0, 1)
    first.cancel()
    second = subscribed(shared)
    assert second.await_complete() == list(range(2, 10))


def test_after_the_end_the_next_connection_begins() -> None:
    shared = pyrs.range(2).publish()
    first = subscribed(shared)
    shared.connect()
    first.await_complete()
    second = subscribed(shared)
    second.assert_elements().assert_live()
    shared.connect()
    assert second.await_complete() == [0, 1]


def test_subscribing_again_inside_on_complete_waits_for_the_next_connection() -> None:
    shared = pyrs.range(2).publish()
    second: TestSubscriber[int] = TestSubscriber(None)
    shared.subscribe(on_complete=lambda: shared.subscribe(second))
    shared.connect()
    second.assert_elements().assert_live()
    shared.connect()
    assert second.await_complete() == [0, 1]


def test_an_error_reaches_all_after_the_elements() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    fast, slow = subscribed(shared), subscribed(shared, 0)
    shared.connect()
    publisher.next(1).error(ValueError())
    fast.assert_live()
    slow.request(1)
    for each in (fast, slow):
        each.assert_elements(1).assert_error(ValueError)


def test_an_error_that_nobody_hears_goes_to_the_hook(dropped: Any) -> None:
    pyrs.error(ValueError("unheard")).publish().connect()
    assert [str(error) for error in dropped.take()] == ["unheard"]


def test_a_disconnect_fails_those_that_are_there(dropped: Any) -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    subscriber = subscribed(shared, 0)
    connection = shared.connect()
    publisher.next(1)
    connection.cancel()
    connection.cancel()
    assert publisher.cancel_count == 1
    subscriber.assert_elements().assert_error(Disconnected)
    assert dropped.elements == 1
    later = subscribed(shared)
    later.assert_live()
    shared.connect()
    publisher.next(2).complete()
    assert later.await_complete() == [2]


def test_a_disconnect_after_the_end_takes_nothing_away() -> None:
    shared = pyrs.range(3).publish()
    slow = subscribed(shared, 1)
    connection = shared.connect()
    connection.cancel()
    slow.assert_live().request(5)
    assert slow.await_complete() == [0, 1, 2]


def test_an_illegal_request_fails_that_one_alone() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish()
    good, bad = subscribed(shared), subscribed(shared, 0)
    shared.connect()
    publisher.next(1)
    good.assert_elements()
    bad.request(0)
    bad.assert_error(NonPositiveRequest)
    good.assert_elements(1).assert_live()


def test_one_that_raises_does_not_harm_the_others(dropped: Any) -> None:
    def fails(it: Any, n: int) -> None:
        raise ValueError(n)

    for make in (lambda s: s.publish().auto_connect(2), lambda s: s.publish().ref_count(2), lambda s: s.replay()):
        shared = make(pyrs.range(3))
        bad: TestSubscriber[int] = TestSubscriber(None, on_element=fails)
        shared.subscribe(bad)
        good = subscribed(shared)
        if isinstance(shared, ConnectableStream):
            shared.connect()
        assert good.await_complete() == [0, 1, 2]
        bad.assert_elements(0).assert_live()
        assert [str(error) for error in dropped.take()] == ["0"]


def test_operators_on_a_connectable() -> None:
    shared = pyrs.range(4).publish()
    even = subscribed(shared.filter(lambda n: n % 2 == 0))
    text = subscribed(shared.map(str))
    shared.connect()
    assert even.await_complete() == [0, 2]
    assert text.await_complete() == ["0", "1", "2", "3"]


# Auto-connect.


def test_auto_connect_waits_for_so_many() -> None:
    publisher = TestPublisher[int]()
    connections: list[Any] = []
    shared = publisher.stream().publish().auto_connect(2, connections.append)
    first = subscribed(shared)
    assert publisher.subscribe_count == 0
    second = subscribed(shared)
    assert publisher.subscribe_count == 1
    first.cancel()
    second.cancel()
    assert publisher.cancel_count == 0  # it stays connected
    connections[0].cancel()
    assert publisher.cancel_count == 1


def test_auto_connect_at_once() -> None:
    publisher = TestPublisher[int]()
    publisher.stream().publish().auto_connect(0)
    assert publisher.subscribe_count == 1


# Reference counting.


def test_ref_count_connects_and_disconnects() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().publish().ref_count(2)
    first = subscribed(shared)
    assert publisher.subscribe_count == 0
    second = subscribed(shared)
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
    third, fourth = subscribed(shared), subscribed(shared)
    assert publisher.subscribe_count == 2
    publisher.next(3).complete()
    assert third.await_complete() == fourth.await_complete() == [3]


def test_share_begins_anew_after_the_end() -> None:
    counted = Counted(pyrs.range(3))
    shared = pyrs.Stream(counted).share()
    assert shared.collect() == [0, 1, 2]
    assert shared.take(2).collect() == [0, 1]
    assert shared.collect() == [0, 1, 2]
    assert counted.subscribed == 3


def test_ref_count_stays_connected_for_a_while() -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        subscribed(shared).cancel()
        time.advance_by(9)
        again = subscribed(shared)
        time.advance_by(60)
        assert (publisher.subscribe_count, publisher.cancel_count, time.pending) == (1, 0, 0)
        again.cancel()
        time.advance_by(10)
        assert publisher.cancel_count == 1
        subscribed(shared)
        assert publisher.subscribe_count == 2


def test_in_that_while_the_source_may_end() -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        subscribed(shared).cancel()
        publisher.complete()
        after = subscribed(shared)
        assert publisher.subscribe_count == 2
        time.advance_by(60)
        after.await_complete()


@pytest.mark.parametrize("error", [None, OSError("planned")])
def test_no_timer_waits_for_a_connection_that_is_over(error: OSError | None, dropped: Any) -> None:
    publisher = TestPublisher[int]()
    with schedulers.use(schedulers.VirtualTime()) as time:
        shared = publisher.stream().publish().ref_count(seconds=10)
        present = subscribed(shared)
        present.cancel()
        assert time.pending == 1
        publisher.complete() if error is None else publisher.error(error)
        assert time.pending == 0
        present = subscribed(shared)
        present.cancel()  # who was told the end has nothing to disconnect either
        assert time.pending == 0
    assert dropped.take() == ([] if error is None else [error])


def test_what_is_held_for_one_who_may_come_is_held_for_that_while_though_the_source_has_ended() -> None:
    for waits in (9, 11):
        publisher = TestPublisher[int]()
        with schedulers.use(schedulers.VirtualTime()) as time:
            shared = publisher.stream().publish().ref_count(seconds=10)
            subscribed(shared).cancel()
            publisher.next(1).complete()
            time.advance_by(waits)
            after = subscribed(shared)
            after.assert_elements(*[1] * (waits < 10))
            assert time.pending == 0


def test_a_scheduler_that_is_closed_in_that_while_disconnects_all_the_same() -> None:
    scheduler = schedulers.single()
    publisher = TestPublisher[int]()
    subscribed(publisher.stream().publish().ref_count(seconds=0.01, scheduler=scheduler)).cancel()
    scheduler.close()
    publisher.await_cancelled()


def test_one_that_raises_is_no_longer_counted(dropped: Any) -> None:
    def fails(it: Any, n: int) -> None:
        raise ValueError(n)

    publisher = TestPublisher[int]()
    publisher.stream().share().subscribe(TestSubscriber[int](None, on_element=fails))
    publisher.next(1)
    assert len(dropped.take()) == 1
    assert publisher.cancel_count == 1


def test_a_timer_that_could_not_be_cancelled_in_time_does_nothing() -> None:
    class Deaf(schedulers.VirtualTime):
        def schedule(self, task: Any, delay: float = 0.0) -> Any:
            super().schedule(task, delay)
            return super().schedule(lambda: None)

    publisher = TestPublisher[int]()
    time = Deaf()
    shared = publisher.stream().publish().ref_count(seconds=10, scheduler=time)
    subscribed(shared).cancel()
    subscribed(shared)
    time.advance_by(60)
    assert publisher.cancel_count == 0


def test_a_closed_scheduler_disconnects_at_once() -> None:
    publisher = TestPublisher[int]()
    time = schedulers.VirtualTime()
    shared = publisher.stream().publish().ref_count(seconds=10, scheduler=time)
    subscriber = subscribed(shared)
    time.close()
    subscriber.cancel()
    assert publisher.cancel_count == 1


def test_a_cancel_inside_on_subscribe_leaves_nothing_connected() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().share()

    class Leaves(pyrs.Subscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            subscription.cancel()

        def on_next(self, element: int, /) -> None: ...
        def on_error(self, error: BaseException, /) -> None: ...
        def on_complete(self) -> None: ...

    shared.subscribe(Leaves())
    assert publisher.subscribe_count == publisher.cancel_count


# Replay and cache.


def test_replay_gives_the_history_to_late_ones(source: Callable[[Any], pyrs.Stream[Any]]) -> None:
    shared = source([1, 2, 3]).replay()
    early = subscribed(shared, 1)
    shared.connect()
    late = subscribed(shared)
    assert late.await_complete() == [1, 2, 3]
    early.assert_elements(1).request(5)
    assert early.await_complete() == [1, 2, 3]


def test_replay_with_a_limit() -> None:
    shared = pyrs.range(5).replay(2)
    shared.connect()
    for _ in range(2):
        assert shared.collect() == [3, 4]
    assert shared.connect() is shared.connect()  # the end is replayed too: nothing connects anew


def test_replay_with_a_limit_is_bounded_by_the_slowest() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay(2, prefetch=4)
    slow = subscribed(shared, 0)
    shared.connect()
    publisher.next(0, 1, 2, 3)
    assert sum(publisher.requests) == 4
    slow.request(3)
    assert sum(publisher.requests) == 7
    publisher.next(4).complete()
    assert subscribed(shared).await_complete() == [3, 4]
    slow.request(5)
    assert slow.await_complete() == [0, 1, 2, 3, 4]


def test_replay_goes_on_without_subscribers() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay(1, prefetch=2)
    shared.connect()
    for n in range(10):
        publisher.next(n)
    subscribed(shared).assert_elements(9)


def test_replay_forgets_with_time() -> None:
    publisher = TestPublisher[int]()
    time = schedulers.VirtualTime()
    shared = publisher.stream().replay(seconds=5, scheduler=time)
    shared.connect()
    publisher.next(1)
    time.advance_by(3)
    publisher.next(2)
    time.advance_by(3)
    subscribed(shared).assert_elements(2)


@pytest.mark.parametrize("comes", ["a Subscriber", "an element"])
def test_what_is_too_old_for_the_history_is_let_go_of_when_something_comes(comes: str) -> None:
    class Element:
        pass

    time = schedulers.VirtualTime()
    kept: list[weakref.ref[Element]] = []
    sink = sinks.replay(seconds=5, scheduler=time)
    for _ in range(3):
        element = Element()
        kept.append(weakref.ref(element))
        sink.emit(element)
        del element
    time.advance_by(60)
    if comes == "a Subscriber":
        subscribed(sink.stream).assert_elements()
        collected(lambda: [each() is None for each in kept[:2]] == [True, True])
        assert kept[2]() is not None, "the last one, until another follows"
    sink.emit(Element())
    collected(lambda: [each() is None for each in kept] == [True, True, True])


def test_replay_keeps_the_error() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay()
    shared.connect()
    publisher.next(1).error(ValueError())
    subscribed(shared).assert_elements(1).assert_error(ValueError)


def test_a_disconnected_replay_begins_anew() -> None:
    publisher = TestPublisher[int]()
    shared = publisher.stream().replay()
    slow = subscribed(shared, 0)
    connection = shared.connect()
    publisher.next(1)
    connection.cancel()
    slow.assert_elements().assert_error(Disconnected)
    subscribed(shared).assert_elements().assert_live()
    shared.connect()
    assert publisher.subscribe_count == 2


def test_replay_and_ref_count() -> None:
    counted = Counted(pyrs.range(3))
    shared = pyrs.Stream(counted).replay().ref_count()
    assert shared.collect() == shared.collect() == [0, 1, 2]
    assert counted.subscribed == 1


def test_cache_runs_once() -> None:
    counted = Counted(pyrs.range(3))
    cached = pyrs.Stream(counted).cache()
    assert counted.subscribed == 0
    first = subscribed(cached, 1)
    first.cancel()
    assert cached.collect() == cached.collect() == [0, 1, 2]
    assert pyrs.range(5).cache(2).collect() == [0, 1, 2, 3, 4]
    assert counted.subscribed == 1


# Arguments and texts.


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
def test_bad_arguments(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make(pyrs.range(3))


def test_repr_says_what_was_written() -> None:
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
