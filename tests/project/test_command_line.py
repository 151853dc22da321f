"""``python -m pyrs``: help, version, and errors for missing extras and unknown commands."""

from __future__ import annotations

import pytest

import pyrs
from pyrs import __main__ as command_line


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


def test_demo_without_pyspark_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "is_installed", lambda package: False)
    assert command_line.main(["demo"]) == 1
    assert "pyrs-streams[spark]" in capsys.readouterr().err


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
