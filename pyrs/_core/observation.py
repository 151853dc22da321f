"""Let telemetry observe the subscriptions of user code and of a JVM.

A terminal operation and ``Stream.subscribe`` pass the last operator of the chain through ``last_operator``, as
Reactor's ``Hooks.onLastOperator`` does. Operators do not, so inner streams are not observed. Without instrumentation
nothing is wrapped.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from pyrs._core.fusion import pull
from pyrs._core.iterating import IterablePublisher
from pyrs.api import Publisher, Subscriber, Subscription, T


class CountingSubscription(Subscription):
    """A Subscription that counts the delivered elements; telemetry reads the count."""

    @property
    @abstractmethod
    def delivered(self) -> int:
        """The number of elements that ``on_next`` was called with."""


class Instrumentation(Protocol):
    """Observes subscriptions."""

    def publisher(self, source: Publisher[T]) -> Publisher[T]:
        """Return a Publisher whose subscriptions are observed."""

    def subscriber(self, source: Publisher[Any], subscriber: Subscriber[T]) -> Subscriber[T]:
        """Return an observed Subscriber to use in place of this one."""

    def iterator(self, source: IterablePublisher[T], iterator: Generator[T, None, None]) -> Generator[T, None, None]:
        """Return an observed iterator to use in place of this one, without a Subscriber."""

    def awaited(self, source: Publisher[Any]) -> AbstractContextManager[object]:
        """Return a context manager that observes an ``await``, without a Subscriber."""


_instrumentation: Instrumentation | None = None


def set_instrumentation(instrumentation: Instrumentation | None) -> Instrumentation | None:
    """Set the observer of later subscriptions, or None; return the previous one."""
    global _instrumentation
    before, _instrumentation = _instrumentation, instrumentation
    return before


def last_operator(source: Publisher[T]) -> Publisher[T]:
    """Return the Publisher to subscribe to in place of the last operator."""
    return source if _instrumentation is None else _instrumentation.publisher(source)


def last_subscriber(source: Publisher[Any], subscriber: Subscriber[T]) -> Subscriber[T]:
    """Return the Subscriber to use in place of this one.

    Like ``last_operator``, but for a caller that does not call ``subscribe``.
    """
    return subscriber if _instrumentation is None else _instrumentation.subscriber(source, subscriber)


def pulled(source: IterablePublisher[T], observed: bool = True) -> Generator[T, None, None]:
    """Iterate over the chain of the last operator; each ``next`` requests one element."""
    iterator = pull(source.iterable, source.stages, source.name, source.site)
    return iterator if _instrumentation is None or not observed else _instrumentation.iterator(source, iterator)


def awaited(source: Publisher[Any]) -> AbstractContextManager[object]:
    """Return a context manager for the code that awaits the only element of a chain."""
    return nullcontext() if _instrumentation is None else _instrumentation.awaited(source)
