"""Unconvertible values, large values, references and errors across the bridge."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import pytest

import pyrs
from pyrs.errors import ConversionError, JavaError, NonPositiveRequest, NullSignal, SubscribedTwice
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, Watched
from tests.values_e2e.support import described, error_in_java, error_in_python, recorded, round_trip, to_python

LARGE = 50_000_000


class TestNone:
    def test_none_element_of_python_fails_the_stream(self, bridge: Bridge, java: Java) -> None:
        error = error_in_java(java, bridge, 1, None, 2)
        assert java.static("interop.Functions", "isNullPointer", error)
        assert "2.13" in java.call(error, "getMessage") or "1.9" in java.call(error, "getMessage")

    def test_none_of_a_handwritten_publisher_fails_the_stream(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        source = Watched(lambda: iter([1, None, 2]))
        java.static("interop.Functions", "subscribe", bridge.to_jvm(source), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.call(recorder, "text") == "1"
        assert "2.13" in java.call(recorder, "errorMessage")
        assert described(java, bridge, 5) == "Long 5", "the bridge is no longer usable"

    def test_null_element_of_java_fails_the_stream(self, bridge: Bridge, java: Java) -> None:
        assert "2.13" in str(error_in_python(bridge, java.static("interop.Sources", "nullElement")))

    def test_none_result_of_a_python_function_becomes_null(self, bridge: Bridge, java: Java) -> None:
        function = bridge.to_jvm_callable(lambda x: None, "java.util.function.Function")
        assert java.static("interop.Functions", "apply", function, 1) == "null"


class TestPublishersThatBreakRules:
    def test_element_beyond_demand_fails_the_stream(self, bridge: Bridge, java: Java) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        # Without exact demand, the window is refilled while elements are consumed, and may cover all excess elements.
        bridge.from_jvm(java.static("interop.Sources", "beyondDemand", 10_000), exact=True).subscribe(received)
        error = received.await_error()
        assert received.elements == [0]
        assert "1.1" in str(error)
        assert described(java, bridge, 5) == "Long 5", "the bridge is no longer usable"

    def test_second_terminal_signal_is_ignored(self, bridge: Bridge, java: Java) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(java.static("interop.Sources", "twoTerminalSignals")).subscribe(received)
        assert received.await_complete() == []
        assert described(java, bridge, 5) == "Long 5"
        assert received.completed


class TestSurrogates:
    def test_lone_surrogate_of_python_is_refused(self, bridge: Bridge, java: Java) -> None:
        error = error_in_java(java, bridge, "a\ud800b")
        message = java.call(error, "getMessage")
        assert "str" in message
        assert "surrogate" in message

    def test_lone_surrogate_inside_a_list_is_refused(self, bridge: Bridge, java: Java) -> None:
        assert "surrogate" in java.call(error_in_java(java, bridge, ["ok", "\udfff"]), "getMessage")

    def test_lone_surrogate_of_java_is_refused(self, bridge: Bridge, java: Java) -> None:
        error = error_in_python(bridge, java.static("interop.Table", "publisher", "String.surrogate"))
        assert isinstance(error, ConversionError)
        assert "surrogate" in str(error)
        assert "java.lang.String" in str(error)

    def test_bridge_is_usable_after_a_refused_surrogate(self, bridge: Bridge, java: Java) -> None:
        error_in_java(java, bridge, 1, "\ud800")
        assert described(java, bridge, "fine") == "String fine"


class TestLarge:
    def test_large_value_of_java_arrives_unchanged(self, bridge: Bridge, java: Java) -> None:
        value = to_python(bridge, java.static("interop.Table", "large", LARGE))
        assert type(value) is bytes
        assert value == pattern(LARGE)

    def test_large_value_of_python_arrives_unchanged(self, bridge: Bridge, java: Java) -> None:
        value = pattern(LARGE)
        assert described(java, bridge, value) == f"byte[] {LARGE} bytes, crc {zlib.crc32(value)}"

    def test_another_stream_is_not_delayed(self, bridge: Bridge, java: Java) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(java.static("interop.Table", "large", LARGE)).subscribe(received)
        assert described(java, bridge, *range(100)) == " | ".join(f"Long {n}" for n in range(100))
        assert len(received.await_complete()[0]) == LARGE


def pattern(size: int) -> bytes:
    period = bytes((i * 31 + (i >> 8)) & 255 for i in range(65536))
    return (period * (size // 65536 + 1))[:size]


class TestReferences:
    def test_java_object_survives_a_round_trip(self, bridge: Bridge, java: Java) -> None:
        thing = java.static("interop.Table", "thing")
        elements = bridge.from_jvm(java.static("interop.Sources", "repeated", 3, thing)).collect(timeout=DEADLINE)
        assert [isinstance(element, JavaObject) for element in elements] == [True] * 3
        assert len(set(elements)) == 1
        back = recorded(java, bridge, *elements)
        for index in range(3):
            assert java.static("interop.Functions", "same", java.call(back, "element", index), thing)

    def test_java_object_inside_a_container_stays_the_same_object(self, bridge: Bridge, java: Java) -> None:
        thing = java.static("interop.Table", "thing")
        (element,) = bridge.from_jvm(java.static("interop.Sources", "repeated", 1, thing)).collect(timeout=DEADLINE)
        assert described(java, bridge, {"thing": [element]}) == "Map{String thing: List[Hidden a hidden thing]}"

    def test_object_of_the_gateway_is_accepted_as_an_element(self, bridge: Bridge, java: Java) -> None:
        thing = java.static("interop.Table", "thing")
        assert java.static("interop.Functions", "same", java.call(recorded(java, bridge, thing), "element", 0), thing)

    @pytest.mark.parametrize("name", ["LinkedHashMap", "ArrayList", "HashSet"])
    def test_a_collection_of_the_gateway_is_not_copied(self, bridge: Bridge, java: Java, name: str) -> None:
        thing = java.new(f"java.util.{name}")
        assert java.static("interop.Functions", "same", java.call(recorded(java, bridge, thing), "element", 0), thing)

    def test_methods_of_a_reference_can_be_called(self, bridge: Bridge, java: Java) -> None:
        thing = to_python(bridge, java.static("interop.Sources", "one", java.static("interop.Table", "thing")))
        assert str(thing) == "a hidden thing"
        assert str(thing.toString()) == "a hidden thing"
        # The class is private and inherits this default method from a super-interface.
        assert str(thing.greet("Ada")) == "hello Ada"

    def test_python_object_survives_a_round_trip(self, bridge: Bridge, java: Java) -> None:
        class Local:
            pass

        mine = Local()
        recorder = recorded(java, bridge, mine)
        assert java.call(recorder, "classes") == "io.pyrs.PyRef"
        assert java.call(recorder, "text").startswith("PyRef[")
        assert round_trip(java, bridge, mine) is mine
        (inside,) = round_trip(java, bridge, [mine])
        assert inside is mine

    def test_java_objects_without_another_reference_arrive(self, bridge: Bridge, java: Java) -> None:
        things = pyrs.range(300).map(lambda n: java.new("interop.Table$Point", n, n))
        points = java.static("reactor.core.publisher.Flux", "from", bridge.to_jvm(things))
        assert bridge.from_jvm(points, convert="values").collect(timeout=DEADLINE) == [
            {"x": n, "y": n} for n in range(300)
        ]

    def test_java_objects_pass_through_a_python_stage_unchanged(
        self, bridge: Bridge, java: Java, recorder: Any
    ) -> None:
        points = java.static("interop.Table", "points", 5_000)
        stage = bridge.to_jvm_stage(lambda s: s.map(lambda point: point))
        java.static(
            "interop.Functions", "subscribe", java.static("interop.Functions", "assembled", stage, points), recorder
        )
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
        assert java.call(recorder, "classes") == "interop.Table$Point"
        assert java.call(recorder, "text") == " ".join(f"Point({n}, {n})" for n in range(5_000))

    def test_python_objects_without_another_reference_arrive(self, bridge: Bridge, java: Java) -> None:
        class Numbered:
            def __init__(self, number: int) -> None:
                self.number = number

        flux = java.static("reactor.core.publisher.Flux", "from", bridge.to_jvm(pyrs.range(5_000).map(Numbered)))
        numbers = bridge.from_jvm(flux).map(lambda numbered: numbered.number)
        assert numbers.collect(timeout=DEADLINE) == list(range(5_000))

    def test_streams_without_another_reference_complete(self, bridge: Bridge, java: Java) -> None:
        for _ in range(100):
            received = TestSubscriber(10, timeout=DEADLINE)
            bridge.from_jvm(java.static("reactor.core.publisher.Flux", "range", 1, 3)).subscribe(received)
            assert received.await_complete() == [1, 2, 3]

    def test_references_to_one_python_object_are_equal_in_java(self, bridge: Bridge, java: Java) -> None:
        mine = lambda: None  # noqa: E731
        recorder = recorded(java, bridge, mine, mine)
        first, second = java.call(recorder, "element", 0), java.call(recorder, "element", 1)
        assert java.call(first, "equals", second)
        assert java.call(first, "hashCode") == java.call(second, "hashCode")

    def test_publisher_element_becomes_a_stream(self, bridge: Bridge, java: Java) -> None:
        flux = java.static("reactor.core.publisher.Flux", "range", 1, 3)
        inner = to_python(bridge, java.static("interop.Sources", "one", flux))
        assert isinstance(inner, pyrs.Stream)
        assert inner.collect(timeout=DEADLINE) == [1, 2, 3]
        assert java.static("interop.Functions", "same", java.call(recorded(java, bridge, inner), "element", 0), flux)

    def test_publisher_returns_from_a_round_trip_as_the_original(self, bridge: Bridge, java: Java) -> None:
        stream = pyrs.range(3)
        assert bridge.from_jvm(bridge.to_jvm(stream)) is stream
        flux = java.static("reactor.core.publisher.Flux", "range", 1, 3)
        assert java.static("interop.Functions", "same", bridge.to_jvm(bridge.from_jvm(flux)), flux)

    def test_from_jvm_rejects_a_value_that_is_not_a_publisher(self, bridge: Bridge, java: Java) -> None:
        with pytest.raises(TypeError, match=r"interop\.Table"):
            bridge.from_jvm(java.static("interop.Table", "thing"))


class TestReusedBuffers:
    def test_reused_buffer_is_copied_for_each_element(self, bridge: Bridge, java: Java) -> None:
        buffers = bridge.from_jvm(java.static("interop.Sources", "oneBuffer", 200, 1000)).collect(timeout=DEADLINE)
        assert buffers == [bytes([n]) * 1000 for n in range(200)]

    def test_reused_array_is_copied_for_each_element(self, bridge: Bridge, java: Java) -> None:
        arrays = bridge.from_jvm(java.static("interop.Sources", "oneArray", 200, 1000)).collect(timeout=DEADLINE)
        assert arrays == [bytes([n]) * 1000 for n in range(200)]

    def test_reused_bytearray_is_copied_for_each_element(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        def refilled() -> Any:
            buffer = bytearray(2)
            for n in range(100):
                buffer[:] = bytes([n, n])
                yield buffer

        java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.from_iterable(refilled())), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "described") == " | ".join(f"byte[] {n:02x}{n:02x}" for n in range(100))


class TestErrors:
    def test_throwable_survives_a_round_trip(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        throwable = java.static("interop.Sources", "failure", "round trip")
        error = error_in_python(bridge, java.static("interop.Sources", "failing", throwable))
        assert isinstance(error, JavaError)
        java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.error(error)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.static("interop.Functions", "same", java.call(recorder, "error"), throwable)

    def test_throwable_element_stays_the_same_object(self, bridge: Bridge, java: Java) -> None:
        throwable = java.static("interop.Sources", "failure", "an element")
        element = to_python(bridge, java.static("interop.Sources", "one", throwable))
        assert isinstance(element, JavaObject)
        assert str(element.getMessage()) == "an element"
        back = java.call(recorded(java, bridge, element), "element", 0)
        assert java.static("interop.Functions", "same", back, throwable)

    def test_exception_survives_a_round_trip(self, bridge: Bridge, java: Java) -> None:
        class Mine(Exception):
            pass

        error = Mine("round trip")
        flux = java.static("reactor.core.publisher.Flux", "from", bridge.to_jvm(pyrs.error(error)))
        assert error_in_python(bridge, flux) is error

    def test_python_exception_keeps_type_message_traceback_and_cause_in_java(
        self, bridge: Bridge, java: Java, recorder: Any
    ) -> None:
        def fails(n: int) -> int:
            raise ValueError("rejected") from KeyError("the cause")

        java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.just(1).map(fails)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        error = java.call(recorder, "error")
        assert java.static("interop.Functions", "isIllegalArgument", error)
        assert java.call(error, "pythonType") == "ValueError"
        assert java.call(error, "pythonMessage") == "rejected"
        assert "fails" in java.call(error, "pythonTraceback")
        assert "fails" in java.static("interop.Functions", "top", error)
        assert "the cause" in java.call(java.call(error, "getCause"), "getMessage")

    def test_base_exception_fails_the_stream(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        class Exit(BaseException):
            pass

        def exits(n: int) -> int:
            raise Exit("enough")

        java.static("interop.Functions", "subscribe", bridge.to_jvm(Watched(lambda: map(exits, [1]), None)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert "enough" in java.call(recorder, "errorMessage")

    @pytest.mark.parametrize(
        ("error", "java_class", "also"),
        [
            (ValueError("v"), "io.pyrs.PythonIllegalArgumentException", "java.lang.IllegalArgumentException"),
            (NonPositiveRequest("n"), "io.pyrs.PythonIllegalArgumentException", "java.lang.IllegalArgumentException"),
            (NullSignal("n"), "io.pyrs.PythonNullPointerException", "java.lang.NullPointerException"),
            (SubscribedTwice("s"), "io.pyrs.PythonIllegalStateException", "java.lang.IllegalStateException"),
            (
                asyncio.CancelledError("c"),
                "io.pyrs.PythonCancellationException",
                "java.util.concurrent.CancellationException",
            ),
            (TimeoutError("t"), "io.pyrs.PythonException", "java.lang.RuntimeException"),
            (KeyError("k"), "io.pyrs.PythonException", "java.lang.RuntimeException"),
            (KeyboardInterrupt("k"), "io.pyrs.PythonException", "java.lang.RuntimeException"),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
    )
    def test_exception_becomes_the_java_class_of_the_error_table(
        self, bridge: Bridge, java: Java, recorder: Any, error: BaseException, java_class: str, also: str
    ) -> None:
        java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.error(error)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.call(recorder, "errorClass") == java_class
        assert java.static("interop.Functions", "isInstance", also, java.call(recorder, "error"))
        assert str(java.call(java.call(recorder, "error"), "pythonType")).endswith(type(error).__name__)

    def test_java_timeout_is_a_timeout_error(self, bridge: Bridge, java: Java) -> None:
        throwable = java.new("java.util.concurrent.TimeoutException", "too late")
        error = error_in_python(bridge, java.static("interop.Sources", "failing", throwable))
        assert isinstance(error, TimeoutError)
        assert isinstance(error, JavaError)
        assert error.java_message == "too late"

    def test_causes_survive_a_round_trip(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        throwable = java.static("interop.Sources", "failure", "the cause")
        cause = error_in_python(bridge, java.static("interop.Sources", "failing", throwable))
        wrapped = RuntimeError("around it")
        wrapped.__cause__ = cause
        java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.error(wrapped)), recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        found = java.call(java.call(recorder, "error"), "getCause")
        assert java.static("interop.Functions", "same", found, throwable)

    def test_illegal_argument_is_a_value_error(self, bridge: Bridge, java: Java) -> None:
        throwable = java.new("java.lang.IllegalArgumentException", "no")
        error = error_in_python(bridge, java.static("interop.Sources", "failing", throwable))
        assert isinstance(error, ValueError)
        assert isinstance(error, JavaError)
