"""Mistakes in a verification, a variable or an option: each is reported by name, without the frames of the TCK."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tck.test_plugin import project as project  # the fixture
from tests.tck.test_plugin import run, run_pytest

pytestmark = pytest.mark.timeout(300)  # starts several processes sequentially


def test_pytest_rejects_a_class_with_an_initializer(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write("class Needs(Mine):\n    def __init__(self, database):\n        self.database = database\n")
    refused = run_pytest(project, "-k", "Needs")
    assert refused.returncode != 0
    assert "Needs has an __init__, and pytest collects no test of such a class: use set_up() or a fixture" in (
        refused.stdout
    )
    assert "was not collected" not in refused.stdout


def test_an_invalid_environment_is_reported_without_the_frames_of_the_tck(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write("class Timed(Mine):\n    environment = TestEnvironment\n")
    failed = run_pytest(project, "-k", "Timed and required_spec105")
    assert "TypeError: Timed.environment must be an object such as TestEnvironment(timeout=2)" in failed.stdout
    assert "verification.py" not in failed.stdout
    refused = run(project, "pyrs", "tck", "test_mine:Timed")
    assert refused.returncode == 2
    assert "Timed.environment must be an object such as TestEnvironment(timeout=2)" in refused.stderr


def test_an_invalid_variable_is_an_error_of_one_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRS_TCK_TIMEOUT_SCALE", "fast")
    refused = run(project, "pyrs", "tck", "test_mine:Mine")
    assert refused.returncode == 2
    assert "PYRS_TCK_TIMEOUT_SCALE must be a positive number, not 'fast'" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("jvm", ["test_mine:Mine", "test_mine:nothing", "broken:jvm"])
def test_a_jvm_that_cannot_be_used_is_an_error_of_one_line(project: Path, jvm: str) -> None:
    (project / "broken.py").write_text("def jvm():\n    raise OSError('no driver')\n", encoding="utf-8")
    refused = run(project, "pyrs", "tck", "test_mine:Mine", "--referee", "java", "--jvm", jvm)
    assert refused.returncode == 2
    assert f"JVM {jvm}: " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_pytest_exit_in_a_hook_ends_the_run(project: Path) -> None:
    hook = "    def create_publisher(self, elements):\n        pytest.exit('no database', returncode=7)\n"
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write(f"import pytest\n\nclass Leaves(Mine):\n{hook}")
    ended = run_pytest(project, "-k", "Leaves and (spec101 or required_spec105)")
    assert ended.returncode == 7, ended.stdout
    assert "no database" in ended.stdout
    assert "failed" not in ended.stdout
    refused = run(project, "pyrs", "tck", "test_mine:Leaves", "-k", "spec101 required_spec105")
    assert refused.returncode == 2
    assert refused.stderr == "pyrs tck: no database\n"
