"""SubmissionPublisher: the JDK's contract, one clause a test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextvars import ContextVar
from typing import Any

import pytest

from pyrs import schedulers
from pyrs.errors import NonPositiveRequest, NullSignal, PublisherClosed, SubscribedTwice
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestSubscriber
from tests.waiting import eventually


@pytest.fixture
def publisher() -> Iterator[SubmissionPublisher[Any]]:
    with SubmissionPublisher[Any](max_buffer_capacity=2) as publisher:
        yield publisher


def subscribed(publisher: SubmissionPublisher[Any], request: int | None = None) -> TestSubscriber[Any]:
    """Return a Subscriber that has been told of its Subscription, and has requested."""
    told = threading.Event()

    class Told(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Any, /) -> None:
            super().on_subscribe(subscription)
            told.set()

    subscriber = Told(request)
    publisher.subscribe(subscriber)
    assert told.wait(30)
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


def joined(thread: threading.Thread, outcome: list[Any]) -> Any:
    thread.join(30)
    assert not thread.is_alive()
    return outcome[0]


def waits(publisher: SubmissionPublisher[Any], count: int = 1) -> None:
    """Return when so many threads wait in front of full buffers."""
    core = publisher._core
    with core.lock:
        pass
    deadline = threading.Event()
    for _ in range(3000):
        with core.lock:
            if sum(len(line.waiting) for line in core.lines) == count:
                return
        deadline.wait(0.01)
    raise AssertionError("nobody waits")


# Delivery.


def test_elements_arrive_in_order_at_all_subscribers(publisher: SubmissionPublisher[Any]) -> None:
    subscribers = [subscribed(publisher) for _ in range(3)]
    for n in range(100):
        assert publisher.submit(n) >= 1
    publisher.close()
    for each in subscribers:
        assert each.await_complete() == list(range(100))
        each.assert_rules()


def test_signals_come_on_the_scheduler_on_subscribe_too() -> None:
    with schedulers.use(schedulers.single("lane")), SubmissionPublisher[int]() as publisher:
        subscriber = subscribed(publisher)
        publisher.submit(1)
    subscriber.await_complete()
    assert all(name.startswith("pyrs-lane-") for name in subscriber.thread_names)


def test_exact_demand(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher, 0)
    assert publisher.submit(1) == 1
    assert publisher.submit(2) == 2
    subscriber.request(1)
    assert subscriber.await_count(1) == [1]
    publisher.close()
    subscriber.assert_live().request(1)
    assert subscriber.await_complete() == [1, 2]


def test_without_subscribers_nothing_is_held(publisher: SubmissionPublisher[Any]) -> None:
    assert publisher.submit(1) == 0
    assert publisher.offer(2) == 0
    subscriber = subscribed(publisher)
    publisher.submit(3)
    publisher.close()
    assert subscriber.await_complete() == [3]


def test_it_is_a_stream(publisher: SubmissionPublisher[Any]) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    publisher.map(lambda n: n * 10).filter(lambda n: n > 10).subscribe(subscriber)
    subscriber.await_subscription()
    for n in range(4):
        publisher.submit(n)
    publisher.close()
    assert subscriber.await_complete() == [20, 30]
    assert repr(publisher.map(str)) == "<SubmissionPublisher: 0 subscribers, closed>.map(str)"


def test_context_variables_of_whoever_subscribed(publisher: SubmissionPublisher[Any]) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    variable.set("subscriber")
    future = publisher.consume(lambda n: seen.append(variable.get()))
    variable.set("submitter")
    publisher.submit(1)
    publisher.close()
    future.result(30)
    assert seen == ["subscriber"]


def test_an_illegal_request(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher)
    subscriber.request(0)
    subscriber.await_error(NonPositiveRequest)
    assert not publisher.is_subscribed(subscriber)


# Submit.


def test_submit_waits_for_room(publisher: SubmissionPublisher[Any]) -> None:
    slow = subscribed(publisher, 0)
    fast = subscribed(publisher)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    waits(publisher)
    assert fast.await_count(3) == [1, 2, 3]  # not held up by the slow one
    assert publisher.estimate_maximum_lag() == 3
    slow.request(1)
    assert joined(*waiting) >= 1
    slow.request(2)
    assert slow.await_count(3) == [1, 2, 3]


def test_submitters_that_wait_keep_their_order(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher, 0)
    waiting = []
    for n in range(6):
        if n < 2:
            publisher.submit(n)
        else:
            waiting.append(in_thread(lambda n=n: publisher.submit(n)))  # type: ignore[misc]
            waits(publisher, n - 1)
    assert publisher.offer(9) == -1  # nobody overtakes those that wait
    subscriber.request(6)
    for each in waiting:
        joined(*each)
    assert subscriber.await_count(6) == list(range(6))


def test_a_cancel_ends_the_wait(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher, 0)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    waits(publisher)
    subscriber.cancel()
    assert joined(*waiting) == 0


def test_a_cancel_ends_the_wait_also_while_on_next_is_busy(publisher: SubmissionPublisher[Any]) -> None:
    inside, go = threading.Event(), threading.Event()

    def hold(it: Any, n: int) -> None:
        inside.set()
        assert go.wait(30)

    subscriber: TestSubscriber[Any] = TestSubscriber(None, on_element=hold)
    publisher.subscribe(subscriber)
    subscriber.await_subscription()
    publisher.submit(0)
    assert inside.wait(30)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    waits(publisher)
    subscriber.cancel()
    assert not publisher.is_subscribed(subscriber)
    assert joined(*waiting) == 0
    go.set()


def test_a_close_ends_the_wait(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher, 0)
    publisher.submit(1)
    publisher.submit(2)
    waiting = in_thread(lambda: publisher.submit(3))
    waits(publisher)
    publisher.close()
    assert isinstance(joined(*waiting), PublisherClosed)
    subscriber.request(9)
    assert subscriber.await_complete() == [1, 2]


def test_submit_refuses_to_wait_for_itself(publisher: SubmissionPublisher[Any]) -> None:
    errors: list[BaseException] = []

    def feed(it: Any, n: int) -> None:
        try:
            for each in range(9):
                publisher.submit(each)
        except RuntimeError as error:
            errors.append(error)
            it.cancel()

    subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=feed)
    publisher.subscribe(subscriber)
    subscriber.await_subscription()
    publisher.submit(0)
    eventually(lambda: errors, "submit did not refuse")
    assert "wait for itself" in str(errors[0])


def test_submit_refuses_to_block_an_asyncio_loop(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher, 0)

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


# Offer.


def test_offer_drops_and_says_how_often(publisher: SubmissionPublisher[Any]) -> None:
    slow = [subscribed(publisher, 0), subscribed(publisher, 0)]
    fast = subscribed(publisher)
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


def test_on_drop_may_have_it_tried_once_more(publisher: SubmissionPublisher[Any]) -> None:
    slow = subscribed(publisher, 0)
    publisher.offer(0)
    publisher.offer(1)
    asked: list[Any] = []

    def make_room(subscriber: Any, element: Any) -> bool:
        asked.append((subscriber, element))
        slow.request(1)
        slow.await_count(1)
        return True

    assert publisher.offer(2, make_room) == 2
    assert asked == [(slow, 2)]
    assert publisher.offer(3, lambda subscriber, element: True) == -1
    assert publisher.offer(4, lambda subscriber, element: False) == -1
    with pytest.raises(KeyError):
        publisher.offer(5, lambda subscriber, element: {}[element])


def test_offer_waits_until_its_timeout(publisher: SubmissionPublisher[Any]) -> None:
    slow = subscribed(publisher, 0)
    publisher.offer(0)
    publisher.offer(1)
    assert publisher.offer(2, timeout=0.01) == -1
    waiting = in_thread(lambda: publisher.offer(3, timeout=30))
    waits(publisher)
    slow.request(1)
    assert joined(*waiting) >= 1
    slow.request(9)
    assert slow.await_count(3) == [0, 1, 3]


# Subscribers that misbehave.


def test_a_subscriber_that_raises_is_cancelled_and_the_handler_called() -> None:
    handled: list[Any] = []
    called = threading.Event()

    def handler(subscriber: Any, error: BaseException) -> None:
        handled.append((subscriber, str(error), publisher.is_subscribed(subscriber)))
        called.set()

    def fails(it: Any, n: int) -> None:
        raise ValueError(n)

    with SubmissionPublisher[int](handler=handler) as publisher:
        bad: TestSubscriber[int] = TestSubscriber(None, on_element=fails)
        publisher.subscribe(bad)
        good = subscribed(publisher)
        publisher.submit(1)
        assert called.wait(30)
        publisher.submit(2)
    assert good.await_complete() == [1, 2]
    assert handled == [(bad, "1", False)]
    bad.assert_elements(1).assert_live()


def test_without_a_handler_the_hook_is_told(publisher: SubmissionPublisher[Any], dropped: Any) -> None:
    def fails(it: Any, n: int) -> None:
        raise ValueError(n)

    bad: TestSubscriber[Any] = TestSubscriber(None, on_element=fails)
    publisher.subscribe(bad)
    bad.await_subscription()
    publisher.submit(1)
    with publisher._core.lock:
        assert publisher._core.lock.wait_for(lambda: not publisher.has_subscribers, 30)
    good = subscribed(publisher)
    publisher.submit(2)
    good.await_count(1)
    eventually(lambda: dropped.errors, "the hook was not told")
    assert [str(error) for error in dropped.take()] == ["1"]


def test_a_handler_that_raises_is_reported(dropped: Any) -> None:
    inline = schedulers.inline()

    def fails(*arguments: Any) -> None:
        raise ValueError("handler")

    with SubmissionPublisher[int](inline, handler=fails) as publisher:
        bad: TestSubscriber[int] = TestSubscriber(None, on_element=fails)
        publisher.subscribe(bad)
        publisher.submit(1)
    assert [str(error) for error in dropped.take()] == ["handler"]


def test_subscribing_twice_fails_the_first_subscription(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher)
    publisher.subscribe(subscriber)
    subscriber.await_error(SubscribedTwice)
    assert not publisher.is_subscribed(subscriber)


# The end.


def test_close(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher)
    assert not publisher.is_closed
    publisher.close()
    publisher.close()
    publisher.close_exceptionally(ValueError())
    assert publisher.is_closed and publisher.closed_exception is None
    assert subscriber.await_complete() == []
    for publish in (publisher.submit, publisher.offer):
        with pytest.raises(PublisherClosed):
            publish(1)
    subscribed(publisher).await_complete()
    assert publisher.number_of_subscribers == 0


def test_close_exceptionally(publisher: SubmissionPublisher[Any]) -> None:
    subscriber = subscribed(publisher)
    error = ValueError()
    publisher.submit(1)
    publisher.close_exceptionally(error)
    assert publisher.is_closed and publisher.closed_exception is error
    assert subscriber.await_error() is error
    subscriber.assert_elements(1)
    assert subscribed(publisher).await_error() is error


def test_the_block_of_a_with_statement_closes_it() -> None:
    with pytest.raises(KeyError), SubmissionPublisher[int]() as publisher:
        subscriber = subscribed(publisher)
        raise KeyError
    subscriber.await_error(KeyError)


def test_a_closed_scheduler_is_an_error_of_the_stream() -> None:
    scheduler = schedulers.single()
    publisher = SubmissionPublisher[int](scheduler)
    early = subscribed(publisher)
    scheduler.close()
    late = subscribed(publisher)
    late.await_error(schedulers.SchedulerClosed)
    publisher.submit(1)
    early.await_error(schedulers.SchedulerClosed)
    assert not publisher.has_subscribers


# Consume.


def test_consume(publisher: SubmissionPublisher[Any]) -> None:
    seen: list[int] = []
    future = publisher.consume(seen.append)
    for n in range(5):
        publisher.submit(n)
    assert not future.done()
    publisher.close()
    assert future.result(30) is None
    assert seen == [0, 1, 2, 3, 4]


def test_consume_fails_with_the_function_or_the_publisher(publisher: SubmissionPublisher[Any]) -> None:
    bad = publisher.consume(lambda n: 1 // n)
    good = publisher.consume(lambda n: n)
    publisher.submit(0)
    with pytest.raises(ZeroDivisionError):
        bad.result(30)
    publisher.close_exceptionally(KeyError())
    with pytest.raises(KeyError):
        good.result(30)


def test_cancelling_the_future_cancels_the_subscription(publisher: SubmissionPublisher[Any]) -> None:
    future = publisher.consume(lambda n: None)
    other = subscribed(publisher)
    publisher.submit(1)
    other.await_count(1)
    assert future.cancel()
    with pytest.raises(CancelledError):
        future.result(30)
    with publisher._core.lock:
        assert publisher._core.lock.wait_for(lambda: publisher.number_of_subscribers == 1, 30)


# Looking.


def test_estimates_and_subscribers(publisher: SubmissionPublisher[Any]) -> None:
    assert (publisher.estimate_maximum_lag(), publisher.estimate_minimum_demand()) == (0, 0)
    assert not publisher.has_subscribers and publisher.max_buffer_capacity == 2
    first, second = subscribed(publisher, 0), subscribed(publisher, 5)
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
    third = subscribed(publisher, 0)
    publisher.submit(2)
    publisher.submit(3)
    assert (publisher.estimate_maximum_lag(), publisher.estimate_minimum_demand()) == (2, -2)  # as the JDK's
    third.cancel()
    assert repr(publisher) == "<SubmissionPublisher: 2 subscribers>"
    assert SubmissionPublisher[int]().max_buffer_capacity == 256


@pytest.mark.parametrize(
    ("act", "kind", "message"),
    [
        (lambda it: SubmissionPublisher(1), TypeError, "scheduler"),
        (lambda it: SubmissionPublisher(max_buffer_capacity=0), ValueError, "max_buffer_capacity"),
        (lambda it: SubmissionPublisher(handler=1), TypeError, "handler"),
        (lambda it: it.submit(None), NullSignal, "None"),
        (lambda it: it.offer(None), NullSignal, "None"),
        (lambda it: it.offer(1, 2), TypeError, "on_drop"),
        (lambda it: it.offer(1, timeout=-1), ValueError, "timeout"),
        (lambda it: it.consume(1), TypeError, "function"),
        (lambda it: it.close_exceptionally(None), NullSignal, "None"),
        (lambda it: it.close_exceptionally("no"), TypeError, "error"),
        (lambda it: it.is_subscribed(None), NullSignal, "None"),
        (lambda it: it.subscribe(None), NullSignal, "None"),
        (lambda it: it.subscribe(1), TypeError, "subscriber"),
    ],
)
def test_bad_arguments(publisher: SubmissionPublisher[Any], act: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        act(publisher)


# Races.


def test_submits_from_many_threads_are_in_one_order_for_all() -> None:
    for _ in range(100):
        publisher = SubmissionPublisher[Any](max_buffer_capacity=4)
        subscribers = [subscribed(publisher) for _ in range(3)]
        leaving = subscribed(publisher, 0)
        start = threading.Barrier(4)

        def submit(which: int, publisher: Any = publisher, start: Any = start) -> None:
            start.wait(30)
            for n in range(25):
                publisher.submit((which, n))

        threads = [threading.Thread(target=submit, args=(which,)) for which in range(3)]
        for thread in threads:
            thread.start()
        start.wait(30)
        leaving.request(2)
        leaving.cancel()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        publisher.close()
        order = subscribers[0].await_complete()
        assert len(order) == 75
        for which in range(3):
            assert [n for each, n in order if each == which] == list(range(25))
        for each in subscribers[1:]:
            assert each.await_complete() == order
        leaving.assert_rules()
        assert len(leaving.elements) <= 2


def test_closing_while_threads_submit_and_subscribe() -> None:
    for _ in range(300):
        publisher = SubmissionPublisher[int](max_buffer_capacity=1)
        early = subscribed(publisher, 3)
        late: TestSubscriber[int] = TestSubscriber(None)
        start = threading.Barrier(3)

        def submit(publisher: Any = publisher, start: Any = start) -> None:
            start.wait(30)
            try:
                for n in range(50):
                    publisher.submit(n)
            except PublisherClosed:
                pass

        def come(publisher: Any = publisher, start: Any = start, late: Any = late) -> None:
            start.wait(30)
            publisher.subscribe(late)

        threads = [threading.Thread(target=each) for each in (submit, come)]
        for thread in threads:
            thread.start()
        start.wait(30)
        publisher.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        late.await_complete()
        early.request(50)
        elements = early.await_complete()
        assert elements == list(range(len(elements)))
