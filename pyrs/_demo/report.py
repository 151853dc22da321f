"""Report what the pipeline did, and list the numbers to compare with Spark's."""

from __future__ import annotations

from collections.abc import Sequence

from pyrs._demo.expected import Check, ExpectedCounts
from pyrs._demo.java import Java
from pyrs._demo.pipeline import BUFFER, Pipeline
from pyrs._demo.screen import Screen
from pyrs.jvm import Bridge

_SAMPLES = 2


def what_each_stage_saw(screen: Screen, pipeline: Pipeline) -> None:
    """Show each stage's count and a few samples."""
    processor, taken = pipeline.processor, pipeline.subscriber.taken
    screen.say("\nWhat each stage saw")
    screen.fact("Reactor Flux (JVM)", f"published {pipeline.published.size():,} lines")
    _samples(screen, _java_samples(pipeline.published))
    screen.fact(
        "RatingProcessor (Python)", f"saw {processor.seen.count:,} lines, kept {processor.kept.count:,} ratings"
    )
    _samples(screen, processor.kept.samples)
    screen.fact("SubmissionPublisher (JVM)", f"received {pipeline.submitted.size():,} Java objects")
    _samples(screen, _java_samples(pipeline.submitted))
    screen.fact("PatientSubscriber (Python)", f"received {taken.count:,} ratings")
    _samples(screen, taken.samples)


def what_was_in_flight(screen: Screen, bridge: Bridge, pipeline: Pipeline, batch: int) -> None:
    """Show the demand at each stage and the largest number of elements in flight."""
    requests = pipeline.requests
    screen.say("\nDemand")
    screen.fact("PatientSubscriber requested", f"{pipeline.subscriber.demand:,}, {batch} at a time")
    screen.fact("RatingProcessor received", f"{pipeline.processor.demand:,}")
    screen.fact(
        "Reactor received",
        f"{requests.getSum():,}, in {requests.getCount():,} requests, the largest for {requests.getMax():,}",
    )
    screen.say("\nThe largest number of elements in flight")
    screen.fact(
        "one stream across the link", f"{bridge.stats()['largest_in_flight']:,} requested and not yet delivered"
    )
    screen.fact(
        "Processor to Subscriber",
        f"{pipeline.subscriber.largest_in_flight:,}, {BUFFER} of which the SubmissionPublisher may buffer",
    )


def checks_of(pipeline: Pipeline, expected: ExpectedCounts, laps: int) -> list[Check]:
    """Pair every count of the pipeline with Spark's count."""
    lines, kept, processor = laps * expected.lines, laps * expected.kept, pipeline.processor
    taken = pipeline.subscriber.taken
    return [
        Check("lines that Reactor published", pipeline.published.size(), lines),
        Check("lines that the Processor saw", processor.seen.count, lines),
        Check("stars that the Processor saw", processor.seen.stars, laps * expected.stars),
        Check("ratings that the Processor kept", processor.kept.count, kept),
        Check("stars that the Processor kept", processor.kept.stars, laps * expected.kept_stars),
        Check("ratings that were submitted", pipeline.submitted.size(), kept),
        Check("ratings that the Subscriber received", taken.count, kept),
        Check("stars that the Subscriber received", taken.stars, laps * expected.kept_stars),
    ]


def verdict(screen: Screen, checks: Sequence[Check]) -> None:
    """Show each number as right or wrong."""
    screen.title("3. The counts compared with Spark SQL over the same file")
    for check in checks:
        screen.say(f"  {'right' if check.right else 'WRONG'}  {check}")
    if all(check.right for check in checks):
        screen.say(f"\nAll {len(checks)} are right.")


def _java_samples(elements: Java) -> list[str]:
    """Format the first elements with the names of their Java classes."""
    first = elements.subList(0, min(_SAMPLES, elements.size())).toArray()
    return [f"{_class_name(each)}  {each if isinstance(each, str) else each.toString()}" for each in first]


def _class_name(element: Java) -> str:
    # Py4J converts a Java String to a Python str; every other object still has getClass().
    return "java.lang.String" if isinstance(element, str) else str(element.getClass().getName())


def _samples(screen: Screen, samples: Sequence[object]) -> None:
    for sample in samples[:_SAMPLES]:
        screen.fact("", f"  {sample!r}" if not isinstance(sample, str) else f"  {sample}")
