"""publish_on and subscribe_on: threads, order, prefetch, demand and termination."""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core.iterating import IteratorSubscription
from pyrs.errors import NonPositiveRequest, SchedulerClosed
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE, on_threads, run_on_threads

Wrap = Callable[[Any], pyrs.Stream[Any]]
Switch = Callable[[pyrs.Stream[Any], schedulers.Scheduler], pyrs.Stream[Any]]

SWITCHES: dict[str, Switch] = {
    "publish_on": lambda stream, scheduler: stream.publish_on(scheduler),
    "publish_on with prefetch=1": lambda stream, scheduler: stream.publish_on(scheduler, prefetch=1),
    "subscribe_on": lambda stream, scheduler: stream.subscribe_on(scheduler),
    "both": lambda stream, scheduler: stream.subscribe_on(scheduler).publish_on(scheduler),
}


@pytest.fixture(params=list(SWITCHES))
def switch(request: pytest.FixtureRequest) -> Switch:
    return SWITCHES[request.param]


@pytest.fixture(params=["single", "pool", "inline"])
def scheduler(request: pytest.FixtureRequest) -> Iterator[schedulers.Scheduler]:
    scheduler: schedulers.Scheduler = getattr(schedulers, request.param)()
    yield scheduler
    assert scheduler.close(30)


@pytest.fixture
def single() -> Iterator[schedulers.Scheduler]:
    scheduler = schedulers.single("work")
    yield scheduler
    assert scheduler.close(30)


def thread_name() -> str:
    return threading.current_thread().name


@pytest.mark.parametrize("name", ["publish_on", "subscribe_on"])
def test_cancel_on_another_thread_does_not_look_like_the_end_of_the_iterator(
    name: str, single: schedulers.Scheduler, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    """The input is closed, but its iterator's Subscription is not cancelled yet."""
    entered, released, finished = threading.Event(), threading.Event(), threading.Event()
    source_thread: list[int] = []
    cancel = IteratorSubscription.cancel

    def delayed_cancel(subscription: IteratorSubscription[Any]) -> None:
        if threading.get_ident() not in source_thread:
            entered.set()
            assert released.wait(DEADLINE)
        cancel(subscription)
        finished.set()

    def mapped(n: int) -> int:
        if n == 0:
            source_thread.append(threading.get_ident())
        elif n == 1:
            canceller.start()
            assert entered.wait(DEADLINE)
        elif n == 3:
            released.set()
            assert finished.wait(DEADLINE)
        return n

    monkeypatch.setattr(IteratorSubscription, "cancel", delayed_cancel)
    subscriber: TestSubscriber[int] = TestSubscriber(200)
    canceller = threading.Thread(target=subscriber.cancel)
    SWITCHES[name](pyrs.range(200).map(mapped), single).subscribe(subscriber)
    assert finished.wait(DEADLINE)
    canceller.join(DEADLINE)
    single.close(DEADLINE)
    assert dropped.errors == []
    subscriber.assert_live()


class TestBoth:
    @pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 5000])
    def test_elements_keep_their_order(
        self, count: int, source: Wrap, switch: Switch, scheduler: schedulers.Scheduler
    ) -> None:
        assert switch(source(range(count)), scheduler).collect(timeout=30) == list(range(count))

    def test_downstream_demand_is_exact(self, source: Wrap, switch: Switch, scheduler: schedulers.Scheduler) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        switch(source(range(600)), scheduler).subscribe(subscriber)
        for n in (1, 2, 300, 297):
            wanted = len(subscriber.elements) + n
            subscriber.request(n)
            assert len(subscriber.await_count(wanted)) == wanted
        subscriber.request(1)
        assert subscriber.await_complete() == list(range(600))

    def test_single_requests_from_on_next_deliver_every_element(
        self, source: Wrap, switch: Switch, scheduler: schedulers.Scheduler
    ) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda subscriber, _: subscriber.request(1))
        switch(source(range(3000)), scheduler).subscribe(subscriber)
        assert subscriber.await_complete(30) == list(range(3000))

    def test_signals_run_on_the_scheduler(self, source: Wrap, switch: Switch, single: schedulers.Scheduler) -> None:
        seen: set[str] = set()
        stream = switch(source(range(1000)), single)
        stream.for_each(lambda _: seen.add(thread_name()), timeout=30)
        (name,) = seen
        assert name.startswith("pyrs-work-")

    def test_error_follows_the_preceding_elements(
        self, source: Wrap, switch: Switch, scheduler: schedulers.Scheduler
    ) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        switch(source(range(400)).concat(pyrs.error(KeyError("late"))), scheduler).subscribe(subscriber)
        assert str(subscriber.await_error(KeyError)) == "'late'"
        assert subscriber.elements == list(range(400))

    def test_exception_of_an_upstream_function_signals_on_error(
        self, switch: Switch, single: schedulers.Scheduler
    ) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        switch(pyrs.range(1, 2000).map(lambda n: 1 // (n - 999)), single).subscribe(subscriber)
        subscriber.await_error(ZeroDivisionError)
        assert len(subscriber.elements) == 998

    def test_none_element_signals_null_signal(self, switch: Switch, single: schedulers.Scheduler) -> None:
        for stream in (pyrs.from_iterable([1, None]), pyrs.just(1).concat(pyrs.from_iterable([None]))):
            subscriber: TestSubscriber[Any] = TestSubscriber(None)
            switch(stream, single).subscribe(subscriber)
            subscriber.await_error(pyrs.NullSignal)
            assert subscriber.elements == [1]

    def test_zero_request_signals_on_error(self, switch: Switch, single: schedulers.Scheduler) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(2)
        switch(pyrs.from_iterable(itertools.count()), single).subscribe(subscriber)
        subscriber.await_count(2)
        assert subscriber.subscription is not None
        subscriber.subscription.request(0)
        subscriber.await_error(NonPositiveRequest)

    def test_cancel_reaches_upstream_while_the_thread_is_busy(
        self, switch: Switch, single: schedulers.Scheduler
    ) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        switch(publisher.stream(), single).subscribe(subscriber)
        publisher.await_requested(1)
        busy, release = threading.Event(), threading.Event()
        single.execute(lambda: (busy.set(), release.wait(30)))
        assert busy.wait(30)
        publisher.next(1)  # its delivery waits for the busy thread
        subscriber.cancel()
        publisher.assert_cancelled(1)
        release.set()

    def test_cancel_during_on_next_stops_after_current_element(
        self, switch: Switch, scheduler: schedulers.Scheduler, source: Wrap
    ) -> None:
        ended = threading.Event()
        subscriber: TestSubscriber[int] = TestSubscriber(
            None, on_element=lambda subscriber, n: (subscriber.cancel(), ended.set()) if n == 1000 else None
        )

        def subscribe() -> None:
            switch(source(range(100_000)), scheduler).subscribe(subscriber)

        threading.Thread(target=subscribe, daemon=True).start()
        assert ended.wait(30)
        assert scheduler.close(30)  # waits for running tasks
        assert subscriber.elements == list(range(1001))

    def test_take_stops_a_long_source(self, source: Wrap, switch: Switch, single: schedulers.Scheduler) -> None:
        assert switch(source(range(100_000)), single).take(700).collect(timeout=30) == list(range(700))

    def test_closed_scheduler_signals_on_error(self, switch: Switch, dropped: Any) -> None:
        closed = schedulers.single()
        closed.close()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        switch(pyrs.range(10), closed).subscribe(subscriber)
        subscriber.await_error(SchedulerClosed)
        # If both operators fail, the Subscriber receives the error of the second one.
        assert [type(error) for error in dropped.take()] == [SchedulerClosed] * (switch is SWITCHES["both"])

    def test_signals_run_in_the_subscribers_context(self, switch: Switch, scheduler: schedulers.Scheduler) -> None:
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
        token = variable.set("mine")
        try:
            seen = switch(pyrs.range(500), scheduler).map(lambda _: variable.get()).collect(timeout=30)
        finally:
            variable.reset(token)
        assert set(seen) == {"mine"}

    def test_interrupt_does_not_block_the_drain_loop(self, switch: Switch, dropped: Any) -> None:
        time = schedulers.VirtualTime()
        calls: list[int] = []

        def interrupt(n: int) -> None:
            calls.append(n)
            raise KeyboardInterrupt

        publisher: TestPublisher[int] = TestPublisher()
        switch(publisher.stream(), time).subscribe(on_next=interrupt, request=1)
        time.run()
        with pytest.raises(KeyboardInterrupt):
            publisher.next(1)
            time.run()
        time.run()
        assert calls == [1]
        publisher.assert_cancelled(1)
        dropped.take()

    def test_repr_shows_the_call(self) -> None:
        time = schedulers.VirtualTime()
        assert repr(pyrs.range(3).publish_on(time)) == f"range(0, 3).publish_on({time!r})"
        assert repr(pyrs.range(3).subscribe_on(time)) == f"range(0, 3).subscribe_on({time!r})"

    def test_wrong_arguments_raise(self) -> None:
        time = schedulers.VirtualTime()
        for wrong in (None, "single", schedulers.VirtualTime):
            with pytest.raises(TypeError, match="scheduler"):
                pyrs.range(3).publish_on(wrong)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="scheduler"):
                pyrs.range(3).subscribe_on(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="prefetch"):
            pyrs.range(3).publish_on(time, prefetch=0)
        with pytest.raises(TypeError, match="prefetch"):
            pyrs.range(3).publish_on(time, prefetch="1")  # type: ignore[arg-type]


class TestPublishOn:
    def test_publish_on_prefetches_and_refills_at_three_quarters(self) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.stream().publish_on(time, prefetch=8).subscribe(subscriber)
        assert publisher.requests == [8]
        publisher.next(*range(8))
        subscriber.request(5)
        time.run()
        assert publisher.requests == [8]
        subscriber.request(1)
        time.run()
        assert publisher.requests == [8, 6]
        subscriber.request(2)
        time.run()
        assert publisher.requests == [8, 6]
        subscriber.assert_elements(*range(8))

    def test_refill_does_not_wait_for_an_empty_queue(self) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        requested: list[int] = []
        subscriber: TestSubscriber[int] = TestSubscriber(
            None, on_element=lambda *_: requested.append(sum(publisher.requests))
        )
        publisher.stream().publish_on(time, prefetch=8).subscribe(subscriber)
        publisher.next(*range(8))
        time.run()
        assert requested == [8] * 6 + [14] * 2

    def test_prefetch_limits_a_pulled_source(self, single: schedulers.Scheduler) -> None:
        pulled: list[int] = []
        subscriber: TestSubscriber[int] = TestSubscriber()
        stream = pyrs.from_iterable(itertools.count()).map(lambda n: (pulled.append(n), n)[1])
        stream.publish_on(single, prefetch=4).subscribe(subscriber)
        assert pulled == [0, 1, 2, 3]
        subscriber.request(2)
        subscriber.await_count(2)
        subscriber.request(10)
        subscriber.await_count(12)
        assert single.close(30)
        assert len(pulled) <= 12 + 4

    def test_slow_elements_are_delivered_without_waiting_for_a_batch(self, single: schedulers.Scheduler) -> None:
        def wait_and_return(n: int) -> int:
            assert gate.acquire(timeout=30)
            return n

        for stream in (
            pyrs.range(1000).map(wait_and_return),
            pyrs.range(1000).map(wait_and_return).concat(pyrs.empty()),
        ):
            gate = threading.Semaphore(300)
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            stream.publish_on(single).subscribe(subscriber)
            for count in (300, 301, 302):
                subscriber.await_count(count)
                gate.release()
            gate.release(1000)
            assert subscriber.await_complete() == list(range(1000))

    def test_first_element_does_not_wait_for_the_second(self, single: schedulers.Scheduler) -> None:
        arrived = threading.Event()

        def wait_unless_first(n: int) -> int:
            assert n == 0 or arrived.wait(30)
            return n

        stream = pyrs.range(3).map(wait_unless_first).publish_on(single)
        stream.for_each(lambda _: arrived.set(), timeout=20)

    def test_long_stream_yields_to_other_tasks(self) -> None:
        time = schedulers.VirtualTime()
        positions: list[int] = []
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.range(1000).publish_on(time).subscribe(subscriber)
        time.execute(lambda: positions.append(len(subscriber.elements)))
        time.run()
        assert subscriber.completed
        assert 0 < positions[0] < 1000

    def test_scheduler_closed_during_the_stream_signals_on_error(self, dropped: Any) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        publisher.stream().publish_on(time).subscribe(subscriber)
        publisher.next(1, 2, 3)
        time.run()
        subscriber.assert_elements(1)
        time.close()
        publisher.next(4)
        subscriber.assert_error(SchedulerClosed)
        publisher.assert_cancelled(1)
        assert dropped.elements == 3

    def test_scheduler_that_refuses_two_threads_at_once_signals_on_error(self, dropped: Any) -> None:
        in_hook, in_execute, signalled = threading.Event(), threading.Event(), threading.Event()

        class RefusingLater(schedulers.VirtualTime):
            refuses = False

            def execute(self, task: Any) -> None:
                if not self.refuses:
                    super().execute(task)
                    return
                if threading.current_thread() is not threading.main_thread():
                    in_execute.set()
                    assert signalled.wait(DEADLINE)
                raise SchedulerClosed("closed")

        def hook(count: int, where: str) -> None:  # called between the refusal and the removal of the executor
            in_hook.set()
            assert in_execute.wait(DEADLINE)

        time = RefusingLater()
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.stream().publish_on(time).subscribe(subscriber)
        time.run()
        time.refuses = True
        pyrs.set_element_hook(hook)
        with on_threads(lambda: in_hook.wait(DEADLINE) and subscriber.request(1)):
            publisher.next(1)
            signalled.set()
        subscriber.assert_error(SchedulerClosed)

    def test_concurrent_cancel_leaves_a_gapless_prefix(self) -> None:
        pool = schedulers.pool(4)
        for _ in range(1500):
            publisher: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(20)
            publisher.stream().publish_on(pool, prefetch=32).subscribe(subscriber)
            barrier = threading.Barrier(2)

            def cancel(barrier: threading.Barrier = barrier, subscriber: TestSubscriber[int] = subscriber) -> None:
                barrier.wait(30)
                subscriber.cancel()

            pool.execute(cancel)
            barrier.wait(30)
            for n in range(20):
                publisher.next(n) if publisher.cancel_count == 0 else None
            publisher.await_cancelled(1)
            elements = list(subscriber.elements)  # copied, because a pool thread may still deliver an element
            assert elements == list(range(len(elements)))
            subscriber.assert_rules()
        assert pool.close(30)


class TestSubscribeOn:
    def test_requests_from_any_thread_run_the_source_on_the_scheduler(self, single: schedulers.Scheduler) -> None:
        seen: set[str] = set()
        subscriber: TestSubscriber[int] = TestSubscriber()
        stream = pyrs.from_iterable(itertools.count()).map(lambda n: (seen.add(thread_name()), n)[1])
        stream.subscribe_on(single).subscribe(subscriber)
        for wanted in (1, 2, 3):
            subscriber.request(1)
            subscriber.await_count(wanted)
        (name,) = seen
        assert name.startswith("pyrs-work-")

    def test_demand_is_forwarded_unchanged(self) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.stream().subscribe_on(time).subscribe(subscriber)
        publisher.assert_was_not_subscribed()
        subscriber.request(2)
        subscriber.request(3)
        time.run()
        assert publisher.requests == [5]
        subscriber.request(1)
        assert publisher.requests == [5]
        time.run()
        assert publisher.requests == [5, 1]
        subscriber.request(pyrs.UNBOUNDED)
        time.run()
        assert publisher.requests == [5, 1, pyrs.UNBOUNDED]

    def test_signals_of_a_source_on_another_thread_stay_on_that_thread(self) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        threads: list[int] = []
        subscriber: TestSubscriber[int] = TestSubscriber(3, on_element=lambda *_: threads.append(threading.get_ident()))
        publisher.stream().subscribe_on(time).subscribe(subscriber)
        time.run()
        emitting: list[int] = []
        run_on_threads(lambda: (emitting.append(threading.get_ident()), publisher.emit(1, 2, 3)))
        subscriber.assert_elements(1, 2, 3).assert_complete()
        assert threads == emitting * 3

    def test_request_from_on_next_schedules_no_task(self) -> None:
        time = schedulers.VirtualTime()
        subscriber: TestSubscriber[int] = TestSubscriber(
            1, on_element=lambda subscriber, _: (subscriber.request(1), pending.add(time.pending))
        )
        pending: set[int] = set()
        pyrs.range(10).subscribe_on(time).subscribe(subscriber)
        time.run()
        subscriber.assert_elements(*range(10)).assert_complete()
        assert pending == {0}

    def test_cancel_before_the_task_runs_prevents_the_subscription(self) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        publisher.stream().subscribe_on(time).subscribe(subscriber)
        subscriber.cancel()
        time.run()
        publisher.assert_was_not_subscribed()

    def test_exception_of_subscribe_signals_on_error(self, single: schedulers.Scheduler) -> None:
        class RaisingPublisher(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                raise OSError("no source")

        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.Stream(RaisingPublisher()).subscribe_on(single).subscribe(subscriber)
        subscriber.await_error(OSError)

    def test_scheduler_closed_during_the_stream_fails_the_next_request(self) -> None:
        time = schedulers.VirtualTime()
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        publisher.stream().subscribe_on(time).subscribe(subscriber)
        time.run()
        publisher.next(1)
        time.close()
        subscriber.request(1)
        subscriber.assert_error(SchedulerClosed)
        publisher.assert_cancelled(1)

    def test_concurrent_requests_lose_no_element(self) -> None:
        pool = schedulers.pool(4)
        for _ in range(300):
            subscriber: TestSubscriber[int] = TestSubscriber()
            pyrs.range(40).subscribe_on(pool).subscribe(subscriber)
            barrier = threading.Barrier(4)

            def request_repeatedly(
                barrier: threading.Barrier = barrier, subscriber: TestSubscriber[int] = subscriber
            ) -> None:
                barrier.wait(30)
                for _ in range(10):
                    subscriber.request(1)

            for _ in range(4):
                schedulers.default().execute(request_repeatedly)
            assert subscriber.await_complete() == list(range(40))
        assert pool.close(30)


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s,
        lambda s: s.map(lambda n: n).filter(lambda n: True),
        lambda s: s.limit_rate(4),
        lambda s: pyrs.defer(lambda: s),
    ],
)
def test_request_reaches_a_source_that_pushes_during_subscribe(build: Any) -> None:
    """The function of ``create`` pushes endlessly, which blocks all other tasks of its single-threaded scheduler."""
    scheduler = schedulers.single()
    enough = threading.Event()
    stop = threading.Event()

    def push(emitter: Any) -> None:
        while not emitter.cancelled and not stop.is_set():
            emitter.next(1)

    def on_element(subscriber: TestSubscriber[int], element: int) -> None:
        if len(subscriber.elements) == 500:
            subscriber.cancel()
            enough.set()
        else:
            subscriber.request(1)

    subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=on_element)
    try:
        pushing = pyrs.create(push, overflow="drop_latest", capacity=16)
        build(pushing).subscribe_on(scheduler).subscribe(subscriber)
        assert enough.wait(30)
    finally:
        stop.set()
        assert scheduler.close()


@pytest.mark.parametrize("build", [lambda s: s, lambda s: s.filter(lambda n: True), lambda s: s.limit_rate(4)])
def test_demand_of_on_next_reaches_a_source_that_pushes_after_subscribe(build: Any) -> None:
    """The scheduler runs no more tasks: a push that finds no demand would fail the stream."""
    scheduler = schedulers.VirtualTime()
    emitters: list[Any] = []
    subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=lambda subscriber, element: subscriber.request(1))
    build(pyrs.create(emitters.append, overflow="error", capacity=1)).subscribe_on(scheduler).subscribe(subscriber)
    scheduler.advance_by(0)
    for number in range(20):
        emitters[0].next(number)
    emitters[0].complete()
    assert subscriber.await_complete() == list(range(20))
