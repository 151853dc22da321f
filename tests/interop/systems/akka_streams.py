"""The tests of Akka Streams and Pekko Streams, which differ in their package names."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaClass, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MapProcessor, Watched
from tests.interop.systems.demand import (
    ENDLESS,
    FIRST_WINDOW,
    MANY,
    WINDOW,
    check_java_failure,
    java_failure,
    no_third,
)
from tests.waiting import eventually

OWN_BUFFER = 16
"""The prefetch of Akka at each asynchronous boundary."""


@pytest.fixture(scope="module")
def system(connected: tuple[Bridge, Any], recipe: ModuleType) -> Iterator[JavaObject]:
    """An actor system with a long subscription timeout, for slow machines."""
    bridge = connected[0]
    timeout = recipe.JAVADSL.removeprefix("org.apache.").replace("javadsl", "materializer.subscription-timeout.timeout")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recipe, "SETTINGS", f"{recipe.SETTINGS}, {timeout} = 60s")
        started = recipe.actor_system(bridge)
    yield started
    started.terminate()
    bridge.from_jvm(started.getWhenTerminated()).result(DEADLINE)


@pytest.fixture
def source(bridge: Bridge, recipe: ModuleType) -> JavaClass:
    return bridge.java_class(f"{recipe.JAVADSL}.Source")


def counted(bridge: Bridge, recipe: ModuleType, source: JavaObject, seen: list[int]) -> JavaObject:
    """Return the Source; append each of its elements to ``seen``."""

    def record(element: int) -> int:
        seen.append(element)
        return element

    function = bridge.to_jvm_callable(record, recipe.CREATOR.replace("Creator", "Function"))
    mapped: JavaObject = source.map(function)
    return mapped


def added(bridge: Bridge, recipe: ModuleType) -> Any:
    """Return a function that adds one, for a graph in Java."""
    return bridge.to_jvm_callable(lambda number: number + 1, recipe.CREATOR.replace("Creator", "Function"))


class TestSourceIntoPython:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.squares() == [n * n for n in range(1, 11)]

    def test_elements_arrive_in_order(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        assert recipe.numbers(bridge, system, 1000).collect(timeout=DEADLINE) == list(range(1, 1001))

    def test_each_subscription_materializes_the_graph(
        self, bridge: Bridge, system: JavaObject, recipe: ModuleType
    ) -> None:
        numbers = recipe.numbers(bridge, system, 1000)
        both = [TestSubscriber(None, timeout=DEADLINE), TestSubscriber(None, timeout=DEADLINE)]
        for received in both:
            numbers.subscribe(received)
        for received in both:
            assert received.await_complete() == list(range(1, 1001))

    def test_graph_without_subscriber_is_cancelled(self, bridge: Bridge, source: Any, recipe: ModuleType) -> None:
        own = recipe.actor_system(bridge)
        stream, end = recipe.watched(bridge, own, source.range(1, 3))
        end.result(DEADLINE)
        received = TestSubscriber(3, timeout=DEADLINE)
        stream.subscribe(received)
        assert "only supports one subscriber" in str(received.await_error(JavaError))
        own.terminate()

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        seen: list[int] = []
        stream, end = recipe.watched(bridge, system, counted(bridge, recipe, source.range(1, ENDLESS), seen))
        received = TestSubscriber(3, timeout=DEADLINE)
        stream.subscribe(received)
        assert received.await_count(3) == [1, 2, 3]
        received.cancel()
        assert str(end.result(DEADLINE)) == "Done"
        assert len(seen) <= FIRST_WINDOW + 2 * OWN_BUFFER
        assert received.elements == [1, 2, 3]
        assert not received.ended

    def test_error_is_forwarded(self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType) -> None:
        stream, end = recipe.watched(bridge, system, source.failed(java_failure(bridge)))
        received = TestSubscriber(1, timeout=DEADLINE)
        stream.subscribe(received)
        check_java_failure(received.await_error())
        with pytest.raises(JavaError, match="the disk is full"):
            end.result(DEADLINE)

    def test_failing_java_stage_fails_the_stream(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        received = TestSubscriber(None, timeout=DEADLINE)
        recipe.stream_of(bridge, system, source.range(1, ENDLESS).limit(2)).subscribe(received)
        assert "limit of 2 reached" in str(received.await_error(JavaError))
        assert received.elements == [1, 2]

    def test_error_overtakes_elements_in_a_buffer_of_akka(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        """The page documents this. It happens even if the Subscriber has unbounded demand."""
        both = source.range(1, 2).concat(source.failed(java_failure(bridge)))
        received = TestSubscriber(None, timeout=DEADLINE)
        recipe.stream_of(bridge, system, both).subscribe(received)
        check_java_failure(received.await_error())
        assert received.elements == []


class TestPythonIntoSource:
    def test_elements_arrive_in_order(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        pairs = recipe.as_source(bridge, pyrs.range(1, 101)).grouped(2)
        assert recipe.collected(bridge, system, pairs) == [[n, n + 1] for n in range(1, 101, 2)]

    def test_demand_is_bounded(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        requested: list[int] = []
        numbers = pyrs.range(MANY).do_on_request(requested.append)
        assert len(recipe.collected(bridge, system, recipe.as_source(bridge, numbers))) == MANY
        assert max(requested) <= WINDOW

    def test_cancel_is_forwarded(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        watched = Watched(lambda: itertools.count(1))
        taken = recipe.as_source(bridge, watched).take(5)
        assert recipe.collected(bridge, system, taken) == [1, 2, 3, 4, 5]
        assert watched.cancelled.wait(DEADLINE)
        assert watched.requested <= FIRST_WINDOW + 4 * OWN_BUFFER
        assert recipe.collected(bridge, system, taken) == [1, 2, 3, 4, 5]
        assert watched.subscribers == 2, "each materialization must subscribe once"

    def test_kill_switch_cancels_the_publisher(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        watched = Watched(lambda: itertools.count(1))
        keep = bridge.java_class(f"{recipe.JAVADSL}.Keep")
        switches = bridge.java_class(recipe.JAVADSL.replace("javadsl", "KillSwitches"))
        never = bridge.java_class(f"{recipe.JAVADSL}.Sink").never()
        switch = recipe.as_source(bridge, watched).viaMat(switches.single(), keep.right()).to(never).run(system)
        assert not watched.cancelled.is_set()
        switch.shutdown()
        assert watched.cancelled.wait(DEADLINE)

    def test_shutdown_of_the_actor_system_cancels_the_publisher(self, bridge: Bridge, recipe: ModuleType) -> None:
        own = recipe.actor_system(bridge)
        watched = Watched(lambda: itertools.count(1))
        recipe.as_source(bridge, watched).runWith(bridge.java_class(f"{recipe.JAVADSL}.Sink").never(), own)
        eventually(lambda: watched.requested, "nothing was requested")  # a graph that has not started cancels nothing
        own.terminate()
        assert watched.cancelled.wait(DEADLINE)

    def test_error_is_forwarded(self, bridge: Bridge, system: JavaObject, recipe: ModuleType) -> None:
        """The error fails the graph and returns to Python as the same object."""
        failure = LookupError("no third")
        failing = recipe.as_source(bridge, Watched(lambda: iter([1, 2]), failure))
        with pytest.raises(LookupError, match="no third") as caught:
            recipe.collected(bridge, system, failing)
        assert caught.value is failure

    def test_supervision_applies_to_errors_of_functions_only(
        self, bridge: Bridge, system: JavaObject, recipe: ModuleType
    ) -> None:
        failing = recipe.as_source(bridge, Watched(lambda: iter([1, 2]), LookupError("no third")))
        exception = bridge.java_class("io.pyrs.PythonException").class_
        recovered = failing.recover(exception, bridge.to_jvm_callable(lambda: -1, "java.util.function.Supplier"))
        assert recipe.collected(bridge, system, recovered)[-1] == -1
        resuming = bridge.java_class(
            recipe.JAVADSL.replace("stream.javadsl", "stream.Supervision")
        ).getResumingDecider()
        attributes = bridge.java_class(recipe.JAVADSL.replace("javadsl", "ActorAttributes"))
        supervised = failing.withAttributes(attributes.withSupervisionStrategy(resuming))
        with pytest.raises(LookupError, match="no third"):
            recipe.collected(bridge, system, supervised)
        function = bridge.to_jvm_callable(no_third, recipe.CREATOR.replace("Creator", "Function"))
        mapped = recipe.as_source(bridge, pyrs.range(1, 5)).map(function)
        mapped = mapped.withAttributes(attributes.withSupervisionStrategy(resuming))
        assert recipe.collected(bridge, system, mapped) == [1, 2, 4]


class TestPythonStageInAGraph:
    def test_elements_arrive_in_order(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        assembled: list[pyrs.Stream[int]] = []

        def doubled(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
            assembled.append(stream)
            return stream.map(lambda number: number * 2)

        through = recipe.through_python(bridge, source.range(1, 1000), doubled)
        assert recipe.collected(bridge, system, through.map(added(bridge, recipe))) == list(range(3, 2002, 2))
        assert recipe.collected(bridge, system, through.take(2)) == [2, 4]
        assert len(assembled) == 2, "each materialization must call the function once"

    def test_demand_cancel_and_error_are_forwarded(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        seen: list[int] = []
        head = counted(bridge, recipe, source.range(1, ENDLESS), seen)
        stream, end = recipe.watched(bridge, system, recipe.through_python(bridge, head, lambda numbers: numbers))
        received = TestSubscriber(3, timeout=DEADLINE)
        stream.subscribe(received)
        assert received.await_count(3) == [1, 2, 3]
        received.cancel()
        end.result(DEADLINE)
        assert len(seen) <= 32 * FIRST_WINDOW
        failing = recipe.through_python(bridge, source.failed(java_failure(bridge)), lambda numbers: numbers)
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.stream_of(bridge, system, failing).subscribe(received)
        check_java_failure(received.await_error())

    def test_failing_python_stage_cancels_the_source(
        self, bridge: Bridge, system: JavaObject, recipe: ModuleType
    ) -> None:
        ended = threading.Event()
        head = recipe.as_source(bridge, pyrs.range(1, ENDLESS).do_on_cancel(ended.set))
        failing = recipe.through_python(bridge, head, lambda numbers: numbers.map(no_third))
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.stream_of(bridge, system, failing).subscribe(received)
        assert str(received.await_error()) == "no third"
        assert received.elements == [1, 2][: len(received.elements)]  # the error may overtake them in Akka's buffer
        assert ended.wait(DEADLINE)


class TestPythonProcessorInAGraph:
    def test_elements_arrive_in_order(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        doubled = recipe.through_processor(bridge, source.range(1, 1000), lambda: MapProcessor(lambda n: n * 2))
        assert recipe.collected(bridge, system, doubled) == list(range(2, 2001, 2))
        assert recipe.collected(bridge, system, doubled.take(2)) == [2, 4], (
            "each materialization must have its own Processor"
        )

    def test_demand_and_cancel_are_forwarded(
        self, bridge: Bridge, system: JavaObject, source: Any, recipe: ModuleType
    ) -> None:
        seen: list[int] = []
        head = counted(bridge, recipe, source.range(1, ENDLESS), seen)
        through = recipe.through_processor(bridge, head, lambda: MapProcessor(lambda n: n * 2))
        stream, end = recipe.watched(bridge, system, through)
        received = TestSubscriber(3, timeout=DEADLINE)
        stream.subscribe(received)
        assert received.await_count(3) == [2, 4, 6]
        received.cancel()
        end.result(DEADLINE)
        assert len(seen) <= 32 * FIRST_WINDOW  # the stream crosses the bridge twice, and both windows may have grown

    def test_processor_error_fails_the_graph_and_cancels_the_source(
        self, bridge: Bridge, system: JavaObject, recipe: ModuleType
    ) -> None:
        watched = Watched(lambda: itertools.count(1))
        processor = MapProcessor(lambda number: number // (3 - number))
        through = recipe.through_processor(bridge, recipe.as_source(bridge, watched), lambda: processor)
        with pytest.raises(ZeroDivisionError):
            recipe.collected(bridge, system, through)
        assert watched.cancelled.wait(DEADLINE)
