"""Helidon: the recipe of docs/recipes/helidon.md.

Run it: python examples/recipes/helidon.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.helidon.common:helidon-common-reactive:3.2.11"]


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES) as bridge:
        return numbers(bridge, 10).map(lambda number: number * number).collect(timeout=30)


MULTI = "io.helidon.common.reactive.Multi"


def numbers(bridge: Bridge, count: int) -> pyrs.Stream[int]:
    stream: pyrs.Stream[int] = bridge.from_jvm(bridge.java_class(MULTI).range(1, count))
    return stream


def one(bridge: Bridge, single: JavaObject) -> Any:
    """Return the value of a Single."""
    return bridge.from_jvm(single).first().block(timeout=30)


def as_multi(bridge: Bridge, publisher: pyrs.Publisher[Any]) -> JavaObject:
    multi: JavaObject = bridge.java_class(MULTI).create(bridge.to_jvm(publisher))
    return multi


def watched(
    bridge: Bridge, multi: JavaObject, on_element: Callable[[Any], object]
) -> tuple[JavaObject, threading.Event]:
    """Call a function for each element of the Multi.

    Also return an event that its cancel sets.
    """
    cancelled = threading.Event()
    multi = multi.peek(bridge.to_jvm_callable(on_element, "java.util.function.Consumer"))
    return multi.onCancel(bridge.to_jvm_callable(cancelled.set, "java.lang.Runnable")), cancelled


print(squares())
