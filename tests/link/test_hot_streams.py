"""SUBSCRIBE of a hot Publisher carries the demand of ``on_subscribe``."""

from __future__ import annotations

from typing import Any

import pytest
from plain_session import PlainSession

import pyrs
from pyrs import Subscription
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber


class ConfirmingSession(PlainSession):
    """Confirms stream 1 as soon as its SUBSCRIBE is sent."""

    def __init__(self) -> None:
        super().__init__()
        self._confirm_seconds = 5.0
        wake = self.outbox.wake

        def wake_and_confirm() -> None:
            wake()
            if any(each.type == FrameType.SUBSCRIBE for each in self.sent):
                self.receive(Frame(FrameType.SUBSCRIBED, 1, b""))

        self.outbox.wake = wake_and_confirm


@pytest.mark.parametrize(("demand", "credit"), [(0, {}), (2, {"request": 16}), (100, {"request": 16})])
def test_subscribe_of_a_hot_publisher_carries_the_first_credit(demand: int, credit: dict[str, int]) -> None:
    session, subscriber = ConfirmingSession(), TestSubscriber[Any](demand)
    session.subscribe(7, subscriber, confirm=True)
    (sent,) = session.sent
    assert sent.type == FrameType.SUBSCRIBE
    assert session.codec.decode(sent.body) == [7, {"confirm": True, **credit}]
    if demand:
        session.sent.clear()
        session.receive(session.step_as_frame(["NEXT", ["a", "b", "c"]], 1))
        assert subscriber.elements == ["a", "b", "c"][:demand]
        assert not session.sent  # the window is not granted twice


def test_hot_publisher_that_is_cancelled_in_on_subscribe_is_not_subscribed_to() -> None:
    class Cancelling(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Subscription, /) -> None:
            subscription.request(1)
            subscription.cancel()

    session = ConfirmingSession()
    session.subscribe(7, Cancelling(), confirm=True)
    assert all(each.type == FrameType.CANCEL for each in session.sent)
    assert not session.streams


def test_publisher_receives_the_credit_in_subscribe() -> None:
    session, requested = PlainSession(), list[int]()
    handle = session.handles.own(pyrs.range(9).do_on_request(requested.append))
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([handle, {"request": 3}])))
    assert requested == [3]
    assert session.frame_as_step(session.sent.popleft()) == ["NEXT", [0, 1, 2]]
