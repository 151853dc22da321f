"""`python -m pyrs`: help without a command, the version, and a demo that says what it needs."""

from __future__ import annotations

import pytest

import pyrs
from pyrs import __main__ as command_line


def test_without_a_command_it_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["version"]) == 0
    first, jar, py4j, jpype = capsys.readouterr().out.splitlines()
    assert first == f"pyrs {pyrs.__version__}"
    assert jar == "jar: present"
    assert py4j == "Py4J gateway: present"
    assert jpype == "JPype gateway: present"


def test_the_demo_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command_line, "is_installed", lambda package: False)
    assert command_line.main(["demo"]) == 1
    assert "pyrs-streams[spark]" in capsys.readouterr().err


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(SystemExit) as ended:
        command_line.main(["fly"])
    assert ended.value.code == 2
