"""A list or dict that changes while it is encoded fails only its own stream or call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from plain_session import LinkSession, assert_lives

import pyrs
from pyrs.jvm.java_objects import ObjectKind
from pyrs.jvm.link.frames import CREDIT, Frame, FrameType
from pyrs.testing import TestPublisher, TestSubscriber


class Shrinking(tuple[Any, ...]):
    """A tuple whose iteration removes a member of a list, as another thread might."""

    members: list[Any]

    def __iter__(self) -> Iterator[Any]:
        self.members.pop()
        return iter(())


class Growing(Shrinking):
    def __iter__(self) -> Iterator[Any]:
        self.members.append("new")
        return iter(())


class Replacing(Shrinking):
    """A tuple whose iteration replaces a key of a dict, so that the size of the dict does not change."""

    def __iter__(self) -> Iterator[Any]:
        members: Any = self.members
        del members["b"]
        members["d"] = 3
        return iter(())


def changing(kind: type[Shrinking]) -> Any:
    """Return a list or dict that changes while it is encoded."""
    member = kind()
    value: Any = {"a": 1, "b": member, "c": 2} if kind is Replacing else [1, member, 2, 3]
    member.members = value
    return value


class Hashable(tuple[Any, ...]):
    """A tuple that may contain lists although it is a member of a set."""

    __hash__ = object.__hash__


changes = pytest.mark.parametrize("kind", [Shrinking, Growing, Replacing])


@changes
@pytest.mark.parametrize("pulled", [True, False], ids=["pulled", "pushed"])
@pytest.mark.parametrize("outer", [list, tuple])
@pytest.mark.parametrize("filler", ["", "x" * 100_000], ids=["small", "large"])
def test_an_element_that_changes_while_it_is_encoded_fails_its_stream(
    session: LinkSession, other: TestSubscriber[Any], kind: type[Shrinking], pulled: bool, outer: type, filler: str
) -> None:
    """The peer would take the next element for a member of the list."""
    changed = outer([object(), changing(kind), filler])
    elements = [[object()], (1, 2), changed, "after"]
    pushed: TestPublisher[Any] = TestPublisher()
    handle = session.handles.own(pyrs.from_iterable(elements) if pulled else pushed, ObjectKind.PUBLISHER)
    session.receive(Frame(FrameType.SUBSCRIBE, 2, msgpack.packb([handle, {}])))
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(10)))
    if not pulled:
        for element in elements:
            pushed.next(element)
    session.outbox.flush()
    *batches, error = session.sent
    assert [element for each in batches for element in session.read(each)] == [[16], [1, 2]]
    assert error.type == FrameType.ERROR
    assert "a list or dict changed while it was converted to Java" in str(session.read(error)[3])
    assert len(session.handles) == 2, "the object in the refused element was not released"
    assert_lives(session, other)


@changes
def test_a_result_that_changes_while_it_is_encoded_fails_its_call(
    session: LinkSession, other: TestSubscriber[Any], kind: type[Shrinking]
) -> None:
    """The peer ends the link if the bytes of a RETURN are not a valid value."""
    result = [object(), changing(kind)]
    handle = session.handles.own(lambda: result)
    session.receive(Frame(FrameType.CALL, 5, b"\x92" + msgpack.packb(handle) + b"\x90"))
    (reply,) = session.sent
    succeeded, error = session.read(reply)
    assert (succeeded, error[2]) == (False, "pyrs.errors.ConversionError")
    assert len(session.handles) == 1
    assert_lives(session, other)


@changes
@pytest.mark.parametrize("nested", [False, True])
def test_a_result_that_changes_inside_a_set_fails_its_call(
    session: LinkSession, other: TestSubscriber[Any], kind: type[Shrinking], nested: bool
) -> None:
    """The peer reads the content of a set, and ends the link for a RETURN that is not a value."""
    result = {Hashable([changing(kind)])}
    handle = session.handles.own(lambda: {frozenset(result)} if nested else result)
    session.receive(Frame(FrameType.CALL, 5, b"\x92" + msgpack.packb(handle) + b"\x90"))
    (reply,) = session.sent
    succeeded, error = session.read(reply)
    assert (succeeded, error[2]) == (False, "pyrs.errors.ConversionError")
    assert "a list or dict changed" in error[3]
    assert_lives(session, other)
