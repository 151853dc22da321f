"""Limits bound the memory that an authenticated peer can occupy: above a limit a stream, a call or the link fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pytest
from peer import Peer
from plain_session import LinkSession, PlainSession

import pyrs
from pyrs.errors import ConversionError, JvmError, LinkBroken, ProtocolError
from pyrs.jvm.link import connection, frames, handles, outbox
from pyrs.jvm.link import session as session_module
from pyrs.jvm.link.frames import MORE, RELEASED, Frame, FrameDecoder, FrameType, frame
from tests.waiting import DEADLINE, eventually, recording

UNBOUNDED = pyrs.UNBOUNDED


def opening(kind: FrameType, stream: int, handle: int) -> Frame:
    return Frame(kind, stream, msgpack.packb([handle, {}]))


def call(number: int, argument: object = 1) -> Frame:
    return Frame(FrameType.CALL, number, msgpack.packb([0, [argument]]))


def returns(session: PlainSession) -> dict[int, Any]:
    """Return the answers of the session by call: whether the call succeeded, and its result."""
    return {sent.id: session.codec.decode(sent.body) for sent in session.sent if sent.type == FrameType.RETURN}


def test_peer_stream_above_the_stream_limit_fails_and_others_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_STREAMS", 2)
    session = PlainSession()
    handle = session.handles.own(pyrs.never())
    subscriber = session.handles.own(recording())
    for stream in (2, 4, 6):
        session.receive(opening(FrameType.SUBSCRIBE, stream, handle))
    session.receive(opening(FrameType.ON_SUBSCRIBE, 8, subscriber))
    assert [(sent.type, sent.id) for sent in session.sent] == [(FrameType.ERROR, 6), (FrameType.CANCEL, 8)]
    assert "link.streams" in session.codec.decode(session.sent[0].body)[3]
    assert list(session.streams) == [2, 4]
    session.receive(Frame(FrameType.CANCEL, 2, b""))
    session.receive(opening(FrameType.SUBSCRIBE, 10, handle))
    assert list(session.streams) == [4, 10]


def test_subscriber_refused_at_the_stream_limit_can_be_subscribed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_STREAMS", 1)
    session = PlainSession()
    publisher = session.handles.own(pyrs.never())
    subscriber = recording()
    handle = session.handles.own(subscriber)
    session.receive(opening(FrameType.SUBSCRIBE, 2, publisher))
    session.receive(opening(FrameType.ON_SUBSCRIBE, 4, handle))
    session.receive(Frame(FrameType.CANCEL, 2, b""))
    session.receive(opening(FrameType.ON_SUBSCRIBE, 6, handle))
    assert list(session.streams) == [6]


def test_python_stream_above_the_stream_limit_fails_and_others_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_STREAMS", 1)
    session = PlainSession()
    first, second = recording(UNBOUNDED), recording(UNBOUNDED)
    session.subscribe(3, first)
    session.subscribe(3, second)
    assert "link.streams" in str(second.await_error(JvmError))
    with pytest.raises(JvmError, match=r"1 live streams, its limit \(link\.streams\): cancel"):
        session.subscribe_peer(4)
    assert list(session.streams) == [1]
    session.receive(Frame(FrameType.COMPLETE, 1, b""))
    first.await_complete()


def test_repeated_confirmation_of_a_stream_occupies_no_memory() -> None:
    session = PlainSession()
    session.subscribe(7, recording())
    stream = session.streams[1]
    for _ in range(1_000):
        session.receive(Frame(FrameType.SUBSCRIBED, 1, b""))
    assert stream._confirmed.qsize() == 1


@pytest.mark.parametrize(
    ("limit", "value", "argument"), [("MAX_CALLS", 2, 1), ("MAX_CALL_BYTES", 250, bytes(100))], ids=["count", "bytes"]
)
def test_call_above_the_call_limits_fails_and_others_return(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, argument: object
) -> None:
    monkeypatch.setattr(session_module, limit, value)
    session = PlainSession()
    with session.outbox._writing:  # as if the peer did not read
        for number in (1, 2, 3):
            session.receive(call(number, argument))
    session.outbox.write()
    answers = returns(session)
    assert [number for number, answer in answers.items() if answer[0]] == [1, 2]
    assert "call.pending" in answers[3][1]
    session.receive(call(4, argument))  # the earlier answers have been written
    assert returns(session)[4] == [True, argument]


def test_call_whose_caller_has_given_up_is_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that were busy skip such calls, so that the calls after them are executed in time."""
    session = PlainSession()
    waiting: list[Callable[[], object]] = []
    monkeypatch.setattr(session, "execute", waiting.append)
    monkeypatch.setattr(session, "_call_seconds", 3.0)
    now = 100.0
    monkeypatch.setattr(session_module, "monotonic", lambda: now)
    executed: list[int] = []
    handle = session.handles.own(executed.append)
    session.receive(Frame(FrameType.CALL, 1, msgpack.packb([handle, [1]])))
    now = 101.0
    session.receive(Frame(FrameType.CALL, 3, msgpack.packb([handle, [2]])))
    now = 103.5
    for task in waiting:
        task()
    assert executed == [2]
    answers = returns(session)
    assert answers[3] == [True, None]
    assert "no worker was free within 3.0 seconds" in answers[1][1]


def test_value_with_references_above_the_handle_limit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "MAX_HANDLES", 2)
    session = LinkSession()
    with pytest.raises(ConversionError, match=r"link\.handles"):
        session.codec.encode([object(), object(), object()])
    assert len(session.handles) == 0  # the references of the failed value are released
    session.codec.encode([object(), object()])
    with pytest.raises(ConversionError, match=r"link\.handles"):
        session.handles.own(object())
    session.receive(Frame(FrameType.RELEASE, 0, RELEASED.pack(next(iter(session.handles._by_handle)), 1)))
    session.handles.own(object())


def test_object_returned_after_the_end_of_the_link_is_not_kept() -> None:
    session = LinkSession()

    def call_that_outlives_the_link() -> object:
        session.lost(LinkBroken("gone"))
        return object()

    handle = session.handles.own(call_that_outlives_the_link)
    session.receive(Frame(FrameType.CALL, 1, msgpack.packb([handle, []])))
    assert not session.open
    assert len(session.handles) == 0


def test_fragments_of_unfinished_messages_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_UNFINISHED", 2)
    monkeypatch.setattr(frames, "MAX_UNFINISHED_BYTES", 100)
    decoder = FrameDecoder()
    for _ in range(3):  # finished messages do not count
        decoder.feed(frame(FrameType.NEXT | MORE, 1, bytes(50)) + frame(FrameType.CALL | MORE, 1, bytes(40)))
        assert len(decoder.feed(frame(FrameType.NEXT, 1, bytes(10)) + frame(FrameType.CALL, 1))) == 2
    decoder.feed(frame(FrameType.NEXT | MORE, 1, bytes(50)) + frame(FrameType.CALL | MORE, 1, bytes(40)))
    with pytest.raises(ProtocolError, match=r"malformed frame: 2 unfinished messages are the limit .*message\.unf"):
        decoder.feed(frame(FrameType.ERROR | MORE, 1, b"x"))
    with pytest.raises(ProtocolError, match="malformed frame: 100 bytes of unfinished messages"):
        decoder.feed(frame(FrameType.NEXT | MORE, 1, bytes(11)))


def test_a_peer_that_does_not_read_answers_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_UNSENT", 50)
    peer = Peer()
    link = peer.connect()
    recorder = recording(1)
    link.session.subscribe(peer.session.handles.own(pyrs.never()), recorder)
    link.session.call(0, deadline_seconds=DEADLINE)
    with link.session.outbox._writing:  # as if the send buffer of the socket were full
        with suppress(OSError):
            peer.send(b"".join(frame(FrameType.ON_SUBSCRIBE, 2 + 2 * i, msgpack.packb([99, {}])) for i in range(60)))
        assert "link.unsent" in str(recorder.await_error(LinkBroken))
    link.close()


def test_a_peer_that_does_not_read_releases_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_PENDING_RELEASES", 10)
    monkeypatch.setattr(connection, "_MAX_UNSENT_RELEASES", 50)
    peer = Peer()
    link = peer.connect()
    recorder = recording(1)
    link.session.subscribe(peer.session.handles.own(pyrs.never()), recorder)
    link.session.call(0, deadline_seconds=DEADLINE)
    released = link.session.handles._to_release
    with link.session.outbox._writing:
        monkeypatch.setattr(link.session.handles, "release_frames", bytes)
        monkeypatch.setattr(link.session.outbox, "_released", bytes)  # as if the writer were blocked
        released.extend(range(60))
        peer.send(frame(FrameType.REQUEST, 98, bytes(8)))
        assert "release.unsent" in str(recorder.await_error(LinkBroken))
    eventually(lambda: not link.session.open, "the link did not end")
    link.close()
