"""Connect Reactor, a Python Processor, SubmissionPublisher and a Python Subscriber."""

from __future__ import annotations

from dataclasses import dataclass

from pyrs._demo.java import Java, class_named, flux_of, method_as
from pyrs._demo.stages import PatientSubscriber, RatingProcessor
from pyrs.jvm import Bridge

BUFFER = 16
"""The number of elements that the SubmissionPublisher buffers before ``submit`` blocks."""


@dataclass(frozen=True)
class PipelineProgress:
    """The elements that each stage has processed so far."""

    published: int
    seen: int
    kept: int
    submitted: int
    taken: int
    requested: int


class Pipeline:
    """One run of the four stages over one bridge.

    Call ``start``, read ``progress``, and wait for ``subscriber.ended``.
    """

    def __init__(self, bridge: Bridge, jvm: Java, processor: RatingProcessor, subscriber: PatientSubscriber) -> None:
        self.processor = processor
        self.subscriber = subscriber
        # Java objects that record what happens in the JVM: two lists of elements, and a LongConsumer that sums the
        # demand that Reactor receives.
        self.published = jvm.java.util.Vector()
        self.submitted = jvm.java.util.Vector()
        self.requests = jvm.java.util.LongSummaryStatistics()
        self._bridge = bridge
        self._jvm = jvm

    def start(self, lines: Java, laps: int) -> None:
        """Connect the stages from last to first, so that nothing flows before all are connected."""
        jvm, bridge = self._jvm, self._bridge
        concurrent, flux = jvm.java.util.concurrent, jvm.reactor.core.publisher.Flux
        consumer, runnable = "java.util.function.Consumer", "java.lang.Runnable"
        anything, throwable = class_named(jvm, "java.lang.Object"), class_named(jvm, "java.lang.Throwable")
        no_value, integer, boolean = jvm.java.lang.Void.TYPE, jvm.java.lang.Integer.TYPE, jvm.java.lang.Boolean.TYPE

        # 4. The Python Subscriber subscribes to the JDK's Flow.Publisher.
        submission = concurrent.SubmissionPublisher(concurrent.ForkJoinPool.commonPool(), BUFFER)
        bridge.from_jvm(submission).subscribe(self.subscriber)

        # 3. The Processor's elements are submitted to it. While its buffer is full, submit() blocks: back pressure.
        processor = bridge.to_jvm(self.processor)
        getattr(flux, "from")(processor).limitRate(BUFFER).doOnNext(
            method_as(jvm, consumer, self.submitted, "add", boolean, anything)
        ).subscribe(
            method_as(jvm, consumer, submission, "submit", integer, anything),
            method_as(jvm, consumer, submission, "closeExceptionally", no_value, throwable),
            method_as(jvm, runnable, submission, "close", no_value),
        )

        # 2. The Python Processor becomes a Java Subscriber. 1. Reactor's Flux subscribes it and starts.
        flux_of(jvm, lines, laps).doOnRequest(self.requests).doOnNext(
            method_as(jvm, consumer, self.published, "add", boolean, anything)
        ).subscribe(processor)

    def progress(self) -> PipelineProgress:
        """Read the counters from the last stage to the first.

        In this order no stage appears to be ahead of its upstream.
        """
        requested, taken = self.subscriber.demand, self.subscriber.taken.count
        submitted = self.submitted.size()
        kept, seen = self.processor.kept.count, self.processor.seen.count
        return PipelineProgress(self.published.size(), seen, kept, submitted, taken, requested)
