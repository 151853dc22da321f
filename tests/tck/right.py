"""A Publisher and Subscribers that conform to the specification; the wrong implementations derive from them."""

from __future__ import annotations

from contextlib import suppress
from threading import Lock, Thread
from typing import Any

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck import SubscriberPuppet, WhiteboxProbe

LONG_MAX = 2**63 - 1


class RightSubscription(Subscription):
    """Emits in a drain loop; concurrent requests add to the demand."""

    def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
        self.subscriber: Subscriber[Any] | None = subscriber
        self.elements = elements
        self.lock = Lock()
        self.sent = 0
        self.demand = 0
        self.illegal = False
        self.stopped = False
        self.busy = True

    def start(self) -> None:
        assert self.subscriber is not None
        self.subscriber.on_subscribe(self)
        with self.lock:
            self.busy = False
        self.drain()

    def request(self, n: int, /) -> None:
        with self.lock:
            if n <= 0:
                self.illegal = True
            else:
                self.demand = min(LONG_MAX, self.demand + n)
        self.drain()

    def cancel(self) -> None:
        self.stopped = True
        self.subscriber = None

    def drain(self) -> None:
        with self.lock:
            if self.busy:
                return
            self.busy = True
        self.loop()

    def loop(self) -> None:
        while True:
            subscriber = self.subscriber
            if subscriber is not None:
                self.emit(subscriber)
            with self.lock:
                if self.stopped or not (self.illegal or self.demand):
                    self.busy = False
                    return

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.illegal:
            self.cancel()
            subscriber.on_error(ValueError("3.9: request(n) needs a positive n"))
        elif self.sent == self.elements:
            self.cancel()
            subscriber.on_complete()
        elif self.demand:
            with self.lock:
                self.demand -= 1
            self.sent += 1
            subscriber.on_next(self.sent)


class ThreadedSubscription(RightSubscription):
    """Emits on a new thread whenever there is demand again; an exception ends the thread."""

    def loop(self) -> None:
        Thread(target=self.run, name="threaded", daemon=True).start()

    def run(self) -> None:
        with suppress(Exception):
            super().loop()


class RightPublisher(Publisher[Any]):
    """Publishes 1, 2, 3, ..."""

    subscription: type[RightSubscription] = RightSubscription

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if subscriber is None:
            raise TypeError("subscribe(None)")
        self.subscription(subscriber, self.elements).start()


class RightFailedPublisher(Publisher[Any]):
    """Rejects every Subscriber with on_error."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber.on_subscribe(Inert())
        subscriber.on_error(RuntimeError("Sorry, I'm busy now. Call me later."))


class Inert(Subscription):
    def request(self, n: int, /) -> None:
        pass

    def cancel(self) -> None:
        pass


def not_none(value: Any) -> Any:
    if value is None:
        raise TypeError("the argument must not be None")
    return value


class Columns:
    """An element like an array: the result of ``==`` has no truth value."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __eq__(self, other: object) -> Any:
        return Columns([self, other])

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


class RightSubscriber(Subscriber[Any]):
    """Requests elements one by one."""

    def __init__(self) -> None:
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        not_none(subscription)
        if self.subscription is not None:
            subscription.cancel()
        else:
            self.subscription = subscription
            self.accepted(subscription)

    def accepted(self, subscription: Subscription) -> None:
        subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        assert self.subscription is not None
        self.subscription.request(1)

    def on_error(self, error: BaseException, /) -> None:
        not_none(error)

    def on_complete(self) -> None:
        pass


class Puppet(SubscriberPuppet):
    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription

    def trigger_request(self, elements: int) -> None:
        self.subscription.request(elements)

    def signal_cancel(self) -> None:
        self.subscription.cancel()


class RightProbed(RightSubscriber):
    """Requests when the test calls the puppet, and reports all signals to the probe."""

    puppet: type[Puppet] = Puppet

    def __init__(self, probe: WhiteboxProbe[Any]) -> None:
        super().__init__()
        self.probe = probe

    def accepted(self, subscription: Subscription) -> None:
        self.probe.register_on_subscribe(self.puppet(subscription))

    def on_next(self, element: Any, /) -> None:
        self.probe.register_on_next(not_none(element))

    def on_error(self, error: BaseException, /) -> None:
        self.probe.register_on_error(not_none(error))

    def on_complete(self) -> None:
        self.probe.register_on_complete()
