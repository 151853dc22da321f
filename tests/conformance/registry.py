"""The entries of the conformance table in groups, and the public names that need no entry."""

from __future__ import annotations

from tests.conformance.adapters import ADAPTERS
from tests.conformance.entry import Entry
from tests.conformance.jvm_implementations import JVM_IMPLEMENTATIONS
from tests.conformance.mirrors import MIRRORS
from tests.conformance.operator_inputs import OPERATOR_INPUTS
from tests.conformance.operators import OPERATORS
from tests.conformance.routes import IN_SPARK, JAVA_OF_MIRRORS, JAVA_ROUTES, PYTHON, PYTHON_OVER, Route
from tests.conformance.sources import SOURCES
from tests.conformance.spark_streams import SPARK
from tests.conformance.subscribers import PROCESSORS, SUBSCRIBERS
from tests.conformance.third_party import THIRD_PARTY

__all__ = ["COVERED", "EVERY_ENTRY", "EXEMPT", "FAMILIES", "OURS", "THIRD_PARTY_ENTRIES", "entries_of"]

FAMILIES: dict[str, list[Entry]] = {
    "Sources and sinks": SOURCES,
    "Operators, Publisher side": OPERATORS,
    "Operators, Subscriber side": OPERATOR_INPUTS,
    "Operators as Processors": PROCESSORS,
    "Subscribers": SUBSCRIBERS,
    "Adapters": ADAPTERS,
}

OURS: list[Entry] = [entry for entries in FAMILIES.values() for entry in entries]
COVERED: set[str] = {name for entry in (*OURS, *SPARK) for name in entry.covers}
"""The public names that have an entry."""

THIRD_PARTY_ENTRIES: list[Entry] = [library.entry for library in THIRD_PARTY]

EVERY_ENTRY: dict[str, Entry] = {
    entry.name: entry for entry in (*OURS, *SPARK, *JVM_IMPLEMENTATIONS, *MIRRORS, *THIRD_PARTY_ENTRIES)
}


def entries_of(route: Route) -> list[Entry]:
    """Return the entries that a route verifies."""
    if route in PYTHON_OVER:
        return JVM_IMPLEMENTATIONS
    if route in IN_SPARK:
        return SPARK
    if route in JAVA_OF_MIRRORS:
        return MIRRORS
    if route is PYTHON:
        return OURS + THIRD_PARTY_ENTRIES
    return [entry for entry in OURS if route is JAVA_ROUTES[0] or entry.all_routes]


# Public names that need no entry, with the reason.
EXEMPT: dict[str, str] = {
    "UNBOUNDED": "a number",
    "NoElement": "an exception",
    "NonPositiveRequest": "an exception",
    "NullSignal": "an exception",
    "PyrsError": "an exception",
    "SpecViolation": "an exception",
    "TooManyElements": "an exception",
    "Publisher": "an interface",
    "Subscriber": "an interface",
    "Subscription": "an interface",
    "Processor": "an interface",
    "Stream": "the operators are its methods",
    "set_discard_hook": "sets a hook",
    "set_element_hook": "sets a hook",
    "set_error_hook": "sets a hook",
    "Stream.explain": "describes a stream, and subscribes to nothing",
    "Stream.carries_context": "a marker attribute",
    "Stream.wraps_source": "a marker attribute",
    "Stream.transform": "applies a user's function, which uses other operators",
    "sinks.EmitFailed": "an exception",
    "sinks.PublisherClosed": "an exception",
    "sinks.EmitResult": "the outcome of an emit call",
    "sinks.busy_looping": "repeats an emit call",
    "spark.Batch": "an element",
    "spark.BatchDiscarded": "an exception",
    "spark.JournalDamaged": "an exception",
    "spark.PartitionFailed": "an exception",
    "spark.SchemaMisfit": "an exception",
    "spark.apply": "takes and returns a DataFrame; the streams are inside the tasks",
    "spark.apply_by_key": "takes and returns a DataFrame; the streams are inside the tasks",
    "spark.for_each_partition": "takes a DataFrame; the streams are inside the tasks",
    "spark.from_publishers": "returns a DataFrame; the streams are inside the tasks",
    "spark.stream_from_publishers": "returns a DataFrame; the streams are inside the tasks",
    "spark.attach": "returns a bridge",
    "spark.ship": "sends the package to the executors",
    "spark.supports": "reports the supported features",
    "testing.TestPublisher": "sends the signals of a test, including violations",
    "testing.Violation": "the violations that TestPublisher can commit",
    "testing.StepVerifier": "the expectations of a test",
    "testing.DroppedAssertions": "the expectations of a test",
    "testing.BlockedLoop": "a report",
    "testing.detect_blocking": "a context manager",
    "testing.PublisherProbe": "forwards the signals of another Publisher to a test",
}
