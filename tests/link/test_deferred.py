"""The reader runs no method of an exported object that the peer sends back as a key of a map or in a set."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from plain_session import LinkSession

from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.frames import Frame, FrameType


class Queued(LinkSession):
    """Runs the tasks of workers in ``run``, and not in ``receive``, which the reader calls."""

    def _inline(self, task: Callable[[], None]) -> None:
        self._tasks.append(task)

    def run(self) -> None:
        while self._tasks:
            self._tasks.popleft()()


class Key:
    def __init__(self) -> None:
        self.armed = False
        self.hashed = 0

    def __hash__(self) -> int:
        self.hashed += 1
        if self.armed:
            raise RuntimeError("no hash")
        return 1


@pytest.fixture
def session() -> Queued:
    return Queued()


def home(session: LinkSession, target: object) -> msgpack.ExtType:
    """Return the reference by which the peer returns an object of this side."""
    return msgpack.ExtType(17, struct.pack(">BQ", 0, session.handles.own(target)))


def call(session: Queued, function: Callable[..., object], *arguments: object) -> None:
    body = msgpack.packb([session.handles.own(function), arguments])
    session.receive(Frame(FrameType.CALL, 5, body))


def answer(session: Queued) -> list[Any]:
    session.run()
    (reply,) = session.sent
    return session.read(reply)  # type: ignore[no-any-return]


def test_keys_and_members_are_hashed_by_the_worker_of_a_call(session: Queued) -> None:
    key, received = Key(), list[Any]()
    same = home(session, key)
    members = msgpack.ExtType(9, msgpack.packb([same, [same, 1]]))
    call(session, lambda *arguments: received.extend(arguments), {same: [same]}, members, same, {"a": {"b": same}})
    assert key.hashed == 0, "the reader hashed the key"
    assert answer(session) == [True, None]
    assert received == [{key: [key]}, {key, (key, 1)}, key, {"a": {"b": key}}]
    assert key.hashed > 0


@pytest.mark.parametrize("in_a_set", [False, True])
def test_a_key_that_cannot_be_hashed_fails_its_call(session: Queued, in_a_set: bool) -> None:
    key = Key()
    key.armed = True
    reference = home(session, key)
    call(
        session,
        lambda argument: argument,
        msgpack.ExtType(9, msgpack.packb([reference])) if in_a_set else {reference: 1},
    )
    succeeded, error = answer(session)
    assert (succeeded, error[2]) == (False, "pyrs.errors.ConversionError")
    assert "RuntimeError raised by an object" in error[3]
    assert session.open


@pytest.mark.parametrize("in_dicts", [False, True])
def test_an_object_in_a_value_of_the_largest_depth_is_delivered(session: Queued, in_dicts: bool) -> None:
    key, received = Key(), list[Any]()
    value: Any = home(session, key)
    for _ in range(LIMITS["value.depth"] - 3):  # before 1.2, msgpack packs 511 levels, two of them the frame's
        value = {"a": value} if in_dicts else [value]
    call(session, received.append, value)
    assert answer(session) == [True, None]
    (found,) = received
    while found is not key:
        (found,) = found.values() if in_dicts else found


def test_an_object_next_to_a_replaced_unreadable_value_is_delivered(session: Queued) -> None:
    """The keys 1 and 1.0 of a Java map are equal in Python, so the second value replaces the first."""
    key, received = Key(), list[Any]()
    unreadable = msgpack.ExtType(9, msgpack.packb([{}]))  # a set with a dict
    entries = b"".join(map(msgpack.packb, [1, unreadable, 1.0, "second"]))
    arguments = b"\x92\x82" + entries + msgpack.packb(home(session, key))
    handle = session.handles.own(lambda *values: received.extend(values))
    session.receive(Frame(FrameType.CALL, 5, b"\x92" + msgpack.packb(handle) + arguments))
    assert answer(session) == [True, None]
    assert received == [{1: "second"}, key]


def test_the_barrier_returns_its_argument(session: Queued) -> None:
    key = Key()
    session.receive(Frame(FrameType.CALL, 5, msgpack.packb([0, [{home(session, key): 1}]])))
    assert key.hashed == 0
    assert answer(session) == [True, {16: 1}]  # ``read`` replaces the reference to the key by its extension code


def test_keys_of_a_result_are_hashed_by_the_caller() -> None:
    session, key = LinkSession(), Key()
    hashed: list[int] = []

    def answers(data: bytes) -> None:
        session.receive(Frame(FrameType.RETURN, 1, msgpack.packb([True, {home(session, key): 1}])))
        hashed.append(key.hashed)

    session.outbox._send = answers  # type: ignore[assignment]
    session.outbox.control(b"")
    result = session.call(9, [])
    assert hashed == [0]
    assert result == {key: 1}
