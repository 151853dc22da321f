"""msgpack to Python values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from itertools import starmap
from typing import Any

import msgpack

from pyrs.errors import ConversionError, JvmError, ProtocolError
from pyrs.jvm.values import arrow, table
from pyrs.jvm.values import references as types
from pyrs.jvm.values.references import References

__all__ = ["ValueDecoder", "home_handles", "owned_handles"]

_unpack_reference = struct.Struct(">BQ").unpack
_OBJECT = bytes([0xC7, 9, types.SENDER_OWNS, 0])  # msgpack's extension of nine bytes, and the kind of a plain object
_OBJECT_SIZE = 12
_iterate_objects = struct.Struct(">4xQ").iter_unpack
_Body = bytes | bytearray | memoryview
_EXTENSIONS = {**table.EXTENSIONS, types.ARROW: ("io.pyrs.value.ArrowBatch", arrow.from_ipc)}


class _Unreadable:
    """What stands in a decoded batch where a value has no form in Python."""

    __slots__ = ("error",)

    def __init__(self, error: ConversionError) -> None:
        self.error = error


class ValueDecoder:
    r"""Reads the bytes of the value table as Python values. Not thread-safe: one belongs to one stream.

    Examples:
        >>> ValueDecoder(references).decode(b"\x93\x01\xa1a\xc0")  # doctest: +SKIP
        [1, 'a', None]
    """

    __slots__ = ("_failed", "_references", "_sets", "_unpack", "_unpack_hashable")

    def __init__(self, references: References) -> None:
        self._references = references
        self._failed: list[ConversionError] = []
        self._sets = 0
        options = {"strict_map_key": False, "raw": False}
        self._unpack: Callable[[_Body], Any] = partial(msgpack.unpackb, ext_hook=self._extension, **options)
        # What lies in a set must be hashable: lists are tuples there, and sets frozensets.
        self._unpack_hashable: Callable[[_Body], Any] = partial(
            msgpack.unpackb, ext_hook=self._hashable_extension, use_list=False, **options
        )

    def decode(self, body: _Body) -> Any:
        """Read one value; a NEXT body gives a list of elements.

        Raises:
            ConversionError: if the value, or one within it, has no form in Python.
            ProtocolError: if the bytes are no value of the table.
        """
        value = self._read(body)
        if self._failed:
            error = self._failed[0]
            self._failed.clear()
            raise error
        return value

    def decode_batch(self, body: _Body) -> tuple[list[Any], ConversionError | None]:
        """Read a NEXT body: the elements, and the error of the one that could not be read.

        Where there is an error, the elements are those before it: what was sent earlier is still delivered.

        Raises:
            ProtocolError: if the bytes are no value of the table.
        """
        if _OBJECT in bytes(body[1:9]):
            objects = self._only_objects(body)
            if objects is not None:
                return objects, None
        elements = self._read(body)
        if type(elements) is not list:
            raise ProtocolError("a batch that is no msgpack array")
        if not self._failed:
            return elements, None
        self._failed.clear()
        for index, element in enumerate(elements):
            error = _first_error(element)
            if error is not None:
                return elements[:index], error
        raise AssertionError("an error that no element holds")

    def _only_objects(self, body: _Body) -> list[Any] | None:
        """Read a batch of nothing but references to plain objects of the sender's, which come by the million.

        Each takes twelve bytes that begin alike, so C loops do all of it. None where any element is something else.
        """
        start = {0xDC: 3, 0xDD: 5}.get(body[0], 1)
        count, rest = divmod(len(body) - start, _OBJECT_SIZE)
        size = body[0] & 0x0F if start == 1 else int.from_bytes(body[1:start], "big")
        elements = body[start:]
        if rest or count != size:
            return None
        for offset, byte in enumerate(_OBJECT):
            if bytes(elements[offset::_OBJECT_SIZE]).count(byte) != count:
                return None
        return list(starmap(self._references.remote_object, _iterate_objects(elements)))

    def _read(self, body: _Body) -> Any:
        try:
            return self._unpack(body)
        except JvmError:
            self._failed.clear()
            raise
        except TypeError as error:  # a key that Python cannot hash
            self._failed.clear()
            raise ConversionError(f"a java.util.Map whose key is no scalar has no form as a dict: {error}") from error
        except (ValueError, RecursionError, struct.error, msgpack.exceptions.UnpackException) as error:
            self._failed.clear()
            raise ProtocolError(f"the bytes are no value: {type(error).__name__} {error}") from error

    def _extension(self, code: int, payload: bytes) -> Any:
        if code == types.SENDER_OWNS:
            return self._references.remote(*_unpack_reference(payload))
        if code == types.RECEIVER_OWNS:
            return self._references.local(_unpack_reference(payload)[1])
        if code == types.SET:
            return self._set(payload, set)
        return self._value(code, payload)

    def _hashable_extension(self, code: int, payload: bytes) -> Any:
        return self._set(payload, frozenset) if code == types.SET else self._extension(code, payload)

    def _set(self, payload: bytes, kind: type[set[Any]] | type[frozenset[Any]]) -> Any:
        if self._sets >= types.MAX_SETS:
            return self._fail(f"a java.util.Set within {self._sets} others has no form in Python", None)
        self._sets += 1
        try:
            content = self._unpack_hashable(payload)
        finally:
            self._sets -= 1
        if type(content) is not tuple:
            raise ProtocolError("a set that is no msgpack array")
        try:
            return kind(content)
        except TypeError as error:
            return self._fail(f"a java.util.Set has no form as a set: {error}", error)

    def _value(self, code: int, payload: bytes) -> Any:
        row = _EXTENSIONS.get(code)
        if row is None:
            raise ProtocolError(f"unknown extension type {code}")
        name, read = row
        try:
            return read(payload)
        except struct.error as error:
            raise ProtocolError(f"extension type {code} with {len(payload)} bytes") from error
        except Exception as error:  # the value's own: a year that Python does not have, a zone that is not installed
            return self._fail(f"a {name} has no form in Python: {error}", error)

    def _fail(self, message: str, cause: Exception | None) -> _Unreadable:
        # Not raised here: that would take the elements before this one with it.
        error = ConversionError(message)
        error.__cause__ = cause
        self._failed.append(error)
        return _Unreadable(error)


def _first_error(value: Any) -> ConversionError | None:
    if type(value) is _Unreadable:
        return value.error
    inner: list[Any] = []
    if type(value) in (list, tuple, set, frozenset):
        inner = list(value)
    elif type(value) is dict:
        inner = [*value.keys(), *value.values()]
    return next((error for error in map(_first_error, inner) if error is not None), None)


def owned_handles(body: _Body) -> list[int]:
    """Return the handles that a body carries and its sender owns, once for each receipt.

    For a NEXT that is dropped undecoded: its handles go back to their owner. Bytes that are no value give what was
    found before the fault.
    """
    return _handles(body, types.SENDER_OWNS)


def home_handles(body: _Body) -> list[int]:
    """Return the handles in a body whose owner is the one who reads it, once for each time they stand there."""
    return _handles(body, types.RECEIVER_OWNS)


def _handles(body: _Body, wanted: int) -> list[int]:
    handles: list[int] = []
    bodies: list[_Body] = [body]

    def extension(code: int, payload: bytes) -> None:
        if code == wanted and len(payload) == 9:
            handles.append(_unpack_reference(payload)[1])
        elif code == types.SET:
            bodies.append(payload)

    while bodies:
        try:
            msgpack.unpackb(bodies.pop(), ext_hook=extension, object_pairs_hook=list, strict_map_key=False)
        except (ValueError, TypeError, msgpack.exceptions.UnpackException):
            pass
    return handles
