"""A first test whose verdict is nobody's: it loads the kit's classes, so that no other test waits for them."""

from __future__ import annotations

from typing import Any

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck.environment import TestEnvironment
from pyrs.tck.publisher_verification import PublisherVerification

__all__ = ["TEST", "WarmingVerification"]

TEST = "required_createPublisher3MustProduceAStreamOfExactly3Elements"


class _One(Publisher[int], Subscription):
    """Publishes as many as are requested, up to three."""

    def __init__(self, elements: int) -> None:
        self._left = elements
        self._subscriber: Subscriber[int] | None = None

    def subscribe(self, subscriber: Subscriber[int], /) -> None:
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int, /) -> None:
        assert self._subscriber is not None
        for _ in range(min(n, self._left)):
            self._left -= 1
            self._subscriber.on_next(self._left)
        if self._left == 0:
            self._subscriber.on_complete()

    def cancel(self) -> None:
        self._left = 0


class WarmingVerification(PublisherVerification[int]):
    """Waits as long as a slow machine may take to load what it needs."""

    environment = TestEnvironment(timeout=10.0, hook_timeout=10.0, deadline=30.0)

    def create_publisher(self, elements: int) -> Any:
        """Make a Publisher of a few elements."""
        return _One(elements)
