"""Connect Reactor, a Processor, SubmissionPublisher and a Subscriber.

The Processor and the Subscriber are in Python.
"""

from __future__ import annotations

from typing import Any

from pyrs._demo.stages import PatientSubscriber, RatingProcessor
from pyrs.jvm import Bridge

Java = Any
"""Py4J's ``jvm`` view, or an object of the JVM: Py4J has no static types."""
BUFFER = 16
"""The number of elements that the SubmissionPublisher buffers before ``submit`` blocks."""


def flux_of(jvm: Java, lines: Java, laps: int) -> Java:
    """Return a Reactor Flux that emits the lines ``laps`` times."""
    return jvm.reactor.core.publisher.Flux.fromIterable(lines).repeat(laps - 1)


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
        """Connect the stages from last to first. Nothing flows before all are connected."""
        jvm, bridge = self._jvm, self._bridge
        concurrent, java = jvm.java.util.concurrent, jvm.java.lang
        consumer, anything = "java.util.function.Consumer", java.Class.forName("java.lang.Object")
        throwable = java.Class.forName("java.lang.Throwable")

        # 4. The Python Subscriber subscribes to the JDK's Flow.Publisher.
        submission = concurrent.SubmissionPublisher(concurrent.ForkJoinPool.commonPool(), BUFFER)
        bridge.from_jvm(submission).subscribe(self.subscriber)

        # 3. The Processor's elements go to the SubmissionPublisher. While its buffer is full, submit() blocks, which
        # slows the Processor.
        processor = bridge.to_jvm(self.processor)
        getattr(jvm.reactor.core.publisher.Flux, "from")(processor).limitRate(BUFFER).doOnNext(
            self._method(consumer, self.submitted, "add", java.Boolean.TYPE, anything)
        ).subscribe(
            self._method(consumer, submission, "submit", java.Integer.TYPE, anything),
            self._method(consumer, submission, "closeExceptionally", java.Void.TYPE, throwable),
            self._method("java.lang.Runnable", submission, "close", java.Void.TYPE),
        )

        # 2. The Python Processor becomes a Java Subscriber. 1. It subscribes to Reactor's Flux, which then starts.
        flux_of(jvm, lines, laps).doOnRequest(self.requests).doOnNext(
            self._method(consumer, self.published, "add", java.Boolean.TYPE, anything)
        ).subscribe(processor)

    def progress(self) -> tuple[int, ...]:
        """Return the counts of the elements at each stage of the pipeline.

        The counts are those of elements published, seen, kept, submitted, taken and requested. The counters are read
        from the last stage to the first, so no stage appears to be ahead of its upstream.
        """
        requested, taken = self.subscriber.demand, self.subscriber.taken.count
        submitted = self.submitted.size()
        kept, seen = self.processor.kept.count, self.processor.seen.count
        return self.published.size(), seen, kept, submitted, taken, requested

    def _method(self, interface: str, target: Java, name: str, result: Java, *arguments: Java) -> Java:
        """Return Java's ``target::name`` as an object that Java calls within the JVM."""
        invoke = self._jvm.java.lang.invoke
        shape = invoke.MethodType.methodType(result, list(arguments))
        method = invoke.MethodHandles.publicLookup().findVirtual(target.getClass(), name, shape).bindTo(target)
        return invoke.MethodHandleProxies.asInterfaceInstance(self._jvm.java.lang.Class.forName(interface), method)
