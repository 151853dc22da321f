"""Python stages between asynchronous Java operators: schedulers, merges, nested streams, nested calls."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest

import pyrs
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, Watched

FLUX = "reactor.core.publisher.Flux"
FLOWABLE = "io.reactivex.rxjava3.core.Flowable"
MANY = 20_000


def numbers(java: Java, count: int) -> Any:
    return java.static(FLUX, "range", 1, count)


def total(count: int) -> int:
    return count * (count + 1) // 2


def test_stage_between_two_schedulers_of_reactor_keeps_the_order(bridge: Bridge, java: Java, recorder: Any) -> None:
    scheduler = java.static("reactor.core.scheduler.Schedulers", "parallel")
    flux = java.call(numbers(java, MANY), "publishOn", scheduler)
    flux = java.call(flux, "transform", bridge.to_jvm_stage(lambda s: s.map(lambda x: x + 1)))
    java.call(java.call(flux, "publishOn", scheduler), "subscribe", recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
    assert java.call(recorder, "text") == " ".join(map(str, range(2, MANY + 2)))


def test_stage_between_two_schedulers_of_rxjava_keeps_the_order(bridge: Bridge, java: Java, recorder: Any) -> None:
    scheduler = java.static("io.reactivex.rxjava3.schedulers.Schedulers", "computation")
    flowable = java.call(java.static(FLOWABLE, "range", 1, MANY), "observeOn", scheduler)
    stage = bridge.to_jvm_stage(
        lambda s: s.filter(lambda x: x % 2), interface="io.reactivex.rxjava3.core.FlowableTransformer"
    )
    flowable = java.call(java.call(flowable, "compose", stage), "observeOn", scheduler)
    java.call(flowable, "subscribe", recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
    assert java.call(recorder, "text") == " ".join(map(str, range(1, MANY, 2)))


def test_merge_with_a_python_publisher_emits_every_element(bridge: Bridge, java: Java, recorder: Any) -> None:
    python = bridge.to_jvm(pyrs.range(1, MANY + 1), element_type="java.lang.Integer")
    merged = java.call(numbers(java, MANY), "mergeWith", python)
    java.call(merged, "subscribe", recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
    assert java.call(recorder, "sum") == 2 * total(MANY)
    assert java.call(recorder, "classes") == "java.lang.Integer"


def test_flat_map_into_python_publishers_emits_every_element(bridge: Bridge, java: Java, recorder: Any) -> None:
    spread = bridge.to_jvm_callable(lambda x: pyrs.range(x * 100), "java.util.function.Function")
    java.call(java.call(numbers(java, 20), "flatMap", spread), "subscribe", recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
    assert java.call(recorder, "count") == 100 * total(20)


def test_concat_map_into_java_publishers_returned_by_python_emits_every_element(
    bridge: Bridge, java: Java, recorder: Any
) -> None:
    spread = bridge.to_jvm_callable(lambda x: bridge.from_jvm(numbers(java, x)), "java.util.function.Function")
    java.call(java.call(numbers(java, 10), "concatMap", spread), "subscribe", recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
    assert java.call(recorder, "count") == total(10)


def test_alternating_stages_of_both_languages_keep_values_and_types(bridge: Bridge, java: Java, recorder: Any) -> None:
    flux = numbers(java, 1_000)
    for _ in range(5):
        flux = java.call(flux, "transform", bridge.to_jvm_stage(lambda s: s.map(lambda x: x + 1)))
        flux = java.call(flux, "map", java.static("interop.Functions", "doubleInteger"))
    java.call(flux, "subscribe", recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
    assert java.call(recorder, "element", 0) == 1 * 32 + 62
    assert java.call(recorder, "count") == 1_000
    assert java.call(recorder, "classes") == "java.lang.Integer"


def test_one_stage_works_in_many_chains(bridge: Bridge, java: Java) -> None:
    stage = bridge.to_jvm_stage(lambda s: s.map(lambda x: x * 3))
    scheduler = java.static("reactor.core.scheduler.Schedulers", "parallel")
    recorders = []
    for _ in range(20):
        recorders.append(java.new("interop.Recorder", 2**63 - 1))
        flux = java.call(java.call(numbers(java, 1_000), "publishOn", scheduler), "transform", stage)
        java.call(flux, "subscribe", recorders[-1])
    for recorder in recorders:
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "sum") == 3 * total(1_000)


def test_each_of_many_subscribers_receives_every_element(bridge: Bridge, java: Java) -> None:
    source = Watched(lambda: iter(range(100)))
    flux = java.static(FLUX, "from", bridge.to_jvm(source))
    recorders = [java.new("interop.Recorder", 2**63 - 1) for _ in range(20)]
    for recorder in recorders:
        java.call(flux, "subscribe", recorder)
    for recorder in recorders:
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "count") == 100
    assert source.subscribers == 20


def test_subscriber_accepts_one_subscription(bridge: Bridge, java: Java) -> None:
    """2.5, 2.12: the second subscription is cancelled, and the first is not affected."""
    received = TestSubscriber(10, timeout=DEADLINE)
    mirror = bridge.to_jvm(received)
    first, second = java.new("interop.Watch"), java.new("interop.Watch")
    java.call(java.call(java.static(FLUX, "never"), "doOnCancel", first), "subscribe", mirror)
    received.await_subscription()
    java.call(java.call(numbers(java, 10), "doOnCancel", second), "subscribe", mirror)
    assert java.call(second, "awaitCancelled", MILLISECONDS)
    received.cancel()
    assert java.call(first, "awaitCancelled", MILLISECONDS)
    assert received.elements == []


def test_take_stops_a_hot_source(bridge: Bridge, java: Java) -> None:
    interval = java.static(FLUX, "interval", java.static("java.time.Duration", "ofMillis", 1))
    ticks = bridge.from_jvm(java.call(interval, "onBackpressureDrop")).take(30).collect(timeout=DEADLINE)
    assert ticks == sorted(set(ticks))
    assert len(ticks) == 30


def test_mono_emits_one_element_of_a_python_publisher(bridge: Bridge, java: Java) -> None:
    mono = java.static("reactor.core.publisher.Mono", "from", bridge.to_jvm(Watched(lambda: itertools.count(7))))
    mono = java.call(mono, "transform", bridge.to_jvm_stage(lambda s: s.map(str)))
    future = bridge.from_jvm(java.call(java.static("reactor.core.publisher.Mono", "from", mono), "toFuture"))
    assert future.result(DEADLINE) == "7"


def test_java_can_block_on_a_python_publisher(bridge: Bridge, java: Java) -> None:
    flux = java.static(FLUX, "from", bridge.to_jvm(pyrs.range(MANY)))
    deadline = java.static("java.time.Duration", "ofSeconds", int(DEADLINE))
    assert java.call(java.call(flux, "last"), "block", deadline) == MANY - 1


def test_callback_can_call_java(bridge: Bridge, java: Java) -> None:
    stream = bridge.from_jvm(numbers(java, 100)).map(lambda x: int(java.static("java.lang.Math", "addExact", x, 1)))
    assert stream.collect(timeout=DEADLINE) == list(range(2, 102))


def test_callback_can_wait_for_another_stream(bridge: Bridge, java: Java) -> None:
    inner = bridge.from_jvm(numbers(java, 10))
    stream = bridge.from_jvm(numbers(java, 50)).map(lambda x: sum(inner.collect(timeout=DEADLINE)) + x)
    assert stream.collect(timeout=DEADLINE) == [55 + x for x in range(1, 51)]


def test_many_concurrent_streams_complete(bridge: Bridge, java: Java) -> None:
    received = [TestSubscriber(None, timeout=DEADLINE) for _ in range(200)]
    for each in received:
        bridge.from_jvm(numbers(java, 500)).subscribe(each)
    for each in received:
        assert sum(each.await_complete()) == total(500)


def test_blocked_subscriber_blocks_no_other_stream(bridge: Bridge, java: Java) -> None:
    released = threading.Event()
    blocked = TestSubscriber(None, timeout=DEADLINE, on_element=lambda *_: released.wait(DEADLINE))
    bridge.from_jvm(numbers(java, 3)).subscribe(blocked)
    blocked.await_count(1)
    assert sum(bridge.from_jvm(numbers(java, MANY)).collect(timeout=DEADLINE)) == total(MANY)
    assert blocked.elements == [1]
    released.set()
    assert blocked.await_complete() == [1, 2, 3]


@pytest.mark.parametrize("prefetch", [1, 64])
def test_leaving_async_for_cancels_the_flux(bridge: Bridge, java: Java, prefetch: int) -> None:
    watch = java.new("interop.Watch")
    flux = java.call(numbers(java, 2**31 - 2), "doOnCancel", watch)

    async def main() -> list[int]:
        found: list[int] = []
        async with bridge.from_jvm(flux).iterate(prefetch=prefetch) as elements:
            async for element in elements:
                found.append(element)
                if len(found) == 500:
                    break
        return found

    assert asyncio.run(asyncio.wait_for(main(), DEADLINE)) == list(range(1, 501))
    assert java.call(watch, "awaitCancelled", MILLISECONDS)


def test_abandoned_iterator_cancels_the_flux(bridge: Bridge, java: Java) -> None:
    watch = java.new("interop.Watch")
    elements = bridge.from_jvm(java.call(numbers(java, 2**31 - 2), "doOnCancel", watch)).to_iterable(timeout=DEADLINE)
    assert list(itertools.islice(elements, 1_000)) == list(range(1, 1_001))
    del elements
    assert java.call(watch, "awaitCancelled", MILLISECONDS)
