"""Everything of pyrs that the specification has rules for, and what of the front door it has none for."""

from __future__ import annotations

from tests.conformance.adapters import ADAPTERS
from tests.conformance.entry import Entry
from tests.conformance.jvm_parties import JVM_PARTIES
from tests.conformance.mirrors import MIRRORS
from tests.conformance.operators import OPERATORS
from tests.conformance.routes import IN_SPARK, JAVA_OF_MIRRORS, JAVA_ROUTES, PYTHON, PYTHON_OVER, Route
from tests.conformance.sources import SOURCES
from tests.conformance.spark_streams import SPARK
from tests.conformance.strangers import STRANGERS
from tests.conformance.subscribers import PROCESSORS, SUBSCRIBERS

__all__ = ["EVERY_ENTRY", "EXEMPT", "FAMILIES", "JUDGED", "OURS", "THEIRS", "entries_of"]

FAMILIES: dict[str, list[Entry]] = {
    "Sources and sinks": SOURCES,
    "Operators": OPERATORS,
    "Operators as Processors": PROCESSORS,
    "Subscribers": SUBSCRIBERS,
    "Adapters": ADAPTERS,
}

OURS: list[Entry] = [entry for entries in FAMILIES.values() for entry in entries]
JUDGED: set[str] = {name for entry in (*OURS, *SPARK) for name in entry.covers}
"""The public names that an entry speaks for."""

THEIRS: list[Entry] = [stranger.entry for stranger in STRANGERS]

EVERY_ENTRY: dict[str, Entry] = {entry.name: entry for entry in (*OURS, *SPARK, *JVM_PARTIES, *MIRRORS, *THEIRS)}


def entries_of(route: Route) -> list[Entry]:
    """Return whom a route judges: each of ours one Java route, and some of them all."""
    if route in PYTHON_OVER:
        return JVM_PARTIES
    if route in IN_SPARK:
        return SPARK
    if route in JAVA_OF_MIRRORS:
        return MIRRORS
    if route is PYTHON:
        return OURS + THEIRS
    return [entry for entry in OURS if route is JAVA_ROUTES[0] or entry.all_routes]


# Public names that are neither Publisher nor Subscriber nor Processor, and make none.
EXEMPT: dict[str, str] = {
    "UNBOUNDED": "a number",
    "NoElement": "an exception",
    "NonPositiveRequest": "an exception",
    "NullSignal": "an exception",
    "PyrsError": "an exception",
    "SpecViolation": "an exception",
    "Publisher": "an interface",
    "Subscriber": "an interface",
    "Subscription": "an interface",
    "Processor": "an interface",
    "Stream": "the operators are its methods",
    "set_element_hook": "sets a hook",
    "set_error_hook": "sets a hook",
    "Stream.source": "the Publisher that is wrapped",
    "Stream.carries_context": "a mark that others look for",
    "Stream.transform": "returns what a function of the user's made of other operators",
    "sinks.EmitFailed": "an exception",
    "sinks.PublisherClosed": "an exception",
    "sinks.EmitResult": "what a push returns",
    "sinks.busy_looping": "tries a push again",
    "spark.Batch": "an element",
    "spark.BatchDiscarded": "an exception",
    "spark.JournalDamaged": "an exception",
    "spark.PartitionFailed": "an exception",
    "spark.SchemaMisfit": "an exception",
    "spark.apply": "takes and returns a DataFrame: the streams are within its tasks",
    "spark.for_each_partition": "takes a DataFrame: the streams are within its tasks",
    "spark.attach": "returns a bridge",
    "spark.supports": "says what works",
    "testing.TestPublisher": "signals what a test says, wrongly too",
    "testing.Violation": "what it can do wrong",
    "testing.StepVerifier": "what a test expects",
    "testing.DroppedAssertions": "what a test expects",
}
