"""Bytes to frames and frames to bytes: the link's grammar, without I/O.

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
    """The kinds of frame, as the protocol numbers them."""

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
    """Why a side closes the link."""

    CLOSING = 0
    INTERNAL_ERROR = 1
    MALFORMED = 2
    VERSION = 3


_CUT_IN_PIECES = frozenset({FrameType.NEXT, FrameType.NEXT_HOME, FrameType.ERROR, FrameType.CALL, FrameType.RETURN})
_OPENING = frozenset({FrameType.HELLO, FrameType.PROOF, FrameType.GOAWAY})
_KNOWN = frozenset(int(kind) for kind in FrameType)


class Frame(NamedTuple):
    """One whole message: the pieces of a large body are joined already."""

    type: int
    id: int
    body: bytes


def frame(kind: int, identifier: int = 0, body: bytes = b"") -> bytes:
    """The bytes of one frame whose body fits (see `pieces` for larger ones)."""
    return HEADER.pack(_ID_AND_TYPE + len(body), kind, identifier) + body


def pieces(kind: int, identifier: int, body: bytes) -> Iterator[bytes]:
    """The frames that carry `body`, cut where it is larger than one frame takes."""
    last = max(0, len(body) - 1) // MAX_BODY * MAX_BODY
    for start in range(0, last, MAX_BODY):
        yield frame(kind | MORE, identifier, body[start : start + MAX_BODY])
    yield frame(kind, identifier, body[last:] if last else body)


def request(identifier: int, credit: int) -> bytes:
    """The bytes of a REQUEST."""
    return frame(FrameType.REQUEST, identifier, CREDIT.pack(credit))


def batch_size(body: bytes) -> int:
    """How many elements a NEXT body holds, read from its msgpack array header alone.

    Raises:
        ProtocolError: the body is no msgpack array of one or more values.
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
    # Every value takes a byte at least, so a count beyond the body's length is a lie.
    if count == 0 or count >= len(body):
        raise ProtocolError("malformed NEXT: its body is not an array of one or more values")
    return count


def array_header(count: int) -> bytes:
    """The msgpack header of an array of `count` values."""
    if count < 16:
        return bytes((0x90 | count,))
    if count < 1 << 16:
        return b"\xdc" + count.to_bytes(2, "big")
    return ARRAY32.pack(0xDD, count)


class FrameDecoder:
    """Turns the bytes of a connection into whole messages, whatever the cuts between reads.

    Memory is bounded by one frame, and by 1 GiB for each message that is being put together.
    """

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self.max_length = max_length
        self._buffer = bytearray()
        self._parts: dict[tuple[int, int], bytearray] = {}

    @property
    def pending(self) -> int:
        """Bytes of the frame that has not arrived whole."""
        return len(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """Take bytes as they came and return the messages that they complete.

        Raises:
            ProtocolError: the bytes break the grammar. Messages before the fault in the same bytes are not returned.
        """
        buffer = self._buffer
        buffer += data
        messages: list[Frame] = []
        start, end = 0, len(buffer)
        while end - start >= 4:
            # The length is checked on its own four bytes, before the rest is waited for.
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
        if self.max_length == UNPROVEN_MAX_LENGTH and (more or kind not in _OPENING):
            # Nobody is known yet: nothing of theirs is kept, not even pieces that fit one by one.
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} before the link is open")
        if not more and not self._parts:
            return Frame(kind, identifier, body)
        if more and kind not in _CUT_IN_PIECES:
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} is never cut in pieces")
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
