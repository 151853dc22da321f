"""Elements that a cancelled stream has not delivered are discarded, also if they arrive after the cancel."""

from __future__ import annotations

from typing import Any

import pytest

import pyrs
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber
from tests.link.plain_session import PlainSession


class _Source(pyrs.Publisher[Any]):
    """Subscribes over a session."""

    carries_context = True

    def __init__(self, session: PlainSession) -> None:
        self.session = session

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.session.subscribe(4, subscriber)


def batch(session: PlainSession, *elements: int) -> None:
    session.receive(Frame(FrameType.NEXT, 1, session.codec.encode(list(elements))))


@pytest.mark.parametrize("how", ["function", "hook"])
def test_undelivered_and_late_elements_are_discarded(how: str) -> None:
    session = PlainSession()
    discarded: list[int] = []
    subscriber: TestSubscriber[Any] = TestSubscriber()
    stream = pyrs.Stream(_Source(session))
    before = pyrs.set_discard_hook(discarded.append if how == "hook" else None)
    try:
        (stream if how == "hook" else stream.do_on_discard(discarded.append)).subscribe(subscriber)
        subscriber.request(1)
        batch(session, 1, 2, 3)
        batch(session, 4)
        assert subscriber.elements == [1]
        subscriber.cancel()
        assert discarded == [2, 3, 4] or discarded == [4, 2, 3]
        batch(session, 5, 6)
        assert session.streams == {}
        assert sorted(discarded) == [2, 3, 4, 5, 6]
        batch(session, *range(7, 17))  # the last of the 16 that were granted
        assert session.late == {}
        assert sorted(discarded) == list(range(2, 17))
    finally:
        pyrs.set_discard_hook(before)


def test_stream_without_a_function_is_not_kept_after_the_cancel() -> None:
    session = PlainSession()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).subscribe(subscriber)
    subscriber.request(1)
    subscriber.cancel()
    assert session.late == {}
    batch(session, 1)


def test_oldest_cancelled_stream_is_forgotten() -> None:
    session = PlainSession()
    for _ in range(1_030):
        subscriber: TestSubscriber[Any] = TestSubscriber()
        pyrs.Stream(_Source(session)).do_on_discard(print).subscribe(subscriber)
        subscriber.request(1)
        subscriber.cancel()
    assert len(session.late) == 1_024
