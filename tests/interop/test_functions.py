"""Python functions as Java lambdas, and CompletionStages as awaitables."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import Any

import pytest

import pyrs
from pyrs.errors import CallTimeout, JavaError
from pyrs.jvm import Bridge, JavaFuture
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java
from tests.waiting import collected

FUNCTION = "java.util.function.Function"
FLUX = "reactor.core.publisher.Flux"


class TestCallables:
    def test_function_maps_elements(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        squared = bridge.to_jvm_callable(lambda x: x * x, FUNCTION)
        java.call(java.call(java.static(FLUX, "range", 1, 5), "map", squared), "subscribe", recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "text") == "1 4 9 16 25"

    def test_predicate_filters_elements(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        odd = bridge.to_jvm_callable(lambda x: x % 2 == 1, "java.util.function.Predicate")
        java.call(java.call(java.static(FLUX, "range", 1, 5), "filter", odd), "subscribe", recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "text") == "1 3 5"

    def test_bifunction_combines_zipped_elements(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        multiply = bridge.to_jvm_callable(lambda a, b: a * b, "java.util.function.BiFunction")
        zipped = java.call(java.static(FLUX, "range", 1, 3), "zipWith", java.static(FLUX, "range", 10, 3), multiply)
        java.call(zipped, "subscribe", recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
        assert java.call(recorder, "text") == "10 22 36"

    def test_bifunction_reduces_elements(self, bridge: Bridge, java: Java) -> None:
        add = bridge.to_jvm_callable(lambda a, b: a + b, "java.util.function.BiFunction")
        total = java.call(java.static(FLUX, "range", 1, 4), "reduce", add)
        assert bridge.from_jvm(total).collect(timeout=DEADLINE) == [10]

    def test_failed_conversion_keeps_the_function_for_its_other_objects(self, bridge: Bridge) -> None:
        def increment(x: int) -> int:
            return x + 1

        def export_and_drop() -> None:
            bridge.to_jvm_callable(lambda x: x, FUNCTION)

        before = bridge.stats()["handles"]
        flux = bridge.java_class(FLUX).just(1).map(bridge.to_jvm_callable(increment, FUNCTION))
        for interface in ("java.util.function.Functoin", "java.util.List"):
            with pytest.raises(JavaError):
                bridge.to_jvm_callable(increment, interface)
        export_and_drop()
        gc = bridge.java_class("java.lang.System").gc

        def is_released() -> bool:
            gc()
            return bool(bridge.stats()["handles"] <= before + 1)

        collected(is_released)  # with it, Java would release the function of the failed calls
        assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [2]

    def test_function_may_return_a_publisher(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        repeat = bridge.to_jvm_callable(lambda x: pyrs.from_iterable([x] * x), FUNCTION)
        java.call(java.call(java.static(FLUX, "range", 1, 3), "concatMap", repeat), "subscribe", recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
        assert java.call(recorder, "text") == "1 2 2 3 3 3"

    def test_function_receives_a_subscription_that_is_a_queue_of_its_library(self, bridge: Bridge) -> None:
        def generate(state: int, sink: Any) -> int:
            sink.next(state)
            if state == 3:
                sink.complete()
            return state + 1

        flux = bridge.java_class(FLUX)
        initial = bridge.to_jvm_callable(lambda: 1, "java.util.concurrent.Callable")
        generated = flux.generate(initial, bridge.to_jvm_callable(generate, "java.util.function.BiFunction"))
        assert bridge.from_jvm(generated).collect(timeout=DEADLINE) == [1, 2, 3]
        subscriptions: list[Any] = []
        watching = bridge.to_jvm_callable(subscriptions.append, "java.util.function.Consumer")
        assert bridge.from_jvm(flux.range(1, 3).doOnSubscribe(watching)).collect(timeout=DEADLINE) == [1, 2, 3]
        subscriptions[0].cancel()

    def test_sink_that_is_a_subscriber_names_its_java_object(self, bridge: Bridge) -> None:
        def emit(sink: Any) -> None:
            with pytest.raises(AttributeError, match=r"no attribute 'emit': use java_object\.emit"):
                sink.emit(1)
            sink.java_object.emit(1)
            sink.java_object.complete()

        created = bridge.java_class("io.smallrye.mutiny.Multi").createFrom()
        emitted = created.emitter(bridge.to_jvm_callable(emit, "java.util.function.Consumer"))
        assert bridge.from_jvm(emitted).collect(timeout=DEADLINE) == [1]

    def test_element_type_selects_the_java_class(self, bridge: Bridge, java: Java) -> None:
        one = bridge.to_jvm_callable(lambda x: x + 1, FUNCTION, element_type="java.lang.Integer")
        assert java.static("interop.Functions", "apply", one, 4) == "Integer 5"

    def test_function_receives_two_strings_and_returns_one(self, bridge: Bridge, java: Java) -> None:
        join = bridge.to_jvm_callable(lambda a, b: f"{a}-{b}", "java.util.function.BiFunction")
        assert java.static("interop.Functions", "apply", join, "x", "y") == "String x-y"

    @pytest.mark.parametrize(
        ("convert", "expected"),
        [
            (None, ["JavaObject", "list"]),
            ("references", ["JavaObject", "JavaObject"]),
            ("values", [{"key": "k", "value": [1]}, [1, "a"]]),
            ({"java.util.List": "references"}, ["JavaObject", "JavaObject"]),
            ({"java.util.Map$Entry": "values"}, [{"key": "k", "value": [1]}, "list"]),
        ],
    )
    def test_arguments_are_converted_as_configured(
        self, bridge: Bridge, java: Java, convert: object, expected: list[object]
    ) -> None:
        received: list[Any] = []
        entry = bridge.java_class("java.util.AbstractMap$SimpleEntry")("k", [1])
        content = bridge.java_class("java.util.List").of(1, "a")
        function = bridge.to_jvm_callable(
            lambda *arguments: received.extend(arguments), "java.util.function.BiFunction", convert=convert
        )
        assert java.static("interop.Functions", "apply", function, entry, content) == "null"
        assert not bridge.closed
        for argument, original, wanted in zip(received, [entry, content], expected, strict=True):
            if isinstance(wanted, str):
                assert type(argument).__name__ == wanted
                assert wanted == "list" or argument == original
            else:
                assert argument == wanted

    def test_argument_without_a_conversion_fails_the_call(self, bridge: Bridge) -> None:
        plain = bridge.java_class("java.lang.Object")()
        calls: list[Any] = []
        function = bridge.to_jvm_callable(
            lambda *arguments: calls.append(arguments), "java.util.function.BiFunction", convert="values"
        )
        functions = bridge.java_class("interop.Functions")
        with pytest.raises(JavaError, match="cannot be converted to a value"):
            functions.apply(function, 1, plain)
        assert calls == []
        assert functions.apply(function, 1, None) == "null"
        assert calls == [(1, None)]

    def test_default_methods_run_in_java(self, bridge: Bridge, java: Java) -> None:
        long = bridge.to_jvm_callable(lambda text: len(text) > 3, "java.util.function.Predicate")
        assert java.static("interop.Functions", "test", long, "four") is True
        assert java.static("interop.Functions", "test", long, "two") is False

    def test_default_method_of_an_interface_that_is_not_public_runs_in_java(self, bridge: Bridge) -> None:
        step = bridge.to_jvm_callable(lambda value: value * 3, "interop.Functions$Step")
        assert bridge.java_class("interop.Functions").twice(step, 2) == 18

    def test_none_is_an_empty_optional(self, bridge: Bridge) -> None:
        finder = bridge.to_jvm_callable({"a": "b"}.get, "interop.Functions$Finder")
        functions = bridge.java_class("interop.Functions")
        assert (functions.found(finder, "a"), functions.found(finder, "c")) == ("b", "nothing")

    def test_methods_of_object_run_in_java(self, bridge: Bridge, java: Java) -> None:
        calls: list[Any] = []
        function = bridge.to_jvm_callable(calls.append, FUNCTION)
        other = bridge.to_jvm_callable(calls.append, FUNCTION)
        assert java.call(function, "equals", function)
        assert not java.call(function, "equals", other)
        assert java.call(function, "hashCode") == java.call(function, "hashCode")
        assert java.call(function, "toString")
        assert calls == []

    def test_exception_of_the_function_is_an_error_in_java(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        def fails(x: int) -> int:
            raise KeyError("no such key")

        failing = bridge.to_jvm_callable(fails, FUNCTION)
        java.call(java.call(java.static(FLUX, "range", 1, 5), "map", failing), "subscribe", recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert "no such key" in java.call(recorder, "errorMessage")

    def test_exception_of_the_function_returns_to_python_unchanged(self, bridge: Bridge, java: Java) -> None:
        error = KeyError("mine")

        def fails(x: int) -> int:
            raise error

        received = TestSubscriber(1, timeout=DEADLINE)
        failing = bridge.to_jvm_callable(fails, FUNCTION)
        bridge.from_jvm(java.call(java.static(FLUX, "range", 1, 5), "map", failing)).subscribe(received)
        assert received.await_error() is error

    def test_reraised_java_error_keeps_its_identity(self, bridge: Bridge, java: Java, recorder: Any) -> None:
        throwable = java.static("interop.Sources", "failure", "again")
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(java.static("interop.Sources", "failing", throwable)).subscribe(received)
        error = received.await_error()

        def raises(x: int) -> int:
            raise error

        failing = bridge.to_jvm_callable(raises, FUNCTION)
        java.call(java.call(java.static(FLUX, "range", 1, 5), "map", failing), "subscribe", recorder)
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
        assert java.static("interop.Functions", "same", java.call(recorder, "error"), throwable)

    def test_slow_function_exceeds_the_call_timeout(self, machine: Any) -> None:
        connect, java = machine
        released = threading.Event()
        recorder = java.new("interop.Recorder", 1)
        with connect(call_timeout_seconds=0.25) as bridge:
            slow = bridge.to_jvm_callable(lambda x: released.wait(DEADLINE), FUNCTION)
            java.call(java.call(java.static(FLUX, "range", 1, 5), "map", slow), "subscribe", recorder)
            assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
            released.set()
        assert "250 milliseconds" in str(java.call(recorder, "errorMessage"))

    def test_object_that_is_not_callable_is_rejected(self, bridge: Bridge) -> None:
        with pytest.raises(TypeError, match="function"):
            bridge.to_jvm_callable(5, FUNCTION)  # type: ignore[arg-type]

    def test_coroutine_function_is_rejected(self, bridge: Bridge) -> None:
        async def doubled(number: int) -> int:
            return 2 * number

        with pytest.raises(TypeError, match=r"function must be a plain function: .* from_awaitable"):
            bridge.to_jvm_callable(doubled, FUNCTION)

    def test_awaitable_of_a_function_is_awaited(self, bridge: Bridge, java: Java) -> None:
        async def doubled(number: int) -> int:
            return 2 * number

        awaited = bridge.to_jvm_callable(lambda number: pyrs.from_awaitable(lambda: doubled(number)), FUNCTION)
        flux = java.call(java.static(FLUX, "range", 1, 3), "concatMap", awaited)
        assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [2, 4, 6]

    @pytest.mark.parametrize("interface", ["java.util.List", "java.lang.String", "no.such.Interface"])
    def test_name_that_is_no_functional_interface_is_rejected(self, bridge: Bridge, interface: str) -> None:
        def function(argument: object) -> object:
            return argument

        reference = weakref.ref(function)
        with pytest.raises((JavaError, TypeError), match=interface.rpartition(".")[2]):
            bridge.to_jvm_callable(function, interface)
        del function
        collected(lambda: reference() is None, "the bridge still references the function")


class TestCompletionStages:
    def test_stage_is_awaitable(self, bridge: Bridge, java: Java) -> None:
        async def main() -> Any:
            return await asyncio.wait_for(
                bridge.from_jvm(java.static("interop.Sources", "completed", "done")), DEADLINE
            )

        assert asyncio.run(main()) == "done"

    def test_await_waits_for_the_completion(self, bridge: Bridge, java: Java) -> None:
        future = java.new("java.util.concurrent.CompletableFuture")

        async def main() -> Any:
            waiting = asyncio.ensure_future(bridge.from_jvm(future))
            await asyncio.sleep(0)
            assert not waiting.done()
            java.call(future, "complete", "later")
            return await asyncio.wait_for(waiting, DEADLINE)

        assert asyncio.run(main()) == "later"

    def test_failed_stage_raises(self, bridge: Bridge, java: Java) -> None:
        failure = java.static("interop.Sources", "failure", "no result")
        with pytest.raises(JavaError, match="no result") as caught:
            bridge.from_jvm(java.static("interop.Sources", "failed", failure)).result(DEADLINE)
        assert caught.value.java_class == "java.lang.IllegalStateException"

    def test_stage_is_a_stream_of_one_element(self, bridge: Bridge, java: Java) -> None:
        stage = bridge.from_jvm(java.static("interop.Sources", "completed", 7))
        assert isinstance(stage, JavaFuture)
        assert stage.map(lambda x: x * 2).collect(timeout=DEADLINE) == [14]

    def test_null_is_none_and_an_empty_stream(self, bridge: Bridge, java: Java) -> None:
        stage = bridge.from_jvm(java.static("interop.Sources", "completed", None))
        assert stage.result(DEADLINE) is None
        assert stage.collect(timeout=DEADLINE) == []

    def test_result_has_a_deadline(self, bridge: Bridge, java: Java) -> None:
        with pytest.raises(CallTimeout):
            bridge.from_jvm(java.new("java.util.concurrent.CompletableFuture")).result(0.05)

    def test_timeout_of_the_stage_is_distinguished_from_a_timeout_of_the_wait(self, bridge: Bridge) -> None:
        timeout = bridge.java_class("java.util.concurrent.TimeoutException")("too slow")
        stage = bridge.java_class("java.util.concurrent.CompletableFuture").failedFuture(timeout)
        with pytest.raises(TimeoutError, match="too slow") as caught:
            bridge.from_jvm(stage).result(DEADLINE)
        assert isinstance(caught.value, JavaError) and not isinstance(caught.value, CallTimeout)

    def test_results_of_operators_can_be_awaited_with_block(self, bridge: Bridge, java: Java) -> None:
        stage = bridge.from_jvm(java.static("interop.Sources", "completed", 7))
        assert stage.map(lambda x: x * 2).block(DEADLINE) == 14
        assert stage.filter(lambda x: x > 7).block(DEADLINE) is None
