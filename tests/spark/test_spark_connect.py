"""The functions of pyrs.spark on a session of Spark Connect, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.sessions import python_of_workers
from tests.spark.versions import NEEDED, has_pyspark, needs_pyspark

pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
pytest.importorskip("pyspark", minversion="4.0", reason="the tests start the server as PySpark 4.0 does")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def results() -> Any:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SPARK_") or name.endswith("_OPTS")
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.over_connect"],
        env={**environment, **python_of_workers()},
        capture_output=True,
        text=True,
        timeout=580,  # a busy machine needs several times the 100 seconds that an idle one takes
    )
    _, found, answer = done.stdout.rpartition("RESULTS ")
    assert found, done.stderr
    return json.loads(answer)


NEED_JVM = {
    "from_stream": "use apply(sdf, stage, schema).writeStream",
    "read_stream": "use for_each_frame",
    "attach": "run this program in the driver, with a classic session",
}


def test_supports_reports_what_works(results: Any) -> None:
    for name, answer in results["supports"].items():
        if name in NEED_JVM:
            assert answer.startswith(f"no: {name} needs the JVM of the driver") and NEED_JVM[name] in answer
        elif has_pyspark(*NEEDED.get(name, (4, 0))):
            assert answer == "ok", name
        else:
            assert answer.startswith(f"no: {name} needs PySpark {'.'.join(map(str, NEEDED[name]))}, ")


@pytest.mark.parametrize("function", ["from_stream", "read_stream", "attach", "streaming_for_each_partition"])
def test_a_function_that_needs_the_jvm_names_the_alternative(results: Any, function: str) -> None:
    alternative = NEED_JVM.get(function, "use apply(df, stage, schema).writeStream")
    assert "needs the JVM of the driver, which a client of Spark Connect cannot reach: " in results[function]
    assert results[function].startswith("JvmUnavailable: ") and alternative in results[function]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("apply", 9900),
        ("streaming_apply", 10),
        pytest.param("apply_by_key", [2, 4, 10, 12], marks=needs_pyspark(4, 1, "transformWithState of rows")),
        ("for_each_partition", 1000),
        ("from_dataframe", True),
        ("from_dataframe_with_nulls_in_lists", [True, 3]),
        ("from_dataframe_of_no_rows", []),
        ("from_dataframe_without_columns", [5, True, 0]),
        ("from_dataframe_in_pandas", 10),
        ("from_dataframe_on_demand", [3, True]),
        ("from_publishers", [[1, 0], [2, 0], [2, 1]]),
        ("stream_from_publishers", [[1, 0], [2, 0], [2, 1]]),
        ("for_each_frame", [1000, 499500]),
        ("events", ["QueryProgressEvent", "QueryStartedEvent", "QueryTerminatedEvent"]),
        ("ship", None),
    ],
)
def test_function_works_over_spark_connect(results: Any, function: str, expected: Any) -> None:
    assert results[function] == expected


def test_errors_name_the_partition_and_the_cause(results: Any) -> None:
    assert "PartitionFailed: partition " in results["apply_that_fails"]
    assert "ZeroDivisionError" in results["apply_that_fails"]
    assert results["for_each_partition_that_fails"] == "PartitionFailed: partition 0: ArithmeticError: on the executor"
    assert "planned failure" in results["from_dataframe_that_fails"]


def test_a_cancel_interrupts_the_operation(results: Any) -> None:
    assert results["from_dataframe_cancelled"] < 20


def test_metrics_are_refused(results: Any) -> None:
    assert "TypeError: stage has a Metrics, whose counts cannot return" in results["apply_with_metrics"]


def test_a_stopped_session_is_reported(results: Any) -> None:
    assert results["stopped"].count("no: the SparkSession was stopped") == 8
    assert all(answer.startswith("no: ") for answer in results["stopped"])
