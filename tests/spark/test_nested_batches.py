"""Arrow batches whose nested columns have other types than the schema: lossless casts at every nesting level."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as t

from pyrs.spark.schema.rows import RowEncoder, SchemaMisfit

INTS = t.StructType().add("x", t.IntegerType()).add("y", t.StringType())
LARGE = 1 << 40
INT, LONG, DOUBLE, TEXT = pyarrow.int32(), pyarrow.int64(), pyarrow.float64(), pyarrow.string()


def fitted(values: Any, of: pyarrow.DataType, kind: t.DataType) -> pyarrow.Array:
    column = values if isinstance(values, pyarrow.Array) else pyarrow.array(values, of)
    encoder = RowEncoder(t.StructType().add("c", kind))
    (result,) = encoder.fitted(pyarrow.RecordBatch.from_arrays([column], ["c"])).columns
    result.validate(full=True)
    assert result.type == encoder.arrow.field("c").type
    return result


def struct(**fields: pyarrow.DataType) -> pyarrow.DataType:
    return pyarrow.struct(list(fields.items()))


NANOSECONDS = pyarrow.array([{"at": 1_001}], struct(at=LONG)).cast(struct(at=pyarrow.timestamp("ns", "UTC")))


@pytest.mark.parametrize(
    ("values", "of", "kind", "field", "text"),
    [
        ([{"x": LARGE, "y": ""}], struct(x=LONG, y=TEXT), INTS, "c.x", "int, but the batch has int64"),
        ([{"x": 0.5, "y": ""}], struct(x=DOUBLE, y=TEXT), INTS, "c.x", "int, but the batch has double"),
        ([{"f": 0.1}], struct(f=DOUBLE), t.StructType().add("f", t.FloatType()), "c.f", "0.1 would be changed"),
        (NANOSECONDS, None, t.StructType().add("at", t.TimestampType()), "c.at", "timestamp, .* would lose data"),
        (
            [{"at": datetime.datetime(2026, 11, 21, 12)}],
            struct(at=pyarrow.timestamp("us")),
            t.StructType().add("at", t.TimestampType()),
            "c.at",
            "set the zone in the batch",
        ),
        (
            [{"price": Decimal("1.234")}],
            struct(price=pyarrow.decimal128(10, 3)),
            t.StructType().add("price", t.DecimalType(10, 2)),
            "c.price",
            r"decimal\(10,2\), but the batch has decimal128\(10, 3\)",
        ),
        ([["012"]], pyarrow.list_(TEXT), t.ArrayType(t.LongType()), "c.element", "012 would be changed"),
        ([[LARGE]], pyarrow.list_(LONG, 1), t.ArrayType(t.IntegerType()), "c.element", "int, but the batch has int64"),
        (
            [[("k", LARGE)]],
            pyarrow.map_(TEXT, LONG),
            t.MapType(t.StringType(), t.IntegerType()),
            "c.value",
            "int, but the batch has int64",
        ),
        (
            [[(LARGE, 1)]],
            pyarrow.map_(LONG, INT),
            t.MapType(t.IntegerType(), t.IntegerType()),
            "c.key",
            "int, but the batch has int64",
        ),
        (
            [[[{"x": 1, "y": ""}, {"x": LARGE, "y": ""}]]],
            pyarrow.list_(pyarrow.list_(struct(x=LONG, y=TEXT))),
            t.ArrayType(t.ArrayType(INTS)),
            "c.element.element.x",
            "int, but the batch has int64",
        ),
        ([{"x": 1}], struct(x=INT), INTS, "c", "the struct in the batch has the fields 'x'"),
        (
            [{"x": 1, "y": "", "z": 2}],
            struct(x=INT, y=TEXT, z=INT),
            INTS,
            "c",
            "the struct in the batch has the fields 'x', 'y', 'z'",
        ),
        ([[1]], pyarrow.list_(INT), INTS, "c", "but the batch has list.*: one cannot be cast"),
        ([1], INT, t.ArrayType(t.IntegerType()), "c", "array<int>, but the batch has int32: one cannot"),
        ([[1, None]], pyarrow.list_(LONG), t.ArrayType(t.LongType(), False), "c.element", "not nullable"),
        (
            [{"x": None}],
            struct(x=LONG),
            t.StructType([t.StructField("x", t.LongType(), False)]),
            "c.x",
            "not nullable",
        ),
    ],
)
def test_nested_field_that_does_not_fit_the_schema_is_named_with_its_path(
    values: Any, of: Any, kind: t.DataType, field: str, text: str
) -> None:
    with pytest.raises(SchemaMisfit, match=rf"element 0, a batch: field '{field}' is of type .*{text}") as caught:
        fitted(values, of, kind)
    assert caught.value.field == field


def test_lossless_casts_are_done_at_every_nesting_level() -> None:
    kind = t.ArrayType(t.StructType().add("m", t.MapType(t.StringType(), t.ArrayType(t.IntegerType()))).add("s", INTS))
    of = pyarrow.large_list(
        struct(
            s=struct(y=pyarrow.dictionary(pyarrow.int8(), TEXT), x=LONG),
            m=pyarrow.map_(pyarrow.large_string(), pyarrow.list_(LONG, 2)),
        )
    )
    rows = [
        [{"m": [("a", [1, 2]), ("b", None)], "s": {"x": 3, "y": "one"}}, None],
        None,
        [],
        [{"m": None, "s": None}, {"m": [], "s": {"x": None, "y": None}}],
        [{"m": [("c", [4, None])], "s": {"x": 5, "y": "two"}}],
    ]
    assert fitted(rows, of, kind).to_pylist() == rows
    for first in range(6):
        assert fitted(pyarrow.array(rows, of).slice(first, 2), None, kind).to_pylist() == rows[first : first + 2]


def test_values_below_a_null_are_ignored() -> None:
    x = pyarrow.array([1, LARGE, None])
    column = pyarrow.StructArray.from_arrays([x], ["x"], mask=pyarrow.array([False, True, True]))
    kind = t.StructType([t.StructField("x", t.IntegerType(), False)])
    assert fitted(column, None, kind).to_pylist() == [{"x": 1}, None, None]
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 3]), x, mask=pyarrow.array([False, True]))
    assert fitted(lists, None, t.ArrayType(t.IntegerType(), False)).to_pylist() == [[1], None]


def test_a_column_of_nulls_fits_any_type() -> None:
    assert fitted(pyarrow.nulls(2), None, t.ArrayType(INTS)).to_pylist() == [None, None]
    assert fitted([[None]], pyarrow.list_(pyarrow.null()), t.ArrayType(INTS)).to_pylist() == [[None]]
