"""SubmissionPublisher: the contract of the JDK class, one clause per test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from pyrs import schedulers
from pyrs.errors import NonPositiveRequest, NullSignal, PublisherClosed, SubscribedTwice
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestSubscriber
from tests.waiting import eventually, on_threads


@pytest.fixture
def publisher() -> Iterator[SubmissionPublisher[Any]]:
    with SubmissionPublisher[Any](max_buffer_capacity=2) as publisher:
        yield publisher


def subscribe(publisher: SubmissionPublisher[Any], request: int | None = None) -> TestSubscriber[Any]:
    """Subscribe, and wait until ``on_subscribe`` has sent the first request."""
    subscribed = threading.Event()

    class SignallingSubscriber(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Any, /) -> None:
            super().on_subscribe(subscription)
            subscribed.set()

    subscriber = SignallingSubscriber(request)
    publisher.subscribe(subscriber)
    assert subscribed.wait(30)
    return subscriber


def in_thread(action: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(action())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, outcome


def join(thread: threading.Thread, outcome: list[Any]) -> Any:
    thread.join(30)
    assert not thread.is_alive()
    return outcome[0]


def await_waiting(publisher: SubmissionPublisher[Any], count: int = 1) -> None:
    """Wait until ``count`` threads wait for capacity."""
    core = publisher._core

    def waiting() -> bool:
        with core.lock:
            return sum(len(each.waiting) for each in core.subscriptions) == count

    eventually(waiting, "no thread waits for capacity")


# Delivery.


def test_every_subscriber_receives_the_elements_in_order(publisher: SubmissionPublisher[Any]) -> None:
    subscribers = [subscribe(publisher) for _ in range(3)]
    for n in range(100):
        assert publisher.submit(n) >= 1
    publisher.close()
    for each in subscribers:
        assert each.await_complete() == list(range(100))
        each.assert_rules()


def test_all_signals_run_on_the_scheduler() -> None:
    with schedulers.use(schedulers.single("publisher")), SubmissionPublisher[int]() as publisher:
        subscriber = subscribe(publisher)
        publisher.submit(1)
    subscriber.await_complete()
    assert all(name.startswith("pyrs-publisher-") for name in subscriber.thread_names)


def test_demand_is_exact(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher, 0)
    assert publisher.submit(1) == 1
    assert publisher.submit(2) == 2
    subscriber.request(1)
    assert subscriber.await_count(1) == [1]
    publisher.close()
    subscriber.assert_live().request(1)
    assert subscriber.await_complete() == [1, 2]


def test_elements_without_subscribers_are_discarded(publisher: SubmissionPublisher[Any]) -> None:
    assert publisher.submit(1) == 0
    assert publisher.offer(2) == 0
    subscriber = subscribe(publisher)
    publisher.submit(3)
    publisher.close()
    assert subscriber.await_complete() == [3]


def test_submission_publisher_is_a_stream(publisher: SubmissionPublisher[Any]) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    publisher.map(lambda n: n * 10).filter(lambda n: n > 10).subscribe(subscriber)
    subscriber.await_subscription()
    for n in range(4):
        publisher.submit(n)
    publisher.close()
    assert subscriber.await_complete() == [20, 30]
    assert repr(publisher.map(str)) == "<SubmissionPublisher: 0 subscribers, closed>.map(str)"


def test_signals_run_in_the_subscribers_context(publisher: SubmissionPublisher[Any]) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    variable.set("subscriber")
    future = publisher.consume(lambda n: seen.append(variable.get()))
    variable.set("submitter")
    publisher.submit(1)
    publisher.close()
    future.result(30)
    assert seen == ["subscriber"]


def test_illegal_request_signals_on_error(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher)
    subscriber.request(0)
    subscriber.await_error(NonPositiveRequest)
    assert not publisher.is_subscribed(subscriber)


# submit.


def test_submit_waits_for_capacity(publisher: SubmissionPublisher[Any]) -> None:
    slow = subscribe(publisher, 0)
    fast = subscribe(publisher)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    await_waiting(publisher)
    assert fast.await_count(3) == [1, 2, 3]  # not delayed by the slow Subscriber
    assert publisher.estimate_maximum_lag() == 3
    slow.request(1)
    assert join(*waiting) >= 1
    slow.request(2)
    assert slow.await_count(3) == [1, 2, 3]


def test_waiting_submitters_keep_their_order(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher, 0)
    waiting = []
    for n in range(6):
        if n < 2:
            publisher.submit(n)
        else:
            waiting.append(in_thread(lambda n=n: publisher.submit(n)))  # type: ignore[misc]
            await_waiting(publisher, n - 1)
    assert publisher.offer(9) == -1  # offer does not overtake waiting submitters
    subscriber.request(6)
    for each in waiting:
        join(*each)
    assert subscriber.await_count(6) == list(range(6))


def test_cancel_ends_the_wait_of_submit(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher, 0)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    await_waiting(publisher)
    subscriber.cancel()
    assert join(*waiting) == 0


def test_cancel_ends_the_wait_of_submit_while_on_next_blocks(publisher: SubmissionPublisher[Any]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold(subscriber: Any, n: int) -> None:
        inside.set()
        assert leave.wait(30)

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=hold)
    publisher.subscribe(subscriber)
    subscriber.await_subscription()
    publisher.submit(0)
    assert inside.wait(30)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    await_waiting(publisher)
    subscriber.cancel()
    assert not publisher.is_subscribed(subscriber)
    assert join(*waiting) == 0
    leave.set()


def test_close_ends_the_wait_of_submit(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher, 0)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    await_waiting(publisher)
    publisher.close()
    assert isinstance(join(*waiting), PublisherClosed)
    subscriber.request(9)
    assert subscriber.await_complete() == [1, 2]


def test_submit_inside_on_next_raises_instead_of_deadlocking(publisher: SubmissionPublisher[Any]) -> None:
    errors: list[BaseException] = []

    def submit_more(subscriber: Any, n: int) -> None:
        try:
            for each in range(9):
                publisher.submit(each)
        except RuntimeError as error:
            errors.append(error)
            subscriber.cancel()

    subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=submit_more)
    publisher.subscribe(subscriber)
    subscriber.await_subscription()
    publisher.submit(0)
    eventually(lambda: errors, "submit did not raise")
    assert "would deadlock" in str(errors[0])


def test_submit_and_offer_raise_instead_of_blocking_a_loop(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher, 0)

    async def main() -> None:
        publisher.submit(1)
        publisher.submit(2)
        with pytest.raises(RuntimeError, match="loop"):
            publisher.submit(3)
        with pytest.raises(RuntimeError, match="loop"):
            publisher.offer(3, timeout=1)
        assert publisher.offer(3) == -1

    asyncio.run(main())
    subscriber.request(3)
    assert subscriber.await_count(2) == [1, 2]


# offer.


def test_offer_returns_the_negative_number_of_drops(publisher: SubmissionPublisher[Any]) -> None:
    slow = [subscribe(publisher, 0), subscribe(publisher, 0)]
    fast = subscribe(publisher)
    results = []
    for n in range(3):
        results.append(publisher.offer(n))
        fast.await_count(n + 1)
    assert results == [1, 2, -2]
    publisher.close()
    assert fast.await_complete() == [0, 1, 2]
    for each in slow:
        each.request(9)
        assert each.await_complete() == [0, 1]


def test_on_drop_can_request_one_retry(publisher: SubmissionPublisher[Any]) -> None:
    slow = subscribe(publisher, 0)
    publisher.offer(0)
    publisher.offer(1)
    drops: list[Any] = []

    def request_and_retry(subscriber: Any, element: Any) -> bool:
        drops.append((subscriber, element))
        slow.request(1)
        slow.await_count(1)
        return True

    assert publisher.offer(2, request_and_retry) == 2
    assert drops == [(slow, 2)]
    assert publisher.offer(3, lambda subscriber, element: True) == -1
    assert publisher.offer(4, lambda subscriber, element: False) == -1
    with pytest.raises(KeyError):
        publisher.offer(5, lambda subscriber, element: {}[element])


def test_offer_waits_for_its_timeout(publisher: SubmissionPublisher[Any]) -> None:
    slow = subscribe(publisher, 0)
    publisher.offer(0)
    publisher.offer(1)
    assert publisher.offer(2, timeout=0.01) == -1
    waiting = in_thread(lambda: publisher.offer(3, timeout=30))
    await_waiting(publisher)
    slow.request(1)
    assert join(*waiting) >= 1
    slow.request(9)
    assert slow.await_count(3) == [0, 1, 3]


# Subscribers that raise or subscribe twice.


def test_exception_in_on_next_cancels_and_calls_the_handler() -> None:
    handled: list[Any] = []
    called = threading.Event()

    def handler(subscriber: Any, error: BaseException) -> None:
        handled.append((subscriber, str(error), publisher.is_subscribed(subscriber)))
        called.set()

    def raise_error(subscriber: Any, n: int) -> None:
        raise ValueError(n)

    with SubmissionPublisher[int](handler=handler) as publisher:
        bad: TestSubscriber[int] = TestSubscriber(None, on_element=raise_error)
        publisher.subscribe(bad)
        good = subscribe(publisher)
        publisher.submit(1)
        assert called.wait(30)
        publisher.submit(2)
    assert good.await_complete() == [1, 2]
    assert handled == [(bad, "1", False)]
    bad.assert_elements(1).assert_live()


def test_exception_without_a_handler_is_dropped(publisher: SubmissionPublisher[Any], dropped: Any) -> None:
    def raise_error(subscriber: Any, n: int) -> None:
        raise ValueError(n)

    bad: TestSubscriber[Any] = TestSubscriber(None, on_element=raise_error)
    publisher.subscribe(bad)
    bad.await_subscription()
    publisher.submit(1)
    with publisher._core.lock:
        assert publisher._core.lock.wait_for(lambda: not publisher.has_subscribers, 30)
    good = subscribe(publisher)
    publisher.submit(2)
    good.await_count(1)
    eventually(lambda: dropped.errors, "the error hook was not called")
    assert [str(error) for error in dropped.take()] == ["1"]


def test_exception_of_the_handler_is_dropped(dropped: Any) -> None:
    inline = schedulers.inline()

    def raise_error(*arguments: Any) -> None:
        raise ValueError("handler")

    with SubmissionPublisher[int](inline, handler=raise_error) as publisher:
        bad: TestSubscriber[int] = TestSubscriber(None, on_element=raise_error)
        publisher.subscribe(bad)
        publisher.submit(1)
    assert [str(error) for error in dropped.take()] == ["handler"]


def test_second_subscription_fails_the_first(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher)
    publisher.subscribe(subscriber)
    subscriber.await_error(SubscribedTwice)
    assert not publisher.is_subscribed(subscriber)


# close.


def test_close_completes_subscribers_and_rejects_elements(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher)
    assert not publisher.is_closed
    publisher.close()
    publisher.close()
    publisher.close_exceptionally(ValueError())
    assert publisher.is_closed and publisher.closed_exception is None
    assert subscriber.await_complete() == []
    for publish in (publisher.submit, publisher.offer):
        with pytest.raises(PublisherClosed):
            publish(1)
    subscribe(publisher).await_complete()
    assert publisher.number_of_subscribers == 0


def test_close_exceptionally_fails_subscribers(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribe(publisher)
    error = ValueError()
    publisher.submit(1)
    publisher.close_exceptionally(error)
    assert publisher.is_closed and publisher.closed_exception is error
    assert subscriber.await_error() is error
    subscriber.assert_elements(1)
    assert subscribe(publisher).await_error() is error


def test_exception_in_the_with_block_closes_exceptionally() -> None:
    with pytest.raises(KeyError), SubmissionPublisher[int]() as publisher:
        subscriber = subscribe(publisher)
        raise KeyError
    subscriber.await_error(KeyError)


def test_closed_scheduler_signals_on_error() -> None:
    scheduler = schedulers.single()
    publisher = SubmissionPublisher[int](scheduler)
    early = subscribe(publisher)
    scheduler.close()
    late = subscribe(publisher)
    late.await_error(schedulers.SchedulerClosed)
    publisher.submit(1)
    early.await_error(schedulers.SchedulerClosed)
    assert not publisher.has_subscribers


# consume.


def test_consume_calls_the_function_and_completes_the_future(publisher: SubmissionPublisher[Any]) -> None:
    seen: list[int] = []
    future = publisher.consume(seen.append)
    for n in range(5):
        publisher.submit(n)
    assert not future.done()
    publisher.close()
    assert future.result(30) is None
    assert seen == [0, 1, 2, 3, 4]


def test_consume_fails_with_the_error_of_function_or_publisher(publisher: SubmissionPublisher[Any]) -> None:
    bad = publisher.consume(lambda n: 1 // n)
    good = publisher.consume(lambda n: n)
    publisher.submit(0)
    with pytest.raises(ZeroDivisionError):
        bad.result(30)
    publisher.close_exceptionally(KeyError())
    with pytest.raises(KeyError):
        good.result(30)


def test_cancel_of_the_future_cancels_the_subscription(publisher: SubmissionPublisher[Any]) -> None:
    future = publisher.consume(lambda n: None)
    other = subscribe(publisher)
    publisher.submit(1)
    other.await_count(1)
    assert future.cancel()
    with pytest.raises(CancelledError):
        future.result(30)
    with publisher._core.lock:
        assert publisher._core.lock.wait_for(lambda: publisher.number_of_subscribers == 1, 30)


# Estimates.


def test_estimates_reflect_demand_and_lag(publisher: SubmissionPublisher[Any]) -> None:
    assert (publisher.estimate_maximum_lag(), publisher.estimate_minimum_demand()) == (0, 0)
    assert not publisher.has_subscribers and publisher.max_buffer_capacity == 2
    first, second = subscribe(publisher, 0), subscribe(publisher, 5)
    assert publisher.subscribers == (first, second)
    assert publisher.number_of_subscribers == 2 and publisher.has_subscribers
    assert publisher.is_subscribed(first) and not publisher.is_subscribed(TestSubscriber())
    assert publisher.estimate_minimum_demand() == 0
    first.request(3)
    assert publisher.estimate_minimum_demand() == 3
    publisher.submit(1)
    first.await_count(1)
    second.await_count(1)
    assert publisher.estimate_maximum_lag() == 0
    assert publisher.estimate_minimum_demand() == 2
    third = subscribe(publisher, 0)
    publisher.submit(2)
    publisher.submit(3)
    assert (publisher.estimate_maximum_lag(), publisher.estimate_minimum_demand()) == (2, -2)  # as in the JDK
    third.cancel()
    assert repr(publisher) == "<SubmissionPublisher: 2 subscribers>"
    assert SubmissionPublisher[int]().max_buffer_capacity == 256


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda publisher: SubmissionPublisher(1), TypeError, "scheduler"),
        (lambda publisher: SubmissionPublisher(max_buffer_capacity=0), ValueError, "max_buffer_capacity"),
        (lambda publisher: SubmissionPublisher(handler=1), TypeError, "handler"),
        (lambda publisher: publisher.submit(None), NullSignal, "None"),
        (lambda publisher: publisher.offer(None), NullSignal, "None"),
        (lambda publisher: publisher.offer(1, 2), TypeError, "on_drop"),
        (lambda publisher: publisher.offer(1, timeout=-1), ValueError, "timeout"),
        (lambda publisher: publisher.consume(1), TypeError, "function"),
        (lambda publisher: publisher.close_exceptionally(None), NullSignal, "None"),
        (lambda publisher: publisher.close_exceptionally("no"), TypeError, "error"),
        (lambda publisher: publisher.is_subscribed(None), NullSignal, "None"),
        (lambda publisher: publisher.subscribe(None), NullSignal, "None"),
        (lambda publisher: publisher.subscribe(1), TypeError, "subscriber"),
    ],
)
def test_wrong_arguments_raise(
    publisher: SubmissionPublisher[Any], call: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call(publisher)


# Races.


def test_concurrent_submits_reach_every_subscriber_in_one_order() -> None:
    for _ in range(100):
        publisher = SubmissionPublisher[Any](max_buffer_capacity=4)
        subscribers = [subscribe(publisher) for _ in range(3)]
        leaving = subscribe(publisher, 0)
        start = threading.Barrier(4)

        def submit(which: int, publisher: Any = publisher, start: Any = start) -> None:
            start.wait(30)
            for n in range(25):
                publisher.submit((which, n))

        with on_threads(*(partial(submit, which) for which in range(3))):
            start.wait(30)
            leaving.request(2)
            leaving.cancel()
        publisher.close()
        order = subscribers[0].await_complete()
        assert len(order) == 75
        for which in range(3):
            assert [n for each, n in order if each == which] == list(range(25))
        for each in subscribers[1:]:
            assert each.await_complete() == order
        leaving.assert_rules()
        assert len(leaving.elements) <= 2


def test_close_during_concurrent_submit_and_subscribe_completes_all() -> None:
    for _ in range(300):
        publisher = SubmissionPublisher[int](max_buffer_capacity=1)
        early = subscribe(publisher, 3)
        late: TestSubscriber[int] = TestSubscriber(None)
        start = threading.Barrier(3)

        def submit(publisher: Any = publisher, start: Any = start) -> None:
            start.wait(30)
            try:
                for n in range(50):
                    publisher.submit(n)
            except PublisherClosed:
                pass

        def subscribe_late(publisher: Any = publisher, start: Any = start, late: Any = late) -> None:
            start.wait(30)
            publisher.subscribe(late)

        with on_threads(submit, subscribe_late):
            start.wait(30)
            publisher.close()
        late.await_complete()
        early.request(50)
        elements = early.await_complete()
        assert elements == list(range(len(elements)))


def test_error_of_a_second_subscribe_is_reported_if_the_subscriber_cancels(dropped: Any) -> None:
    clock = schedulers.VirtualTime()
    publisher = SubmissionPublisher[int](clock)
    subscriber = TestSubscriber[int](0)
    publisher.subscribe(subscriber)
    clock.advance_by(0)
    publisher.subscribe(subscriber)
    subscriber.cancel()
    clock.advance_by(0)
    assert [type(error) for error in dropped.take()] == [SubscribedTwice]
    subscriber.assert_live()
