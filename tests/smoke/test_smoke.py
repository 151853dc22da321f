"""The bridge, both TCKs and Spark within a minute: ``make versions`` runs this on every installed Python.

If faulthandler is enabled, the tests use the Py4J gateway of a Spark driver, and otherwise a JVM that JPype starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import tck
from pyrs.errors import JavaError
from pyrs.jvm import Bridge
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Java, MapProcessor

FLUX = "reactor.core.publisher.Flux"
MANY = 1000
pytestmark = pytest.mark.timeout(300)


def test_python_publisher_reaches_a_java_subscriber(bridge: Bridge, java: Java, recorder: Any) -> None:
    java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.range(MANY)), recorder)
    assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
    assert java.call(recorder, "sum") == MANY * (MANY - 1) // 2


def test_java_publisher_reaches_a_python_subscriber(bridge: Bridge, java: Java) -> None:
    received = TestSubscriber[int](timeout=DEADLINE)
    java.call(java.static(FLUX, "range", 0, MANY), "subscribe", bridge.to_jvm(received))
    received.request(2)
    assert received.await_count(2) == [0, 1]
    received.request(MANY)
    assert received.await_complete() == list(range(MANY))


def test_python_processor_and_stage_run_in_a_java_chain(bridge: Bridge, java: Java) -> None:
    processor = bridge.to_jvm(MapProcessor(lambda number: number + 1))
    java.call(java.static(FLUX, "range", 0, MANY), "subscribe", processor)
    stage = bridge.to_jvm_stage(lambda stream: stream.map(lambda number: number * 2))
    chain = java.call(java.static(FLUX, "from", processor), "transform", stage)
    assert bridge.from_jvm(chain).collect(timeout=DEADLINE) == [2 * (n + 1) for n in range(MANY)]


def test_values_calls_and_errors_cross_the_bridge(bridge: Bridge) -> None:
    value = {"text": "é", "number": 2**70, "bytes": b"\x00\xff", "list": [1.5, None, True]}
    flux = bridge.java_class(FLUX)
    assert bridge.from_jvm(flux.from_(pyrs.just(value))).collect(timeout=DEADLINE) == [value]
    triple = bridge.to_jvm_callable(lambda number: number * 3, "java.util.function.Function")
    assert bridge.from_jvm(flux.range(1, 3).map(triple)).collect(timeout=DEADLINE) == [3, 6, 9]
    failure = bridge.java_class("java.lang.IllegalStateException")("broken")
    with pytest.raises(JavaError, match="broken"):
        bridge.from_jvm(flux.error(failure)).collect(timeout=DEADLINE)


class _Range(tck.PublisherVerification[Any]):
    # The timeouts are long, except the wait for signals that must not arrive.
    environment = tck.TestEnvironment(timeout=5.0, no_signals_timeout=0.02, reference_timeout=5.0, deadline=90.0)

    def create_publisher(self, elements: int) -> Any:
        return pyrs.range(elements)

    def create_failed_publisher(self) -> Any:
        return pyrs.error(LookupError("failed"))


def test_python_tck_passes() -> None:
    report = tck.verify(_Range)
    assert report.passed, report


def test_java_tck_passes(carrier: str, machine: Any) -> None:
    java_tck = tck.JavaReferee(_session()) if carrier == "py4j" else tck.JavaReferee()
    report = java_tck.verify(_Range)
    assert report.passed, report


def _session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


@pytest.fixture
def spark(carrier: str, machine: Any) -> Any:
    if carrier != "py4j":
        pytest.skip("Spark runs over Py4J")
    return _session()


def test_dataframes_become_streams_and_streams_become_dataframes(spark: Any) -> None:
    from pyrs import spark as ps

    assert ps.from_dataframe(spark.range(MANY), as_="dicts").map(lambda row: row["id"]).collect(
        timeout=DEADLINE
    ) == list(range(MANY))
    stored: list[int] = []

    def store(frame: Any) -> None:
        stored.extend(row.n for row in frame.collect())

    numbers = pyrs.range(MANY).map(lambda number: (number,))
    assert ps.for_each_frame(numbers, "n long", store, max_rows=MANY // 2, spark=spark).block() == MANY
    assert stored == list(range(MANY))


def test_streaming_query_reads_a_publisher(spark: Any, tmp_path: Path) -> None:
    from pyrs import spark as ps

    if not ps.supports(spark)["read_stream"].startswith("ok"):
        pytest.skip(ps.supports(spark)["read_stream"])
    numbers = pyrs.range(MANY).map(lambda number: (number,))
    stored = ps.read_stream(spark, numbers, "n long").writeStream.format("memory").queryName("smoke")
    query = stored.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
        assert sorted(row.n for row in spark.table("smoke").collect()) == list(range(MANY))
    finally:
        query.stop()
