"""Conversion of classes of Akka and R2DBC, in both directions."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import pytest

import pyrs
from pyrs.errors import ConversionError, JavaError
from pyrs.jvm import Bridge, JavaObject
from tests.interop.harness import DEADLINE
from tests.values_e2e.support import to_python

BYTE_STRING = "akka.util.ByteString"


class TestByteStrings:
    @pytest.fixture
    def text(self, bridge: Bridge) -> Any:
        strings = bridge.java_class(BYTE_STRING)
        return strings.fromArray(b"ab").concat(strings.fromArray(b"c"))  # an object of a class that is not public

    @pytest.fixture
    def flux(self, bridge: Bridge) -> Any:
        return bridge.java_class("reactor.core.publisher.Flux")

    def test_a_byte_string_is_converted_to_bytes(self, bridge: Bridge, flux: Any, text: Any) -> None:
        assert to_python(bridge, flux.just(text), "values") == b"abc"
        assert to_python(bridge, flux.just(text), {BYTE_STRING: "values"}) == b"abc"
        assert to_python(bridge, flux.just([text]), "values") == [b"abc"]
        assert bridge.value_of(text) == b"abc"

    def test_a_byte_string_is_a_reference_by_default(self, bridge: Bridge, flux: Any, text: Any) -> None:
        found = to_python(bridge, flux.just(text))
        assert isinstance(found, JavaObject)
        assert found == text

    def test_bytes_are_converted_to_a_byte_string(self, bridge: Bridge, flux: Any) -> None:
        publisher = flux.from_(bridge.to_jvm(pyrs.just(b"xyz"), element_type=BYTE_STRING))
        assert to_python(bridge, publisher).utf8String() == "xyz"
        refused = flux.from_(bridge.to_jvm(pyrs.just("text"), element_type=BYTE_STRING))
        with pytest.raises(ConversionError, match=r"str does not fit akka\.util\.ByteString"):
            bridge.from_jvm(refused).collect(timeout=DEADLINE)

    def test_an_element_type_of_a_missing_library_is_refused(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError, match=r"software\.amazon\.awssdk\.core\.SdkBytes: the class is missing"):
            bridge.to_jvm(pyrs.just(b""), element_type="software.amazon.awssdk.core.SdkBytes")


class TestRows:
    @pytest.fixture
    def connection(self, bridge: Bridge) -> Iterator[Any]:
        factory = bridge.java_class("io.r2dbc.spi.ConnectionFactories").get("r2dbc:h2:mem:///values_of_rows")
        (connection,) = bridge.from_jvm(factory.create()).collect(timeout=DEADLINE)
        yield connection
        bridge.from_jvm(connection.close()).collect(timeout=DEADLINE)

    def rows(self, bridge: Bridge, connection: Any, sql: str, interface: str, convert: object = "values") -> list[Any]:
        (result,) = bridge.from_jvm(connection.createStatement(sql).execute()).collect(timeout=DEADLINE)
        rows: list[Any] = bridge.from_jvm(result.map(bridge.value_function(interface, convert=convert))).collect(
            timeout=DEADLINE
        )
        return rows

    @pytest.mark.parametrize("interface", ["java.util.function.Function", "java.util.function.BiFunction"])
    def test_rows_are_dicts_in_column_order(self, bridge: Bridge, connection: Any, interface: str) -> None:
        columns = "x AS id, 'n' || x AS name, NULL AS none, DATE '2024-01-02' AS d, X'0102' AS b, 1.50 AS p"
        rows = self.rows(bridge, connection, f"SELECT {columns} FROM SYSTEM_RANGE(1, 2)", interface)
        rest = {"NONE": None, "D": dt.date(2024, 1, 2), "B": b"\x01\x02", "P": decimal.Decimal("1.50")}
        assert rows == [{"ID": 1, "NAME": "n1", **rest}, {"ID": 2, "NAME": "n2", **rest}]
        assert list(rows[0]) == ["ID", "NAME", "NONE", "D", "B", "P"]

    def test_two_columns_of_one_name_are_refused(self, bridge: Bridge, connection: Any) -> None:
        with pytest.raises(ConversionError, match=r"two columns of the same name .* \[A, A\]"):
            self.rows(bridge, connection, "SELECT 1 AS a, 2 AS a", "java.util.function.Function")

    def test_references_returns_the_java_object(self, bridge: Bridge, connection: Any) -> None:
        (row,) = self.rows(bridge, connection, "SELECT 1 AS a", "java.util.function.Function", "references")
        assert isinstance(row, JavaObject)


class TestOneObject:
    def test_value_of_converts_classes_of_the_value_table(self, bridge: Bridge) -> None:
        assert bridge.value_of(bridge.java_class("java.util.List").of(1, "a")) == [1, "a"]
        assert bridge.value_of(bridge.java_class("java.time.Duration").ofSeconds(90)) == dt.timedelta(seconds=90)
        assert bridge.value_of(bridge.java_class("java.util.Optional").empty()) is None

    def test_value_of_converts_a_bean_unless_convert_is_auto(self, bridge: Bridge, java: Any) -> None:
        point = java.new("interop.Table$Point", 1, 2)
        assert bridge.value_of(point) == {"x": 1, "y": 2}
        assert isinstance(bridge.value_of(point, convert="auto"), JavaObject)
        assert bridge.value_of(point, convert={"interop.Table$Point": "values"}) == {"x": 1, "y": 2}

    def test_value_of_refuses_an_object_without_properties(self, bridge: Bridge) -> None:
        with pytest.raises(ConversionError, match=r"java\.lang\.Object cannot be converted to a value"):
            bridge.value_of(bridge.java_class("java.lang.Object")())

    def test_value_function_returns_a_python_object_itself(self, bridge: Bridge) -> None:
        thing = object()
        flux = bridge.java_class("reactor.core.publisher.Flux").just([thing, 1]).map(bridge.value_function())
        assert bridge.from_jvm(flux).collect(timeout=DEADLINE) == [[thing, 1]]

    def test_value_function_refuses_an_interface_with_two_methods(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError, match="is not an interface with a single abstract method"):
            bridge.value_function("java.util.Iterator")

    @pytest.mark.parametrize("interface", ["java.util.function.Supplier", "java.util.function.Consumer"])
    def test_function_without_argument_or_result_is_rejected(self, bridge: Bridge, interface: str) -> None:
        with pytest.raises(JavaError, match=r"must take the value and return a result, as .*Function"):
            bridge.value_function(interface)
