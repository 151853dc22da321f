"""Implementations that conform to the specification in an unusual way; no test may fail for them."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event, Lock, Thread, Timer
from types import SimpleNamespace
from typing import Any

from pyrs.api import Subscriber, Subscription
from tests.tck.right import (
    LONG_MAX,
    Columns,
    Inert,
    Puppet,
    RightProbed,
    RightPublisher,
    RightSubscriber,
    RightSubscription,
    ThreadedSubscription,
    not_none,
)
from tests.tck.unusual_timing import RequestsEvery150Milliseconds, RequestsLate, RequestsOnATimer

__all__ = ["BLACKBOX", "PUBLISHERS", "WHITEBOX"]

_POOL = ThreadPoolExecutor(4, "unusual")


class OnItsOwnThread(RightPublisher):
    """Emits on a new thread whenever there is demand again."""

    subscription = ThreadedSubscription


class OnAPool(RightPublisher):
    """Emits each element in a separate task of a pool."""

    class subscription(RightSubscription):  # noqa: N801
        def loop(self) -> None:
            _POOL.submit(self.step)

        def step(self) -> None:
            subscriber = self.subscriber
            if subscriber is not None:
                self.emit(subscriber)
            with self.lock:
                if self.stopped or not (self.illegal or self.demand):
                    self.busy = False
                    return
            _POOL.submit(self.step)


class SubscribesLater(RightPublisher):
    """Calls on_subscribe on another thread, after subscribe has returned."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        Timer(0.005, self.subscription(subscriber, self.elements).start).start()


class CompletesWithTheLastElement(RightPublisher):
    """Completes without waiting for another request."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            super().emit(subscriber)
            if self.sent == self.elements and not self.stopped:
                super().emit(subscriber)


class CompletesAfterACancel(RightPublisher):
    """Completes although on_next of the last element has cancelled: the signals must stop eventually (1.8)."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            before = self.sent
            super().emit(subscriber)
            if before < self.sent == self.elements and self.stopped:
                subscriber.on_complete()


class EmitsAFewAfterCancel(RightPublisher):
    """Emits requested elements for up to 2 ms after a cancel: the signals must stop eventually (3.12)."""

    class subscription(RightSubscription):  # noqa: N801
        left = 5

        def cancel(self) -> None:
            if self.demand and 0 < self.sent < self.elements and self.left and not self.illegal:
                self.left -= 1
                Timer(0.002, super().cancel).start()
            else:
                super().cancel()


class Slotted:
    """Has no attributes except its slots, so that weak references to it are impossible."""

    __slots__ = ("_to",)

    def __init__(self, to: RightSubscription) -> None:
        self._to = to

    def request(self, n: int) -> None:
        self._to.request(n)

    def cancel(self) -> None:
        self._to.cancel()


class WithSlots(RightPublisher):
    """Calls on_subscribe with a Subscription that has slots."""

    class subscription(RightSubscription):  # noqa: N801
        def start(self) -> None:
            subscriber = self.subscriber
            assert subscriber is not None
            subscriber.on_subscribe(self.public())  # type: ignore[arg-type]
            with self.lock:
                self.busy = False
            self.drain()

        def public(self) -> Any:
            return Slotted(self)


class WithANamespace(RightPublisher):
    """Calls on_subscribe with a namespace of two functions."""

    class subscription(WithSlots.subscription):  # noqa: N801
        def public(self) -> Any:
            return SimpleNamespace(request=lambda n: self.request(n), cancel=lambda: self.cancel())


class WithoutAClass:
    """Derives from no class of pyrs, and raises AttributeError for None."""

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def subscribe(self, subscriber: Any) -> None:
        subscriber.on_subscribe  # noqa: B018 - raises for None
        RightSubscription(subscriber, self.elements).start()


class OnALoop(RightPublisher):
    """Emits on the thread of an asyncio loop."""

    loop = asyncio.new_event_loop()
    started = Lock()
    running = False

    class subscription(RightSubscription):  # noqa: N801
        def loop(self) -> None:
            OnALoop.run()
            OnALoop.loop.call_soon_threadsafe(super().loop)

    @classmethod
    def run(cls) -> None:
        with cls.started:
            if not cls.running:
                cls.running = True
                Thread(target=cls.loop.run_forever, name="unusual-loop", daemon=True).start()


class FromAGenerator(RightPublisher):
    """Takes its elements from a generator, which it closes at the end."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.numbers: Iterator[int] = (n for n in range(elements))

        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal or not self.demand:
                super().emit(subscriber)
                return
            number = next(self.numbers, None)
            if number is None:
                self.cancel()
                subscriber.on_complete()
                return
            with self.lock:
                self.demand -= 1
            self.sent += 1
            subscriber.on_next(number)


class NonPositive(ValueError):
    pass


class OtherValueError(RightPublisher):
    """Signals a subclass of ValueError for request(0)."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal:
                self.cancel()
                subscriber.on_error(NonPositive("rule 3.9"))
            else:
                super().emit(subscriber)


class Unicast(RightPublisher):
    """Rejects every Subscriber except the first with on_error."""

    taken = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        not_none(subscriber)
        if self.taken:
            subscriber.on_subscribe(Inert())
            subscriber.on_error(RuntimeError("one Subscriber only"))
            return
        self.taken = True
        super().subscribe(subscriber)


class HoldsWeakly(RightPublisher):
    """Holds its Subscribers by weak references, and cancels the streams of those that are released."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.reference = weakref.ref(subscriber)
            self.subscriber = None

        def start(self) -> None:
            subscriber = self.reference()
            assert subscriber is not None
            subscriber.on_subscribe(self)
            with self.lock:
                self.busy = False
            self.drain()

        def loop(self) -> None:
            self.subscriber = None if self.stopped else self.reference()
            if self.subscriber is None:
                self.stopped = True
            super().loop()
            self.subscriber = None


class Pausing(RightPublisher):
    """Pauses before each element."""

    class subscription(ThreadedSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            Event().wait(0.0005)
            if not self.stopped:
                super().emit(subscriber)


class EveryFiveMilliseconds(RightPublisher):
    """Emits at most 200 elements per second."""

    class subscription(ThreadedSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            Event().wait(0.005)
            if not self.stopped:
                super().emit(subscriber)


class OneRequestAfterAnother(RightPublisher):
    """Fulfils a request on its own thread before it reads the next one."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.requests: SimpleQueue[int] = SimpleQueue()
            self.serving = False

        def request(self, n: int, /) -> None:
            self.requests.put(n)
            with self.lock:
                if self.serving or self.stopped:
                    return
                self.serving = True
            Thread(target=self.serve, name="unusual-requests", daemon=True).start()

        def serve(self) -> None:
            while True:
                with self.lock:
                    if self.stopped or self.requests.empty():
                        self.serving = False
                        return
                super().request(self.requests.get())


class UnboundedAsInfinity(RightPublisher):
    """Counts a demand of 2**63 - 1 or more as infinite."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            with self.lock:
                infinite = n > 0 and self.demand + n >= LONG_MAX
                if infinite:
                    self.demand = float("inf")  # type: ignore[assignment]
            if infinite:
                self.drain()
            else:
                super().request(n)


class EmitsArrays(RightPublisher):
    """Emits objects that cannot be compared."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            super().emit(
                SimpleNamespace(  # type: ignore[arg-type]
                    on_next=lambda n: subscriber.on_next(Columns([n])),
                    on_error=subscriber.on_error,
                    on_complete=subscriber.on_complete,
                )
            )


PUBLISHERS: list[Any] = [
    OnItsOwnThread,
    OnAPool,
    SubscribesLater,
    CompletesWithTheLastElement,
    CompletesAfterACancel,
    EmitsAFewAfterCancel,
    WithSlots,
    WithANamespace,
    WithoutAClass,
    OnALoop,
    FromAGenerator,
    OtherValueError,
    Unicast,
    HoldsWeakly,
    Pausing,
    OneRequestAfterAnother,
    UnboundedAsInfinity,
    EmitsArrays,
]


class RequestsMore(RightProbed):
    """Requests ten elements more than the test requests through the puppet."""

    class puppet(Puppet):  # noqa: N801
        def trigger_request(self, elements: int) -> None:
            super().trigger_request(elements + 10)


class Unbounded(RightProbed):
    """Requests everything in on_subscribe."""

    class puppet(Puppet):  # noqa: N801
        def trigger_request(self, elements: int) -> None:
            pass

    def accepted(self, subscription: Subscription) -> None:
        super().accepted(subscription)
        subscription.request(LONG_MAX)


class OnAQueue(RightProbed):
    """Processes its signals on another thread, in order."""

    def __init__(self, probe: Any) -> None:
        super().__init__(probe)
        self.queue: SimpleQueue[Any] = SimpleQueue()
        Thread(target=self.process, name="unusual-queue", daemon=True).start()

    def process(self) -> None:
        while True:
            method, arguments = self.queue.get()
            method(*arguments)
            if method in (self.probe.register_on_error, self.probe.register_on_complete):
                return

    def on_next(self, element: Any, /) -> None:
        self.queue.put((self.probe.register_on_next, (not_none(element),)))

    def on_error(self, error: BaseException, /) -> None:
        self.queue.put((self.probe.register_on_error, (not_none(error),)))

    def on_complete(self) -> None:
        self.queue.put((self.probe.register_on_complete, ()))


class OneByOne(RightProbed):
    """Requests one element at a time, the next one after the previous one has arrived."""

    def __init__(self, probe: Any) -> None:
        super().__init__(probe)
        self.left = 0
        self.waiting = False
        self.lock = Lock()

    def accepted(self, subscription: Subscription) -> None:
        subscriber = self

        class Counts(Puppet):
            def trigger_request(self, elements: int) -> None:
                with subscriber.lock:
                    subscriber.left += elements
                subscriber.request_next()

        self.probe.register_on_subscribe(Counts(subscription))

    def request_next(self) -> None:
        with self.lock:
            if self.waiting or not self.left:
                return
            self.waiting = True
            self.left -= 1
        assert self.subscription is not None
        self.subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        with self.lock:
            self.waiting = False
        self.request_next()


class CancelsLater(RightProbed):
    """Cancels 50 ms after the call of the puppet, on a timer."""

    class puppet(Puppet):  # noqa: N801
        def signal_cancel(self) -> None:
            Timer(0.05, self.subscription.cancel).start()


WHITEBOX: list[Any] = [CancelsLater, RequestsMore, RequestsOnATimer, Unbounded, OnAQueue, OneByOne]


class Everything(RightSubscriber):
    """Requests everything."""

    def accepted(self, subscription: Subscription) -> None:
        subscription.request(LONG_MAX)

    def on_next(self, element: Any, /) -> None:
        not_none(element)


class Batches(RightSubscriber):
    """Requests sixteen elements, and eight more after each eight that arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer: deque[Any] = deque()

    def accepted(self, subscription: Subscription) -> None:
        subscription.request(16)

    def on_next(self, element: Any, /) -> None:
        self.buffer.append(not_none(element))
        if len(self.buffer) == 8:
            self.buffer.clear()
            assert self.subscription is not None
            self.subscription.request(8)


class CancelsAfterThree(RightSubscriber):
    """Cancels after three elements, inside on_next."""

    count = 0

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.count += 1
        assert self.subscription is not None
        if self.count < 3:
            self.subscription.request(1)
        elif self.count == 3:
            self.subscription.cancel()


class CancelsAfterThreeLater(Everything):
    """Requests everything, and cancels on a timer after three elements."""

    count = 0

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        self.count += 1
        if self.count == 3:
            assert self.subscription is not None
            Timer(0.2, self.subscription.cancel).start()


class CancelsTheSecondLater(RightSubscriber):
    """Cancels a second Subscription on a timer."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self.subscription is None:
            super().on_subscribe(subscription)
        else:
            Timer(0.005, not_none(subscription).cancel).start()


class TakesOneOnAQueue(RightSubscriber):
    """Processes its signals in order on another thread, cancels after one element, and may be used again."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: SimpleQueue[Any] = SimpleQueue()
        Thread(target=self.process, name="unusual-queue", daemon=True).start()

    def process(self) -> None:
        while True:
            method, arguments = self.queue.get()
            method(*arguments)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.queue.put((super().on_subscribe, (not_none(subscription),)))

    def on_next(self, element: Any, /) -> None:
        self.queue.put((self.leave, (not_none(element),)))

    def leave(self, element: Any) -> None:
        Event().wait(0.005)
        subscription, self.subscription = self.subscription, None
        if subscription is not None:
            subscription.cancel()


BLACKBOX: list[Any] = [
    Everything,
    Batches,
    CancelsAfterThree,
    CancelsAfterThreeLater,
    CancelsTheSecondLater,
    RequestsEvery150Milliseconds,
    RequestsLate,
    TakesOneOnAQueue,
]
