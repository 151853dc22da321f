"""The journal: appended segments survive any kill, and a corrupt file is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyrs.spark.source.journal import Journal, JournalDamaged, Segment

Opened = Callable[[], Journal]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Yield a function that closes and reopens the journal, like a new process."""
    current: list[Journal] = []

    def open_again() -> Journal:
        while current:
            current.pop().close()
        current.append(Journal(tmp_path / "journal"))
        return current[0]

    yield open_again
    while current:
        current.pop().close()


def plain(segments: Iterable[Segment]) -> list[tuple[int, int, list[bytes]]]:
    return [(start, end, [bytes(piece) for piece in pieces]) for start, end, pieces in segments if pieces]


def files(journal: Journal) -> list[Path]:
    return sorted(journal.folder.glob("*.segment"))


def test_appended_segments_survive_a_reopen(opened: Opened) -> None:
    journal = opened()
    epoch = journal.epoch
    assert (plain(journal.segments), journal.end) == ([], 0)
    journal.append(Segment(0, 3, [b"one", b"", b"two"]))
    journal.append(Segment(3, 4, [b"three"]))
    journal = opened()
    assert plain(journal.segments) == [(0, 3, [b"one", b"", b"two"]), (3, 4, [b"three"])]
    assert (journal.epoch, journal.end) == (epoch, 4)


def test_committed_segments_are_removed_and_numbers_continue(opened: Opened) -> None:
    journal = opened()
    epoch = journal.epoch
    for number in range(3):
        journal.append(Segment(number, number + 1, [b"x"]))
    journal.trim(2)
    assert len(files(journal)) == 1
    journal.trim(3)
    journal = opened()
    assert (journal.epoch, journal.end) == (epoch, 3)
    with pytest.raises(ValueError, match="a segment from 7 cannot follow one that ends at 3"):
        journal.append(Segment(7, 8, []))
    journal.append(Segment(3, 4, [b"y"]))


def test_a_closed_journal_is_not_locked_by_a_forked_child(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal._lock is not None
    child = os.dup(journal._lock)  # a child has a duplicate of the descriptor, too
    journal.close()
    Journal(tmp_path).close()
    os.close(child)


def test_an_unfinished_file_is_ignored(opened: Opened) -> None:
    journal = opened()
    journal.append(Segment(0, 1, [b"x"]))
    part = journal.folder / "00000000000000000001-00000000000000000002.part"
    part.write_bytes(b"pyrsseg1 and no more")
    journal = opened()
    assert plain(journal.segments) == [(0, 1, [b"x"])]
    assert not part.exists()


def test_a_change_at_any_byte_is_refused(opened: Opened) -> None:
    journal = opened()
    journal.append(Segment(0, 1, [b"some data", b"more"]))
    path = files(journal)[-1]
    good = path.read_bytes()
    changed = [good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in range(len(good))]
    for data in [*changed, *(good[:i] for i in range(len(good))), good + b"x"]:
        path.write_bytes(data)
        with pytest.raises(JournalDamaged):
            opened()
    path.write_bytes(good)
    assert plain(opened().segments) == [(0, 1, [b"some data", b"more"])]


def test_lengths_are_checked_before_a_read(opened: Opened) -> None:
    journal = opened()
    journal.append(Segment(0, 1, [b"x"]))
    path = files(journal)[-1]
    data = bytearray(path.read_bytes())
    data[56:60] = b"\xff\xff\xff\xff"  # the number of pieces
    path.write_bytes(bytes(data))
    with pytest.raises(JournalDamaged, match="is truncated"):
        opened()


def test_a_missing_segment_is_refused(opened: Opened) -> None:
    journal = opened()
    for number in range(3):
        journal.append(Segment(number, number + 1, [b"x"]))
    files(journal)[2].unlink()
    with pytest.raises(JournalDamaged, match="the elements from 1 to 2 are missing"):
        opened()


def test_a_segment_of_another_journal_is_refused(opened: Opened, tmp_path: Path) -> None:
    other = Journal(tmp_path / "other")
    other.append(Segment(0, 1, [b"x"]))
    other.close()
    journal = opened()
    (other.folder / files(other)[-1].name).rename(journal.folder / files(other)[-1].name)
    with pytest.raises(JournalDamaged, match="belongs to another journal"):
        opened()


def test_a_journal_has_one_user_at_a_time(opened: Opened) -> None:
    journal = opened()
    with pytest.raises(JournalDamaged, match="in use"):
        Journal(journal.folder)
    opened()


@pytest.mark.parametrize("step", ["fsync", "_sync"])
def test_a_failed_append_leaves_no_file(opened: Opened, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """On a full disk each retry would add a file. A retry may have more elements."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    journal = opened()
    before = set(journal.folder.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr(*((os, step) if step == "fsync" else (Journal, step)), fail)
        for end in (1, 2):
            with pytest.raises(OSError, match="No space left"):
                journal.append(Segment(0, end, [b"x" * end]))
    assert set(journal.folder.iterdir()) == before
    journal.append(Segment(0, 3, [b"xxx"]))
    assert plain(opened().segments) == [(0, 3, [b"xxx"])]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "fsync_folder", "unlink"])
def test_a_kill_at_any_step_leaves_whole_segments(opened: Opened, call: str) -> None:
    """A separate process kills itself while it appends the third segment, or while it removes the first one."""
    journal = opened()
    journal.append(Segment(0, 1, [b"first"]))
    journal.append(Segment(1, 2, [b"second"]))
    journal.close()
    code = f"""
import builtins, os, signal, pathlib
from pyrs.spark.source.journal import Journal, Segment
journal = Journal({str(journal.folder)!r})
def kill(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
class File:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *error): pass
    write = kill
call = {call!r}
if call == "open": builtins.open = kill
if call == "write":
    real = open
    builtins.open = lambda *a, **k: File(real(*a, **k))
if call == "fsync": os.fsync = kill
if call == "rename": pathlib.Path.rename = kill
if call == "fsync_folder": Journal._sync = kill
if call == "unlink": pathlib.Path.unlink = kill
journal.append(Segment(2, 3, [b"third"]))
journal.trim(2)
"""
    ended = subprocess.run([sys.executable, "-c", code], timeout=100, check=False)
    assert ended.returncode == -signal.SIGKILL
    survived = plain(opened().segments)
    assert survived[:2] == [(0, 1, [b"first"]), (1, 2, [b"second"])]
    third = [(2, 3, [b"third"])]
    assert survived[2:] == (third if call in ("fsync_folder", "unlink") else [])
