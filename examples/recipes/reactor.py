"""Project Reactor: the recipe of docs/recipes/reactor.md.

Run it: python examples/recipes/reactor.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.projectreactor:reactor-core:3.7.12"]


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES) as bridge:
        return numbers(bridge, 10).map(lambda number: number * number).collect(timeout=30)


def numbers(bridge: Bridge, count: int) -> pyrs.Stream[int]:
    flux = bridge.java_class("reactor.core.publisher.Flux").range(1, count)
    stream: pyrs.Stream[int] = bridge.from_jvm(flux)
    return stream


def first(bridge: Bridge, mono: JavaObject) -> Any:
    """Wait for the value of a Mono; return None if it is empty."""
    return bridge.from_jvm(mono.toFuture()).result(timeout_seconds=30)


def as_flux(bridge: Bridge, publisher: pyrs.Publisher[Any]) -> JavaObject:
    flux: JavaObject = bridge.java_class("reactor.core.publisher.Flux").from_(bridge.to_jvm(publisher))
    return flux


def through_python(
    bridge: Bridge, flux: JavaObject, function: Callable[[pyrs.Stream[Any]], pyrs.Publisher[Any]]
) -> JavaObject:
    """Append a Python stage to the Flux.

    ``function`` is called once, when the stage is appended.
    """
    transformed: JavaObject = flux.transform(bridge.to_jvm_stage(function))
    return transformed


def watched(
    bridge: Bridge, flux: JavaObject, on_request: Callable[[int], object]
) -> tuple[JavaObject, threading.Event]:
    """Call a function for each request on the Flux; return the Flux and an event that a cancel sets."""
    cancelled = threading.Event()
    flux = flux.doOnRequest(bridge.to_jvm_callable(on_request, "java.util.function.LongConsumer"))
    return flux.doOnCancel(bridge.to_jvm_callable(cancelled.set, "java.lang.Runnable")), cancelled


def verify_counts(bridge: Bridge, publisher: pyrs.Publisher[int], up_to: int) -> None:
    """Verify that the Publisher emits 1, 2, ... and completes, with one request for each element.

    A failed expectation raises a JavaError with Java's AssertionError.
    """
    verifier = bridge.java_class("reactor.test.StepVerifier").create(bridge.to_jvm(publisher), 0)
    for number in range(1, up_to + 1):
        verifier = verifier.thenRequest(1).expectNext(number)
    duration = bridge.java_class("java.time.Duration").ofSeconds(30)
    verifier.expectComplete().verify(duration)


print(squares())
