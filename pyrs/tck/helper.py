"""The asynchronous Publisher that feeds Subscribers under test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Generic, TypeVar

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NonPositiveRequest, NullSignal
from pyrs.tck.environment import TestEnvironment
from pyrs.tck.waiting import started

T = TypeVar("T")


class HelperPublisher(Publisher[T], Generic[T]):
    """Publishes ``create(0)``, ``create(1)``, ... with one thread for each Subscriber.

    A thread ends with its stream or with the test.

    Args:
        create: returns an element, given its number; called on several threads concurrently.
        elements: the number of elements; None for an endless stream.
    """

    def __init__(self, env: TestEnvironment, create: Callable[[int], T], elements: int | None) -> None:
        self._env = env
        self._create = create
        self._elements = elements

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Start the thread that signals the Subscriber.

        Raises:
            NullSignal: the subscriber is None (§1.9).
        """
        if subscriber is None:
            raise NullSignal("subscribe(None)", rule="1.9", party="Subscriber")
        subscription = _HelperSubscription(self._env, subscriber, self._create, self._elements)
        self._env.on_close(subscription.cancel)
        started("helper", subscription.run)


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
            self._env.flop("a Subscriber raised an exception to the helper Publisher (rule 2.13)", error)
        finally:
            self.cancel()
            self._subscriber = None  # §3.13

    def _emit(self) -> None:
        subscriber = self._subscriber
        assert subscriber is not None
        subscriber.on_subscribe(self)
        at = demand = 0
        while at != self._elements:
            for n in self._take_requests(wait=demand == 0):
                if n <= 0:
                    self._fail(subscriber, NonPositiveRequest(f"request({n})"))
                demand += n
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
            self._cancelled = True  # §1.6
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
