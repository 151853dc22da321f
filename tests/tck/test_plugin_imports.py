"""The pytest plugin imports the TCK only for a verification, and no module of pyrs on two threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyrs import pytest_plugin
from tests.tck.test_plugin import ROOT, run_pytest

pytestmark = pytest.mark.timeout(300)  # starts several processes sequentially


def test_a_run_without_a_verification_does_not_import_the_tck(tmp_path: Path) -> None:
    """pytest loads the entry point in every run."""
    names = ["pyrs.tck", "pyrs.jvm", *([] if pytest_plugin.UNSAFE_PARSER else ["asyncio.events"])]
    text = f"import sys\n\ndef test_it():\n    assert not {{*sys.modules}}.intersection({names})\n"
    (tmp_path / "test_other.py").write_text(text, encoding="utf-8")
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pyrs.pytest_plugin"]
    ran = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=250, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


IN_THREADS = """
import gc, time
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter

import pyrs

NAMES = ("combining", "merging", "latest", "buffering", "timing", "windowing", "grouping", "sharing")

def test_operators_are_imported_in_threads():
    gc.set_threshold(100)
    gc.callbacks.append(lambda phase, info: time.sleep(0))  # lets other threads run in the middle of ast.parse
    with ThreadPoolExecutor(len(NAMES)) as pool:
        for found in [pool.submit(attrgetter(name), pyrs.operators) for name in NAMES]:
            found.result(60)
"""


def test_operators_are_imported_in_threads_without_errors_of_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_threads.py").write_text(IN_THREADS, encoding="utf-8")
    # pytest does not parse a module if it finds the module's bytecode of an earlier run.
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "bytecode"))
    done = run_pytest(tmp_path, "-q")
    assert done.returncode == 0, done.stdout
