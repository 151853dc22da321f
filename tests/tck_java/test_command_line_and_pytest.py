"""The command line and pytest run the official TCK, each in a separate process with a JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.timeout(300)  # each test starts processes with a JVM


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYRS_TCK_TIMEOUT_SCALE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [sys.executable, "-m", *arguments], env=environment, capture_output=True, text=True, timeout=250, check=False
    )


def test_the_command_line_runs_both_tcks() -> None:
    ran = run("pyrs", "tck", "tests.tck_java.verifications:Right", "--referee", "both", "--family", "flow")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Right (python): 38 TCK tests: 31 passed, 7 untested" in ran.stdout
    assert "Right (java flow): 38 TCK tests: 31 passed, 7 untested" in ran.stdout


def test_a_wrong_publisher_fails_on_the_command_line() -> None:
    ran = run("pyrs", "tck", "tests.tck_java.verifications:Wrong", "--referee", "java")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "failed: required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates" in ran.stdout
    assert "Expected end-of-stream but got element [4]" in ran.stdout


def test_pytest_runs_the_official_tck(tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text("from tests.tck_java.verifications import Right, Wrong\n", encoding="utf-8")
    options = ("-p", "no:cacheprovider", "-k", "spec105_must or beyond_spec305", str(tmp_path))
    ran = run("pytest", "--tck-referee", "both", *options)  # the plugin disables faulthandler
    assert "Right (python): 1 TCK tests: 1 passed; 3 additional tests: 3 passed" in ran.stdout
    assert "Right (java): 1 TCK tests: 1 passed" in ran.stdout
    assert "Wrong (java): 1 TCK tests: 1 failed" in ran.stdout
    assert ran.returncode == 1


def test_connections_without_the_token_are_closed() -> None:
    program = """
import socket, threading
from pyrs.tck import JavaReferee
from pyrs.tck._java.scope import Scope
from tests.tck_java.verifications import Right

referee = JavaReferee()
received = []

def connect_without_token(scope, referee_open):
    real_open(scope, referee_open)
    for port in (scope._java_port, scope._listener.getsockname()[1]):
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            connection.sendall(b"x" * 32 + b"C" + bytes(40))
            connection.settimeout(30)
            try:
                received.append(connection.recv(1))
            except ConnectionResetError:
                received.append(b"")

real_open, Scope.open = Scope.open, connect_without_token
verdict = referee.judge(Right, "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates")
print(verdict.status.value, received)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ran.stdout.strip() == "passed [b'', b'']", ran.stdout + ran.stderr
