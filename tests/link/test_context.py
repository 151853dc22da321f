"""A JVM stream carries the context variables of its ``subscribe`` call."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from types import SimpleNamespace
from typing import Any

import pytest
from plain_session import PlainSession

import pyrs
from pyrs.api import Subscriber, Subscription
from pyrs.jvm.java_objects import JavaPublisher
from pyrs.jvm.link.frames import Frame, FrameType

USER = ContextVar("USER", default="nobody")
SEEN = ContextVar("SEEN", default=0)


class Reading(Subscriber[Any]):
    """Reads both variables in every signal, and counts in one of them."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str, int]] = []

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._signal("on_subscribe")
        subscription.request(100)

    def on_next(self, element: Any, /) -> None:
        self._signal("on_next")

    def on_error(self, error: BaseException, /) -> None:
        self._signal("on_error")

    def on_complete(self) -> None:
        self._signal("on_complete")

    def _signal(self, name: str) -> None:
        self.read.append((name, USER.get(), SEEN.get()))
        SEEN.set(SEEN.get() + 1)


def next_elements(session: PlainSession, *elements: Any) -> None:
    session.receive(Frame(FrameType.NEXT, 1, session.codec.encode(list(elements))))


@pytest.mark.parametrize("end", [FrameType.COMPLETE, FrameType.ERROR])
def test_every_signal_sees_the_variables_of_subscribe(end: FrameType) -> None:
    session, reading = PlainSession(), Reading()

    def subscribe() -> None:
        USER.set("ada")
        session.subscribe(7, reading)
        assert SEEN.get() == 0, "a signal changed a variable of the caller"

    copy_context().run(subscribe)
    next_elements(session, 1, 2)
    next_elements(session, 3)
    body = session.codec.encode_error(ValueError()) if end == FrameType.ERROR else b""
    session.receive(Frame(end, 1, body))
    # The elements of one batch share a copy of the context; every other signal has its own copy.
    last = "on_error" if end == FrameType.ERROR else "on_complete"
    assert reading.read == [
        ("on_subscribe", "ada", 0),
        ("on_next", "ada", 0),
        ("on_next", "ada", 1),
        ("on_next", "ada", 0),
        (last, "ada", 0),
    ]
    assert USER.get() == "nobody"


def test_a_publisher_of_the_jvm_receives_the_subscriber_without_a_wrapper() -> None:
    """The link runs the signals in the context of ``subscribe``, so a Stream does not do so again."""
    session, reading = PlainSession(), Reading()
    java_object: Any = SimpleNamespace(_link=SimpleNamespace(session=session), _handle=7)

    def subscribe() -> None:
        USER.set("ada")
        pyrs.Stream(JavaPublisher(java_object)).subscribe(reading)

    copy_context().run(subscribe)
    (stream,) = session.streams.values()
    assert stream.subscriber is reading
