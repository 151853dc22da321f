"""The TCK and the command line without any extra: msgpack, Py4J, JPype, PySpark and PyArrow cannot be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A module that is None in sys.modules cannot be imported, and importlib.util.find_spec does not find it.
CORE_ONLY = """
import sys
for package in ("msgpack", "py4j", "jpype", "pyspark", "pyarrow"):
    sys.modules[package] = None
"""
COMMAND = CORE_ONLY + "from pyrs.__main__ import main\nsys.exit(main(sys.argv[1:]))"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_public_name_of_the_tck_is_importable() -> None:
    program = "import pyrs.tck\nfor name in pyrs.tck.__all__: getattr(pyrs.tck, name)\nprint(len(pyrs.tck.__all__))"
    ran = run(CORE_ONLY + program)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 10


def test_the_tck_command_runs_the_python_port() -> None:
    ran = run(COMMAND, "tck", "tests.tck_java.verifications:Right")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "31 passed" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "extra"),
    [
        (("tck", "tests.tck_java.verifications:Right", "--referee", "java"), 2, "pyrs-streams[jpype]"),
        (("tck", "tests.tck_java.verifications:Right", "--referee", "both"), 2, "pyrs-streams[jpype]"),
        (
            ("tck", "tests.tck_java.verifications:Right", "--referee", "java", "--jvm", "spark"),
            2,
            "pyrs-streams[spark]",
        ),
        (("jars", "io.projectreactor:reactor-core:3.6.0"), 1, "pyrs-streams[jpype]"),
        (("demo",), 1, "pyrs-streams[spark]"),
    ],
)
def test_a_command_without_its_extra_names_the_extra_in_one_line(
    arguments: tuple[str, ...], status: int, extra: str
) -> None:
    ran = run(COMMAND, *arguments)
    assert ran.returncode == status, ran.stderr
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith(f"pyrs {arguments[0]}: ")
    assert f"pip install '{extra}'" in ran.stderr


def test_the_version_command_reports_the_missing_gateways() -> None:
    ran = run(COMMAND, "version")
    assert ran.returncode == 0, ran.stderr
    assert "Py4J gateway: not installed" in ran.stdout
    assert "JPype gateway: not installed" in ran.stdout
