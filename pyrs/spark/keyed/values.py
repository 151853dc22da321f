"""Encode state as JSON: plain values only, each restored with its type."""

from __future__ import annotations

import datetime
from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

from pyspark.sql import Row

from pyrs._core.display import short
from pyrs._core.validation import MISSING
from pyrs.spark.schema.arrow import row_class

_SCALARS = frozenset({type(None), bool, int, float, str})


def _encode_all(values: Any) -> list[Any]:
    return [encoded(value) for value in values]


def _decode_all(values: Any) -> Any:
    return map(decoded, values)


def _encode_time(value: Any) -> list[Any]:
    return [value.isoformat(), value.fold]  # isoformat omits the fold


def _time_decoder(kind: Any) -> Callable[[Any], Any]:
    return lambda parts: kind.fromisoformat(parts[0]).replace(fold=parts[1])


# Each type has its tag, the function that encodes a value as JSON, and the function that decodes it.
_TYPES: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    list: ("list", _encode_all, lambda parts: list(_decode_all(parts))),
    tuple: ("tuple", _encode_all, lambda parts: tuple(_decode_all(parts))),
    set: ("set", _encode_all, lambda parts: set(_decode_all(parts))),
    frozenset: ("frozenset", _encode_all, lambda parts: frozenset(_decode_all(parts))),
    dict: ("dict", lambda value: _encode_all(value.items()), lambda parts: dict(_decode_all(parts))),
    bytes: ("bytes", lambda value: b64encode(value).decode(), b64decode),
    bytearray: ("bytearray", lambda value: b64encode(value).decode(), lambda text: bytearray(b64decode(text))),
    Decimal: ("decimal", str, Decimal),
    UUID: ("uuid", str, UUID),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: ("time", _encode_time, _time_decoder(datetime.time)),
    datetime.datetime: ("datetime", _encode_time, _time_decoder(datetime.datetime)),
    datetime.timedelta: (
        "timedelta",
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: datetime.timedelta(*parts),
    ),
    count: ("count", next, count),  # advances the counter, so state is encoded after the subscription has ended
    type(MISSING): ("missing", lambda _: None, lambda _: MISSING),
}
_DECODERS = {tag: decode for tag, _, decode in _TYPES.values()}


def encoded(value: Any) -> Any:
    """Return a value as a JSON value: a scalar, or a list of a tag and a payload."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    known = _TYPES.get(kind)
    if known is not None:
        return [known[0], known[1](value)]
    if isinstance(value, Row):
        return ["row", [getattr(value, "__fields__", None), _encode_all(value)]]
    raise TypeError(
        f"{short(value)} is of type {kind.__name__}, but state may contain only None, bool, int, float, str, bytes, "
        "Decimal, UUID, dates, times, and lists, tuples, dicts, sets and Rows of these"
    )


def decoded(value: Any) -> Any:
    """Return the value that ``encoded`` has encoded."""
    if type(value) is not list:
        return value
    tag, payload = value
    if tag == "row":
        names, parts = payload
        values = tuple(_decode_all(parts))
        return Row(*values) if names is None else tuple.__new__(row_class(tuple(names)), values)
    return _DECODERS[tag](payload)
