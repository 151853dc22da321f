"""The examples in the docstrings and on the page docs/referee.md run."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyrs.tck import PublisherVerification, Status, TestEnvironment, verify
from tests.tck import mutants
from tests.tck.clock import Clock

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "referee.md").read_text(encoding="utf-8")
FAILURE = re.compile(r"^## Read a failure\n.*?```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("module", ["cases", "environment", "verdicts", "verifications"])
def test_examples_in_docstrings_run(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYRS_TCK_TIMEOUT_SCALE", raising=False)
    Clock(monkeypatch)
    result = doctest.testmod(importlib.import_module(f"pyrs.tck.{module}"))
    assert result.attempted
    assert not result.failed


@pytest.mark.timeout(300)
def test_the_first_example_has_the_faults_on_the_pages(tmp_path: Path) -> None:
    (tmp_path / "test_countdown.py").write_text(BLOCKS[0], encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        "-k",
        "spec303_mustNot or spec309 or spec107_mustNot",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYRS_TCK_TIMEOUT_SCALE": "2"}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert ran.returncode == 1
    assert "but the bound of the recursion is 1 (rule 3.3)" in ran.stdout
    assert "expected on_error(ValueError)" in ran.stdout
    (shown,) = FAILURE.findall((ROOT / "docs" / "judge-your-library.md").read_text(encoding="utf-8"))
    assert shown in ran.stdout.replace(f"{tmp_path}{os.sep}", "")


def test_the_subscriber_of_the_page_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_TIMEOUT_MILLIS", "30000")
    Clock(monkeypatch)
    namespace: dict[str, object] = {"__name__": "page"}
    exec(compile(BLOCKS[1], "referee.md", "exec"), namespace)
    verification = namespace["MySubscriberVerification"]
    assert isinstance(verification, type)
    report = verify(verification)
    assert report.passed, [
        (verdict.name, verdict.reason) for verdict in report.verdicts if verdict.status is Status.FAILED
    ]


@pytest.mark.parametrize("at", [2, 3])
def test_the_other_examples_have_no_problems(at: int) -> None:
    namespace: dict[str, object] = {"__name__": "page"}
    exec(compile(BLOCKS[at], "referee.md", "exec"), namespace)
    [verification] = [each for each in namespace.values() if isinstance(each, type) and each.__module__ == "page"]
    assert issubclass(verification, PublisherVerification)
    assert verification.problems() == []


def test_the_timeouts_on_the_page_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in re.findall(r"`([A-Z_]+(?:MILLIS|SCALE))", PAGE):
        monkeypatch.delenv(variable, raising=False)
    env = TestEnvironment()
    shown = re.findall(r"^\| `(\w+)`: [^|]*\| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert len(shown) == 5
    for name, seconds in shown:
        assert getattr(env, name) == float(seconds)


def test_rule_of_every_additional_test_is_on_the_page() -> None:
    rules = {name.split("_")[1] for name in PublisherVerification.test_names() if name.startswith("beyond_spec")}
    for rule in rules:
        number = f"{rule[4]}.{int(rule[5:])}"
        assert number in PAGE, number


def test_the_table_of_faulty_implementations_is_current() -> None:
    assert mutants.PAGE.read_text(encoding="utf-8") == mutants.page(), "run python -m tests.tck.mutants"


def test_every_faulty_implementation_has_a_verdict_of_the_official_tck() -> None:
    every = [mutant for kind, cases in mutants.CASES.items() for mutant in mutants.mutants(kind, cases)]
    untried = [mutant.name for mutant in every if mutant.seen is None]
    assert untried == [], "run python -m tests.tck_java.campaign"


def test_every_faulty_implementation_has_a_rule_or_fails_an_official_or_a_race_test() -> None:
    for kind, cases in mutants.CASES.items():
        for mutant in mutants.mutants(kind, cases):
            assert mutant.rules or any("race" in test for test in mutant.additional) or mutant.official, mutant.name
