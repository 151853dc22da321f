"""Akka Streams; the test is `akka_streams`."""

from __future__ import annotations

from tests.interop.systems.akka_streams import *  # noqa: F403
from tests.interop.systems.system import System

SYSTEM = System(
    name="Akka Streams",
    packages=("com.typesafe.akka:akka-stream_2.13:2.6.21",),
    component="the library itself",
    source="a `Source` run with `Sink.asPublisher`, of any elements of the value table",
    sink="`Source.fromPublisher`; a Python Processor by `Flow.fromProcessor`",
    ordering="kept",
    delivery="each element once; what is prefetched is dropped at a cancel, and Akka's own 16 elements are always",
    cancel="the graph is cancelled: `watchTermination` completes",
    gateways=("jpype", "spark"),
)
