"""The conversions that a user selects: ``element_type=`` and ``convert=``."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
from typing import Any

import pytest

import pyrs
from pyrs.errors import ConversionError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, Watched
from tests.values_e2e.support import described, error_in_java, error_in_python, to_python

MOMENT = dt.datetime(2024, 1, 2, 12, 4, 5, tzinfo=dt.timezone.utc)

FITTING: list[tuple[str, Any, str]] = [
    ("java.lang.Long", 5, "Long 5"),
    ("java.lang.Integer", 5, "Integer 5"),
    ("int", -5, "Integer -5"),
    ("java.lang.Short", 5, "Short 5"),
    ("java.lang.Byte", -128, "Byte -128"),
    ("java.lang.Double", 1, "Double 1.0"),
    ("java.lang.Float", 1.5, "Float 1.5"),
    ("java.lang.Boolean", True, "Boolean true"),
    ("java.lang.Character", "x", "Character x"),
    ("java.lang.String", "x", "String x"),
    ("java.math.BigInteger", 5, "BigInteger 5"),
    ("java.math.BigDecimal", 5, "BigDecimal 5"),
    ("java.math.BigDecimal", decimal.Decimal("1.50"), "BigDecimal 1.50"),
    ("java.nio.ByteBuffer", b"\x01\x02", "ByteBuffer 0102"),
    ("byte[]", b"\x01", "byte[] 01"),
    ("long[]", [1, 2], "long[][Long 1, Long 2]"),
    ("int[]", (1, 2), "int[][Integer 1, Integer 2]"),
    ("java.lang.String[]", ["a"], "String[][String a]"),
    ("java.util.List<java.nio.ByteBuffer>", [b"\x01", b"\x02"], "List[ByteBuffer 01, ByteBuffer 02]"),
    ("java.util.List", [1], "List[Long 1]"),
    ("java.util.Map", {"a": 1}, "Map{String a: Long 1}"),
    ("java.time.Instant", MOMENT, "Instant 2024-01-02T12:04:05Z"),
    ("java.time.DayOfWeek", "FRIDAY", "DayOfWeek FRIDAY"),
    ("long", 5, "Long 5"),
    ("boolean", True, "Boolean true"),
    ("java.lang.Float", 0.1, "Float 0.1"),
    ("java.util.UUID", uuid.UUID(int=5), "UUID 00000000-0000-0000-0000-000000000005"),
    ("java.util.Date", MOMENT, "Date Tue Jan 02"),
    ("java.time.OffsetDateTime", MOMENT, "OffsetDateTime 2024-01-02T12:04:05Z"),
    ("java.time.ZonedDateTime", MOMENT, "ZonedDateTime 2024-01-02T12:04:05Z"),
    ("java.util.Optional", "x", "Optional Optional[x]"),
    ("java.util.Set<java.lang.Integer>", {1, 2}, "Set[Integer 1, Integer 2]"),
    ("java.util.Collection", [1], "List[Long 1]"),
    ("int[][]", [[1], []], "int[][][int[][Integer 1], int[][]]"),
    ("boolean[]", [True], "boolean[][Boolean true]"),
    ("byte[]", bytearray(b"\x01"), "byte[] 01"),
    ("java.lang.Number", 5, "Long 5"),
    ("java.lang.Object", "x", "String x"),
]


@pytest.mark.parametrize(
    ("element_type", "value", "expected"),
    FITTING,
    ids=[f"{java_type}-{value!r}"[:50] for java_type, value, _ in FITTING],
)
def test_element_type_selects_the_java_class(
    bridge: Bridge, java: Java, element_type: str, value: Any, expected: str
) -> None:
    # toString of a Date uses the time zone of the JVM.
    text = described(java, bridge, value, element_type=element_type)
    assert text == expected or (element_type == "java.util.Date" and text.startswith(expected))


UNFIT: list[tuple[str, Any, str]] = [
    ("java.lang.Integer", 2**31, "int"),
    ("java.lang.Integer", 2**200, "int"),
    ("java.lang.Integer", 1.0, "float"),
    ("java.lang.Integer", True, "bool"),
    ("java.lang.Long", "5", "str"),
    ("java.lang.Byte", 128, "int"),
    ("java.lang.String", 5, "int"),
    ("java.lang.String", b"x", "bytes"),
    ("java.nio.ByteBuffer", "text", "str"),
    ("java.lang.Boolean", 1, "int"),
    ("java.lang.Double", 2**53 + 1, "int"),
    ("java.time.DayOfWeek", "NEVER", "str"),
    ("java.lang.Character", "xy", "str"),
    ("java.lang.Float", 1e300, "float"),
    ("java.time.Instant", dt.datetime(2024, 1, 1), "datetime.datetime"),
    ("java.util.List<java.lang.Integer>", [1, "a"], "str"),
    ("int[]", [1, None], "None inside a list"),
]


@pytest.mark.parametrize(
    ("element_type", "value", "python"), UNFIT, ids=[f"{java_type}-{value!r}"[:50] for java_type, value, _ in UNFIT]
)
def test_error_of_an_element_that_does_not_fit_names_both_types(
    bridge: Bridge, java: Java, element_type: str, value: Any, python: str
) -> None:
    message = java.call(error_in_java(java, bridge, value, element_type=element_type), "getMessage")
    innermost = element_type.partition("<")[2].rstrip(">") or element_type
    assert f"{python} does not fit {innermost}" in message


def test_an_element_that_does_not_fit_cancels_the_python_source(bridge: Bridge, java: Java, recorder: Any) -> None:
    source = Watched(lambda: itertools.chain([1, 2, "three"], itertools.count(4)))
    java.static("interop.Functions", "subscribe", bridge.to_jvm(source, element_type="java.lang.Integer"), recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "error"
    assert java.call(recorder, "text") == "1 2"
    assert java.call(recorder, "classes") == "java.lang.Integer"
    assert source.cancelled.wait(DEADLINE)


def test_object_matches_an_element_type_that_is_its_interface(bridge: Bridge, java: Java) -> None:
    thing = to_python(bridge, java.static("interop.Sources", "one", java.static("interop.Table", "thing")))
    assert described(java, bridge, thing, element_type="interop.Table$Greeter") == "Hidden a hidden thing"
    assert described(java, bridge, thing, element_type="interop.Table.Greeter") == "Hidden a hidden thing"
    message = java.call(error_in_java(java, bridge, thing, element_type="java.util.List"), "getMessage")
    assert "interop.Table$Hidden" in message


def test_element_type_that_does_not_exist_is_rejected(bridge: Bridge) -> None:
    with pytest.raises(Exception, match=r"no\.such\.Type"):
        bridge.to_jvm(pyrs.just(1), element_type="no.such.Type")


class TestConvert:
    @pytest.fixture
    def points(self, java: Java) -> Any:
        return java.static("interop.Sources", "one", java.new("interop.Table$Point", 1, 2))

    @pytest.fixture
    def lists(self, java: Java) -> Any:
        return java.static("interop.Table", "publisher", "LinkedList")

    @pytest.mark.parametrize("convert", [None, "auto"])
    def test_auto_converts_collections_and_keeps_beans(
        self, bridge: Bridge, points: Any, lists: Any, convert: str | None
    ) -> None:
        assert isinstance(to_python(bridge, points, convert), JavaObject)
        assert to_python(bridge, lists, convert) == [1, 2]

    def test_values_converts_beans(self, bridge: Bridge, points: Any, lists: Any) -> None:
        assert to_python(bridge, points, "values") == {"x": 1, "y": 2}
        assert to_python(bridge, lists, "values") == [1, 2]

    def test_values_refuses_an_object_without_properties(self, bridge: Bridge, java: Java) -> None:
        error = error_in_python(
            bridge, java.static("interop.Sources", "one", java.static("interop.Table", "thing")), "values"
        )
        assert isinstance(error, ConversionError)
        assert "interop.Table$Hidden" in str(error)

    def test_references_keeps_collections_in_java(self, bridge: Bridge, java: Java, points: Any, lists: Any) -> None:
        assert isinstance(to_python(bridge, points, "references"), JavaObject)
        found = to_python(bridge, lists, "references")
        assert isinstance(found, JavaObject)
        assert found.size() == 2
        assert to_python(bridge, java.static("interop.Table", "publisher", "Long"), "references") == 2**63 - 1

    def test_a_mapping_selects_the_conversion_by_class(
        self, bridge: Bridge, java: Java, points: Any, lists: Any
    ) -> None:
        by_class = {"interop.Table$Point": "values", "java.util.List": "references"}
        assert to_python(bridge, points, by_class) == {"x": 1, "y": 2}
        assert isinstance(to_python(bridge, lists, by_class), JavaObject)
        assert to_python(bridge, java.static("interop.Table", "publisher", "Map"), by_class)["a"] == 1

    def test_convert_applies_to_a_subscriber(self, bridge: Bridge, java: Java, points: Any) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        java.static("interop.Functions", "subscribe", points, bridge.to_jvm(received, convert="values"))
        assert received.await_complete() == [{"x": 1, "y": 2}]

    def test_convert_applies_to_a_stage(self, bridge: Bridge, java: Java, points: Any, recorder: Any) -> None:
        stage = bridge.to_jvm_stage(lambda s: s.map(lambda point: point["x"] + point["y"]), convert="values")
        java.static(
            "interop.Functions", "subscribe", java.static("interop.Functions", "assembled", stage, points), recorder
        )
        assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete", java.call(recorder, "errorMessage")
        assert java.call(recorder, "described") == "Long 3"

    def test_convert_applies_to_a_callable(self, bridge: Bridge, java: Java) -> None:
        function = bridge.to_jvm_callable(lambda point: point["y"], "java.util.function.Function", convert="values")
        point = java.new("interop.Table$Point", 1, 2)
        assert java.static("interop.Functions", "apply", function, point) == "Long 2"
