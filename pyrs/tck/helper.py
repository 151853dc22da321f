"""The Publisher that feeds the Subscribers under test: asynchronous, one thread for each of its Subscriptions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Generic, TypeVar

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NonPositiveRequest, NullSignal
from pyrs.tck.environment import TestEnvironment

__all__ = ["HelperPublisher"]

T = TypeVar("T")


class HelperPublisher(Publisher[T], Generic[T]):
    """Publishes ``create(0)``, ``create(1)`` and so on, each Subscriber on a thread of its own.

    The threads end with their streams, and with the test.

    Args:
        env: the test's environment.
        create: makes the elements; called on several threads at once.
        elements: how many; None for no end.
    """

    def __init__(self, env: TestEnvironment, create: Callable[[int], T], elements: int | None) -> None:
        self._env = env
        self._create = create
        self._elements = elements

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Start the thread that calls on_subscribe and what follows.

        Raises:
            NullSignal: the subscriber is None (1.9).
        """
        if subscriber is None:
            raise NullSignal("subscribe(None)", rule="1.9", party="Subscriber")
        subscription = _HelperSubscription(self._env, subscriber, self._create, self._elements)
        self._env.on_close(subscription.cancel)
        Thread(target=subscription.run, name="pyrs-tck-helper", daemon=True).start()


class _HelperSubscription(Subscription, Generic[T]):
    def __init__(
        self, env: TestEnvironment, subscriber: Subscriber[T], create: Callable[[int], T], elements: int | None
    ) -> None:
        self._env = env
        self._subscriber: Subscriber[T] | None = subscriber
        self._create = create
        self._elements = elements
        self._changed = Condition()
        self._requests: deque[int] = deque()
        self._cancelled = False

    def request(self, n: int, /) -> None:
        with self._changed:
            self._requests.append(n)
            self._changed.notify_all()

    def cancel(self) -> None:
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def run(self) -> None:
        try:
            self._emit()
        except BaseException as error:
            # 2.13: a Subscriber that raises has failed its test.
            self._env.flop("a Subscriber raised into the helper Publisher", error)
        finally:
            self.cancel()
            self._subscriber = None  # 3.13

    def _emit(self) -> None:
        subscriber = self._subscriber
        assert subscriber is not None
        subscriber.on_subscribe(self)
        at = demand = 0
        while at != self._elements:
            for asked in self._take_requests(wait=demand == 0):
                if asked <= 0:
                    self._fail(subscriber, NonPositiveRequest(f"request({asked})"))
                demand += asked
            if self._cancelled:
                return
            try:
                element = self._create(at)
            except Exception as error:
                self._env.flop(f"create_element({at}) raised {type(error).__name__}: {error}")
                self._fail(subscriber, error)
                return
            at += 1
            demand -= 1
            subscriber.on_next(element)
        if not self._cancelled:
            self._cancelled = True  # 1.6
            subscriber.on_complete()

    def _take_requests(self, wait: bool) -> list[int]:
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: self._cancelled or self._requests)
            taken = list(self._requests)
            self._requests.clear()
        return taken

    def _fail(self, subscriber: Subscriber[T], error: BaseException) -> None:
        self._cancelled = True
        subscriber.on_error(error)
