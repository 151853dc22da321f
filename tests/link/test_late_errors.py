"""An error that the Subscriber of a stream does not receive goes to the hook for dropped errors, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from plain_session import PlainCodec, PlainSession

import pyrs
from pyrs.api import Subscription
from pyrs.errors import LinkBroken, NonPositiveRequest
from pyrs.jvm.link.frames import CREDIT, Frame, FrameType
from tests.waiting import recording


@pytest.fixture
def reported() -> Iterator[list[str]]:
    errors: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: errors.append(str(error)))
    elements = pyrs.set_element_hook(lambda count, where: None)
    yield errors
    pyrs.set_error_hook(before)
    pyrs.set_element_hook(elements)


@pytest.mark.parametrize(
    ("end", "received"),
    [
        (lambda session, subscriber: subscriber.cancel(), None),
        (lambda session, subscriber: subscriber.request(0), NonPositiveRequest),
        (lambda session, subscriber: session.lost(LinkBroken("gone")), LinkBroken),
    ],
    ids=["cancel", "non-positive request", "end of the link"],
)
def test_an_error_of_the_peer_behind_elements_without_demand_is_reported(
    end: Callable[[PlainSession, Any], object], received: type[BaseException] | None, reported: list[str]
) -> None:
    session, subscriber = PlainSession(), recording(1)
    session.subscribe(7, subscriber)
    session.receive(session.step_as_frame(["NEXT", [1, 2, 3]], 1))
    session.receive(session.step_as_frame(["ERROR", "no disk"], 1))
    assert not subscriber.ended and reported == []
    end(session, subscriber)
    assert reported == ["no disk"]
    assert type(subscriber.error) is (received or type(None))
    assert not session.streams


class UnreadableCodec(PlainCodec):
    """Cannot decode the elements of a batch that begins with None."""

    unreadable = ValueError("unreadable")

    def batch_decoder(self) -> Callable[[bytes], tuple[list[Any], Exception | None]]:
        decode = super().batch_decoder()
        return lambda body: ([], self.unreadable) if decode(body)[0][0] is None else decode(body)


def test_an_error_of_the_peer_behind_an_unreadable_batch_is_reported(reported: list[str]) -> None:
    session, subscriber = PlainSession(), recording(1)
    session.codec = UnreadableCodec()
    session.subscribe(7, subscriber)
    session.receive(session.step_as_frame(["NEXT", [1, 2]], 1))
    session.receive(session.step_as_frame(["NEXT", [None]], 1))
    session.receive(session.step_as_frame(["ERROR", "no disk"], 1))
    subscriber.request(5)
    assert subscriber.elements == [1, 2]
    assert subscriber.error is UnreadableCodec.unreadable
    assert reported == ["no disk"]


class Source(pyrs.Publisher[Any], Subscription):
    """Passes its Subscriber to the test."""

    def __init__(self, requested: Callable[[Any], object] = lambda subscriber: None) -> None:
        self.requested = requested

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self.requested(self.subscriber)

    def cancel(self) -> None:
        pass


def opened(source: object) -> PlainSession:
    session = PlainSession()
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([session.handles.own(source), {}])))
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(5)))
    return session


def test_the_error_of_the_link_is_not_reported_by_a_stage(reported: list[str]) -> None:
    """The stream from the peer ends after the stream to the peer, and forwards its error."""
    session = PlainSession()
    stream = session.subscribe_peer(7)
    session.subscribe(8, stream)
    session.lost(LinkBroken("gone"))
    assert not session.streams
    stream.on_error(session.new_end_error())
    assert reported == []


@pytest.mark.parametrize("end", ["cancel", "end of the link"])
def test_an_error_of_a_publisher_after_the_end_of_its_stream_is_reported(end: str, reported: list[str]) -> None:
    source = Source()
    session = opened(source)
    if end == "cancel":
        session.receive(Frame(FrameType.CANCEL, 2, b""))
    else:
        session.lost(LinkBroken("gone"))
    source.subscriber.on_error(ValueError("late"))
    assert reported == ["late"]
    assert not session.streams


def test_an_error_that_request_raises_after_the_terminal_signal_is_reported(reported: list[str]) -> None:
    def complete_and_raise(subscriber: Any) -> None:
        subscriber.on_complete()
        raise ValueError("late")

    session = opened(Source(complete_and_raise))
    assert [message.type for message in session.sent] == [FrameType.COMPLETE]
    assert reported == ["late"]
