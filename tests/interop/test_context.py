"""The bridge copies registered context variables of Python to Reactor's Context, and back."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs.errors import ConversionError
from tests.interop.harness import DEADLINE, Java

USER: ContextVar[Any] = ContextVar("tests.interop.user")
UNREGISTERED: ContextVar[str] = ContextVar("tests.interop.unregistered")
jvm.register_context(USER)


def inside(variable: ContextVar[Any], value: object, function: Any) -> Any:
    def call() -> Any:
        variable.set(value)
        return function()

    return copy_context().run(call)


@pytest.mark.parametrize("method", ["read", "readMono"])
def test_reactor_sees_the_variable_of_the_python_subscriber(bridge: jvm.Bridge, java: Java, method: str) -> None:
    stream = bridge.from_jvm(java.static("interop.Contexts", method, USER.name))
    assert inside(USER, "ada", lambda: stream.collect(timeout=DEADLINE)) == ["ada"]
    assert inside(USER, "grace", lambda: stream.collect(timeout=DEADLINE)) == ["grace"]
    assert stream.collect(timeout=DEADLINE) == ["none"]


def test_unregistered_variable_is_not_sent(bridge: jvm.Bridge, java: Java) -> None:
    stream = bridge.from_jvm(java.static("interop.Contexts", "read", UNREGISTERED.name))
    assert inside(UNREGISTERED, "ada", lambda: stream.collect(timeout=DEADLINE)) == ["none"]


def test_value_that_is_not_a_string_fails_the_subscription(bridge: jvm.Bridge, java: Java) -> None:
    stream = bridge.from_jvm(java.static("interop.Contexts", "read", USER.name))
    with pytest.raises(ConversionError, match="has a value of type int: only strings cross the bridge"):
        inside(USER, 7, lambda: stream.collect(timeout=DEADLINE))


def test_publisher_of_another_library_ignores_the_variable(bridge: jvm.Bridge, java: Java) -> None:
    stream = bridge.from_jvm(java.static("interop.Sources", "longsOnForeignThreads", 3))
    assert len(inside(USER, "ada", lambda: stream.collect(timeout=DEADLINE))) == 3


def seen(_: int) -> str:
    return str(USER.get("none"))


def test_python_sees_the_context_of_the_reactor_subscriber(bridge: jvm.Bridge, java: Java) -> None:
    for stream in (
        pyrs.range(3).map(seen),  # computed when it is requested
        pyrs.range(3).flat_map(lambda n: pyrs.just(n).map(seen)),
        pyrs.range(3).publish_on(pyrs.schedulers.default()).map(seen),
        pyrs.defer(lambda: pyrs.just(seen(0), seen(0), seen(0))),
    ):
        publisher = bridge.to_jvm(stream)
        assert list(java.static("interop.Contexts", "collect", publisher, USER.name, "ada")) == ["ada"] * 3
        assert list(java.static("interop.Contexts", "collect", publisher, "other", "ada")) == ["none"] * 3
        assert list(java.static("interop.Contexts", "collect", publisher, USER.name, 7)) == ["none"] * 3


def test_context_crosses_from_reactor_through_python_to_reactor(bridge: jvm.Bridge, java: Java) -> None:
    source = bridge.from_jvm(java.static("interop.Contexts", "read", USER.name))
    publisher = bridge.to_jvm(source.map(lambda value: f"{value}, {seen(0)}"))
    assert list(java.static("interop.Contexts", "collect", publisher, USER.name, "ada")) == ["ada, ada"]


def test_function_of_python_reads_the_context(bridge: jvm.Bridge) -> None:
    flux = bridge.java_class("reactor.core.publisher.Flux")
    read = bridge.to_jvm_callable(lambda context: flux.just(context.get(USER.name)), "java.util.function.Function")
    deferred = bridge.from_jvm(flux.deferContextual(read))
    assert inside(USER, "ada", lambda: deferred.collect(timeout=DEADLINE)) == ["ada"]


def test_unconvertible_entry_is_not_sent(bridge: jvm.Bridge) -> None:
    builder = bridge.java_class("java.lang.StringBuilder")().appendCodePoint(0xD800)
    surrogate = bridge.java_class("java.lang.String")(builder)
    publisher = bridge.to_jvm(pyrs.range(3).map(seen))
    flux = bridge.java_class("reactor.core.publisher.Flux").from_(publisher)
    context = bridge.java_class("reactor.util.context.Context")
    for entries in (context.of("other", surrogate, USER.name, "ada"), context.of(surrogate, "x", USER.name, "ada")):
        assert bridge.from_jvm(flux.contextWrite(entries)).collect(timeout=DEADLINE) == ["ada"] * 3
