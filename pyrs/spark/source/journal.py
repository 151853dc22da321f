"""Segments of a stream on a local disk: written before Spark hears of them, removed when it has committed them."""

from __future__ import annotations

import os
import struct
import zlib
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from pyrs.errors import PyrsError

__all__ = ["Journal", "JournalDamaged", "Segment"]

_MAGIC = b"pyrsseg1"
_HEAD = struct.Struct(">8s32sQQI")  # magic, epoch, start, end, number of pieces
_PIECE = struct.Struct(">QI")  # length, checksum
_SUM = struct.Struct(">I")  # of all before it
_SUFFIX = ".segment"


class JournalDamaged(PyrsError):
    """A journal is not as it was written, or in use by another process."""


class Segment(NamedTuple):
    """The elements from one number to another, without the latter.

    Attributes:
        start: the number of the first.
        end: the number of the first that is not in it.
        pieces: the elements, as Arrow streams.
    """

    start: int
    end: int
    pieces: list[Any]


class Journal:
    """A folder with a file for each segment.

    A file has another name until all of it is on the disk, so that whatever is killed, and whenever, leaves a segment
    or none. The newest segment stays when all is committed: by it the numbers go on. It holds no more than whoever
    appends: ``read_stream`` trims it with each commit, and never has more than its capacity.

    Args:
        folder: is made if it is not there. It belongs to one process at a time, and to one stream.

    Attributes:
        epoch: names the numbering; the same for as long as the folder lives.
        segments: what was there when it was opened, in order.
        end: the number of the next element.

    Raises:
        JournalDamaged: a file in it is not as it was written, one is missing, or another process has it.
        OSError: it cannot be read or written.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock: int | None = _locked(self.folder / "lock")
        try:
            for left in self.folder.glob("*.part"):
                left.unlink()
            paths = sorted(self.folder.glob(f"*{_SUFFIX}"))
            self.segments = [self._read(path) for path in paths]
            for before, after in zip(self.segments, self.segments[1:], strict=False):
                if before.end != after.start:
                    raise JournalDamaged(f"{self.folder}: the elements from {before.end} to {after.start} are missing")
            self._held = [(segment.start, segment.end) for segment in self.segments]
            if not self.segments:
                self.epoch = uuid4().hex
                self.append(Segment(0, 0, []))
        except BaseException:
            self.close()
            raise
        self.end = self._held[-1][1]

    def append(self, segment: Segment) -> None:
        """Write a segment. When this returns it is on the disk.

        Raises:
            ValueError: it does not begin where the last one ends.
            OSError: it could not be written.
        """
        if self._held and segment.start != self._held[-1][1]:
            raise ValueError(f"a segment from {segment.start} cannot follow one up to {self._held[-1][1]}")
        pieces = [memoryview(piece) for piece in segment.pieces]
        head = _HEAD.pack(_MAGIC, self.epoch.encode(), segment.start, segment.end, len(pieces))
        head += b"".join(_PIECE.pack(piece.nbytes, zlib.crc32(piece)) for piece in pieces)
        path = self._path(segment.start, segment.end)
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            file.write(head + _SUM.pack(zlib.crc32(head)))
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
        self._sync()
        self._held.append((segment.start, segment.end))
        self.end = segment.end

    def renumber(self, epoch: str, number: int) -> None:
        """Go on with the numbers of another epoch, where nothing was appended yet."""
        while self._held:
            self._path(*self._held.pop()).unlink()
        self.epoch = epoch
        self.append(Segment(number, number, []))

    def trim(self, end: int) -> None:
        """Remove the segments that end there or before, except for the newest."""
        while len(self._held) > 1 and self._held[0][1] <= end:
            # The oldest first: whatever is left, if this is killed, is without a gap.
            self._path(*self._held[0]).unlink(missing_ok=True)
            del self._held[0]

    def close(self) -> None:
        """Let another process have it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def _path(self, start: int, end: int) -> Path:
        return self.folder / f"{start:020}-{end:020}{_SUFFIX}"

    def _read(self, path: Path) -> Segment:
        size = path.stat().st_size
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size or not head.startswith(_MAGIC):
                raise JournalDamaged(f"{path} is no segment")
            _, epoch, start, end, count = _HEAD.unpack(head)
            left = size - _HEAD.size - _SUM.size - count * _PIECE.size
            if left < 0:
                raise JournalDamaged(f"{path} is shorter than it was")
            table = file.read(count * _PIECE.size)
            if _SUM.unpack(file.read(_SUM.size)) != (zlib.crc32(head + table),) or path != self._path(start, end):
                raise JournalDamaged(f"{path} is not as it was written")
            described = list(_PIECE.iter_unpack(table))
            if sum(length for length, _ in described) != left:
                raise JournalDamaged(f"{path} is not as long as it was")
            pieces = [file.read(length) for length, _ in described]
        if any(zlib.crc32(piece) != checksum for piece, (_, checksum) in zip(pieces, described, strict=True)):
            raise JournalDamaged(f"{path} is not as it was written")
        known = getattr(self, "epoch", None)
        self.epoch = epoch.decode()
        if known not in (None, self.epoch):
            raise JournalDamaged(f"{path} is of another journal")
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
    except BlockingIOError:
        os.close(file)
        raise JournalDamaged(f"{path.parent} is in use: a journal belongs to one read_stream at a time") from None
    except BaseException:
        os.close(file)
        raise
    return file
