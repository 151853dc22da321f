"""Publishers with one violation each, many from PublisherVerificationTest of the official TCK."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import count
from threading import Event, Thread
from typing import Any

from pyrs.api import Publisher, Subscriber, Subscription
from tests.tck.right import LONG_MAX, Inert, RightPublisher, RightSubscription


class Boom(Exception):
    def __init__(self) -> None:
        super().__init__("Test Exception: Boom!")


class Plain(Publisher[Any]):
    """Calls on_subscribe with an instance of ``subscription``."""

    subscription: type[Any] = Inert

    def __init__(self, elements: int = 0) -> None:
        self.elements = elements

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if subscriber is None:
            raise TypeError
        subscriber.on_subscribe(self.subscription(subscriber) if self.subscription is not Inert else Inert())


class Silent(Plain):
    """Publishes nothing."""


class OneTooFew(RightPublisher):
    """Emits one element less than the argument of create_publisher."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements - 1)


class OneTooMany(RightPublisher):
    """Emits one element more than the argument of create_publisher."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements + 1)


class Bare(Subscription):
    """A Subscription without checks."""

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self.subscriber = subscriber
        self.numbers = count()

    def request(self, n: int, /) -> None:
        pass

    def cancel(self) -> None:
        pass


class Eager(RightPublisher):
    """Publishes one element without demand."""

    class subscription(RightSubscription):  # noqa: N801
        def start(self) -> None:
            self.demand = 1
            super().start()


class Generous(RightPublisher):
    """Publishes two elements for each requested one."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            super().request(2 * n)


class IgnoresDemand(Plain):
    """Emits endlessly on the requesting thread until on_next raises."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            for number in self.numbers:
                self.subscriber.on_next(number)


class IgnoresDemandOnThread(Plain):
    """Emits endlessly on another thread until on_next raises."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            Thread(target=self.run, daemon=True).start()

        def run(self) -> None:
            try:
                for number in self.numbers:
                    self.subscriber.on_next(number)
            except Exception:
                pass


class HidesTheOverflow(Plain):
    """Emits endlessly on the requesting thread until on_next raises, and suppresses the exception."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            with suppress(Exception):
                for number in self.numbers:
                    self.subscriber.on_next(number)


class NeverCompletes(Plain):
    """Emits the requested elements and never completes."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            for _ in range(min(n, 40)):
                self.subscriber.on_next(next(self.numbers))


class ForgetsToComplete(RightPublisher):
    """Emits the right elements and does not complete."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.sent == self.elements and not self.illegal:
                self.demand = 0
            else:
                super().emit(subscriber)


class Concurrent(Plain):
    """Emits on several threads concurrently."""

    class subscription(Bare):  # noqa: N801
        started = 0

        def request(self, n: int, /) -> None:
            while self.started < 10:
                self.started += 1
                Thread(target=self.run, daemon=True).start()

        def run(self) -> None:
            for number in range(2_000):
                self.subscriber.on_next(number)


class CompletesWithoutSubscription(Plain):
    """Calls on_complete without on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber.on_complete()


class EmitsWithoutSubscription(Plain):
    """Calls on_next without on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber.on_next(1337)


class PublishesWithoutSubscription(Plain):
    """Emits all elements and completes without on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        for number in range(self.elements):
            subscriber.on_next(number)
        subscriber.on_complete()


class FailsWithoutSubscription(Plain):
    """Calls on_error without on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber.on_error(Boom())


class DoesNothing(Plain):
    """Sends no signal, not even on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        pass


class Raises(Plain):
    """Raises in subscribe instead of signalling on_error."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        raise RuntimeError("It is not valid to raise here!")


class FailsTwice(Plain):
    """Signals on_error twice."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber.on_subscribe(Inert())
        subscriber.on_error(Boom())
        subscriber.on_error(Boom())


class GoesOnAfterComplete(Plain):
    """Completes after the first element, and still emits one element for each request."""

    class subscription(Bare):  # noqa: N801
        completed = False

        def request(self, n: int, /) -> None:
            self.subscriber.on_next(0)
            if not self.completed:
                self.completed = True
                self.subscriber.on_complete()


class OneSubscriberOnly(RightPublisher):
    """Raises for a second Subscriber."""

    taken = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if self.taken:
            raise RuntimeError("Unexpected additional subscriber")
        self.taken = True
        super().subscribe(subscriber)


class Random(Plain):
    """Emits different elements to each Subscriber."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            for _ in range(n):
                self.subscriber.on_next(random.random())


class FailsOnRequest(Plain):
    """Signals on_error for each request."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            self.subscriber.on_error(Boom())


class Recursive(Plain):
    """Calls on_next inside request without a drain loop."""

    class subscription(Bare):  # noqa: N801
        def request(self, n: int, /) -> None:
            self.subscriber.on_next(0)


class FailsOnCancel(Plain):
    """Signals on_error for a cancel."""

    class subscription(Bare):  # noqa: N801
        def cancel(self) -> None:
            self.subscriber.on_error(Boom())


class WrongErrorForZero(RightPublisher):
    """Signals an error of the wrong type for request(0)."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal:
                self.cancel()
                subscriber.on_error(RuntimeError("request(0)"))
            else:
                super().emit(subscriber)


class SaysNothingOfTheRule(RightPublisher):
    """Signals the right error for request(-1), with a message that does not name the rule."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal:
                self.cancel()
                subscriber.on_error(ValueError("Illegal request value detected!"))
            else:
                super().emit(subscriber)


class Keeps(RightPublisher):
    """Keeps references to all Subscribers."""

    kept: list[Any]

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.kept = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.kept.append(subscriber)
        super().subscribe(subscriber)


class NoMoreThanMillions(RightPublisher):
    """Signals on_error for a demand of 2**63 - 1."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if self.demand + n >= LONG_MAX:
                assert self.subscriber is not None
                self.subscriber.on_error(RuntimeError("Illegally signalling on_error: this demand is legal (3.17)"))
            else:
                super().request(n)


class Overflows(Plain):
    """Signals on_error if the demand exceeds 2**63 - 1."""

    class subscription(Bare):  # noqa: N801
        demand = 0

        def request(self, n: int, /) -> None:
            self.demand += n
            if self.demand > LONG_MAX:
                self.subscriber.on_error(RuntimeError("Illegally signalling on_error (violates rule 3.17)"))
            else:
                self.subscriber.on_next(0)


# Violations that only the additional tests detect.


class AnswersAfterTheEnd(RightPublisher):
    """Signals on_error for request(0), also after the terminal signal."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.always = subscriber

        def request(self, n: int, /) -> None:
            if n <= 0:
                self.cancel()
                self.always.on_error(ValueError("3.9"))
            else:
                super().request(n)


class GoesOnAfterError(RightPublisher):
    """Continues to emit after the error of request(0)."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n <= 0:
                assert self.subscriber is not None
                self.subscriber.on_error(ValueError("3.9"))
            else:
                super().request(n)


class IgnoresCancelInside(RightPublisher):
    """Emits its demand without a check for a cancel."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.always = subscriber

        def drain(self) -> None:
            if not self.busy:
                self.busy = True
                while self.demand:
                    self.demand -= 1
                    self.always.on_next(1)
                self.busy = False


class SubscribesOnce(RightPublisher):
    """Ignores a second Subscriber."""

    taken = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if not self.taken:
            self.taken = True
            super().subscribe(subscriber)


class SubscribesTwice(RightPublisher):
    """Calls on_subscribe twice, with two Subscriptions."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        super().subscribe(subscriber)
        super().subscribe(subscriber)


class NestsLater(RightPublisher):
    """Recurses after 100 elements, which the official TCK does not reach."""

    class subscription(RightSubscription):  # noqa: N801
        def drain(self) -> None:
            if self.sent > 100 and self.subscriber is not None:
                self.emit(self.subscriber)
            else:
                super().drain()


class StopsLater(RightPublisher):
    """Ignores requests after 100 elements."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if self.sent < 100:
                super().request(n)


class CancelsSlowly(RightPublisher):
    """Blocks 1.2 s in each cancel."""

    class subscription(RightSubscription):  # noqa: N801
        def cancel(self) -> None:
            Event().wait(1.2)
            super().cancel()


class CancelsOnce(RightPublisher):
    """Raises for a second cancel."""

    class subscription(RightSubscription):  # noqa: N801
        def cancel(self) -> None:
            with self.lock:
                again, self.stopped = self.stopped, True
            if again:
                raise RuntimeError("cancelled already")
            super().cancel()


class TakesCancelForRequest(RightPublisher):
    """Emits an element when it is cancelled."""

    class subscription(RightSubscription):  # noqa: N801
        def cancel(self) -> None:
            assert self.subscriber is not None
            self.subscriber.on_next(1)


class CompletesOnCancel(RightPublisher):
    """Signals on_complete for a cancel before the first element."""

    class subscription(RightSubscription):  # noqa: N801
        def cancel(self) -> None:
            with self.lock:
                subscriber, self.subscriber = self.subscriber, None
            super().cancel()
            if subscriber is not None and not self.sent:
                subscriber.on_complete()


class RaisesOnZero(RightPublisher):
    """Raises ValueError for request(0) and request(-n) instead of signalling it."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n <= 0:
                raise ValueError("3.9")
            super().request(n)


class Unguarded(RightPublisher):
    """Emits on every requesting thread without a guard."""

    class subscription(RightSubscription):  # noqa: N801
        def drain(self) -> None:
            subscriber = self.subscriber
            if subscriber is not None:
                self.emit(subscriber)


class LosesRequests(RightPublisher):
    """Ignores requests that arrive while it emits."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if not self.busy:
                super().request(n)


class RaisesWhenCancelWins(RightPublisher):
    """Raises in a request that races with a cancel."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.cancelled = Event()

        def request(self, n: int, /) -> None:
            self.cancelled.wait(60)
            raise RuntimeError("request after cancel")

        def cancel(self) -> None:
            self.cancelled.set()


class ExitsWhenCancelWins(RightPublisher):
    """Raises SystemExit, which ends a thread silently, in a request that races with a cancel."""

    class subscription(RaisesWhenCancelWins.subscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            self.cancelled.wait(60)
            raise SystemExit(3)


class CompletesTwiceWhenCancelled(RightPublisher):
    """Completes twice if a cancel races with on_complete."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.always = subscriber
            self.requested = Event()

        def request(self, n: int, /) -> None:
            self.always.on_next(1)
            self.always.on_complete()
            self.requested.set()

        def cancel(self) -> None:
            self.requested.wait(60)
            self.always.on_complete()
