"""Reactor, RxJava, Akka Streams, SubmissionPublisher: as source, as sink, and with a Python stage."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH as WINDOW
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, MapProcessor, Watched
from tests.interop.libraries import LIBRARIES, Reactor

MANY = 5_000
ENDLESS = 2**31 - 2
OWN_BUFFERS = 64
"""The maximum number of elements that one of the libraries requests ahead into its own buffers."""


@pytest.fixture(scope="module", params=LIBRARIES, ids=lambda library: library.name)
def library(request: pytest.FixtureRequest, connected: tuple[Bridge, Java]) -> Iterator[Reactor]:
    created = request.param(*connected)
    yield created
    created.close()


@pytest.fixture
def watch(java: Java) -> Any:
    return java.new("interop.Watch")


def run_another_stream(bridge: Bridge, java: Java) -> None:
    """Run another stream to completion, which gives excess signals the time to arrive."""
    assert (
        len(bridge.from_jvm(java.static("interop.Sources", "longsOnForeignThreads", MANY)).collect(timeout=DEADLINE))
        == MANY
    )


class TestAsSource:
    def test_every_element_arrives_in_order(self, library: Reactor, bridge: Bridge, watch: Any) -> None:
        stream = bridge.from_jvm(library.publisher(library.numbers(MANY, watch)))
        assert isinstance(stream, pyrs.Stream)
        assert stream.collect(timeout=DEADLINE) == list(range(1, MANY + 1))

    def test_demand_of_one_delivers_one_and_prefetches_a_window(
        self, library: Reactor, bridge: Bridge, java: Java, watch: Any
    ) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(library.publisher(library.numbers(ENDLESS, watch))).subscribe(received)
        received.await_count(1)
        run_another_stream(bridge, java)
        assert received.elements == [1]
        assert java.call(watch, "elements") <= 16 + OWN_BUFFERS
        assert java.call(watch, "requested") <= 16 + OWN_BUFFERS
        received.cancel()
        assert java.call(watch, "awaitCancelled", MILLISECONDS)

    def test_unbounded_demand_becomes_a_window_in_java(
        self, library: Reactor, bridge: Bridge, java: Java, watch: Any
    ) -> None:
        stream = bridge.from_jvm(library.publisher(library.numbers(MANY, watch)))
        received = TestSubscriber(None, timeout=DEADLINE)
        stream.subscribe(received)
        assert sum(received.await_complete()) == MANY * (MANY + 1) // 2
        assert java.call(watch, "largest") <= WINDOW
        assert java.call(watch, "requested") <= MANY + WINDOW

    def test_cancel_of_python_reaches_the_source(
        self, library: Reactor, bridge: Bridge, java: Java, watch: Any
    ) -> None:
        stream = bridge.from_jvm(library.publisher(library.numbers(ENDLESS, watch)))
        assert stream.take(100).collect(timeout=DEADLINE) == list(range(1, 101))
        assert java.call(watch, "awaitCancelled", MILLISECONDS)

    def test_error_arrives_with_class_message_stack_and_cause(
        self, library: Reactor, bridge: Bridge, java: Java
    ) -> None:
        throwable = java.static("interop.Sources", "failure", "broken pipe")
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(library.publisher(library.failed(throwable))).subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "java.lang.IllegalStateException"
        assert error.java_message == "broken pipe"
        assert any(frame[:2] == ("interop.Sources", "failure") for frame in error.java_stack)
        assert isinstance(error.__cause__, JavaError)
        assert error.__cause__.java_class == "java.io.IOException"
        assert error.__cause__.java_message == "below: broken pipe"


class TestAsSink:
    def test_every_element_arrives_in_order(self, library: Reactor, bridge: Bridge, java: Java, recorder: Any) -> None:
        library.run(library.from_publisher(bridge.to_jvm(pyrs.range(1, MANY + 1))), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "text") == " ".join(map(str, range(1, MANY + 1)))
        assert java.call(recorder, "classes") == "java.lang.Long"

    def test_python_processor_is_accepted_as_source(
        self, library: Reactor, bridge: Bridge, java: Java, recorder: Any
    ) -> None:
        processor = MapProcessor(lambda element: element)
        library.run(library.from_publisher(bridge.to_jvm(processor)), recorder)
        pyrs.range(1, 101).subscribe(processor)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "sum") == 5050

    def test_demand_is_bounded(self, library: Reactor, bridge: Bridge, java: Java) -> None:
        source = Watched(lambda: itertools.count(1))
        recorder = java.new("interop.Recorder", 3)
        library.run(library.from_publisher(bridge.to_jvm(source)), recorder)
        assert java.call(recorder, "awaitElements", 3, MILLISECONDS)
        run_another_stream(bridge, java)
        assert java.call(recorder, "text") == "1 2 3"
        assert source.requested <= WINDOW
        assert source.emitted <= 16 + 4 * OWN_BUFFERS
        java.call(recorder, "cancel")
        # A library with buffers notices the cancel only when it delivers an element.
        assert source.cancelled.wait(DEADLINE)

    def test_unbounded_demand_becomes_a_window_in_python(
        self, library: Reactor, bridge: Bridge, java: Java, recorder: Any
    ) -> None:
        source = Watched(lambda: iter(range(MANY)))
        library.run(library.from_publisher(bridge.to_jvm(source)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "count") == MANY
        assert source.requested <= MANY + WINDOW

    def test_error_arrives_after_the_elements(
        self, library: Reactor, bridge: Bridge, java: Java, recorder: Any
    ) -> None:
        def two() -> Iterator[int]:
            yield from (1, 2)
            if library.error_overtakes:
                assert java.call(recorder, "awaitElements", 2, MILLISECONDS)

        source = Watched(two, LookupError("no third"))
        library.run(library.from_publisher(bridge.to_jvm(source)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.call(recorder, "text") == "1 2"
        assert java.call(recorder, "errorClass").startswith("io.pyrs.")
        assert "no third" in java.call(recorder, "errorMessage")

    def test_python_error_returns_to_python_unchanged(self, library: Reactor, bridge: Bridge) -> None:
        error = LookupError("there and back")
        received = TestSubscriber(10, timeout=DEADLINE)
        source = library.from_publisher(bridge.to_jvm(Watched(lambda: iter([1]), error)))
        bridge.from_jvm(library.publisher(source)).subscribe(received)
        assert received.await_error() is error


class TestPythonInTheMiddle:
    def test_stage_transforms_elements(self, library: Reactor, java: Java, watch: Any, recorder: Any) -> None:
        source = library.numbers(MANY, watch)
        library.run(
            library.through_stage(source, lambda s: s.map(lambda x: x + 1).filter(lambda x: x % 2 == 0)), recorder
        )
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "text") == " ".join(map(str, range(2, MANY + 2, 2)))

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            pytest.param(lambda s: s, "2 4 6", id="the-stream-itself"),
            pytest.param(lambda s: s.map(lambda x: x), "2 4 6", id="mapped-to-itself"),
            pytest.param(lambda s: s.map(lambda x: x + 1), "4 6 8", id="plus-one"),
        ],
    )
    def test_integers_stay_integers(
        self, library: Reactor, java: Java, watch: Any, recorder: Any, function: Any, expected: str
    ) -> None:
        library.run(library.doubled(library.through_stage(library.numbers(3, watch), function)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
        assert java.call(recorder, "text") == expected
        assert java.call(recorder, "classes") == "java.lang.Integer"

    def test_element_type_selects_the_java_class(
        self, library: Reactor, bridge: Bridge, java: Java, watch: Any, recorder: Any
    ) -> None:
        stage = bridge.to_jvm_stage(lambda s: s.map(lambda x: x * 1.5), element_type="java.lang.Double")
        source = library.publisher(library.numbers(3, watch))
        java.static(
            "interop.Functions", "subscribeAny", java.static("interop.Functions", "applied", stage, source), recorder
        )
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "described") == "Double 1.5 | Double 3.0 | Double 4.5"

    def test_exact_demand_is_forwarded_unchanged(
        self, library: Reactor, bridge: Bridge, java: Java, watch: Any
    ) -> None:
        recorder = java.new("interop.Recorder", 2)
        seen: list[int] = []

        def noted(element: int) -> int:
            seen.append(element)
            return element

        stage = bridge.to_jvm_stage(lambda s: s.map(noted), exact=True)
        source = library.publisher(library.numbers(ENDLESS, watch))
        java.static(
            "interop.Functions", "subscribeAny", java.static("interop.Functions", "applied", stage, source), recorder
        )
        assert java.call(recorder, "awaitElements", 2, MILLISECONDS)
        run_another_stream(bridge, java)
        assert seen == [1, 2]
        java.call(recorder, "request", 1)
        assert java.call(recorder, "awaitElements", 3, MILLISECONDS)
        assert java.call(recorder, "text") == "1 2 3"
        assert java.call(recorder, "classes") == "java.lang.Integer"
        java.call(recorder, "cancel")
        assert java.call(watch, "awaitCancelled", MILLISECONDS)

    def test_processor_transforms_elements(
        self, library: Reactor, bridge: Bridge, java: Java, watch: Any, recorder: Any
    ) -> None:
        processor = bridge.to_jvm(MapProcessor(lambda x: x * 10))
        library.run(library.through_processor(library.numbers(MANY, watch), processor), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "text") == " ".join(map(str, range(10, 10 * MANY + 1, 10)))

    def test_processor_forwards_an_error_that_precedes_its_subscription(
        self, library: Reactor, bridge: Bridge, java: Java, recorder: Any
    ) -> None:
        throwable = java.static("interop.Sources", "failure", "too early")
        processor = bridge.to_jvm(MapProcessor(lambda x: x))
        library.run(library.through_processor(library.failed(throwable), processor), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.static("interop.Functions", "same", java.call(recorder, "error"), throwable)

    def test_cancel_of_java_passes_through_python(self, library: Reactor, java: Java, watch: Any) -> None:
        recorder = java.new("interop.Recorder", 5)
        library.run(library.through_stage(library.numbers(ENDLESS, watch), lambda s: s.map(lambda x: x)), recorder)
        assert java.call(recorder, "awaitElements", 5, MILLISECONDS)
        java.call(recorder, "cancel")
        assert java.call(watch, "awaitCancelled", MILLISECONDS)

    def test_java_error_passes_through_python_unchanged(self, library: Reactor, java: Java, recorder: Any) -> None:
        throwable = java.static("interop.Sources", "failure", "passing through")
        library.run(library.through_stage(library.failed(throwable), lambda s: s.map(lambda x: x)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.static("interop.Functions", "same", java.call(recorder, "error"), throwable)

    def test_python_error_cancels_upstream_and_is_forwarded_downstream(
        self, library: Reactor, java: Java, watch: Any, recorder: Any
    ) -> None:
        def fails_at_three(x: int) -> int:
            if x == 3:
                if library.error_overtakes:
                    assert java.call(recorder, "awaitElements", 2, MILLISECONDS)
                raise ValueError("three is too many")
            return x

        library.run(library.through_stage(library.numbers(ENDLESS, watch), lambda s: s.map(fails_at_three)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.call(recorder, "text") == "1 2"
        assert "three is too many" in java.call(recorder, "errorMessage")
        assert java.static("interop.Functions", "isIllegalArgument", java.call(recorder, "error"))
        assert java.call(watch, "awaitCancelled", MILLISECONDS)
