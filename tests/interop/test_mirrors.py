"""Mirrors in both directions. Those of Python components implement both families of interfaces."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, MapProcessor, Watched

INTERFACES = {
    "publisher": "Publisher Flow$Publisher",
    "subscriber": "Subscriber Flow$Subscriber",
    "processor": "Publisher Subscriber Processor Flow$Publisher Flow$Subscriber Flow$Processor",
}


@pytest.mark.parametrize("kind", INTERFACES)
def test_java_object_implements_both_families(bridge: Bridge, java: Java, kind: str) -> None:
    components: dict[str, Any] = {
        "publisher": pyrs.range(3),
        "subscriber": TestSubscriber(timeout=DEADLINE),
        "processor": MapProcessor(lambda x: x),
    }
    assert java.static("interop.Functions", "interfaces", bridge.to_jvm(components[kind])) == INTERFACES[kind]


@pytest.mark.parametrize("family", ["subscribe", "subscribeFlow"])
def test_java_subscribes_to_a_python_publisher_through_both_families(
    bridge: Bridge, java: Java, recorder: Any, family: str
) -> None:
    java.static("interop.Functions", family, bridge.to_jvm(pyrs.range(1, 4)), recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
    assert java.call(recorder, "text") == "1 2 3"


@pytest.mark.parametrize("family", ["subscribe", "subscribeFlow"])
def test_java_signals_a_python_subscriber_through_both_families(bridge: Bridge, java: Java, family: str) -> None:
    received = TestSubscriber(10, timeout=DEADLINE)
    source = java.static("interop.Sources", "longsOnForeignThreads", 3)
    if family == "subscribeFlow":
        source = java.static("interop.Sources", "asFlow", source)
    java.static("interop.Functions", family, source, bridge.to_jvm(received))
    assert received.await_complete() == [0, 1, 2]


def test_flow_publisher_delivers_every_element(bridge: Bridge, java: Java) -> None:
    source = java.static("interop.Sources", "asFlow", java.static("interop.Sources", "longsOnForeignThreads", 1000))
    assert bridge.from_jvm(source).collect(timeout=DEADLINE) == list(range(1000))


def test_mirror_of_a_publisher_accepts_the_mirror_of_a_subscriber(bridge: Bridge, java: Java) -> None:
    received = TestSubscriber(10, timeout=DEADLINE)
    java.call(bridge.to_jvm(pyrs.range(3)), "subscribe", bridge.to_jvm(received))
    assert received.await_complete() == [0, 1, 2]


def test_java_subscriber_receives_every_element_of_a_python_publisher(
    bridge: Bridge, java: Java, recorder: Any
) -> None:
    pyrs.range(1000).subscribe(bridge.from_jvm(recorder))
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
    assert java.call(recorder, "sum") == 499_500


def test_java_processor_connects_python_components(bridge: Bridge, java: Java) -> None:
    processor = bridge.from_jvm(java.static("interop.Submissions", "processor"))
    received = TestSubscriber(None, timeout=DEADLINE)
    processor.subscribe(received)
    pyrs.range(1000).subscribe(processor)
    assert received.await_complete() == list(range(1000))


def test_null_subscriber_raises_null_pointer_exception(bridge: Bridge, java: Java) -> None:
    """1.9: subscribe(null) throws a NullPointerException."""
    with pytest.raises(Exception, match="NullPointerException"):
        java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.range(3)), None)


@pytest.mark.parametrize("n", [0, -1])
def test_non_positive_request_by_java_fails_and_cancels(bridge: Bridge, java: Java, n: int) -> None:
    """3.9: an IllegalArgumentException that cites the rule, and a cancel upstream."""
    source = Watched(lambda: itertools.count())
    recorder = java.new("interop.Recorder", 1)
    java.static("interop.Functions", "subscribe", bridge.to_jvm(source), recorder)
    assert java.call(recorder, "awaitElements", 1, MILLISECONDS)
    java.call(recorder, "request", n)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
    assert java.static("interop.Functions", "isIllegalArgument", java.call(recorder, "error"))
    assert "3.9" in java.call(recorder, "errorMessage")
    assert source.cancelled.wait(DEADLINE)


def test_non_positive_request_by_python_fails_and_cancels(bridge: Bridge, java: Java) -> None:
    """3.9: a ValueError that cites the rule, and a cancel upstream."""
    watch = java.new("interop.Watch")
    flux = java.call(java.static("reactor.core.publisher.Flux", "range", 1, 100_000), "doOnCancel", watch)
    received = TestSubscriber(1, timeout=DEADLINE)
    bridge.from_jvm(flux).subscribe(received)
    received.await_count(1)
    received.request(0)
    error = received.await_error()
    assert isinstance(error, ValueError)
    assert "3.9" in str(error)
    assert java.call(watch, "awaitCancelled", MILLISECONDS)


def test_exact_demand_of_python_reaches_java_unchanged(bridge: Bridge, java: Java) -> None:
    watch = java.new("interop.Watch")
    flux = java.call(java.static("reactor.core.publisher.Flux", "range", 1, 100), "doOnRequest", watch)
    received = TestSubscriber(1, timeout=DEADLINE)
    bridge.from_jvm(flux, exact=True).subscribe(received)
    received.await_count(1)
    assert java.call(watch, "requested") == 1
    received.request(4)
    assert received.await_count(5) == [1, 2, 3, 4, 5]
    assert java.call(watch, "requested") == 5
    received.cancel()


def test_exact_demand_of_java_reaches_python_unchanged(bridge: Bridge, java: Java) -> None:
    source = Watched(lambda: itertools.count())
    recorder = java.new("interop.Recorder", 1)
    java.static("interop.Functions", "subscribe", bridge.to_jvm(source, exact=True), recorder)
    assert java.call(recorder, "awaitElements", 1, MILLISECONDS)
    assert source.requested == 1
    java.call(recorder, "request", 2)
    assert java.call(recorder, "awaitElements", 3, MILLISECONDS)
    assert source.requested == 3
    java.call(recorder, "cancel")
    assert source.cancelled.wait(DEADLINE)


def test_raising_subscriber_cancels_the_source(bridge: Bridge, java: Java) -> None:
    watch = java.new("interop.Watch")
    flux = java.call(java.static("reactor.core.publisher.Flux", "range", 1, 2**31 - 2), "doOnCancel", watch)

    def fails(element: int) -> None:
        if element == 3:
            raise RuntimeError("three")

    with pytest.raises(RuntimeError, match="three"):
        bridge.from_jvm(flux).for_each(fails, timeout=DEADLINE)
    assert java.call(watch, "awaitCancelled", MILLISECONDS)


def test_stage_that_raises_during_assembly_fails_the_stream(bridge: Bridge, java: Java) -> None:
    error = RuntimeError("no such stage")

    def fails(stream: pyrs.Stream[Any]) -> Any:
        raise error

    flux = java.static("reactor.core.publisher.Flux", "range", 1, 3)
    deferred = java.call(flux, "transformDeferred", bridge.to_jvm_stage(fails))
    received = TestSubscriber(1, timeout=DEADLINE)
    bridge.from_jvm(deferred).subscribe(received)
    assert received.await_error() is error


@pytest.mark.parametrize(
    "interface", ["java.lang.Runnable", "java.util.function.Supplier", "java.util.function.Predicate"]
)
def test_interface_without_a_stage_method_is_rejected(interface: str, bridge: Bridge) -> None:
    with pytest.raises(JavaError, match=f"take a Publisher and return one, as .*Function does; {interface} has "):
        bridge.to_jvm_stage(lambda stream: stream, interface=interface)


def test_stage_that_returns_no_publisher_signals_type_error(bridge: Bridge, java: Java) -> None:
    flux = java.static("reactor.core.publisher.Flux", "range", 1, 3)
    deferred = java.call(flux, "transformDeferred", bridge.to_jvm_stage(lambda stream: 5))
    received = TestSubscriber(1, timeout=DEADLINE)
    bridge.from_jvm(deferred).subscribe(received)
    error = received.await_error()
    assert isinstance(error, TypeError)
    assert not isinstance(error, JavaError)
    assert "Publisher" in str(error)


def test_publisher_without_the_base_class_that_crossed_as_a_plain_object(bridge: Bridge) -> None:
    class Numbers:
        def subscribe(self, subscriber: Any) -> None:
            pyrs.just(1, 2).subscribe(subscriber)

    numbers = Numbers()
    kept = bridge.java_class("java.util.ArrayList")([numbers])
    flux = bridge.java_class("reactor.core.publisher.Flux").from_(bridge.to_jvm(numbers))
    assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [1, 2]
    assert bridge.value_of(kept) == [numbers]
    assert kept.contains(numbers)
