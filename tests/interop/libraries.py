"""Adapters that give four JVM stream libraries one interface, to share tests.

A *source* has the type of the library: a Flux, a Flowable, an Akka Source, a Flow.Publisher.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs.jvm import Bridge
from tests.interop.harness import Java


class Reactor:
    """Uses Flux of Reactor; the base class of the other adapters."""

    name = "reactor"
    error_overtakes = False
    """True if an error overtakes or replaces the elements in the buffer of the library."""

    def __init__(self, bridge: Bridge, java: Java) -> None:
        self.bridge = bridge
        self.java = java

    def close(self) -> None:
        pass

    def numbers(self, count: int, watch: Any) -> Any:
        """Return a source of the Integers 1 to count.

        ``watch`` observes its requests, elements and cancel.
        """
        source = self.java.static("reactor.core.publisher.Flux", "range", 1, count)
        source = self.java.call(source, "doOnNext", self.java.call(watch, "elementConsumer"))
        source = self.java.call(source, "doOnRequest", watch)
        return self.java.call(source, "doOnCancel", watch)

    def failed(self, throwable: Any) -> Any:
        return self.java.static("reactor.core.publisher.Flux", "error", throwable)

    def from_publisher(self, publisher: Any) -> Any:
        """Return a source for a Python Publisher."""
        return self.java.static("reactor.core.publisher.Flux", "from", publisher)

    def publisher(self, source: Any) -> Any:
        """Return the Publisher of a source, for ``from_jvm``."""
        return source

    def run(self, source: Any, subscriber: Any) -> None:
        self.java.call(source, "subscribe", subscriber)

    def through_stage(self, source: Any, function: Callable[[Any], Any]) -> Any:
        return self.java.call(source, "transform", self.bridge.to_jvm_stage(function))

    def through_processor(self, source: Any, processor: Any) -> Any:
        self.java.call(source, "subscribe", processor)
        return self.from_publisher(processor)

    def doubled(self, source: Any) -> Any:
        """Double the elements in Java code that expects Integers."""
        return self.java.call(source, "map", self.java.static("interop.Functions", "doubleInteger"))


class RxJava(Reactor):
    name = "rxjava"

    def numbers(self, count: int, watch: Any) -> Any:
        source = self.java.static("io.reactivex.rxjava3.core.Flowable", "range", 1, count)
        source = self.java.call(source, "doOnNext", self.java.call(watch, "rxElementConsumer"))
        source = self.java.call(source, "doOnRequest", watch)
        return self.java.call(source, "doOnCancel", watch)

    def failed(self, throwable: Any) -> Any:
        return self.java.static("io.reactivex.rxjava3.core.Flowable", "error", throwable)

    def from_publisher(self, publisher: Any) -> Any:
        return self.java.static("io.reactivex.rxjava3.core.Flowable", "fromPublisher", publisher)

    def through_stage(self, source: Any, function: Callable[[Any], Any]) -> Any:
        stage = self.bridge.to_jvm_stage(function, interface="io.reactivex.rxjava3.core.FlowableTransformer")
        return self.java.call(source, "compose", stage)

    def doubled(self, source: Any) -> Any:
        return self.java.call(source, "map", self.java.static("interop.Functions", "rxDoubleInteger"))


class Akka(Reactor):
    name = "akka"
    error_overtakes = True

    def __init__(self, bridge: Bridge, java: Java) -> None:
        super().__init__(bridge, java)
        self._system = java.new("interop.Akka")

    def close(self) -> None:
        self.java.call(self._system, "close")

    def numbers(self, count: int, watch: Any) -> Any:
        return self.java.static("interop.Akka", "watched", self.java.static("interop.Akka", "numbers", 1, count), watch)

    def failed(self, throwable: Any) -> Any:
        return self.java.static("interop.Akka", "failed", throwable)

    def from_publisher(self, publisher: Any) -> Any:
        return self.java.static("interop.Akka", "from", publisher)

    def publisher(self, source: Any) -> Any:
        return self.java.call(self._system, "publisher", source)

    def run(self, source: Any, subscriber: Any) -> None:
        self.java.call(self._system, "run", source, subscriber)

    def through_stage(self, source: Any, function: Callable[[Any], Any]) -> Any:
        stage = self.bridge.to_jvm_stage(function)
        return self.from_publisher(self.java.static("interop.Functions", "assembled", stage, self.publisher(source)))

    def through_processor(self, source: Any, processor: Any) -> Any:
        return self.java.static("interop.Akka", "via", source, processor)

    def doubled(self, source: Any) -> Any:
        return self.java.static("interop.Akka", "doubled", source)


class Submission(Reactor):
    """java.util.concurrent.SubmissionPublisher, which implements Flow.Publisher."""

    name = "submission"
    error_overtakes = True

    def numbers(self, count: int, watch: Any) -> Any:
        return self.java.static("interop.Submissions", "numbers", count, watch)

    def failed(self, throwable: Any) -> Any:
        return self.java.static("interop.Submissions", "failed", throwable)

    def from_publisher(self, publisher: Any) -> Any:
        return self.java.static("interop.Submissions", "forwarded", publisher)

    def run(self, source: Any, subscriber: Any) -> None:
        self.java.static("interop.Submissions", "run", source, subscriber)

    def through_stage(self, source: Any, function: Callable[[Any], Any]) -> Any:
        return self.java.static("interop.Submissions", "assembled", self.bridge.to_jvm_stage(function), source)

    def through_processor(self, source: Any, processor: Any) -> Any:
        return self.java.static("interop.Submissions", "via", source, processor)

    def doubled(self, source: Any) -> Any:
        return self.java.static("interop.Submissions", "doubled", source)


LIBRARIES: list[type[Reactor]] = [Reactor, RxJava, Akka, Submission]
