"""Record batches that cross to a JVM in the same process through the Arrow C Data Interface.

The scenarios of shared_batches.py run in one separate process, because Arrow needs ``--add-opens`` at the start of the
JVM.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.jpype.shared_batches import SCENARIOS
from tests.waiting import DEADLINE


@pytest.fixture(scope="module")
def results() -> dict[str, str | None]:
    command = [sys.executable, "-m", "tests.jpype.shared_batches"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * DEADLINE)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(10 * DEADLINE)
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_reports_no_error(results: dict[str, str | None], name: str) -> None:
    assert results[name] is None, results[name]
