"""Subscribers that conform to the specification, and request at times that no signal determines."""

from __future__ import annotations

from threading import Event, Lock, Thread, Timer
from typing import Any

from pyrs.api import Subscription
from tests.tck.right import Puppet, RightProbed, RightSubscriber, not_none


class Ticking:
    """Requests one element every 150 ms until it is stopped, at most forty times."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.lock = Lock()
        self.stopped = Event()
        Thread(target=self.tick, name="unusual-timer", daemon=True).start()

    def tick(self) -> None:
        for _ in range(40):
            self.stopped.wait(0.15)
            with self.lock:
                if self.stopped.is_set():
                    return
                self.subscription.request(1)

    def stop(self) -> None:
        with self.lock:
            self.stopped.set()


class RequestsOnATimer(RightProbed):
    """Requests one element every 150 ms, whatever the test requests through the puppet."""

    class puppet(Puppet):  # noqa: N801
        timer: Ticking

        def trigger_request(self, elements: int) -> None:
            pass

        def signal_cancel(self) -> None:
            self.timer.stop()
            super().signal_cancel()

    def accepted(self, subscription: Subscription) -> None:
        puppet = self.puppet(subscription)
        self.timer = puppet.timer = Ticking(subscription)
        self.probe.register_on_subscribe(puppet)

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.timer.stop()

    def on_complete(self) -> None:
        self.timer.stop()
        super().on_complete()


class RequestsLate(RightSubscriber):
    """Requests for the first time 150 ms after on_subscribe."""

    def accepted(self, subscription: Subscription) -> None:
        self.lock = Lock()
        self.ended = False
        Timer(0.15, self.request_one).start()

    def request_one(self) -> None:
        with self.lock:  # an element may arrive before request returns (2.7)
            if not self.ended:
                assert self.subscription is not None
                self.subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.request_one()

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.on_complete()

    def on_complete(self) -> None:
        with self.lock:
            self.ended = True


class RequestsEvery150Milliseconds(RightSubscriber):
    """Requests one element every 150 ms, whether elements arrive or not."""

    def accepted(self, subscription: Subscription) -> None:
        self.timer = Ticking(subscription)

    def on_next(self, element: Any, /) -> None:
        not_none(element)

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        self.timer.stop()

    def on_complete(self) -> None:
        self.timer.stop()
