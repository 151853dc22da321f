"""Elements that a cancelled stream has not delivered are discarded, also if they arrive after the cancel."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest

import pyrs
from pyrs.errors import LinkClosed
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber
from tests.link.plain_session import PlainSession

_USER = ContextVar("tests.discarding", default="nobody")


class _Source(pyrs.Publisher[Any]):
    """Subscribes to Publisher 4 of the peer of a session."""

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


def test_stream_without_a_discard_function_is_not_kept_after_the_cancel() -> None:
    session = PlainSession()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).subscribe(subscriber)
    subscriber.request(1)
    subscriber.cancel()
    assert session.late == {}
    batch(session, 1)


def test_terminal_signal_follows_although_the_hook_for_dropped_elements_raises_an_exit() -> None:
    """``SystemExit`` is not an ``Exception``, and neither is the error that ``pytest.fail`` raises."""

    def exit_hook(count: int, where: str) -> None:
        raise SystemExit(where)

    session = PlainSession()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    session.subscribe(4, subscriber)
    subscriber.request(1)
    batch(session, 1, 2)
    before = pyrs.set_element_hook(exit_hook)
    try:
        with pytest.raises(SystemExit):
            subscriber.request(-1)
    finally:
        pyrs.set_element_hook(before)
    assert isinstance(subscriber.error, ValueError)
    assert session.streams == {}


def test_oldest_cancelled_stream_is_forgotten() -> None:
    session = PlainSession()
    for _ in range(1_030):
        subscriber: TestSubscriber[Any] = TestSubscriber()
        pyrs.Stream(_Source(session)).do_on_discard(print).subscribe(subscriber)
        subscriber.request(1)
        subscriber.cancel()
    assert len(session.late) == 1_024


def test_dropped_batch_that_cannot_be_decoded_does_not_keep_the_stream() -> None:
    session = PlainSession()
    discarded: list[int] = []
    reports: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: reports.append(where))
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(1)
    batch(session, 1, 2)
    session.receive(Frame(FrameType.NEXT, 1, b"\x91\xc1"))  # one element, of a type that msgpack does not have
    batch(session, 3)
    try:
        subscriber.cancel()
    finally:
        pyrs.set_error_hook(before)
    assert session.streams == {}
    assert sorted(discarded) == [2, 3]
    assert reports == ["raised by a dropped batch of stream 1"]


def test_exit_raised_by_a_function_for_discarded_elements_does_not_keep_the_stream() -> None:
    session = PlainSession()

    def leave(element: int) -> None:
        raise SystemExit(element)

    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).do_on_discard(leave).subscribe(subscriber)
    subscriber.request(1)
    batch(session, 1, 2)
    with pytest.raises(SystemExit):
        subscriber.cancel()
    assert session.streams == {}


def test_batch_that_arrives_while_the_stream_leaves_the_table_is_discarded() -> None:
    session = PlainSession()
    discarded: list[int] = []

    class _Table(dict[int, Any]):
        """Receives a batch after the stream was removed, as the reader of the link may."""

        def __delitem__(self, key: int) -> None:
            super().__delitem__(key)
            batch(session, 2)

        def pop(self, *arguments: Any) -> Any:
            found = super().pop(*arguments)
            batch(session, 2)
            return found

    session.streams = _Table()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(1)
    batch(session, 1)
    subscriber.cancel()
    assert discarded == [2]


def test_elements_beyond_the_credit_of_a_cancelled_stream_are_not_queued() -> None:
    session = PlainSession()
    discarded: list[int] = []
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(1)
    stream = session.streams[1]
    subscriber.cancel()
    session.streams[1] = stream  # a stream stays in the table while its Subscriber handles an element
    batch(session, *range(16))  # all elements that were granted
    for _ in range(10):
        batch(session, 16, 17, 18)
    assert discarded == list(range(16))


@pytest.mark.parametrize("cancels_first", [True, False])
def test_no_cancelled_stream_is_kept_after_the_end_of_the_link(cancels_first: bool) -> None:
    session = PlainSession()
    subscriber: TestSubscriber[Any] = TestSubscriber()
    pyrs.Stream(_Source(session)).do_on_discard(print).subscribe(subscriber)
    subscriber.request(1)
    stream = session.streams[1]
    if cancels_first:
        subscriber.cancel()
        assert list(session.late.values()) == [stream]
        session.lost(LinkClosed("closed"))
    else:
        session.lost(LinkClosed("closed"))
        session.streams[1] = stream  # as if its drain loop had ended it at the same time
        session.ended_inbound(stream, 0, cancelled=True)
    assert session.late == {}


def test_late_elements_are_discarded_in_the_context_of_the_subscription() -> None:
    session = PlainSession()
    discarded: list[tuple[int, str]] = []
    subscriber: TestSubscriber[Any] = TestSubscriber()
    stream = pyrs.Stream(_Source(session)).do_on_discard(lambda element: discarded.append((element, _USER.get())))
    token = _USER.set("ada")
    stream.subscribe(subscriber)
    _USER.reset(token)
    subscriber.request(1)
    batch(session, 1, 2)
    batch(session, 3)
    subscriber.cancel()
    batch(session, 4)
    assert sorted(discarded) == [(2, "ada"), (3, "ada"), (4, "ada")]
