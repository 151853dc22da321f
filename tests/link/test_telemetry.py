"""Spans of subscriptions, and the trace that crosses the link."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from plain_session import PlainSession

import pyrs
from pyrs import telemetry
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestPublisher, TestSubscriber

EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def provider() -> None:
    """The provider is global and cannot be replaced."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    telemetry.instrument()
    telemetry.instrument()


@pytest.fixture(autouse=True)
def no_spans() -> Iterator[None]:
    EXPORTER.clear()
    yield


def spans() -> dict[str, ReadableSpan]:
    return {span.name: span for span in EXPORTER.get_finished_spans()}


def attributes(name: str) -> dict[str, Any]:
    return dict(spans()[name].attributes or {})


def test_each_subscription_is_a_span() -> None:
    stream = pyrs.range(5).transform(telemetry.span("numbers", tenant="a"))
    assert stream.collect() == stream.collect() == list(range(5))
    finished = EXPORTER.get_finished_spans()
    assert [span.name for span in finished] == ["numbers"] * 2
    assert attributes("numbers") == {
        "tenant": "a",
        "pyrs.elements": 5,
        "pyrs.requested": -1,
        "pyrs.outcome": "completed",
    }


def test_error_is_recorded() -> None:
    with pytest.raises(ValueError, match="planned"):
        pyrs.error(ValueError("planned")).transform(telemetry.span("fails")).collect()
    assert attributes("fails")["pyrs.outcome"] == "failed"
    assert [event.name for event in spans()["fails"].events] == ["exception"]
    assert not spans()["fails"].status.is_ok


def test_cancel_ends_the_span_once() -> None:
    source, subscriber = TestPublisher[int](), TestSubscriber[int](3)
    source.stream().transform(telemetry.span("cancelled")).subscribe(subscriber)
    source.next(1)
    subscriber.cancel()
    subscriber.cancel()
    source.assert_cancelled()
    assert len(EXPORTER.get_finished_spans()) == 1
    assert attributes("cancelled") == {"pyrs.elements": 1, "pyrs.requested": 3, "pyrs.outcome": "cancelled"}


def test_span_is_the_parent_of_spans_upstream() -> None:
    with trace.get_tracer("test").start_as_current_span("request"):
        inner = pyrs.just(1).transform(telemetry.span("inner"))
        inner.map(str).transform(telemetry.span("outer")).collect()
    found = spans()
    assert found["inner"].parent is not None
    assert found["inner"].parent.span_id == found["outer"].context.span_id
    assert found["outer"].parent is not None
    assert found["outer"].parent.span_id == found["request"].context.span_id
    assert len({span.context.trace_id for span in found.values()}) == 1


def test_trace_crosses_from_python_to_the_peer() -> None:
    from pyrs.jvm import context

    with trace.get_tracer("test").start_as_current_span("here") as current:
        entries = context.collect_entries()
    assert entries["traceparent"].split("-")[1:3] == [
        format(current.get_span_context().trace_id, "032x"),
        format(current.get_span_context().span_id, "016x"),
    ]
    assert "traceparent" not in context.collect_entries()


def test_trace_crosses_from_the_peer_to_python() -> None:
    session = PlainSession()
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    handle = session.handles.own(pyrs.range(3).transform(telemetry.span("here")), 1)
    options = {"context": {"traceparent": traceparent}}
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([handle, options])))
    session.receive(Frame(FrameType.REQUEST, 2, (3).to_bytes(8, "big")))
    recorded = spans()["here"]
    assert format(recorded.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert recorded.parent is not None
    assert format(recorded.parent.span_id, "016x") == "b7ad6b7169203331"


def test_name_must_be_a_string() -> None:
    with pytest.raises(TypeError, match="name must be a string, not int"):
        telemetry.span(7)  # type: ignore[arg-type]


def test_span_is_one_step_of_explain() -> None:
    stream = pyrs.range(3).transform(telemetry.span("numbers")).map(str)
    assert [step.call for step in stream.explain().steps] == ["range(0, 3)", "span('numbers')", "map(str)"]


def test_docstring_examples_run() -> None:
    assert doctest.testmod(telemetry).failed == 0
