"""``python -m pyrs``: help, version, errors, closed pipes, interrupts, encodings and reports."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pyrs
from pyrs import __main__ as command_line
from pyrs.tck import command

VERIFICATION = "tests.tck_java.verifications:Right"


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_version_lists_the_parts_of_the_bridge(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["version"]) == 0
    first, jar, py4j, jpype = capsys.readouterr().out.splitlines()
    assert first == f"pyrs {pyrs.__version__}"
    assert jar == "jar: present"
    assert py4j == "Py4J gateway: present"
    assert jpype == "JPype gateway: present"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--interval", "often", "SECONDS must be from 0.1 to 3600, not often"),
        ("--interval", "nan", "SECONDS must be from 0.1 to 3600, not nan"),
        ("--http", "web", "PORT must be from 0 to 65535, not web"),
        ("--http", "65536", "PORT must be from 0 to 65535, not 65536"),
    ],
)
def test_invalid_option_names_the_valid_values(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["top", option, value])
    assert capsys.readouterr().err.endswith(f"argument {option}: {message}\n")


def test_unknown_command_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as exited:
        command_line.main(["fly"])
    assert exited.value.code == 2


@pytest.mark.parametrize(
    "arguments", [["version"], ["tck", VERIFICATION, "-k", "required_validate_maxElements"]], ids=["version", "tck"]
)
def test_a_closed_pipe_ends_a_command_without_a_traceback(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pyrs", *arguments], stdout=writer, stderr=subprocess.PIPE, check=False, timeout=100
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("buffered", [True, False])
def test_output_on_a_full_disk_is_an_error_of_one_line(buffered: bool) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, *([] if buffered else ["-u"]), "-m", "pyrs", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            check=False,
            timeout=100,
        )
    assert done.stderr == b"pyrs: cannot write the output: No space left on device\n"
    assert done.returncode == 1


def test_errors_are_not_printed_to_standard_output_if_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After ``2>&-`` in a shell ``sys.stderr`` is None, and ``print(file=None)`` prints to ``sys.stdout``."""
    monkeypatch.setattr(sys, "stderr", None)
    assert command_line.main(["top", "--http", "--once"]) == 2
    assert capsys.readouterr().out == ""


def test_a_command_without_standard_output_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ``>&-`` in a shell ``sys.stdout`` is None."""
    monkeypatch.setattr(sys, "stdout", None)
    assert command_line.main(["version"]) == 0
    assert command_line.main(["tck", VERIFICATION, "-k", "required_validate_maxElements"]) == 0


def test_an_interrupt_ends_a_command_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_version(arguments: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "run_version", run_version)
    assert command_line.main(["version"]) == 130
    assert capsys.readouterr().err == "pyrs: interrupted\n"


_INTERRUPTED_IMPORT = """
import runpy, sys
import pyrs

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("pyrs"):
            raise KeyboardInterrupt

for name in ("argparse", "pathlib", "importlib.resources"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["version"]
runpy.run_module("pyrs.__main__", run_name="__main__")
"""


def test_an_interrupt_during_an_import_ends_a_command_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_IMPORT], capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr) == (130, "pyrs: interrupted\n")


def test_characters_that_the_terminal_lacks_are_printed_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_version(arguments: argparse.Namespace) -> int:
        print("größer")
        return 0

    written = io.BytesIO()
    monkeypatch.setattr(command_line, "run_version", run_version)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert command_line.main(["version"]) == 0
    assert written.getvalue() == b"gr\\xf6\\xdfer\n"


def test_a_report_on_a_full_disk_is_an_error_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tck", VERIFICATION, "-k", "required_validate_maxElements", "--json", "/dev/full"]
    assert command_line.main(arguments) == 2
    output = capsys.readouterr()
    assert "1 passed" in output.out
    assert output.err == "pyrs tck: cannot write /dev/full: No space left on device\n"


def test_a_folder_that_is_not_writable_is_reported_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command.os, "access", lambda path, mode: False)  # root may write everywhere
    path = tmp_path / "verdicts.json"
    assert command_line.main(["tck", VERIFICATION, "--json", str(path)]) == 2
    assert capsys.readouterr().err == f"pyrs tck: cannot write {path}: the folder is not writable\n"
