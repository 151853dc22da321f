"""Races of the reader, the drain loop and the writer, each forced at every line; and lifetimes of references."""

from __future__ import annotations

import socket
import threading
import weakref
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from interleaving import UNREADABLE, Codec, Interrupted, Stepped, at_every_line, signals
from peer import Peer
from plain_session import PlainCodec, PlainEncoder, PlainSession

import pyrs
from pyrs.api import Subscription
from pyrs.errors import CallTimeout, LinkBroken, LinkClosed, ProtocolError
from pyrs.jvm.java_objects import JavaFuture
from pyrs.jvm.link.batches import Batches
from pyrs.jvm.link.connection import LinkConnection
from pyrs.jvm.link.frames import (
    CREDIT,
    MORE,
    RELEASED,
    UNPROVEN_MAX_LENGTH,
    Frame,
    FrameDecoder,
    FrameType,
    frame,
)
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.outbound import OutboundStream
from pyrs.jvm.link.outbox import Outbox
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, eventually, recording, run_on_threads


def subscribed(session: Stepped) -> tuple[TestSubscriber[Any], InboundStream]:
    recorder = recording(1_000)
    session.subscribe(7, recorder)
    session.run()
    stream = session.streams[1]
    assert isinstance(stream, InboundStream)
    return recorder, stream


class TestBatchDuringDrain:
    DRAIN_LOOP = (InboundStream._work, InboundStream._deliver, InboundStream._next_batch)

    @pytest.mark.parametrize("end", ["complete", "error", "complete and lost", "lost"])
    def test_no_batch_before_the_end_is_lost(self, end: str) -> None:
        def attempt(interrupted: Interrupted) -> bool:
            session = Stepped()
            recorder, _ = subscribed(session)
            session.next(1, 2, 3)

            def receive() -> None:
                session.next(4, 5)
                if "complete" in end:
                    session.receive(Frame(FrameType.COMPLETE, 1, b""))
                if end == "error":
                    session.receive(Frame(FrameType.ERROR, 1, session.codec.encode_error(KeyError("theirs"))))
                if "lost" in end:
                    session.lost(LinkBroken("the link is broken"))

            with interrupted(receive) as intruder:
                session.run()
            if intruder.reached:
                session.run()
                last = "complete" if "complete" in end else "RuntimeError" if end == "error" else "LinkBroken"
                if end == "lost":  # elements that the broken link cut off may be missing, but only from the end
                    assert signals(recorder) in ([1, 2, 3, last], [1, 2, 3, 4, 5, last]), intruder.line
                else:
                    assert signals(recorder) == [1, 2, 3, 4, 5, last], intruder.line
            return intruder.reached

        at_every_line(self.DRAIN_LOOP, attempt)


class TestTerminalSignalDuringArrival:
    READER = (InboundStream.arrived,)

    def test_no_element_follows_an_undecodable_one(self) -> None:
        """The drain loop is inside on_next(1), and has found the third element undecodable."""

        def attempt(interrupted: Interrupted) -> bool:
            session = Stepped()
            recorder, stream = subscribed(session)
            session.next(1, 2, UNREADABLE, 3)
            inside, leave = threading.Event(), threading.Event()

            def stay(*ignored: object) -> None:
                inside.set()
                assert leave.wait(DEADLINE)

            recorder._on_element = stay
            drain = threading.Thread(target=session.run, daemon=True)

            def run_drain_loop() -> None:
                drain.start()
                assert inside.wait(DEADLINE)

            with interrupted(run_drain_loop) as intruder:
                session.next(4, 5)
            leave.set()
            if intruder.reached:
                drain.join(DEADLINE)
                session.run()
                assert signals(recorder) == [1, 2, "ValueError"], intruder.line
                assert not stream._batches
                assert isinstance(session.codec, Codec)
                assert session.codec.discarded == [[4, 5]], intruder.line
            return intruder.reached

        at_every_line(self.READER, attempt)

    @pytest.mark.parametrize("how", ["cancel", "unreadable", "non-positive request"])
    def test_handles_of_a_late_batch_are_released(self, how: str) -> None:
        def attempt(interrupted: Interrupted) -> bool:
            session = Stepped()
            recorder, stream = subscribed(session)
            handle = session.handles.own(object())
            assert handle == 1
            if how == "unreadable":
                session.next(UNREADABLE)

            def run_drain_loop() -> None:
                if how == "cancel":
                    recorder.cancel()
                elif how == "non-positive request":
                    recorder.request(0)
                session.run()

            with interrupted(run_drain_loop) as intruder:
                session.next("home", 5, home=True)
            session.run()
            if intruder.reached:
                assert "home" not in signals(recorder)
                assert not stream._batches, intruder.line
                assert isinstance(session.codec, Codec)
                assert session.codec.discarded == [["home", 5]], intruder.line
                session.receive(Frame(FrameType.RELEASE, 0, RELEASED.pack(handle, 1)))
                assert len(session.handles) == 0, f"line {intruder.line}: the returned object is still exported"
            return intruder.reached

        before = pyrs.set_element_hook(lambda count, where: None)
        try:
            at_every_line(self.READER, attempt)
        finally:
            pyrs.set_element_hook(before)


class Returned:
    """A test double of an object of the JVM, which releases its handle when it is collected."""

    def __init__(self, session: PlainSession) -> None:
        self._release = session.handles.release

    def __del__(self) -> None:
        self._release(7)


class HomeCodec(Codec):
    """Encodes elements and results that return an object to the peer."""

    session: PlainSession

    def encode_carrying(self, value: object) -> tuple[bytes, list[object]]:
        return self.encode(value), [Returned(self.session)]

    def encoder(self) -> PlainEncoder:
        encoder = PlainEncoder()
        pack = encoder.encode

        def encode(element: Any) -> bytes:
            encoder.carried.append(Returned(self.session))
            return pack(element)

        encoder.encode = encoder.encode_element = encode
        return encoder


class Releasing(Stepped):
    """Writes RELEASE frames at the first opportunity."""

    def __init__(self) -> None:
        super().__init__(HomeCodec())
        assert isinstance(self.codec, HomeCodec)
        self.codec.session = self
        send, wake = self.outbox._send, self.outbox.wake

        def sends(data: bytes) -> None:
            send(data)
            if released := self.handles.release_frames():
                self.outbox.control(released)

        def wakes() -> None:
            self._inline(self.outbox.write_released)
            wake()

        self.outbox._send, self.outbox.wake = sends, wakes

    def order(self) -> list[str]:
        self.run()
        self.outbox.write_released()
        return [FrameType(message.type).name for message in self.sent]


class TestReturnedObject:
    """RELEASE never overtakes the frame that returns the object."""

    SIZES = (10, 300_000)

    @pytest.mark.parametrize("size", SIZES)
    def test_release_follows_a_return(self, size: int) -> None:
        session = Releasing()
        function = session.handles.own(lambda: b"x" * size)
        session.receive(Frame(FrameType.CALL, 3, session.codec.encode([function, []])))
        assert session.order() == ["RETURN", "RELEASE"]

    @pytest.mark.parametrize("size", SIZES)
    def test_release_follows_a_call(self, size: int) -> None:
        session = Releasing()
        with pytest.raises(CallTimeout):
            session.call(4, [b"x" * size], deadline_seconds=0)
        assert session.order() == ["CALL", "RELEASE"]

    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("ends", ["complete", "cancel"])
    def test_release_follows_an_element(self, size: int, ends: str) -> None:
        session = Releasing()
        source = pyrs.just(b"x" * size) if ends == "complete" else Hot(b"x" * size)
        publisher = session.handles.own(source)
        session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([publisher, {}])))
        session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(10)))
        order = session.order()
        if ends == "cancel":
            session.receive(Frame(FrameType.CANCEL, 2, b""))
            order = session.order()
        assert [name for name in order if name != "COMPLETE"] == ["NEXT_HOME", "RELEASE"]


class Hot(pyrs.Publisher[Any], Subscription):
    """Pushes one element and never ends."""

    def __init__(self, element: Any) -> None:
        self.element = element

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self.subscriber.on_next(self.element)

    def cancel(self) -> None:
        pass


class FutureOf(SimpleNamespace):
    """A test double of a JavaObject with the attributes that a JavaFuture uses."""

    def __init__(self, connection: LinkConnection, handle: int) -> None:
        super().__init__(_link=SimpleNamespace(session=connection.session), _handle=handle, _kind=4)


class TestAbandonedFuture:
    def assert_nothing_is_left(self, peer: Peer, connection: LinkConnection) -> None:
        eventually(lambda: not connection.session.streams and not peer.session.streams, "a stream is left")
        assert connection.close(DEADLINE)

    def test_missed_deadline_leaves_no_stream(self) -> None:
        peer = Peer()
        connection = peer.connect()
        future = JavaFuture(FutureOf(connection, peer.session.handles.own(pyrs.never())))  # type: ignore[arg-type]
        for _ in range(5):
            with pytest.raises(CallTimeout):
                future.result(0.001)
        self.assert_nothing_is_left(peer, connection)

    def test_interrupted_wait_leaves_no_stream(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Interrupted(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                raise KeyboardInterrupt

        peer = Peer()
        connection = peer.connect()
        future = JavaFuture(FutureOf(connection, peer.session.handles.own(pyrs.never())))  # type: ignore[arg-type]
        with monkeypatch.context() as patched:
            patched.setattr("pyrs.operators.terminal.Event", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                future.result(DEADLINE)
        self.assert_nothing_is_left(peer, connection)


class TestUserFinalizers:
    @pytest.mark.parametrize("how", ["released", "the link ends"])
    def test_finalizers_do_not_run_on_the_reader(self, how: str) -> None:
        peer = Peer()
        connection = peer.connect()
        ran_on: SimpleQueue[str] = SimpleQueue()
        blocks = threading.Event()

        class Finalized:
            def __del__(self) -> None:
                ran_on.put(threading.current_thread().name)
                blocks.wait(DEADLINE)

        handle = connection.session.handles.own(Finalized())
        try:
            if how == "released":
                peer.send(frame(FrameType.RELEASE, 0, RELEASED.pack(handle, 1)))
            else:
                peer.kill()
            name = ran_on.get(timeout=DEADLINE)
            assert not name.endswith(("-reader", "-writer")), name
            if how == "released":
                assert connection.session.call(0, ["answer"], deadline_seconds=DEADLINE) == "answer"
        finally:
            blocks.set()
        connection.close()


class TestBeforeTheProof:
    """Until the peer has proved the token, other frames and fragments are refused, and none is buffered."""

    @pytest.mark.parametrize("kind", [FrameType.NEXT, FrameType.NEXT_HOME, FrameType.CALL, FrameType.ERROR])
    @pytest.mark.parametrize("more", [0, MORE])
    def test_other_frames_are_refused(self, kind: FrameType, more: int) -> None:
        with pytest.raises(ProtocolError, match="malformed"):
            FrameDecoder(UNPROVEN_MAX_LENGTH).feed(frame(kind | more, 1, b"x"))

    @pytest.mark.parametrize("kind", [FrameType.HELLO, FrameType.PROOF])
    def test_fragments_are_refused(self, kind: FrameType) -> None:
        with pytest.raises(ProtocolError, match="malformed"):
            FrameDecoder(UNPROVEN_MAX_LENGTH).feed(frame(kind | MORE, 0, b"x"))

    def test_incomplete_frame_before_the_proof_allocates_no_announced_length(self) -> None:
        decoder = FrameDecoder(UNPROVEN_MAX_LENGTH)
        announcing = frame(FrameType.NEXT | MORE, 1, b"\x91\xc9" + (1 << 23).to_bytes(4, "big") + bytes(100))
        decoder.feed(announcing[:-1])
        assert not decoder.in_place
        with pytest.raises(ProtocolError, match="before the link is open"):
            decoder.feed(announcing[-1:])

    def test_a_listener_that_floods_fragments_without_the_token_is_disconnected(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        left: SimpleQueue[str] = SimpleQueue()

        def flood() -> None:
            client, _ = listener.accept()
            client.settimeout(DEADLINE)
            fragments = b"".join(frame(FrameType.NEXT | MORE, number, b"x") for number in range(1_000))
            with client:
                try:
                    for _ in range(10_000):
                        client.sendall(fragments)
                    left.put("still connected after ten million fragments")
                except OSError:
                    left.put("gone")

        threading.Thread(target=flood, daemon=True).start()
        with pytest.raises((ProtocolError, LinkBroken)):
            LinkConnection(listener.getsockname()[1], b"t" * 32, lambda session: PlainCodec(), max_prefetch=1)
        assert left.get(timeout=DEADLINE) == "gone"
        listener.close()


def test_exact_demand_applies_to_a_subscriber_of_the_peer() -> None:
    peer = Peer()
    connection = peer.connect()
    requested: SimpleQueue[int] = SimpleQueue()

    class RecordsRequests(Hot):
        def request(self, n: int) -> None:
            requested.put(n)

    recorder = recording(request=2)
    handle = peer.session.handles.own(recorder)
    RecordsRequests(None).subscribe(connection.session.subscribe_peer(handle, {"exact": True}))
    assert requested.get(timeout=DEADLINE) == 2
    recorder.request(3)
    assert requested.get(timeout=DEADLINE) == 3
    assert connection.close(DEADLINE)


def test_close_returns_although_the_peer_does_not_read() -> None:
    """The writer thread is blocked in a write."""
    peer = Peer()
    connection = peer.connect()
    recorder = recording(1)
    connection.session.subscribe(peer.session.handles.own(pyrs.never()), recorder)
    connection.session.call(0, deadline_seconds=DEADLINE)
    stopped, resume = threading.Event(), threading.Event()

    def stop_reading(message: Frame) -> None:
        stopped.set()
        resume.wait(DEADLINE * 2)

    peer.session.receive = stop_reading  # type: ignore[method-assign]
    with pytest.raises(CallTimeout):
        connection.session.call(0, deadline_seconds=0)
    assert stopped.wait(DEADLINE)
    with pytest.raises(CallTimeout):
        connection.session.call(0, [b"x" * 24_000_000], deadline_seconds=0)
    outbox = connection.session.outbox
    eventually(lambda: outbox.bytes_out > 100_000 and outbox._writing.locked(), "the writer did not write")
    try:
        assert connection.close(DEADLINE)
        recorder.await_error(LinkClosed)
        for thread in (connection._reader, connection._writer):
            thread.join(DEADLINE)
            assert not thread.is_alive(), thread.name
    finally:
        resume.set()


class RecordingLock:
    """A lock for the outbox that records whether a thread waits for it."""

    def __init__(self) -> None:
        self.lock, self.wanted = threading.Lock(), threading.Event()
        self.release = self.lock.release

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if blocking:
            self.wanted.set()
        return self.lock.acquire(blocking, timeout)


def test_close_sends_goaway_while_another_thread_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyrs.jvm.link.connection._GOAWAY_SECONDS", DEADLINE)  # longer than the other write takes
    peer = Peer()
    connection = peer.connect()
    codes: SimpleQueue[int] = SimpleQueue()
    peer.session.on_goaway = lambda code, text: codes.put(code)
    closed = threading.Event()
    closing = threading.Thread(target=lambda: (connection.close(DEADLINE), closed.set()), daemon=True)
    lock = RecordingLock()
    connection.session.outbox._writing = lock  # type: ignore[assignment]
    with lock.lock:  # another thread writes
        closing.start()
        assert lock.wanted.wait(DEADLINE), "GOAWAY does not wait for the other write"
        assert not closed.is_set()
    assert closed.wait(DEADLINE)
    assert peer.ended.wait(DEADLINE)
    assert codes.get_nowait() == 0


def test_no_frame_follows_goaway() -> None:
    sent: list[bytes] = []
    outbox = Outbox(sent.append, wake=lambda: None, released=lambda: b"")
    outbox.control(b"queued")
    outbox.write()
    outbox.write_last(b"goaway", DEADLINE)
    outbox.control(b"late")
    outbox.write()
    assert sent == [b"queued", b"goaway"]


def test_goaway_for_a_malformed_frame_is_not_sent_inside_the_frame_of_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyrs.jvm.link.connection._GOAWAY_SECONDS", DEADLINE)
    peer = Peer()
    connection = peer.connect()
    codes: SimpleQueue[int] = SimpleQueue()
    peer.session.on_goaway = lambda code, text: codes.put(code)
    lock = RecordingLock()
    connection.session.outbox._writing = lock  # type: ignore[assignment]
    with lock.lock:  # another thread has written a part of its frame
        peer.send(bytes(4))
        assert lock.wanted.wait(DEADLINE), "GOAWAY does not wait for the other write"
        assert codes.empty()
    assert codes.get(timeout=DEADLINE) == 2
    assert connection.close(DEADLINE)


def test_a_cancelled_stream_releases_references_of_a_partly_written_element() -> None:
    session = Releasing()
    source = Hot(b"x" * 300_000)
    publisher = session.handles.own(source)
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([publisher, {}])))
    session.run()
    stream: Any = session.streams[2]
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(1)))
    while not stream._batches:
        session._tasks.popleft()()
    _, more = stream.take()
    assert more, "the first fragment contains the whole element"
    carried = [weakref.ref(each) for each in stream._large._carried]
    assert carried and carried[0]() is not None
    session.receive(Frame(FrameType.CANCEL, 2, b""))
    session.run()
    while stream.take()[1]:
        pass
    del stream
    assert carried[0]() is None


def test_an_idle_stream_releases_references_of_a_written_large_element() -> None:
    session = Releasing()
    publisher = session.handles.own(Hot(b"x" * 300_000))
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([publisher, {}])))
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(1)))
    session.run()
    stream: Any = session.streams[2]
    assert stream._large is None, "the references are kept until the next element"
    assert [each.type for each in session.sent] == [FrameType.NEXT_HOME, FrameType.RELEASE]


def test_an_undecodable_answer_fails_its_call() -> None:
    """A malformed answer ends the link, and the caller does not wait for its deadline."""
    peer = Peer()
    connection = peer.connect()
    peer.session._receive_call = lambda identifier, body: peer.send(  # type: ignore[method-assign]
        frame(FrameType.RETURN, identifier, b"\xc1")
    )
    with pytest.raises((LinkBroken, ProtocolError), match="malformed"):  # and not CallTimeout
        connection.session.call(0, deadline_seconds=DEADLINE)
    connection.close()


def test_the_error_of_an_ended_link_keeps_no_frames_of_its_callers() -> None:
    """A single exception that is raised repeatedly would keep the frames of all callers."""
    session = PlainSession()
    session.lost(LinkClosed("the link has ended"))
    for _ in range(3):
        with pytest.raises(LinkClosed) as raised:
            session.call(0)
        entries, at = 0, raised.tb
        while at is not None:
            entries, at = entries + 1, at.tb_next  # type: ignore[assignment]
        assert entries <= 2
    assert session.end_error.__traceback__ is None


def test_each_waiting_call_receives_its_own_error_of_an_ended_link() -> None:
    session = PlainSession()
    raised: SimpleQueue[BaseException] = SimpleQueue()

    def call() -> None:
        try:
            session.call(7, deadline_seconds=DEADLINE)
        except LinkClosed as error:
            raised.put(error)

    def end() -> None:
        eventually(lambda: len(session._calls) == 2, "the calls do not wait")
        session.lost(LinkClosed("the link has ended"))

    run_on_threads(call, call, end)
    assert raised.get(timeout=DEADLINE) is not raised.get(timeout=DEADLINE)


def test_a_cancel_inside_a_batch_is_not_reported_as_stop_iteration() -> None:
    """An incomplete batch looks like the end of the iterator if the source is not cancelled."""
    failures: list[BaseException] = []

    class Recording(PlainCodec):
        def encode_error(self, error: BaseException) -> bytes:
            failures.append(error)
            return super().encode_error(error)

    def attempt(interrupted: Interrupted) -> bool:
        session = Stepped(Recording())
        stream = session.subscribe_peer(7)
        pyrs.range(40).map(abs).subscribe(stream)
        stream._granted = 40  # as if the source emitted on another thread, and not inside request()
        with interrupted(lambda: session.receive(Frame(FrameType.CANCEL, stream.id, b""))) as line:
            assert stream._subscription is not None
            stream._subscription.request(40)
        session.run()
        assert stream._subscription is None
        return line.reached

    before = pyrs.set_error_hook(lambda error, where: failures.append(error))
    try:
        at_every_line((OutboundStream.consume, Batches.fill), attempt)
    finally:
        pyrs.set_error_hook(before)
    assert failures == []
