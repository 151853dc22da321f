"""The pipeline's two Python stages, written against the four interfaces without operators."""

from __future__ import annotations

import threading
from typing import Any

from pyrs.api import Processor, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.publishers.basic import error

Rating = dict[str, Any]
KEEP_FROM = 3.0


def parsed(line: str) -> Rating:
    """Parse ``"0::2::3"`` to ``{"user": 0, "movie": 2, "stars": 3.0}``."""
    user, movie, stars = line.split("::")
    return {"user": int(user), "movie": int(movie), "stars": float(stars)}


class Tally:
    """The count, the sum of stars and the first elements of one stage."""

    def __init__(self, samples: int = 3) -> None:
        self.count = 0
        self.stars = 0.0
        self.samples: list[object] = []
        self._wanted = samples

    def add(self, element: object, stars: float) -> None:
        """Count one element."""
        self.count += 1
        self.stars += stars
        if len(self.samples) < self._wanted:
            self.samples.append(element)


class RatingProcessor(Processor[str, Rating]):
    """Parse each line, add the movie's mean so far, and keep the good ratings.

    It accepts one Subscriber.

    Demand: requests go upstream unchanged, and each rejected rating requests one more. So the Processor buffers
    nothing and never requests more than downstream demands.
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
            subscriber.on_subscribe(_Demand(self))

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
            downstream.on_subscribe(_Demand(self))

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

    def requested(self, n: int) -> None:
        """Forward a request from downstream."""
        self.demand += n
        if self._upstream is not None:
            self._upstream.request(n)

    def cancelled(self) -> None:
        """Forward a cancellation from downstream."""
        if self._upstream is not None:
            self._upstream.cancel()


class _Demand(Subscription):
    """The Subscription that downstream receives."""

    def __init__(self, processor: RatingProcessor) -> None:
        self._processor = processor

    def request(self, n: int, /) -> None:
        self._processor.requested(n)

    def cancel(self) -> None:
        self._processor.cancelled()


class PatientSubscriber(Subscriber[Rating]):
    """Request a batch, process it, pause, and request the next.

    It also reads the Processor's count, to measure the number of ratings in flight between the two.
    """

    def __init__(self, batch: int, rest_seconds: float, processor: RatingProcessor) -> None:
        self.taken = Tally()
        self.demand = 0
        self.largest_in_flight = 0
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._batch = batch
        self._rest_seconds = rest_seconds
        self._processor = processor
        self._left = 0
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self._subscription is not None:
            subscription.cancel()
            return
        self._subscription = subscription
        self._request_batch()

    def on_next(self, rating: Rating, /) -> None:
        # The number in flight grows until an element arrives, so its maximum is read here.
        self.largest_in_flight = max(self.largest_in_flight, self._processor.kept.count - self.taken.count)
        self.taken.add(rating, rating["stars"])
        self._left -= 1
        if not self._left:
            # This simulates slow work. It may block: the thread serves this stream only.
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
