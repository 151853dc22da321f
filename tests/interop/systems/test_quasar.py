"""Channels of Quasar, on Java 17."""

from __future__ import annotations

import itertools
from types import ModuleType

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.system import System
from tests.waiting import eventually

SYSTEM = System(
    name="Quasar",
    packages=("co.paralleluniverse:quasar-reactive-streams:0.8.0", "co.paralleluniverse:quasar-core:0.8.0"),
    component="the library itself, on Java 17 with `--add-opens=java.base/java.lang=ALL-UNNAMED` and without its agent",
    source="`ReactiveStreams.toPublisher` of a channel, with elements of all types in the value table",
    sink="`ReactiveStreams.subscribe`: a channel",
    ordering="kept",
    delivery="each element once; with `exact=True` elements without demand stay in the channel",
    cancel="closes the channel; later messages are discarded",
    gateways=("jpype", "spark"),
    jvm_options=(
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "-Dco.paralleluniverse.fibers.DefaultFiberPool.monitor=NONE",
    ),
    status="partial",
    reason="channels. Quasar's agent does not run on Java 17, so your own fibers need instrumentation at build "
    "time; the last version is from 2018.",
)

CAPACITY = 4


@pytest.fixture
def channel(bridge: Bridge, recipe: ModuleType) -> JavaObject:
    created: JavaObject = recipe.new_channel(bridge, CAPACITY)
    return created


def send(bridge: Bridge, channel: JavaObject, first: int, count: int) -> None:
    """Send numbers, each within the deadline; a full channel blocks its sender."""
    seconds = bridge.java_class("java.util.concurrent.TimeUnit").SECONDS
    for element in range(first, first + count):
        assert channel.send(element, int(DEADLINE), seconds), f"there was no free capacity for {element}"


class TestChannelIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(10)]

    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        channel = recipe.new_channel(bridge, 100)
        send(bridge, channel, 0, 100)
        channel.close()
        assert recipe.from_channel(bridge, channel).collect(timeout=DEADLINE) == list(range(100))

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, channel: JavaObject, recipe: ModuleType
    ) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.from_channel(bridge, channel).subscribe(received)
        send(bridge, channel, 0, 3 + CAPACITY)
        assert not channel.trySend(-1), "more than three elements were taken from the channel"
        assert received.await_count(3) == [0, 1, 2]
        received.request(1)
        send(bridge, channel, 7, 1)
        assert not channel.trySend(-1)
        assert received.await_count(4) == [0, 1, 2, 3]
        received.cancel()
        send(bridge, channel, 8, 1)  # a closed channel accepts and discards everything
        assert list(recipe.received(bridge, channel)) == [4, 5, 6, 7]
        assert channel.isClosed()
        assert not received.ended

    def test_cancel_releases_an_idle_receiver(self, bridge: Bridge, channel: JavaObject, recipe: ModuleType) -> None:
        received = TestSubscriber(5, timeout=DEADLINE)
        recipe.from_channel(bridge, channel).subscribe(received)
        send(bridge, channel, 0, 1)
        received.await_count(1)
        received.cancel()
        # The channel permits one receiver: a fiber, which blocks in the channel until the cancel closes it.
        eventually(channel.isClosed, "the cancel did not close the channel")
        assert list(recipe.received(bridge, channel)) == []

    def test_error_is_forwarded(self, bridge: Bridge, channel: JavaObject, recipe: ModuleType) -> None:
        received = TestSubscriber(5, timeout=DEADLINE)
        recipe.from_channel(bridge, channel).subscribe(received)
        send(bridge, channel, 0, 2)
        channel.close(bridge.java_class("java.lang.IllegalStateException")("the disk is full"))
        error = received.await_error(JavaError)
        assert (error.java_class, error.java_message) == ("java.lang.IllegalStateException", "the disk is full")
        assert received.elements == [0, 1]


class TestPythonIntoChannel:
    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        port = recipe.as_channel(bridge, pyrs.range(1, 101), CAPACITY)
        assert list(recipe.received(bridge, port)) == list(range(1, 101))

    def test_demand_is_bounded_and_cancel_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        port = recipe.as_channel(bridge, source, CAPACITY)
        assert list(itertools.islice(recipe.received(bridge, port), 6)) == [1, 2, 3, 4, 5, 6]
        eventually(lambda: source.emitted == 6 + CAPACITY, lambda: f"{source.emitted} elements were emitted")
        port.close()
        assert source.cancelled.wait(DEADLINE)
        assert source.requested == source.emitted == 6 + CAPACITY

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType) -> None:
        failure = LookupError("no third")
        port = recipe.as_channel(bridge, Watched(lambda: iter([1, 2]), failure), CAPACITY)
        elements = recipe.received(bridge, port)
        assert [next(elements), next(elements)] == [1, 2]
        with pytest.raises(JavaError, match=r"ProducerException: .*LookupError: no third") as raised:
            next(elements)
        assert raised.value.__cause__ is failure
