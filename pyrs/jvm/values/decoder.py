"""Decode msgpack to Python values."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import starmap
from typing import Any

import msgpack

from pyrs.errors import ConversionError, LinkBroken, LinkClosed, NullSignal, ProtocolError
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.placeholders import DeferredEntries, Placeholder
from pyrs.jvm.values import references as types
from pyrs.jvm.values import table
from pyrs.jvm.values.errors import describe
from pyrs.jvm.values.references import References

_length32 = struct.Struct(">I").unpack_from
_unpack_reference = struct.Struct(">BQ").unpack
_OBJECT = bytes([0xC7, 9, types.SENDER_OWNS, 0])  # msgpack's extension of nine bytes, and the kind of a plain object
_OBJECT_SIZE = 12
_ONE_EXTENSION = b"\x91\xc9"  # an array of one extension, whose length has four bytes
_REFERENCE_SIZE = 9
_LARGE = 2 * LIMITS["frame.body"]  # more than a batch of small elements
_NIL = b"\xc0"
_TIMESTAMP = frozenset({msgpack.Timestamp})
# Matches msgpack's extension type -1 in the header of a Timestamp, after the byte of a fixed size (4 or 8 bytes) or
# after a size of 4, 8 or 12 that takes one, two or four bytes. The pattern begins with a single byte, because several
# are searched for much more slowly.
_find_timestamp = re.compile(rb"\xff(?:(?<=[\xd6\xd7].)|(?<=[\xc7\x00][\x04\x08\x0c].))", re.DOTALL).search
_iterate_objects = struct.Struct(">4xQ").iter_unpack
_Body = bytes | bytearray | memoryview


class _Unreadable:
    """The placeholder in a batch for a value that cannot be converted to Python."""

    __slots__ = ("error",)

    def __init__(self, error: ConversionError) -> None:
        self.error = error


class ValueDecoder:
    r"""Decodes the bytes of the value table.

    Not thread-safe: each stream has its own. With ``defers``, ``decode_entries`` runs no method of the objects that
    return to this side. It decodes each of them as a ``Placeholder``, and returns a ``DeferredEntries`` if there are
    any.

    Examples:
        >>> ValueDecoder(references).decode(b"\x93\x01\xa1a\xc0")  # doctest: +SKIP
        [1, 'a', None]
    """

    __slots__ = (
        "_defers",
        "_failed",
        "_homes",
        "_received",
        "_references",
        "_remote",
        "_sets",
        "_unpack",
        "_unpack_hashable",
    )

    def __init__(
        self, references: References, remote: Callable[[int, int], object] | None = None, *, defers: bool = False
    ) -> None:
        self._references = references
        self._defers = defers
        self._homes = 0
        self._remote = remote or references.remote
        self._failed: list[ConversionError] = []
        self._received: list[object] = []
        self._sets = 0
        options = {"strict_map_key": False, "raw": False}
        self._unpack: Callable[[_Body], Any] = partial(msgpack.unpackb, ext_hook=self._extension, **options)
        # The content of a set must be hashable: lists become tuples, and sets frozensets.
        self._unpack_hashable: Callable[[_Body], Any] = partial(
            msgpack.unpackb, ext_hook=self._hashable_extension, use_list=False, **options
        )

    def decode(self, body: _Body) -> Any:
        """Read one value.

        Raises:
            ConversionError: The value, or one inside it, cannot be converted to Python.
            ProtocolError: The bytes are not a value of the table.
        """
        value = self._read(body)
        if self._failed:
            error = self._failed[0]
            self._failed.clear()
            raise error
        return value

    def decode_entries(self, body: _Body) -> tuple[list[Any], ConversionError | None]:
        """Read an array up to the first entry that cannot be converted.

        Returns the entries before it, and the error of that entry.

        Raises:
            ProtocolError: The bytes are not an array of values of the table.
        """
        entries = self._read(body)
        if type(entries) is not list:
            self._failed.clear()
            raise ProtocolError("the bytes are not a msgpack array")
        if self._failed:
            self._failed.clear()
            for index, entry in enumerate(entries):
                error = _first_error(entry)
                if error is not None:
                    return entries[:index], error
            # No error is left if the value of an equal key of the same map has replaced the unreadable value.
        return DeferredEntries(entries) if self._homes else entries, None

    def decode_batch(self, body: _Body) -> tuple[list[Any], Exception | None]:
        """Read a NEXT body up to the first unreadable element.

        Returns the elements before it, and the error of that element. The elements before an error are still delivered,
        because they were sent earlier. Null is an error, because it is not an element (rule 2.13).

        Raises:
            LinkBroken, LinkClosed: The link has ended, which released an object of this side in the batch.
            ProtocolError: The bytes are not an array of values of the table.
        """
        if isinstance(body, memoryview):
            batch = self._only_arrow(body)
            if batch is not None:
                return batch
        elif _OBJECT in body[1:9]:
            objects = self._only_objects(body)
            if objects is not None:
                return objects, None
        elements, error = self.decode_entries(body)
        # The search of a small batch for the byte of nil takes a microsecond. The loop runs only if the byte is found,
        # or for a large body, which is not searched.
        if len(body) > _LARGE or _NIL in body:
            for element in elements:
                if element is None:
                    index = next(index for index, each in enumerate(elements) if each is None)
                    return elements[:index], NullSignal("the Publisher in the JVM sent null, which is not an element")
        return elements, error

    def _only_objects(self, body: _Body) -> list[Any] | None:
        """Read a batch that contains only references to plain objects of the sender.

        Each takes twelve bytes with the same prefix, so loops in C do the work. Return None for any other batch.
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

    def _only_arrow(self, body: memoryview) -> tuple[list[Any], Exception | None] | None:
        """Read a batch of one large Arrow batch in place; return None for any other."""
        if body[:2] != _ONE_EXTENSION or body[6] != types.ARROW or _length32(body, 2)[0] != len(body) - 7:
            return None
        element = self._value(types.ARROW, body[7:])
        if self._failed:
            return [], self._failed.pop()
        return [element], None

    def _read(self, body: _Body) -> Any:
        """Read the bytes.

        If a key cannot be hashed, an exception ends the call of msgpack. The result is then a list: the entries before
        that key's entry, and an ``_Unreadable``.
        """
        self._homes = 0
        if isinstance(body, memoryview):
            body = bytes(body)
        try:
            value = self._unpack(body)
        except (ProtocolError, LinkBroken, LinkClosed, KeyboardInterrupt):
            self._failed.clear()
            raise
        except BaseException as error:
            self._failed.clear()
            # Either the bytes are malformed, or a key raised while it was hashed or compared. Reading the bytes again
            # without creating values distinguishes the two cases.
            handles = Counter(handle for code, _, handle in _references(body) if code == types.SENDER_OWNS)
            failed = self._fail(f"a value cannot be converted to Python: {describe(error)}", error)
            return [
                *self._entries_before(body, handles),
                failed,
            ]  # no variable: the traceback would keep the entries alive
        finally:
            self._received.clear()
        # The bytes are searched for the header of a Timestamp first. Other values may contain the same bytes, so the
        # types of the values decide. A large body usually contains a few large values: a search of its bytes would take
        # longer than a search of the values, and is left out.
        if (len(body) > _LARGE or _find_timestamp(body)) and table.contains_type(value, _TIMESTAMP):
            self._failed.clear()
            raise ProtocolError("unknown extension type -1")
        return value

    def _entries_before(self, body: _Body, handles: Counter[int]) -> list[Any]:
        """Read the entries of an array before the one whose key raises.

        Their references are those of the first read. The references of the other entries remain in ``handles``, and are
        released.
        """
        entries: list[Any] = []
        received = iter(self._received[:])

        def again(kind: int, handle: int) -> object:
            reference = next(received)
            handles[handle] -= 1
            return reference

        remote, self._remote = self._remote, again
        unpacker = msgpack.Unpacker(ext_hook=self._extension, strict_map_key=False, max_buffer_size=0)
        unpacker.feed(body)
        try:
            for _ in range(unpacker.read_array_header()):
                entries.append(unpacker.unpack())
        except KeyboardInterrupt:
            raise
        except BaseException:  # the key raises again, as in the first read
            pass
        finally:
            self._remote = remote
        for handle in handles.elements():
            self._references.remote_object(handle)  # created and dropped at once, which releases the handle
        return entries

    def _extension(self, code: int, payload: bytes) -> Any:
        if code == types.SENDER_OWNS:
            kind, handle = _reference(payload)
            reference = self._remote(kind, handle)
            self._received.append(reference)
            return reference
        if code == types.RECEIVER_OWNS:
            try:
                local = self._references.local(_reference(payload)[1])
            except LookupError as error:
                return self._fail(str(error), error)
            if not self._defers:
                return local
            self._homes += 1
            return Placeholder(local)
        if code == types.SET:
            return self._set(payload, set)
        return self._value(code, payload)

    def _hashable_extension(self, code: int, payload: bytes) -> Any:
        return self._set(payload, frozenset) if code == types.SET else self._extension(code, payload)

    def _set(self, payload: bytes, kind: type[set[Any]] | type[frozenset[Any]]) -> Any:
        if self._sets >= types.MAX_SETS:
            return self._fail(f"a java.util.Set nested within {self._sets} others cannot be converted to Python", None)
        self._sets += 1
        try:
            content = self._unpack_hashable(payload)
        finally:
            self._sets -= 1
        if type(content) is not tuple:
            raise ProtocolError("the content of a set is not a msgpack array")
        try:
            return kind(content)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an entry that cannot be hashed, or raises while it is hashed or compared
            return self._fail(f"a java.util.Set cannot be converted to a set: {describe(error)}", error)

    def _value(self, code: int, payload: bytes | memoryview) -> Any:
        row = table.EXTENSIONS.get(code)
        if row is None:
            raise ProtocolError(f"unknown extension type {code}")
        name, read = row
        try:
            return read(payload)
        except struct.error as error:
            raise ProtocolError(f"extension type {code} with {len(payload)} bytes") from error
        except Exception as error:  # for example a year beyond 9999, or a time zone that is not installed
            return self._fail(f"a {name} cannot be converted to Python: {describe(error)}", error)

    def _fail(self, message: str, cause: BaseException | None) -> _Unreadable:
        # The error is not raised here, because the elements before this one must still be delivered.
        error = ConversionError(message)
        error.__cause__ = cause
        self._failed.append(error)
        return _Unreadable(error)


def _first_error(value: Any) -> ConversionError | None:
    # This is not recursive, because a value may nest deeper than the rest of the interpreter's stack.
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if type(each) is _Unreadable:
            return each.error
        if type(each) in (list, tuple, set, frozenset):
            waiting.extend(reversed(list(each)))
        elif type(each) is dict:
            waiting.extend(reversed([*each.keys(), *each.values()]))
    return None


def _reference(payload: bytes) -> tuple[int, int]:
    if len(payload) != _REFERENCE_SIZE:
        raise ProtocolError(f"a reference of {len(payload)} bytes")
    kind, handle = _unpack_reference(payload)
    return kind, handle


def _references(body: _Body) -> list[tuple[int, int, int]]:
    """Return the extension type, kind and handle of each reference in a body.

    Raises:
        ProtocolError: The bytes are not a value of the table.
    """
    found: list[tuple[int, int, int]] = []
    bodies: list[_Body] = [body]

    def extension(code: int, payload: bytes) -> None:
        if code in (types.SENDER_OWNS, types.RECEIVER_OWNS):
            found.append((code, *_reference(payload)))
        elif code == types.SET:
            bodies.append(payload)
        elif code not in table.EXTENSIONS:
            raise ProtocolError(f"unknown extension type {code}")

    while bodies:
        try:
            tree = msgpack.unpackb(bodies.pop(), ext_hook=extension, object_pairs_hook=list, strict_map_key=False)
        except ProtocolError:
            raise
        except msgpack.exceptions.StackError:
            continue  # well-formed so far, and too deep for a value
        except Exception as error:
            raise ProtocolError(f"the bytes are not a value: {type(error).__name__} {error}") from error
        waiting = [tree]
        while waiting:  # msgpack decodes its own extension type, and has no option to refuse it
            each = waiting.pop()
            if type(each) is msgpack.Timestamp:
                raise ProtocolError("unknown extension type -1")
            if type(each) in (list, tuple):
                waiting.extend(each)
    return found


def handles_in(body: _Body, owner: int) -> list[int]:
    """Return each occurrence of an owner's handles in a body; none if malformed."""
    try:
        return [handle for code, _, handle in _references(body) if code == owner]
    except ProtocolError:
        return []
