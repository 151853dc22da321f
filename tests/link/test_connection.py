"""The link over a real socket, against a test double of the JVM: handshake, shutdown, many streams, interrupts."""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
import time
import weakref
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import pytest
from peer import Peer
from plain_session import PlainCodec

import pyrs
from pyrs.errors import LinkBroken, LinkClosed, VersionMismatch
from pyrs.jvm.link import connection as connection_module
from pyrs.jvm.link.connection import LinkConnection
from pyrs.jvm.link.frames import FrameType, GoAway, frame
from pyrs.testing import TestPublisher, TestSubscriber
from tests.forking import status_of_a_child
from tests.interrupts import interrupter
from tests.rounds import rounds
from tests.waiting import DEADLINE, collected, eventually, recording


@pytest.fixture
def peer() -> Peer:
    return Peer()


def export(peer: Peer, publisher: Any) -> int:
    return peer.session.handles.own(publisher)


@pytest.mark.parametrize(("first", "again"), [(pyrs.UNBOUNDED, 0), (1, 1), (256, 1), (7, 3)])
@pytest.mark.parametrize("max_prefetch", [1, 16, 4_096])
def test_every_element_arrives_in_order_for_any_demand(peer: Peer, first: int, again: int, max_prefetch: int) -> None:
    connection = peer.connect(max_prefetch=max_prefetch)
    count = rounds(2_000 if max_prefetch == 1 else 20_000)
    recorder = recording(first, again)
    connection.session.subscribe(export(peer, pyrs.range(count)), recorder)
    assert recorder.await_complete() == list(range(count))
    assert connection.close(DEADLINE)


def test_a_peer_that_requests_single_elements_receives_all_in_order(peer: Peer) -> None:
    connection = peer.connect()
    recorder = recording(5, 1)
    peer.session.subscribe(connection.session.handles.own(pyrs.range(5_000)), recorder)
    assert recorder.await_complete() == list(range(5_000))
    assert connection.close(DEADLINE)


def test_link_breaks_if_no_worker_thread_can_be_started(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, source, recorder = peer.connect(), TestPublisher[int](), recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, source), recorder)
    source.await_requested(1, DEADLINE)
    [stream] = connection.session.streams.values()
    eventually(lambda: not stream.is_running(), "the worker still drains the stream, and would take the element")

    def refuse(task: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(connection.executor, "execute", refuse)
    source.next(1)
    assert isinstance(error := recorder.await_error(), LinkBroken)
    assert "no worker thread can be started: can't start new thread" in str(error)
    assert recorder.elements == [1]  # the thread that submitted the refused task ran it
    assert connection.close(DEADLINE)


def test_elements_of_a_slow_iterator_are_sent_at_once(peer: Peer) -> None:
    connection = peer.connect()
    gate: SimpleQueue[int] = SimpleQueue()

    def slow() -> Any:
        for _ in range(3):
            yield gate.get(timeout=DEADLINE)

    recorder = recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, pyrs.from_iterable(slow())), recorder)
    for number in range(3):
        gate.put(number)
        # The next number is produced after this one has arrived, so a sender that fills its batch first would stall.
        assert recorder.await_count(number + 1)[number] == number
    recorder.await_complete()
    connection.close()


def test_large_element_arrives_complete(peer: Peer) -> None:
    connection = peer.connect()
    large = os.urandom(5_000_000)
    recorder = recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, pyrs.just(b"a", large, b"b")), recorder)
    assert recorder.await_complete() == [b"a", large, b"b"]
    connection.close()


def test_exit_of_the_peer_signals_link_broken_once_to_each_subscriber(peer: Peer) -> None:
    connection = peer.connect()
    recorders = [recording(1) for _ in range(10)]
    for recorder in recorders:
        connection.session.subscribe(export(peer, pyrs.never()), recorder)
    connection.session.call(0, ["barrier"], deadline_seconds=DEADLINE)
    peer.kill()
    for recorder in recorders:
        recorder.await_error(LinkBroken)
    assert connection.close(DEADLINE)
    late = recording(1)
    connection.session.subscribe(1, late)
    assert late.subscription is not None
    assert isinstance(late.await_error(), (LinkBroken, LinkClosed))


def test_an_unfinished_message_is_freed_at_the_end_of_the_link(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    decoders = []
    dial = connection_module._dial

    def recorded(port: int, token: bytes) -> Any:
        opened, decoder, early = dial(port, token)
        decoders.append(weakref.ref(decoder))
        return opened, decoder, early

    monkeypatch.setattr(connection_module, "_dial", recorded)
    connection = peer.connect()
    peer.send(frame(FrameType.NEXT | 0x80, 1, bytes(60_000)))
    peer.session.call(0, ["barrier"], deadline_seconds=DEADLINE)
    peer.kill()
    collected(lambda: decoders[0]() is None, "the decoder is still referenced")
    assert connection.close(DEADLINE)


class RaisingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("a broken handler")


def test_a_malformed_frame_ends_every_stream_although_a_log_handler_raises(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)  # receives the error of the handler
    connection, recorder = peer.connect(), recording(1)
    connection.session.subscribe(export(peer, pyrs.never()), recorder)
    logger, handler = logging.getLogger("pyrs.jvm"), RaisingHandler()
    logger.addHandler(handler)
    try:
        peer.send(bytes(4))
        recorder.await_error(LinkBroken)
        connection._reader.join(DEADLINE)
    finally:
        logger.removeHandler(handler)
    assert connection.close(DEADLINE)


def test_close_after_the_reader_has_closed_the_socket_logs_no_failure(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection = peer.connect()

    def closed(*ignored: object) -> None:
        raise OSError("Bad file descriptor")

    monkeypatch.setattr(socket.socket, "settimeout", closed)
    assert connection.close(DEADLINE)
    connection._writer.join(DEADLINE)
    assert "writer failed" not in caplog.text


def test_close_signals_link_closed_and_cancels_upstream(peer: Peer) -> None:
    connection = peer.connect()
    cancelled = threading.Event()

    class Source(pyrs.Publisher[int], pyrs.Subscription):
        def subscribe(self, subscriber: Any) -> None:
            subscriber.on_subscribe(self)

        def request(self, n: int) -> None:
            pass

        def cancel(self) -> None:
            cancelled.set()

    remote, recorder = recording(1), recording(1)
    peer.session.subscribe(connection.session.handles.own(Source()), remote)
    connection.session.subscribe(export(peer, pyrs.never()), recorder)
    connection.session.call(0, deadline_seconds=DEADLINE)
    assert connection.close(DEADLINE)
    recorder.await_error(LinkClosed)
    remote.await_error(LinkBroken)
    assert cancelled.wait(DEADLINE)
    assert connection.close(DEADLINE), "the second close failed"


@pytest.mark.parametrize("thread", ["reader", "writer"])
def test_close_on_a_thread_of_the_link_does_not_wait_for_that_thread(peer: Peer, thread: str) -> None:
    """The garbage collector runs a finalizer on any thread, and a log handler runs on the thread that logs."""
    connection, codes, results = peer.connect(), SimpleQueue[int](), SimpleQueue[bool]()
    peer.session.on_goaway = lambda code, text: codes.put(code)

    def close() -> None:
        results.put(connection.close(4 * DEADLINE))

    if thread == "writer":
        connection.session.post(close)
    else:
        connection.session.on_goaway = lambda code, text: close()
        peer.send(peer.session.goaway(GoAway.INTERNAL_ERROR, "an error"))
    assert results.get(timeout=DEADLINE) is False
    assert codes.get(timeout=DEADLINE) == GoAway.CLOSING
    assert connection.close(DEADLINE)


def test_close_loses_no_written_frame_although_the_peer_reads_late(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that closes a socket with unread bytes, or receives more afterwards, may discard written frames."""
    monkeypatch.setattr(connection_module, "_GOAWAY_SECONDS", DEADLINE)
    connection, recorder, resume = peer.connect(), recording(pyrs.UNBOUNDED), threading.Event()
    receive = peer.session.receive

    def receive_late(message: Any) -> None:
        assert resume.wait(DEADLINE)
        receive(message)

    peer.session.receive = receive_late  # type: ignore[method-assign]
    elements = [bytes([number]) * 60_000 for number in range(10)]
    peer.session.subscribe(connection.session.handles.own(pyrs.just(*elements)), recorder)
    eventually(lambda: connection.session.outbox.frames_out > len(elements), "the stream was not written")
    closing = threading.Thread(target=connection.close, daemon=True)
    closing.start()
    eventually(lambda: not connection.session.open)
    for _ in range(20):
        peer.send(frame(FrameType.REQUEST, 99, bytes(8)))
        closing.join(0.01)
    resume.set()
    assert recorder.await_complete() == elements
    closing.join(DEADLINE)
    assert not closing.is_alive()


def test_a_request_during_close_loses_no_terminal_signal(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor shuts down after a thread has claimed the drain loop and before it submits the task."""
    connection = peer.connect()
    recorder = recording()
    connection.session.subscribe(export(peer, pyrs.never()), recorder)
    inside, leave = threading.Event(), threading.Event()
    requester = threading.Thread(target=lambda: recorder.request(1), daemon=True)
    execute = connection.executor.execute

    def execute_late(task: Any) -> None:
        if threading.current_thread() is requester:
            inside.set()
            assert leave.wait(DEADLINE)
        execute(task)

    monkeypatch.setattr(connection.executor, "execute", execute_late)
    requester.start()
    assert inside.wait(DEADLINE)
    assert connection.close(DEADLINE)
    leave.set()
    recorder.await_error(LinkClosed)
    requester.join(DEADLINE)
    assert not requester.is_alive()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0\0\0\0",
        b"\xff" * 64,
        frame(FrameType.NEXT, 1, b""),
        frame(FrameType.REQUEST, 2, b"\0"),
        frame(FrameType.HELLO, 0, b""),
        frame(FrameType.SUBSCRIBE, 2, b"\xc1"),
        frame(FrameType.SUBSCRIBE, 1, b"\x92\x07\x80"),
        frame(FrameType.RELEASE, 0, b"123"),
    ],
    ids=["length", "noise", "empty-next", "short-request", "second-hello", "no-msgpack", "our-id", "odd-release"],
)
def test_a_malformed_frame_ends_the_link_with_a_clear_error(peer: Peer, garbage: bytes) -> None:
    connection = peer.connect()
    recorder = recording(1)
    connection.session.subscribe(export(peer, pyrs.never()), recorder)
    connection.session.call(0, deadline_seconds=DEADLINE)
    peer.send(garbage)
    error = recorder.await_error(LinkBroken)
    assert "malformed" in str(error)
    assert peer.ended.wait(DEADLINE)
    connection.close()


def test_a_terminal_signal_before_a_malformed_frame_is_delivered(peer: Peer) -> None:
    connection = peer.connect()
    completed, broken = recording(1), recording(1)
    connection.session.subscribe(export(peer, pyrs.never()), completed)  # stream 1
    connection.session.subscribe(export(peer, pyrs.never()), broken)
    connection.session.call(0, deadline_seconds=DEADLINE)
    peer.send(frame(FrameType.COMPLETE, 1) + bytes(4))  # arrive in one read
    broken.await_error(LinkBroken)
    completed.await_complete()
    connection.close()


def test_idle_workers_end_with_a_broken_link(peer: Peer) -> None:
    connection = peer.connect()
    connection.executor._idle_seconds = 10 * DEADLINE
    connection.session.execute(lambda: None)
    eventually(lambda: connection.executor.threads == 1)
    peer.socket.shutdown(socket.SHUT_RDWR)
    eventually(lambda: connection.executor.threads == 0, "an idle worker of a broken link is left")


def test_a_wrong_token_and_a_wrong_version_are_refused() -> None:
    peer = Peer()
    with pytest.raises(LinkBroken, match="closed the link while it was being opened"):
        LinkConnection(peer.port, b"z" * 32, lambda session: PlainCodec(), max_prefetch=1)
    assert isinstance(peer.error, AssertionError)
    with pytest.raises(VersionMismatch, match="version 9"):
        Peer(version=9).connect()


class DisplacingPeer(Peer):
    """Closes the first three connections, as a listener closes the oldest of too many unauthenticated connections."""

    def _serve(self) -> None:
        for _ in range(3):
            self.listener.accept()[0].close()
        super()._serve()


def test_a_displaced_connection_is_dialled_again() -> None:
    peer = DisplacingPeer()
    connection, recorder = peer.connect(), recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, pyrs.range(3)), recorder)
    assert recorder.await_complete() == [0, 1, 2]
    assert connection.close(DEADLINE)


def test_another_listener_on_the_port_does_not_get_a_link() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def squat() -> None:
        client, _ = listener.accept()
        client.sendall(frame(FrameType.HELLO, 0, struct.pack(">H", 1) + b"n" * 32))
        client.recv(1024)
        client.sendall(frame(FrameType.PROOF, 0, b"p" * 32))
        client.close()

    threading.Thread(target=squat, daemon=True).start()
    with pytest.raises(LinkBroken, match="does not know the token"):
        LinkConnection(listener.getsockname()[1], b"t" * 32, lambda session: PlainCodec(), max_prefetch=1)
    listener.close()


@pytest.mark.parametrize("frames", [[FrameType.GOAWAY], [FrameType.HELLO, FrameType.GOAWAY]], ids=["first", "second"])
def test_goaway_during_the_handshake_is_reported_as_a_refusal(frames: list[FrameType]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        client, _ = listener.accept()
        with client:
            for kind in frames:
                client.sendall(frame(kind, 0, struct.pack(">H", 1) + b"n" * 32))
            client.recv(1024)

    threading.Thread(target=refuse, daemon=True).start()
    with pytest.raises(LinkBroken, match="the JVM refused the link"):
        LinkConnection(listener.getsockname()[1], b"t" * 32, lambda session: PlainCodec(), max_prefetch=1)
    listener.close()


def test_a_listener_that_sends_single_bytes_is_abandoned_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_HANDSHAKE_SECONDS", 0.5)
    listener = socket.create_server(("127.0.0.1", 0))
    finished = threading.Event()

    def trickle() -> None:
        client, _ = listener.accept()
        with suppress(OSError), client:
            for byte in frame(FrameType.HELLO, 0, struct.pack(">H", 1) + b"n" * 32):
                if finished.wait(0.2):  # each byte arrives within the deadline
                    return
                client.sendall(bytes([byte]))

    threading.Thread(target=trickle, daemon=True).start()
    started = time.monotonic()
    with pytest.raises(LinkBroken, match="could not be opened"):
        LinkConnection(listener.getsockname()[1], b"t" * 32, lambda session: PlainCodec(), max_prefetch=1)
    assert time.monotonic() - started < 6  # the whole HELLO would take nine seconds
    finished.set()
    listener.close()


def test_a_failed_write_leaves_closing_the_descriptor_to_the_reader(peer: Peer) -> None:
    """The reader may still use the descriptor when a write fails."""
    connection = peer.connect()
    recorder = recording(1)
    connection.session.subscribe(export(peer, pyrs.never()), recorder)
    descriptors: list[int] = []
    finish = connection._finish

    def finishing(why: Any) -> None:
        descriptors.append(connection._socket.fileno())
        finish(why)

    connection._finish = finishing  # type: ignore[method-assign]
    connection._shut()  # as a failed write does
    error = recorder.await_error(LinkBroken)
    assert "descriptor" not in str(error)
    eventually(lambda: connection._socket.fileno() == -1)
    assert -1 not in descriptors


@pytest.mark.parametrize("fails", ["reader", "writer"])
def test_a_connection_whose_thread_does_not_start_is_closed(
    peer: Peer, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, before = threading.Thread.start, set(threading.enumerate())

    def interrupted(thread: threading.Thread) -> None:
        if thread.name.endswith(f"pyrs-link-{fails}"):
            raise KeyboardInterrupt
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        peer.connect()
    monkeypatch.undo()
    assert peer.ended.wait(DEADLINE)
    eventually(lambda: not any(thread.name.startswith("pyrs-link-") for thread in {*threading.enumerate()} - before))


def test_ten_thousand_streams_leave_no_table_entry(peer: Peer) -> None:
    connection = peer.connect()
    handle = export(peer, pyrs.range(3))
    session = connection.session
    for _ in range(20):
        recorders = [recording(pyrs.UNBOUNDED) for _ in range(500)]
        for number, recorder in enumerate(recorders):
            session.subscribe(handle, recorder)
            if number % 5 == 0:
                recorder.cancel()
        for number, recorder in enumerate(recorders):
            if number % 5:
                assert recorder.await_complete() == [0, 1, 2]
    eventually(lambda: not session.streams and not peer.session.streams, "streams are left")
    assert session.streams_total == 10_000
    assert connection.close(DEADLINE)


def test_a_cancelled_subscriber_is_released(peer: Peer) -> None:
    connection = peer.connect()
    recorder = recording(1)
    connection.session.subscribe(export(peer, pyrs.range(1_000_000)), recorder)
    recorder.await_count(1)
    recorder.cancel()
    gone = weakref.ref(recorder)
    subscription = recorder.subscription
    del recorder

    def is_released() -> bool:
        connection.session.call(0, deadline_seconds=DEADLINE)
        return gone() is None

    collected(is_released, "rule 3.13")
    subscription.request(1)
    subscription.cancel()
    connection.close()


def test_a_subscriber_that_raises_is_cancelled_and_others_continue(peer: Peer) -> None:
    connection = peer.connect()
    reported: SimpleQueue[BaseException] = SimpleQueue()
    before = pyrs.set_error_hook(lambda error, where: reported.put(error))
    try:

        def fail(subscriber: object, element: object) -> None:
            raise ArithmeticError("mine")

        raising: TestSubscriber[int] = TestSubscriber(10, on_element=fail)
        other = recording(pyrs.UNBOUNDED)
        connection.session.subscribe(export(peer, pyrs.range(10)), raising)
        connection.session.subscribe(export(peer, pyrs.range(10)), other)
        assert isinstance(reported.get(timeout=DEADLINE), ArithmeticError)
        other.await_complete()
        raising.assert_live()
    finally:
        pyrs.set_error_hook(before)
    connection.close()


def test_blocked_subscribers_do_not_stop_another_stream(peer: Peer) -> None:
    connection = peer.connect()
    release = threading.Event()
    blocked = [recording(10, blocks=release) for _ in range(64)]
    for recorder in blocked:
        connection.session.subscribe(export(peer, pyrs.range(10)), recorder)
    for recorder in blocked:
        recorder.await_count(1)
    other = recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, pyrs.range(10_000)), other)
    assert len(other.await_complete()) == 10_000
    release.set()
    connection.close()


def test_interrupts_lose_no_element_of_other_streams(peer: Peer) -> None:
    connection = peer.connect()
    repeated = rounds(200)
    count = 500 * repeated
    others = [recording(100, 1) for _ in range(3)]
    for other in others:
        connection.session.subscribe(export(peer, pyrs.range(count)), other)

    class Remote(pyrs.Publisher[Any]):
        def __init__(self, handle: int) -> None:
            self.handle = handle

        def subscribe(self, subscriber: Any) -> None:
            connection.session.subscribe(self.handle, subscriber)

    handle = export(peer, pyrs.range(1_000_000_000))
    with interrupter() as interrupts:
        for _ in range(repeated):
            with pytest.raises(KeyboardInterrupt):
                for number in pyrs.Stream(Remote(handle)).to_iterable(timeout=DEADLINE):
                    if number == 50:
                        interrupts.strike()
    for other in others:
        assert other.await_complete() == list(range(count))
    after = recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, pyrs.range(10)), after)
    after.await_complete()
    assert connection.close(DEADLINE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_link_is_closed_in_a_forked_child_and_open_in_the_parent(peer: Peer) -> None:
    connection = peer.connect()

    def is_closed() -> bool:
        connection.session.subscribe(1, recording(1))
        return not connection.session.open and connection.close(DEADLINE)

    assert status_of_a_child(is_closed) == 0
    recorder = recording(pyrs.UNBOUNDED)
    connection.session.subscribe(export(peer, pyrs.range(10)), recorder)
    recorder.await_complete()
    connection.close()


class Blocking(pyrs.Subscriber[Any]):
    """Blocks in ``on_next`` until the end of the test; records its error without a lock."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()
        self.error: BaseException | None = None

    def on_subscribe(self, subscription: Any, /) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        self.entered.set()
        self.leave.wait(DEADLINE)

    def on_error(self, error: BaseException, /) -> None:
        self.error = error

    def on_complete(self) -> None:
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_request_in_a_forked_child_fails_the_stream_in_the_child_only(peer: Peer) -> None:
    connection, subscriber = peer.connect(), Blocking()
    connection.session.subscribe(export(peer, pyrs.range(10)), subscriber)
    assert subscriber.entered.wait(DEADLINE)  # the thread that runs the drain loop does not exist in the child

    def receives_the_error() -> bool:
        subscriber.subscription.request(1)
        return isinstance(subscriber.error, LinkBroken) and "forked" in str(subscriber.error)

    assert status_of_a_child(receives_the_error) == 0
    assert subscriber.error is None
    subscriber.leave.set()
    assert connection.close(DEADLINE)
