"""Publishers, Subscribers and Processors of the JVM used from Python, and Python objects passed through Java."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pyrs.tck import TestEnvironment
from pyrs.testing import TestSubscriber
from tests.conformance.entry import Entry, blackbox, failed_stream, numbers, processor, publisher
from tests.conformance.machine import machine
from tests.conformance.options import SLOWEST
from tests.conformance.sources import LATE
from tests.conformance.subscribers import ONE_INPUT, Through

__all__ = ["JVM_IMPLEMENTATIONS"]

INT_MAX = 2**31 - 1
FLUX = "reactor.core.publisher.Flux"
FLOWABLE = "io.reactivex.rxjava3.core.Flowable"


def _of(class_name: str, method: str, *leading: int, exact: bool = False) -> Callable[[int], Any]:
    """Return a factory that calls a static Java method and converts the Publisher that it returns."""

    def make(elements: int) -> Any:
        bridge, java = machine()
        return bridge.from_jvm(java.static(class_name, method, *leading, min(elements, INT_MAX)), exact=exact)

    return make


def _failed(class_name: str) -> Callable[[], Any]:
    def make() -> Any:
        bridge, java = machine()
        error = java.new("java.lang.IllegalStateException", "failed from the start")
        return bridge.from_jvm(java.static(class_name, "error", error))

    return make


def _mutiny(method: str, *arguments: Any) -> Any:
    bridge, java = machine()
    return bridge.from_jvm(java.call(java.static("io.smallrye.mutiny.Multi", "createFrom"), method, *arguments))


def _mutiny_range(elements: int) -> Any:
    # Mutiny's range must not be empty.
    return _mutiny("range", 0, min(elements, INT_MAX)) if elements else _mutiny("empty")


def _failed_mutiny() -> Any:
    return _mutiny("failure", machine().java.new("java.lang.IllegalStateException", "failed from the start"))


PEKKO = "org.apache.pekko"


@cache
def _pekko() -> Any:
    """Return the materializer of an actor system of this JVM, whose threads do not keep the process alive."""
    java = machine().java
    for name, value in (("daemonic", "on"), ("loglevel", "OFF"), ("stdout-loglevel", "OFF")):
        java.static("java.lang.System", "setProperty", f"pekko.{name}", value)
    system = java.static(f"{PEKKO}.actor.ActorSystem", "create", "conformance")
    return java.static(f"{PEKKO}.stream.Materializer", "createMaterializer", system)


def _pekko_publisher(method: str, *arguments: Any) -> Any:
    bridge, java = machine()
    source = java.static(f"{PEKKO}.stream.javadsl.Source", method, *arguments)
    one = java.static(f"{PEKKO}.stream.javadsl.AsPublisher", "valueOf", "WITHOUT_FANOUT")
    sink = java.static(f"{PEKKO}.stream.javadsl.Sink", "asPublisher", one)
    return bridge.from_jvm(java.call(source, "runWith", sink, _pekko()))


def _failed_pekko() -> Any:
    return _pekko_publisher("failed", machine().java.new("java.lang.IllegalStateException", "failed from the start"))


def _from_static_method(class_name: str, method: str, *arguments: Any) -> Callable[[], Any]:
    """Return a factory that calls a static Java method and converts the Subscriber or Processor that it returns."""
    return lambda: machine().bridge.from_jvm(machine().java.static(class_name, method, *arguments))


def _round_trip(stream: Any, exact: bool = False) -> Any:
    bridge, java = machine()
    mirror = bridge.to_jvm(stream, exact=exact)
    return bridge.from_jvm(java.static("interop.Parties", "hiddenPublisher", mirror), exact=exact)


def _mirrored_subscriber() -> Any:
    bridge, java = machine()
    subscriber: Any = TestSubscriber()
    mirrored = bridge.from_jvm(java.static("interop.Parties", "hiddenSubscriber", bridge.to_jvm(subscriber)))
    mirrored.subscriber_in_python = subscriber
    return mirrored


def _mirrored_processor() -> Any:
    bridge, java = machine()
    mirror = bridge.to_jvm(Through(lambda stream: stream.map(lambda n: n)))
    return bridge.from_jvm(java.static("interop.Parties", "hiddenProcessor", mirror))


def _patient(entry: Entry) -> Entry:
    """Set longer timeouts for the factory methods of the verification: the first call starts an actor system."""
    entry.verification.environment = TestEnvironment(hook_timeout=20.0, deadline=60.0)
    return entry


JVM_IMPLEMENTATIONS: list[Entry] = [
    publisher("Reactor Flux.range", _of(FLUX, "range", 0), failed=_failed(FLUX), max_elements=INT_MAX, subset=True),
    publisher(
        "Reactor Flux.range, exact", _of(FLUX, "range", 0, exact=True), failed=_failed(FLUX), max_elements=INT_MAX
    ),
    publisher("RxJava Flowable.range", _of(FLOWABLE, "range", 0), failed=_failed(FLOWABLE), max_elements=INT_MAX),
    publisher("Mutiny Multi.range", _mutiny_range, failed=_failed_mutiny, max_elements=INT_MAX),
    _patient(
        publisher(
            "Pekko Streams Source.range",
            lambda n: _pekko_publisher("range", 1, min(n, INT_MAX)),
            failed=_failed_pekko,
            max_elements=INT_MAX,
            skips={"optional_spec111": "its Publisher supports one Subscriber; others receive on_error"},
        )
    ),
    publisher(
        "java.util.concurrent.SubmissionPublisher",
        _of("interop.Parties", "submissions"),
        failed=None,
        max_elements=INT_MAX,
        skips=LATE,
    ),
    publisher("RangePublisher of the examples", _of("interop.Parties", "range"), failed=None, max_elements=INT_MAX),
    publisher(
        "AsyncIterablePublisher of the examples",
        _of("interop.Parties", "asyncRange"),
        failed=None,
        max_elements=INT_MAX,
    )._replace(
        faults={
            "beyond_spec303": "its loop does not count the last element of a batch of 1024 as delivered "
            "(`--leftInBatch > 0 && --demand > 0`), so it sends one more than was requested (1.1)"
        }
    ),
    blackbox("SyncSubscriber of the examples", _from_static_method("interop.Parties", "syncSubscriber")),
    blackbox("AsyncSubscriber of the examples", _from_static_method("interop.Parties", "asyncSubscriber"), subset=True),
    blackbox(
        "RxJava TestSubscriber",
        lambda: machine().bridge.from_jvm(machine().java.new("io.reactivex.rxjava3.subscribers.TestSubscriber")),
    ),
    processor(
        "RxJava MulticastProcessor",
        _from_static_method("io.reactivex.rxjava3.processors.MulticastProcessor", "create", True),
        coordinates=True,
        skips=SLOWEST,
    ),
    processor(
        "Reactor EmitterProcessor",
        _from_static_method("reactor.core.publisher.EmitterProcessor", "create"),
        coordinates=True,
        skips=SLOWEST,
    ),
    publisher(
        "Python's range as a mirror in Java, and back",
        lambda n: _round_trip(numbers(n)),
        failed=lambda: _round_trip(failed_stream()),
        subset=True,
    ),
    publisher(
        "Python's range as a mirror in Java, and back, exact",
        lambda n: _round_trip(numbers(n), exact=True),
        failed=lambda: _round_trip(failed_stream(), exact=True),
    ),
    blackbox(
        "Python's TestSubscriber as a mirror in Java, and back",
        _mirrored_subscriber,
        trigger=lambda mirrored: mirrored.subscriber_in_python.request(1),
    ),
    processor(
        "Python's map as a mirror of a Processor in Java, and back",
        _mirrored_processor,
        failed=lambda: _round_trip(failed_stream()),
        subscribers=1,
        skips=ONE_INPUT,
    ),
]
