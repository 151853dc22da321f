"""What the demo says after the pipeline has run, and the numbers that it lets Spark judge."""

from __future__ import annotations

from collections.abc import Sequence

from pyrs._demo.expected import Check, Expected
from pyrs._demo.java import Java
from pyrs._demo.pipeline import BUFFER, Pipeline
from pyrs._demo.screen import Screen
from pyrs.jvm import Bridge

_SAMPLES = 2


def what_each_stage_saw(screen: Screen, pipeline: Pipeline) -> None:
    """Counts and a few samples, from both sides."""
    processor, taken = pipeline.processor, pipeline.subscriber.taken
    screen.say("\nWhat each stage saw")
    screen.fact("Reactor Flux (JVM)", f"published {pipeline.published.size():,} lines")
    _samples(screen, _java_samples(pipeline.published))
    screen.fact(
        "RatingProcessor (Python)", f"saw {processor.seen.count:,} lines, kept {processor.kept.count:,} ratings"
    )
    _samples(screen, processor.kept.samples)
    screen.fact("SubmissionPublisher (JVM)", f"was given {pipeline.submitted.size():,} Java objects")
    _samples(screen, _java_samples(pipeline.submitted))
    screen.fact("PatientSubscriber (Python)", f"took {taken.count:,} ratings")
    _samples(screen, taken.samples)


def what_was_in_flight(screen: Screen, bridge: Bridge, pipeline: Pipeline, batch: int) -> None:
    """Demand and what it held back."""
    requests = pipeline.requests
    screen.say("\nThe demand that crossed, against the data")
    screen.fact("PatientSubscriber asked for", f"{pipeline.subscriber.demand:,}, {batch} at a time")
    screen.fact("RatingProcessor was asked for", f"{pipeline.processor.demand:,}")
    screen.fact(
        "Reactor was asked for",
        f"{requests.getSum():,}, in {requests.getCount():,} requests, the largest for {requests.getMax():,}",
    )
    screen.say("\nThe largest number of elements in flight")
    screen.fact(
        "one stream across the link", f"{bridge.stats()['largest_in_flight']:,} asked for and not yet delivered"
    )
    screen.fact(
        "Processor to Subscriber",
        f"{pipeline.subscriber.largest_in_flight:,}, {BUFFER} of which the SubmissionPublisher may hold",
    )


def checks_of(pipeline: Pipeline, expected: Expected, laps: int) -> list[Check]:
    """Every count of the pipeline beside Spark's."""
    lines, kept, processor = laps * expected.lines, laps * expected.kept, pipeline.processor
    taken = pipeline.subscriber.taken
    return [
        Check("lines that Reactor published", pipeline.published.size(), lines),
        Check("lines that the Processor saw", processor.seen.count, lines),
        Check("stars that the Processor saw", processor.seen.stars, laps * expected.stars),
        Check("ratings that the Processor kept", processor.kept.count, kept),
        Check("stars that the Processor kept", processor.kept.stars, laps * expected.kept_stars),
        Check("ratings that were submitted", pipeline.submitted.size(), kept),
        Check("ratings that the Subscriber took", taken.count, kept),
        Check("stars that the Subscriber took", taken.stars, laps * expected.kept_stars),
    ]


def verdict(screen: Screen, checks: Sequence[Check]) -> None:
    """Each number, right or wrong."""
    screen.title("3. The counts, beside Spark's own SQL over the same file")
    for check in checks:
        screen.say(f"  {'right' if check.right else 'WRONG'}  {check}")
    if all(check.right for check in checks):
        screen.say(f"\nAll {len(checks)} are right.")


def _java_samples(noted: Java) -> list[str]:
    """A few elements as Java sees them, after the name of their class."""
    first = noted.subList(0, min(_SAMPLES, noted.size())).toArray()
    return [f"{_class_name(each)}  {each if isinstance(each, str) else each.toString()}" for each in first]


def _class_name(element: Java) -> str:
    # Py4J makes a Python str of a Java one, and of a map something that still can be asked.
    return "java.lang.String" if isinstance(element, str) else str(element.getClass().getName())


def _samples(screen: Screen, samples: Sequence[object]) -> None:
    for sample in samples[:_SAMPLES]:
        screen.fact("", f"  {sample!r}" if not isinstance(sample, str) else f"  {sample}")
