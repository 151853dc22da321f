"""The four interfaces of Reactive Streams.

They are ``typing.Protocol`` classes whose methods are also abstract: an object of a third-party class counts as a
Publisher if it has the methods, and a subclass cannot be instantiated without them.

After ``publisher.subscribe(subscriber)``, the Subscriber receives signals in this order:

    on_subscribe on_next* (on_error | on_complete)?

Rule numbers are those of Reactive Streams 1.0.4; ``pyrs.rules`` holds the 43 rules as data.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["Processor", "Publisher", "Subscriber", "Subscription"]

# Other modules import these type variables, too.
T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@runtime_checkable
class Subscription(Protocol):
    """Connects one Subscriber to its Publisher. Only that Subscriber calls it (§3.1)."""

    @abstractmethod
    def request(self, n: int, /) -> None:
        """Request ``n`` more elements.

        The Publisher emits no element without demand. Demand accumulates (§3.8) up to 2^63-1, which means unbounded
        (§3.17). The Publisher may emit fewer elements if the stream terminates first. It may emit from inside this call
        (§3.10), with bounded recursion (§3.3). After termination or ``cancel`` the call has no effect (§3.6). ``n <=
        0`` results in ``on_error`` (§3.9).
        """

    @abstractmethod
    def cancel(self) -> None:
        """Stop the stream: the Publisher stops emitting and releases the Subscriber.

        Elements requested earlier may still arrive (§2.8). Repeated calls have no effect (§3.7). May be called from any
        thread, returns quickly (§3.5) and returns normally (§3.15).
        """


@runtime_checkable
class Subscriber(Protocol[T_contra]):
    """Receives one ``on_subscribe``, then at most as many elements as it requests.

    Every method returns normally (§2.13). A Subscriber that cannot continue cancels its Subscription.
    """

    @abstractmethod
    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Receive the Subscription, once and before any other signal (§1.9).

        No other signal follows until ``subscription.request`` is called, except ``on_error`` and ``on_complete``
        (§2.1). A Subscriber that already has a Subscription cancels the new one (§2.5).
        """

    @abstractmethod
    def on_next(self, element: T_contra, /) -> None:
        """Receive a requested element (§1.1), or raise ``NullSignal`` for None (§2.13)."""

    @abstractmethod
    def on_error(self, error: BaseException, /) -> None:
        """Receive the error of a failed stream. No signal follows (§1.7, §2.4)."""

    @abstractmethod
    def on_complete(self) -> None:
        """Receive the completion of the stream. No signal follows (§1.7, §2.4)."""


@runtime_checkable
class Publisher(Protocol[T_co]):
    """A provider of a potentially unbounded sequence of elements, emitted on demand."""

    @abstractmethod
    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Start a stream to this Subscriber; each call starts another stream (§1.10).

        Calls ``subscriber.on_subscribe`` first, even before ``on_error`` of a rejection; returns normally (§1.9).

        Raises:
            NullSignal: ``subscriber`` is None (§1.9).
        """


@runtime_checkable
class Processor(Subscriber[T_contra], Publisher[R_co], Protocol[T_contra, R_co]):
    """A Subscriber that is also a Publisher, and obeys the rules of both (§4.1)."""
