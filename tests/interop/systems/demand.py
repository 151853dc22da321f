"""Checks for the tests of operator libraries: demand, cancellation, errors."""

from __future__ import annotations

import threading
from typing import Any

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE

WINDOW = DEFAULT_MAX_PREFETCH
FIRST_WINDOW = 16
MANY = 3 * WINDOW
ENDLESS = 2**31 - 2


def check_demand_and_cancel(stream: pyrs.Stream[Any], requested: list[int], cancelled: threading.Event) -> None:
    """Check that demand is bounded, and that the stream forwards a cancel.

    The Subscriber receives exactly the requested elements.
    """
    received = TestSubscriber(timeout=DEADLINE)
    stream.subscribe(received)
    received.await_subscription()
    assert requested == []
    received.request(3)
    assert received.await_count(3) == [1, 2, 3]
    assert not cancelled.is_set()
    received.cancel()
    assert cancelled.wait(DEADLINE)
    assert received.elements == [1, 2, 3]
    assert not received.ended
    assert requested[0] == FIRST_WINDOW
    assert sum(requested) <= 2 * FIRST_WINDOW


def check_exact_demand(stream: pyrs.Stream[Any], requested: list[int], cancelled: threading.Event) -> None:
    """Check that ``exact=True`` forwards each request of the Subscriber, if it is within the window, as one request."""
    received = TestSubscriber(3, timeout=DEADLINE)
    stream.subscribe(received)
    received.await_count(3)
    received.request(2)
    assert received.await_count(5) == [1, 2, 3, 4, 5]
    received.cancel()
    assert cancelled.wait(DEADLINE)
    assert requested == [3, 2]


def java_failure(bridge: Bridge) -> JavaObject:
    """Create a Java exception with a message and a cause."""
    cause = bridge.java_class("java.io.IOException")("no space left on the device")
    failure: JavaObject = bridge.java_class("java.lang.IllegalStateException")("the disk is full", cause)
    return failure


def check_java_failure(error: BaseException) -> None:
    """Check the class, message, Java stack and cause of ``java_failure`` in Python."""
    assert isinstance(error, JavaError)
    assert (error.java_class, error.java_message) == ("java.lang.IllegalStateException", "the disk is full")
    assert error.java_stack
    assert isinstance(error.__cause__, JavaError)
    assert str(error.__cause__) == "java.io.IOException: no space left on the device"


def check_failing_stage(stream: pyrs.Stream[Any], cancelled: threading.Event) -> None:
    """Check that a failing stage emits its first elements and cancels its source.

    The stage maps with ``no_third``.
    """
    received = TestSubscriber(10, timeout=DEADLINE)
    stream.subscribe(received)
    error = received.await_error()
    assert isinstance(error, LookupError)
    assert str(error) == "no third"
    assert received.elements == [1, 2]
    assert cancelled.wait(DEADLINE)
    assert received.error is not None


def no_third(number: int) -> int:
    """Return the number, but raise LookupError for 3; a function for ``map``."""
    if number == 3:
        raise LookupError("no third")
    return number
