"""Encode Python values as msgpack."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import msgpack

from pyrs.errors import ConversionError
from pyrs.jvm.buffers import Buffers
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.values import arrow, table
from pyrs.jvm.values import references as types
from pyrs.jvm.values.errors import describe
from pyrs.jvm.values.references import References
from pyrs.jvm.values.subclasses import arrow_extension, converter_for

_pack_reference = struct.Struct(">BQ").pack
_MAX_ROWS = 4096
_EXTENSION32 = struct.Struct(">BIB")
_MIN_BUFFERS = 2 * LIMITS["frame.body"]
_MAX_EXTENSION = LIMITS["message.bytes"]
_CHECKED_AT_ONCE = LIMITS["frame.body"]
_SCALARS = frozenset({type(None), bool, float, str, bytes, *table.PLAIN} - {tuple})

_Checker: TypeAlias = "tuple[Callable[[bytes], None], Callable[[], None], Callable[[int], bytes]]"
_idle_checkers: list[_Checker] = []
"""The methods of Unpackers that check small values. An Unpacker takes 100 KiB, which is too much for each encoder."""
_take_checker, _keep_checker = _idle_checkers.pop, _idle_checkers.append


class ValueEncoder:
    r"""Encodes Python values.

    Not thread-safe: each stream has its own.

    Attributes:
        encode: Encodes a value. It is the bound method of the packer, so that a plain element costs one call into C.
            It may raise any exception, which ``explain`` converts to a ConversionError.
        encode_element: Encodes an element of a stream. It is ``encode`` until the first Arrow batch; after that it
            does not copy large Arrow batches.
        carried: A list of the references in the encoded values: the handles of local objects, which are ints, and the
            proxies for the peer's objects, which keep their handles valid. The user of the encoder empties the list.
        converted: A list with one item: the last value that the packer passed to Python code. ``check`` and
            ``explain`` reset the item to None, so None means that no Python code has run since then.

    Examples:
        >>> ValueEncoder(references).encode([1, "a", None])  # doctest: +SKIP
        b'\x93\x01\xa1a\xc0'
    """

    __slots__ = (
        "_convert",
        "_rows",
        "_sets",
        "carried",
        "converted",
        "encode",
        "encode_element",
        "references",
    )

    encode: Callable[[object], bytes]
    encode_element: Callable[[object], bytes | Buffers]

    def __init__(self, references: References) -> None:
        self.references = references
        self.carried: list[object] = []
        self._sets = 0
        self.converted: list[object] = [None]
        self._rows: dict[type, Callable[[Any], Any]] = dict(table.PLAIN)
        self._rows[set] = self._rows[frozenset] = self._from_set
        self._convert = self._conversion()
        self.encode = self.encode_element = self._packer().pack

    def _packer(self) -> msgpack.Packer:
        return msgpack.Packer(strict_types=True, default=self._convert, buf_size=4096)

    def _conversion(self) -> Callable[[Any], Any]:
        """Return the function that the packer calls for values that it does not know."""
        # Not a method, because it runs for each tuple and each date, and local variables are faster than attributes.
        row_of, row_for, converted = self._rows.get, self._row_for, self.converted

        def convert(value: Any) -> Any:
            converted[0] = value
            row = row_of(type(value))
            if row is None:
                row = row_for(type(value))
            return row(value)

        return convert

    def check(self, value: object, encoded: bytes) -> None:
        """Check that a value was encoded completely.

        The packer writes the size of a list or dict before the members. While it converts a member in Python, another
        thread may change that list or dict. The bytes would then contain too few or too many members, and the reader
        would take the next value for a member. A value for which no Python code ran is not checked, and neither is a
        tuple of scalars, which cannot change.

        Raises:
            ConversionError: The bytes are not exactly one value.
        """
        converted, self.converted[0] = self.converted[0], None
        if converted is None or (type(value) is tuple and _SCALARS.issuperset(map(type, value))):
            return
        small = len(encoded) <= _CHECKED_AT_ONCE
        if small:
            try:
                feed, skip, rest = checker = _take_checker()
            except IndexError:
                feed, skip, rest = checker = _new_checker(None)
            feed(encoded)
        else:
            _, skip, rest = checker = _new_checker(io.BytesIO(encoded))  # reads the bytes without a copy
        try:
            skip()
            if not rest(1):
                if small:
                    _keep_checker(checker)
                return
        except msgpack.OutOfData:
            pass
        raise ConversionError(
            "a list or dict changed while it was converted to Java: another thread, or a method of a value inside it, "
            "added or removed members. Emit a copy"
        )

    def explain(self, value: object, error: BaseException) -> ConversionError:
        """Return a ConversionError for a value that ``encode`` rejected.

        The references of the value are disowned. This never fails, whatever the methods of the value and the error do.

        Returns:
            The error itself if it is a ConversionError; otherwise one that names the type of the value.
        """
        carried, self.carried[:] = self.carried[:], []
        self.references.disown(carried)
        self.converted[0] = None
        if isinstance(error, ConversionError):
            return error
        name = table.type_name(value)
        if isinstance(error, UnicodeEncodeError):
            text = f"a str has a lone surrogate (U+{ord(error.object[error.start]):04X} at {error.start})"
        elif isinstance(error, RecursionError) or (isinstance(error, ValueError) and "recursion" in describe(error)):
            text = "it contains itself or nests too deep"
        else:
            text = describe(error)
        explained = ConversionError(f"a {name} cannot be converted to Java: {text}")
        explained.__cause__ = error
        return explained

    def _row_for(self, kind: type) -> Callable[[Any], Any]:
        """Select the converter of a class.

        The encoder stores the converters of up to 4,096 classes, and keeps these classes alive.
        """
        row = self._from_set if issubclass(kind, (set, frozenset)) else converter_for(kind) or self._from_reference
        if row is arrow_extension:
            self.encode_element = self._encode_arrow
        if len(self._rows) < _MAX_ROWS:
            self._rows[kind] = row
        return row

    def _encode_arrow(self, value: object) -> bytes | Buffers:
        """Encode an element of a stream that contains Arrow batches."""
        if converter_for(type(value)) is not arrow_extension:
            return self.encode(value)
        buffers = arrow.ipc_buffers(value)
        size = sum(map(len, buffers))
        if not _MIN_BUFFERS < size <= _MAX_EXTENSION:
            return self.encode(msgpack.ExtType(types.ARROW, b"".join(buffers)))
        return Buffers([_EXTENSION32.pack(0xC9, size, types.ARROW), *buffers])

    def _from_reference(self, value: object) -> Any:
        home = self.references.home(value)
        if home is not None:
            kind, handle, proxy = home
            self.carried.append(proxy)
            return msgpack.ExtType(types.RECEIVER_OWNS, _pack_reference(kind, handle))
        kind = self.references.kind_of(value)
        handle = self.references.own(value)
        self.carried.append(handle)
        return msgpack.ExtType(types.SENDER_OWNS, _pack_reference(kind, handle))

    def _from_set(self, value: set[Any] | frozenset[Any]) -> Any:
        # The packer is busy while it calls this, so the content needs another packer.
        if self._sets >= types.MAX_SETS:
            raise ConversionError(f"a {table.type_name(value)} nests deeper than {types.MAX_SETS} sets")
        self._sets += 1
        try:
            content = self._packer().pack(list(value))
            if self.converted[0] is not value:
                # The check of the outermost value does not read the content of an extension.
                self.check(value, content)
                self.converted[0] = value
        finally:
            self._sets -= 1
        return msgpack.ExtType(types.SET, content)


def _new_checker(stream: io.BytesIO | None) -> _Checker:
    unpacker = msgpack.Unpacker(stream, max_buffer_size=0, read_size=_CHECKED_AT_ONCE)
    return unpacker.feed, unpacker.skip, unpacker.read_bytes
