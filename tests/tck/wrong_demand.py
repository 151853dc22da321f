"""Publishers with one violation each, which the additional tests detect.

The official tests detect only ``StartsThreads``.
"""

from __future__ import annotations

from contextlib import suppress
from threading import RLock, Thread
from typing import Any, ClassVar

from pyrs.api import Subscriber
from tests.tck.right import Inert, RightPublisher, RightSubscription, not_none
from tests.tck.wrong_publishers import Bare, Plain


class ExceedsAfterAThousand(RightPublisher):
    """Emits the 1,000th element twice."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            super().emit(subscriber)
            if self.sent == 1_000:
                subscriber.on_next(self.sent)


class CompletesDuringOnNext(RightPublisher):
    """Completes on another thread before on_next of the last element has returned."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.sent + 1 < self.elements or self.illegal:
                super().emit(subscriber)
            else:
                self.cancel()
                subscriber.on_next(CompletesInStr(subscriber))


class CompletesInStr:
    """An element whose ``__str__``, which on_next calls, sends on_complete on another thread."""

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self.subscriber: Subscriber[Any] | None = subscriber

    def __str__(self) -> str:
        subscriber, self.subscriber = self.subscriber, None
        if subscriber is not None:
            thread = Thread(target=subscriber.on_complete)
            thread.start()
            thread.join()
        return "last"


class FailsWithNone(Plain):
    """Signals on_error(None)."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        nothing: Any = None
        subscriber.on_subscribe(Inert())
        subscriber.on_error(nothing)


class FailsWithText(Plain):
    """Signals on_error with a string."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        text: Any = "no connection"
        subscriber.on_subscribe(Inert())
        subscriber.on_error(text)


class CountsOneRequestInOnSubscribe(RightPublisher):
    """Ignores the second and later requests inside on_subscribe."""

    class subscription(RightSubscription):  # noqa: N801
        started = False

        def start(self) -> None:
            super().start()
            self.started = True

        def request(self, n: int, /) -> None:
            if self.started or not self.demand:
                super().request(n)


class CancelsUnderALock(RightPublisher):
    """Emits under a lock that cancel acquires, too."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.emitting = RLock()

        def emit(self, subscriber: Subscriber[Any]) -> None:
            with self.emitting:
                super().emit(subscriber)

        def cancel(self) -> None:
            with self.emitting:
                super().cancel()


class KeepsAfterError(RightPublisher):
    """Keeps a reference to a Subscriber that has received on_error."""

    class subscription(RightSubscription):  # noqa: N801
        failed: ClassVar[list[Any]] = []

        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal:
                self.failed.append(subscriber)
            super().emit(subscriber)


class KeepsUntilRequested(RightPublisher):
    """Keeps a reference to a Subscriber until its first request."""

    class subscription(RightSubscription):  # noqa: N801
        waiting: ClassVar[list[Any]] = []

        def start(self) -> None:
            self.waiting.append(self.subscriber)
            super().start()

        def request(self, n: int, /) -> None:
            if self.subscriber in self.waiting:
                self.waiting.remove(self.subscriber)
            super().request(n)


class WrapsDemand(RightPublisher):
    """Counts the demand in 64 bits, where it wraps around to a negative number."""

    class subscription(RightSubscription):  # noqa: N801
        signed = 0

        def request(self, n: int, /) -> None:
            if n <= 0:
                super().request(n)
                return
            self.signed = (self.signed + n + 2**63) % 2**64 - 2**63
            self.demand = max(0, self.signed)
            super().drain()

        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.demand and not self.illegal and self.sent != self.elements:
                self.signed -= 1
            super().emit(subscriber)


class CancelsAll(RightPublisher):
    """Cancels all its Subscriptions when one is cancelled."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.subscriptions: list[RightSubscription] = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        publisher = self

        class CancelsOthers(RightSubscription):
            def cancel(self) -> None:
                for subscription in publisher.subscriptions:
                    RightSubscription.cancel(subscription)

        subscription = CancelsOthers(subscriber, self.elements)
        self.subscriptions.append(subscription)
        subscription.start()


class SharesItsSubscription(RightPublisher):
    """Gives all Subscribers the Subscription of the first one."""

    shared: RightSubscription | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        if self.shared is None:
            self.shared = RightSubscription(subscriber, self.elements)
            self.shared.start()
        else:
            subscriber.on_subscribe(self.shared)


class SignalsTheFirst(RightPublisher):
    """Sends the elements of all Subscriptions also to the first Subscriber."""

    first: Any = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        self.first = self.first or subscriber
        publisher = self

        class Both(RightSubscription):
            def emit(self, subscriber: Subscriber[Any]) -> None:
                super().emit(subscriber)
                if subscriber is not publisher.first:
                    publisher.first.on_next(self.sent)

        Both(subscriber, self.elements).start()


class StartsThreads(Plain):
    """Emits on a new thread and on the requesting thread for each request, without a guard."""

    class subscription(Bare):  # noqa: N801
        demand = 0
        cancelled = False

        def request(self, n: int, /) -> None:
            self.demand += n
            Thread(target=self.drain, daemon=True).start()
            self.drain()

        def cancel(self) -> None:
            self.cancelled = True

        def drain(self) -> None:
            with suppress(RuntimeError):
                while self.demand > 0 and not self.cancelled:
                    self.demand -= 1
                    self.subscriber.on_next(next(self.numbers))


class ExceedsAfterAThousandRequests(RightPublisher):
    """Registers two elements for the request that follows a total demand of 1,000."""

    class subscription(RightSubscription):  # noqa: N801
        total = 0

        def request(self, n: int, /) -> None:
            self.total += n
            super().request(n + 1 if n > 0 and self.total == 1_001 else n)


class CountsTheLastRequestInOnSubscribe(RightPublisher):
    """Replaces the demand by each request inside on_subscribe."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if self.busy and not self.sent and n > 0:
                self.demand = n
            else:
                super().request(n)


class WrapsDemandInOnSubscribe(RightPublisher):
    """Counts the demand in 64 bits, with wraparound, until the first element."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if self.busy and not self.sent and n > 0:
                self.demand = max(0, (self.demand + n + 2**63) % 2**64 - 2**63)
            else:
                super().request(n)


class FailsAndKeeps(Plain):
    """Keeps the Subscribers that it has rejected with on_error."""

    rejected: ClassVar[list[Any]] = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.rejected.append(subscriber)
        subscriber.on_subscribe(Inert())
        subscriber.on_error(RuntimeError("no connection"))
