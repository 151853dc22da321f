"""The rows of the value table, one function per type and direction.

msgpack itself has None, bool, 64-bit int, float, str, bytes, list and dict. The other rows are here, except sets,
subclasses and references. A ``from_`` function returns what the packer accepts, a plain value or an ``ExtType``; a
``to_`` function reads the payload of an extension.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import struct
import uuid
import zoneinfo
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from typing import Any

import msgpack

from pyrs.errors import ConversionError
from pyrs.jvm.values import arrow
from pyrs.jvm.values import references as types

_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MAX_OFFSET = 18 * 3600
_SECOND = dt.timedelta(seconds=1)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_LEAST, _BEYOND = -(2**63), 2**64

_pack_long = struct.Struct(">q").pack
_pack_long_int = struct.Struct(">qi").pack
_pack_moment = struct.Struct(">qii").pack


def type_name(value: object) -> str:
    """Return the qualified name of a value's type, without the module for a builtin."""
    kind = type(value)
    try:
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    except Exception:  # raised by a property of the metaclass
        return "object"


def contains_type(value: object, kinds: frozenset[type], *, subclasses: bool = False) -> bool:
    """Return whether a value is or contains an object of one of these classes.

    The search includes the members of lists, tuples, dicts and sets. The inner loops run in C. With ``subclasses``,
    objects of subclasses of these containers are containers, too. Their methods are user code, so their members are
    read as the encoder reads them.
    """
    level: list[Any] = [value]
    while level:
        found = set(map(type, level))
        if not kinds.isdisjoint(found):
            return True
        containers = {kind for kind in found if kind in _CONTAINERS or (subclasses and issubclass(kind, _CONTAINERS))}
        if not containers:
            return False
        inner: list[Any] = []
        for each in level:
            if type(each) not in containers:
                continue
            if isinstance(each, dict):
                inner.extend(chain.from_iterable(each.items()))
            else:
                inner.extend(list.__iter__(each) if isinstance(each, list) else each)
        level = inner
    return False


def from_int(value: int) -> Any:
    """Convert an int within 64 bits to msgpack's own format, others to an extension."""
    if _LEAST <= value < _BEYOND:
        return int(value)
    # One bit more than the magnitude, for the sign; -2**(8k-1) needs no additional byte.
    length = (value + (value < 0)).bit_length() // 8 + 1
    return msgpack.ExtType(types.BIG_INTEGER, int.to_bytes(value, length, "big", signed=True))


def from_decimal(value: decimal.Decimal) -> Any:
    """Convert a finite Decimal to its text. BigDecimal has neither NaN nor infinity."""
    if not value.is_finite():
        raise ConversionError(f"a decimal.Decimal of {value} cannot be converted to a java.math.BigDecimal")
    return msgpack.ExtType(types.DECIMAL, str(value).encode())


def from_date(value: dt.date) -> Any:
    """Convert a date to days since 1970-01-01."""
    return msgpack.ExtType(types.DATE, _pack_long(value.toordinal() - _EPOCH_DAY))


def from_time(value: dt.time) -> Any:
    """Convert a time of day to nanoseconds since midnight, and its UTC offset, if any."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    nanos = (seconds * 1_000_000 + value.microsecond) * 1000
    if value.tzinfo is None:
        return msgpack.ExtType(types.TIME, _pack_long(nanos))
    offset = value.utcoffset()
    if offset is None:
        raise ConversionError("a datetime.time whose zone has no offset without a date cannot be converted to Java")
    return msgpack.ExtType(types.TIME, _pack_long_int(nanos, _offset_seconds(offset)))


def from_datetime(value: dt.datetime) -> Any:
    """Convert a datetime to seconds and nanoseconds since 1970, with offset and zone."""
    offset = value.utcoffset()
    if offset is None:
        span = value.replace(tzinfo=None) - _EPOCH
        return msgpack.ExtType(types.LOCAL_DATETIME, _pack_long_int(span // _SECOND, span.microseconds * 1000))
    span = value - _EPOCH_UTC
    zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
    payload = _pack_moment(span // _SECOND, span.microseconds * 1000, _offset_seconds(offset))
    return msgpack.ExtType(types.DATETIME, payload + zone.encode() if isinstance(zone, str) else payload)


def _offset_seconds(offset: dt.timedelta) -> int:
    seconds = offset // _SECOND
    if offset.microseconds or not -_MAX_OFFSET <= seconds <= _MAX_OFFSET:
        raise ConversionError(
            f"a UTC offset of {offset} cannot be converted to a java.time.ZoneOffset: it must be whole seconds, up to "
            "18 hours"
        )
    return seconds


def from_timedelta(value: dt.timedelta) -> Any:
    """Convert a timedelta to seconds and nanoseconds."""
    return msgpack.ExtType(types.DURATION, _pack_long_int(value // _SECOND, value.microseconds * 1000))


def from_uuid(value: uuid.UUID) -> Any:
    """Convert a UUID to its 16 bytes.

    The bytes are taken from ``int``, because a subclass may override ``bytes``, and Java refuses another length.
    """
    return msgpack.ExtType(types.UUID, int.to_bytes(value.int, 16, "big"))


def from_enum(value: enum.Enum) -> str:
    """Convert a member of an Enum, also of an IntEnum, to its name."""
    name = value.name
    if name is None:
        raise ConversionError(f"a {type_name(value)} without a name cannot be converted to Java")
    return str(name)


PLAIN: dict[type, Callable[[Any], Any]] = {
    tuple: list,
    int: from_int,
    decimal.Decimal: from_decimal,
    dt.date: from_date,
    dt.time: from_time,
    dt.datetime: from_datetime,
    dt.timedelta: from_timedelta,
    uuid.UUID: from_uuid,
}
"""The functions by exact type."""


def to_date(payload: bytes) -> dt.date:
    """Read a date."""
    (day,) = struct.unpack(">q", payload)
    return dt.date.fromordinal(day + _EPOCH_DAY)


def to_time(payload: bytes) -> dt.time:
    """Read a time of day, truncated to microseconds."""
    zone = None
    if len(payload) == 12:
        nanos, offset = struct.unpack(">qi", payload)
        zone = _fixed(offset)
    else:
        (nanos,) = struct.unpack(">q", payload)
    seconds, rest = divmod(nanos, 1_000_000_000)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest // 1000, zone)


def to_local_datetime(payload: bytes) -> dt.datetime:
    """Read a naive datetime, truncated to microseconds."""
    seconds, nanos = struct.unpack(">qi", payload)
    return _EPOCH + dt.timedelta(seconds=seconds, microseconds=nanos // 1000)


def to_datetime(payload: bytes) -> dt.datetime:
    """Read an aware datetime, in its named zone or at a fixed offset."""
    seconds, nanos, offset = struct.unpack_from(">qii", payload)
    moment = dt.timedelta(seconds=seconds, microseconds=nanos // 1000)
    zone: dt.tzinfo = _fixed(offset)
    if len(payload) > 16:
        zone = zoneinfo.ZoneInfo(payload[16:].decode())
        with suppress(OverflowError):
            return (_EPOCH_UTC + moment).astimezone(zone)
    # The computation avoids UTC, in which the instant may lie outside of Python's years.
    return (_EPOCH + (moment + dt.timedelta(seconds=offset))).replace(tzinfo=zone)


def _fixed(offset: int) -> dt.timezone:
    return dt.timezone(dt.timedelta(seconds=offset)) if offset else dt.timezone.utc


def to_timedelta(payload: bytes) -> dt.timedelta:
    """Read a timedelta, truncated to microseconds."""
    seconds, nanos = struct.unpack(">qi", payload)
    return dt.timedelta(seconds=seconds, microseconds=nanos // 1000)


EXTENSIONS: dict[int, tuple[str, Callable[[Any], Any]]] = {
    types.BIG_INTEGER: ("java.math.BigInteger", lambda payload: int.from_bytes(payload, "big", signed=True)),
    types.DECIMAL: ("java.math.BigDecimal", lambda payload: decimal.Decimal(payload.decode())),
    types.DATE: ("java.time.LocalDate", to_date),
    types.TIME: ("java.time.LocalTime", to_time),
    types.LOCAL_DATETIME: ("java.time.LocalDateTime", to_local_datetime),
    types.DATETIME: ("java.time.ZonedDateTime", to_datetime),
    types.DURATION: ("java.time.Duration", to_timedelta),
    types.UUID: ("java.util.UUID", lambda payload: uuid.UUID(bytes=struct.unpack("16s", payload)[0])),
    types.ARROW: ("io.pyrs.value.ArrowBatch", arrow.from_ipc),
}
"""The Java class of each extension type, and the function that reads it."""
