"""Python accepts or refuses each form of each frame as the shared test vectors specify."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
from plain_session import LinkSession, assert_lives

import pyrs
from pyrs.errors import ConversionError, ProtocolError
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber
from tests.waiting import collected, recording

ROWS = json.loads((Path(__file__).parent.parent / "vectors" / "received.json").read_text(encoding="utf-8"))
IDS = {"none": 0, "in": 1, "out": 2, "mine": 21, "new": 22, "gone": 23, "call": 77, "waiting": 1}


def prepared() -> LinkSession:
    """Return a session with a stream in each direction, and with three exported objects."""
    session = LinkSession()
    exported = [pyrs.never(), recording(1_000), lambda argument: argument]
    assert [*map(session.handles.own, exported)] == [1, 2, 3]
    session.kept = exported  # type: ignore[attr-defined]
    session.subscribe(7, recording(1_000))
    session.receive(Frame(FrameType.SUBSCRIBE, 2, b"\x92\x01\x80"))
    session.sent.clear()
    return session


def outcome(session: LinkSession, row: dict[str, Any]) -> object:
    before = len(session.sent)
    try:
        session.receive(Frame(FrameType[row["type"]], IDS[row["id"]], bytes.fromhex(row["body"])))
    except ProtocolError as error:
        return "malformed" if str(error).startswith("malformed") else error
    return [FrameType(each.type).name for each in [*session.sent][before:] if each.type != FrameType.REQUEST]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_frame_is_accepted_or_refused_as_recorded(row: dict[str, Any]) -> None:
    session = prepared()
    if row["id"] != "waiting":
        assert outcome(session, row) == row["then"]
        return
    outcomes: list[object] = []

    def answers(task: Callable[[], None]) -> None:
        outcomes.append(outcome(session, row))
        session.lost(session.broken("the test ends"))

    session.outbox._send = answers  # type: ignore[assignment]
    session.outbox.control(b"")
    try:
        session.call(9, [])
    except Exception:
        pass
    assert outcomes == [row["then"]]


def test_elements_before_an_unhashable_key_are_delivered(session: LinkSession, other: TestSubscriber[Any]) -> None:
    recorder = recording(1_000)
    session.subscribe(8, recorder)
    references = [msgpack.packb(msgpack.ExtType(16, struct.pack(">BQ", 0, handle))) for handle in (50, 51, 52)]
    first, second, third = references
    session.receive(Frame(FrameType.NEXT, 3, b"\x94\x01\x91" + first + b"\x92" + second + b"\x81\x91\x01\x02" + third))
    assert isinstance(recorder.await_error(), ConversionError)
    one, (java_object,) = recorder.elements
    assert (one, java_object._handle) == (1, 50)
    del java_object, recorder
    collected(lambda: sorted(session.handles._to_release) == [50, 51, 52])
    assert_lives(session, other)


def test_options_with_an_unhashable_key_fail_the_subscription_of_their_subscriber(session: LinkSession) -> None:
    recorder = recording(1_000)
    body = b"\x92" + msgpack.packb(session.handles.own(recorder)) + b"\x81\x91\x01\x02"
    session.receive(Frame(FrameType.ON_SUBSCRIBE, 2, body))
    assert isinstance(recorder.await_error(), ConversionError)
    assert session.sent[0].type == FrameType.CANCEL


def test_elements_beyond_the_credit_are_released_and_not_answered_by_the_reader(session: LinkSession) -> None:
    """The reader must not write, because the peer might not read."""
    recorder = recording(1)
    session.subscribe(8, recorder)
    session.sent.clear()
    tasks: list[Callable[[], object]] = []
    session.execute = tasks.append  # type: ignore[method-assign]
    reference = msgpack.packb(msgpack.ExtType(16, struct.pack(">BQ", 0, 50)))
    session.receive(Frame(FrameType.NEXT, 1, b"\xdc\x00\x11" + 17 * reference))
    assert not session.sent
    assert [*session.handles._to_release] == 17 * [50]
    for task in tasks:
        task()
    assert [each.type for each in session.sent] == [FrameType.CANCEL]
