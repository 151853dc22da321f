"""The scripts behind ``make``, and the workflows: suites and their counts, missing tools, targets and versions."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.interop.harness import LIBRARIES, library_jars
from tests.project.scripts import script

ROOT = Path(__file__).resolve().parents[2]

REPORT = """
from pathlib import Path
folder = Path({folder!r})
folder.mkdir(parents=True)
(folder / "report.xml").write_text(
    '<testsuites><testsuite tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"/></testsuites>'
)
raise SystemExit({status})
"""


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    return script("test")


def reporting(folder: Path, status: int, tests: int, failures: int = 0, skipped: int = 0) -> str:
    """Return a program that writes a JUnit report and exits with this status."""
    return REPORT.format(folder=str(folder), tests=tests, failures=failures, skipped=skipped, status=status)


@pytest.mark.parametrize(
    ("status", "tests", "failures", "skipped", "expected"),
    [
        (0, 5, 0, 1, (4, 0, 1)),
        (1, 5, 2, 0, (3, 2, 0)),
        (1, 5, 0, 0, (5, 1, 0)),  # a crash at exit: the process failed, but no test failed
        (0, 0, 0, 0, (0, 1, 0)),  # no test ran
        (0, 3, 0, 3, (0, 1, 3)),  # every test was skipped
    ],
)
def test_run_counts_results_and_failed_processes(
    runner: ModuleType,
    tmp_path: Path,
    status: int,
    tests: int,
    failures: int,
    skipped: int,
    expected: tuple[int, int, int],
) -> None:
    reports = tmp_path / "reports"
    program = reporting(reports, status, tests, failures, skipped)
    counted = runner.run(runner.Suite("suite", [sys.executable, "-c", program], reports))
    assert (counted.passed, counted.failed, counted.skipped) == expected


def test_process_killed_before_its_report_is_a_failure(runner: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    counted = runner.run(runner.Suite("suite", command, tmp_path / "reports"))
    assert (counted.passed, counted.failed) == (0, 1)


def test_report_of_an_earlier_run_is_not_counted(runner: ModuleType, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    runner.run(runner.Suite("suite", [sys.executable, "-c", reporting(reports, 0, 7)], reports))
    counted = runner.run(runner.Suite("suite", [sys.executable, "-c", "raise SystemExit(1)"], reports))
    assert (counted.passed, counted.failed) == (0, 1)


def test_captured_output_is_printed_with_the_name_of_the_suite(
    runner: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = "import sys; print('to stdout', flush=True); sys.exit('to stderr')"
    runner.run(runner.Suite("loud", [sys.executable, "-c", program], tmp_path), capture=True)
    output = capfd.readouterr().out
    assert output.endswith("== output of loud:\nto stdout\nto stderr\n== loud: exit status 1 and no failed test\n"), (
        output
    )


def test_every_suite_runs_once_and_busy_ones_are_limited(runner: ModuleType) -> None:
    """The first suites end only when five have started: two busy and three that wait."""
    all_started = threading.Barrier(5, timeout=60)
    lock = threading.Lock()
    running: list[str] = []
    started: list[str] = []
    busy_at_once = []

    def run(suite: Any) -> Any:
        with lock:
            started.append(suite.name)
            running.append(suite.name)
            busy_at_once.append(sum(name.startswith("busy") for name in running))
            first = len(started) <= 5
        if first:
            all_started.wait()
        with lock:
            running.remove(suite.name)
        return runner.Count(passed=1)

    names = [*(f"busy {n}" for n in range(5)), *(f"waiting {n}" for n in range(3))]
    suites = [runner.Suite(name, [], Path(), waits=name.startswith("waiting")) for name in names]
    assert list(runner.run_all(suites, run)) == names
    assert sorted(started) == names
    assert sum(name.startswith("waiting") for name in started[:5]) == 3
    assert max(busy_at_once) <= 3


def test_no_suite_starts_after_an_interrupt(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker takes the suite that does not wait, and raises. The second suite ends after the interrupt."""
    monkeypatch.setattr(runner, "AT_ONCE", 2)
    second_started, interrupted = threading.Event(), threading.Event()
    started: list[str] = []

    class Pool(ThreadPoolExecutor):
        def __exit__(self, *exception: Any) -> Any:
            interrupted.set()
            return super().__exit__(*exception)

    def run(suite: Any) -> Any:
        started.append(suite.name)
        if not suite.waits:
            assert second_started.wait(60)
            raise KeyboardInterrupt
        second_started.set()
        assert interrupted.wait(60)
        return runner.Count(passed=1)

    monkeypatch.setattr(runner, "ThreadPoolExecutor", Pool)
    suites = [runner.Suite(name, [], Path(), waits=name != "first") for name in ("first", "second", "third", "fourth")]
    with pytest.raises(KeyboardInterrupt):
        runner.run_all(suites, run)
    assert sorted(started) == ["first", "second"]


def test_every_test_folder_belongs_to_a_suite(runner: ModuleType) -> None:
    tests = ROOT / "tests"
    folders = {f"tests/{file.relative_to(tests).parts[0]}" for file in tests.rglob("test_*.py")}
    named = {
        argument
        for suite in (*runner.SUITES, *runner.NIGHTLY)
        for argument in suite.command
        if argument.startswith("tests/")
    }
    assert folders - named == set()
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_campaigns_run_only_with_all(runner: ModuleType) -> None:
    assert [suite.name for suite in runner.parse_arguments([])[0]] == [suite.name for suite in runner.SUITES]
    assert runner.parse_arguments([])[1] is False
    suites, campaign = runner.parse_arguments(["--all"])
    assert suites == [*runner.SUITES, *runner.NIGHTLY]
    assert campaign is True


def test_drivers_accept_an_archive_in_a_folder_with_a_space(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = tmp_path / "a folder" / "driver.jsa"
    monkeypatch.setattr(runner, "DRIVER_ARCHIVE", archive)
    archive.parent.mkdir()
    archive.touch()
    options = shlex.split(runner.options_of_drivers()["SPARK_SUBMIT_OPTS"])
    assert f"-XX:SharedArchiveFile={archive}" in options


@pytest.mark.parametrize("interrupted", [False, True])
def test_archive_of_an_interrupted_driver_is_not_used(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Make keeps a target that appears after the interrupt, and would not write a complete archive later."""
    target = tmp_path / "driver.jsa"
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("SPARK_SUBMIT_OPTS", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")

    def exit_driver() -> None:
        options = dict(word.split("=") for word in shlex.split(os.environ["SPARK_SUBMIT_OPTS"]) if "=" in word)
        Path(options["-XX:ArchiveClassesAtExit"]).touch()

    def run_typical_queries(spark: Any, folder: Path) -> None:
        if interrupted:
            raise KeyboardInterrupt

    process = SimpleNamespace(stdin=SimpleNamespace(close=lambda: None), wait=exit_driver)
    context = SimpleNamespace(_gateway=SimpleNamespace(proc=process))
    session = SimpleNamespace(sparkContext=context, stop=lambda: None)
    monkeypatch.setattr("tests.sessions.spark_session", lambda master: session)
    archive = script("driver_archive")
    monkeypatch.setattr(archive, "run_typical_queries", run_typical_queries)
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            archive.main(str(target))
        exit_driver()
    else:
        archive.main(str(target))
    assert target.exists() is not interrupted


def test_unknown_suite_is_a_usage_error(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.parse_arguments(["nothing"])
    assert "no such suite: nothing; choose from spark, " in capsys.readouterr().err


def system_packages(folder: Path, tools: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the script with only these tools on PATH."""
    for tool in tools:
        found = shutil.which(tool)
        assert found, tool
        (folder / tool).symlink_to(found)
    return subprocess.run(
        [shutil.which("bash") or "bash", ROOT / ".ci" / "system-packages"],
        env={"PATH": str(folder), "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_missing_tools_are_listed_in_one_line_without_apt(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    done = system_packages(tmp_path, ["sed", "id"])
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "a JDK, 17 or later; Gradle" in done.stderr


def test_complete_machine_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    done = system_packages(tmp_path, ["sed", "id", "javac", "gradle"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def workflows() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    files = (ROOT / ".github" / "workflows").glob("*.yml")
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


@pytest.mark.parametrize("outdated", ["", "rxjava-3.0.0.jar"])
def test_missing_libraries_of_the_tests_are_reported_with_the_command(tmp_path: Path, outdated: str) -> None:
    for jar in LIBRARIES.glob("*.jar") if outdated else ():
        (tmp_path / jar.name).touch()
    (tmp_path / "rxjava-3.1.10.jar").unlink(missing_ok=True)
    (tmp_path / (outdated or "other.jar")).touch()
    with pytest.raises(FileNotFoundError, match=r"has no .*rxjava-3\.1\.10.*gradle -p tests/interop/jars"):
        library_jars(tmp_path)


@pytest.mark.parametrize("name", ["smoke", "spark", "versions"])
def test_script_installs_the_plugins_that_the_settings_of_pytest_need(name: str) -> None:
    """pytest refuses ``--reruns`` in its settings if the plugin is missing."""
    settings = (ROOT / "pyproject.toml").read_text()
    extra = settings.split("\ntest = [")[1].split("\n]")[0]
    assert "--reruns" in settings
    assert "timeout = 120" in settings
    assert {"pytest-rerunfailures", "pytest-timeout"} <= set(re.findall(r'"([a-z-]+)>=', extra))
    assert "-e '.[spark,jpype,test]'" in (ROOT / ".ci" / name).read_text()


def test_workflows_run_existing_targets() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    jobs = [job for workflow in workflows().values() for job in workflow["jobs"].values()]
    commands = [step["run"].split() for job in jobs for step in job["steps"] if "run" in step]
    assert len(commands) > 5
    named = {command[1] for command in commands}
    matrix = {target for job in jobs for target in job.get("strategy", {}).get("matrix", {}).get("target", ())}
    assert {command[0] for command in commands} == {"make"}
    assert (named | matrix) - targets - {"${{"} == set()
    assert matrix


def test_workflows_cover_the_supported_versions() -> None:
    cases = workflows()["test"]["jobs"]["smoke"]["strategy"]["matrix"]["include"]
    classified = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {case["python"] for case in cases} == set(classified)
    assert {case["java"] for case in cases} == {"17", "21", "25"}
    assert {case["spark"] for case in cases} == {"3.5", "4.0", "newest"}
    # PySpark 3.5 supports Python up to 3.11 and Java up to 17, and PySpark 4.0 Python up to 3.13 and Java up to 21.
    newest = {"3.5": ((3, 11), 17), "4.0": ((3, 13), 21)}
    for case in cases:
        python, java = newest.get(case["spark"], ((4, 0), 99))
        assert tuple(map(int, case["python"].split("."))) <= python and int(case["java"]) <= java, case
