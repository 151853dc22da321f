"""Test every function on executors that are separate processes without pyrs, and on executors that are killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.interop.systems.postgresql_server import postgresql
from tests.rounds import CAMPAIGN
from tests.spark import cluster
from tests.spark.killable import TOTAL, stored
from tests.spark.over_cluster import SPECULATION, SPECULATIVE
from tests.spark.versions import NEEDED, has_pyspark, needs_pyspark

ROOT = Path(__file__).resolve().parents[2]
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
# `make test` runs only these cases. `make test-all` and `make test-cluster` run every case of tests.spark.over_cluster,
# on a local cluster and on a standalone master.
SHORT = (
    "supports_before_ship",
    "ship",
    "list_working_folders",
    "from_dataframe",
    "for_each_frame",
    "apply_with_a_killed_executor",
    "use_bridge_on_executors",
    "stream_from_publishers_with_a_killed_executor",
    "attach",
)


@pytest.fixture(scope="module", params=[LOCAL_CLUSTER, pytest.param("standalone", marks=pytest.mark.campaign)])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("cluster")
    python = cluster.python_without_pyrs(folder / "python")
    if request.param == LOCAL_CLUSTER:
        return run(LOCAL_CLUSTER, folder, python, () if CAMPAIGN else SHORT)
    with cluster.standalone(folder, python) as url:
        found = run(url, folder, python, ("ship", *SPECULATIVE), SPECULATION)
        found |= {f"throughput_of_{workers}": throughput(url, folder, python, workers) for workers in (1, 2)}
        found |= {"killed_driver": killed_and_restarted(url, folder / "stored", python)}
        found |= over_postgresql(url, folder, python)
        found |= example("r2dbc_to_spark", url, python, {"out": folder / "readings"})
        return found | run(url, folder, python)  # last, because it kills a worker


def throughput(master: str, folder: Path, python: str, workers: int) -> float:
    """Return the seconds that a fixed amount of work takes on a number of workers with one core each."""
    settings = {
        "spark.cores.max": workers,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "100s",
    }
    seconds: float = run(master, folder, python, ("ship", "throughput"), settings)["throughput"]
    print(f"throughput with {workers} workers: {seconds:.1f} s", file=sys.stderr)
    return seconds


def over_postgresql(master: str, folder: Path, python: str) -> dict[str, Any]:
    """Run the recipe and the example on the executors; return their results."""
    with postgresql() as server:
        login = {"host": "127.0.0.1", "port": server.port, "user": server.user, "database": "postgres"}
        database = {**login, "password": server.password}
        (folder / "database.json").write_text(json.dumps(database))
        found = run(master, folder, python, ("ship", "postgresql"))
        password = {"PGPASSWORD": server.password}
        return {**found, **example("postgresql_on_executors", master, python, login, password)}


def example(
    name: str,
    master: str,
    python: str,
    options: Mapping[str, object],
    variables: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Run an example as examples/README.md describes; return a dict from its name to its output and errors."""
    given = [f"--{option}={value}" for option, value in options.items()]
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), f"--master={master}", *given],
        env={**cluster.environment(python), **variables, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return {name: (done.stdout, done.stderr)}


def killed_and_restarted(master: str, folder: Path, python: str) -> tuple[int, int, list[int]]:
    """Kill a driver while it writes a batch, and run it again; return the exit codes and the stored rows."""
    folder.mkdir()
    codes = []
    for step in ("sink write", "none"):
        command = [sys.executable, "-m", "tests.spark.killable", str(folder), step, "rows", "journal", master]
        environment = cluster.environment(python)
        codes.append(subprocess.run(command, env=environment, start_new_session=True, timeout=250).returncode)
    return codes[0], codes[1], stored(folder)


def run(
    master: str,
    folder: Path,
    python: str,
    cases: Sequence[str] = (),
    settings: Mapping[str, object] = MappingProxyType({}),
) -> Any:
    given = [f"{name}={value}" for name, value in settings.items()]
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.over_cluster", master, str(folder), *given, *cases],
        env=cluster.environment(python),
        capture_output=True,
        text=True,
        timeout=1200,
    )
    _, found, answer = done.stdout.rpartition("RESULTS ")
    assert found, done.stderr
    sys.stderr.write(done.stderr)
    return json.loads(answer)


AVAILABLE_NOW = needs_pyspark(4, 2, "trigger(availableNow=True) reads a Publisher until it completes")
pytestmark = pytest.mark.timeout(3600 if CAMPAIGN else 300)


def cases(*named: Any) -> list[Any]:
    """Mark the parameters whose case is not part of the short form, or needs a later PySpark."""
    marked = []
    for name, *rest in named:
        marks = [] if name in SHORT else [pytest.mark.campaign]
        marks += [
            needs_pyspark(*version, function) for function, version in NEEDED.items() if name.startswith(function)
        ]
        marked.append(pytest.param(name, *rest, marks=marks))
    return marked


def test_supports_reports_that_executors_lack_pyrs(results: Any) -> None:
    apply, for_each_partition, from_dataframe = results["supports_before_ship"]
    assert apply == for_each_partition
    assert apply.startswith("no: the executor's Python, ") and "cannot import pyrs" in apply
    assert "ps.ship(spark) sends the package" in apply
    assert from_dataframe == "ok"


def test_all_functions_are_supported_after_ship(results: Any) -> None:
    supported = {name for name, answer in results["ship"].items() if answer == "ok"}
    expected = {name for name in results["ship"] if has_pyspark(*NEEDED.get(name, (3, 5)))}
    assert supported == expected - {"apply_by_key"}  # it also needs the RocksDB state store, which is not the default


def test_partitions_run_on_both_executors(results: Any) -> None:
    assert len(results["list_working_folders"]) == 2


@pytest.mark.parametrize(
    ("function", "expected"),
    cases(
        ("from_dataframe", True),
        ("from_stream", True),
        ("streaming_for_each_partition", 100),
        ("events", "QueryStartedEvent"),
        ("for_each_frame", [1000, 499500]),
        ("from_publishers", [list(range(80)), True]),
        ("attach", [0, 1, 2, 3, 4]),
    ),
)
def test_function_works_on_executors_without_pyrs(results: Any, function: str, expected: Any) -> None:
    assert results[function] == expected


@pytest.mark.campaign
@AVAILABLE_NOW
def test_read_stream_works_on_executors_without_pyrs(results: Any) -> None:
    assert results["read_stream"] is True


@pytest.mark.parametrize(
    ("function",),
    cases(
        ("from_dataframe_with_a_killed_executor",),
        ("apply_with_a_killed_executor",),
        ("apply_by_key_with_a_killed_executor",),
        ("from_publishers_with_a_killed_executor",),
        ("stream_from_publishers_with_a_killed_executor",),
    ),
)
def test_no_row_is_lost_or_repeated_if_an_executor_is_killed(results: Any, function: str) -> None:
    assert results[function] is True


@pytest.mark.campaign
def test_only_the_partition_of_a_killed_executor_is_redelivered(results: Any) -> None:
    count, complete, repeated = results["for_each_partition_with_a_killed_executor"]
    assert count == 4000 and complete
    assert repeated == [1]


@pytest.mark.campaign
def test_a_failing_task_is_tried_four_times(results: Any) -> None:
    error, attempts = results["fail_stage"]
    assert "PartitionFailed: partition 0: ZeroDivisionError" in error
    assert attempts == 4


@pytest.mark.campaign
def test_rows_before_a_failed_partition_arrive_before_its_error(results: Any) -> None:
    assert results["fail_partition"] == [3, [0, 1, 2]]


@pytest.mark.campaign
def test_no_row_is_lost_or_repeated_if_a_worker_is_killed(results: Any) -> None:
    if results["lose_worker"] == "not tested: the workers are threads of the driver":
        pytest.skip("the workers are threads of the driver")
    assert results["lose_worker"] is True


def test_each_worker_process_starts_one_jvm(results: Any) -> None:
    complete, processes, jvms = results["use_bridge_on_executors"]
    assert complete
    assert processes == jvms <= 2  # one, if the other executor has not restarted after a kill


@pytest.mark.campaign
def test_a_subscriber_of_a_partition_uses_the_jvm(results: Any) -> None:
    assert results["use_bridge_in_for_each_partition"] == [40, list(range(40))]


@pytest.mark.campaign
def test_a_missing_package_is_reported_by_the_query(results: Any) -> None:
    error = results["launch_with_missing_package"]
    assert "PartitionFailed: partition 0: JvmUnavailable: not found: example:missing:1.0" in error


@pytest.mark.campaign
def test_a_killed_executor_ends_its_jvm_and_loses_no_row(results: Any) -> None:
    complete, ended = results["use_bridge_with_a_killed_executor"]
    assert complete and ended


@pytest.mark.campaign
def test_rows_do_not_pass_through_the_driver(results: Any) -> None:
    rows, copied, collected = results["measure_task_results"]
    assert collected > rows * 0.9
    assert copied < rows * 0.02


def result_of_standalone(results: Any, name: str) -> Any:
    """Return a result that only a standalone cluster has: on local-cluster both executors have the same host."""
    if name not in results:
        pytest.skip("needs two hosts")
    return results[name]


@pytest.mark.campaign
def test_the_partition_of_a_speculative_task_is_redelivered(results: Any) -> None:
    count, complete, repeated = result_of_standalone(results, "for_each_partition_with_speculation")
    assert count == 4000 and complete
    assert 1 in repeated  # Spark may run other slow tasks twice, too


@pytest.mark.campaign
@pytest.mark.parametrize("function", ["apply_with_speculation", "from_dataframe_with_speculation"])
def test_no_row_is_lost_or_repeated_by_a_speculative_task(results: Any, function: str) -> None:
    assert result_of_standalone(results, function) is True


@pytest.mark.campaign
def test_two_workers_double_the_throughput(results: Any) -> None:
    """Each element is delayed by a timer, so the cores of this machine do not limit the throughput."""
    ratio = result_of_standalone(results, "throughput_of_1") / result_of_standalone(results, "throughput_of_2")
    assert ratio >= 1.8


@pytest.mark.campaign
def test_executors_read_and_write_postgresql(results: Any) -> None:
    first, again, totals = result_of_standalone(results, "postgresql")
    assert (first, again) == (10, 10)
    assert totals == [{"customer": n, "total": sum(range(n, 3000, 10))} for n in range(10)]


@pytest.mark.campaign
def test_the_postgresql_example_prints_its_totals(results: Any) -> None:
    output, errors = result_of_standalone(results, "postgresql_on_executors")
    assert output == "100 totals written\n100 totals in the database, of 200010000 in all\n", errors


@pytest.mark.campaign
def test_the_r2dbc_example_stores_its_rows_with_the_executors(results: Any) -> None:
    output, errors = result_of_standalone(results, "r2dbc_to_spark")
    assert output.startswith("9000 rows in "), errors
    assert output.endswith("".join(f"sensor-{n}: {10 + 5 * n}.0 degrees Celsius\n" for n in range(3)))


@pytest.mark.campaign
@AVAILABLE_NOW
def test_a_killed_driver_continues_with_checkpoint_and_journal(results: Any) -> None:
    killed, ended, rows = result_of_standalone(results, "killed_driver")
    assert (killed, ended) == (-signal.SIGKILL, 0)
    assert rows == list(range(TOTAL))
