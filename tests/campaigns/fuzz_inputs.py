"""The inputs of the coverage-guided fuzzers, in one format for both sides, so that they share a corpus.

The first byte is the mode. Bit 0 is 1 for raw bytes of a connection, and 0 for records. The other bits are the size
of a read in units of 8 bytes, or 0 for a single read. A record is a length (2 bytes), a frame type, an id and a
body. A length beyond the remaining bytes is reduced to their number, so that a mutation of a record does not break
the framing of the protocol. ``FrameFuzz.java`` reads the same format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

from pyrs.jvm.link.frames import HEADER, MAX_LENGTH, frame
from tests.campaigns.frame_mutation import FRAMES, Peer, mutated

CORPUS = Path(__file__).parent / "guided_corpus.txt"
"""Inputs that reach branches of either side, in hexadecimal; ``python -m tests.campaigns.guided`` writes it."""

RAW = 1
UNIT = 8
IDS = (2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
FIRST_EDGE = 256 - len(IDS)
RECORD = struct.Struct(">HBB")
HANDLES = 7
GENERATED = 300
FRAMES_EACH = 12


def reads_of(data: bytes) -> list[bytes]:
    """Return the reads of a socket that an input represents."""
    if not data:
        return []
    content = data[1:] if data[0] & RAW else b"".join(frames_of(data[1:]))
    size = (data[0] >> 1) * UNIT or len(content) or 1
    return [content[start : start + size] for start in range(0, len(content), size)]


def frames_of(records: bytes) -> Iterator[bytes]:
    """Yield the frames of records."""
    at = 0
    while len(records) - at >= RECORD.size:
        length, kind, number = RECORD.unpack_from(records, at)
        at += RECORD.size
        body = records[at : at + length]
        at += length
        identifier = number if number < FIRST_EDGE else IDS[number - FIRST_EDGE]
        yield frame(kind, identifier, body[: MAX_LENGTH - HEADER.size + 4])


def input_of(data: bytes) -> bytes:
    """Return the input for bytes of a connection: records, or raw bytes if records cannot express them."""
    records, at = [b"\0"], 0
    while at < len(data):
        if len(data) - at < HEADER.size:
            return bytes((RAW,)) + data
        length, kind, identifier = HEADER.unpack_from(data, at)
        body = data[at + HEADER.size : at + 4 + length]
        number = FIRST_EDGE + IDS.index(identifier) if identifier in IDS else identifier
        if len(body) != length - HEADER.size + 4 or number > 255 or len(body) > 0xFFFF:
            return bytes((RAW,)) + data
        records.append(RECORD.pack(len(body), kind, number) + body)
        at += 4 + length
    return b"".join(records)


def mutated_input(random: Random, data: bytes) -> bytes:
    """Return an input with one more generated frame, or with one frame mutated, moved or removed."""
    if data[0] & RAW:
        return data[:1] + mutated(random, data[1:])
    frames = list(frames_of(data[1:]))
    at = random.randrange(len(frames) + 1)
    kind = random.random()
    if kind < 0.5 or at == len(frames):
        frames.insert(at, peer(random).any_frame())
    elif kind < 0.8:
        frames[at] = mutated(random, frames[at])
    else:
        moved = frames.pop(at)
        if kind < 0.9:
            frames.insert(random.randrange(len(frames) + 1), moved)
    changed = input_of(b"".join(frames))
    return bytes((data[0] & ~RAW | changed[0] & RAW,)) + changed[1:]


def peer(random: Random) -> Peer:
    """Return a frame generator for the streams and handles that both targets prepare."""
    return Peer(random, [1, 3, 5], [], list(range(1, HANDLES + 1)), 2, random.choice((0.0, 0.02, 0.1, 0.3)))


def committed() -> list[bytes]:
    """Return the inputs of the corpus."""
    return [bytes.fromhex(line) for line in CORPUS.read_text(encoding="ascii").split()]


def generated(seed: int, count: int) -> Iterator[bytes]:
    """Yield conversations of the random campaign as inputs."""
    for number in range(count):
        random = Random(f"{seed}/guided/{number}")
        source = peer(random)
        yield input_of(b"".join(source.any_frame() for _ in range(random.randrange(1, FRAMES_EACH))))


def write_seeds(folder: Path, seed: int, count: int = GENERATED) -> None:
    """Write the inputs from which a run starts: the corpus, the vectors, and generated conversations."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate([*committed(), *map(input_of, FRAMES), *generated(seed, count)]):
        (folder / f"{number:06}").write_bytes(data)
