"""The asynchronous Publisher that feeds Subscribers under test."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NonPositiveRequest, NullSignal
from pyrs.tck.environment import T, TestEnvironment
from pyrs.tck.waiting import started


class HelperPublisher(Publisher[T]):
    """Publishes ``create(0)``, ``create(1)``, ... with one thread for each Subscriber.

    A thread ends with its stream or with the test. The threads call ``create`` concurrently. ``elements`` is None for
    an endless stream.
    """

    def __init__(self, env: TestEnvironment, create: Callable[[int], T], elements: int | None) -> None:
        self._env = env
        self._create = create
        self._elements = elements

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        if subscriber is None:
            raise NullSignal("subscribe(None)", rule="1.9", party="Subscriber")
        subscription = _HelperSubscription()
        self._env.on_close(subscription.cancel)
        started("helper", self._run, subscriber, subscription)

    def _run(self, subscriber: Subscriber[T], subscription: _HelperSubscription) -> None:
        try:
            self._emit(subscriber, subscription)
        except BaseException as error:
            self._env.flop("a Subscriber raised an exception to the helper Publisher (rule 2.13)", error)

    def _emit(self, subscriber: Subscriber[T], subscription: _HelperSubscription) -> None:
        subscriber.on_subscribe(subscription)
        at = demand = 0
        while at != self._elements:
            while demand == 0 or not subscription.requests.empty():
                n = subscription.requests.get()
                if subscription.cancelled:
                    return
                if n <= 0:
                    subscriber.on_error(NonPositiveRequest(f"request({n})"))
                    return
                demand += n
            try:
                element = self._create(at)
            except BaseException as error:
                self._env.flop("", error)  # create_element failed, or skipped the test
                subscriber.on_error(error)
                return
            at += 1
            demand -= 1
            subscriber.on_next(element)
        if not subscription.cancelled:
            subscriber.on_complete()


class _HelperSubscription(Subscription):
    """Passes the requests to the thread, which alone knows the Subscriber (§3.13)."""

    def __init__(self) -> None:
        self.requests: SimpleQueue[int] = SimpleQueue()
        self.cancelled = False

    def request(self, n: int, /) -> None:
        self.requests.put(n)

    def cancel(self) -> None:
        self.cancelled = True
        self.requests.put(0)  # wakes the thread
