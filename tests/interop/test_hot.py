"""A Subscriber of a hot Publisher receives every element emitted after ``subscribe()`` has returned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java

ROUNDS = 200
SUBMISSIONS = "java.util.concurrent.SubmissionPublisher"


def sink_of(java: Java) -> Any:
    """Create a sink that emits each element to the current Subscribers regardless of demand."""
    many = java.call(java.static("reactor.core.publisher.Sinks", "many"), "multicast")
    sink = java.call(many, "onBackpressureBuffer", 256, False)
    # The first Subscriber of such a sink would receive the earlier elements.
    java.static("interop.Functions", "subscribe", java.call(sink, "asFlux"), java.new("interop.Recorder", 2**62))
    return sink


def _best_effort(java: Java) -> tuple[Any, Any, str, str]:
    sink = java.call(java.call(java.static("reactor.core.publisher.Sinks", "many"), "multicast"), "directBestEffort")
    return java.call(sink, "asFlux"), sink, "tryEmitNext", "tryEmitComplete"


def _all_or_nothing(java: Java) -> tuple[Any, Any, str, str]:
    sink = java.call(java.call(java.static("reactor.core.publisher.Sinks", "many"), "multicast"), "directAllOrNothing")
    return java.call(java.call(sink, "asFlux"), "hide"), sink, "tryEmitNext", "tryEmitComplete"


def _rxjava(java: Java) -> tuple[Any, Any, str, str]:
    processor = java.static("io.reactivex.rxjava3.processors.PublishProcessor", "create")
    return processor, processor, "onNext", "onComplete"


def _mutiny(java: Java) -> tuple[Any, Any, str, str]:
    processor = java.static("io.smallrye.mutiny.operators.multi.processors.BroadcastProcessor", "create")
    return java.call(java.call(java.call(processor, "select"), "first", 9), "log"), processor, "onNext", "onComplete"


@pytest.mark.parametrize("create", [_best_effort, _all_or_nothing, _rxjava, _mutiny])
def test_source_that_ignores_demand_receives_it_before_subscribe_returns(
    bridge: Bridge, java: Java, create: Callable[[Java], tuple[Any, Any, str, str]]
) -> None:
    """Without demand, these sources drop an element or fail."""
    for n in range(ROUNDS):
        publisher, target, emit, complete = create(java)
        received = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(publisher).subscribe(received)
        java.call(target, emit, n)
        java.call(target, complete)
        assert received.await_complete() == [n]


def test_subscribe_returns_although_request_emits_without_end(bridge: Bridge, java: Java) -> None:
    endless = java.static("reactor.core.publisher.Flux", "range", 0, 2**31 - 1)
    received, returned = TestSubscriber(None, timeout=DEADLINE), threading.Event()
    stream = bridge.from_jvm(endless, hot=True)
    thread = threading.Thread(target=lambda: (stream.subscribe(received), returned.set()), daemon=True)
    thread.start()
    assert returned.wait(4), "subscribe waited for the end of the stream"
    received.cancel()


@pytest.mark.parametrize("declared", [None, True], ids=["detected", "declared"])
def test_submission_publisher_loses_no_element(bridge: Bridge, java: Java, declared: bool | None) -> None:
    for n in range(ROUNDS):
        publisher = java.new(SUBMISSIONS)
        received = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(publisher, hot=declared).subscribe(received)
        assert java.call(publisher, "submit", n) >= 0
        java.call(publisher, "close")
        assert received.await_complete() == [n]


def test_submission_publisher_behind_a_stage_loses_no_element(bridge: Bridge, java: Java) -> None:
    stage = bridge.to_jvm_stage(lambda upstream: upstream.map(lambda n: n + 1))
    for n in range(ROUNDS // 4):
        publisher = java.new(SUBMISSIONS)
        received = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(java.call(stage, "apply", publisher)).subscribe(received)
        assert java.call(publisher, "submit", n) >= 0
        java.call(publisher, "close")
        assert received.await_complete() == [n + 1]


def test_sink_behind_an_operator_loses_no_element(bridge: Bridge, java: Java) -> None:
    double = java.static("interop.Functions", "doubleInteger")
    for n in range(ROUNDS):
        # A new sink each time: while a sink emits on another thread, Reactor may miss a new Subscriber.
        sink = sink_of(java)
        doubled = java.call(java.call(sink, "asFlux"), "map", double)
        received = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(doubled).subscribe(received)
        java.call(sink, "tryEmitNext", java.static("java.lang.Integer", "valueOf", n))
        java.call(sink, "tryEmitComplete")
        assert received.await_complete() == [2 * n]


def test_sink_with_and_without_a_stage_loses_no_element(bridge: Bridge, java: Java) -> None:
    sink = sink_of(java)
    flux = java.call(sink, "asFlux")
    whole, staged = TestSubscriber(None, timeout=DEADLINE), TestSubscriber(None, timeout=DEADLINE)
    bridge.from_jvm(flux).subscribe(whole)
    bridge.from_jvm(flux).map(lambda n: n + 1).filter(lambda n: n % 2).subscribe(staged)
    for n in range(ROUNDS):
        java.call(sink, "tryEmitNext", n)
    java.call(sink, "tryEmitComplete")
    assert whole.await_complete() == list(range(ROUNDS))
    assert staged.await_complete() == list(range(1, ROUNDS + 1, 2))


def test_connectable_flux_loses_no_element(bridge: Bridge, java: Java) -> None:
    for n in range(20):
        connectable = java.call(java.static("reactor.core.publisher.Flux", "range", n, 5), "publish")
        received = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(connectable).subscribe(received)
        java.call(connectable, "connect")
        assert received.await_complete() == list(range(n, n + 5))


def test_processor_loses_no_element(bridge: Bridge, java: Java) -> None:
    for n in range(20):
        processor = java.static("interop.Submissions", "processor")
        received = TestSubscriber(None, timeout=DEADLINE)
        both = bridge.from_jvm(processor)
        both.subscribe(received)
        pyrs.range(n).subscribe(both)
        assert received.await_complete() == list(range(n))


def test_subscribe_waits_for_a_publisher_declared_hot(bridge: Bridge, java: Java) -> None:
    gated = java.new("interop.Gated")
    received = TestSubscriber(timeout=DEADLINE)
    returned = threading.Event()
    stream = bridge.from_jvm(gated, hot=True)
    thread = threading.Thread(target=lambda: (stream.subscribe(received), returned.set()), daemon=True)
    thread.start()
    assert java.call(gated, "awaitEntered", MILLISECONDS)
    assert not returned.wait(0.1), "subscribe returned in Python before it returned in Java"
    java.call(gated, "open")
    assert returned.wait(DEADLINE)
    assert java.call(gated, "count") == 1
    java.call(gated, "complete")
    assert received.await_complete() == []


@pytest.mark.parametrize("declared", [None, False], ids=["by default", "declared"])
def test_subscribe_does_not_wait_for_a_cold_publisher(bridge: Bridge, java: Java, declared: bool | None) -> None:
    gated = java.new("interop.Gated")
    received = TestSubscriber(timeout=DEADLINE)
    bridge.from_jvm(gated, hot=declared).subscribe(received)
    assert java.call(gated, "count") == 0, "the Subscriber was added although the gate is closed"
    received.cancel()
    java.call(gated, "open")


def test_subscribe_never_blocks_an_event_loop(bridge: Bridge, java: Java) -> None:
    gated = java.new("interop.Gated")
    received = TestSubscriber(timeout=DEADLINE)

    async def subscribe() -> None:
        bridge.from_jvm(gated, hot=True).subscribe(received)

    asyncio.run(subscribe())
    assert java.call(gated, "count") == 0, "the Subscriber was added although the gate is closed"
    received.cancel()
    java.call(gated, "open")
