"""One value across the link, in either direction."""

from __future__ import annotations

from typing import Any

import pyrs
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java


def to_python(bridge: Bridge, publisher: Any, convert: object = None) -> Any:
    """The one element that a Java Publisher gives."""
    elements = bridge.from_jvm(publisher, convert=convert).collect(timeout=DEADLINE)
    assert len(elements) == 1
    return elements[0]


def error_in_python(bridge: Bridge, publisher: Any, convert: object = None) -> BaseException:
    """The error with which a Java Publisher's stream ends in Python."""
    received = TestSubscriber(10, timeout=DEADLINE)
    bridge.from_jvm(publisher, convert=convert).subscribe(received)
    return received.await_error()


def recorded(java: Java, bridge: Bridge, *elements: Any, element_type: str | None = None) -> Any:
    """A Java Recorder that has got the elements."""
    recorder = java.new("interop.Recorder", 2**63 - 1)
    java.static(
        "interop.Functions",
        "subscribe",
        bridge.to_jvm(pyrs.from_iterable(elements), element_type=element_type),
        recorder,
    )
    ending = java.call(recorder, "awaitEnd", MILLISECONDS)
    assert ending == "complete", java.call(recorder, "errorMessage") if ending == "error" else ending
    return recorder


def described(java: Java, bridge: Bridge, *elements: Any, element_type: str | None = None) -> str:
    """What Java says that it got."""
    return str(java.call(recorded(java, bridge, *elements, element_type=element_type), "described"))


def error_in_java(java: Java, bridge: Bridge, *elements: Any, element_type: str | None = None) -> Any:
    """The Throwable with which a Python stream ends in Java."""
    recorder = java.new("interop.Recorder", 2**63 - 1)
    java.static(
        "interop.Functions",
        "subscribe",
        bridge.to_jvm(pyrs.from_iterable(elements), element_type=element_type),
        recorder,
    )
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error", java.call(recorder, "described")
    return java.call(recorder, "error")


def there_and_back(java: Java, bridge: Bridge, value: Any) -> Any:
    """A Python value that has been an object in Java."""
    flux = java.static("reactor.core.publisher.Flux", "from", bridge.to_jvm(pyrs.just(value)))
    return to_python(bridge, flux)
