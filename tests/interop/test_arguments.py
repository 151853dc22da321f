"""Java objects that Python holds can be arguments of Java calls, whatever created them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import pyrs
from pyrs.errors import ConversionError, JavaError
from pyrs.jvm import Bridge, JavaFuture, JavaObject, JavaProcessor
from pyrs.jvm.codec import LinkReferences
from pyrs.jvm.java_objects import java_object_class
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Java

FLUX = "reactor.core.publisher.Flux"
FUTURE = "java.util.concurrent.CompletableFuture"


class TestErrors:
    def test_error_of_a_stream(self, bridge: Bridge) -> None:
        throwable = bridge.java_class("java.lang.IllegalStateException")("sorry")
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(bridge.java_class(FLUX).error(throwable)).subscribe(received)
        error = received.await_error(JavaError)
        held = bridge.java_class("java.util.ArrayList")([error, 1])
        assert held.get(0) == throwable
        assert bridge.java_class("interop.Functions").same(error, throwable)

    def test_error_of_a_call(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.lang.Integer").parseInt("x")
        stage = bridge.java_class(FUTURE).failedFuture(caught.value)
        with pytest.raises(JavaError, match="For input string") as again:
            bridge.from_jvm(stage).result(DEADLINE)
        assert again.value.java_class == "java.lang.NumberFormatException"
        assert bridge.java_class("interop.Functions").same(caught.value, again.value)

    def test_error_that_java_has_released(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.lang.Integer").parseInt("x")
        originals, _ = caught.value.java_original
        caught.value.java_original = (originals, 2**62)
        with pytest.raises(JavaError, match="a Python object"):
            bridge.java_class(FUTURE).failedFuture(caught.value)

    def test_python_exception_is_a_python_object(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError, match="a Python object"):
            bridge.java_class(FUTURE).failedFuture(KeyError("mine"))

    def test_error_as_an_element_keeps_its_identity(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.lang.Integer").parseInt("x")
        flux = bridge.java_class(FLUX).from_(pyrs.just(caught.value))
        assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [caught.value]


class TestOtherBridges:
    def test_object_of_another_bridge_to_the_same_jvm(self, bridge: Bridge, machine: tuple[Any, Java]) -> None:
        connect, _ = machine
        here = bridge.java_class("java.util.ArrayList")([1, 2])
        with connect() as other:
            there = other.java_class("java.util.ArrayList")([3])
            same = other.java_class("interop.Functions").same
            assert here.contains(there) is False
            assert here.add(there) is True
            assert same(here.get(2), there), "the list contains the object itself"
            assert same(other.java_class("java.util.List"), bridge.java_class("java.util.List").class_)
            assert other.value_of(here) == [1, 2, [3]]

    def test_stream_of_another_bridge(self, bridge: Bridge, machine: tuple[Any, Java]) -> None:
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
            with pytest.raises(ConversionError, match="a bridge that is closed"):
                use(left)

    def test_object_of_another_jvm_is_rejected(self, bridge: Bridge) -> None:
        elsewhere = SimpleNamespace(
            session=SimpleNamespace(open=True),
            control=SimpleNamespace(resolve=lambda handle: object()),
            give_back=lambda handle: None,
        )
        foreign = java_object_class(cast(LinkReferences, elsewhere), 0)(1)
        with pytest.raises(ConversionError, match="another JVM"):
            bridge.java_class("java.util.Objects").isNull(foreign)


class TestNewOptions:
    """``from_jvm`` of a converted object applies new options."""

    @pytest.fixture
    def argument(self, bridge: Bridge) -> Any:
        """Returns the argument that a Python function receives for a Java object."""

        def argument_for(value: Any) -> Any:
            received: list[Any] = []
            function = bridge.to_jvm_callable(received.append, "java.util.function.Function")
            bridge.java_class("interop.Functions").apply(function, value)
            return received[0]

        return argument_for

    def test_publisher(self, bridge: Bridge, argument: Any) -> None:
        stream = argument(bridge.java_class(FLUX).just([1, 2]))
        assert stream.collect(timeout=DEADLINE) == [[1, 2]]
        (held,) = bridge.from_jvm(stream, convert="references", exact=True).collect(timeout=DEADLINE)
        assert isinstance(held, JavaObject) and held.size() == 2
        assert stream.collect(timeout=DEADLINE) == [[1, 2]], "the first stream is unchanged"

    def test_exact_demand(self, bridge: Bridge, argument: Any) -> None:
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

    def test_processor(self, bridge: Bridge, argument: Any) -> None:
        processor = bridge.java_class("io.reactivex.rxjava3.processors.UnicastProcessor").create()
        processor.onNext([1])
        processor.onComplete()
        received = argument(processor)
        assert isinstance(received, JavaProcessor)
        (held,) = bridge.from_jvm(received, convert="references").collect(timeout=DEADLINE)
        assert isinstance(held, JavaObject)

    def test_future(self, bridge: Bridge, argument: Any) -> None:
        received = argument(bridge.java_class(FUTURE).completedFuture([1]))
        assert isinstance(received, JavaFuture) and received.result(DEADLINE) == [1]
        assert isinstance(bridge.from_jvm(received, convert="references").result(DEADLINE), JavaObject)

    def test_hot_publisher_stays_hot(self, bridge: Bridge) -> None:
        publisher = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(bridge.from_jvm(publisher), exact=True).subscribe(received)
        assert publisher.hasSubscribers(), "subscribe returns after the subscription in Java"
        publisher.close()
        assert received.await_complete() == []

    def test_python_stream_is_rejected(self, bridge: Bridge) -> None:
        stream = bridge.from_jvm(bridge.java_class(FLUX).range(1, 3))
        with pytest.raises(TypeError, match="not a Python Stream"):
            bridge.from_jvm(stream.map(str))

    def test_other_objects_are_rejected(self, bridge: Bridge, java: Java) -> None:
        for plain in (bridge.java_class("java.util.ArrayList")(), java.new("java.util.ArrayList")):
            with pytest.raises(TypeError, match=r"java\.util\.ArrayList is none of them"):
                bridge.from_jvm(plain)
