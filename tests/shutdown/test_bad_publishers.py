"""A Publisher or Subscriber that breaks a rule fails only its own stream; the error cites the rule."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs.api import Publisher, Subscription
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, MILLIS, recording


@pytest.mark.parametrize(
    ("how", "rule"),
    [
        ("null element", "2.13"),
        ("beyond demand", "1.1"),
        ("two threads", "1.3"),
        ("no onSubscribe", "1.9"),
    ],
)
def test_a_java_publisher_that_breaks_a_rule_fails_only_its_stream(
    bridge: jvm.Bridge, shared_jvm: Any, how: str, rule: str
) -> None:
    wrong = shared_jvm.gateway.jvm.Parties.Wrong(how)
    other, broken = recording(10, 1), recording(1)
    bridge.from_jvm(shared_jvm.gateway.jvm.Parties.Range(50_000)).subscribe(other)
    # Without exact demand, the window is refilled while elements are consumed, and may cover all excess elements.
    bridge.from_jvm(wrong, exact=True).subscribe(broken)
    error = broken.await_error()
    assert error is not None and rule in str(error), error
    if how != "no onSubscribe":
        assert wrong.awaitCancelled(MILLIS), "the Publisher was not cancelled"
    assert other.await_complete() == list(range(50_000))
    broken.assert_rules()


def test_second_terminal_signal_of_java_is_ignored(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    recorder = recording(pyrs.UNBOUNDED)
    bridge.from_jvm(shared_jvm.gateway.jvm.Parties.Wrong("two terminals")).subscribe(recorder)
    recorder.await_complete()
    bridge._session.call(0, deadline_seconds=DEADLINE)
    assert recorder.elements == [1]
    recorder.assert_rules()


@pytest.mark.parametrize(
    ("how", "message"), [("throws", "cannot be subscribed to"), ("request throws", "request threw")]
)
def test_a_java_publisher_that_throws_fails_its_stream(
    bridge: jvm.Bridge, shared_jvm: Any, how: str, message: str
) -> None:
    recorder = recording(1)
    bridge.from_jvm(shared_jvm.gateway.jvm.Parties.Wrong(how)).subscribe(recorder)
    error = recorder.await_error()
    assert error is not None and message in str(error)


class Wrong(Publisher[Any], Subscription):
    """Breaks one rule, in ``subscribe`` or after the first request."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.cancelled = threading.Event()
        self.requested = threading.Event()
        self.signalled = threading.Event()
        self.subscriber: Any = None

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        if self.how == "raises":
            raise RuntimeError("cannot be subscribed to")
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        if not self.requested.is_set():
            self.requested.set()
            threading.Thread(target=self._signal, args=(n,), daemon=True).start()

    def _signal(self, n: int) -> None:
        subscriber = self.subscriber
        if self.how == "null element":
            subscriber.on_next(0)
            with pytest.raises(TypeError):
                subscriber.on_next(None)
        elif self.how == "beyond demand":
            for number in range(n + 1_000):
                subscriber.on_next(number)
        elif self.how == "two terminals":
            subscriber.on_complete()
            subscriber.on_complete()
        self.signalled.set()

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.mark.parametrize(("how", "rule"), [("null element", "2.13"), ("beyond demand", "1.1"), ("raises", "cannot be")])
def test_a_python_publisher_that_breaks_a_rule_fails_only_its_stream(
    bridge: jvm.Bridge, shared_jvm: Any, how: str, rule: str
) -> None:
    wrong = Wrong(how)
    counting = shared_jvm.gateway.jvm.Parties.Counting(1_000, 0, False)
    other = shared_jvm.gateway.jvm.Parties.Counting(10, 1, False)
    before = pyrs.set_element_hook(lambda count, where: None)
    try:
        bridge.to_jvm(pyrs.range(50_000)).subscribe(other)
        bridge.to_jvm(wrong).subscribe(counting)
        assert counting.awaitEnd(MILLIS)
        assert rule in counting.error()
        if how != "raises":
            assert wrong.cancelled.wait(DEADLINE)
        assert other.awaitEnd(MILLIS)
        assert other.count() == 50_000 and other.inOrder() and other.error() is None
    finally:
        pyrs.set_element_hook(before)


def test_second_terminal_signal_of_python_is_ignored(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    counting = shared_jvm.gateway.jvm.Parties.Counting(1, 0, False)
    wrong = Wrong("two terminals")
    bridge.to_jvm(wrong).subscribe(counting)
    assert wrong.signalled.wait(DEADLINE)
    assert counting.awaitEnd(MILLIS)
    bridge._session.call(0, deadline_seconds=DEADLINE)  # Java has received all earlier frames
    assert (counting.terminals(), counting.error()) == (1, None)


class Mine(Exception):
    """An error that only this test raises."""


def test_a_python_subscriber_that_raises_is_cancelled_and_reported(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    reported: SimpleQueue[BaseException] = SimpleQueue()

    def note(error: BaseException, where: str) -> None:
        if isinstance(error, Mine):
            reported.put(error)

    before = pyrs.set_error_hook(note)
    try:

        def fail(subscriber: object, element: object) -> None:
            raise Mine

        source = shared_jvm.gateway.jvm.Parties.Range(1_000_000_000)
        bridge.from_jvm(source).subscribe(TestSubscriber(5, on_element=fail))
        assert isinstance(reported.get(timeout=DEADLINE), Mine)
        assert source.awaitCancelled(MILLIS)
    finally:
        pyrs.set_error_hook(before)


@pytest.mark.parametrize("n", [0, -1, -(2**62)])
def test_non_positive_request_fails_the_stream_with_rule_3_9(bridge: jvm.Bridge, shared_jvm: Any, n: int) -> None:
    source = shared_jvm.gateway.jvm.Parties.Range(1 << 60)
    recorder = recording(1)
    bridge.from_jvm(source).subscribe(recorder)
    assert recorder.await_count(1) == [0]
    recorder.request(n)
    error = recorder.await_error()
    assert isinstance(error, ValueError) and "3.9" in str(error)
    assert source.awaitCancelled(MILLIS)
    recorder.request(1)
    recorder.cancel()
