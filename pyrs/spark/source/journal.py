"""Store the segments of a stream on a local disk until Spark has committed them."""

from __future__ import annotations

import os
import struct
import zlib
from collections import deque
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from pyrs.errors import PyrsError

_MAGIC = b"pyrsseg1"
_HEAD = struct.Struct(">8s32sQQI")  # magic, epoch, start, end, number of pieces
_PIECE = struct.Struct(">QI")  # length, checksum
_SUM = struct.Struct(">I")  # the checksum of the preceding bytes
_SUFFIX = ".segment"


class JournalDamaged(PyrsError):
    """A journal is corrupt or incomplete, has rows of another schema, or is in use."""


class Segment(NamedTuple):
    """The elements from ``start`` up to, but not including, ``end``.

    Attributes:
        start: the number of the first element.
        end: the number of the first element after the segment.
        pieces: the elements, as Arrow streams.
    """

    start: int
    end: int
    pieces: list[Any]


class Journal:
    """A folder with a file for each segment.

    A file is renamed when all of it is on the disk, so a kill at any time leaves a complete segment or none. The newest
    segment is kept after its commit, because the numbers continue from it. ``read_stream`` trims the journal with each
    commit, so the journal is bounded by the ``capacity`` of ``read_stream``.

    Args:
        folder: created if it does not exist. One process, and one stream, use it at a time.

    Attributes:
        epoch: identifies the numbering; only ``renumber`` changes it.
        segments: the segments that were in the folder, in order. The caller may remove them, to free their memory.
        end: the number of the next element.

    Raises:
        JournalDamaged: a file is corrupt or missing, or another process or another journal uses the folder.
        OSError: the folder cannot be read or written.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock: int | None = _locked(self.folder / "lock")
        try:
            for left in self.folder.glob("*.part"):
                left.unlink()
            paths = sorted(self.folder.glob(f"*{_SUFFIX}"))
            self.segments = deque(map(self._read, paths))
            for before, after in pairwise(self.segments):
                if before.end != after.start:
                    raise JournalDamaged(f"{self.folder}: the elements from {before.end} to {after.start} are missing")
            self._ranges = [(segment.start, segment.end) for segment in self.segments]
            if not self.segments:
                self.epoch = uuid4().hex
                self.append(Segment(0, 0, []))
        except BaseException:
            self.close()
            raise
        self.end = self._ranges[-1][1]

    def append(self, segment: Segment) -> None:
        """Write a segment to the disk, and wait until it is durable.

        Raises:
            ValueError: it does not start at the end of the last segment.
            OSError: it could not be written.
        """
        if self._ranges and segment.start != self._ranges[-1][1]:
            raise ValueError(f"a segment from {segment.start} cannot follow one that ends at {self._ranges[-1][1]}")
        pieces = [memoryview(piece) for piece in segment.pieces]
        head = _HEAD.pack(_MAGIC, self.epoch.encode(), segment.start, segment.end, len(pieces))
        head += b"".join(_PIECE.pack(piece.nbytes, zlib.crc32(piece)) for piece in pieces)
        path = self._path(segment.start, segment.end)
        part = path.with_suffix(".part")
        try:
            with open(part, "wb") as file:
                file.write(head + _SUM.pack(zlib.crc32(head)))
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            part.rename(path)
            self._sync()
        except BaseException:  # the caller may try again, with a larger segment
            for left in (part, path):
                left.unlink(missing_ok=True)
            raise
        self._ranges.append((segment.start, segment.end))
        self.end = segment.end

    def renumber(self, epoch: str, number: int) -> None:
        """Remove all elements; the next element of the epoch has this number.

        A kill during the call leaves a journal that ends earlier, or an empty one.
        """
        while self._ranges:
            self._path(*self._ranges.pop()).unlink()
        self.epoch = epoch
        self.append(Segment(number, number, []))

    def trim(self, end: int) -> None:
        """Remove the segments that end at this number or before it, except for the newest."""
        while len(self._ranges) > 1 and self._ranges[0][1] <= end:
            # Removes the oldest first, so that a kill leaves no gap.
            self._path(*self._ranges[0]).unlink(missing_ok=True)
            del self._ranges[0]

    def close(self) -> None:
        """Release the folder for another process."""
        lock, self._lock = self._lock, None
        if lock is not None:
            import fcntl

            # A forked child of this process shares the lock, so a close alone would leave it locked.
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)

    def _path(self, start: int, end: int) -> Path:
        return self.folder / f"{start:020}-{end:020}{_SUFFIX}"

    def _read(self, path: Path) -> Segment:
        size = path.stat().st_size
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size or not head.startswith(_MAGIC):
                raise JournalDamaged(f"{path} is not a segment")
            _, epoch, start, end, count = _HEAD.unpack(head)
            left = size - _HEAD.size - _SUM.size - count * _PIECE.size
            if left < 0:
                raise JournalDamaged(f"{path} is truncated")
            table = file.read(count * _PIECE.size)
            if _SUM.unpack(file.read(_SUM.size)) != (zlib.crc32(head + table),) or path != self._path(start, end):
                raise JournalDamaged(f"{path} is corrupt")
            described = list(_PIECE.iter_unpack(table))
            if sum(length for length, _ in described) != left:
                raise JournalDamaged(f"{path} has a wrong length")
            pieces = [file.read(length) for length, _ in described]
        if any(zlib.crc32(piece) != checksum for piece, (_, checksum) in zip(pieces, described, strict=True)):
            raise JournalDamaged(f"{path} is corrupt")
        known = getattr(self, "epoch", None)
        self.epoch = epoch.decode()
        if known not in (None, self.epoch):
            raise JournalDamaged(f"{path} belongs to another journal")
        return Segment(start, end, pieces)

    def _sync(self) -> None:
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _locked(path: Path) -> int:
    try:
        import fcntl
    except ImportError as error:
        raise OSError("a journal needs the file locks of a POSIX system") from error

    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(file)
        if isinstance(error, BlockingIOError):
            raise JournalDamaged(f"{path.parent} is in use: a journal belongs to one read_stream at a time") from None
        raise
    return file
