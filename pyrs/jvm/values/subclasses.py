"""Select the row of the value table for a class that has no row itself.

Such classes are subclasses, enums, numpy scalars and Arrow batches.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import msgpack

from pyrs.errors import ConversionError
from pyrs.jvm.values import arrow, table
from pyrs.jvm.values import references as types

_Rows: TypeAlias = "tuple[tuple[type, Callable[[Any], Any]], ...]"


def converter_for(kind: type) -> Callable[[Any], Any] | None:
    """Return the conversion for a class without a row.

    Returns None if objects of the class cross as references. An Enum crosses by name, whatever else it derives from. A
    subclass of a builtin crosses as the builtin's value. Neither numpy nor pyarrow is imported for the check: a process
    with such a value has imported them.
    """
    if issubclass(kind, enum.Enum):
        return table.from_enum
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        return _row(kind, _numpy_rows(numpy))
    if any(base.__name__ == "_JBoolean" and base.__module__ == "_jpype" for base in kind.__mro__):
        return bool  # JPype's JBoolean and java.lang.Boolean are subclasses of int
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and issubclass(kind, pyarrow.RecordBatch):
        return arrow_extension
    return _row(kind, _BASES)


def _row(kind: type, rows: _Rows) -> Callable[[Any], Any] | None:
    return next((convert for base, convert in rows if issubclass(kind, base)), None)


def arrow_extension(batch: Any) -> Any:
    """Convert a RecordBatch to an extension with its IPC stream."""
    return msgpack.ExtType(types.ARROW, b"".join(arrow.ipc_buffers(batch)))


def _datetime(value: dt.datetime) -> Any:
    if value != value:  # pandas' NaT is a datetime, and the only one that is not equal to itself
        raise ConversionError(f"a {table.type_name(value)} (not a time) cannot be converted to Java")
    # A plain datetime, because the arithmetic of a subclass may differ: that of pendulum takes only its own classes.
    day = (value.year, value.month, value.day)
    with suppress(ValueError):  # a pandas.Timestamp beyond the year 9999
        value = dt.datetime(
            *day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo, fold=value.fold
        )
    return table.from_datetime(value)


# For int, float, str, bytes, bytearray, list and timedelta, the method of the base class is called, because a subclass
# may override it: __str__ of an amount may print two digits.
_BASES: _Rows = (
    (int, lambda value: table.from_int(int.__int__(value))),
    (float, float.__float__),
    (str, lambda value: str.__str__(value)),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytes(bytearray.__getitem__(value, slice(None)))),
    (tuple, list),
    (list, lambda value: list.__getitem__(value, slice(None))),
    (dict, lambda value: dict(value.items())),
    (decimal.Decimal, lambda value: table.from_decimal(decimal.Decimal(value))),
    (dt.datetime, _datetime),
    (dt.date, table.from_date),
    (dt.time, table.from_time),
    (dt.timedelta, lambda value: table.from_timedelta(dt.timedelta.__pos__(value))),
    (uuid.UUID, table.from_uuid),
)


_FINER_THAN_MICROSECONDS = ("ns", "ps", "fs", "as")


def _numpy_rows(numpy: Any) -> _Rows:
    return (
        (numpy.bool_, bool),
        (numpy.datetime64, lambda value: _numpy_time(value, "datetime64", numpy)),
        (numpy.timedelta64, lambda value: _numpy_time(value, "timedelta64", numpy)),  # also a numpy.integer
        (numpy.integer, int),
        (numpy.floating, float),
        (numpy.str_, str),
        (numpy.bytes_, bytes),
    )


def _numpy_time(value: Any, name: str, numpy: Any) -> Any:
    """Convert a datetime64 or timedelta64, truncated to microseconds; refuse NaT."""
    if numpy.isnat(value):
        raise ConversionError(f"a numpy.{name} of NaT cannot be converted to Java")
    unit = numpy.datetime_data(value.dtype)[0]
    scaled = value.astype(f"{name}[D]" if name == "datetime64" and unit in ("Y", "M", "W", "D") else f"{name}[us]")
    exact = scaled.item()
    convert = table.PLAIN.get(type(exact))
    # numpy does not detect the overflow of a cast to a finer unit, so the value is cast back. A cast to a coarser unit
    # truncates, and cannot overflow.
    overflowed = unit not in _FINER_THAN_MICROSECONDS and scaled.astype(value.dtype) != value
    if overflowed or convert is None or isinstance(exact, int):
        raise ConversionError(
            f"a numpy.{name} of {value} cannot be converted to Java: it is outside of the range of Python's datetime"
        )
    return convert(exact)
