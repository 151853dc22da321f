"""Publishers that confuse their Subscribers: a request, cancel or signal of one affects another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from pyrs.api import Subscriber, Subscription
from tests.tck.right import RightPublisher, RightSubscription, not_none


class Grouped(RightPublisher):
    """Keeps its Subscriptions in the order of the calls of subscribe."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.subscriptions: list[RightSubscription] = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        subscription = self.subscription_of(subscriber, len(self.subscriptions))
        self.subscriptions.append(subscription)
        subscription.start()

    def subscription_of(self, subscriber: Subscriber[Any], number: int) -> RightSubscription:
        raise NotImplementedError


class EndsTheOthers(Grouped):
    """Ends the other Subscriptions when one is cancelled."""

    def subscription_of(self, subscriber: Subscriber[Any], number: int) -> RightSubscription:
        publisher = self

        class EndsOthers(RightSubscription):
            def cancel(self) -> None:
                super().cancel()
                others, publisher.subscriptions = publisher.subscriptions, []
                for other in others:
                    if other is not self and other.subscriber is not None:
                        left, other.subscriber, other.stopped = other.subscriber, None, True
                        publisher.end(left)

        return EndsOthers(subscriber, self.elements)

    def end(self, subscriber: Subscriber[Any]) -> None:
        raise NotImplementedError


class CompletesTheOthers(EndsTheOthers):
    """Completes the other Subscribers when one cancels."""

    def end(self, subscriber: Subscriber[Any]) -> None:
        subscriber.on_complete()


class FailsTheOthers(EndsTheOthers):
    """Signals on_error to the other Subscribers when one cancels."""

    def end(self, subscriber: Subscriber[Any]) -> None:
        subscriber.on_error(RuntimeError("another Subscriber has cancelled"))


class DropsTheOthers(EndsTheOthers):
    """Sends no more signals to the other Subscribers when one cancels."""

    def end(self, subscriber: Subscriber[Any]) -> None:
        pass


class LastCancelsTheEarlier(Grouped):
    """Cancels all earlier Subscriptions when one is cancelled."""

    def subscription_of(self, subscriber: Subscriber[Any], number: int) -> RightSubscription:
        earlier = list(self.subscriptions)

        class CancelsEarlier(RightSubscription):
            def cancel(self) -> None:
                super().cancel()
                for subscription in earlier:
                    RightSubscription.cancel(subscription)

        return CancelsEarlier(subscriber, self.elements)


class SecondGetsOneMore(Grouped):
    """Adds one to each request of the second and later Subscribers."""

    def subscription_of(self, subscriber: Subscriber[Any], number: int) -> RightSubscription:
        class OneMore(RightSubscription):
            def request(self, n: int, /) -> None:
                super().request(n + 1 if number and n > 0 else n)

        return OneMore(subscriber, self.elements)


class FirstFeedsTheOthers(Grouped):
    """Signals the elements of the first Subscription to all Subscribers, with or without demand."""

    def subscription_of(self, subscriber: Subscriber[Any], number: int) -> RightSubscription:
        publisher = self

        class Feeds(RightSubscription):
            def emit(self, subscriber: Subscriber[Any]) -> None:
                before = self.sent
                super().emit(subscriber)
                if number == 0 and self.sent > before:
                    for other in publisher.subscriptions[1:]:
                        if other.subscriber is not None and other.sent < other.elements:
                            other.sent += 1
                            other.subscriber.on_next(other.sent)

        return Feeds(subscriber, self.elements)


class SecondFeedsTheFirst(RightPublisher):
    """Signals the elements of the second Subscription to the first Subscriber."""

    first: Callable[[], Any] | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        self.first = self.first or ref(subscriber)
        subscription = RightSubscription(subscriber, self.elements)
        subscription.start()
        if subscription.subscriber is not None:
            subscription.subscriber = self.first() or subscriber


class SharesTheDemand(RightPublisher):
    """Gives each Subscriber a separate Subscription that forwards to that of the first Subscriber."""

    shared: RightSubscription | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        if self.shared is None:
            self.shared = RightSubscription(subscriber, self.elements)
            self.shared.start()
        else:
            subscriber.on_subscribe(Forwarding(self.shared))


class Forwarding(Subscription):
    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription

    def request(self, n: int, /) -> None:
        self.subscription.request(n)

    def cancel(self) -> None:
        self.subscription.cancel()
