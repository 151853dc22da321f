"""Akka Streams and Pekko Streams: one test under two package names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaClass, JavaObject
from tests.interop.harness import DEADLINE, MapProcessor, Recorder, Watched
from tests.interop.systems.demand import ENDLESS, FIRST_WINDOW, MANY, WINDOW

OWN_BUFFER = 16
"""What Akka fetches ahead at each asynchronous boundary."""


@pytest.fixture(scope="module")
def system(connected: tuple[Bridge, Any], recipe: ModuleType) -> Iterator[JavaObject]:
    bridge = connected[0]
    made = recipe.actor_system(bridge)
    yield made
    made.terminate()
    bridge.from_jvm(made.getWhenTerminated()).result(DEADLINE)


@pytest.fixture
def source(bridge: Bridge, recipe: ModuleType) -> JavaClass:
    return bridge.java_class(f"{recipe.JAVADSL}.Source")


def counted(bridge: Bridge, recipe: ModuleType, source: JavaObject, seen: list[int]) -> JavaObject:
    """The Source, with what passes at its head."""

    def note(element: int) -> int:
        seen.append(element)
        return element

    function = bridge.to_jvm_callable(note, recipe.CREATOR.replace("Creator", "Function"))
    mapped: JavaObject = source.map(function)
    return mapped


class TestSourceIntoPython:
    def test_the_program(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        assert recipe.numbers(bridge, system, 1000).collect(timeout=DEADLINE) == list(range(1, 1001))

    def test_demand_and_cancel(self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType) -> None:
        seen: list[int] = []
        stream, end = recipe.watched(bridge, system, counted(bridge, recipe, source.range(1, ENDLESS), seen))
        received = Recorder(initial=3)
        stream.subscribe(received)
        assert received.wait_elements(3) == [1, 2, 3]
        received.subscribed().cancel()
        assert str(end.result(DEADLINE)) == "Done"
        assert len(seen) <= FIRST_WINDOW + 2 * OWN_BUFFER
        assert received.ending is None

    def test_error(self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType) -> None:
        failure = bridge.java_class("java.lang.IllegalStateException")("the disk is full")
        stream, end = recipe.watched(bridge, system, source.failed(failure))
        received = Recorder(initial=1)
        stream.subscribe(received)
        error = received.java_failure()
        assert (error.java_class, error.java_message) == ("java.lang.IllegalStateException", "the disk is full")
        with pytest.raises(JavaError, match="the disk is full"):
            end.result(DEADLINE)

    def test_a_stage_that_fails_after_some_elements(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        stream, _ = recipe.watched(bridge, system, source.range(1, ENDLESS).limit(2))
        received = Recorder(initial=pyrs.UNBOUNDED)
        stream.subscribe(received)
        error = received.java_failure()
        assert "limit of 2 reached" in str(error)


class TestPythonIntoSource:
    def test_elements(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        pairs = recipe.as_source(bridge, pyrs.range(1, 101)).grouped(2)
        assert recipe.collected(bridge, system, pairs) == [[n, n + 1] for n in range(1, 101, 2)]

    def test_demand_is_bounded(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        requested: list[int] = []
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        assert len(recipe.collected(bridge, system, recipe.as_source(bridge, numbers))) == MANY
        assert max(requested) <= WINDOW

    def test_cancel(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        watched = Watched(lambda: itertools.count(1))
        assert recipe.collected(bridge, system, recipe.as_source(bridge, watched).take(5)) == [1, 2, 3, 4, 5]
        assert watched.cancelled.wait(DEADLINE)
        assert watched.requested <= FIRST_WINDOW + 4 * OWN_BUFFER

    def test_the_end_of_the_actor_system_is_a_cancel(self, bridge: Bridge, recipe: ModuleType) -> None:
        own = recipe.actor_system(bridge)
        watched = Watched(lambda: itertools.count(1))
        recipe.as_source(bridge, watched).runWith(bridge.java_class(f"{recipe.JAVADSL}.Sink").never(), own)
        own.terminate()
        assert watched.cancelled.wait(DEADLINE)

    def test_error(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        """It fails the graph, and comes home as itself."""
        failure = LookupError("no third")
        failing = recipe.as_source(bridge, Watched(lambda: iter([1, 2]), failure))
        with pytest.raises(LookupError, match="no third") as caught:
            recipe.collected(bridge, system, failing)
        assert caught.value is failure


class TestPythonProcessorInAGraph:
    def test_elements(self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType) -> None:
        doubled = recipe.through_processor(bridge, source.range(1, 1000), lambda: MapProcessor(lambda n: n * 2))
        assert recipe.collected(bridge, system, doubled) == list(range(2, 2001, 2))
        assert recipe.collected(bridge, system, doubled.take(2)) == [2, 4], "each materialization has its own"

    def test_demand_and_cancel_pass_through(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        seen: list[int] = []
        head = counted(bridge, recipe, source.range(1, ENDLESS), seen)
        through = recipe.through_processor(bridge, head, lambda: MapProcessor(lambda n: n * 2))
        stream, end = recipe.watched(bridge, system, through)
        received = Recorder(initial=3)
        stream.subscribe(received)
        assert received.wait_elements(3) == [2, 4, 6]
        received.subscribed().cancel()
        end.result(DEADLINE)
        assert len(seen) <= 32 * FIRST_WINDOW, "two crossings, whose windows have grown once or twice"

    def test_an_error_in_the_processor_fails_the_graph_and_cancels_the_source(
        self, bridge: Bridge, system: JavaObject, recipe: ModuleType
    ) -> None:
        watched = Watched(lambda: itertools.count(1))
        processor = MapProcessor(lambda number: number // (3 - number))
        through = recipe.through_processor(bridge, recipe.as_source(bridge, watched), lambda: processor)
        with pytest.raises(ZeroDivisionError):
            recipe.collected(bridge, system, through)
        assert watched.cancelled.wait(DEADLINE)
