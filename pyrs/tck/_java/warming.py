"""A first test that loads the classes of the official TCK, so that no measured test waits for them."""

from __future__ import annotations

from typing import Any

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck.environment import TestEnvironment
from pyrs.tck.publisher_verification import PublisherVerification

__all__ = ["TEST", "WarmingVerification"]

TEST = "required_createPublisher3MustProduceAStreamOfExactly3Elements"


class _One(Publisher[int], Subscription):
    """Publishes the requested elements on the requesting thread."""

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
    """Has timeouts that suffice for loading the classes on a slow machine."""

    environment = TestEnvironment(timeout=10.0, hook_timeout=10.0, deadline=30.0)

    def create_publisher(self, elements: int) -> Any:
        """Create a Publisher of a few elements."""
        return _One(elements)
