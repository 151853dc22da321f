"""Record batches that a JVM in this process shares by the Arrow C Data Interface, in a process of its own.

Arrow needs an option of the JVM that the other tests do without. The scenarios are in shared_batches.py.
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
def test_shared_batches(results: dict[str, str | None], name: str) -> None:
    assert results[name] is None, results[name]
