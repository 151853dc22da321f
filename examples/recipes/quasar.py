"""Quasar: the recipe of docs/recipes/quasar.md.

Run it: python examples/recipes/quasar.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["co.paralleluniverse:quasar-reactive-streams:0.8.0", "co.paralleluniverse:quasar-core:0.8.0"]

OPTIONS = [
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "-Dco.paralleluniverse.fibers.DefaultFiberPool.monitor=NONE",  # otherwise a timer of Quasar keeps the process alive
]


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES, jvm_options=OPTIONS) as bridge:
        channel = new_channel(bridge, capacity=16)
        for number in range(10):
            channel.send(number)
        channel.close()
        return from_channel(bridge, channel).map(lambda number: number * number).collect(timeout=30)


CHANNELS = "co.paralleluniverse.strands.channels"

STREAMS = f"{CHANNELS}.reactivestreams.ReactiveStreams"


def new_channel(bridge: Bridge, capacity: int) -> JavaObject:
    """Create a channel whose senders wait while it is full."""
    policy = bridge.java_class(f"{CHANNELS}.Channels$OverflowPolicy")
    channel: JavaObject = bridge.java_class(f"{CHANNELS}.Channels").newChannel(capacity, policy.BLOCK)
    return channel


def from_channel(bridge: Bridge, channel: JavaObject) -> pyrs.Stream[Any]:
    """Return the messages of the channel, for one Subscriber.

    They are received on request.
    """
    stream: pyrs.Stream[Any] = bridge.from_jvm(bridge.java_class(STREAMS).toPublisher(channel), exact=True)
    return stream


def as_channel(bridge: Bridge, publisher: pyrs.Publisher[Any], capacity: int) -> JavaObject:
    """Return a ReceivePort for Java code and fibers.

    It requests as its capacity allows.
    """
    policy = bridge.java_class(f"{CHANNELS}.Channels$OverflowPolicy")
    elements = bridge.to_jvm(publisher, exact=True)
    port: JavaObject = bridge.java_class(STREAMS).subscribe(capacity, policy.THROW, elements)
    return port


def received(bridge: Bridge, port: JavaObject) -> Iterator[Any]:
    """Receive all messages, one call each, with a timeout of thirty seconds.

    For tests.
    """
    seconds = bridge.java_class("java.util.concurrent.TimeUnit").SECONDS
    while (element := port.receive(30, seconds)) is not None:
        yield element


print(squares())
