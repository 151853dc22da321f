"""One local Spark session for all tests of this folder, with four threads for its tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sessions import python_of_workers, spark_session
from tests.spark.gates import Gates
from tests.spark.jobs import JOB_DEADLINE, active_jobs
from tests.spark.keyed_events import ROCKSDB
from tests.waiting import eventually

os.environ.update(python_of_workers())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test a timeout in which it can wait for six jobs."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(6 * JOB_DEADLINE))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    import pyspark

    options = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.task.killTimeout": "1ms",  # the worker of a cancelled task would keep its core for 2 seconds more
        "spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv": "true",  # for test_from_dataframe_settings.py
    }
    if pyspark.__version__.startswith("3."):
        # Spark 3 may reuse the Python worker of a killed task, and then close its socket.
        options["spark.python.worker.reuse"] = "false"
    session = spark_session("local[4]", options)
    assert session.sparkContext.master == "local[4]", "tests/spark needs a separate process, as in `make test`"
    # The first job with Python workers takes as long as a hundred others, so it runs before any deadline of a test.
    assert session.range(1).rdd.map(tuple).collect() == [(0,)]
    yield session
    session.stop()


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Gates]:
    """Yield gates for a job; at the end all are opened."""
    gates = Gates(tmp_path)
    yield gates
    gates.open()


@pytest.fixture
def rocksdb(spark: Any) -> Iterator[Any]:
    """Yield the session, with the RocksDB state store."""
    spark.conf.set(*ROCKSDB)
    yield spark
    spark.conf.unset(ROCKSDB[0])


@pytest.fixture
def _new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the local time zone of the process."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def _prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the intake of ``read_stream`` wait until all requested elements, or the terminal signal, have arrived.

    A batch consists of the elements that have arrived, so a late thread would make it smaller. The intake does not wait
    for a TestPublisher, whose elements the test emits.
    """
    from pyrs.spark.source.intake import Intake
    from pyrs.testing import TestPublisher

    class PromptIntake(Intake):
        def __init__(self, publisher: Any) -> None:
            self._awaited = not isinstance(publisher, TestPublisher)
            super().__init__(publisher)

        def allow(self, count: int) -> None:
            super().allow(count)
            if self._awaited:
                eventually(self._has_all)

        def _has_all(self) -> bool:
            with self._changed:
                return self.ended or (not self._allowed and self.received == self._requested)

    monkeypatch.setattr("pyrs.spark.source.buffer.Intake", PromptIntake)


@pytest.fixture(autouse=True)
def _no_job_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that no job of a test's streams runs after the test."""
    yield
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        if session.sparkContext._jsc is not None:
            eventually(lambda: not active_jobs(session), "jobs still run")
