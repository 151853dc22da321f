"""Helpers that send single values across the link, in either direction."""

from __future__ import annotations

from typing import Any

import pyrs
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java


def to_python(bridge: Bridge, publisher: Any, convert: object = None) -> Any:
    """Return the only element of a Java Publisher."""
    elements = bridge.from_jvm(publisher, convert=convert).collect(timeout=DEADLINE)
    assert len(elements) == 1
    return elements[0]


def error_in_python(bridge: Bridge, publisher: Any, convert: object = None) -> BaseException:
    """Return the error that a Python Subscriber receives from a Java Publisher."""
    received = TestSubscriber(10, timeout=DEADLINE)
    bridge.from_jvm(publisher, convert=convert).subscribe(received)
    return received.await_error()


def recorded(java: Java, bridge: Bridge, *elements: Any, element_type: str | None = None) -> Any:
    """Return a Java Recorder that has received the elements."""
    recorder = java.new("interop.Recorder", 2**63 - 1)
    java.static(
        "interop.Functions",
        "subscribe",
        bridge.to_jvm(pyrs.from_iterable(elements), element_type=element_type),
        recorder,
    )
    outcome = java.call(recorder, "awaitEnd", MILLISECONDS)
    assert outcome == "complete", java.call(recorder, "errorMessage") if outcome == "error" else outcome
    return recorder


def described(java: Java, bridge: Bridge, *elements: Any, element_type: str | None = None) -> str:
    """Return Java's description of the received elements."""
    return str(java.call(recorded(java, bridge, *elements, element_type=element_type), "described"))


def error_in_java(java: Java, bridge: Bridge, *elements: Any, element_type: str | None = None) -> Any:
    """Return the Throwable that a Java Subscriber receives from a Python stream."""
    recorder = java.new("interop.Recorder", 2**63 - 1)
    java.static(
        "interop.Functions",
        "subscribe",
        bridge.to_jvm(pyrs.from_iterable(elements), element_type=element_type),
        recorder,
    )
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error", java.call(recorder, "described")
    return java.call(recorder, "error")


def round_trip(java: Java, bridge: Bridge, value: Any) -> Any:
    """Convert a Python value to Java and back."""
    flux = java.static("reactor.core.publisher.Flux", "from", bridge.to_jvm(pyrs.just(value)))
    return to_python(bridge, flux)
