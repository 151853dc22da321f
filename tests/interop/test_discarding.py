"""Each element that a cancel drops reaches the function for discarded elements, and no reference leaks."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

import pyrs
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE
from tests.interop.systems.brokers import sent
from tests.waiting import collected, eventually

POOL = 64


def cancelled_at_random(
    stream: pyrs.Stream[Any], plan: random.Random, released: list[Any], delivered: list[Any]
) -> None:
    """Subscribe to a stream of the pool; cancel in ``on_next``, or on this thread while elements arrive."""
    stop = plan.randrange(POOL)

    def received(subscriber: TestSubscriber[Any], element: Any) -> None:
        delivered.append(element)
        if len(delivered) - before > stop:
            subscriber.cancel()

    before = len(delivered)
    subscriber: TestSubscriber[Any] = TestSubscriber(on_element=received, timeout=DEADLINE)
    stream.do_on_discard(released.append).subscribe(subscriber)
    subscriber.request(plan.choice([1, 8, POOL]))
    if plan.random() < 0.3:
        threading.Event().wait(plan.random() * 0.0005)
    subscriber.cancel()


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("times", [1_000, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_cancellations_at_random_points_leak_no_object(bridge: Bridge, times: int) -> None:
    pool = bridge.java_class("java.util.ArrayList")()
    for _ in range(POOL):
        pool.add(bridge.java_class("java.lang.Object")())
    plan = random.Random(times)
    released: list[Any] = []
    delivered: list[Any] = []
    stream = bridge.from_jvm(bridge.java_class("reactor.core.publisher.Flux").fromIterable(pool)).prefetch(8)
    cancelled_at_random(stream, plan, released, delivered)  # the bridge keeps a handle of each class that it uses
    eventually(lambda: bridge.stats()["streams_live"] == 0)
    settled(bridge, released, delivered)
    base = handles(bridge)
    for number in range(times):
        cancelled_at_random(stream, plan, released, delivered)
        if number % 1_000 == 0:
            released.clear()
            delivered.clear()
    eventually(lambda: bridge.stats()["streams_live"] == 0)

    def no_handle_is_left() -> bool:
        """Return whether no handle is left; a worker may still append the elements of a late batch to ``released``."""
        released.clear()
        delivered.clear()
        return handles(bridge) <= base

    collected(no_handle_is_left, lambda: f"{handles(bridge)} handles, {base} before")


def handles(bridge: Bridge) -> int:
    """Return the number of Java objects that Python refers to."""
    return int(str(bridge.jvm_stats()["handles_owned"]))


def settled(bridge: Bridge, *elements: list[Any]) -> None:
    """Clear the lists, and wait until the number of handles is constant."""
    numbers = [-1]

    def same() -> bool:
        for some in elements:
            some.clear()
        numbers.append(handles(bridge))
        return numbers[-1] == numbers[-2]

    collected(same)


def test_each_received_element_is_delivered_or_discarded_once(bridge: Bridge) -> None:
    assert sum(discarded_by_a_cancel(bridge, random.Random(seed)) for seed in range(30)) > 0


def discarded_by_a_cancel(bridge: Bridge, plan: random.Random) -> int:
    """Cancel a range at a random element. Check the elements that Java sent; return the number of discarded ones."""
    discarded: list[int] = []
    stop = plan.choice([0, 1, 5, 100, 300])

    def received(subscriber: TestSubscriber[Any], element: Any) -> None:
        if len(subscriber.elements) > stop:
            subscriber.cancel()

    subscriber: TestSubscriber[Any] = TestSubscriber(on_element=received, timeout=DEADLINE)
    before, live = sent(bridge), bridge.jvm_stats()["streams_live"]
    flux = bridge.java_class("reactor.core.publisher.Flux").range(0, 1_000)
    bridge.from_jvm(flux).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(plan.choice([1, 16, 1_000]))
    subscriber.await_count(1)
    subscriber.cancel()
    eventually(lambda: bridge.jvm_stats()["streams_live"] == live)  # Java sends no element afterwards
    count = sent(bridge) - before
    eventually(
        lambda: len(subscriber.elements) + len(discarded) >= count,
        lambda: f"of {count} elements, {subscriber.elements} were delivered and {discarded} discarded",
    )
    assert sorted([*subscriber.elements, *discarded]) == list(range(count))
    return len(discarded)


def test_hook_of_reactor_receives_elements_that_a_cancel_in_java_drops(bridge: Bridge) -> None:
    watch = bridge.java_class("interop.Watch")()
    flux = bridge.java_class("reactor.core.publisher.Flux").from_(bridge.to_jvm(pyrs.range(1_000)))
    object_class = bridge.java_class("java.lang.Object").class_
    before = last = bridge.stats()["elements_out"]

    def wait_for_more(_: object) -> None:
        """Return to the Subscriber, which cancels, after further elements have been sent."""
        nonlocal last
        eventually(lambda: bridge.stats()["elements_out"] > before + 1)
        last = bridge.stats()["elements_out"]

    flux = flux.doOnNext(bridge.to_jvm_callable(wait_for_more, "java.util.function.Consumer"))
    assert flux.doOnDiscard(object_class, watch.elementConsumer()).blockFirst() == 0
    eventually(lambda: watch.elements() >= last - before - 1)
    assert watch.elements() < 1_000
