"""One trace spans Reactor, Python and Reactor, according to the in-memory exporters of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pyrs import jvm, telemetry
from tests.interop.harness import DEADLINE, Java

EXPORTER = InMemorySpanExporter()
NO_PARENT = "0" * 16


class Recorded(NamedTuple):
    """A finished span of either side."""

    trace: str
    span: str
    parent: str


@pytest.fixture(scope="module", autouse=True)
def instrumented() -> Iterator[None]:
    """Record the spans of this module. The provider is global and cannot be replaced."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    telemetry.instrument()
    yield
    telemetry.uninstrument()


@pytest.fixture(autouse=True)
def no_spans(java: Java) -> None:
    """Delete the spans of earlier tests."""
    EXPORTER.clear()
    java_spans(java)


def python_spans() -> dict[str, Recorded]:
    found = {}
    for span in EXPORTER.get_finished_spans():
        parent = NO_PARENT if span.parent is None else format(span.parent.span_id, "016x")
        ids = format(span.context.trace_id, "032x"), format(span.context.span_id, "016x")
        found[span.name] = Recorded(*ids, parent)
    return found


def java_spans(java: Java) -> dict[str, Recorded]:
    lines = (str(line).split(" ") for line in java.static("interop.Traces", "finished"))
    return {name: Recorded(*ids) for name, *ids in lines}


def test_one_trace_spans_reactor_python_and_reactor(bridge: jvm.Bridge, java: Java) -> None:
    source = bridge.from_jvm(java.static("interop.Traces", "source", "source"))
    publisher = bridge.to_jvm(source.map(lambda n: n + 1).checkpoint("middle"))
    assert list(java.static("interop.Traces", "collect", publisher, "subscriber")) == [1, 2, 3]
    here, there = python_spans(), java_spans(java)
    assert there["subscriber"].parent == NO_PARENT
    assert here["middle"].parent == there["subscriber"].span
    assert there["source"].parent == here["middle"].span
    assert len({each.trace for each in (*here.values(), *there.values())}) == 1


def test_one_trace_spans_python_and_reactor(bridge: jvm.Bridge, java: Java) -> None:
    stream: Any = bridge.from_jvm(java.static("interop.Traces", "source", "source")).checkpoint("here")
    with trace.get_tracer("tests").start_as_current_span("request"):
        assert stream.collect(timeout=DEADLINE) == [0, 1, 2]
    here, there = python_spans(), java_spans(java)
    assert here["here"].parent == here["request"].span
    assert there["source"] == Recorded(here["request"].trace, there["source"].span, here["here"].span)
