"""Every example runs unchanged in a new folder and prints the expected output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.driver import Driver, completed

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SECONDS = 600

OUTPUT = {
    "core_only": """\
['BACK', 'PRESSURE', 'IS', 'CONVERSATION']
request 2
  got BACK
  got PRESSURE
request 2
  got IS
  got CONVERSATION
request 2
complete
the first square above 50: 64
""",
    "fan_out": """\
Bergen: 16 degrees
Brno: 14 degrees
Cork: 14 degrees
Ghent: 15 degrees
Graz: 14 degrees
Lyon: 14 degrees
Porto: 15 degrees
Turin: 15 degrees
at most 4 at a time; retried: Brno, Cork, Graz, Lyon
""",
    "sensor_feed": """\
  22 s  average of 10: 21.4
  30 s  display shows 23.9
  30 s  alarm at 24.2
  40 s  sensor lost
  42 s  average of 10: 24.4
  50 s  silent since 25.7
  60 s  display shows 25.7
""",
    "log_pipeline": """\
the slowest of the first 60 requests, for each path
  /search  50 ms
  /login   50 ms
  /        50 ms
errors in windows of 25 requests: ### #### ### #### #### ###
the first failure of /login took 10 ms
lines read from the endless log: 246
""",
    "spark_driver": """\
Python got 1
Python got 4
Python got 9
complete
Python got 1
Python got 2
Python got 3
complete
""",
    "reactor_stage": """\
LinkedHashMap {sensor=roof, value=21.5}
LinkedHashMap {sensor=cellar, value=12.0}
""",
    "logs_on_executors": """\
batch 0  oslo: ready
batch 0  oslo: start
batch 0  rome: start
batch 1  oslo: first request
""",
    "jpype_submission_publisher": """\
the sum of 1 to 1000: 500500
back pressure held: True
""",
    "asyncio_consumer": """\
demand
crosses
the
loop
too
the answer is 42
""",
    "http_client": """\
status 200
27000 bytes in the response, first line: A LINE OF THE REQUEST BODY
""",
}

ON_SPARK = {"spark_driver", "reactor_stage", "logs_on_executors"}
WITH_OPTIONS = {"r2dbc_to_spark", "spark_to_sse"}  # in test_spark_examples.py
WITH_A_SERVER = {"postgresql_on_executors"}  # in tests/spark/test_cluster.py


def test_every_example_has_an_expected_output() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == set(OUTPUT) | WITH_OPTIONS | WITH_A_SERVER


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("name", sorted(ON_SPARK))
def test_spark_example_prints_its_output(name: str, driver: Driver, tmp_path: Path) -> None:
    done = completed(driver, tmp_path, EXAMPLES / f"{name}.py")
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == OUTPUT[name]


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("name", sorted(OUTPUT.keys() - ON_SPARK))
def test_example_prints_its_output(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == OUTPUT[name]
