"""The streams of Ratpack."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.demand import FIRST_WINDOW, MANY, WINDOW
from tests.interop.systems.system import System

SYSTEM = System(
    name="Ratpack",
    packages=("io.ratpack:ratpack-exec:1.9.0",),
    component="the library itself",
    source="`TransformablePublisher`, with elements of all types in the value table",
    sink="`Streams.transformable`",
    ordering="kept",
    delivery="each element once; prefetched elements are dropped on cancel, unless `exact=True`",
    cancel="`Subscription.cancel()`, observed by `wiretap`",
    gateways=("jpype", "spark"),
    status="partial",
    reason="streams and executions. The HTTP server (`ResponseChunks`, `ServerSentEvents`) is not tested, "
    "and streams of Promises can be subscribed to inside an execution only.",
)


@pytest.fixture(scope="module")
def controller(connected: tuple[Bridge, Any]) -> Iterator[JavaObject]:
    """Create the controller that an application finds in its registry."""
    created = connected[0].java_class("ratpack.exec.internal.DefaultExecController")(1)
    yield created
    created.close()


class Events:
    """The events of a wiretap."""

    def __init__(self) -> None:
        self.requests: list[int] = []
        self.cancelled = threading.Event()

    def __call__(self, kind: str, amount: int) -> None:
        if kind == "cancel":
            self.cancelled.set()
        else:
            self.requests.append(amount)


class TestRatpackIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements_arrive_in_order(self, bridge: Bridge, recipe: ModuleType) -> None:
        numbers = recipe.from_ratpack(bridge, recipe.numbers(bridge, 1000))
        assert numbers.collect(timeout=DEADLINE) == list(range(1, 1001))

    @pytest.mark.parametrize("exact", [False, True])
    def test_demand_is_bounded_and_cancel_is_forwarded(self, bridge: Bridge, recipe: ModuleType, exact: bool) -> None:
        events = Events()
        source = recipe.watched(bridge, bridge.java_class(recipe.STREAMS).constant("again"), events)
        received = TestSubscriber(timeout=DEADLINE)
        bridge.from_jvm(source, exact=exact).subscribe(received)
        received.await_subscription()
        assert events.requests == []
        received.request(3)
        assert received.await_count(3) == ["again"] * 3
        received.request(2)
        received.await_count(5)
        assert not events.cancelled.is_set()
        received.cancel()
        assert events.cancelled.wait(DEADLINE)
        assert len(received.elements) == 5
        assert not received.ended
        assert events.requests == [3, 2] if exact else sum(events.requests) <= 2 * FIRST_WINDOW

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, tmp_path: Path) -> None:
        """The error comes from a directory stream that was closed."""
        for name in ("one", "two"):
            (tmp_path / name).touch()
        path = bridge.java_class("java.nio.file.Path").of(str(tmp_path))
        names = bridge.java_class("java.nio.file.Files").newDirectoryStream(path)
        names.close()
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.from_ratpack(bridge, bridge.java_class(recipe.STREAMS).publish(names)).subscribe(received)
        error = received.await_error(JavaError)
        assert (error.java_class, error.java_message) == (
            "java.lang.IllegalStateException",
            "Directory stream is closed",
        )

    def test_missing_execution_is_reported(self, bridge: Bridge, recipe: ModuleType) -> None:
        promise = bridge.java_class("ratpack.exec.Promise").value([1, 2])
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.from_ratpack(bridge, bridge.java_class(recipe.STREAMS).publish(promise)).subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "ratpack.exec.UnmanagedThreadException"
        with pytest.raises(JavaError) as caught:
            promise.then(bridge.java_class(recipe.ACTION).noop())
        assert caught.value.java_class == "ratpack.exec.UnmanagedThreadException"


class TestPythonIntoRatpack:
    def test_elements_arrive_in_order(self, bridge: Bridge, controller: JavaObject, recipe: ModuleType) -> None:
        numbers = recipe.as_ratpack(bridge, pyrs.range(1, 1001))
        assert recipe.gathered(bridge, controller, numbers).result(DEADLINE) == list(range(1, 1001))

    def test_demand_is_bounded(self, bridge: Bridge, controller: JavaObject, recipe: ModuleType) -> None:
        """``toList`` requests Long.MAX_VALUE."""
        requested: list[int] = []
        numbers = recipe.as_ratpack(bridge, pyrs.range(MANY).do_on_request(requested.append))
        assert len(recipe.gathered(bridge, controller, numbers).result(DEADLINE)) == MANY
        assert max(requested) <= WINDOW
        assert sum(requested) <= MANY + WINDOW

    def test_cancel_is_forwarded(self, bridge: Bridge, controller: JavaObject, recipe: ModuleType) -> None:
        source = Watched(lambda: itertools.count(1))
        first = recipe.as_ratpack(bridge, source).take(5)
        assert recipe.gathered(bridge, controller, first).result(DEADLINE) == [1, 2, 3, 4, 5]
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= WINDOW

    def test_error_is_forwarded(self, bridge: Bridge, controller: JavaObject, recipe: ModuleType) -> None:
        failure = LookupError("no third")
        failing = recipe.as_ratpack(bridge, Watched(lambda: iter([1, 2]), failure))
        with pytest.raises(LookupError) as caught:
            recipe.gathered(bridge, controller, failing).result(DEADLINE)
        assert caught.value is failure
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.from_ratpack(bridge, failing.batch(1, bridge.java_class(recipe.ACTION).noop())).subscribe(received)
        assert received.await_error() is failure
