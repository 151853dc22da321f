"""What waits to be written, and who may write it.

The writer's role belongs to one thread at a time: whoever finds it free takes everything that waits, the others leave
their frames and go. Python's main thread and a thread that runs an event loop never take it (an interrupt in the middle
of a write leaves half a frame, and a loop must not block): they wake the link's writer thread instead.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from pyrs.jvm.link.frames import MAX_BODY

_MAIN = threading.main_thread().ident
_WRITE_AT_ONCE = 4 * MAX_BODY


class Source(Protocol):
    """Something with frames to write when its turn comes."""

    queued: bool

    def take(self) -> tuple[bytes, bool]:
        """The bytes of the next frame (empty for none) and whether more wait. Called by one thread at a time."""


def may_write() -> bool:
    """Whether this thread may block on the socket."""
    return threading.get_ident() != _MAIN and not on_event_loop()


def on_event_loop() -> bool:
    """Whether an asyncio loop runs on this thread."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


class Outbox:
    """Control frames in order, then a frame of each ready source in turn.

    Nothing here is bounded by itself: a source holds no more than its stream's credit, and control frames answer
    frames.
    """

    def __init__(
        self, send: Callable[[bytes], object], wake: Callable[[], object], released: Callable[[], bytes]
    ) -> None:
        self._send = send
        self._wake = wake
        self._released = released
        self._control: deque[bytes] = deque()
        self._ready: deque[Source] = deque()
        self._watched: set[Source] = set()
        self._writing = threading.Lock()
        self.closed = False
        self.attended = False
        """Set by the writer thread while it looks in every few milliseconds."""
        self.bytes_out = 0
        self.frames_out = 0

    def control(self, data: bytes) -> None:
        """Queue a control frame; `flush` sends it."""
        if not self.closed:
            self._control.append(data)

    def ready(self, source: Source) -> None:
        """Queue a source for its turn; `flush` or `nudge` sends it."""
        if not source.queued and not self.closed:
            source.queued = True
            self._ready.append(source)

    def watch(self, source: Source) -> None:
        """Have the writer thread come by every few milliseconds: a source that may stall has no thread to say so."""
        self._watched.add(source)
        if not self.attended:
            self._wake()

    def unwatch(self, source: Source) -> None:
        """End a `watch`."""
        self._watched.discard(source)

    @property
    def watches(self) -> bool:
        """Whether there is a source to watch."""
        return bool(self._watched)

    def come_by(self) -> None:
        """Take what the watched sources have. For the writer thread."""
        for source in tuple(self._watched):
            self.ready(source)
        self.write()

    @property
    def waiting(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._control or self._ready)

    def nudge(self) -> None:
        """Have the writer thread flush soon."""
        self._wake()

    def flush(self) -> None:
        """Write what waits, if this thread may and no other is at it (that one then writes it)."""
        if may_write():
            self.write()
        else:
            self._wake()

    def write(self) -> None:
        """Write until nothing waits. For threads that may block only."""
        writing = self._writing
        # The holder looks again after it let go, so that frames left while it wrote its last round are not forgotten.
        while (self._control or self._ready) and writing.acquire(blocking=False):
            try:
                self._round()
            finally:
                writing.release()

    def write_last(self, data: bytes, deadline_seconds: float) -> None:
        """Write what waits and then this, waiting for the writer's role. For the writer thread, at the link's end."""
        self.write()
        if self._writing.acquire(timeout=deadline_seconds):
            try:
                self._send(data)
            finally:
                self._writing.release()

    def write_released(self) -> None:
        """Write what the finalizers left, once nothing else waits."""
        data = self._released()
        if data:
            self.control(data)
        self.write()

    def _round(self) -> None:
        # Handles are given back ahead of this round's frames: those that this round sends home are still alive now.
        parts: list[bytes] = []
        control, ready = self._control, self._ready
        size = 0
        while control:
            part = control.popleft()
            parts.append(part)
            size += len(part)
        turns = len(ready)
        while turns > 0 and size < _WRITE_AT_ONCE:
            turns -= 1
            source = ready.popleft()
            # Cleared before it is read: what is added from here on queues it anew.
            source.queued = False
            part, more = source.take()
            if more:
                self.ready(source)
            if part:
                parts.append(part)
                size += len(part)
        if not parts or self.closed:
            return
        self.frames_out += len(parts)
        self.bytes_out += size
        self._send(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        """Drop what waits and take no more."""
        self.closed = True
        self._control.clear()
        self._ready.clear()
        self._watched.clear()


class Message:
    """A CALL or RETURN on its way: pieces that take turns with the streams, and the objects that it sends home."""

    __slots__ = ("_carried", "_pieces", "queued")

    def __init__(self, pieces: Iterable[bytes], carried: list[object]) -> None:
        self._pieces = deque(pieces)
        self._carried = carried
        self.queued = False

    def take(self) -> tuple[bytes, bool]:
        """The next piece.

        There is one more turn than pieces, so that what it carries outlives the last one's writing.
        """
        if not self._pieces:
            self._carried = []
            return b"", False
        return self._pieces.popleft(), True
