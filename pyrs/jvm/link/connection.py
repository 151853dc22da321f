"""The socket of a link, with its reader thread and its writer thread."""

from __future__ import annotations

import logging
import os
import socket
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, sleep

from pyrs._core.executor import DaemonExecutor
from pyrs.errors import LinkBroken, LinkClosed, ProtocolError, PyrsError
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.frames import MAX_LENGTH, UNPROVEN_MAX_LENGTH, Frame, FrameDecoder, GoAway
from pyrs.jvm.link.handshake import Dialler
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.interfaces import Codec
from pyrs.jvm.link.outbox import MAX_UNSENT
from pyrs.jvm.link.session import Session

_log = logging.getLogger("pyrs.jvm")
_HOUSEKEEPING_SECONDS = LIMITS["release.interval_ms"] / 1_000
_POLL_SECONDS = 0.005
_MAX_PENDING_RELEASES = LIMITS["release.pending"]
_MAX_UNSENT_RELEASES = LIMITS["release.unsent"]
_HANDSHAKE_SECONDS = LIMITS["handshake.dialler_ms"] / 1_000
_GOAWAY_SECONDS = LIMITS["close.python_ms"] / 1_000
_REDIAL_SECONDS = 0.01
_CONFIRM_SECONDS = LIMITS["subscribed.timeout_ms"] / 1_000

_live: weakref.WeakSet[LinkConnection] = weakref.WeakSet()


class LinkConnection:
    """One authenticated loopback connection, and the session that it carries.

    Args:
        port: the port on which the JVM listens on 127.0.0.1.
        token: the one-time secret. Each side proves to the other that it knows the token.
        make_codec: returns the codec of the session.
        max_prefetch: the maximum window of a stream.
        max_threads: the maximum number of worker threads.
        call_seconds: the time after which a caller in the JVM gives up.
        thread_ends: called by each worker thread at its end, to release the resources that a gateway holds for it.
        name: part of the names of the threads.
    """

    def __init__(
        self,
        port: int,
        token: bytes,
        make_codec: Callable[[Session], Codec],
        *,
        max_prefetch: int,
        max_threads: int = 256,
        call_seconds: float = inf,
        thread_ends: Callable[[], object] = lambda: None,
        name: str = "link",
    ) -> None:
        self._posted: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._woken = False
        self._ended: SimpleQueue[bool] = SimpleQueue()
        self._closing = False
        self._losing = threading.Lock()
        self._pid = os.getpid()
        self.bytes_in = 0
        self.executor = DaemonExecutor(f"{name}-worker", max_threads=max_threads, thread_ends=thread_ends)
        self._socket, decoder, early = _dial(port, token)
        self.session = Session(
            execute=self._execute,
            post=self._posted.put,
            send=self._send,
            wake=self._wake,
            max_prefetch=max_prefetch,
            confirm_seconds=_CONFIRM_SECONDS,
            call_seconds=call_seconds,
        )
        self.session.codec = make_codec(self.session)
        self.session.on_goaway = self._goaway
        self.session.outbox.overflowed = partial(self._overflowed, f"{MAX_UNSENT:,} frames", "link.unsent")
        self._goaway_text = ""
        # Only the reader refers to the decoder, so that unfinished messages are freed at the end of the link.
        self._reader = threading.Thread(
            target=self._read, args=(decoder, early), name=f"pyrs-{name}-reader", daemon=True
        )
        self._writer = threading.Thread(target=self._write, name=f"pyrs-{name}-writer", daemon=True)
        try:
            _live.add(self)
            self._writer.start()
            self._reader.start()
        except BaseException:  # one of the threads could not be started, or an interrupt
            self._closing = True
            _live.discard(self)
            self._shut()
            if self._reader.ident is None:
                self._finish(LinkClosed("the bridge was closed"))
            raise

    # Writing.

    def _execute(self, task: Callable[[], object]) -> None:
        try:
            self.executor.execute(task)
            return
        except RuntimeError as error:
            if self.session.open:
                # The system cannot start a thread, so the streams cannot continue.
                self._goaway_text = f"no worker thread can be started: {error}"
                self._shut()
        task()  # run here, because it may be a drain loop that sends the terminal signal of its stream

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            # The reader detects the end of the connection as well, and ends the streams.
            self.session.outbox.close()
            _log.debug("the link's socket failed: %s", error)
            self._shut()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            try:
                self._posted.put(None)
            except BaseException:  # a RecursionError
                self._woken = False
                raise

    def _write(self) -> None:
        session, outbox = self.session, self.session.outbox
        seen = 0
        pause = _HOUSEKEEPING_SECONDS
        while True:
            # Cleared first, because a thread that adds a polled source after the check must wake this thread.
            outbox.polling = False
            if outbox.waiting or outbox.frames_out != seen:
                pause = _POLL_SECONDS
            else:
                pause = min(pause * 2, _HOUSEKEEPING_SECONDS) if outbox.polled else _HOUSEKEEPING_SECONDS
            outbox.polling, seen = pause < _HOUSEKEEPING_SECONDS, outbox.frames_out
            try:
                task = self._posted.get(timeout=pause)
            except Empty:
                task = None
            self._woken = False
            try:
                if task is not None:
                    task()
                if session.handles.waiting:
                    outbox.write_released()
                outbox.write_polled()
            except BaseException:
                self._shut()  # before the log, whose handlers may raise
                _log.exception("the link's writer failed")
            if not session.open and self._posted.empty():
                return

    # Reading.

    def _read(self, decoder: FrameDecoder, early: list[Frame]) -> None:
        why: PyrsError = self.session.broken("its reader failed")
        try:
            why = self._receive(decoder, early)
        finally:  # a handler of the application's log may raise
            self._finish(LinkClosed("the bridge was closed") if self._closing else why)

    def _receive(self, decoder: FrameDecoder, early: list[Frame]) -> PyrsError:
        """Process messages until the connection ends, and return the reason."""
        session = self.session
        try:
            for message in early:
                session.receive(message)
            fill, space, received, receive = self._socket.recv_into, decoder.space, decoder.received, session.receive
            while size := fill(space(), 0, socket.MSG_WAITALL if decoder.in_place else 0):
                self.bytes_in += size
                for message in received(size):
                    receive(message)
                if session.handles.waiting > _MAX_PENDING_RELEASES:
                    self._wake()
                    if session.handles.waiting > _MAX_UNSENT_RELEASES:
                        self._overflowed(f"{_MAX_UNSENT_RELEASES:,} handles", "release.unsent")
            return session.broken(self._goaway_text or "the JVM closed the connection or has ended")
        except ProtocolError as error:
            self._refuse(error)
            return session.broken(str(error))
        except OSError as error:
            return session.broken(self._goaway_text or f"{error.strerror or error}")
        except BaseException as error:
            _log.exception("the link's reader failed")
            return session.broken(f"its reader failed: {error!r}")

    def _refuse(self, error: ProtocolError) -> None:
        self._socket.settimeout(_GOAWAY_SECONDS)
        self.session.outbox.write_last(self.session.goaway(GoAway.MALFORMED, str(error)), _GOAWAY_SECONDS)
        _log.error("%s", error)

    def _goaway(self, code: int, text: str) -> None:
        reason = f"the JVM sent GOAWAY: {text} (code {code})"
        self._goaway_text = self._goaway_text or reason  # the first one names the cause
        if code != GoAway.CLOSING:
            _log.error("%s", reason)

    def _overflowed(self, waiting: str, limit: str) -> None:
        """End the link, because the peer does not read what this side must send."""
        self._goaway_text = (
            f"the JVM does not read the link: more than the limit of {waiting} ({limit}) wait to be sent"
        )
        self._shut()

    # Shutdown.

    def _lose(self, why: PyrsError) -> None:
        """End the streams of the session, once."""
        with self._losing:  # a second caller waits until the streams have ended, before it shuts down their workers
            self.session.lost(why)

    def _finish(self, why: PyrsError) -> None:
        """End the streams, close the socket and stop the writer.

        Called by the reader as it ends, or by ``__init__`` if the reader could not be started.
        """
        self._lose(why)
        self._shut()
        with suppress(OSError):
            self._socket.close()
        self._posted.put(None)
        self.executor.shutdown(0.0)  # ends idle threads: ``close`` is not called for a link that ``reconnect`` replaces
        self._ended.put(True)
        _live.discard(self)

    def _shut(self) -> None:
        """Shut the connection down, which wakes the reader.

        Only the reader closes the socket, because it may still need to read the GOAWAY of the peer. If another thread
        closed it, the reader would report the invalid descriptor as the reason.
        """
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self, deadline_seconds: float = 5.0) -> bool:
        """Close the link: Subscribers receive LinkClosed, upstreams are cancelled.

        Returns:
            True if everything ended within the deadline. A Subscriber that blocks forever keeps its daemon thread.
        """
        if self._pid != os.getpid():
            return True
        end = monotonic() + deadline_seconds
        if not self._closing:
            self._closing = True
            self._posted.put(self._close_gracefully)
        if threading.current_thread() in (self._reader, self._writer):
            return False  # in a finalizer or a log handler: the link ends after this thread has returned from it
        if not self._has_ended(min(_GOAWAY_SECONDS, deadline_seconds)):
            # The peer does not read, so the writer is blocked. A shutdown of the socket wakes both threads.
            self._shut()
        return self._has_ended(max(0.0, end - monotonic())) and self.executor.shutdown(max(0.0, end - monotonic()))

    def _close_gracefully(self) -> None:
        """Write the queued frames and GOAWAY, and end the streams, on the writer thread."""
        session = self.session
        if session.open:
            # From now on writes have a deadline, because a peer that does not read must not block the close.
            with suppress(OSError):  # the reader has closed the socket, because the peer has ended
                self._socket.settimeout(_GOAWAY_SECONDS)
            session.outbox.write()
            session.outbox.write_last(session.goaway(GoAway.CLOSING, "closing"), _GOAWAY_SECONDS)
            self._lose(LinkClosed("the bridge was closed"))
        # The reader continues until the peer has read everything and closes the connection. A close of the socket while
        # frames of the peer are unread would discard the written frames that have not arrived yet.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def _has_ended(self, deadline_seconds: float) -> bool:
        try:
            # A queue is used instead of thread.join, because an interrupt of this wait leaves no lock acquired. The
            # value is put back for the next caller.
            self._ended.put(self._ended.get(timeout=deadline_seconds))
        except Empty:
            return False
        return True

    def forked(self) -> None:
        """Close a forked child's copy of the descriptor.

        The link belongs to the parent. Runs no user code: in the child, each stream to Python ends at its next request.
        """
        self.session.open = False
        self.session.end_error = LinkBroken(
            "this process was forked: the link belongs to its parent; open a gateway and a bridge here"
        )
        self.session.outbox.closed = True
        for stream in list(self.session.streams.values()):
            if isinstance(stream, InboundStream):
                stream.forked(self.session.new_end_error())
        with suppress(OSError):
            socket.socket.close(self._socket)


def _dial(port: int, token: bytes) -> tuple[socket.socket, FrameDecoder, list[Frame]]:
    """Connect and authenticate; return the socket, its decoder and early frames."""
    deadline = monotonic() + _HANDSHAKE_SECONDS
    displaced = False
    while True:
        try:
            return _handshake(port, token, deadline)
        except OSError as error:
            # The JVM keeps few connections without a proof, and closes the oldest. Others may have displaced this one.
            displaced = displaced or isinstance(error, (ConnectionResetError, BrokenPipeError))
            if not displaced:
                raise LinkBroken(f"the link to the JVM could not be opened: {error}") from error
            if isinstance(error, ConnectionRefusedError) or monotonic() >= deadline:
                raise LinkBroken("the JVM closed the link while it was being opened") from error
        sleep(_REDIAL_SECONDS)


def _handshake(port: int, token: bytes, deadline: float) -> tuple[socket.socket, FrameDecoder, list[Frame]]:
    connection = socket.create_connection(("127.0.0.1", port), timeout=max(deadline - monotonic(), 0.001))
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        decoder = FrameDecoder(UNPROVEN_MAX_LENGTH)
        dialler = Dialler(token)
        messages: list[Frame] = []
        connection.sendall(dialler.hello(_next(connection, decoder, messages, deadline)))
        dialler.proof(_next(connection, decoder, messages, deadline))
        decoder.max_length = MAX_LENGTH
        messages += decoder.feed(b"")
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection, decoder, messages


def _next(connection: socket.socket, decoder: FrameDecoder, messages: list[Frame], deadline: float) -> Frame:
    while not messages:
        # The deadline covers the whole handshake: a timeout for each read would not limit a listener that sends single
        # bytes.
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError(f"the JVM did not answer within {_HANDSHAKE_SECONDS:g} seconds")
        connection.settimeout(left)
        data = connection.recv(256)
        if not data:
            raise ConnectionResetError("the JVM closed the connection")
        messages += decoder.feed(data)
    return messages.pop(0)


def _after_fork() -> None:
    for connection in list(_live):
        connection.forked()
    _live.clear()


def live_sessions() -> list[Session]:
    """Return the sessions of the live links."""
    return [connection.session for connection in list(_live)]


def close_all(deadline_seconds: float = 2.0) -> None:
    """Close every live link before the interpreter ends."""
    for connection in list(_live):
        connection.close(deadline_seconds)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
