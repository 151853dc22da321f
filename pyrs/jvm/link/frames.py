"""Encode and decode frames: the grammar of the link, without I/O.

The contract is ``docs/protocol.md``; ``tests/vectors/frames.json`` holds the same bytes for both languages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from pyrs.errors import ProtocolError

VERSION = 1
MORE = 0x80
MAX_LENGTH = 131_072
UNPROVEN_MAX_LENGTH = 128
MAX_BODY = 65_536
MAX_MESSAGE = 1 << 30
_ID_AND_TYPE = 9

HEADER = struct.Struct(">IBQ")
CREDIT = struct.Struct(">q")
RELEASED = struct.Struct(">QI")
ARRAY32 = struct.Struct(">BI")


class FrameType(IntEnum):
    """The frame types with the numbers of the protocol."""

    HELLO = 1
    PROOF = 2
    SUBSCRIBE = 3
    ON_SUBSCRIBE = 4
    REQUEST = 5
    CANCEL = 6
    NEXT = 7
    COMPLETE = 8
    ERROR = 9
    CALL = 10
    RETURN = 11
    RELEASE = 12
    GOAWAY = 13
    SUBSCRIBED = 14
    NEXT_HOME = 15


class GoAway(IntEnum):
    """The codes of a GOAWAY frame: the reason for which a side closes the link."""

    CLOSING = 0
    INTERNAL_ERROR = 1
    MALFORMED = 2
    VERSION = 3


_FRAGMENTABLE = frozenset({FrameType.NEXT, FrameType.NEXT_HOME, FrameType.ERROR, FrameType.CALL, FrameType.RETURN})
_HANDSHAKE = frozenset({FrameType.HELLO, FrameType.PROOF, FrameType.GOAWAY})
_KNOWN = frozenset(int(kind) for kind in FrameType)


class Frame(NamedTuple):
    """One complete message; the fragments of a large body are joined."""

    type: int
    id: int
    body: bytes


def frame(kind: int, identifier: int = 0, body: bytes = b"") -> bytes:
    """Return the bytes of one frame; ``fragments`` splits a body that is too large."""
    return HEADER.pack(_ID_AND_TYPE + len(body), kind, identifier) + body


def fragments(kind: int, identifier: int, body: bytes) -> Iterator[bytes]:
    """Yield the frames of ``body``, in fragments if it is too large for one frame."""
    last = max(0, len(body) - 1) // MAX_BODY * MAX_BODY
    for start in range(0, last, MAX_BODY):
        yield frame(kind | MORE, identifier, body[start : start + MAX_BODY])
    yield frame(kind, identifier, body[last:] if last else body)


def request(identifier: int, credit: int) -> bytes:
    """Return the bytes of a REQUEST."""
    return frame(FrameType.REQUEST, identifier, CREDIT.pack(credit))


def batch_size(body: bytes) -> int:
    """Return the number of elements in a NEXT body, from its msgpack header alone.

    Raises:
        ProtocolError: The body is not a msgpack array of one or more values.
    """
    count = 0
    if body:
        first = body[0]
        if first & 0xF0 == 0x90:
            count = first & 0x0F
        elif first == 0xDC and len(body) >= 3:
            count = int.from_bytes(body[1:3], "big")
        elif first == 0xDD and len(body) >= 5:
            count = int.from_bytes(body[1:5], "big")
    # Every value takes at least one byte, so no valid count exceeds the length of the body.
    if count == 0 or count >= len(body):
        raise ProtocolError("malformed NEXT: its body is not an array of one or more values")
    return count


def array_header(count: int) -> bytes:
    """Return the msgpack header of an array of ``count`` values."""
    if count < 16:
        return bytes((0x90 | count,))
    if count < 1 << 16:
        return b"\xdc" + count.to_bytes(2, "big")
    return ARRAY32.pack(0xDD, count)


class FrameDecoder:
    """Decodes the bytes of a connection, however split, into complete messages.

    Memory is bounded by one frame, and by 1 GiB for each fragmented message.
    """

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self.max_length = max_length
        self._buffer = bytearray()
        self._parts: dict[tuple[int, int], bytearray] = {}

    @property
    def pending(self) -> int:
        """The number of bytes of the incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """Take the bytes of one read and return the messages that they complete.

        Raises:
            ProtocolError: The bytes break the grammar. Messages before the fault in the same bytes are not returned.
        """
        buffer = self._buffer
        buffer += data
        messages: list[Frame] = []
        start, end = 0, len(buffer)
        while end - start >= 4:
            # The length is checked before the rest of the frame has arrived.
            length = int.from_bytes(buffer[start : start + 4], "big")
            if not _ID_AND_TYPE <= length <= self.max_length:
                raise ProtocolError(
                    f"malformed frame: a length of {length} is not in {_ID_AND_TYPE}..{self.max_length}"
                )
            if end - start < 4 + length:
                break
            _, kind, identifier = HEADER.unpack_from(buffer, start)
            body = bytes(buffer[start + HEADER.size : start + 4 + length])
            start += 4 + length
            message = self._assemble(kind, identifier, body)
            if message is not None:
                messages.append(message)
        if start:
            del buffer[:start]
        return messages

    def _assemble(self, kind: int, identifier: int, body: bytes) -> Frame | None:
        more, kind = kind & MORE, kind & ~MORE
        if kind not in _KNOWN:
            raise ProtocolError(f"malformed frame: there is no type {kind}")
        if self.max_length == UNPROVEN_MAX_LENGTH and (more or kind not in _HANDSHAKE):
            # The peer is not authenticated yet, so no fragment is buffered.
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} before the link is open")
        if not more and not self._parts:
            return Frame(kind, identifier, body)
        if more and kind not in _FRAGMENTABLE:
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} must not be split into pieces")
        parts = self._parts.get((kind, identifier))
        if len(body) + (len(parts) if parts else 0) > MAX_MESSAGE:
            raise ProtocolError(f"malformed frame: a {FrameType(kind).name} of more than {MAX_MESSAGE} bytes")
        if more:
            self._parts.setdefault((kind, identifier), bytearray()).extend(body)
            return None
        if parts is None:
            return Frame(kind, identifier, body)
        parts += body
        del self._parts[kind, identifier]
        return Frame(kind, identifier, bytes(parts))
