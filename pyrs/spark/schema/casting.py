"""Lossless casts of Arrow columns, on every level of nested types."""

from __future__ import annotations

from typing import Any

import pyarrow
from pyarrow import compute
from pyspark.sql import types as spark_types

from pyrs._core.display import listed
from pyrs.spark.schema.columns import Misfit, named
from pyrs.spark.schema.lists import offsets, pairs
from pyrs.spark.schema.zones import has_zone


def cast(column: pyarrow.Array, kind: Any, nullable: bool, into: pyarrow.DataType, hidden: int = 0) -> pyarrow.Array:
    """Return the column in another type.

    A struct must have the same fields, which are matched by name.

    Args:
        column: any Arrow array.
        kind: Spark's type, for the message of an error.
        nullable: whether nulls are allowed.
        into: Arrow's type.
        hidden: the number of nulls that come from the enclosing column.

    Raises:
        Misfit: a value would change or is null where nulls are not allowed, or the types do not fit. The path of the
            error has the names of the enclosing fields.
    """
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()  # its values may contain a null
    what = f"is of type {kind.simpleString()}"
    if column.null_count > hidden and not nullable:
        raise Misfit(0, f"{what} and not nullable, but a row has null")
    if column.type == into:
        return column
    if isinstance(kind, spark_types.UserDefinedType):
        kind = kind.sqlType()
    try:
        if pyarrow.types.is_null(column.type):
            return column.cast(into)
        if isinstance(kind, spark_types.StructType) and pyarrow.types.is_struct(column.type):
            return _structs(column, kind, into)
        if isinstance(kind, spark_types.ArrayType) and hasattr(column.type, "value_field"):
            elements = named("element", cast, column.flatten(), kind.elementType, kind.containsNull, into.value_type)
            return pyarrow.ListArray.from_arrays(offsets(column), elements, type=into)
        if isinstance(kind, spark_types.MapType) and pyarrow.types.is_map(column.type):
            return _maps(column, kind, into)
        if pyarrow.types.is_nested(into):
            raise ValueError("one cannot be cast to the other")
        return _flat(column, into)
    except Misfit:
        raise
    except Exception as error:
        raise Misfit(0, f"{what}, but the batch has {column.type}: {error}") from error


def _structs(column: pyarrow.StructArray, kind: Any, into: pyarrow.StructType) -> pyarrow.StructArray:
    children = {field.name: child for field, child in zip(column.type, column.flatten(), strict=True)}
    if column.type.num_fields != len(kind) or children.keys() != set(kind.names):
        raise ValueError(f"the struct in the batch has the fields {listed([field.name for field in column.type])}")
    arrays = [
        named(field.name, cast, children[field.name], field.dataType, field.nullable, inner.type, column.null_count)
        for field, inner in zip(kind, into, strict=True)
    ]
    nulls = column.is_null() if column.null_count else None
    return pyarrow.StructArray.from_arrays(arrays, fields=list(into), mask=nulls)


def _maps(column: pyarrow.MapArray, kind: Any, into: pyarrow.MapType) -> pyarrow.MapArray:
    lists = pairs(column)
    keys, values = lists.flatten().flatten()
    keys = named("key", cast, keys, kind.keyType, False, into.key_type)
    values = named("value", cast, values, kind.valueType, kind.valueContainsNull, into.item_type)
    return pyarrow.MapArray.from_arrays(offsets(lists), keys, values, type=into)


def _flat(column: pyarrow.Array, into: pyarrow.DataType) -> pyarrow.Array:
    """Return the column in another type, if no value changes.

    A cast back checks the values, because Arrow does not report every loss.
    """
    kinds, both = pyarrow.types, (column.type, into)
    if all(map(_is_moment, both)) and len(set(map(has_zone, both))) > 1:
        raise ValueError("one has a time zone and the other has none: set the zone in the batch")
    if any(map(kinds.is_temporal, both)) and any(map(kinds.is_integer, both)):
        raise ValueError("a number has no unit of time: cast it in the batch")
    result = column.cast(into)
    back = result.cast(column.type)
    same = compute.equal(column, back)
    if kinds.is_floating(column.type):  # NaN is not equal to itself
        same = compute.or_(same, compute.and_(compute.is_nan(column), compute.is_nan(back)))
    if not compute.all(same, min_count=0).as_py():
        raise ValueError(f"{column[compute.index(same, False).as_py()]} would be changed")
    return result


def _is_moment(kind: pyarrow.DataType) -> bool:
    return bool(pyarrow.types.is_timestamp(kind) or pyarrow.types.is_date(kind))
