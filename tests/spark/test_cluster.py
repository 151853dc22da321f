"""Every function on executors that are other processes and lack pyrs, and executors that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.spark import cluster
from tests.spark.mortal import TOTAL, stored

pytest.importorskip("pyspark.sql.datasource", reason="one case is read_stream, which needs PySpark 4.0")

LOCAL_CLUSTER = "local-cluster[2,1,1024]"
# The cases of `make test`. `make test-all` and `make test-cluster` run all of them, here and on a standalone master.
SHORT = (
    "before_shipping",
    "ship",
    "hosts",
    "from_dataframe",
    "for_each_frame",
    "apply_with_a_killed_executor",
    "from_publishers",
    "attach",
)


@pytest.fixture(scope="module", params=[LOCAL_CLUSTER, pytest.param("standalone", marks=pytest.mark.campaign)])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("cluster")
    python = cluster.python_without_pyrs(folder / "python")
    if request.param == LOCAL_CLUSTER:
        return run(LOCAL_CLUSTER, folder, python, () if os.environ.get("PYRS_CAMPAIGN") else SHORT)
    with cluster.standalone(folder, python) as url:
        return run(url, folder, python) | {"a_killed_driver": killed_and_restarted(url, folder / "stored", python)}


def killed_and_restarted(master: str, folder: Path, python: str) -> tuple[int, int, list[int]]:
    """Kill a driver while it writes a batch, and run it again; return the exit codes, and what is stored."""
    folder.mkdir()
    codes = []
    for step in ("sink write", "none"):
        command = [sys.executable, "-m", "tests.spark.mortal", str(folder), step, "rows", "journal", master]
        environment = cluster.environment(python)
        codes.append(subprocess.run(command, env=environment, start_new_session=True, timeout=250).returncode)
    return codes[0], codes[1], stored(folder)


def run(master: str, folder: Path, python: str, cases: Sequence[str] = ()) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.over_cluster", master, str(folder), *cases],
        env=cluster.environment(python),
        capture_output=True,
        text=True,
        timeout=280,
    )
    _, found, answer = done.stdout.rpartition("RESULTS ")
    assert found, done.stderr
    sys.stderr.write(done.stderr)
    return json.loads(answer)


pytestmark = pytest.mark.timeout(800 if os.environ.get("PYRS_CAMPAIGN") else 300)


def cases(*named: Any) -> list[Any]:
    """Mark the parameters whose case is not part of the short form."""
    marks = [pytest.mark.campaign]
    return [each if each[0] in SHORT else pytest.param(*each, marks=marks) for each in named]


def test_supports_reports_that_executors_lack_pyrs(results: Any) -> None:
    apply, for_each_partition, from_dataframe = results["before_shipping"]
    assert apply == for_each_partition
    assert apply.startswith("no: the executor's Python, ") and "cannot import pyrs" in apply
    assert "ps.ship(spark) sends the package" in apply
    assert from_dataframe == "ok"


def test_all_functions_are_supported_after_ship(results: Any) -> None:
    assert set(results["ship"].values()) == {"ok"}


def test_partitions_run_on_both_executors(results: Any) -> None:
    assert len(results["hosts"]) == 2


@pytest.mark.parametrize(
    ("function", "expected"),
    cases(
        ("from_dataframe", True),
        ("from_stream", True),
        ("streaming_for_each_partition", 100),
        ("events", "QueryStartedEvent"),
        ("for_each_frame", [1000, 499500]),
        ("from_publishers", [list(range(80)), True]),
        ("read_stream", True),
        ("attach", [0, 1, 2, 3, 4]),
    ),
)
def test_function_works(results: Any, function: str, expected: Any) -> None:
    assert results[function] == expected


@pytest.mark.parametrize(
    ("function",),
    cases(
        ("from_dataframe_with_a_killed_executor",),
        ("apply_with_a_killed_executor",),
        ("from_publishers_with_a_killed_executor",),
    ),
)
def test_a_killed_executor_loses_and_repeats_no_row(results: Any, function: str) -> None:
    assert results[function] is True


@pytest.mark.campaign
def test_a_killed_executor_delivers_only_its_partition_again(results: Any) -> None:
    count, complete, repeated = results["for_each_partition_with_a_killed_executor"]
    assert count == 4000 and complete
    assert repeated == [1]


@pytest.mark.campaign
def test_a_failing_task_is_tried_four_times(results: Any) -> None:
    error, attempts = results["a_stage_that_fails"]
    assert "PartitionFailed: partition 0: ZeroDivisionError" in error
    assert attempts == 4


@pytest.mark.campaign
def test_a_partition_that_fails_is_named_after_the_rows_before_it(results: Any) -> None:
    assert results["a_partition_that_fails"] == [3, [0, 1, 2]]


@pytest.mark.campaign
def test_a_lost_worker_loses_and_repeats_no_row(results: Any) -> None:
    assert results["a_lost_worker"] in (True, "not tested: the workers are threads of the driver")


def of_standalone(results: Any, name: str) -> Any:
    """Return a result that only a standalone cluster has: on local-cluster both executors have the same host."""
    if name not in results:
        pytest.skip("needs two hosts")
    return results[name]


@pytest.mark.campaign
def test_a_killed_driver_continues_with_checkpoint_and_journal(results: Any) -> None:
    killed, ended, rows = of_standalone(results, "a_killed_driver")
    assert (killed, ended) == (-signal.SIGKILL, 0)
    assert rows == list(range(TOTAL))
