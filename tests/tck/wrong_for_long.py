"""Faulty objects whose fault needs time, many elements, a third Subscription or a race on their own thread to show."""

from __future__ import annotations

import time
from threading import Event, Thread, Timer
from typing import Any

from pyrs.api import Subscriber, Subscription
from tests.tck import families as tests
from tests.tck.judging import Case
from tests.tck.right import LONG_MAX, RightProbed, RightPublisher, RightSubscription, ThreadedSubscription, not_none

__all__ = ["FOR_LONG", "FOR_LONG_WHITEBOX"]

SILENT = "beyond_spec107_mustStaySilentForLong"
EMISSION = "beyond_spec308_mustCountARequestAtEveryLineOfTheEmission"
LOST = "2 elements were requested, the second one while the Publisher's thread was at the line below"


class SignalsAfterTheEndLater(RightPublisher):
    """Signals an element half a second after its terminal signal."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            super().emit(subscriber)
            if self.stopped:
                Timer(0.5, subscriber.on_next, (0,)).start()


class RepeatsAnElementLater(RightPublisher):
    """Signals the first element again after half a second."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            super().emit(subscriber)
            if self.sent == 1:
                Timer(0.5, self.repeat).start()

        def repeat(self) -> None:
            if self.subscriber is not None:
                self.subscriber.on_next(1)


class IgnoresCancelOnASlowThread(RightPublisher):
    """Emits an element every 300 ms on its own thread until the demand is fulfilled, also after a cancel."""

    class subscription(ThreadedSubscription):  # noqa: N801
        def run(self) -> None:
            subscriber = self.subscriber
            if subscriber is None or self.illegal or self.sent == self.elements:
                super().run()
                return
            while self.demand and self.sent < self.elements:
                self.demand -= 1
                self.sent += 1
                subscriber.on_next(self.sent)
                if self.demand:
                    time.sleep(0.3)
            super().run()


class RepeatsElement5000(RightPublisher):
    """Signals element 5,000 twice, without counting it."""

    class subscription(RightSubscription):  # noqa: N801
        repeats = True

        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.sent == 5_000 and self.repeats:
                self.repeats = False
                subscriber.on_next(self.sent)
            super().emit(subscriber)


class SkipsElement5000(RightPublisher):
    """Leaves out element 5,000, and signals the next one instead."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.sent == 4_999 < self.elements - 1:
                self.sent += 1
            super().emit(subscriber)


class LosesElement5000(RightPublisher):
    """Counts element 5,000 as signalled, but does not signal it."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.sent == 4_999 and self.demand:
                self.sent += 1
                self.demand -= 1
            super().emit(subscriber)


class UnboundedAbove10000(RightPublisher):
    """Treats a request of more than 10,000 elements as unbounded."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            super().request(LONG_MAX if n > 10_000 else n)


class IgnoresZeroWithUnboundedDemand(RightPublisher):
    """Ignores request(0) while the demand is unbounded."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n > 0 or self.demand < LONG_MAX // 2:
                super().request(n)


class LosesTheWakeupOfItsThread(RightPublisher):
    """Loses a request that arrives while its thread ends, because it sets the flag without the lock."""

    class subscription(ThreadedSubscription):  # noqa: N801
        def run(self) -> None:
            while True:
                subscriber = self.subscriber
                if subscriber is not None:
                    self.emit(subscriber)
                if self.stopped or not (self.illegal or self.demand):
                    break
            self.busy = False


class ClearsItsEventLate(RightPublisher):
    """Clears the event that wakes its thread after the emission, which loses a request before it."""

    class subscription(RightSubscription):  # noqa: N801
        def start(self) -> None:
            assert self.subscriber is not None
            self.wake = Event()
            self.subscriber.on_subscribe(self)
            Thread(target=self.serve, name="serve", daemon=True).start()

        def drain(self) -> None:
            self.wake.set()

        def cancel(self) -> None:
            super().cancel()
            self.wake.set()

        def serve(self) -> None:
            while not self.stopped:
                self.wake.wait()
                while not self.stopped and (self.illegal or self.demand or self.sent == self.elements):
                    subscriber = self.subscriber
                    if subscriber is not None:
                        self.emit(subscriber)
                self.wake.clear()


class CancelsTheSecondOnly(RightProbed):
    """Cancels a second Subscription, but neither cancels nor uses a third one."""

    refused = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        not_none(subscription)
        if self.subscription is None or not self.refused:
            self.refused = self.subscription is not None
            super().on_subscribe(subscription)


FOR_LONG = [
    Case(SILENT, SignalsAfterTheEndLater, "on_next was called after the terminal signal (rule 1.7)"),
    Case(SILENT, RepeatsAnElementLater, "2 elements arrived, but 1 was requested (rule 1.1)"),
    Case(SILENT, IgnoresCancelOnASlowThread, "of a cancel inside on_next (rule 1.8)"),
    Case(tests.LARGE, RepeatsElement5000, "10501 elements arrived, but 10500 were requested (rule 1.1)"),
    Case(tests.LARGE, SkipsElement5000, "but 10500 elements arrived, and on_complete() last (rule 1.2)"),
    Case(tests.LARGE, LosesElement5000, "10500 elements were requested, but 10499 arrived (rule 1.2)"),
    Case(tests.LARGE, UnboundedAbove10000, "10501 elements arrived, but 10500 were requested (rule 1.1)"),
    Case(
        tests.AFTER_ERROR,
        IgnoresZeroWithUnboundedDemand,
        "expected on_error(ValueError) after request(0) inside on_next with unbounded demand but received "
        "on_complete() (rule 3.9)",
    ),
    Case(EMISSION, LosesTheWakeupOfItsThread, LOST),
    Case(EMISSION, ClearsItsEventLate, LOST),
]
FOR_LONG_WHITEBOX = [
    Case(
        "beyond_spec205_mustNotRequestFromASecondSubscription",
        CancelsTheSecondOnly,
        "did not cancel the third Subscription within 1500 ms (rule 2.5)",
    )
]
