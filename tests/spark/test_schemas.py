"""Encoding of elements as Arrow batches: accepted values, and the path of a value that does not fit."""

from __future__ import annotations

import datetime
import pickle
import time
from collections import namedtuple
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from pyspark.sql import Row
from pyspark.sql import types as t

from pyrs import spark as ps
from pyrs.spark.schema.arrow import checked_shape
from pyrs.spark.schema.rows import RowEncoder, SchemaMisfit, checked_schema
from pyrs.spark.schema.zones import naive, with_zone, zoned
from tests.spark.jobs import JOB_DEADLINE

PAIR = t.StructType().add("n", t.LongType()).add("name", t.StringType())


def encoded(kind: t.DataType, *values: Any) -> list[Any]:
    schema = t.StructType().add("c", kind)
    return RowEncoder(schema).batch([(value,) for value in values]).column(0).to_pylist()


def test_rows_tuples_lists_and_dicts_become_rows_of_a_batch() -> None:
    named = namedtuple("named", "name n")
    elements = [(1, "a"), [2, "b"], {"name": "c", "n": 3}, Row(n=4, name="d"), Row(name="e", n=5), named("f", 6)]
    batch = RowEncoder(PAIR).batch(elements)
    assert batch.to_pylist() == [{"n": i + 1, "name": "abcdef"[i]} for i in range(6)]
    assert RowEncoder(PAIR).batch([{"n": 1}, Row(name="x")]).to_pydict() == {"n": [1, None], "name": [None, "x"]}


def test_a_row_with_two_fields_of_one_name_is_not_matched_by_name() -> None:
    """Otherwise one of the values would be lost, and another field null."""
    with pytest.raises(SchemaMisfit, match=r"element 0, .*: has two fields with the same name: n, n"):
        RowEncoder(PAIR).batch([Row("n", "n")(1, "a")])


def test_an_element_that_cannot_be_read_is_named() -> None:
    """``read_stream`` emits the rows before it, and ``for_each_frame`` fails with the documented error."""

    class Broken(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            raise LookupError(name)

    for element, text in [
        (Row("name", "n")("x"), "has 1 values, but 2 names: name, n"),
        (Broken(n=1), "cannot be read: LookupError: n"),
    ]:
        with pytest.raises(SchemaMisfit, match=f"element 41, .*: {text}") as caught:
            RowEncoder(PAIR).batch([(1, "a"), element], first=40)
        assert caught.value.element == 41


def test_a_list_that_changes_while_it_is_read_is_named() -> None:
    """Its last values would become the first values of the next list."""

    class Growing(list[int]):
        def __len__(self) -> int:
            return 1

    class Raising(dict[str, int]):
        def values(self) -> Any:
            raise LookupError("broken")

    growing: list[Any] = [None, [7], Growing([1, 2]), [8]]
    for kind, values, text in [
        (t.ArrayType(t.LongType()), growing, r"\[1, 2\] is of type Growing: its length changed while it was read"),
        (t.MapType(t.StringType(), t.LongType()), [{}, {}, Raising(a=1)], "is of type Raising: broken"),
    ]:
        with pytest.raises(SchemaMisfit, match=f"element 2, .*{text}"):
            encoded(kind, *values)


def test_fields_within_a_column_may_have_comments() -> None:
    commented = t.StructType().add("n", t.LongType(), True, {"comment": "a number"})
    assert encoded(commented, (1,)) == [{"n": 1}]
    assert encoded(t.ArrayType(t.MapType(t.StringType(), commented)), [{"a": (1,)}]) == [[[("a", {"n": 1})]]]


def test_batch_of_no_rows_has_the_schema() -> None:
    batch = RowEncoder(PAIR).batch([])
    assert batch.num_rows == 0 and batch.schema.names == ["n", "name"]


def test_an_encoder_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(RowEncoder(PAIR))).batch([(1, "a")]).num_rows == 1


def test_numbers_of_third_party_libraries_are_accepted() -> None:
    numpy = pytest.importorskip("numpy")
    assert encoded(t.LongType(), numpy.int32(3), 4) == [3, 4]
    assert encoded(t.DoubleType(), numpy.float32(0.5), 1) == [0.5, 1.0]
    assert encoded(t.ArrayType(t.DoubleType()), numpy.array([0.5, 1.5]), [2], ()) == [[0.5, 1.5], [2.0], []]
    assert encoded(t.FloatType(), float("inf"), numpy.float32(0.5), None) == [float("inf"), 0.5, None]


def test_a_scalar_of_numpy_is_not_a_list() -> None:
    numpy = pytest.importorskip("numpy")
    for kind, value in [
        (t.LongType(), numpy.int64(3)),
        (t.LongType(), numpy.array(3)),
        (t.StringType(), numpy.str_("text")),
    ]:
        with pytest.raises(SchemaMisfit, match=r"element 1, .*: field 'c' is of type array<") as caught:
            encoded(t.ArrayType(kind), [], value)
        assert caught.value.element == 1


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (t.LongType(), "x", "field 'c' is of type bigint, but 'x' is of type str"),
        (t.LongType(), 1.0, "field 'c' is of type bigint, but 1.0 is of type float"),
        (t.LongType(), True, "field 'c' is of type bigint, but True is of type bool"),
        (t.ByteType(), 300, "field 'c' is of type tinyint, but 300 is of type int: Value 300 too large"),
        (t.StringType(), b"x", "field 'c' is of type string, but b'x' is of type bytes"),
        (t.BinaryType(), "x", "field 'c' is of type binary, but 'x' is of type str"),
        (t.DateType(), datetime.datetime(2020, 1, 1, 5), "field 'c' is of type date, but .* is of type datetime"),
        (t.TimestampType(), datetime.date(2020, 1, 1), "field 'c' is of type timestamp, but .* is of type date"),
        (
            t.DecimalType(4, 1),
            Decimal("1.25"),
            r"field 'c' is of type decimal\(4,1\), .* is of type Decimal: Rescaling",
        ),
        (t.ArrayType(t.LongType()), "ab", "field 'c' is of type array<bigint>, but 'ab' is of type str"),
        (t.ArrayType(t.LongType()), [1, "b"], "field 'c.element' is of type bigint, but 'b' is of type str"),
        (
            t.ArrayType(t.LongType(), False),
            [1, None],
            "field 'c.element' is of type bigint and not nullable, but is None",
        ),
        (t.MapType(t.StringType(), t.LongType()), {None: 1}, "field 'c.key' is of type string and not nullable"),
        (t.MapType(t.StringType(), t.LongType()), {"a": "b"}, "field 'c.value' is of type bigint, but 'b' is of type"),
        (PAIR, (1, 2), "field 'c.name' is of type string, but 2 is of type int"),
        (PAIR, {"m": 2}, "field 'c' has 'm', which is not a field. The fields are: n bigint, name string"),
        (t.FloatType(), 1e300, r"field 'c' is of type float, but 1e\+300 is of type float: it is too large"),
        (
            t.TimestampNTZType(),
            datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
            "field 'c' is of type timestamp_ntz, but .* is of type datetime: it has a time zone",
        ),
    ],
)
def test_a_misfit_is_named(kind: t.DataType, value: Any, text: str) -> None:
    schema = t.StructType().add("id", t.LongType()).add("c", kind)
    good = [(0, None), (1, None)]
    with pytest.raises(SchemaMisfit, match=rf"^element 42, \(2, .*\): {text}") as caught:
        RowEncoder(schema).batch([*good, (2, value), *good], first=40)
    assert caught.value.element == 42
    assert caught.value.field.startswith("c")


@pytest.mark.usefixtures("_new_york")
def test_a_naive_time_that_occurs_twice_is_that_of_its_fold() -> None:
    """``mktime``, which Spark calls, returns either of both: it depends on the time of the previous call."""
    first = datetime.datetime(2024, 11, 3, 1, 30, 0, 999999)
    times = [datetime.datetime(2024, 12, 1), first, datetime.datetime(2024, 7, 1), first.replace(fold=1)]
    schema = t.StructType().add("at", t.TimestampType())
    batch = RowEncoder(schema).batch([(at,) for at in times])
    hours = [at.hour for at in batch.column(0).to_pylist()]  # in UTC
    assert hours == [5, 5, 4, 6]
    rows, _ = checked_shape("tuples", schema, "UTC").of_batch(batch)
    assert [(at, at.fold) for (at,) in rows] == [(at, at.fold) for at in times]
    extremes = [(datetime.datetime.max,), (datetime.datetime.min,)]
    assert RowEncoder(schema).batch(extremes).column(0).cast("int64").to_pylist() == [
        t.TimestampType().toInternal(at) for (at,) in extremes
    ]


def test_parts_that_spark_cannot_store_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    cases = [
        (t.TimestampType(), pandas.Timestamp("2024-01-01 00:00:00.000000001"), "nanoseconds"),
        (t.TimestampNTZType(), pandas.Timestamp("2024-01-01 00:00:00.000000001"), "nanoseconds"),
        (t.DayTimeIntervalType(), pandas.Timedelta(1, "ns"), "nanoseconds"),
    ]
    with pytest.raises(SchemaMisfit, match="NaT is of type NaTType: it is no time: use None"):
        encoded(t.TimestampType(), pandas.NaT)
    if hasattr(t, "TimeType"):
        cases.append((t.TimeType(), datetime.time(1, 2, tzinfo=datetime.timezone.utc), "a time zone"))
    for kind, value, text in cases:
        with pytest.raises(SchemaMisfit, match=f"field 'c' is of type .*: it has {text}"):
            encoded(kind, value)
    assert encoded(t.DayTimeIntervalType(), pandas.Timedelta(1, "us"), None) == [datetime.timedelta(0, 0, 1), None]


@pytest.mark.parametrize(
    ("zone", "minutes"), [("+08:00", 480), ("UTC+8", 480), ("GMT-3:30", -210), ("+1", 60), ("UT+03:00", 180), ("Z", 0)]
)
def test_a_session_zone_may_be_an_offset(zone: str, minutes: int) -> None:
    """Spark accepts these forms, but neither Arrow nor pandas accepts all of them."""
    pandas = pytest.importorskip("pandas")
    times = pyarrow.array([0, None], pyarrow.timestamp("us", "UTC"))
    batch = pyarrow.RecordBatch.from_arrays([times, pyarrow.array([[0], None], pyarrow.list_(times.type))], ["at", "a"])
    shown = naive(batch, zone)
    wall = datetime.datetime(1970, 1, 1) + datetime.timedelta(minutes=minutes)
    assert shown.to_pydict() == {"at": [wall, None], "a": [[wall], None]}
    assert with_zone(shown.column(0), zone).equals(times)
    assert zoned(pandas.Timestamp(wall), times.type, zone) == 0


@pytest.mark.parametrize(
    "microseconds", [-62_098_000_000_000_000, -3_771_000_000_000_000, -2_224_000_000_000_000, 253_402_318_799_000_000]
)
def test_a_nested_value_of_pandas_has_the_offset_of_a_column(microseconds: int) -> None:
    """pytz, which pandas may use, has other offsets before 1902. The last time is 9999-12-31 23:59:59 in New York."""
    pandas = pytest.importorskip("pandas")
    times = pyarrow.array([microseconds], pyarrow.timestamp("us", "UTC"))
    shown = naive(pyarrow.RecordBatch.from_arrays([times], ["at"]), "America/New_York").column(0)
    value = zoned([pandas.Timestamp(shown[0].as_py())], pyarrow.list_(times.type), "America/New_York")
    assert pyarrow.array(value, times.type).equals(times)


@pytest.mark.parametrize("value", [1_700_000_000, datetime.date(2026, 11, 21), "2026-11-21 12:00"])
def test_a_nested_value_of_pandas_that_is_no_time_is_refused(value: object) -> None:
    """pandas would count a number in nanoseconds, Arrow counts it in microseconds."""
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="and no time"):
        zoned([value], pyarrow.list_(pyarrow.timestamp("us", "UTC")), "Asia/Tokyo")


def test_a_nested_misfit_counts_elements_not_values() -> None:
    kind = t.ArrayType(t.StructType().add("tags", t.ArrayType(t.StringType())))
    values = [[], [{"tags": ["a", "b"]}, {"tags": None}], None, [None, {"tags": []}, {"tags": ["c", 5]}]]
    with pytest.raises(SchemaMisfit, match=r"^element 3, .*field 'c.element.tags.element' is of type string, but 5"):
        encoded(kind, *values)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (5, "element 1, 5: is of type int, but must be a Row, a tuple or a dict of the fields n bigint, name string"),
        ("ab", "element 1, 'ab': is of type str"),
        ((1,), r"element 1, \(1,\): has 1 values, but there are 2 fields: n bigint, name string"),
        ({"n": 1, "nam": "x"}, "element 1, .*: has 'nam', which is not a field"),
        ({"n": 1, None: ["surplus"]}, "element 1, .*: has None, which is not a field"),
    ],
)
def test_an_element_must_be_a_row(element: Any, text: str) -> None:
    with pytest.raises(SchemaMisfit, match=f"^{text}") as caught:
        RowEncoder(PAIR).batch([(0, "a"), element])
    assert caught.value.field == ""


def test_a_field_that_is_not_nullable_refuses_none() -> None:
    schema = t.StructType().add("n", t.LongType(), nullable=False)
    with pytest.raises(
        SchemaMisfit, match=r"^element 1, \{\}: field 'n' is of type bigint and not nullable, but is None"
    ):
        RowEncoder(schema).batch([(0,), {}])


def test_batches_are_fitted_by_name() -> None:
    batch = pyarrow.RecordBatch.from_pydict({"name": ["a"], "more": [1], "n": pyarrow.array([7], pyarrow.int32())})
    fitted = RowEncoder(PAIR).fitted(batch)
    assert fitted.schema == RowEncoder(PAIR).arrow and fitted.to_pydict() == {"n": [7], "name": ["a"]}
    with pytest.raises(SchemaMisfit, match="field 'name' is of type string, but the batch has the columns 'n'"):
        RowEncoder(PAIR).fitted(batch.select(["n"]))
    wrong = pyarrow.RecordBatch.from_pydict({"n": ["x"], "name": ["y"]})
    with pytest.raises(
        SchemaMisfit, match="element 3, a batch: field 'n' is of type bigint, but the batch has string:"
    ):
        RowEncoder(PAIR).fitted(wrong, 3)
    with pytest.raises(SchemaMisfit, match="must be a RecordBatch, not int"):
        RowEncoder(PAIR).fitted(3)


def fitted(column: pyarrow.Array, kind: t.DataType, nullable: bool = True) -> pyarrow.Array:
    schema = t.StructType([t.StructField("n", kind, nullable)])
    return RowEncoder(schema).fitted(pyarrow.RecordBatch.from_arrays([column], ["n"])).column(0)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pyarrow.array([0.5, 0.1]), t.FloatType()),
        (pyarrow.array([1e300]), t.FloatType()),
        (pyarrow.array([0, 5]), t.BooleanType()),
        (pyarrow.array(["12", "012"]), t.LongType()),
        (pyarrow.array([datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.timezone.utc)]), t.DateType()),
        (pyarrow.array([datetime.datetime(2026, 11, 21, 12, 0)]), t.TimestampType()),
        (pyarrow.array([datetime.date(2026, 11, 21)]), t.TimestampType()),
        (pyarrow.array([1_700_000_000]), t.TimestampType()),
        (pyarrow.array([datetime.timedelta(seconds=1)]), t.LongType()),
        (pyarrow.array([datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.timezone.utc)]), t.TimestampNTZType()),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pyarrow.Array) else value.simpleString(),
)
def test_a_lossy_cast_of_a_batch_is_refused(column: pyarrow.Array, kind: t.DataType) -> None:
    with pytest.raises(SchemaMisfit, match=f"field 'n' is of type {kind.simpleString()}, but the batch has"):
        fitted(column, kind)


def test_a_lossless_cast_of_a_batch_is_done() -> None:
    wide = pyarrow.array([0.5, float("nan"), float("inf"), None])
    assert str(fitted(wide, t.FloatType()).to_pylist()) == "[0.5, nan, inf, None]"
    words = pyarrow.array(["a", "b", "a"]).dictionary_encode()
    assert fitted(words, t.StringType()).to_pylist() == ["a", "b", "a"]
    days = pyarrow.array([datetime.date(2026, 11, 21)])
    assert fitted(days, t.TimestampNTZType()).to_pylist() == [datetime.datetime(2026, 11, 21)]


def test_a_null_in_dictionary_values_is_detected() -> None:
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1]), pyarrow.array(["a", None]))
    with pytest.raises(SchemaMisfit, match="not nullable"):
        fitted(column, t.StringType(), nullable=False)


EVERY_TYPE = """
    true as flag, 1Y as b, 2S as s, 3 as i, 4L as l, cast(1.5 as float) as f, 2.5D as d, 12.34BD as dec, 'text' as t,
    X'0102' as bin, date'2024-02-03' as day, timestamp'2024-05-06 07:08:09.123456' as at,
    timestamp_ntz'2024-05-06 07:08:09.5' as local, interval '1 02:03:04' day to second as took, array(1, null) as list,
    map('a', 1, 'b', null) as pairs, named_struct('x', 1, 'y', array(named_struct('z', 'deep'))) as nested, null as no,
    array(map('k', timestamp'2020-01-01 00:00:00')) as times
"""


@pytest.mark.parametrize("as_", ["rows", "tuples", "dicts"])
def test_every_type_round_trips(spark: Any, as_: str) -> None:
    df = spark.sql(f"select {EVERY_TYPE} union all select {', '.join(['null'] * 19)}").coalesce(1)
    elements = ps.from_dataframe(df, as_=as_).collect(timeout=JOB_DEADLINE)
    (batch,) = ps.from_dataframe(df, as_="arrow").collect(timeout=JOB_DEADLINE)
    assert RowEncoder(df.schema).batch(elements).equals(batch)


@pytest.mark.skipif(not hasattr(t, "Geometry"), reason="this PySpark has no spatial types")
def test_spatial_values_round_trip() -> None:
    point = t.Geometry.fromWKB(bytes.fromhex("0101000000000000000000F03F0000000000000040"), 4326)
    for srid in (4326, "ANY"):
        schema = t.StructType().add("g", t.GeometryType(srid)).add("a", t.ArrayType(t.GeometryType(srid)))
        encoder, rows = RowEncoder(schema), [(point, [point, None]), (None, None)]
        elements, _ = checked_shape("tuples", schema, "UTC").of_batch(encoder.batch(rows))
        assert list(elements) == rows
    with pytest.raises(SchemaMisfit, match=r"field 'g' is of type geometry.*: its SRID is 4326"):
        RowEncoder(t.StructType().add("g", t.GeometryType(0))).batch([(point,)])


def test_bad_schemas_are_refused(spark: Any) -> None:
    schema = checked_schema(spark, "n long, name string")
    assert schema == PAIR and checked_schema(spark, schema) is schema
    with pytest.raises(TypeError, match="schema must be a StructType or a string, not int"):
        checked_schema(spark, 3)
    with pytest.raises(ValueError, match="schema must have a column"):
        checked_schema(spark, t.StructType())
    with pytest.raises(ValueError, match="more than one column 'n'"):
        checked_schema(spark, "n long, n string")
    with pytest.raises(TypeError, match="column 'years' is of type interval year, which Arrow cannot carry"):
        checked_schema(spark, "years interval year")
    with pytest.raises(Exception, match=r"(?i)parse"):
        checked_schema(spark, "n longlong(")
    assert checked_schema(spark, "long") == t.StructType().add("value", t.LongType())


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("n long, a char(3)", r"'a' is of type char\(3\), which only table columns can have: use string"),
        ("a array<varchar(5)>", r"'a' is of type array<varchar\(5\)>, which only table columns can have: use string"),
        (t.StructType().add("a", t.CharType(3)), r"'a' is of type char\(3\), which only table columns can have: use"),
    ],
)
def test_types_that_only_tables_have_are_refused(spark: Any, schema: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        checked_schema(spark, schema)


def test_names_that_differ_only_in_case_are_refused(spark: Any) -> None:
    with pytest.raises(
        ValueError, match=r"'a' and 'A' are the same name for Spark, because spark\.sql\.caseSensitive is false"
    ):
        checked_schema(spark, "n long, a long, A string")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert checked_schema(spark, "a long, A string").names == ["a", "A"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_misfit_is_one_line() -> None:
    batch = pyarrow.RecordBatch.from_pydict({"n": [1], "name": ["a"]})
    for element in (batch, (batch, "a")):
        with pytest.raises(SchemaMisfit) as caught:
            RowEncoder(PAIR).batch([element])
        assert "\n" not in str(caught.value)
    with pytest.raises(SchemaMisfit) as caught:
        RowEncoder(PAIR).fitted(batch.column(0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["date", "array<date>", "struct<day:date>"])
def test_a_value_without_a_form_in_pandas_is_named(kind: str) -> None:
    pytest.importorskip("pandas")
    after_9999 = pyarrow.array([3_000_000], pyarrow.int32()).cast(pyarrow.date32())
    column = {
        "date": after_9999,
        "array<date>": pyarrow.ListArray.from_arrays([0, 1], after_9999),
        "struct<day:date>": pyarrow.StructArray.from_arrays([after_9999], ["day"]),
    }[kind]
    batch = pyarrow.RecordBatch.from_arrays([pyarrow.array([1]), column], ["n", "far"])
    with pytest.raises(ValueError, match=r"^column 'far' of type .* has a value without a Python form .*: cast it, or"):
        checked_shape("pandas", t.StructType(), "UTC").of_batch(batch)


@pytest.mark.parametrize("convert", ["fit", "from pandas", "to pandas"])
def test_the_time_of_a_batch_is_linear_in_the_number_of_columns(convert: str) -> None:
    """With 5,000 columns, a quadratic one took half a minute for each batch."""
    pandas = pytest.importorskip("pandas")
    from pyrs.spark.executors.tasks import _of_pandas

    times = pyarrow.array([0], pyarrow.timestamp("us", "UTC"))

    def seconds(width: int) -> float:
        names = [f"c{i}" for i in range(width)]
        encoder = RowEncoder(t.StructType([t.StructField(name, t.TimestampType()) for name in names]))
        batch = pyarrow.RecordBatch.from_arrays([times] * width, names)
        frame = pandas.DataFrame({name: [pandas.Timestamp(0)] for name in names})
        began = time.thread_time()
        if convert == "fit":
            encoder.fitted(batch)
        elif convert == "from pandas":
            _of_pandas(frame, encoder.arrow, "UTC")
        else:
            naive(batch, "UTC")
        return time.thread_time() - began

    seconds(10)
    assert seconds(8_000) < 30 * seconds(1_000)
