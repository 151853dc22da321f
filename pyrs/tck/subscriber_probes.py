"""Probes that a Subscriber under test reports to, and the puppet that controls it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, Protocol

from pyrs.api import Subscriber, Subscription
from pyrs.tck.environment import T, TestEnvironment, named, quoted, same
from pyrs.tck.waiting import Promise, Receptacle


class SubscriberPuppet(Protocol):
    """Controls a Subscriber under test.

    The code under test implements it, and registers it with the probe in ``on_subscribe``.
    """

    @abstractmethod
    def trigger_request(self, elements: int) -> None:
        """Let the Subscriber request at least this number of elements.

        It may request them now, or as earlier elements arrive.
        """

    @abstractmethod
    def signal_cancel(self) -> None:
        """Let the Subscriber cancel its Subscription."""


class Probe(Generic[T]):
    """Records the signals that a Subscriber reports."""

    def __init__(self, env: TestEnvironment, subscriber: Promise[Subscriber[T]]) -> None:
        self.env = env
        self._subscriber = subscriber
        self._elements: Receptacle[T] = Receptacle(env, capacity=None)  # the test limits the elements
        self._error: Promise[BaseException] = Promise(env)

    @property
    def _name(self) -> str:
        return f"Subscriber {named(self._subscriber.value)}"

    # Called by the Subscriber.

    def register_on_next(self, element: T) -> None:
        """Call this in on_next."""
        self._elements.add(element)

    def register_on_complete(self) -> None:
        """Call this in on_complete."""
        self._elements.complete()

    def register_on_error(self, error: BaseException) -> None:
        """Call this in on_error."""
        self._error.complete(error)

    # Called by the test.

    def expect_next(self, expected: T) -> None:
        """Wait for an element; record an error if it is not equal to ``expected``."""
        received = self._elements.next(f"{self._name} did not call register_on_next({named(expected)})")
        if not same(received, expected):
            self.env.flop(f"{self._name} reported on_next({named(received)}) instead of on_next({named(expected)})")

    def expect_completion(self) -> None:
        """Wait for ``on_complete``; record an error if it does not arrive."""
        self._elements.expect_completion(f"{self._name} did not call register_on_complete()")

    def expect_error(self, expected: BaseException) -> None:
        """Wait for ``on_error``; record an error if it does not carry the same object."""
        self._error.expect_close(f"{self._name} did not call register_on_error({expected!r})")
        if self._error.is_closed and self._error.value is not expected:
            self.env.flop(
                f"{self._name} reported on_error({quoted(self._error.value)}) instead of on_error({expected!r})"
            )

    def expect_none(self) -> None:
        """Record an error if an element or ``on_complete`` arrives.

        Waits for ``no_signals_timeout``.
        """
        self._elements.expect_none()


class WhiteboxProbe(Probe[T]):
    """Receives the reports of a Subscriber under test.

    The Subscriber calls ``register_on_next`` in ``on_next``, and the other ``register_`` methods accordingly.
    """

    def __init__(self, env: TestEnvironment, subscriber: Promise[Subscriber[T]]) -> None:
        super().__init__(env, subscriber)
        self._puppet: Promise[SubscriberPuppet] = Promise(env)

    def register_on_subscribe(self, puppet: SubscriberPuppet) -> None:
        """Call this in on_subscribe if the Subscription is accepted."""
        if not self._puppet.is_closed:
            self._puppet.complete(puppet)

    @property
    def puppet(self) -> SubscriberPuppet:
        """The registered puppet; each call is limited by ``hook_timeout``."""
        return _TimedPuppet(self.env, self._puppet.value)

    def expect_puppet(self) -> None:
        """Wait for the call of ``register_on_subscribe``."""
        self._puppet.expect_close(f"{self._name} did not call register_on_subscribe")
        self.env.verify_no_async_errors_no_delay()


class _TimedPuppet(SubscriberPuppet):
    def __init__(self, env: TestEnvironment, puppet: SubscriberPuppet) -> None:
        self._env = env
        self._puppet = puppet

    def trigger_request(self, elements: int) -> None:
        self._env.timed(f"puppet.trigger_request({elements})", lambda: self._puppet.trigger_request(elements))

    def signal_cancel(self) -> None:
        self._env.timed("puppet.signal_cancel()", self._puppet.signal_cancel)


class BlackboxProxy(Probe[T], Subscriber[T]):
    """Forwards signals to a Subscriber under test; records all but on_subscribe."""

    def __init__(self, env: TestEnvironment, subscriber: Subscriber[T]) -> None:
        promise: Promise[Subscriber[T]] = Promise(env)
        promise.complete(subscriber)
        super().__init__(env, promise)
        self.subscriber = subscriber

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscriber.on_subscribe(subscription)

    def on_next(self, element: T, /) -> None:
        self.register_on_next(element)
        self.subscriber.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self.register_on_error(error)
        self.subscriber.on_error(error)

    def on_complete(self) -> None:
        self.register_on_complete()
        self.subscriber.on_complete()
