"""Settings for all tests, and the folder that needs a separate process.

A JVM inside the process uses SIGSEGV internally, and Python's faulthandler reports that as a crash. So tests/jpype
runs in a separate pytest process without faulthandler; a process with faulthandler does not collect that folder.
"""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.rounds import CAMPAIGN

IN_PROCESS_JVM = Path(__file__).parent / "jpype"

# The duration of an example depends on the load of the machine: a slow example is not a failure.
settings.register_profile("pyrs", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pyrs")


def pytest_configure(config: pytest.Config) -> None:
    # A process that a shell starts in the background ignores SIGINT; tests of interrupts need Python's own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Campaigns run on request only: `-m campaign`, any other `-m`, or PYRS_CAMPAIGN=1, which `make test-all` sets.
    if not config.option.markexpr and not CAMPAIGN:
        config.option.markexpr = "not campaign"


def pytest_collection_finish() -> None:
    freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is not None and nextitem.path != item.path:
        freeze()


def freeze() -> None:
    """Let the garbage collector skip the objects that exist now.

    Hundreds of tests run it, and would examine the million objects of the modules, the collected tests and the reports
    of preceding tests each time.
    """
    gc.collect()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path == IN_PROCESS_JVM and config.pluginmanager.hasplugin("faulthandler"):
        return True
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.pluginmanager.hasplugin("faulthandler"):
        return "tests/jpype: not collected; run it with -p no:faulthandler, as `make test` does"
    return None
