"""SubmissionPublisher: a wait for room ends whenever there is room, whatever comes between two of its lines."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from pyrs import schedulers
from pyrs.errors import PublisherClosed
from pyrs.sinks import SubmissionPublisher
from pyrs.testing import TestSubscriber


class Interposed(deque[Any]):
    """The tickets of a line: does something just before one is put there."""

    def __init__(self, first: Callable[[], object]) -> None:
        super().__init__()
        self.first = first

    def append(self, ticket: Any) -> None:
        self.first()
        super().append(ticket)


def finishes(action: Callable[[], object]) -> None:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("demand", [1, 2])
def test_a_buffer_that_empties_just_before_the_wait_begins(demand: int) -> None:
    publisher = SubmissionPublisher[int](schedulers.inline(), max_buffer_capacity=1)
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    publisher.subscribe(subscriber)
    publisher.submit(1)
    publisher._core.lines[0].waiting = Interposed(lambda: subscriber.request(demand))
    finishes(lambda: publisher.submit(2))
    assert subscriber.elements == [1, 2][:demand]
    subscriber.request(1)
    assert subscriber.elements == [1, 2]
    publisher.close()
    subscriber.assert_complete()


def test_a_buffer_that_empties_just_before_the_wait_begins_and_on_next_that_needs_what_follows_it() -> None:
    publisher = SubmissionPublisher[int](max_buffer_capacity=1)
    inside, submitted = threading.Event(), threading.Event()

    def hold(it: Any, n: int) -> None:
        inside.set()
        assert submitted.wait(20)

    subscriber: TestSubscriber[int] = TestSubscriber(0, on_element=hold)
    publisher.subscribe(subscriber)
    subscriber.await_subscription()
    publisher.submit(1)

    def drain() -> None:
        subscriber.request(2)
        assert inside.wait(20)

    publisher._core.lines[0].waiting = Interposed(drain)
    finishes(lambda: publisher.submit(2))  # there is room: it need not wait for on_next to return
    submitted.set()
    publisher.close()
    assert subscriber.await_complete() == [1, 2]


@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize("submitters", [1, 3])
def test_submit_races_with_the_lanes(capacity: int, submitters: int) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(8):
            publisher = SubmissionPublisher[int](max_buffer_capacity=capacity)
            eager: TestSubscriber[int] = TestSubscriber(None)
            one_by_one: TestSubscriber[int] = TestSubscriber(1, on_element=lambda it, n: it.request(1))
            publisher.subscribe(eager)
            publisher.subscribe(one_by_one)
            count = 600 // submitters

            def submit(publisher: Any = publisher, count: int = count) -> None:
                for n in range(count):
                    publisher.submit(n)

            threads = [threading.Thread(target=submit, daemon=True) for _ in range(submitters)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()
            publisher.close()
            assert eager.await_complete() == one_by_one.await_complete()
            assert len(eager.elements) == count * submitters
    finally:
        sys.setswitchinterval(before)


def test_an_interrupt_while_lanes_are_woken_leaves_nothing_behind() -> None:
    publisher = SubmissionPublisher[int](schedulers.inline(), max_buffer_capacity=1)
    subscribers: list[TestSubscriber[int]] = [TestSubscriber(n) for n in (0, 9, 9)]
    for subscriber in subscribers:
        publisher.subscribe(subscriber)
    publisher.submit(1)

    def interrupt(task: object) -> None:
        raise KeyboardInterrupt

    lines = publisher._core.lines
    run, lines[1]._execute = lines[1]._execute, interrupt
    with pytest.raises(KeyboardInterrupt):
        publisher.submit(2)
    assert [len(line.waiting) for line in lines] == [0, 0, 0]  # nobody waits any more
    assert subscribers[2].elements == [1, 2]
    with pytest.raises(KeyboardInterrupt):
        publisher.close()
    subscribers[2].assert_complete()
    lines[1]._execute = run
    subscribers[0].request(9)
    subscribers[1].request(9)
    assert [subscriber.assert_complete().elements for subscriber in subscribers] == [[1], [1, 2], [1, 2]]


def test_a_close_that_a_cancel_interrupts_ends_every_wait() -> None:
    publisher = SubmissionPublisher[int](schedulers.inline(), max_buffer_capacity=1)
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    publisher.subscribe(subscriber)
    publisher.submit(1)
    line = publisher._core.lines[0]

    class Cancelling(deque[Any]):
        """As if the collector ran a finalizer when the first ticket was looked at."""

        def __iter__(self) -> Any:
            for ticket in super().__iter__():
                subscriber.cancel()
                yield ticket

        def popleft(self) -> Any:
            ticket = super().popleft()
            subscriber.cancel()
            return ticket

    line.waiting = Cancelling()
    outcome: list[object] = []

    def submit() -> None:
        try:
            outcome.append(publisher.submit(2))
        except PublisherClosed as error:
            outcome.append(error)

    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    while not line.waiting:
        thread.join(0.01)
        assert thread.is_alive()
    publisher.close()
    thread.join(30)
    assert not thread.is_alive()
    assert len(outcome) == 1
