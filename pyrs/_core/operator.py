"""Operators that consist of a Publisher of their own: what the user called, on which source, and where."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

from pyrs._core.sites import Site, assembly_site, blame
from pyrs._core.subscription import checked_subscriber
from pyrs.api import Publisher, Subscriber, Subscription

__all__ = ["Operator", "Startable"]

R_co = TypeVar("R_co", covariant=True)


class Operator(Publisher[R_co]):
    """A Publisher that is made of others: what the user wrote, and where.

    A subclass holds the operator's arguments and says in ``run`` what serves one Subscriber.

    Args:
        source: the Publisher that the operator was called on, None for one that has no such.
        call: what the user wrote, such as ``flat_map(load, concurrency=4)``.

    Attributes:
        site: the line of user code that assembled it.
    """

    carries_context = True

    def __init__(self, source: Publisher[Any] | None, call: str) -> None:
        self.source = source
        self.call = call
        self.site: Site | None = assembly_site()

    def subscribe(self, subscriber: Subscriber[R_co], /) -> None:
        self.run(checked_subscriber(subscriber)).start()

    @abstractmethod
    def run(self, subscriber: Subscriber[Any]) -> Startable:
        """Return what serves one Subscriber: usually a ``Coordinator`` or a ``Relay``."""

    def blame(self, error: BaseException) -> None:
        """Note on the error that it arose here."""
        blame(error, self.call, self.site)

    def __repr__(self) -> str:
        return self.call if self.source is None else f"{self.source!r}.{self.call}"


class Startable(Subscription):
    """A Subscription that begins by ``start``."""

    @abstractmethod
    def start(self) -> None:
        """Signal ``on_subscribe``, then subscribe to what is upstream. Called once."""
