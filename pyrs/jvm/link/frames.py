"""Encode and decode frames: the grammar of the link, without I/O.

The contract is ``docs/protocol.md``; ``tests/vectors/frames.json`` contains examples for both languages.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from pyrs.errors import ProtocolError
from pyrs.jvm.buffers import Buffer, Buffers, FrameBytes, take
from pyrs.jvm.limits import LIMITS

_ARRAY_OF_ONE = 0x91
_EXTENSION32 = 0xC9
_VALUE_HEADER_SIZE = 7
"""The size of the headers in front of an announced value: an array of one, and a 32-bit extension."""
_ALIGNMENT = 16
"""The alignment of a bytearray. Arrow uses a batch in place if its buffers are aligned."""
MAX_ANNOUNCED = 16 << 20
"""The largest buffer that is allocated before its bytes arrive."""


class AnnouncedMessage:
    """A message that is received into one buffer, with an aligned payload."""

    __slots__ = ("_view", "filled", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.filled = 0
        start = -_VALUE_HEADER_SIZE % _ALIGNMENT
        self._view = memoryview(bytearray(start + size))[start:]

    @property
    def body(self) -> memoryview:
        """The received bytes."""
        return self._view[: self.filled]

    def space(self, size: int) -> memoryview:
        """Return the next ``size`` bytes to receive, fewer at the end of the buffer."""
        return self._view[self.filled : self.filled + size]

    def append(self, data: memoryview) -> None:
        """Add received bytes."""
        self.space(len(data))[:] = data
        self.filled += len(data)


def announced_size(first: memoryview) -> int:
    """Return the announced size of an incomplete message; 0 if unknown or too large."""
    if len(first) < _VALUE_HEADER_SIZE or first[0] != _ARRAY_OF_ONE or first[1] != _EXTENSION32:
        return 0
    size = _VALUE_HEADER_SIZE + int.from_bytes(first[2:6], "big")
    return size if len(first) < size <= MAX_ANNOUNCED else 0


VERSION = 1
MORE = 0x80
MAX_LENGTH = LIMITS["frame.length"]
UNPROVEN_MAX_LENGTH = LIMITS["frame.unproven_length"]
MAX_BODY = LIMITS["frame.body"]
MAX_MESSAGE = LIMITS["message.bytes"]
MAX_UNFINISHED = LIMITS["message.unfinished"]
MAX_UNFINISHED_BYTES = LIMITS["message.unfinished_mib"] << 20
_READ_AT_ONCE = 256 * 1_024
_ID_AND_TYPE = 9
_PEEK = 64

Body: TypeAlias = "bytes | bytearray | memoryview"
"""The body of a received message. Joined fragments are not ``bytes``, because that would need another copy."""

HEADER = struct.Struct(">IBQ")
MAX_FRAGMENT = MAX_LENGTH - HEADER.size
"""The maximum size of a fragment's body, if the message consists of several buffers. The body and the next header are
then 128 KiB, the most that the JVM reads in one system call."""
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


_UNFINISHED = " of a link (message.unfinished, message.unfinished_mib): send fewer large values at the same time"
_FRAGMENTABLE = frozenset({FrameType.NEXT, FrameType.NEXT_HOME, FrameType.ERROR, FrameType.CALL, FrameType.RETURN})
_HANDSHAKE = frozenset({FrameType.HELLO, FrameType.PROOF, FrameType.GOAWAY})
_KNOWN = frozenset(int(kind) for kind in FrameType)


class Frame(NamedTuple):
    """One complete message; the fragments of a large body are joined."""

    type: int
    id: int
    body: Body


def frame(kind: int, identifier: int = 0, body: bytes = b"") -> bytes:
    """Return one frame. ``Message`` splits a body that does not fit into it."""
    return HEADER.pack(_ID_AND_TYPE + len(body), kind, identifier) + body


class Message:
    """The frames of one message: fragments if its body is too large for one frame.

    They take turns with the frames of other sources of the ``Outbox``. Each frame is created when it is taken, as a
    list of buffers, which the writer joins. All frames at once would be another copy of a large body.

    Args:
        prefix: bytes in front of ``body``.
        carried: the references in the message.
        written: called after the last frame was written.
    """

    __slots__ = ("_carried", "_identifier", "_kind", "_left", "_most", "_parts", "_written", "queued")

    def __init__(
        self,
        kind: int,
        identifier: int,
        body: bytes | Buffers,
        prefix: bytes = b"",
        *,
        carried: Sequence[object] = (),
        written: Callable[[], object] = lambda: None,
    ) -> None:
        self._kind = kind
        self._identifier = identifier
        self._most = MAX_FRAGMENT if isinstance(body, Buffers) else MAX_BODY
        self._parts: deque[Buffer] = deque(body.parts if isinstance(body, Buffers) else [memoryview(body)])
        self._parts.appendleft(prefix)
        self._left = len(prefix) + len(body)
        self._carried = carried
        self._written = written
        self.queued = False

    def take(self) -> tuple[FrameBytes, bool]:
        """Return the next frame.

        The last frame is followed by one more turn, because the references are held until it is written.
        """
        if not self._parts:
            self._carried = ()
            self._written()
            return b"", False
        size = min(self._left, self._most)
        buffers = take(self._parts, size)
        self._left -= size
        if not self._left:
            self._parts.clear()  # only an empty body is left
        kind = self._kind | MORE if self._left else self._kind
        return [HEADER.pack(_ID_AND_TYPE + size, kind, self._identifier), *buffers], True


def batch_size(body: Body) -> int:
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
    """Decodes the bytes of a connection, split anywhere, into complete messages.

    A reader receives into ``space()`` and passes the number of bytes to ``received``, so that the bytes of a fragment
    are copied once. If the size of its message is announced, only the bytes of the first read are copied. Memory is
    bounded by one read and one frame, and by ``message.unfinished`` and ``message.unfinished_mib`` for fragments.
    """

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self.max_length = max_length
        self._buffer = memoryview(bytearray(_READ_AT_ONCE + 4 + MAX_LENGTH))
        self._end = 0  # the end of the incomplete frame, which is at the start of the buffer
        self._parts: dict[tuple[int, int], bytearray | AnnouncedMessage] = {}
        self._unfinished = 0
        self._in_place: AnnouncedMessage | None = None  # receives the rest of the current frame
        self._current = Frame(0, 0, b"")  # that frame: its type with MORE, and its id
        self._arrived = 0
        self._missing = 0
        self._peeks = False  # the next read takes only a few bytes, because another announced message may follow
        self._fault: ProtocolError | None = None  # found after complete messages

    @property
    def pending(self) -> int:
        """The number of bytes of the incomplete frame."""
        return self._end if self._in_place is None else HEADER.size + self._arrived

    @property
    def in_place(self) -> bool:
        """True if ``space()`` must be full before anything can be decoded.

        If so, the peer will send enough to fill it.
        """
        return self._in_place is not None

    def space(self) -> memoryview:
        """Return the buffer for the bytes of the next read.

        Raises:
            ProtocolError: The bytes break the grammar, after the messages that were returned last.
        """
        if self._fault is not None:
            raise self._fault
        message = self._in_place
        if message is None:
            if not self._peeks:
                return self._buffer[self._end :]
            self._peeks = False
            return self._buffer[self._end : self._end + _PEEK]
        # The header of the next frame is read in the same call. The body of that frame overwrites it.
        return message.space(self._missing + HEADER.size if self._current.type & MORE else self._missing)

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """Copy bytes into the buffer; return the messages that they complete."""
        messages: list[Frame] = []
        rest = memoryview(data)
        while True:
            space = self.space()
            size = min(len(space), len(rest))
            space[:size] = rest[:size]
            messages += self.received(size)
            rest = rest[size:]
            if not rest or self._fault is not None:
                return messages

    def received(self, size: int) -> list[Frame]:
        """Return the messages that the next ``size`` bytes of the buffer complete.

        Raises:
            ProtocolError: The bytes break the grammar. If they complete messages before the fault, these are returned,
                and the next ``space()`` raises the error.
        """
        if self._in_place is not None:
            return self._received_in_place(self._in_place, size)
        buffer = self._buffer
        messages: list[Frame] = []
        start, end = 0, self._end + size
        try:
            while end - start >= 4:
                # The length is checked before the rest of the frame has arrived.
                length = int.from_bytes(buffer[start : start + 4], "big")
                if not _ID_AND_TYPE <= length <= self.max_length:
                    raise ProtocolError(
                        f"malformed frame: a length of {length} is not in {_ID_AND_TYPE}..{self.max_length}"
                    )
                if end - start < 4 + length:
                    # Before the proof no fragment is legal, which ``_assemble`` reports.
                    proven = self.max_length != UNPROVEN_MAX_LENGTH
                    if proven and end - start >= HEADER.size and self._receive_in_place(buffer[start:end]):
                        start = end
                    break
                _, kind, identifier = HEADER.unpack_from(buffer, start)
                body = buffer[start + HEADER.size : start + 4 + length]
                start += 4 + length
                message = self._assemble(kind, identifier, body)
                if message is not None:
                    messages.append(message)
        except ProtocolError as fault:
            if not messages:
                raise
            self._fault = fault.with_traceback(None)  # a traceback refers to this decoder
            return messages
        if start:
            buffer[: end - start] = buffer[start:end]
        self._end = end - start
        return messages

    def _receive_in_place(self, incomplete: memoryview) -> bool:
        """Receive the rest of a frame into its announced message, if it has one."""
        length, kind, identifier = HEADER.unpack_from(incomplete)
        message = self._parts.get((kind & ~MORE, identifier))
        length -= _ID_AND_TYPE
        if message is None and kind == FrameType.NEXT | MORE:
            size = announced_size(incomplete[HEADER.size :])
            if size:
                message = self._begin(FrameType.NEXT, identifier, size)
        if not isinstance(message, AnnouncedMessage) or message.filled + length > message.size:
            return False
        body = incomplete[HEADER.size :]
        message.append(body)
        self._in_place, self._current = message, Frame(kind, identifier, b"")
        self._arrived, self._missing = len(body), length - len(body)
        return True

    def _received_in_place(self, message: AnnouncedMessage, size: int) -> list[Frame]:
        arrived = min(size, self._missing)
        message.filled += arrived
        self._arrived += arrived
        self._missing -= arrived
        if self._missing:
            return []
        self._in_place = None
        kind, identifier, _ = self._current
        if not kind & MORE:
            return [self._joined(kind, identifier, message)]
        following = size - arrived
        self._buffer[:following] = message.space(following)
        return self.received(following)

    def _assemble(self, kind: int, identifier: int, body: memoryview) -> Frame | None:
        more, kind = kind & MORE, kind & ~MORE
        if kind not in _KNOWN:
            raise ProtocolError(f"malformed frame: there is no type {kind}")
        if self.max_length == UNPROVEN_MAX_LENGTH and (more or kind not in _HANDSHAKE):
            # The peer is not authenticated yet, so no fragment is buffered.
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} before the link is open")
        if not more and not self._parts:
            return Frame(kind, identifier, bytes(body))
        if more and kind not in _FRAGMENTABLE:
            raise ProtocolError(f"malformed frame: {FrameType(kind).name} is never fragmented")
        parts = self._parts.get((kind, identifier))
        if parts is None:
            if not more:
                return Frame(kind, identifier, bytes(body))
            parts = self._begin(kind, identifier, announced_size(body))
        if isinstance(parts, AnnouncedMessage):
            if parts.filled + len(body) <= parts.size:
                parts.append(body)
                return None if more else self._joined(kind, identifier, parts)
            # The message is malformed, which the decoder of its value reports.
            self._unfinished -= parts.size - parts.filled
            parts = self._parts[kind, identifier] = bytearray(parts.body)
        if len(parts) + len(body) > MAX_MESSAGE:
            raise ProtocolError(f"malformed frame: a {FrameType(kind).name} of more than {MAX_MESSAGE} bytes")
        self._count(len(body))
        parts += body
        return None if more else self._joined(kind, identifier, parts)

    def _begin(self, kind: int, identifier: int, size: int) -> bytearray | AnnouncedMessage:
        """Begin to join a message of ``size`` bytes; 0 if its size is not announced."""
        if len(self._parts) >= MAX_UNFINISHED:
            raise ProtocolError(f"malformed frame: {MAX_UNFINISHED:,} unfinished messages are the limit{_UNFINISHED}")
        self._count(size)
        parts = self._parts[kind, identifier] = AnnouncedMessage(size) if size else bytearray()
        return parts

    def _count(self, size: int) -> None:
        """Count bytes of unfinished messages.

        An announced size counts before its buffer is allocated.
        """
        self._unfinished += size
        if self._unfinished > MAX_UNFINISHED_BYTES:
            raise ProtocolError(
                f"malformed frame: {MAX_UNFINISHED_BYTES:,} bytes of unfinished messages are the limit{_UNFINISHED}"
            )

    def _joined(self, kind: int, identifier: int, parts: bytearray | AnnouncedMessage) -> Frame:
        del self._parts[kind, identifier]
        if isinstance(parts, AnnouncedMessage):
            self._unfinished -= parts.size
            self._peeks = True
            return Frame(kind, identifier, parts.body)
        self._unfinished -= len(parts)
        return Frame(kind, identifier, parts)
