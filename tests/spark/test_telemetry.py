"""The trace of the driver continues in the tasks of executors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("pandas")  # mapInArrow needs it

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import pyrs
from pyrs import spark as ps
from pyrs import telemetry
from pyrs.testing import TestSubscriber
from tests.spark.jobs import JOB_DEADLINE


@pytest.fixture(autouse=True)
def instrumented() -> Iterator[None]:
    if not isinstance(trace.get_tracer_provider(), TracerProvider):  # global, and cannot be replaced
        trace.set_tracer_provider(TracerProvider())
    telemetry.instrument()
    yield
    telemetry.uninstrument()


def exporting(file: Path) -> Callable[[], None]:
    """Return a function that makes a worker append its finished spans to a file."""
    path = str(file)

    def export() -> None:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

        provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):  # Spark uses a worker for several tasks
            provider = TracerProvider()
            trace.set_tracer_provider(provider)
        file = open(path, "a")  # noqa: SIM115 - open as long as the worker runs
        exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
        provider.add_span_processor(SimpleSpanProcessor(exporter))

    return export


def recorded(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def ids(span: trace.Span) -> tuple[str, str]:
    context = span.get_span_context()
    return format(context.trace_id, "032x"), format(context.span_id, "016x")


def test_stage_on_an_executor_continues_the_trace_of_the_driver(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "spans"
    export = exporting(file)

    def stage(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        from opentelemetry import trace

        export()
        current = format(trace.get_current_span().get_span_context().trace_id, "032x")
        return rows.map(lambda row: (row.id, current)).checkpoint("on the executor")

    with trace.get_tracer("tests").start_as_current_span("driver") as driver:
        traced = ps.apply(spark.range(0, 4, 1, 1), stage, "id long, trace string")
    trace_id, span_id = ids(driver)
    assert [tuple(row) for row in traced.collect()] == [(n, trace_id) for n in range(4)]
    (span,) = recorded(file)
    assert span["name"] == "on the executor"
    assert (int(span["context"]["trace_id"], 16), int(span["parent_id"], 16)) == (int(trace_id, 16), int(span_id, 16))
    assert span["attributes"]["pyrs.elements"] == 4


def test_example_of_the_telemetry_page_traces_a_stage(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text(encoding="utf-8")
    code = page.split("<!-- needs Spark -->\n```python\n")[1].split("```")[0]
    exec(code, {"spark": spark, "ps": ps, "trace": trace})
    assert "|6|" in capsys.readouterr().out.replace(" ", "")


def test_untraced_stage_is_not_recorded_after_a_traced_one(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "spans"
    export = exporting(file)

    def stage(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        export()
        return rows.map(lambda row: (row.id,))

    df = spark.range(0, 4, 1, 1)
    with trace.get_tracer("tests").start_as_current_span("driver"):
        traced = ps.apply(df, stage, "id long")
    assert traced.count() == 4
    before = len(recorded(file))
    assert ps.apply(df, stage, "id long").count() == 4
    assert len(recorded(file)) == before > 0


def test_subscribers_on_executors_are_children_of_their_subscription(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "spans"
    export = exporting(file)

    def factory() -> Any:
        export()
        return TestSubscriber(2**62)

    counted = ps.for_each_partition(spark.range(0, 4, 1, 2), factory)
    with trace.get_tracer("tests").start_as_current_span("driver") as driver:
        assert counted.block(JOB_DEADLINE) == 4  # cold: the trace is that of the subscription
    spans = recorded(file)
    assert {int(span["context"]["trace_id"], 16) for span in spans} == {int(ids(driver)[0], 16)}
    assert {span["name"] for span in spans} == {"partition"}
    (parent,) = {span["parent_id"] for span in spans}
    assert int(parent, 16) != int(ids(driver)[1], 16)  # the span of the subscription, which is a child of driver
