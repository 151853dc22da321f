"""SmallRye Mutiny: the recipe of docs/recipes/mutiny.md.

Run it: python examples/recipes/mutiny.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.smallrye.reactive:mutiny:3.3.0"]


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES) as bridge:
        return numbers(bridge, 10).map(lambda number: number * number).collect(timeout=30)


MUTINY = "io.smallrye.mutiny"


def numbers(bridge: Bridge, count: int) -> pyrs.Stream[int]:
    stream: pyrs.Stream[int] = bridge.from_jvm(bridge.java_class(f"{MUTINY}.Multi").createFrom().range(1, count + 1))
    return stream


def one(bridge: Bridge, uni: JavaObject) -> Any:
    """Return the item of a Uni, or None for null.

    In asyncio use ``await bridge.from_jvm(...)``.
    """
    return bridge.from_jvm(uni).block(timeout=30)


def as_multi(bridge: Bridge, publisher: pyrs.Publisher[Any]) -> JavaObject:
    multi: JavaObject = bridge.java_class(f"{MUTINY}.Multi").createFrom().publisher(bridge.to_jvm(publisher))
    return multi


def through_python(
    bridge: Bridge, multi: JavaObject, function: Callable[[pyrs.Stream[Any]], pyrs.Publisher[Any]]
) -> JavaObject:
    """Append a Python stage to the Multi."""
    return as_multi(bridge, function(bridge.from_jvm(multi)))


def watched(
    bridge: Bridge, multi: JavaObject, on_request: Callable[[int], object]
) -> tuple[JavaObject, threading.Event]:
    """Call a function for each request on the Multi; return the Multi and an event that a cancel sets."""
    cancelled = threading.Event()
    multi = multi.onRequest().invoke(bridge.to_jvm_callable(on_request, "java.util.function.LongConsumer"))
    multi = multi.onCancellation().invoke(bridge.to_jvm_callable(cancelled.set, "java.lang.Runnable"))
    return multi, cancelled


def shut_down(bridge: Bridge) -> None:
    infrastructure = bridge.java_class(f"{MUTINY}.infrastructure.Infrastructure")
    infrastructure.getDefaultExecutor().shutdown()
    infrastructure.getDefaultWorkerPool().shutdown()


print(squares())

with jvm.launch() as bridge:
    shut_down(bridge)
