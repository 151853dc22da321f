"""RxJava 3: the recipe of docs/recipes/rxjava.md.

Run it: python examples/recipes/rxjava.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.reactivex.rxjava3:rxjava:3.1.12"]


def squares() -> list[int]:
    with jvm.launch(packages=PACKAGES) as bridge:
        return numbers(bridge, 10).map(lambda number: number * number).collect(timeout=30)


CORE = "io.reactivex.rxjava3.core"


def numbers(bridge: Bridge, count: int) -> pyrs.Stream[int]:
    stream: pyrs.Stream[int] = bridge.from_jvm(bridge.java_class(f"{CORE}.Flowable").range(1, count))
    return stream


def one(bridge: Bridge, single: JavaObject) -> Any:
    """Return the value of a Single or a Maybe; None if a Maybe is empty."""
    return next(iter(bridge.from_jvm(single.toFlowable()).collect(timeout=30)), None)


def observed(bridge: Bridge, observable: JavaObject) -> pyrs.Stream[Any]:
    """Convert an Observable, which ignores demand.

    The strategy handles elements without demand.
    """
    strategy = bridge.java_class(f"{CORE}.BackpressureStrategy")
    stream: pyrs.Stream[Any] = bridge.from_jvm(observable.toFlowable(strategy.LATEST))
    return stream


def as_flowable(bridge: Bridge, publisher: pyrs.Publisher[Any]) -> JavaObject:
    flowable: JavaObject = bridge.java_class(f"{CORE}.Flowable").fromPublisher(bridge.to_jvm(publisher))
    return flowable


def through_python(
    bridge: Bridge, flowable: JavaObject, function: Callable[[pyrs.Stream[Any]], pyrs.Publisher[Any]]
) -> JavaObject:
    """Append a Python stage to the Flowable.

    ``function`` is called once for each assembly.
    """
    stage = bridge.to_jvm_stage(function, interface=f"{CORE}.FlowableTransformer")
    composed: JavaObject = flowable.compose(stage)
    return composed


FUNCTIONS = "io.reactivex.rxjava3.functions"


def watched(
    bridge: Bridge, flowable: JavaObject, on_request: Callable[[int], object]
) -> tuple[JavaObject, threading.Event]:
    """Report requests on the Flowable to a function.

    Also return an event that its cancel sets.
    """
    cancelled = threading.Event()
    flowable = flowable.doOnRequest(bridge.to_jvm_callable(on_request, f"{FUNCTIONS}.LongConsumer"))
    return flowable.doOnCancel(bridge.to_jvm_callable(cancelled.set, f"{FUNCTIONS}.Action")), cancelled


print(squares())
