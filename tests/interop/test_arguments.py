"""Java calls accept every Java object that Python references, including errors and objects of other bridges."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

import pyrs
from pyrs.errors import ConversionError, JavaError
from pyrs.jvm import Bridge, JavaFuture, JavaObject, JavaProcessor
from pyrs.jvm.java_objects import java_object_class
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, Watched

FLUX = "reactor.core.publisher.Flux"
FUTURE = "java.util.concurrent.CompletableFuture"


class TestErrors:
    def test_error_of_a_stream_is_passed_as_its_throwable(self, bridge: Bridge) -> None:
        throwable = bridge.java_class("java.lang.IllegalStateException")("sorry")
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(bridge.java_class(FLUX).error(throwable)).subscribe(received)
        error = received.await_error(JavaError)
        java_list = bridge.java_class("java.util.ArrayList")([error, 1])
        assert java_list.get(0) == throwable
        assert bridge.java_class("interop.Functions").same(error, throwable)

    def test_error_of_a_call_is_passed_as_its_throwable(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.lang.Integer").parseInt("x")
        stage = bridge.java_class(FUTURE).failedFuture(caught.value)
        with pytest.raises(JavaError, match="For input string") as again:
            bridge.from_jvm(stage).result(DEADLINE)
        assert again.value.java_class == "java.lang.NumberFormatException"
        assert bridge.java_class("interop.Functions").same(caught.value, again.value)

    def test_error_that_java_has_released_is_refused(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.lang.Integer").parseInt("x")
        originals, _ = caught.value.java_original
        caught.value.java_original = (originals, 2**62)
        with pytest.raises(JavaError, match="a Python object"):
            bridge.java_class(FUTURE).failedFuture(caught.value)

    def test_python_exception_is_not_accepted_as_a_throwable(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError, match="a Python object"):
            bridge.java_class(FUTURE).failedFuture(KeyError("mine"))

    def test_error_as_an_element_keeps_its_identity(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.lang.Integer").parseInt("x")
        flux = bridge.java_class(FLUX).from_(pyrs.just(caught.value))
        assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [caught.value]


class TestOtherBridges:
    def test_object_of_another_bridge_to_the_same_jvm_is_passed_by_reference(
        self, bridge: Bridge, machine: tuple[Any, Java]
    ) -> None:
        connect, _ = machine
        here = bridge.java_class("java.util.ArrayList")([1, 2])
        with connect() as other:
            there = other.java_class("java.util.ArrayList")([3])
            same = other.java_class("interop.Functions").same
            assert here.contains(there) is False
            assert here.add(there) is True
            assert same(here.get(2), there), "the list contains a copy"
            assert same(other.java_class("java.util.List"), bridge.java_class("java.util.List").class_)
            assert other.value_of(here) == [1, 2, [3]]

    def test_stream_of_another_bridge_is_accepted(self, bridge: Bridge, machine: tuple[Any, Java]) -> None:
        connect, _ = machine
        with connect() as other:
            stream = other.from_jvm(other.java_class(FLUX).range(1, 3))
            flux = bridge.java_class(FLUX).from_(stream)
            assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [1, 2, 3]

    def test_object_of_a_closed_bridge_is_rejected(self, bridge: Bridge, machine: tuple[Any, Java]) -> None:
        connect, _ = machine
        with connect() as other:
            left = other.java_class("java.util.ArrayList")([3])
        for use in (bridge.java_class("java.util.ArrayList"), bridge.value_of, bridge.to_jvm):
            with pytest.raises(ConversionError, match="belongs to a link that has ended"):
                use(left)

    def test_object_of_another_jvm_is_rejected(self, bridge: Bridge) -> None:
        elsewhere = SimpleNamespace(
            session=SimpleNamespace(open=True),
            control=SimpleNamespace(resolve=lambda handle: object()),
            release=lambda handle: None,
        )
        foreign = java_object_class(elsewhere, 0)(1)
        with pytest.raises(ConversionError, match="another JVM"):
            bridge.java_class("java.util.Objects").isNull(foreign)


class TestNewOptions:
    """``from_jvm`` of a converted object applies new options."""

    @pytest.fixture
    def argument(self, bridge: Bridge) -> Any:
        """Return a function that returns the argument which a Python function receives for a Java object."""

        def argument_for(value: Any) -> Any:
            received: list[Any] = []
            function = bridge.to_jvm_callable(received.append, "java.util.function.Function")
            bridge.java_class("interop.Functions").apply(function, value)
            return received[0]

        return argument_for

    def test_new_options_apply_to_a_publisher(self, bridge: Bridge, argument: Any) -> None:
        stream = argument(bridge.java_class(FLUX).just([1, 2]))
        assert stream.collect(timeout=DEADLINE) == [[1, 2]]
        (java_list,) = bridge.from_jvm(stream, convert="references", exact=True).collect(timeout=DEADLINE)
        assert isinstance(java_list, JavaObject) and java_list.size() == 2
        assert stream.collect(timeout=DEADLINE) == [[1, 2]], "the new options changed the first stream"

    def test_new_options_select_exact_demand(self, bridge: Bridge, argument: Any) -> None:
        requested: list[int] = []
        on_request = bridge.to_jvm_callable(requested.append, "java.util.function.LongConsumer")
        stream = argument(bridge.java_class(FLUX).range(1, 100).doOnRequest(on_request))
        received = TestSubscriber(3, timeout=DEADLINE)
        bridge.from_jvm(stream, exact=True).subscribe(received)
        received.await_count(3)
        received.request(2)
        assert received.await_count(5) == [1, 2, 3, 4, 5]
        received.cancel()
        assert requested == [3, 2]

    def test_new_options_apply_to_a_processor(self, bridge: Bridge, argument: Any) -> None:
        processor = bridge.java_class("io.reactivex.rxjava3.processors.UnicastProcessor").create()
        processor.onNext([1])
        processor.onComplete()
        received = argument(processor)
        assert isinstance(received, JavaProcessor)
        (java_list,) = bridge.from_jvm(received, convert="references").collect(timeout=DEADLINE)
        assert isinstance(java_list, JavaObject)

    def test_new_options_apply_to_a_future(self, bridge: Bridge, argument: Any) -> None:
        received = argument(bridge.java_class(FUTURE).completedFuture([1]))
        assert isinstance(received, JavaFuture) and received.result(DEADLINE) == [1]
        assert isinstance(bridge.from_jvm(received, convert="references").result(DEADLINE), JavaObject)

    def test_hot_publisher_stays_hot(self, bridge: Bridge) -> None:
        publisher = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(bridge.from_jvm(publisher), exact=True).subscribe(received)
        assert publisher.hasSubscribers(), "subscribe returned before the subscription in Java"
        publisher.close()
        assert received.await_complete() == []

    def test_python_stream_is_rejected(self, bridge: Bridge) -> None:
        stream = bridge.from_jvm(bridge.java_class(FLUX).range(1, 3))
        with pytest.raises(TypeError, match="not Stream"):
            bridge.from_jvm(stream.map(str))

    def test_other_objects_are_rejected(self, bridge: Bridge, java: Java) -> None:
        for plain in (bridge.java_class("java.util.ArrayList")(), java.new("java.util.ArrayList")):
            with pytest.raises(TypeError, match=r"java\.util\.ArrayList is none of them"):
                bridge.from_jvm(plain)


class TestObjectsOfTheGateway:
    """A ``JavaObject`` and the gateway's objects, which ``to_jvm`` returns, are accepted by each other's methods."""

    def test_gateway_accepts_a_java_object(self, bridge: Bridge, java: Java) -> None:
        ours, raw = bridge.java_class("java.util.ArrayList")(), java.new("java.util.ArrayList")
        assert raw.add(ours)
        assert bridge.java_class("interop.Functions").same(ours, raw.get(0))
        assert ours.add(raw.get(0)) and ours.size() == 1

    @pytest.mark.parametrize("stage", [pyrs.range(3), pyrs.range(3).map(str)])
    def test_mirror_of_a_publisher_accepts_a_java_subscriber(self, bridge: Bridge, stage: pyrs.Stream[Any]) -> None:
        recorder = bridge.java_class("interop.Recorder")(2**63 - 1)
        bridge.to_jvm(stage).subscribe(recorder)
        assert recorder.awaitEnd(MILLISECONDS) == "complete"
        body = bridge.java_class(
            "java.net.http.HttpResponse$BodySubscribers"
        ).discarding()  # implements only Flow.Subscriber
        bridge.to_jvm(pyrs.empty()).subscribe(body)
        assert bridge.from_jvm(body.getBody()).result(DEADLINE) is None

    def test_mirror_rejects_an_object_that_is_not_a_subscriber(self, bridge: Bridge) -> None:
        with pytest.raises(Exception, match=r"java\.util\.ArrayList is not a Subscriber|does not exist"):
            bridge.to_jvm(pyrs.empty()).subscribe(bridge.java_class("java.util.ArrayList")())

    def test_stage_and_callable_accept_java_objects(self, bridge: Bridge) -> None:
        flux = bridge.java_class(FLUX).range(1, 3)
        stage = bridge.to_jvm_stage(lambda stream: stream.map(lambda n: n * 2))
        assert bridge.from_jvm(stage.apply(flux)).collect(timeout=DEADLINE) == [2, 4, 6]
        assert bridge.from_jvm(flux.transform(stage)).collect(timeout=DEADLINE) == [2, 4, 6]
        function = bridge.to_jvm_callable(lambda given: str(type(given).__name__), "java.util.function.Function")
        assert function.apply(bridge.java_class("java.lang.Object")()) == "JavaObject"


def like(name: str) -> Any:
    """Return an object whose class has the name of a class of a library that may be missing."""
    return type(name, (), {})()


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("value", "advice"),
        [
            (like("DataFrame"), r"not DataFrame: pyrs\.spark\.from_dataframe streams its rows"),
            (like("JavaPackage"), r"the JVM has no class of this name\. .*spark\.jars\.packages"),
            (like("_JPackage"), r"bridge\.java_class\(name\) says which class is missing"),
            (like("_JClass"), "call a static method or a constructor of the class"),
            ("java.util.ArrayList", r"not str: bridge\.java_class\(name\) finds a class"),
            (pyrs.range(1), "not Stream: to_jvm converts Python objects"),
        ],
    )
    def test_error_of_from_jvm_suggests_a_correction(self, bridge: Bridge, value: Any, advice: str) -> None:
        with pytest.raises(TypeError, match=advice):
            bridge.from_jvm(value)

    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("fromJvm", r": use from_jvm\(\)$"),
            ("to_java", r": use to_jvm\(\)$"),
            ("stop", r": use close\(\), or a with block$"),
            ("frobnicate", "'frobnicate'$"),
        ],
    )
    def test_error_for_a_missing_method_suggests_another_one(self, bridge: Bridge, name: str, advice: str) -> None:
        with pytest.raises(AttributeError, match=f"^'Bridge' object has no attribute '{name}'") as raised:
            getattr(bridge, name)
        assert re.search(advice, str(raised.value))

    def test_class_in_place_of_an_instance_is_rejected(self, bridge: Bridge) -> None:
        with pytest.raises(TypeError, match="to_jvm takes an object, not the class Watched: create an instance"):
            bridge.to_jvm(Watched)

    def test_subscriber_with_coroutine_methods_is_rejected(self, bridge: Bridge) -> None:
        class Asynchronous(TestSubscriber[Any]):
            async def on_next(self, element: Any, /) -> None:  # type: ignore[override]
                pass

        with pytest.raises(TypeError, match="Asynchronous has coroutine functions, which the JVM cannot await"):
            bridge.to_jvm(Asynchronous())

    def test_options_of_another_type_are_rejected(self, bridge: Bridge) -> None:
        options: Any
        for options in ({"exact": "yes"}, {"exact": 1}, {"hot": "no"}):
            with pytest.raises(TypeError, match="must be True"):
                bridge.from_jvm(bridge.java_class(FLUX).empty(), **options)
        for options in ({"exact": "yes"}, {"element_type": int}):
            with pytest.raises(TypeError, match=f"{next(iter(options))} must be "):
                bridge.to_jvm(pyrs.empty(), **options)
            with pytest.raises(TypeError, match=f"{next(iter(options))} must be "):
                bridge.to_jvm_stage(lambda stream: stream, **options)
        interface: Any = len
        with pytest.raises(TypeError, match="interface must be the name of a Java class"):
            bridge.to_jvm_callable(len, interface)

    @pytest.mark.parametrize(
        ("options", "error", "text"),
        [
            ({"max_prefetch": "a"}, TypeError, "max_prefetch must be an integer, not str"),
            ({"max_prefetch": 0}, ValueError, "max_prefetch must be at least 1, not 0"),
            ({"max_threads": 1.5}, TypeError, "max_threads must be an integer, not float"),
            ({"call_timeout_seconds": "1"}, TypeError, "call_timeout_seconds must be a number of seconds"),
            ({"call_timeout_seconds": 0}, ValueError, "call_timeout_seconds must be finite and greater than 0"),
        ],
    )
    def test_wrong_options_of_a_bridge_raise(
        self, machine: tuple[Any, Java], options: dict[str, Any], error: type[Exception], text: str
    ) -> None:
        with pytest.raises(error, match=text):
            machine[0](**options)
