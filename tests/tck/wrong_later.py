"""Faulty objects whose fault shows only in a later state: inside a signal, after a cancel, for the next Subscriber."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock, get_ident
from typing import Any, ClassVar

from pyrs.api import Publisher, Subscriber, Subscription
from tests.tck import families as tests
from tests.tck.judging import Case
from tests.tck.right import (
    LONG_MAX,
    Inert,
    RightProbed,
    RightPublisher,
    RightSubscriber,
    RightSubscription,
    not_none,
)

__all__ = ["LATER", "LATER_BLACKBOX", "LATER_FAILED", "LATER_WHITEBOX"]


class CancelsWhenTheDemandIsFulfilled(RightPublisher):
    """Handles the cancel of another thread when the demand is fulfilled."""

    class subscription(RightSubscription):  # noqa: N801
        emitting = 0
        cancels_later = False

        def loop(self) -> None:
            self.emitting = get_ident()
            super().loop()
            self.emitting = 0
            if self.cancels_later:
                super().cancel()

        def cancel(self) -> None:
            if self.emitting in (0, get_ident()):
                super().cancel()
            else:
                self.cancels_later = True


class IgnoresCancelOfUnboundedDemand(RightPublisher):
    """Emits all elements for request(2**63 - 1), without a check for cancel."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            subscriber = self.subscriber
            if n != LONG_MAX or self.busy or subscriber is None:
                super().request(n)
                return
            self.busy = True
            while self.sent < self.elements:
                self.sent += 1
                subscriber.on_next(self.sent)
            self.cancel()
            subscriber.on_complete()
            self.busy = False


class CancelInOnSubscribeIsLost(RightPublisher):
    """Ignores a cancel inside on_subscribe."""

    class subscription(RightSubscription):  # noqa: N801
        def start(self) -> None:
            subscriber = self.subscriber
            assert subscriber is not None
            subscriber.on_subscribe(self)
            self.subscriber, self.stopped, self.busy = subscriber, False, False
            self.drain()


class LeavesItsDemand(RightPublisher):
    """Gives the demand of a cancelled Subscriber to the next one."""

    left = 0

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class Leaves(RightSubscription):
            def cancel(self) -> None:
                if not self.stopped and self.sent < self.elements:
                    publisher.left = min(5, self.demand)
                super().cancel()

        subscription = Leaves(subscriber, self.elements)
        subscription.demand, self.left = self.left, 0
        subscription.start()


class IgnoresSubscribersAfterACancel(RightPublisher):
    """Ignores Subscribers after one has cancelled before the end."""

    over = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class Ends(RightSubscription):
            def cancel(self) -> None:
                super().cancel()
                publisher.over = publisher.over or 0 < self.sent < self.elements

        if not self.over:
            Ends(subscriber, self.elements).start()


class IgnoresSubscribersAfterTheEnd(RightPublisher):
    """Ignores Subscribers after the first stream has completed."""

    over = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class Ends(RightSubscription):
            def emit(self, subscriber: Subscriber[Any]) -> None:
                publisher.over = publisher.over or self.sent == self.elements
                super().emit(subscriber)

        if not self.over:
            Ends(subscriber, self.elements).start()


class SubscribesUnderALock(RightPublisher):
    """Emits under a lock that subscribe acquires, too."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.lock = Lock()

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class Locked(RightSubscription):
            def loop(self) -> None:
                with publisher.lock:
                    super().loop()

        if not self.lock.acquire(timeout=3):
            return
        self.lock.release()
        Locked(subscriber, self.elements).start()


class FailsAll(RightPublisher):
    """Signals on_error to all Subscribers for request(0) of one."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.live: list[RightSubscription] = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class Broadcasts(RightSubscription):
            def emit(self, subscriber: Subscriber[Any]) -> None:
                illegal = self.illegal
                super().emit(subscriber)
                if illegal:
                    for other in list(publisher.live):
                        left = other.subscriber
                        other.cancel()
                        if left is not None:
                            left.on_error(ValueError("3.9"))

            def cancel(self) -> None:
                super().cancel()
                if self in publisher.live:
                    publisher.live.remove(self)

        subscription = Broadcasts(subscriber, self.elements)
        self.live.append(subscription)
        subscription.start()


class NegativeReducesTheDemand(RightPublisher):
    """Subtracts n from a larger demand for request(-n)."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n > 0 or self.demand + n <= 0:
                super().request(n)
            else:
                self.demand += n


class IgnoresZeroInOnSubscribe(RightPublisher):
    """Ignores request(0) inside on_subscribe."""

    class subscription(RightSubscription):  # noqa: N801
        started = False

        def start(self) -> None:
            super().start()
            self.started = True

        def request(self, n: int, /) -> None:
            if n > 0 or self.started:
                super().request(n)


class IgnoresZeroLater(RightPublisher):
    """Ignores request(0) after an element."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n > 0 or not self.sent or self.busy:
                super().request(n)


class TypeErrorForZeroLater(RightPublisher):
    """Signals a TypeError for request(0) after an element."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal and self.sent:
                self.cancel()
                subscriber.on_error(TypeError("3.9"))
            else:
                super().emit(subscriber)


class RecursesInOnSubscribe(RightPublisher):
    """Emits inside request while on_subscribe is running."""

    class subscription(RightSubscription):  # noqa: N801
        started = False

        def start(self) -> None:
            super().start()
            self.started = True

        def request(self, n: int, /) -> None:
            if self.started or n <= 0:
                super().request(n)
                return
            for _ in range(n):
                if self.subscriber is not None and self.sent < self.elements:
                    self.sent += 1
                    self.subscriber.on_next(self.sent)


class CancelBlocksInsideOnNext(RightPublisher):
    """Blocks in a cancel inside on_next while there is demand."""

    class subscription(RightSubscription):  # noqa: N801
        def cancel(self) -> None:
            if self.busy and self.demand > 100 and self.sent == 3 and not self.stopped:
                time.sleep(2)
            super().cancel()


class CancelRaisesInOnSubscribe(RightPublisher):
    """Raises in a cancel inside on_subscribe, and suppresses the exception there."""

    class subscription(RightSubscription):  # noqa: N801
        started = False

        def start(self) -> None:
            with suppress(ZeroDivisionError):
                super().start()
            self.started = True
            self.busy = False
            self.drain()

        def cancel(self) -> None:
            super().cancel()
            if not self.started:
                raise ZeroDivisionError("cancelled already")


class KeepsAfterCancelInside(RightPublisher):
    """Keeps a Subscriber that cancels inside on_next."""

    class subscription(RightSubscription):  # noqa: N801
        kept: ClassVar[list[Any]] = []

        def emit(self, subscriber: Subscriber[Any]) -> None:
            super().emit(subscriber)
            if self.stopped and self.sent < self.elements and not self.illegal:
                self.kept.append(subscriber)


class KeepsAfterCancelInOnSubscribe(RightPublisher):
    """Keeps a Subscriber that cancels inside on_subscribe."""

    class subscription(RightSubscription):  # noqa: N801
        kept: ClassVar[list[Any]] = []

        def start(self) -> None:
            subscriber = self.subscriber
            super().start()
            if self.stopped and not self.sent and self.elements:
                self.kept.append(subscriber)


class ReleasesTogether(RightPublisher):
    """Keeps cancelled Subscribers until all have cancelled."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.kept: list[Any] = []
        self.live = 0

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class Counted(RightSubscription):
            def cancel(self) -> None:
                if not self.stopped:
                    publisher.live -= 1
                super().cancel()
                if not publisher.live:
                    publisher.kept.clear()

        self.kept.append(subscriber)
        self.live += 1
        Counted(subscriber, self.elements).start()


class KeepsUnbounded(RightPublisher):
    """Keeps a Subscriber that has requested 2**63 - 1 elements."""

    class subscription(RightSubscription):  # noqa: N801
        kept: ClassVar[list[Any]] = []

        def request(self, n: int, /) -> None:
            if n == LONG_MAX:
                self.kept.append(self.subscriber)
            super().request(n)


class ReadsItsSubscriberTwice(RightPublisher):
    """Checks its Subscriber for None, and reads it again, so that a cancel between the two makes request raise."""

    class subscription(RightSubscription):  # noqa: N801
        def loop(self) -> None:
            while self.subscriber is not None and (self.illegal or self.demand or self.sent == self.elements):
                self.emit(self.subscriber)
            self.busy = False

        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal or not self.demand or self.sent == self.elements:
                super().emit(subscriber)
            else:
                self.demand -= 1
                self.sent += 1
                self.subscriber.on_next(self.sent)  # type: ignore[union-attr]


class CompletesOnBothThreads(RightPublisher):
    """Completes outside of its drain loop, so that two requesting threads complete."""

    class subscription(RightSubscription):  # noqa: N801
        def loop(self) -> None:
            while self.busy:
                subscriber = self.subscriber
                if subscriber is not None and (self.illegal or self.sent < self.elements):
                    self.emit(subscriber)
                with self.lock:
                    ended = self.stopped or self.sent == self.elements
                    self.busy = not ended and bool(self.illegal or self.demand)
            subscriber = self.subscriber
            if subscriber is not None and self.sent == self.elements:
                self.cancel()
                subscriber.on_complete()


class EmitsAtTheLastElement(RightPublisher):
    """Emits an element for a request inside on_next of the last element."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n > 0 and self.busy and self.subscriber is not None and 0 < self.sent == self.elements:
                self.subscriber.on_next(0)
            super().request(n)


class OverflowInsideOnNext(RightPublisher):
    """Sets the demand to 0 if a request inside on_next exceeds 2**63 - 1."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if self.busy and self.sent and self.demand + n > LONG_MAX:
                self.demand = 0
            else:
                super().request(n)


class NeverCompletesUnboundedFromTheStart(RightPublisher):
    """Does not complete if on_subscribe requests 2**63 - 1 elements and nothing else is requested."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.sent == self.elements and self.demand == LONG_MAX - self.elements and not self.illegal:
                self.demand = 0
            else:
                super().emit(subscriber)


DROPPED = "did not release the Subscriber after a cancel {} (rule 3.13)"
ABOVE = "a demand above 2**63 - 1 inside on_next"
CANCEL_WINS = "beyond_race_requestAgainstCancel"
INTERLEAVED = "beyond_spec103_mustSignalSeriallyAtEveryInterleaving"
LATER = [
    Case(tests.CANCEL_INSIDE, CancelsWhenTheDemandIsFulfilled, "10000 elements arrived after cancel inside on_next"),
    Case(tests.CANCEL_INSIDE, IgnoresCancelOfUnboundedDemand, "10000 elements arrived after cancel inside on_next"),
    Case(tests.CANCEL_INSIDE, CancelBlocksInsideOnNext, "cancel inside on_next took"),
    Case(tests.CANCEL_INSIDE, LeavesItsDemand, "a Subscriber without a request received an element after another"),
    Case(tests.CANCEL_INSIDE, IgnoresSubscribersAfterACancel, "did not call on_subscribe within 1500 ms"),
    Case(tests.AFTER_COMPLETE, IgnoresSubscribersAfterTheEnd, "did not call on_subscribe within 1500 ms"),
    Case(
        tests.EVERY,
        SubscribesUnderALock,
        "on a Subscriber that subscribed inside on_next of another one within 1500 ms",
    ),
    Case(tests.SEPARATE, FailsAll, "after another Subscriber had called request(0), but on_error(ValueError('3.9'))"),
    Case(tests.AFTER_CANCEL_BETWEEN, CancelInOnSubscribeIsLost, "arrived after a cancel inside on_subscribe"),
    Case(tests.AFTER_CANCEL_BETWEEN, CancelRaisesInOnSubscribe, "a call inside on_subscribe raised ZeroDivisionError"),
    Case(tests.AFTER_ERROR, NegativeReducesTheDemand, "request(-1) inside on_next with further demand within 1500 ms"),
    Case(tests.AFTER_ERROR, IgnoresZeroInOnSubscribe, "request(0) inside on_subscribe within 1500 ms (rule 3.9)"),
    Case(tests.AFTER_ERROR, IgnoresZeroLater, "request(0) after an element within 1500 ms (rule 3.9)"),
    Case(tests.AFTER_ERROR, TypeErrorForZeroLater, "after request(0) after an element but received on_error(TypeError"),
    Case(tests.FLAT, RecursesInOnSubscribe, "2 nested on_next calls after 2 elements"),
    Case(tests.DROPS_EARLY, KeepsAfterCancelInside, DROPPED.format("inside on_next")),
    Case(tests.DROPS_EARLY, KeepsAfterCancelInOnSubscribe, DROPPED.format("inside on_subscribe")),
    Case(tests.DROPS_EARLY, ReleasesTogether, DROPPED.format("while another Subscriber stays")),
    Case(tests.DROPS_AFTER_COMPLETE, KeepsUnbounded, "did not release the Subscriber after on_complete"),
    Case(CANCEL_WINS, ReadsItsSubscriberTwice, "AttributeError: 'NoneType' object has no attribute 'on_next'"),
    Case(INTERLEAVED, CompletesOnBothThreads, "on_complete was called after the terminal signal (rule 1.7)"),
    Case(tests.ABOVE, EmitsAtTheLastElement, f"on_complete() arrived after 4 of 3 elements, after {ABOVE} of the last"),
    Case(tests.ABOVE, OverflowInsideOnNext, f"{ABOVE} within 1500 ms (rule 3.17)"),
    Case(tests.ABOVE, NeverCompletesUnboundedFromTheStart, "request(2**63 - 1) inside on_subscribe within 1500 ms"),
]


class FailsOnlyTheFirst(Publisher[Any]):
    """Does not signal on_error to its second Subscriber."""

    subscribers = 0

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber).on_subscribe(Inert())
        self.subscribers += 1
        if self.subscribers == 1:
            subscriber.on_error(RuntimeError("no connection"))


class FailsAndRaisesLater(Publisher[Any]):
    """Calls on_subscribe with a Subscription whose methods raise after on_error."""

    class Dead(Inert):
        def cancel(self) -> None:
            raise RuntimeError("no connection")

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber).on_subscribe(self.Dead())
        subscriber.on_error(RuntimeError("no connection"))


class FailsWithoutASubscription(Publisher[Any]):
    """Calls on_subscribe(None), then on_error."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        nothing: Any = None
        not_none(subscriber).on_subscribe(nothing)
        subscriber.on_error(RuntimeError("no connection"))


class FailsAndIgnoresNone(Publisher[Any]):
    """Ignores subscribe(None), and rejects other Subscribers with on_error."""

    def subscribe(self, subscriber: Subscriber[Any] | None, /) -> None:
        if subscriber is not None:
            subscriber.on_subscribe(Inert())
            subscriber.on_error(RuntimeError("no connection"))


AN_EXCEPTION = "beyond_spec104_mustSignalAnException"
LATER_FAILED = [
    Case(AN_EXCEPTION, FailsOnlyTheFirst, "did not call on_error within 1500 ms"),
    Case(AN_EXCEPTION, FailsAndRaisesLater, "a call after on_error raised RuntimeError: no connection"),
    Case(AN_EXCEPTION, FailsWithoutASubscription, "the Publisher called on_subscribe(None)"),
    Case(AN_EXCEPTION, FailsAndIgnoresNone, "did not raise TypeError for subscribe(None)"),
]


class CountsProbed(RightProbed):
    elements = 0

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.elements += 1


class TakesASecondLater(CountsProbed):
    """Accepts a second Subscription after an element."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not self.elements or subscription is None:
            super().on_subscribe(subscription)


class IgnoresErrorsLater(CountsProbed):
    """Does not process on_error after an element."""

    def on_error(self, error: BaseException, /) -> None:
        if not self.elements or error is None:
            super().on_error(error)


class RaisesForElement50(CountsProbed):
    """Raises for element 50, as if a queue were full."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        if self.elements == 50:
            raise RuntimeError("an element too many")


class Counts(RightSubscriber):
    elements = 0

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.elements += 1


class BlackTakesASecondLater(Counts):
    """Accepts a second Subscription after an element."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not self.elements or subscription is None:
            super().on_subscribe(subscription)


class BlackUsesTheCancelled(Counts):
    """Cancels a second Subscription, and requests from it at the next element."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        self.subscription = subscription


class BlackRequestsMinusOne20(Counts):
    """Requests -1 after element 20."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        if self.elements == 20 and self.subscription is not None:
            self.subscription.request(-1)


SERIAL = "beyond_spec207_mustCallTheSubscriptionSerially"
SECOND = "did not cancel a second Subscription within 1500 ms (rule 2.5)"
LATER_WHITEBOX = [
    Case(SERIAL, TakesASecondLater, SECOND),
    Case(SERIAL, RaisesForElement50, "an element too many"),
    Case(
        "beyond_spec211_mustProcessSignalsInTheirOrder",
        IgnoresErrorsLater,
        "did not call register_on_error(RuntimeError('an error from the TCK'))",
    ),
]
LATER_BLACKBOX = [
    Case(SERIAL, BlackTakesASecondLater, SECOND),
    Case(SERIAL, BlackUsesTheCancelled, "called request(1) on its second Subscription (rule 2.5)"),
    Case(SERIAL, BlackRequestsMinusOne20, "called request(-1): the argument must be positive (rule 3.9)"),
]
