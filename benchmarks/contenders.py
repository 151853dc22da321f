"""Contenders in the benchmarks of the bridge: pyrs, naive proxies of the gateway, and bare sockets as the limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any

import pyrs
from benchmarks import limits
from benchmarks.consumer import DEADLINE_SECONDS, FOREVER, Consumer, Stalled
from benchmarks.drivers import DEMAND, Driver
from benchmarks.measure import Contender
from pyrs.jvm.values.arrow import ipc_buffers

_BATCHES = 8
"""The number of Arrow batches that a Subscriber requests at a time."""


class Contenders:
    """Create the contenders for one driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._files = limits.FrameFiles()

    def close(self) -> None:
        self._files.close()

    def ours_to_python(
        self, source: str, elements: int, batch: int = DEMAND, *, name: str = "ours", busy: bool = False, **options: Any
    ) -> Contender:
        """Subscribe to a Java Publisher through the bridge, with requests of ``batch``."""

        def run(count: int) -> float:
            publisher = getattr(self._driver.java("Sources"), source)(count)
            stream = self._driver.bridge.from_jvm(publisher, **options)
            consumer = Consumer(batch)
            with _busy_thread(busy):
                start = time.perf_counter()
                stream.subscribe(consumer)
                consumer.wait(count)
                return time.perf_counter() - start

        return Contender(name, elements, run)

    def instrumented(self, contender: Contender, name: str = "ours") -> Contender:
        """Run another contender with spans and metrics, which an SDK records in memory."""
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        from pyrs import telemetry

        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
        trace.set_tracer_provider(provider)
        metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()]))

        def run(count: int) -> float:
            telemetry.instrument()
            try:
                return contender.run(count)
            finally:
                telemetry.uninstrument()

        return Contender(name, contender.elements, run)

    def naive_to_python(self, source: str, elements: int, batch: int = DEMAND) -> Contender:
        """Subscribe a proxy of the gateway to the same Publisher."""

        def run(count: int) -> float:
            publisher = getattr(self._driver.java("Sources"), source)(count)
            consumer = Consumer(batch)
            proxy = self._driver.naive_subscriber(consumer)
            start = time.perf_counter()
            publisher.subscribe(proxy)
            consumer.wait(count)
            return time.perf_counter() - start

        return Contender("naive", elements, run)

    def limit_to_python(
        self, source: Callable[[int], Iterator[object]], elements: int, *, batch: int = DEMAND, busy: bool = False
    ) -> Contender:
        """Receive the same bytes from a bare socket."""

        def run(count: int) -> float:
            port = self._driver.java("RawFeeder").feed(str(self._files.path(source, count)))
            with _busy_thread(busy):
                return limits.receive(int(port), Consumer(batch), count)

        return Contender("limit", elements, run)

    def limit_of_comprehension(self, elements: int) -> Contender:
        """Receive the longs from a bare socket, and transform them by a list comprehension."""

        def run(count: int) -> float:
            port = self._driver.java("RawFeeder").feed(str(self._files.path(limits.longs, count)))
            return limits.comprehend(int(port), count)

        return Contender("limit", elements, run)

    def _seconds_in_java(self, publisher: Any, count: int, demand: int = DEMAND) -> float:
        """Return how long a Java Subscriber takes for all elements of a Publisher."""
        subscriber = self._driver.java("CountingSubscriber")(demand, FOREVER)
        start = time.perf_counter()
        publisher.subscribe(subscriber)
        _expect(subscriber, count)
        return time.perf_counter() - start

    def stage(self, elements: int) -> Contender:
        """Apply a Python stage to a Java Publisher of longs, and subscribe a Java Subscriber to the result."""

        def run(count: int) -> float:
            stage = self._driver.bridge.to_jvm_stage(lambda stream: stream.map(limits.increment))
            return self._seconds_in_java(stage.apply(self._driver.java("Sources").longs(count)), count)

        return Contender("ours", elements, run)

    def ours_to_jvm(self, source: Callable[[int], Any], elements: int, *, name: str = "ours") -> Contender:
        """Subscribe a Java Subscriber to a pyrs Publisher, with requests of 256."""

        def run(count: int) -> float:
            return self._seconds_in_java(self._driver.bridge.to_jvm(source(count)), count)

        return Contender(name, elements, run)

    def naive_to_jvm(self, elements: int) -> Contender:
        """Subscribe the same Java Subscriber to a proxy of the gateway."""

        def run(count: int) -> float:
            return self._seconds_in_java(self._driver.naive_publisher(count), count)

        return Contender("naive", elements, run)

    def limit_to_jvm(self, source: Callable[[int], Any], elements: int) -> Contender:
        """Send the same bytes to a bare socket."""

        def run(count: int) -> float:
            subscriber = self._driver.java("CountingSubscriber")(DEMAND, FOREVER)
            port = self._driver.java("RawSink").listen(subscriber)
            return limits.send(int(port), source(count), lambda: _expect(subscriber, count))

        return Contender("limit", elements, run)

    def terminal(self, name: str, elements: int, read: Callable[[Any], int]) -> Contender:
        """Read a Java Publisher of longs by a terminal operation, which returns the number of elements."""

        def run(count: int) -> float:
            stream = self._driver.bridge.from_jvm(self._driver.java("Sources").longs(count))
            start = time.perf_counter()
            received = read(stream)
            seconds = time.perf_counter() - start
            if received != count:
                raise Stalled(f"{received} of {count} elements arrived")
            return seconds

        return Contender(name, elements, run)

    def arrow_to_python(self, elements: int) -> Sequence[Contender]:
        """Subscribe to a Java Publisher of Arrow batches; the limit reads the same bytes from a bare socket."""
        content = b"".join(ipc_buffers(limits.arrow_batch()))

        def ours(count: int) -> float:
            batch = self._driver.bridge.java_class("io.pyrs.value.ArrowBatch")(content)
            publisher = self._driver.java("Sources").repeated(count, batch.java)
            consumer = Consumer(_BATCHES)
            start = time.perf_counter()
            self._driver.bridge.from_jvm(publisher).subscribe(consumer)
            consumer.wait(count)
            return time.perf_counter() - start

        def limit(count: int) -> float:
            port = self._driver.java("RawFeeder").feed(str(self._files.repeated(content, count)))
            return limits.receive_arrow(int(port), Consumer(_BATCHES), count)

        return Contender("ours", elements, ours), Contender("limit", elements, limit)

    def arrow_to_jvm(self, elements: int) -> Sequence[Contender]:
        """Subscribe a Java Subscriber to a Publisher of Arrow batches; the limit sends the same bytes."""
        batch = limits.arrow_batch()
        content = b"".join(ipc_buffers(batch))

        def ours(count: int) -> float:
            publisher = self._driver.bridge.to_jvm(pyrs.from_iterable(repeat(batch, count)))
            return self._seconds_in_java(publisher, count, _BATCHES)

        def limit(count: int) -> float:
            subscriber = self._driver.java("CountingSubscriber")(_BATCHES, FOREVER)
            port = self._driver.java("RawSink").listen(subscriber)
            return limits.send_arrow(int(port), content, count, lambda: _expect(subscriber, count))

        return Contender("ours", elements, ours), Contender("limit", elements, limit)

    def many_streams(self, each: int, elements: int) -> Contender:
        """Subscribe concurrently to a Publisher of ``each`` elements."""

        def run(count: int) -> float:
            stream = self._driver.bridge.from_jvm(self._driver.java("Sources").longs(each))
            consumers = [Consumer(DEMAND) for _ in range(count // each)]
            start = time.perf_counter()
            for consumer in consumers:
                stream.subscribe(consumer)
            for consumer in consumers:
                consumer.wait(each)
            return time.perf_counter() - start

        return Contender("ours", elements, run)


def range_publisher(count: int) -> Any:
    """Return a pyrs Publisher of the longs."""
    return pyrs.range(count)


def rows_publisher(count: int) -> Any:
    """Return a pyrs Publisher of the records."""
    return pyrs.from_iterable(limits.Rows(count))


def _expect(subscriber: Any, count: int) -> None:
    received = subscriber.awaitCount(int(DEADLINE_SECONDS))
    if received != count:
        raise Stalled(f"{received} elements arrived, {count} were sent")


@contextmanager
def _busy_thread(enabled: bool) -> Iterator[None]:
    # A pure-Python computation releases the interpreter lock only at the end of its switch interval.
    stop = threading.Event()

    def compute() -> None:
        value = 1
        while not stop.is_set():
            for _ in range(1_000):
                value = value * 3 % 1_000_003

    thread = threading.Thread(target=compute, daemon=True)
    if enabled:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if enabled:
            thread.join()
