"""Generate frames of the link: valid in the current state, mutated, or random bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgpack

from pyrs.jvm.link.frames import CREDIT, MORE, RELEASED, FrameType, frame

VECTORS = Path(__file__).parent.parent / "vectors"
_ROWS = json.loads((VECTORS / "values.json").read_text("utf-8"))
VALID = [bytes.fromhex(each["hex"]) for each in _ROWS if "malformed" not in each]
"""Encoded values: every row of the value table."""

MALFORMED = [bytes.fromhex(each["hex"]) for each in _ROWS if "malformed" in each]

FRAMES = [bytes.fromhex(each["hex"]) for each in json.loads((VECTORS / "frames.json").read_text("utf-8"))]
EDGES = [0, 1, 2, 7, 127, 128, 255, 256, 32_767, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63]
SMALL_LEAVES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "text",
    "\u2028",
    b"",
    b"\xff",
]
DEPTH = 4


class Values:
    """Generates encoded values.

    Args:
        random: the source of randomness.
        wild: also generate malformed values, which end the link in some frames.
    """

    def __init__(self, random: Random, *, wild: bool) -> None:
        self.random = random
        self.wild = wild

    def value(self, depth: int = 0) -> bytes:
        """Return a value."""
        random = self.random
        kind = random.random()
        if kind < 0.4:
            return random.choice(VALID)
        if kind < 0.6 or depth >= DEPTH:
            return bytes(msgpack.packb(random.choice(SMALL_LEAVES)))
        if kind < 0.7:
            edge = random.choice(EDGES)
            return bytes(msgpack.packb(edge if kind < 0.65 else -min(edge, 2**63)))
        if kind < 0.8:
            return array([self.value(depth + 1) for _ in range(random.randrange(4))])
        if kind < 0.9:
            key = (lambda: self.value(depth + 1)) if self.wild else (lambda: bytes(msgpack.packb(random.choice(EDGES))))
            return mapping([(key(), self.value(depth + 1)) for _ in range(random.randrange(4))])
        if kind < 0.95:
            return self.reference()
        if kind < 0.97:
            return b"\x91" * random.choice((10, 511, 512, 513, 2_000)) + b"\x01"
        if kind < 0.98:
            return nested_sets(random.choice((1, 31, 32, 33, 60)))
        return self.malformed() if self.wild else b"\xc0"

    def reference(self) -> bytes:
        """Return a reference to an object of either side."""
        random = self.random
        if random.random() < 0.5:  # an object of the receiver
            kind, handle = random.choice((0, 1, 2, 3, 4)), random.choice((*range(9), 2**63))
            return bytes(msgpack.packb(msgpack.ExtType(17, struct.pack(">BQ", kind, handle))))
        kind = random.choice((0, 0, 1, 2, 3, 5, 16, 17, 255) if self.wild else (0, 0, 1, 2, 3))
        handle = random.choice((0, 2**63, 2**64 - 1) if self.wild else (1, 2, 3, 70, 71, 10_000))
        return bytes(msgpack.packb(msgpack.ExtType(16, struct.pack(">BQ", kind, handle))))

    def malformed(self) -> bytes:
        """Return a malformed value, or one that resembles it."""
        random = self.random
        if random.random() < 0.3:
            return random.choice(MALFORMED)
        payload = random.choice((self.value(DEPTH), random.randbytes(random.randrange(20)), b"1" * 5_000))
        return bytes(msgpack.packb(msgpack.ExtType(random.randrange(24), payload)))

    def error(self) -> bytes:
        """Return the encoded list of an error; if ``wild`` is True, some entries have wrong types."""
        random = self.random
        entries = [b"\x00", b"\x07", b"\xa1E", b"\xa3why", b"\x90", b"\xc0", b"\xc0", b"\x90"]
        if random.random() < 0.2:
            entries[5] = self.error()
        if not self.wild:
            return array(entries)
        for _ in range(random.randrange(3)):
            entries[random.randrange(8)] = self.value(2)
        if random.random() < 0.2:
            entries[4] = array([array([self.value(DEPTH) for _ in range(4)])])
        return array(entries[: random.choice((8, 8, 8, 8, 9, 7, 0))])


def array(values: list[bytes]) -> bytes:
    """Return a msgpack array of encoded values."""
    return bytes(msgpack.Packer().pack_array_header(len(values))) + b"".join(values)


def mapping(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """Return a msgpack map of encoded keys and values."""
    return bytes(msgpack.Packer().pack_map_header(len(pairs))) + b"".join(key + each for key, each in pairs)


def nested_sets(depth: int) -> bytes:
    """Return sets within sets."""
    inner = b"\x01"
    for _ in range(depth):
        inner = bytes(msgpack.packb(msgpack.ExtType(9, b"\x91" + inner)))
    return inner


class Peer:
    """Generates the frames of a peer.

    Args:
        random: the source of randomness.
        published: the streams of which this peer is the publisher end.
        consumed: the streams of which this peer is the consumer end.
        handles: the handles of the other side's objects.
        first_stream: the first stream that this peer opens.
        hostility: the probability that a frame is mutated or random. At 0 every frame is legal, so the link stays open.
    """

    def __init__(
        self,
        random: Random,
        published: list[int],
        consumed: list[int],
        handles: list[int],
        first_stream: int,
        hostility: float,
    ) -> None:
        self.random = random
        self.hostility = hostility
        self.values = Values(random, wild=hostility > 0)
        self.published = published
        self.consumed = consumed
        self.handles = handles
        self.next_stream = first_stream
        self.next_call = 1
        self._makers: list[Callable[[], bytes]] = [
            *(4 * [self.next]),
            self.next_home,
            *(2 * [self.request]),
            self.cancel,
            self.complete,
            self.error,
            *(2 * [self.subscribe]),
            self.on_subscribe,
            *(2 * [self.call]),
            self.answer,
            self.release,
            self.subscribed,
        ]

    def any_frame(self) -> bytes:
        """Return one frame."""
        random = self.random
        if random.random() >= self.hostility:
            return random.choice(self._makers)()
        kind = random.random()
        if kind < 0.6:
            return mutated(random, random.choice(self._makers)())
        if kind < 0.7:
            return frame(random.choice(list(FrameType)), self.any_id(), self.values.value())
        if kind < 0.8:
            return random.choice(FRAMES)
        if kind < 0.85:
            return self.fragment()
        if kind < 0.9:
            return frame(FrameType.GOAWAY, 0, array([self.values.value(), self.values.value()]))
        if kind < 0.95:
            return struct.pack(">I", random.choice((0, 8, 9, 131_072, 131_073, 2**31, 2**32 - 1))) + random.randbytes(
                12
            )
        return random.randbytes(random.randrange(1, 40))

    def any_id(self) -> int:
        """Return the id of a live stream, or any other."""
        return self.random.choice((*self.published, *self.consumed, self.next_stream, 0, 1, 2, 77, 2**64 - 1))

    def _of(self, streams: list[int]) -> int:
        if not self.hostility:
            return self.random.choice((*streams, 1_000_001, 1_000_002))  # unknown streams are legal
        return self.random.choice(streams) if streams and self.random.random() < 0.95 else self.any_id()

    def next(self, kind: int = FrameType.NEXT) -> bytes:
        values = [self.values.value() for _ in range(self.random.choice((1, 1, 2, 5, 17)))]
        return frame(kind, self._of(self.published), array(values))

    def next_home(self) -> bytes:
        return self.next(FrameType.NEXT_HOME)

    def request(self) -> bytes:
        n = self.random.choice((1, 1, 1, 5, 100, 2**63 - 1, 0, -1, -(2**63)))
        return frame(FrameType.REQUEST, self._of(self.consumed), CREDIT.pack(n))

    def cancel(self) -> bytes:
        return frame(FrameType.CANCEL, self._of(self.consumed))

    def complete(self) -> bytes:
        return frame(FrameType.COMPLETE, self._of(self.published))

    def error(self) -> bytes:
        return frame(FrameType.ERROR, self._of(self.published), self.values.error())

    def _options(self) -> bytes:
        keys = (b"\xa7confirm", b"\xa5exact", b"\xa7convert", self.values.value(DEPTH))
        pairs = [
            (self.random.choice(keys), self.random.choice((b"\xc3", b"\xc2", self.values.value(2)))) for _ in range(2)
        ]
        return mapping(pairs[: self.random.randrange(3)])

    def _opening(self, kind: int) -> tuple[int, bytes]:
        stream = self.next_stream
        self.next_stream += 2
        handle = self.random.choice((*self.handles, *self.handles, 99))
        return stream, frame(kind, stream, array([bytes(msgpack.packb(handle)), self._options()]))

    def subscribe(self) -> bytes:
        stream, opening = self._opening(FrameType.SUBSCRIBE)
        self.consumed.append(stream)
        return opening

    def on_subscribe(self) -> bytes:
        stream, opening = self._opening(FrameType.ON_SUBSCRIBE)
        self.published.append(stream)
        return opening

    def call(self) -> bytes:
        self.next_call += 1
        arguments = array([self.values.value() for _ in range(self.random.randrange(3))])
        handle = self.random.choice((0, *self.handles, 99))
        return frame(FrameType.CALL, self.next_call, array([bytes(msgpack.packb(handle)), arguments]))

    def answer(self) -> bytes:
        pair = [b"\xc3", self.values.value()] if self.random.random() < 0.5 else [b"\xc2", self.values.error()]
        return frame(FrameType.RETURN, self.random.randrange(6), array(pair))

    def release(self) -> bytes:
        handle = self.random.choice((*self.handles, 0, 99, 2**64 - 1))
        return frame(FrameType.RELEASE, 0, RELEASED.pack(handle, self.random.choice((1, 1, 2, 0, 2**32 - 1))))

    def subscribed(self) -> bytes:
        return frame(FrameType.SUBSCRIBED, self._of(self.published))

    def fragment(self) -> bytes:
        """Return a message in fragments, of which the last may be missing."""
        kind = self.random.choice((FrameType.NEXT, FrameType.CALL, FrameType.RETURN, FrameType.ERROR, FrameType.CANCEL))
        body, identifier = array([self.values.value(), self.values.value()]), self.any_id()
        middle = self.random.randrange(len(body) + 1)
        first, last = frame(kind | MORE, identifier, body[:middle]), frame(kind, identifier, body[middle:])
        return first + (last if self.random.random() < 0.8 else b"")


def mutated(random: Random, data: bytes) -> bytes:
    """Flip, remove, repeat or insert a few bytes; in most cases, correct the length of the frame."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = random.randrange(4, len(changed) + 1) if len(changed) > 4 else len(changed)
        kind = random.random()
        if kind < 0.4 and at < len(changed):
            changed[at] = random.choice((changed[at] ^ (1 << random.randrange(8)), random.randrange(256)))
        elif kind < 0.6:
            del changed[at : at + random.choice((1, 1, 2, 8))]
        elif kind < 0.8:
            changed[at:at] = changed[at : at + random.choice((1, 4, 9))]
        else:
            changed[at:at] = random.choice(
                (random.randbytes(2), b"\xc1", b"\xdf\xff\xff\xff\xff", b"\xc9\x7f\xff\xff\xff\x09")
            )
    if random.random() < 0.9:
        changed[:4] = max(len(changed) - 4, 0).to_bytes(4, "big")
    return bytes(changed)


def pieces(random: Random, data: bytes) -> list[bytes]:
    """Split bytes into reads, as a socket may: into one, at random positions, or into single bytes."""
    if random.random() < 0.5:
        return [data]
    if len(data) < 200 and random.random() < 0.2:
        return [data[at : at + 1] for at in range(len(data))]
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(1, 6)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
