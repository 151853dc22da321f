"""Every row of the value table (docs/values.md), in both directions."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import uuid
import zoneinfo
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest

import pyrs
from pyrs.errors import ConversionError
from pyrs.jvm import Bridge, JavaFuture, JavaObject
from tests.interop.harness import DEADLINE, Java
from tests.values_e2e.support import described, error_in_java, error_in_python, recorded, round_trip, to_python

UTC = dt.timezone.utc
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
EMOJI = "gr\u00fc\u00df \U0001f600"


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Access(enum.Flag):
    READ = 1


class Name(str):
    pass


Pair = namedtuple("Pair", "first second")


def offset(hours: int, minutes: int = 0) -> dt.timezone:
    return dt.timezone(dt.timedelta(hours=hours, minutes=minutes))


FROM_JAVA: list[tuple[str, Any]] = [
    ("Boolean", True),
    ("Byte", -128),
    ("Short", 32767),
    ("Integer", -(2**31)),
    ("Long", 2**63 - 1),
    ("Long.MIN", -(2**63)),
    ("BigInteger", 2**200),
    ("BigInteger.negative", -(2**200)),
    ("BigInteger.small", 5),
    ("BigInteger.unsigned", 2**64 - 1),
    ("Float", 1.5),
    ("Double", 0.1),
    ("Double.infinite", -math.inf),
    ("BigDecimal", decimal.Decimal("1.50")),
    ("BigDecimal.exponent", decimal.Decimal("12E+30")),
    ("String", EMOJI),
    ("String.empty", ""),
    ("Character", "x"),
    ("byte[]", b"\x00\x01\xff"),
    ("byte[].empty", b""),
    ("ByteBuffer", b"\x01\x02"),
    ("ByteBuffer.readOnly", b"\x01\x02"),
    ("ByteBuffer.direct", b"\x01\x02"),
    ("List<ByteBuffer>", [b"\x01", b"\x02\x03"]),
    ("List", [1, "a", [2.5]]),
    ("List.null", [1, None]),
    ("LinkedList", [1, 2]),
    ("Deque", [1, 2]),
    ("Set", {1, 2, 3}),
    ("Set.of", {"a", "b"}),
    ("Map", {"a": 1, "b": [2]}),
    ("Map.numbers", {1: "one"}),
    ("Map.empty", {}),
    ("Optional", "there"),
    ("Optional.empty.in.list", [None]),
    ("OptionalInt", 4),
    ("OptionalLong", 5),
    ("OptionalDouble", 1.5),
    ("Object[]", [1, "a"]),
    ("String[]", ["a", "b"]),
    ("int[]", [1, 2]),
    ("long[]", [1, 2]),
    ("short[]", [1, 2]),
    ("double[]", [1.5]),
    ("float[]", [1.5]),
    ("boolean[]", [True, False]),
    ("char[]", ["a", "b"]),
    ("int[][]", [[1], [2, 3]]),
    ("enum", "FRIDAY"),
    ("enum.body", "SECONDS"),
    ("UUID", uuid.UUID("01234567-89ab-cdef-fedc-ba9876543210")),
    ("LocalDate", dt.date(2024, 2, 29)),
    ("LocalTime", dt.time(23, 59, 58, 123456)),
    ("OffsetTime", dt.time(1, 2, 3, tzinfo=offset(2))),
    ("LocalDateTime", dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("OffsetDateTime", dt.datetime(2024, 1, 2, 3, 4, 5, 6, offset(-3, -30))),
    ("ZonedDateTime", dt.datetime(2024, 7, 1, 12, tzinfo=BERLIN)),
    ("Instant", dt.datetime(1969, 12, 31, 23, 59, 59, 500000, UTC)),
    ("Instant.nanos", dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),  # lossy: nanoseconds are cut off
    ("Date", dt.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)),
    ("ZonedDateTime.offset", dt.datetime(2024, 7, 1, 12, tzinfo=offset(2))),
    ("sql.Date", dt.date(2024, 2, 29)),
    ("sql.Time", dt.time(23, 59, 58)),
    ("sql.Timestamp", dt.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)),  # lossy
    ("LocalTime.nanos", dt.time(0, 0, 0, 1)),  # lossy
    ("Set.lists", {(1, 2)}),
    ("Set.sets", {frozenset({1})}),
    ("record", {"left": 1, "right": "one"}),
    ("Duration", dt.timedelta(milliseconds=-500)),
    ("Duration.nanos", dt.timedelta(0)),  # lossy
]


@pytest.mark.parametrize(("row", "expected"), FROM_JAVA, ids=[row for row, _ in FROM_JAVA])
def test_a_java_value_becomes_the_python_value(bridge: Bridge, java: Java, row: str, expected: Any) -> None:
    value = to_python(bridge, java.static("interop.Table", "publisher", row))
    assert value == expected
    assert type(value) is type(expected)
    if isinstance(value, (dt.datetime, dt.time)):
        assert value.utcoffset() == expected.utcoffset()
        assert str(value.tzinfo) == str(expected.tzinfo)


FROM_PYTHON: list[tuple[str, Any, str]] = [
    ("bool", True, "Boolean true"),
    ("int", 5, "Long 5"),
    ("int.least", -(2**63), "Long -9223372036854775808"),
    ("int.2^63", 2**63, f"BigInteger {2**63}"),
    ("int.2^64", 2**64, f"BigInteger {2**64}"),
    ("int.2^200", 2**200, f"BigInteger {2**200}"),
    ("int.-2^200", -(2**200), f"BigInteger {-(2**200)}"),
    ("float", 0.1, "Double 0.1"),
    ("float.nan", math.nan, "Double NaN"),
    ("float.infinite", -math.inf, "Double -Infinity"),
    ("float.zero", -0.0, "Double -0.0"),
    ("Decimal", decimal.Decimal("1.50"), "BigDecimal 1.50"),
    ("str", EMOJI, f"String {EMOJI}"),
    ("str.empty", "", "String "),
    ("str.subclass", Name("n"), "String n"),
    ("bytes", b"\x00\x01\xff", "byte[] 0001ff"),
    ("bytes.empty", b"", "byte[] "),
    ("bytearray", bytearray(b"\x01"), "byte[] 01"),
    ("memoryview", memoryview(b"\x01"), "byte[] 01"),
    ("list", [1, "a", [2.5]], "List[Long 1, String a, List[Double 2.5]]"),
    ("list.none", [1, None], "List[Long 1, null]"),
    ("tuple", (1, 2), "List[Long 1, Long 2]"),
    ("namedtuple", Pair(1, 2), "List[Long 1, Long 2]"),
    ("set", {3, 1}, "Set[Long 1, Long 3]"),
    ("frozenset", frozenset({"a"}), "Set[String a]"),
    ("dict", {"a": 1, "b": [2]}, "Map{String a: Long 1, String b: List[Long 2]}"),
    ("dict.empty", {}, "Map{}"),
    ("dict.numbers", {1: None}, "Map{Long 1: null}"),
    ("dict.ordered", OrderedDict(b=1, a=2), "Map{String b: Long 1, String a: Long 2}"),
    ("Enum", Colour.RED, "String RED"),
    ("IntEnum", Level.HIGH, "String HIGH"),
    ("UUID", uuid.UUID(int=5), "UUID 00000000-0000-0000-0000-000000000005"),
    ("date", dt.date(2024, 2, 29), "LocalDate 2024-02-29"),
    ("time", dt.time(23, 59, 58, 123456), "LocalTime 23:59:58.123456"),
    ("time.offset", dt.time(1, 2, 3, tzinfo=offset(2)), "OffsetTime 01:02:03+02:00"),
    ("datetime", dt.datetime(1969, 12, 31, 23, 59, 59, 999999), "LocalDateTime 1969-12-31T23:59:59.999999"),
    ("datetime.utc", dt.datetime(2024, 1, 1, tzinfo=UTC), "OffsetDateTime 2024-01-01T00:00Z"),
    ("datetime.offset", dt.datetime(2024, 1, 1, tzinfo=offset(-3, -30)), "OffsetDateTime 2024-01-01T00:00-03:30"),
    (
        "datetime.zone",
        dt.datetime(2024, 7, 1, 12, tzinfo=BERLIN),
        "ZonedDateTime 2024-07-01T12:00+02:00[Europe/Berlin]",
    ),
    ("timedelta", dt.timedelta(days=1, microseconds=5), "Duration PT24H0.000005S"),
    ("timedelta.negative", dt.timedelta(milliseconds=-500), "Duration PT-0.5S"),
    ("numpy.int64", numpy.int64(7), "Long 7"),
    ("numpy.uint64", numpy.uint64(2**63), f"BigInteger {2**63}"),
    ("numpy.float32", numpy.float32(1.5), "Double 1.5"),
    ("numpy.bool", numpy.bool_(True), "Boolean true"),
    ("numpy.str", numpy.str_("s"), "String s"),
    ("numpy.bytes", numpy.bytes_(b"s"), "byte[] 73"),
    ("numpy.timedelta64", numpy.timedelta64(5, "s"), "Duration PT5S"),
    ("Flag", Access.READ, "String READ"),
    ("Decimal.exponent", decimal.Decimal("1E+30"), "BigDecimal 1E+30"),
    ("Decimal.zero", decimal.Decimal("-0"), "BigDecimal 0"),
    (
        "datetime.skipped",
        dt.datetime(2024, 3, 31, 2, 30, tzinfo=BERLIN),
        "ZonedDateTime 2024-03-31T03:30+02:00[Europe/Berlin]",
    ),
    ("set.tuples", {(1, "a")}, "Set[List[Long 1, String a]]"),
    ("numpy.datetime64", numpy.datetime64("2024-01-01T00:00:00", "us"), "LocalDateTime 2024-01-01T00:00"),
]


@pytest.mark.parametrize(("value", "expected"), [row[1:] for row in FROM_PYTHON], ids=[row[0] for row in FROM_PYTHON])
def test_a_python_value_becomes_the_java_value(bridge: Bridge, java: Java, value: Any, expected: str) -> None:
    assert described(java, bridge, value) == expected


def test_every_row_crosses_in_one_stream(bridge: Bridge, java: Java) -> None:
    values = [value for _, value, _ in FROM_PYTHON]
    assert described(java, bridge, *values) == " | ".join(expected for _, _, expected in FROM_PYTHON)


def round_trips() -> list[Any]:
    """Return the values of the shared vectors that need only the standard library."""
    path = Path(__file__).parent.parent / "vectors" / "values.json"
    names = {
        "datetime": dt,
        "decimal": decimal,
        "uuid": uuid,
        "zoneinfo": zoneinfo,
        "float": float,
        "set": set,
        "frozenset": frozenset,
        "range": range,
        "list": list,
        "tuple": tuple,
        "str": str,
        "bytes": bytes,
    }
    found = []
    for vector in json.loads(path.read_text(encoding="utf-8")):
        if "python" not in vector or "python_back" in vector or vector["python"] == "None":
            continue
        found.append(pytest.param(eval(vector["python"], {"__builtins__": {}}, names), id=vector["name"]))
    assert len(found) > 40
    return found


@pytest.mark.parametrize("value", round_trips())
def test_a_value_survives_a_round_trip(bridge: Bridge, java: Java, value: Any) -> None:
    back = round_trip(java, bridge, value)
    assert type(back) is type(value)
    assert back == value or (value != value and back != back)
    assert str(back) == str(value) or isinstance(value, (set, frozenset))


def test_nan_and_negative_zero_are_kept(bridge: Bridge, java: Java) -> None:
    assert math.isnan(to_python(bridge, java.static("interop.Table", "publisher", "Double.NaN")))
    zero = to_python(bridge, java.static("interop.Table", "publisher", "Double.zero"))
    assert math.copysign(1, zero) == -1


def test_an_arrow_batch_survives_a_round_trip(bridge: Bridge, java: Java) -> None:
    batch = pyarrow.RecordBatch.from_pydict({"n": [1, 2, None], "s": ["a", None, "c"]})
    assert java.call(recorded(java, bridge, batch), "classes") == "io.pyrs.value.ArrowBatch"
    back = round_trip(java, bridge, batch)
    assert isinstance(back, pyarrow.RecordBatch)
    assert back.equals(batch)


def test_large_arrow_batches_survive_a_round_trip(bridge: Bridge, java: Java) -> None:
    rows = range(100_000)
    columns = [pyarrow.array(rows), pyarrow.array([None if row % 7 == 0 else f"row {row}" for row in rows])]
    batch = pyarrow.RecordBatch.from_arrays(columns, ["n", "s"])
    batches = [batch, batch.slice(3, 50_000), batch.slice(0, 1), batch.slice(50_000)]
    publisher = bridge.to_jvm(pyrs.from_iterable([*batches, [batch]]))
    flux = java.static("reactor.core.publisher.Flux", "from", publisher)
    *back, [nested] = bridge.from_jvm(flux).collect(timeout=DEADLINE)
    assert [each.num_rows for each in back] == [100_000, 50_000, 1, 50_000]
    assert all(each.equals(sent) for each, sent in zip(back, batches, strict=True))
    assert nested.equals(batch)
    assert back[0].column(0).buffers()[1].address % 8 == 0


NOT_IN_PYTHON = [
    ("LocalDate.far", "java.time.LocalDate"),
    ("LocalDateTime.far", "java.time.LocalDateTime"),
    ("Instant.far", "java.time"),
    ("Duration.far", "java.time.Duration"),
    ("Set.maps", "dict"),
    ("Map.lists", "key of a dict"),
    ("itself", "java.util.ArrayList"),
]


@pytest.mark.parametrize(("row", "named"), NOT_IN_PYTHON, ids=[row for row, _ in NOT_IN_PYTHON])
def test_an_unconvertible_java_value_fails_only_its_stream(bridge: Bridge, java: Java, row: str, named: str) -> None:
    error = error_in_python(bridge, java.static("interop.Table", "publisher", row))
    assert isinstance(error, ConversionError)
    assert named in str(error)
    assert described(java, bridge, 5) == "Long 5", "the bridge is no longer usable"


def itself() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


NOT_IN_JAVA: list[tuple[str, Any, str]] = [
    ("Decimal.nan", decimal.Decimal("NaN"), "Decimal"),
    ("Decimal.infinite", decimal.Decimal("Infinity"), "Decimal"),
    ("time.zone", dt.time(1, tzinfo=BERLIN), "datetime.time"),
    ("datetime.offset", dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=1, microseconds=5))), "offset"),
    ("dict.tuple", {(1, 2): 3}, "key"),
    ("itself", itself(), "list"),
    ("numpy.nat", numpy.datetime64("NaT", "us"), "numpy.datetime64"),
    ("Flag.unnamed", Access(0), "Access"),
]


@pytest.mark.parametrize(("value", "named"), [row[1:] for row in NOT_IN_JAVA], ids=[row[0] for row in NOT_IN_JAVA])
def test_an_unconvertible_python_value_fails_only_its_stream(
    bridge: Bridge, java: Java, value: Any, named: str
) -> None:
    error = error_in_java(java, bridge, 1, value)
    assert named in java.call(error, "getMessage")
    assert described(java, bridge, 5) == "Long 5", "the bridge is no longer usable"


@pytest.mark.parametrize("row", ["StringBuilder", "AtomicLong"])
def test_a_java_value_without_a_row_is_a_reference(bridge: Bridge, java: Java, row: str) -> None:
    value = to_python(bridge, java.static("interop.Table", "publisher", row))
    assert isinstance(value, JavaObject)
    assert str(value) == {"StringBuilder": "built", "AtomicLong": "5"}[row]


def test_a_completion_stage_becomes_a_java_future(bridge: Bridge, java: Java) -> None:
    stage = to_python(bridge, java.static("interop.Table", "publisher", "CompletionStage"))
    assert isinstance(stage, JavaFuture)
    assert stage.result(DEADLINE) == 7


@pytest.mark.parametrize(
    "value", [range(3), len, numpy.zeros(3), object()], ids=["range", "function", "array", "object"]
)
def test_a_python_value_without_a_row_is_a_reference(bridge: Bridge, java: Java, value: Any) -> None:
    assert java.call(recorded(java, bridge, value), "classes") == "io.pyrs.PyRef"
    assert round_trip(java, bridge, value) is value


def test_integer_and_float_keys_keep_their_types(bridge: Bridge, java: Java) -> None:
    assert described(java, bridge, {1: "a", 2.0: "b"}) == "Map{Long 1: String a, Double 2.0: String b}"


def test_a_vector_schema_root_becomes_a_record_batch(bridge: Bridge, java: Java, carrier: str) -> None:
    if carrier == "jpype":
        pytest.skip("Arrow for Java comes with Spark")
    vector = java.new("org.apache.arrow.vector.IntVector", "n", java.new("org.apache.arrow.memory.RootAllocator"))
    java.call(vector, "allocateNew", 2)
    java.call(vector, "set", 0, 5)
    java.call(vector, "setValueCount", 2)
    vectors = java.new("java.util.ArrayList")
    java.call(vectors, "add", vector)
    root = java.new("org.apache.arrow.vector.VectorSchemaRoot", vectors)
    java.call(root, "setRowCount", 2)
    batch = to_python(bridge, java.static("interop.Sources", "one", root))
    java.call(root, "close")
    assert isinstance(batch, pyarrow.RecordBatch)
    assert batch.to_pydict() == {"n": [5, None]}


def test_an_empty_optional_as_an_element_fails_the_stream(bridge: Bridge, java: Java) -> None:
    error = error_in_python(bridge, java.static("interop.Sources", "one", java.static("java.util.Optional", "empty")))
    assert "java.util.Optional" in str(error)


def test_a_dataclass_is_a_reference(bridge: Bridge, java: Java) -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    point = Point(1)
    assert java.call(recorded(java, bridge, point), "classes") == "io.pyrs.PyRef"
    assert round_trip(java, bridge, point) is point
