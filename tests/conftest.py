"""Which tests may share a process.

A JVM inside the process uses SIGSEGV for its own ends, and Python's faulthandler takes that for a crash. So tests/jpype
runs in a pytest process of its own, without faulthandler; a process that has it leaves that folder out and says so.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

IN_PROCESS_JVM = Path(__file__).parent / "jpype"

# How long an example takes is up to the machine: one that stood still for a moment is no failure.
settings.register_profile("pyrs", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pyrs")


def pytest_configure(config: pytest.Config) -> None:
    # A process that a shell started in the background ignores SIGINT; tests of interrupts want Python's own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Campaigns run on request only: `-m campaign`, any other `-m`, or PYRS_CAMPAIGN=1, which `make test-all` sets.
    if not config.option.markexpr and not os.environ.get("PYRS_CAMPAIGN"):
        config.option.markexpr = "not campaign"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path == IN_PROCESS_JVM and config.pluginmanager.hasplugin("faulthandler"):
        return True
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.pluginmanager.hasplugin("faulthandler"):
        return "tests/jpype: not in this process; run it with -p no:faulthandler, as `make test` does"
    return None
