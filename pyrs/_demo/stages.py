"""The demo's Python stages, written against the four interfaces without operators."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pyrs.api import Processor, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.publishers.basic import error

Rating = dict[str, Any]
KEEP_FROM = 3.0
_SAMPLES = 3


def parsed(line: str) -> Rating:
    """Parse ``"0::2::3"`` to ``{"user": 0, "movie": 2, "stars": 3.0}``."""
    user, movie, stars = line.split("::")
    return {"user": int(user), "movie": int(movie), "stars": float(stars)}


class Tally:
    """The count, the sum of stars and the first elements of one stage."""

    def __init__(self) -> None:
        self.count = 0
        self.stars = 0.0
        self.samples: list[object] = []

    def add(self, element: object, stars: float) -> None:
        """Count one element."""
        self.count += 1
        self.stars += stars
        if self.count <= _SAMPLES:
            self.samples.append(element)


class RatingProcessor(Processor[str, Rating], Subscription):
    """Parse each line, add the movie's mean so far, and keep the good ratings.

    It accepts one Subscriber, and is that Subscriber's Subscription.

    Demand: requests are forwarded unchanged, and each rejected rating requests one more element. Therefore the
    Processor buffers nothing and never has more outstanding demand upstream than downstream.
    """

    def __init__(self) -> None:
        self.seen = Tally()
        self.kept = Tally()
        self.demand = 0
        self._means: dict[int, tuple[int, float]] = {}
        self._upstream: Subscription | None = None
        self._downstream: Subscriber[Rating] | None = None
        self._joined = threading.Lock()

    # As a Publisher.

    def subscribe(self, subscriber: Subscriber[Rating], /) -> None:
        if subscriber is None:
            raise NullSignal("subscribe(None): a Subscriber is needed", rule="1.9")
        with self._joined:
            first = self._downstream is None
            if first:
                self._downstream = subscriber
            ready = first and self._upstream is not None
        if not first:
            error(RuntimeError("a RatingProcessor has one Subscriber")).subscribe(subscriber)
        elif ready:
            subscriber.on_subscribe(self)

    # As a Subscriber.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        with self._joined:
            first = self._upstream is None
            if first:
                self._upstream = subscription
            downstream = self._downstream
        if not first:
            subscription.cancel()
        elif downstream is not None:
            downstream.on_subscribe(self)

    def on_next(self, line: str, /) -> None:
        assert self._upstream is not None and self._downstream is not None, "on_next before any request"
        rating = parsed(line)
        self.seen.add(line, rating["stars"])
        if rating["stars"] < KEEP_FROM:
            self._upstream.request(1)
            return
        count, mean = self._means.get(rating["movie"], (0, 0.0))
        mean += (rating["stars"] - mean) / (count + 1)
        self._means[rating["movie"]] = (count + 1, mean)
        rating["mean"] = round(mean, 2)
        self.kept.add(rating, rating["stars"])
        self._downstream.on_next(rating)

    def on_error(self, failure: BaseException, /) -> None:
        if self._downstream is not None:
            self._downstream.on_error(failure)

    def on_complete(self) -> None:
        if self._downstream is not None:
            self._downstream.on_complete()

    # As a Subscription.

    def request(self, n: int, /) -> None:
        self.demand += n
        if self._upstream is not None:
            self._upstream.request(n)

    def cancel(self) -> None:
        if self._upstream is not None:
            self._upstream.cancel()


class PatientSubscriber(Subscriber[Any]):
    """Request a batch, process it, pause for ``rest_seconds``, and request the next."""

    def __init__(
        self, batch: int, stars_of: Callable[[Any], float], rest_seconds: float = 0.0, emitted: Tally | None = None
    ) -> None:
        self.taken = Tally()
        self.demand = 0
        self.largest_in_flight = 0
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._batch = batch
        self._stars_of = stars_of
        self._rest_seconds = rest_seconds
        self._emitted = emitted  # the tally of the previous stage, to count the elements in flight
        self._left = 0
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self._subscription is not None:
            subscription.cancel()
            return
        self._subscription = subscription
        self._request_batch()

    def on_next(self, element: Any, /) -> None:
        if self._emitted is not None:
            # The number in flight grows until an element arrives, so its maximum is read here.
            self.largest_in_flight = max(self.largest_in_flight, self._emitted.count - self.taken.count)
        self.taken.add(element, self._stars_of(element))
        self._left -= 1
        if not self._left:
            if self._rest_seconds:
                # This simulates slow work. It may block, because other streams run on other threads.
                self.ended.wait(self._rest_seconds)
            self._request_batch()

    def on_error(self, error: BaseException, /) -> None:
        self.error = error
        self.ended.set()

    def on_complete(self) -> None:
        self.ended.set()

    def _request_batch(self) -> None:
        assert self._subscription is not None
        self._left = self._batch
        self.demand += self._batch
        self._subscription.request(self._batch)
