"""The two Python stages of the pipeline, written out as the four interfaces have them: no operator, no helper."""

from __future__ import annotations

import threading
from typing import Any

from pyrs.api import Processor, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.publishers.basic import error

Rating = dict[str, Any]
KEEP_FROM = 3.0


def parsed(line: str) -> Rating:
    """``"0::2::3"`` as ``{"user": 0, "movie": 2, "stars": 3.0}``."""
    user, movie, stars = line.split("::")
    return {"user": int(user), "movie": int(movie), "stars": float(stars)}


class Tally:
    """What one stage saw: how many, how many stars in all, and the first few."""

    def __init__(self, samples: int = 3) -> None:
        self.count = 0
        self.stars = 0.0
        self.samples: list[object] = []
        self._wanted = samples

    def add(self, element: object, stars: float) -> None:
        """Counts one element."""
        self.count += 1
        self.stars += stars
        if len(self.samples) < self._wanted:
            self.samples.append(element)


class RatingProcessor(Processor[str, Rating]):
    """Parses each line, adds the movie's mean so far, and keeps the good ratings. For one Subscriber, that comes first.

    Demand: what downstream requests goes upstream as it is, and one more for each rating that is not kept. So it never
    holds an element, and it never asks for one that nobody wants.
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
        assert self._upstream is not None and self._downstream is not None, "nothing was requested yet"
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
        """Downstream asked for n more."""
        self.demand += n
        if self._upstream is not None:
            self._upstream.request(n)

    def cancelled(self) -> None:
        """Downstream wants no more."""
        if self._upstream is not None:
            self._upstream.cancel()


class _Demand(Subscription):
    """What downstream holds of the Processor."""

    def __init__(self, processor: RatingProcessor) -> None:
        self._processor = processor

    def request(self, n: int, /) -> None:
        self._processor.requested(n)

    def cancel(self) -> None:
        self._processor.cancelled()


class PatientSubscriber(Subscriber[Rating]):
    """Takes a few at a time, rests after each few, and only then asks for as many again.

    It watches the Processor's count too, to see how many ratings are on their way from there to here.
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
        self._ask()

    def on_next(self, rating: Rating, /) -> None:
        # What is under way grows until an element arrives, so that is when its largest number can be read.
        self.largest_in_flight = max(self.largest_in_flight, self._processor.kept.count - self.taken.count)
        self.taken.add(rating, rating["stars"])
        self._left -= 1
        if not self._left:
            # The work that makes it slow. It may block: this thread belongs to this stream alone.
            self.ended.wait(self._rest_seconds)
            self._ask()

    def on_error(self, error: BaseException, /) -> None:
        self.error = error
        self.ended.set()

    def on_complete(self) -> None:
        self.ended.set()

    def _ask(self) -> None:
        assert self._subscription is not None
        self._left = self._batch
        self.demand += self._batch
        self._subscription.request(self._batch)
