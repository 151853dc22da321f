"""The four interfaces of Reactive Streams, and nothing else.

They are ``typing.Protocol`` classes whose methods are also abstract: an object of somebody else's class counts
as a Publisher when it has the methods, and a class that derives from one of them cannot be made without them.

The grammar of what a Subscriber is told, after ``publisher.subscribe(subscriber)``:

    on_subscribe on_next* (on_error | on_complete)?

Rule numbers are those of Reactive Streams 1.0.4; ``pyrs.rules`` holds the 43 of them as data.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["Processor", "Publisher", "Subscriber", "Subscription"]

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@runtime_checkable
class Subscription(Protocol):
    """What links one Subscriber to one Publisher. It can be used once, by that Subscriber only (3.1)."""

    @abstractmethod
    def request(self, n: int, /) -> None:
        """Ask for n more elements. No elements are sent before demand is signalled here.

        Demand adds up (3.8) to at most 2^63-1, which counts as unbounded (3.17). The Publisher may send fewer, if the
        stream ends before. Elements may be signalled from inside this call (3.10), never deeper than one level (3.3).
        After the end or a cancel it does nothing (3.6). n <= 0 is answered with ``on_error`` (3.9).
        """

    @abstractmethod
    def cancel(self) -> None:
        """Ask the Publisher to stop and to let go of the Subscriber.

        Elements that were requested before may still arrive (2.8). Calling it again does nothing (3.7). It may be
        called from any thread, returns quickly (3.5) and returns normally (3.15).
        """


@runtime_checkable
class Subscriber(Protocol[T_contra]):
    """Receives one ``on_subscribe`` and then what it asked for.

    Every method returns normally (2.13): a Subscriber that cannot go on cancels its Subscription.
    """

    @abstractmethod
    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Called once, before anything else (1.9). Nothing more comes until ``subscription.request`` was called (2.1).

        A Subscriber that has a Subscription already cancels the new one (2.5).
        """

    @abstractmethod
    def on_next(self, element: T_contra, /) -> None:
        """The next element, sent in answer to a request (1.1). Never None: that raises ``NullSignal`` (2.13)."""

    @abstractmethod
    def on_error(self, error: BaseException, /) -> None:
        """The stream failed. Nothing follows, even if ``request`` is called again (1.7, 2.4)."""

    @abstractmethod
    def on_complete(self) -> None:
        """The stream ended well. Nothing follows, even if ``request`` is called again (1.7, 2.4)."""


@runtime_checkable
class Publisher(Protocol[T_co]):
    """A provider of a potentially unbounded number of elements in sequence, published as they are demanded."""

    @abstractmethod
    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Start streaming to this Subscriber; may be called many times, each time with another Subscriber (1.10).

        Calls ``subscriber.on_subscribe`` first, and returns normally (1.9). A Publisher that cannot serve the
        Subscriber says so through ``on_error``, after ``on_subscribe``.

        Raises:
            NullSignal: the subscriber is None (1.9).
        """


@runtime_checkable
class Processor(Subscriber[T_contra], Publisher[R_co], Protocol[T_contra, R_co]):
    """A stage: both a Subscriber and a Publisher, bound by the rules of both (4.1)."""
