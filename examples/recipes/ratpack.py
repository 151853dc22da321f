"""Ratpack: the recipe of docs/recipes/ratpack.md.

Run it: python examples/recipes/ratpack.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.ratpack:ratpack-exec:1.9.0"]

STREAMS = "ratpack.stream.Streams"


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES) as bridge:
        return from_ratpack(bridge, numbers(bridge, 10)).map(lambda number: number * number).collect(timeout=30)


def numbers(bridge: Bridge, count: int) -> JavaObject:
    published: JavaObject = bridge.java_class(STREAMS).publish(list(range(1, count + 1)))
    return published


ACTION = "ratpack.func.Action"


def from_ratpack(bridge: Bridge, publisher: JavaObject) -> pyrs.Stream[Any]:
    stream: pyrs.Stream[Any] = bridge.from_jvm(publisher)
    return stream


def watched(bridge: Bridge, publisher: JavaObject, on_event: Callable[[str, int], object]) -> JavaObject:
    """Report requests and the cancel of a Publisher: ("request", n), ("cancel", 0)."""

    def report(event: JavaObject) -> None:
        if event.isRequest():
            on_event("request", event.getRequestAmount())
        elif event.isCancel():
            on_event("cancel", 0)

    wiretapped: JavaObject = bridge.java_class(STREAMS).wiretap(publisher, bridge.to_jvm_callable(report, ACTION))
    return wiretapped


def as_ratpack(bridge: Bridge, publisher: pyrs.Publisher[Any]) -> JavaObject:
    """Return a Publisher with Ratpack's operators."""
    transformable: JavaObject = bridge.java_class(STREAMS).transformable(bridge.to_jvm(publisher))
    return transformable


def gathered(bridge: Bridge, controller: JavaObject, publisher: JavaObject) -> jvm.JavaFuture:
    """Collect all elements in an execution, on a Ratpack thread as in a handler."""
    gathering: JavaObject = bridge.java_class("java.util.concurrent.CompletableFuture")()
    promise = bridge.java_class(STREAMS).toList(publisher)
    operation = promise.operation(bridge.to_jvm_callable(gathering.complete, ACTION, convert="references"))
    failed = bridge.to_jvm_callable(gathering.completeExceptionally, ACTION)
    controller.fork().onError(failed).start(operation)
    future: jvm.JavaFuture = bridge.from_jvm(gathering)
    return future


print(squares())
