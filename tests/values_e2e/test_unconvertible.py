"""A value that cannot be converted fails only its call or its stream.

The last test checks that a closed bridge leaves no mirror in the JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import pyrs
from pyrs.errors import ConversionError, JavaError
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Java
from tests.values_e2e.support import error_in_java
from tests.waiting import collected


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class Unknown(ZoneInfo):
    """A zone whose name Java does not know."""

    key = "Mars/Olympus"


FROM_PYTHON = {
    "a tuple as a key": {(1, 2): 3},
    "an exponent too large for BigDecimal": Decimal("1E+3000000000"),
    "513 nested lists": nested(513),
    "an unknown time zone": datetime(2024, 1, 1, tzinfo=Unknown("UTC")),
}
from_python = pytest.mark.parametrize("value", FROM_PYTHON.values(), ids=FROM_PYTHON.keys())


@pytest.fixture
def from_java(bridge: Bridge) -> dict[str, Any]:
    java_map, java_list = bridge.java_class("java.util.Map"), bridge.java_class("java.util.List")
    java_set = bridge.java_class("java.util.Set")
    return {
        "a date beyond year 9999": bridge.java_class("java.time.LocalDate").MAX,
        "a map in a set": java_set.of(java_map.of("a", 1)),
        "a list as a key": java_map.of(java_list.of(1), 2),
    }


from_java_names = pytest.mark.parametrize("name", ["a date beyond year 9999", "a map in a set", "a list as a key"])


@pytest.fixture(autouse=True)
def check_other_streams_and_calls(bridge: Bridge) -> Iterator[None]:
    """After each test, check that a stream opened before it and a new call still work."""
    source = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
    received = TestSubscriber(10, timeout=DEADLINE)
    bridge.from_jvm(source).subscribe(received)
    yield
    source.submit("after the failure")
    assert received.await_count(1) == ["after the failure"]
    source.close()
    received.await_complete()
    function = bridge.to_jvm_callable(lambda value: value + 1, "java.util.function.Function")
    assert bridge.java_class("java.util.Optional").of(1).map(function).get() == 2
    assert not bridge.closed


def call_from_java(bridge: Bridge, function: Any, argument: Any) -> Any:
    """Call a Python function from Java."""
    callable_ = bridge.to_jvm_callable(function, "java.util.function.Function")
    return bridge.java_class("java.util.Optional").of(argument).map(callable_)


@from_java_names
def test_unconvertible_argument_fails_its_call(bridge: Bridge, from_java: dict[str, Any], name: str) -> None:
    called: list[object] = []
    with pytest.raises((ConversionError, JavaError)) as caught:
        call_from_java(bridge, called.append, from_java[name])
    assert "ConversionError" in repr(caught.value) or "cannot be converted" in str(caught.value)
    assert not called


@from_python
def test_unconvertible_result_fails_its_call(bridge: Bridge, value: object) -> None:
    with pytest.raises(JavaError, match="cannot be converted to Java"):
        call_from_java(bridge, lambda argument: value, 1)


@from_java_names
def test_unconvertible_java_element_fails_its_stream(bridge: Bridge, from_java: dict[str, Any], name: str) -> None:
    received = TestSubscriber(10, timeout=DEADLINE)
    source = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
    bridge.from_jvm(source).subscribe(received)
    source.submit(1)
    source.submit(from_java[name])
    assert isinstance(received.await_error(), ConversionError)
    assert received.elements[0:1] == [1]


@from_python
def test_unconvertible_python_element_fails_its_stream(bridge: Bridge, java: Java, value: object) -> None:
    error = error_in_java(java, bridge, 1, value)
    assert "cannot be converted to Java" in str(java.call(error, "getMessage"))


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        ({("a", "b"): "values"}, "as a key"),
        ({"a": "\ud800"}, "lone surrogate"),
        (nested(513), "nests deeper than 512 containers"),
        ("no such conversion", "convert must be "),
    ],
)
def test_invalid_convert_option_fails_its_stream(bridge: Bridge, convert: object, message: str) -> None:
    received = TestSubscriber(10, timeout=DEADLINE)
    source = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
    bridge.from_jvm(source, convert=convert).subscribe(received)
    assert message in str(received.await_error())


def test_a_bridge_that_is_closed_immediately_leaves_no_mirror_in_the_jvm(
    bridge: Bridge, machine: tuple[Callable[..., Bridge], Java]
) -> None:
    """The answers of control calls are kept for three seconds; they must not outlive their bridge."""
    connect, _ = machine
    short = connect()
    weak = bridge.java_class("java.lang.ref.WeakReference")(short.to_jvm(pyrs.just(1)))
    assert weak.get() is not None
    assert short.close(DEADLINE)
    system = bridge.java_class("java.lang.System")

    def is_collected() -> bool:
        system.gc()
        return weak.get() is None

    collected(is_collected, "the JVM still references the mirror")
