"""SubmissionPublisher: a ``submit`` that waits for capacity always returns, and Subscribers share a thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from pyrs import schedulers
from pyrs.errors import PublisherClosed
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestSubscriber
from tests.core.support import frequent_thread_switches, run_with_deadline
from tests.rounds import rounds
from tests.waiting import DEADLINE, run_on_threads


class InterposingQueue(deque[Any]):
    """A queue of tickets that runs an action just before a ticket is added."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__()
        self.before_append = action

    def append(self, ticket: Any) -> None:
        self.before_append()
        super().append(ticket)


@pytest.mark.parametrize("demand", [1, 2])
def test_submit_returns_if_the_buffer_empties_just_before_the_wait(demand: int) -> None:
    publisher = SubmissionPublisher[int](schedulers.inline(), max_buffer_capacity=1)
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    publisher.subscribe(subscriber)
    publisher.submit(1)
    publisher._core.subscriptions[0].waiting = InterposingQueue(lambda: subscriber.request(demand))
    run_with_deadline(lambda: publisher.submit(2))
    assert subscriber.elements == [1, 2][:demand]
    subscriber.request(1)
    assert subscriber.elements == [1, 2]
    publisher.close()
    subscriber.assert_complete()


def test_submit_returns_if_the_buffer_empties_while_on_next_blocks() -> None:
    publisher = SubmissionPublisher[int](max_buffer_capacity=1)
    inside, submitted = threading.Event(), threading.Event()

    def hold(this: Any, n: int) -> None:
        inside.set()
        assert submitted.wait(20)

    subscriber: TestSubscriber[int] = TestSubscriber(0, on_element=hold)
    publisher.subscribe(subscriber)
    subscriber.await_subscription()
    publisher.submit(1)

    def drain() -> None:
        subscriber.request(2)
        assert inside.wait(20)

    publisher._core.subscriptions[0].waiting = InterposingQueue(drain)
    # The buffer has capacity, so submit must not wait for on_next to return.
    run_with_deadline(lambda: publisher.submit(2))
    submitted.set()
    publisher.close()
    assert subscriber.await_complete() == [1, 2]


@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize("submitters", [1, 3])
def test_concurrent_submits_lose_no_element(capacity: int, submitters: int) -> None:
    with frequent_thread_switches():
        for _ in range(rounds(8)):
            publisher = SubmissionPublisher[int](max_buffer_capacity=capacity)
            unbounded: TestSubscriber[int] = TestSubscriber(None)
            single_requests: TestSubscriber[int] = TestSubscriber(1, on_element=lambda this, n: this.request(1))
            publisher.subscribe(unbounded)
            publisher.subscribe(single_requests)
            count = 600 // submitters

            def submit(publisher: Any = publisher, count: int = count) -> None:
                for n in range(count):
                    publisher.submit(n)

            run_on_threads(*[submit] * submitters)
            publisher.close()
            assert unbounded.await_complete() == single_requests.await_complete()
            assert len(unbounded.elements) == count * submitters


def test_interrupt_while_drain_loops_are_scheduled_leaves_no_waiter() -> None:
    publisher = SubmissionPublisher[int](schedulers.inline(), max_buffer_capacity=1)
    subscribers: list[TestSubscriber[int]] = [TestSubscriber(n) for n in (0, 9, 9)]
    for subscriber in subscribers:
        publisher.subscribe(subscriber)
    publisher.submit(1)

    def interrupt(task: object) -> None:
        raise KeyboardInterrupt

    subscriptions = publisher._core.subscriptions
    run, subscriptions[1]._execute = subscriptions[1]._execute, interrupt
    with pytest.raises(KeyboardInterrupt):
        publisher.submit(2)
    assert [len(each.waiting) for each in subscriptions] == [0, 0, 0]  # no submitter waits
    assert subscribers[2].elements == [1, 2]
    with pytest.raises(KeyboardInterrupt):
        publisher.close()
    subscribers[2].assert_complete()
    subscriptions[1]._execute = run
    subscribers[0].request(9)
    subscribers[1].request(9)
    assert [subscriber.assert_complete().elements for subscriber in subscribers] == [[1], [1, 2], [1, 2]]


def test_close_interrupted_by_a_cancel_releases_the_submitter() -> None:
    publisher = SubmissionPublisher[int](schedulers.inline(), max_buffer_capacity=1)
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    publisher.subscribe(subscriber)
    publisher.submit(1)
    subscription = publisher._core.subscriptions[0]

    class CancellingQueue(deque[Any]):
        """Cancels when a ticket is read. A finalizer that runs at that moment may do the same."""

        def __iter__(self) -> Any:
            for ticket in super().__iter__():
                subscriber.cancel()
                yield ticket

        def popleft(self) -> Any:
            ticket = super().popleft()
            subscriber.cancel()
            return ticket

    subscription.waiting = CancellingQueue()
    outcome: list[object] = []

    def submit() -> None:
        try:
            outcome.append(publisher.submit(2))
        except PublisherClosed as error:
            outcome.append(error)

    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    while not subscription.waiting:
        thread.join(0.01)
        assert thread.is_alive()
    publisher.close()
    thread.join(30)
    assert not thread.is_alive()
    assert len(outcome) == 1


def test_subscribers_share_the_thread_of_the_scheduler_while_elements_arrive() -> None:
    work = schedulers.single()
    publisher = SubmissionPublisher[int](work)
    received: list[int] = []
    received_before_the_last: list[int] = []
    done = threading.Event()

    def offer_next(n: int) -> None:
        if n < 2_000:
            publisher.offer(n + 1)
        else:
            received_before_the_last.extend(received)
            done.set()

    publisher.subscribe(on_next=offer_next)
    publisher.subscribe(on_next=received.append)
    publisher.offer(0)
    assert done.wait(DEADLINE)
    assert len(received_before_the_last) > 1_000
    publisher.close()
    assert work.close()


def test_elements_submitted_before_the_scheduler_was_closed_are_delivered() -> None:
    work, begun, numbers = schedulers.single(), threading.Event(), range(1_000)
    publisher = SubmissionPublisher[int](work, len(numbers))
    received: list[int] = []

    def receive(n: int) -> None:
        begun.wait(DEADLINE)
        received.append(n)

    done = publisher.consume(receive)
    for n in numbers:
        publisher.submit(n)
    publisher.close()
    assert not work.close(0)
    begun.set()
    assert work.close()
    done.result(DEADLINE)
    assert received == [*numbers]
