"""Queue outgoing frames and serialize the writes.

One thread at a time has the writer's role: a thread that finds the role free writes everything that is queued; other
threads only queue their frames. Python's main thread and a thread that runs an event loop never take the role (an
interrupt during a write would leave half a frame, and a loop must not block); they wake the link's writer thread.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from pyrs.jvm.buffers import Buffer, FrameBytes
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.frames import MAX_BODY

_MAIN = threading.main_thread().ident
_WRITE_AT_ONCE = 4 * MAX_BODY
MAX_UNSENT = LIMITS["link.unsent"]


class FrameSource(Protocol):
    """A producer of frames. The sources take turns."""

    queued: bool

    def take(self) -> tuple[FrameBytes, bool]:
        """Return the next frame and whether more follow.

        Called serially. The frame is empty if there is none. A frame may be a list of buffers. They are joined once,
        with the other frames of the same write. A call that raises a RecursionError changes nothing, so that it can be
        repeated.
        """


def on_event_loop() -> bool:
    """Return True if an asyncio loop runs on this thread."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


class Outbox:
    """The queue of control frames, and the queue of the sources that have frames.

    A stream holds no more elements than its credit. ``overflowed`` is called when more than ``link.unsent`` control
    frames wait, because the peer sends frames that need an answer but does not read.
    """

    def __init__(
        self, send: Callable[[bytes], object], wake: Callable[[], object], released: Callable[[], bytes]
    ) -> None:
        self._send = send
        self.wake = wake
        self._released = released
        self._control: deque[Buffer] = deque()
        self._ready: deque[FrameSource] = deque()
        self.polled: set[FrameSource] = set()
        """The sources that the writer thread polls. ``poll`` adds one."""
        self._writing = threading.Lock()
        self.closed = False
        self.overflowed: Callable[[], object] = lambda: None
        self.polling = False
        """True while the writer thread polls at short intervals."""
        self.bytes_out = 0
        self.frames_out = 0

    def control(self, data: bytes) -> None:
        """Queue a control frame; ``flush`` sends it."""
        if not self.closed:
            self._control.append(data)
            if len(self._control) > MAX_UNSENT:
                self.overflowed()

    def ready(self, source: FrameSource) -> None:
        """Queue a source for its turn; ``flush`` or ``wake`` sends its frames."""
        if not source.queued and not self.closed:
            source.queued = True
            try:
                self._ready.append(source)
            except RecursionError:
                source.queued = False
                raise

    def poll(self, source: FrameSource) -> None:
        """Make the writer thread poll a source, whose iterator may stall."""
        self.polled.add(source)
        if not self.polling:
            self.wake()

    def write_polled(self) -> None:
        """Write the elements of the polled sources. Called by the writer thread."""
        for source in self.polled.copy():  # atomic: another thread may add one
            self.ready(source)
        self.write()

    @property
    def waiting(self) -> bool:
        """True if frames are queued."""
        return bool(self._control or self._ready)

    def flush(self) -> None:
        """Write the queued frames, on the writer thread if this one must not block."""
        if threading.get_ident() == _MAIN or on_event_loop():
            self.wake()
        else:
            self.write()

    def write(self) -> None:
        """Write until the queues are empty. The calling thread must be allowed to block."""
        writing = self._writing
        # The queues are checked again after the release of the role, for frames that were queued during the last round.
        while (self._control or self._ready) and writing.acquire(blocking=False):
            try:
                self._round()
            finally:
                writing.release()

    def write_last(self, data: bytes, deadline_seconds: float) -> None:
        """Write ``data`` as the last frame, and drop the queued frames.

        Waits for another thread that writes, because the peer would read bytes inside its frame as a part of that
        frame. Writes nothing if the other thread does not finish within the deadline.
        """
        if self._writing.acquire(timeout=deadline_seconds):
            try:
                self._send(data)
                self.close()  # before another thread can write a frame after it
            finally:
                self._writing.release()

    def write_released(self) -> None:
        """Write RELEASE frames for the handles that finalizers released."""
        data = self._released()
        if data:
            self.control(data)
        self.write()

    def _round(self) -> None:
        # Control frames go first. A RELEASE among them concerns no element of this round, because an element keeps its
        # references until it is taken.
        parts: list[Buffer] = []
        control, ready = self._control, self._ready
        size = further = 0  # bytes, and parts that belong to the frame of an earlier part
        source: FrameSource | None = None
        frame: FrameBytes
        try:
            # An IndexError means that close() has cleared the queue on another thread.
            with suppress(IndexError):
                while control:
                    part = control.popleft()
                    parts.append(part)
                    size += len(part)
            turns = len(ready)
            while turns > 0 and size < _WRITE_AT_ONCE:
                turns -= 1
                try:
                    source = ready.popleft()
                except IndexError:
                    return
                # Cleared first, so that an element that is added after ``take`` queues the source again.
                source.queued = False
                frame, more = source.take()
                if isinstance(frame, list):
                    parts += frame
                    size += sum(map(len, frame))
                    further += len(frame) - 1
                elif frame:
                    parts.append(frame)
                    size += len(frame)
                if more:
                    self.ready(source)
                source = None
            if not parts or self.closed:
                return
            self._send(b"".join(parts))  # returns a single part without a copy
            self.frames_out += len(parts) - further
            self.bytes_out += size
        except BaseException:
            # The error may be a RecursionError, because a Publisher emits from a deep stack. The frames are written
            # later, in the same order: control frames go first.
            control.extendleft(reversed(parts))
            self.frames_out -= further  # each part will count as a frame
            if source is not None and not source.queued:
                source.queued = True
                ready.append(source)
            self.wake()  # the writer thread has a stack of its own
            raise

    def close(self) -> None:
        """Drop the queued frames and accept no more."""
        self.closed = True
        self._control.clear()
        self._ready.clear()
        self.polled.clear()
