"""The pipeline: Reactor -> Python Processor -> SubmissionPublisher -> Python Subscriber, without a line of Java."""

from __future__ import annotations

from dataclasses import dataclass

from pyrs._demo.java import Java, class_named, flux_of, method_as
from pyrs._demo.stages import PatientSubscriber, RatingProcessor
from pyrs.jvm import Bridge

BUFFER = 16
"""How many elements the SubmissionPublisher holds before it makes its caller wait."""


@dataclass(frozen=True)
class Progress:
    """How far each stage has come, now."""

    published: int
    seen: int
    kept: int
    submitted: int
    taken: int
    asked: int


class Pipeline:
    """One run of the four stages over one bridge: `start` it, look at its `progress`, wait for ``subscriber.ended``."""

    def __init__(self, bridge: Bridge, jvm: Java, processor: RatingProcessor, subscriber: PatientSubscriber) -> None:
        self.processor = processor
        self.subscriber = subscriber
        # Java objects that note what happens in the JVM: two lists of what passed, and a LongConsumer that adds up
        # what was requested of Reactor.
        self.published = jvm.java.util.Vector()
        self.submitted = jvm.java.util.Vector()
        self.requests = jvm.java.util.LongSummaryStatistics()
        self._bridge = bridge
        self._jvm = jvm

    def start(self, lines: Java, laps: int) -> None:
        """Joins the stages from the last to the first: nothing flows before all are there."""
        jvm, bridge = self._jvm, self._bridge
        concurrent, flux = jvm.java.util.concurrent, jvm.reactor.core.publisher.Flux
        consumer, runnable = "java.util.function.Consumer", "java.lang.Runnable"
        anything, throwable = class_named(jvm, "java.lang.Object"), class_named(jvm, "java.lang.Throwable")
        no_value, integer, boolean = jvm.java.lang.Void.TYPE, jvm.java.lang.Integer.TYPE, jvm.java.lang.Boolean.TYPE

        # 4. The Python Subscriber takes the JDK's Flow.Publisher for a Python stream.
        submission = concurrent.SubmissionPublisher(concurrent.ForkJoinPool.commonPool(), BUFFER)
        bridge.from_jvm(submission).subscribe(self.subscriber)

        # 3. What the Processor publishes is submitted to it. While it is full submit() waits: that holds all back.
        processor = bridge.to_jvm(self.processor)
        getattr(flux, "from")(processor).limitRate(BUFFER).doOnNext(
            method_as(jvm, consumer, self.submitted, "add", boolean, anything)
        ).subscribe(
            method_as(jvm, consumer, submission, "submit", integer, anything),
            method_as(jvm, consumer, submission, "closeExceptionally", no_value, throwable),
            method_as(jvm, runnable, submission, "close", no_value),
        )

        # 2. The Processor, a Python object, is a Subscriber that Reactor can have. 1. And Reactor begins.
        flux_of(jvm, lines, laps).doOnRequest(self.requests).doOnNext(
            method_as(jvm, consumer, self.published, "add", boolean, anything)
        ).subscribe(processor)

    def progress(self) -> Progress:
        """What each stage has seen so far, the last one first: so no stage seems to be ahead of the one before it."""
        asked, taken = self.subscriber.demand, self.subscriber.taken.count
        submitted = self.submitted.size()
        kept, seen = self.processor.kept.count, self.processor.seen.count
        return Progress(self.published.size(), seen, kept, submitted, taken, asked)
