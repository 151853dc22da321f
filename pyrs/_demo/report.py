"""Compare the pipeline's counts with Spark SQL's, and the bridge with Py4J.

The race measures the throughput of the bridge and of a Py4J proxy, from a Flux to a Subscriber.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pyrs._demo.driver import DemoError
from pyrs._demo.pipeline import BUFFER, Java, Pipeline
from pyrs._demo.screen import Screen
from pyrs._demo.stages import KEEP_FROM, PatientSubscriber, Tally
from pyrs.jvm import Bridge

_SAMPLES = 2


class ExpectedCounts(NamedTuple):
    """Counts and sums of one pass over the file, computed by Spark SQL."""

    lines: int
    stars: float
    kept: int
    kept_stars: float


class Check(NamedTuple):
    """One measured number and its expected value."""

    what: str
    got: float
    expected: float

    @property
    def right(self) -> bool:
        """Return True if the measured number equals the expected one."""
        return self.got == self.expected

    def __str__(self) -> str:
        return f"{self.what}: {self.got:,g}" + ("" if self.right else f", but Spark counted {self.expected:,g}")


def expected_of(table: Any) -> ExpectedCounts:
    """Let Spark count the ratings and sum their stars."""
    stars = "double(split(value, '::')[2])"
    kept = f"{stars} >= {KEEP_FROM}"
    row = table.selectExpr("count(*)", f"sum({stars})", f"count_if({kept})", f"sum(if({kept}, {stars}, 0))").first()
    return ExpectedCounts(*row)


def show_stages(screen: Screen, pipeline: Pipeline) -> None:
    """Show each stage's count and a few samples."""
    processor, taken = pipeline.processor, pipeline.subscriber.taken
    screen.say("\nThe elements at each stage")
    screen.fact("Reactor Flux (JVM)", f"published {pipeline.published.size():,} lines")
    _samples(screen, _java_samples(pipeline.published))
    seen, kept = processor.seen.count, processor.kept.count
    screen.fact("RatingProcessor (Python)", f"saw {seen:,} lines, kept {kept:,} ratings")
    _samples(screen, processor.kept.samples)
    screen.fact("SubmissionPublisher (JVM)", f"received {pipeline.submitted.size():,} Java objects")
    _samples(screen, _java_samples(pipeline.submitted))
    screen.fact("PatientSubscriber (Python)", f"received {taken.count:,} ratings")
    _samples(screen, taken.samples)


def show_demand(screen: Screen, bridge: Bridge, pipeline: Pipeline, batch: int) -> None:
    """Show the demand at each stage and the largest number of elements in flight."""
    requests, subscriber = pipeline.requests, pipeline.subscriber
    count, largest = requests.getCount(), requests.getMax()
    screen.say("\nDemand")
    screen.fact("PatientSubscriber requested", f"{subscriber.demand:,}, {batch} at a time")
    screen.fact("RatingProcessor received", f"{pipeline.processor.demand:,}")
    screen.fact("Reactor received", f"{requests.getSum():,}, in {count:,} requests, the largest for {largest:,}")
    in_flight, buffered = subscriber.largest_in_flight, f"{BUFFER} of which the SubmissionPublisher may buffer"
    screen.say("\nThe largest number of elements in flight")
    screen.fact("one stream across the link", f"{bridge.stats()['largest_in_flight']:,} requested and undelivered")
    screen.fact("Processor to Subscriber", f"{in_flight:,}, {buffered}")


def checks_of(pipeline: Pipeline, expected: ExpectedCounts, laps: int) -> list[Check]:
    """Pair every count of the pipeline with Spark's count."""
    lines, stars, kept, kept_stars = (laps * number for number in expected)
    processor, taken = pipeline.processor, pipeline.subscriber.taken
    return [
        Check("lines that Reactor published", pipeline.published.size(), lines),
        Check("lines that the Processor saw", processor.seen.count, lines),
        Check("stars that the Processor saw", processor.seen.stars, stars),
        Check("ratings that the Processor kept", processor.kept.count, kept),
        Check("stars that the Processor kept", processor.kept.stars, kept_stars),
        Check("ratings that were submitted", pipeline.submitted.size(), kept),
        Check("ratings that the Subscriber received", taken.count, kept),
        Check("stars that the Subscriber received", taken.stars, kept_stars),
    ]


def show_checks(screen: Screen, checks: Sequence[Check]) -> None:
    """Show each number as right or wrong."""
    screen.title("3. The counts compared with Spark SQL over the same file")
    for check in checks:
        screen.say(f"  {'right' if check.right else 'WRONG'}  {check}")
    if all(check.right for check in checks):
        screen.say(f"\nAll {len(checks)} are right.")


def _java_samples(elements: Java) -> list[str]:
    """Format the first elements with the names of their Java classes."""
    first = elements.subList(0, min(_SAMPLES, elements.size())).toArray()
    # Py4J converts a Java String to a Python str; every other object still has getClass().
    return [
        f"java.lang.String  {each}" if isinstance(each, str) else f"{each.getClass().getName()}  {each.toString()}"
        for each in first
    ]


def _samples(screen: Screen, samples: Sequence[object]) -> None:
    for sample in samples[:_SAMPLES]:
        screen.fact("", f"  {sample}")


DEMAND = 64
_DEADLINE_SECONDS = 60.0


class NaiveSubscriber:
    """A Py4J proxy, as PySpark users write it today: one callback per signal."""

    class Java:
        """The interfaces that Py4J's proxy implements."""

        implements = ("org.reactivestreams.Subscriber",)

    def __init__(self, subscriber: PatientSubscriber) -> None:
        self.onSubscribe = subscriber.on_subscribe
        self.onNext = subscriber.on_next
        self.onError = lambda error: subscriber.on_error(RuntimeError(str(error)))
        self.onComplete = subscriber.on_complete


def race(subscribe: Callable[[PatientSubscriber], Any]) -> tuple[Tally, float]:
    """Subscribe to rating lines; return their tally and their number per second."""
    subscriber = PatientSubscriber(DEMAND, lambda line: int(line[-1]))
    begun = time.perf_counter()
    subscribe(subscriber)
    ended, taken = subscriber.ended.wait(_DEADLINE_SECONDS), subscriber.taken
    seconds = time.perf_counter() - begun
    if not ended or subscriber.error is not None:
        reason = subscriber.error or f"it did not end within {_DEADLINE_SECONDS:.0f} seconds"
        raise DemoError(f"the race failed after {taken.count} elements: {reason}")
    return taken, taken.count / seconds
