"""Akka Streams; ``akka_streams`` has the tests."""

from __future__ import annotations

from tests.interop.systems.akka_streams import *  # noqa: F403
from tests.interop.systems.system import System

SYSTEM = System(
    name="Akka Streams",
    packages=("com.typesafe.akka:akka-stream_2.13:2.6.21",),
    component="the library itself",
    source="a `Source` run with `Sink.asPublisher`, with elements of all types in the value table",
    sink="`Source.fromPublisher`; a Python stage, or a Processor by `Flow.fromProcessor`, inside a graph",
    ordering="kept",
    delivery="each element once; prefetched elements are dropped on cancel, Akka's own 16 elements also on an error",
    cancel="the graph is cancelled: `watchTermination` completes",
    gateways=("jpype", "spark"),
)
