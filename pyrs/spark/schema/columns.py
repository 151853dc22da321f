"""Encode Python values as Arrow columns of Spark's types; ``arrow`` decodes them."""

from __future__ import annotations

import datetime
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, chain
from math import isfinite
from numbers import Integral, Real
from operator import itemgetter, methodcaller
from typing import Any

import pyarrow
from pyarrow import compute
from pyspark.sql import types as spark_types

from pyrs._core.display import short
from pyrs.spark.schema.arrow import SPATIAL, VARIANT

_TIMES = (spark_types.TimestampType, spark_types.TimestampNTZType)
_EXACT = (spark_types.DayTimeIntervalType, *([spark_types.TimeType] if hasattr(spark_types, "TimeType") else []))
_TIMESTAMP, _TIMESTAMP_NTZ = spark_types.TimestampType(), spark_types.TimestampNTZType()
_TEXTS = (str, bytes, bytearray, memoryview)
_NAMED: dict[str, tuple[type, ...]] = {
    "BooleanType": (bool,),
    "ByteType": (Integral,),
    "ShortType": (Integral,),
    "IntegerType": (Integral,),
    "LongType": (Integral,),
    "FloatType": (Real,),
    "DoubleType": (Real,),
    "DecimalType": (Decimal, int),
    "StringType": (str,),
    "CharType": (str,),
    "VarcharType": (str,),
    "BinaryType": (bytes, bytearray, memoryview),
    "DateType": (datetime.date,),
    "TimeType": (datetime.time,),
    "TimestampType": (datetime.datetime,),
    "TimestampNTZType": (datetime.datetime,),
    "DayTimeIntervalType": (datetime.timedelta,),
    "NullType": (),
    "StructType": (tuple, list, Mapping),
    "MapType": (Mapping,),
}
_ACCEPTED = {kind: classes for name, classes in _NAMED.items() if (kind := getattr(spark_types, name, None))}
_ACCEPTED |= {VARIANT: (spark_types.VariantVal,)} if VARIANT else {}
_ACCEPTED |= {kind: (value,) for kind, value in SPATIAL.items()}
_MIXED_SRID = -1


class Misfit(Exception):
    """The value at an index does not fit.

    Each enclosing level sets the index, and prepends its name to the path.
    """

    def __init__(self, index: int, message: str) -> None:
        self.index = index
        self.path: list[str] = []
        self.message = message


class TooLarge(ValueError):
    """The strings or binaries of a column exceed 2 GiB, the limit of 32-bit offsets."""


def in_line(value: object) -> str:
    """Return a short repr of a value on one line."""
    return " ".join(short(value).split())


def columns(rows: Sequence[Any], schema: Any, into: Any) -> list[Any]:
    """Return the rows as one Arrow array for each field of the schema.

    A row must not be None.

    Raises:
        Misfit: a row, or a value within one, does not fit.
        TooLarge: the rows are too large for one batch.
    """
    transposed = _transposed(rows, schema)
    return [
        named(field.name, _array, values, field.dataType, field.nullable, column.type)
        for values, field, column in zip(transposed, schema, into, strict=True)
    ]


def named(name: str, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, and prepend a name to the path of its ``Misfit``."""
    try:
        return make(*arguments)
    except Misfit as misfit:
        misfit.path.insert(0, name)
        raise


def _transposed(rows: Sequence[Any], schema: Any) -> Sequence[Sequence[Any]]:
    """Return the values of each field of the rows."""
    names, width = tuple(schema.names), len(schema.names)
    if not (set(map(type, rows)) == {tuple} and set(map(len, rows)) == {width}):
        rows = _in_order(rows, names, schema)
    # Not zip(*rows): with an iterator for each row the garbage collector traverses all rows repeatedly.
    return [list(map(itemgetter(i), rows)) for i in range(width)]


def _in_order(rows: Sequence[Any], names: tuple[str, ...], schema: Any) -> list[Sequence[Any]]:
    """Return the rows as sequences of values in the order of the schema."""
    ordered: list[Sequence[Any]] = []
    try:
        for row in rows:
            ordered.append(_values(len(ordered), row, names, schema))
    except Misfit:
        raise
    except Exception as error:  # raised by a mapping of the user
        raise Misfit(len(ordered), f"cannot be read: {type(error).__name__}: {error}") from error
    return ordered


def _values(index: int, row: Any, names: tuple[str, ...], schema: Any) -> Sequence[Any]:
    if isinstance(row, (tuple, list)):
        own = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
        if own is None or tuple(own) == names:
            if len(row) != len(names):
                raise Misfit(index, f"has {len(row)} values, but there are {len(names)} fields: {_fields(schema)}")
            return row
        if len(set(own)) < len(own):
            raise Misfit(index, f"has two fields with the same name: {', '.join(own)}")
        if len(own) != len(row):  # as in Row("a", "b")(1)
            raise Misfit(index, f"has {len(row)} values, but {len(own)} names: {', '.join(own)}")
        row = dict(zip(own, row, strict=True))
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in names]  # csv.DictReader has the surplus values under None
        if unknown:
            raise Misfit(index, f"has {unknown[0]!r}, which is not a field. The fields are: {_fields(schema)}")
        return [row.get(name) for name in names]
    what = f"is of type {type(row).__name__}, but must be a Row, a tuple or a dict of the fields"
    raise Misfit(index, f"{what} {_fields(schema)}")


def _fields(schema: Any) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)


def _array(values: Sequence[Any], kind: Any, nullable: bool, into: Any) -> Any:
    _check(values, kind, nullable)
    if isinstance(kind, spark_types.StructType):
        return _structs(values, kind, into)
    if isinstance(kind, spark_types.ArrayType):
        offsets = _offsets(values, kind)
        members = _members(values, offsets, iter, kind)
        elements = _flat("element", members, offsets, (kind.elementType, kind.containsNull, into.value_type))
        return pyarrow.ListArray.from_arrays(_with_nulls(offsets, values), elements, type=into)
    if isinstance(kind, spark_types.MapType):
        offsets = _offsets(values, kind)
        keys = _flat("key", _members(values, offsets, iter, kind), offsets, (kind.keyType, False, into.key_type))
        members = _members(values, offsets, methodcaller("values"), kind)
        items = _flat("value", members, offsets, (kind.valueType, kind.valueContainsNull, into.item_type))
        return pyarrow.MapArray.from_arrays(_with_nulls(offsets, values), keys, items, type=into)
    if isinstance(kind, spark_types.UserDefinedType):
        return _array(_each(kind.serialize, values, kind), kind.sqlType(), True, into)
    if isinstance(kind, VARIANT):
        parts = [None if v is None else {"value": v.value, "metadata": v.metadata} for v in values]
        return _converted(parts, values, kind, into)
    if type(kind) in SPATIAL:
        return _converted(_each(lambda value: _spatial(value, kind.srid), values, kind), values, kind, into)
    if isinstance(kind, _TIMES):
        to_number = _without_zone if isinstance(kind, spark_types.TimestampNTZType) else _instant
        return pyarrow.array(_each(to_number, values, kind), pyarrow.int64()).cast(into)
    if isinstance(kind, _EXACT):
        values = _each(_exact, values, kind)
    converted = _converted(values, values, kind, into)
    if isinstance(kind, spark_types.FloatType):
        for i in compute.indices_nonzero(compute.is_inf(converted)).to_pylist():
            if isfinite(values[i]):
                raise _misfit(i, values[i], kind, "it is too large")
    return converted


def _spatial(value: Any, srid: int) -> dict[str, Any]:
    """Return a spatial value as the struct of its Arrow column."""
    own = value.getSrid()
    if srid not in (_MIXED_SRID, own):
        raise ValueError(f"its SRID is {own}")
    return {"srid": own, "wkb": bytes(value.getBytes())}


def _instant(time: datetime.datetime) -> int:
    """Return a time as microseconds since 1970.

    A naive time is local, and its ``fold`` selects the occurrence of a time that occurs twice. Spark's ``toInternal``
    ignores it, and returns either occurrence, so a stage that emits its rows unchanged would move some by an hour.
    """
    if _exact(time).tzinfo is None:
        try:
            seconds = datetime.datetime.timestamp(time.replace(microsecond=0))
        except (ValueError, OverflowError):  # in the first or the last year of Python's range
            pass
        else:
            return int(seconds) * 1_000_000 + time.microsecond
    number: int = _TIMESTAMP.toInternal(time)
    return number


def _without_zone(time: datetime.datetime) -> int:
    """Return a naive time as microseconds since 1970."""
    if time.tzinfo is not None:
        raise ValueError("it has a time zone")
    number: int = _TIMESTAMP_NTZ.toInternal(_exact(time))
    return number


def _exact(value: Any) -> Any:
    """Return the value, unless Arrow or Spark would drop a part of it silently."""
    if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):  # of pandas
        if value != value:  # NaT
            raise ValueError("it is no time: use None")
        raise ValueError("it has nanoseconds, and Spark's type has microseconds")
    if isinstance(value, datetime.time) and value.tzinfo is not None:
        raise ValueError("it has a time zone")
    return value


def _check(values: Sequence[Any], kind: Any, nullable: bool) -> None:
    """Raise a Misfit for the first value of a wrong type.

    Arrow would round or truncate numbers, and a string in the place of a list would become a list of its characters.
    """
    wrong = [each for each in set(map(type, values)) if not _is_accepted(each, kind, nullable)]
    if wrong:
        index, value = next((i, value) for i, value in enumerate(values) if type(value) in wrong)
        if value is None:
            raise Misfit(index, f"is of type {kind.simpleString()} and not nullable, but is None")
        raise _misfit(index, value, kind)


def _misfit(index: int, value: Any, kind: Any, why: str = "") -> Misfit:
    text = f"is of type {kind.simpleString()}, but {in_line(value)} is of type {type(value).__name__}"
    return Misfit(index, f"{text}: {why}" if why else text)


def _is_accepted(each: type, kind: Any, nullable: bool) -> bool:
    if each is type(None):
        return nullable
    if isinstance(kind, spark_types.ArrayType):
        is_list = issubclass(each, (Sequence, array)) or (hasattr(each, "__array__") and hasattr(each, "__len__"))
        return is_list and not issubclass(each, _TEXTS)
    accepted = _ACCEPTED.get(type(kind))
    if accepted is None or each in accepted:
        return True
    # In Python a bool is an int, and a datetime is a date; in Spark they are not.
    return (
        issubclass(each, accepted)
        and each is not bool
        and not (datetime.date in accepted and issubclass(each, datetime.datetime))
    )


def _structs(values: Sequence[Any], kind: Any, into: Any) -> Any:
    present = [i for i, value in enumerate(values) if value is not None]
    rows = [values[i] for i in present]
    try:
        arrays = columns(rows, kind, list(into))
    except Misfit as misfit:
        misfit.index = present[misfit.index]
        raise
    if not arrays:
        return _converted([None if value is None else {} for value in values], values, kind, into)
    whole = pyarrow.StructArray.from_arrays(arrays, fields=list(into))
    if len(rows) == len(values):
        return whole
    places = dict(zip(present, range(len(rows)), strict=True))
    return whole.take(pyarrow.array([places.get(i) for i in range(len(values))], pyarrow.int64()))


def _offsets(values: Sequence[Any], kind: Any) -> list[int]:
    return [0, *accumulate(length or 0 for length in _each(len, values, kind))]


def _with_nulls(offsets: list[int], values: Sequence[Any]) -> Any:
    starts = [None if value is None else start for value, start in zip(values, offsets, strict=False)]
    return pyarrow.array([*starts, offsets[-1]], pyarrow.int32())


def _members(values: Sequence[Any], offsets: list[int], take: Callable[[Any], Any], kind: Any) -> list[Any]:
    """Return the members of all lists or mappings as one list.

    Their lengths must be those of the offsets. Otherwise, if a thread changed a list that it has emitted, some of its
    members would be in the next list.
    """
    try:
        members = list(chain.from_iterable(take(value) for value in values if value is not None))
        if len(members) == offsets[-1]:
            return members
    except Exception:  # raised by a value; read again below, to find it
        pass
    parts = _each(lambda value: list(take(value)), values, kind)
    for i, part in enumerate(parts):
        if len(part or ()) != offsets[i + 1] - offsets[i]:
            raise _misfit(i, values[i], kind, "its length changed while it was read: emit a copy")
    return list(chain.from_iterable(part for part in parts if part is not None))


def _flat(name: str, members: list[Any], offsets: list[int], of: tuple[Any, ...]) -> Any:
    """Return the members of all lists or mappings as one array."""
    try:
        return named(name, _array, members, *of)
    except Misfit as misfit:
        misfit.index = bisect_right(offsets, misfit.index) - 1
        raise


def _each(function: Callable[[Any], Any], values: Sequence[Any], kind: Any) -> list[Any]:
    results = []
    for i, value in enumerate(values):
        try:
            results.append(None if value is None else function(value))
        except Exception as error:
            raise _misfit(i, value, kind, str(error)) from error
    return results


def _converted(parts: Sequence[Any], values: Sequence[Any], kind: Any, into: Any) -> Any:
    try:
        converted = pyarrow.array(parts, into)
    except Exception as error:
        for i, part in enumerate(parts):
            try:
                pyarrow.array([part], into)
            except Exception as reason:
                raise _misfit(i, values[i], kind, str(reason)) from reason
        raise _misfit(0, values[0], kind, str(error)) from error
    if isinstance(converted, pyarrow.ChunkedArray):
        what = f"{len(parts)} values of type {kind.simpleString()} have more than 2 GiB"
        how = "emit smaller values, or reduce max_rows, and for read_stream also capacity"
        raise TooLarge(f"{what}, which one Arrow batch cannot carry: {how}")
    return converted
