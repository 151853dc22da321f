"""Convert times of Arrow columns to naive times in a session's zone, and back.

The naive times are those that ``toPandas`` shows. Times inside nested types are converted as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import pyarrow
from pyarrow import compute

from pyrs.spark.schema.lists import offsets, pairs

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::(\d\d?))?(?::(\d\d))?")


def has_zone(kind: pyarrow.DataType) -> bool:
    """Return whether an Arrow type has a time with a zone on any level."""
    if pyarrow.types.is_timestamp(kind):
        return kind.tz is not None
    return any(has_zone(kind.field(i).type) for i in range(kind.num_fields))


def naive(batch: pyarrow.RecordBatch, zone: str) -> pyarrow.RecordBatch:
    """Return the batch with naive times in the zone, as ``toPandas`` shows them.

    Raises:
        ValueError: the zone is neither an offset nor in the time zone database of Arrow.
    """
    offset = offset_of(zone)

    def localized(times: Any) -> Any:
        if offset is None:
            return compute.local_timestamp(times.cast(pyarrow.timestamp(times.type.unit, zone)))
        return compute.add(times.cast(pyarrow.timestamp(times.type.unit)), _duration(offset, times.type))

    if not any(has_zone(field.type) for field in batch.schema):
        return batch
    columns = [_mapped(column, localized) for column in batch.columns]
    return pyarrow.RecordBatch.from_arrays(columns, batch.schema.names)


def with_zone(column: pyarrow.Array, zone: str) -> pyarrow.Array:
    """Interpret the naive times of a column in a zone: the reverse of ``naive``.

    Other columns are returned unchanged.

    As in Spark, a time that occurs twice because clocks are set back means the later occurrence.

    Raises:
        ValueError: clocks skip a time.
    """
    if not pyarrow.types.is_timestamp(column.type) or column.type.tz is not None:
        return column
    offset = offset_of(zone)
    if offset is None:
        return compute.assume_timezone(column, zone, ambiguous="latest")
    return compute.subtract(column, _duration(offset, column.type)).cast(pyarrow.timestamp(column.type.unit, "UTC"))


@lru_cache(maxsize=16)  # called for each time in a nested column
def offset_of(zone: str) -> timedelta | None:
    """Return the offset of a zone such as ``UTC+8``; None for a zone with a name.

    Spark accepts forms of offsets that neither Arrow nor pandas knows.
    """
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return timedelta() if zone == "Z" else None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -offset if found[1] == "-" else offset


def _duration(offset: timedelta, kind: pyarrow.TimestampType) -> pyarrow.Scalar:
    return pyarrow.scalar(offset, pyarrow.duration(kind.unit))


def zoned(value: Any, kind: pyarrow.DataType, zone: str) -> Any:
    """Like ``with_zone``, but for one pandas value of a nested column.

    ``kind`` is the Arrow type of the value. The times in the value may have zones of their own, and maps are dicts or
    lists of pairs. A time without a zone becomes the number that Arrow stores for it.

    Raises:
        ValueError: a value is no time, such as a number, which has no unit, or clocks skip a time.
    """
    from pandas import NA, NaT, Timestamp

    if value is None or value is NA or isinstance(value, float) or not has_zone(kind):  # a missing value may be NaN
        return value
    if pyarrow.types.is_timestamp(kind):
        of_numpy = getattr(getattr(value, "dtype", None), "kind", "") == "M"
        if not (of_numpy or isinstance(value, datetime)):
            raise ValueError(f"{value!r} is of type {type(value).__name__}, and no time")
        time = Timestamp(value)
        if time is NaT or time.tz is not None:
            return time
        # By Arrow, as in ``naive``: pandas may use pytz, whose offsets before 1902 differ. The result is a number,
        # because the instant of 9999-12-31 23:59:59 in a zone west of UTC is no datetime in Python.
        local = pyarrow.array([time.to_pydatetime(warn=False)], pyarrow.timestamp("us"))
        return with_zone(local, zone).cast(kind)[0].value
    if pyarrow.types.is_struct(kind):
        if isinstance(value, dict):
            return {field.name: zoned(value.get(field.name), field.type, zone) for field in kind}
        return tuple(zoned(each, field.type, zone) for each, field in zip(value, kind, strict=True))
    if pyarrow.types.is_map(kind):
        entries = value.items() if isinstance(value, dict) else value
        return [(zoned(key, kind.key_type, zone), zoned(item, kind.item_type, zone)) for key, item in entries]
    return [zoned(each, kind.value_type, zone) for each in value]


def _mapped(column: pyarrow.Array, change: Callable[[Any], Any]) -> pyarrow.Array:
    """Apply a function to the times with a zone in a column, on any level."""
    kind = column.type
    if not has_zone(kind):
        return column
    if pyarrow.types.is_timestamp(kind):
        return change(column)
    if pyarrow.types.is_struct(kind):
        children = [_mapped(child, change) for child in column.flatten()]
        return pyarrow.StructArray.from_arrays(children, [field.name for field in kind], mask=column.is_null())
    if pyarrow.types.is_map(kind):
        lists = pairs(column)
        keys, items = (_mapped(child, change) for child in lists.flatten().flatten())
        return pyarrow.MapArray.from_arrays(offsets(lists), keys, items)
    return pyarrow.ListArray.from_arrays(offsets(column), _mapped(column.flatten(), change))
