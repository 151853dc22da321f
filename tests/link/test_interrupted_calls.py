"""Ctrl-C at any line of a call leaves no stream open: a call of a Subscription, or a subscription of the peer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from peer import Peer

import pyrs
from pyrs._core.drain import DrainLoop
from pyrs.api import Subscription
from pyrs.jvm.java_objects import JavaSubscriber
from pyrs.jvm.link.connection import LinkConnection
from pyrs.jvm.link.host import StreamHost
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.outbound import OutboundStream
from pyrs.jvm.link.outbox import Outbox
from pyrs.jvm.link.session import Session
from tests.interrupts import Raising
from tests.waiting import DEADLINE, eventually, recording

CALLED = (
    InboundStream.cancel,
    InboundStream.request,
    InboundStream.send_cancel,
    StreamHost.cancel_inbound,
    StreamHost.schedule,
    StreamHost.send,
    DrainLoop.schedule,
    Outbox.control,
    Outbox.flush,
    LinkConnection._wake,
)
OPENING = (
    JavaSubscriber.on_subscribe,
    Session.subscribe_peer,
    Session._register,
    OutboundStream.on_subscribe,
    Outbox.control,
    Outbox.flush,
    LinkConnection._wake,
)


class Silent(pyrs.Publisher[Any], Subscription):
    """Emits nothing, and records the calls of its Subscription."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.cancelled = threading.Event()

    def subscribe(self, subscriber: Any) -> None:
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self.requested.set()

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.mark.parametrize("name", ["cancel", "request"])
def test_interrupted_call_of_a_subscription_can_be_repeated(name: str) -> None:
    peer = Peer()
    connection = peer.connect()

    def attempt(line: int) -> Raising:
        publisher, recorder = Silent(), recording(0)
        connection.session.subscribe(peer.session.handles.own(publisher), recorder)
        call: Callable[[], object] = recorder.cancel if name == "cancel" else lambda: recorder.request(5)
        with Raising(CALLED, line) as raising, suppress(KeyboardInterrupt):
            call()
        call()
        arrived = publisher.cancelled if name == "cancel" else publisher.requested
        assert arrived.wait(DEADLINE), f"{name} did not arrive after an interrupt at {raising.place}"
        recorder.cancel()
        eventually(lambda: not connection.session.streams, f"a stream is left after {raising.place}")
        return raising

    line = 1
    while attempt(line).reached:
        line += 1
    assert line > 5, "the functions to interrupt did not run"
    assert connection.close(DEADLINE)


def test_interrupted_subscription_of_a_java_subscriber_leaves_no_stream_open() -> None:
    """The Subscriber of the peer receives on_subscribe and a terminal signal, or neither."""
    peer = Peer()
    connection = peer.connect()

    def attempt(line: int) -> Raising:
        publisher, recorder = Silent(), recording(0)
        handle = peer.session.handles.own(recorder)
        reference: Any = SimpleNamespace(_handle=handle, _link=SimpleNamespace(session=connection.session))
        with Raising(OPENING, line) as raising, suppress(KeyboardInterrupt):
            publisher.subscribe(JavaSubscriber(reference))
        if raising.reached:
            connection.session.call(0, deadline_seconds=DEADLINE)  # the peer has read all earlier frames
            eventually(lambda: not connection.session.streams, f"a stream is left after {raising.place}")
            eventually(lambda: not peer.session.streams, f"the peer's stream is left after {raising.place}")
            eventually(
                lambda: recorder.ended or recorder.subscription is None,
                f"the Subscriber received no terminal signal after {raising.place}",
            )
        return raising

    line = 1
    while attempt(line).reached:
        line += 1
    assert line > 20, "the functions to interrupt did not run"
    assert connection.close(DEADLINE)
