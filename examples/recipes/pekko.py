"""Pekko Streams: the recipe of docs/recipes/pekko.md.

Run it: python examples/recipes/pekko.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["org.apache.pekko:pekko-stream_2.13:1.7.0"]

SETTINGS = "pekko.daemonic = on, pekko.loglevel = WARNING"


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES) as bridge:
        system = actor_system(bridge)
        try:
            return numbers(bridge, system, 10).map(lambda number: number * number).collect(timeout=30)
        finally:
            system.terminate()


def actor_system(bridge: Bridge) -> JavaObject:
    """Create an actor system with daemon threads, which do not keep the process alive."""
    factory = bridge.java_class("com.typesafe.config.ConfigFactory")
    settings = factory.parseString(SETTINGS).withFallback(factory.load())
    system: JavaObject = bridge.java_class("org.apache.pekko.actor.ActorSystem").create("python", settings)
    return system


JAVADSL = "org.apache.pekko.stream.javadsl"


def numbers(bridge: Bridge, system: JavaObject, count: int) -> pyrs.Stream[int]:
    return stream_of(bridge, system, bridge.java_class(f"{JAVADSL}.Source").range(1, count))


def stream_of(bridge: Bridge, system: JavaObject, source: JavaObject) -> pyrs.Stream[Any]:
    """Return the elements of a Source; each Subscriber runs its own graph."""
    return pyrs.defer(lambda: bridge.from_jvm(source.runWith(as_publisher(bridge), system)))


def as_publisher(bridge: Bridge) -> JavaObject:
    """Return the Sink whose materialized value is a Publisher for one Subscriber."""
    fanout = bridge.java_class(f"{JAVADSL}.AsPublisher")
    sink: JavaObject = bridge.java_class(f"{JAVADSL}.Sink").asPublisher(fanout.valueOf("WITHOUT_FANOUT"))
    return sink


def watched(bridge: Bridge, system: JavaObject, source: JavaObject) -> tuple[pyrs.Stream[Any], jvm.JavaFuture]:
    """Run a Source; return its elements, and a future of its termination."""
    keep = bridge.java_class(f"{JAVADSL}.Keep")
    graph = source.watchTermination(keep.right()).toMat(as_publisher(bridge), keep.both())
    both = graph.run(system)
    return bridge.from_jvm(both.second()), bridge.from_jvm(both.first())


def as_source(bridge: Bridge, publisher: pyrs.Publisher[Any]) -> JavaObject:
    source: JavaObject = bridge.java_class(f"{JAVADSL}.Source").fromPublisher(bridge.to_jvm(publisher))
    return source


def collected(bridge: Bridge, system: JavaObject, source: JavaObject) -> list[Any]:
    """Return all elements of a finite Source, collected in Java."""
    future: jvm.JavaFuture = bridge.from_jvm(source.runWith(bridge.java_class(f"{JAVADSL}.Sink").seq(), system))
    elements: list[Any] = future.result(timeout_seconds=30)
    return elements


def through_python(
    bridge: Bridge, source: JavaObject, function: Callable[[pyrs.Stream[Any]], pyrs.Publisher[Any]]
) -> JavaObject:
    """Append a Python stage to the Source.

    ``function`` is called once for each materialization.
    """

    def staged(materializer: JavaObject, attributes: JavaObject) -> JavaObject:
        upstream = source.runWith(as_publisher(bridge), materializer)
        return as_source(bridge, function(bridge.from_jvm(upstream)))

    factory = bridge.to_jvm_callable(staged, "java.util.function.BiFunction")
    joined: JavaObject = bridge.java_class(f"{JAVADSL}.Source").fromMaterializer(factory)
    return joined


CREATOR = "org.apache.pekko.japi.function.Creator"


def through_processor(
    bridge: Bridge, source: JavaObject, make_processor: Callable[[], pyrs.Processor[Any, Any]]
) -> JavaObject:
    """Append a Python Processor to the Source, one for each materialization."""
    creator = bridge.to_jvm_callable(make_processor, CREATOR)
    joined: JavaObject = source.via(bridge.java_class(f"{JAVADSL}.Flow").fromProcessor(creator))
    return joined


print(squares())
