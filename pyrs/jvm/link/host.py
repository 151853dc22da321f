"""Serve the streams of a session.

The host schedules them, sends their control frames and counts their elements.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

from pyrs._core import hooks
from pyrs._core.drain import DrainLoop
from pyrs.errors import LinkBroken, LinkClosed
from pyrs.jvm.link.handles import Handles
from pyrs.jvm.link.interfaces import Codec
from pyrs.jvm.link.outbox import Outbox

T = TypeVar("T")
_LATE_STREAMS = 1_024
"""The maximum number of cancelled streams whose late elements are passed to discard functions. For other streams, only
references are released."""
_MAIN = threading.main_thread().ident


def run_in(context: Context | None, task: Callable[[], T]) -> T:
    """Run a task in a copy of the context, or directly if the context is None."""
    return task() if context is None else context.copy().run(task)


def report_late(error: BaseException) -> None:
    """Report an error that the Subscriber of a stream does not receive.

    The error of an ended link is not reported: every stream has one, and a stage forwards it to another stream.
    """
    if not isinstance(error, (LinkBroken, LinkClosed)):
        hooks.report_late(error)


class StreamHost:
    """The part of a session that its streams use.

    Args:
        execute: Runs a task on a worker thread (inline in tests that replay vectors).
        post: Runs a task on the writer thread of the link. Python's main thread uses it to schedule drain loops and to
            cancel, because an interrupt there could leave a frame or a thread pool in an inconsistent state.
        send: Writes bytes to the socket.
        wake: Wakes the writer thread, which flushes the outbox.
    """

    def __init__(
        self,
        execute: Callable[[Callable[[], object]], object],
        post: Callable[[Callable[[], None]], object],
        send: Callable[[bytes], object],
        wake: Callable[[], object],
    ) -> None:
        self.execute = execute
        self.post = post
        self.handles = Handles()
        self.outbox = Outbox(send, wake, self.handles.release_frames)
        self.codec: Codec
        self.open = True
        self.streams: dict[int, Any] = {}
        """The live streams: ``InboundStream`` and ``OutboundStream``, whose modules import this one."""
        self.late: dict[int, Any] = {}
        """Cancelled streams whose late elements are reported as discarded, until all granted elements have arrived."""
        self.elements_in = 0
        self.elements_out = 0
        self.dropped = 0
        self.largest_in_flight = 0

    def schedule(self, loop: DrainLoop) -> None:
        """Schedule a drain loop.

        The main thread lets the writer thread do this (see ``post``). If the link is closed, the loop runs on this
        thread.
        """
        if not self.open:
            loop.run_here()  # the threads of the link are about to end
        elif threading.get_ident() == _MAIN:
            self.post(loop.schedule)
        else:
            loop.schedule()

    def send(self, data: bytes) -> None:
        """Send a control frame."""
        self.outbox.control(data)
        self.outbox.flush()

    def cancel_inbound(self, stream: Any) -> None:
        """Send CANCEL at once, and schedule the stream, which cleans up."""
        if self.open and threading.get_ident() == _MAIN:
            self.post(lambda: self._cancel_now(stream))
        else:
            self._cancel_now(stream)

    def _cancel_now(self, stream: Any) -> None:
        stream.send_cancel()
        self.schedule(stream)

    def ended_inbound(self, stream: Any, dropped: int, *, cancelled: bool) -> None:
        """Remove a consumer end from the table."""
        if stream.id not in self.streams:
            return
        if cancelled and stream.discards_late():
            self.late[stream.id] = stream  # before the removal: the reader may receive a batch in between
            if len(self.late) > _LATE_STREAMS:
                self.late.pop(next(iter(tuple(self.late))), None)
            if not self.open:
                self.late.clear()
        del self.streams[stream.id]
        self.elements_in += stream.window.delivered
        self.largest_in_flight = max(self.largest_in_flight, stream.window.largest)
        if dropped:
            self.dropped += dropped
            hooks.on_next_dropped(dropped, f"prefetched by stream {stream.id}", cancelled=cancelled)

    def release(self, objects: list[object]) -> None:
        """Drop references to user objects on a worker: their finalizers are user code."""
        if objects:
            self.execute(objects.clear)
