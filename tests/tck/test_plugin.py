"""pytest, unittest and the command line report the same verdicts, and fail if nothing was verified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest

from pyrs import pytest_plugin
from pyrs.tck import PublisherVerification, Report, Status, TestEnvironment, Verdict, as_test_case, plugin, verify
from pyrs.tck.command import UsageError, as_junit, as_text, find
from pyrs.tck.expected import PUBLISHER, Kind
from tests.pytest_processes import pytest_environment
from tests.tck.right import RightPublisher

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.timeout(300)  # starts several processes sequentially

MODULE = '''
from pyrs.tck import PublisherVerification, TestEnvironment
from tests.tck.right import RightPublisher
from tests.tck.wrong_publishers import OneTooMany

class Mine(PublisherVerification):
    environment = TestEnvironment(
        timeout=30, no_signals_timeout=0.01, reference_timeout=30, hook_timeout=30, deadline=90
    )

    def create_publisher(self, elements):
        return RightPublisher(elements)

class Wrong(Mine):
    environment = TestEnvironment(timeout=0.5, no_signals_timeout=0.01, hook_timeout=30, deadline=90)

    def create_publisher(self, elements):
        return OneTooMany(elements)

class _Base(Mine):
    """Not collected, because its name begins with an underscore."""
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_mine.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=pytest_environment(PYTHONPATH=str(ROOT), COLUMNS="200"),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "pytest", "-p", "no:cacheprovider", *arguments)


def test_the_plugin_is_registered() -> None:
    names = [entry.value for entry in metadata.entry_points(group="pytest11")]
    assert "pyrs.pytest_plugin" in names, "the installed metadata is older than pyproject.toml: make setup"


def test_pytest_shows_one_item_for_each_test_by_its_name(project: Path) -> None:
    listing = run_pytest(project, "--collect-only", "-q")
    items = [line.rpartition("::")[2] for line in listing.stdout.splitlines() if "::Mine::" in line]
    assert sorted(items[:38]) == sorted(PUBLISHER)
    assert sorted(items) == sorted(PublisherVerification.test_names())
    assert "_Base" not in listing.stdout


def test_pytest_reports_the_verdicts(project: Path) -> None:
    passed = run_pytest(project, "test_mine.py::Mine", "-rs")
    assert passed.returncode == 0, passed.stdout
    assert "Mine (python): 38 TCK tests: 29 passed, 2 skipped, 7 untested" in passed.stdout
    assert "skipped optional_spec104_mustSignalOnErrorWhenFails: the test needs a failed Publisher" in passed.stdout
    assert "untested: not verified by the official TCK" in passed.stdout
    failed = run_pytest(project, "-k", "Wrong and spec105")
    assert failed.returncode == 1
    assert "expected the end of the stream but received element [4]" in failed.stdout
    assert "of 66 tests did not run" in failed.stdout


def test_pytest_shows_the_frames_of_the_publisher(project: Path) -> None:
    source = MODULE.replace("return OneTooMany(elements)", "raise OSError('the database is away')")
    (project / "test_mine.py").write_text(source, encoding="utf-8")
    failed = run_pytest(project, "-k", "Wrong and spec105_must")
    assert "create_publisher(3) raised OSError: the database is away" in failed.stdout
    assert "in create_publisher" in failed.stdout
    assert "publisher_tests.py" not in failed.stdout, "the frames of the TCK are shown"
    assert "traceback entries are hidden" not in failed.stdout


def test_pytest_rejects_a_class_with_a_missing_test(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write("class Lost(Mine):\n    required_validate_maxElementsFromPublisher = None\n")
    refused = run_pytest(project, "-k", "Lost")
    assert refused.returncode != 0
    assert "required_validate_maxElementsFromPublisher of the official TCK is missing" in refused.stdout


def test_fixtures_and_pytest_skip_work_in_verifications(project: Path) -> None:
    (project / "test_mine.py").write_text(
        MODULE
        + """
import unittest

import pytest

@pytest.fixture
def database():
    return 7

class Fixtures(Mine):
    @pytest.fixture(autouse=True)
    def prepare(self, database):
        self.elements = database

    def create_publisher(self, elements):
        assert self.elements == 7
        return RightPublisher(elements)

class Away(Mine):
    def create_publisher(self, elements):
        pytest.skip("no database here")

class Gone(Mine):
    def create_publisher(self, elements):
        raise unittest.SkipTest("no driver here")
""",
        encoding="utf-8",
    )
    ran = run_pytest(project, "-k", "(Fixtures or Away or Gone) and required_spec105", "-rs")
    assert ran.returncode == 0, ran.stdout
    assert "1 passed, 2 skipped" in ran.stdout
    assert "  skipped required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates: no driver here" in ran.stdout
    assert "  skipped required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates: no database here" in ran.stdout


def test_a_fixture_with_parameters_repeats_the_verification(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write(
            """
import pytest

class Twice(Mine):
    @pytest.fixture(params=["0", "1::b@c[d]"], autouse=True)
    def more(self, request):
        self.more = int(request.param[0])

    def create_publisher(self, elements):
        return RightPublisher(elements + self.more)
"""
        )
    ran = run_pytest(project, "-k", "Twice and required_spec105")
    assert ran.returncode == 1, ran.stdout
    assert "1 failed, 1 passed" in ran.stdout
    for verification in ("Twice[0] (python): 1 TCK tests: 1 passed", "Twice[1::b@c[d]] (python)"):
        assert verification in ran.stdout
    assert ran.stdout.count("  65 of 66 tests did not run") == 2


def test_each_parameter_set_has_its_own_lateness(project: Path) -> None:
    """pytest alternates between the parameter sets here."""
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write(
            """
import pytest, threading

class Both(Mine):
    environment = TestEnvironment(timeout=30, no_signals_timeout=0.01, hook_timeout=2, deadline=90)

    @pytest.fixture(params=["blocks", "is right"], autouse=True)
    def choose(self, request):
        self.kind = request.param

    def create_publisher(self, elements):
        if self.kind == "blocks":
            threading.Event().wait()
        return RightPublisher(elements)
"""
        )
    ran = run_pytest(project, "-k", "Both and (Exactly or required_spec105)")
    assert "3 failed, 3 passed" in ran.stdout, ran.stdout
    assert (
        "create_publisher(3) did not return within 200 ms (a shortened timeout, because it was late twice before"
        in ran.stdout
    )


def test_a_base_class_with_test_false_is_not_collected(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write("class Base(Mine):\n    __test__ = False\n\nclass Under_Base(Base):\n    __test__ = True\n")
    listing = run_pytest(project, "--collect-only", "-q")
    assert listing.returncode == 0, listing.stdout
    assert "::Base::" not in listing.stdout
    assert listing.stdout.count("::Under_Base::") == len(PublisherVerification.test_names())


def test_other_tests_of_a_verification_run(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write("class More(Mine):\n    def test_more(self, tmp_path):\n        assert not tmp_path\n")
    ran = run_pytest(project, "-k", "More and (required_spec105 or test_more)")
    assert ran.returncode == 1
    assert "1 failed, 1 passed" in ran.stdout
    assert "assert not tmp_path" in ran.stdout
    assert "More (python): 1 TCK tests: 1 passed" in ran.stdout
    assert "  65 of 66 tests did not run" in ran.stdout


def test_the_plugin_prints_nothing_without_a_verification(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("import sys\n\n\ndef test_nothing():\n    assert True\n", encoding="utf-8")
    ran = run_pytest(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "Reactive Streams" not in ran.stdout


def test_both_plugin_modules_use_the_same_names() -> None:
    assert (plugin.DUE, plugin.REPORTS) == (pytest_plugin.DUE, pytest_plugin.REPORTS)


def test_the_summary_includes_tests_of_worker_processes() -> None:
    """With pytest-xdist, the main process receives reports and collects nothing."""
    failed = SimpleNamespace(
        when="call",
        nodeid="test_mine.py::Mine::required_x[a::b]@machines",  # pytest-xdist appends the name of a group
        user_properties=[(f"{plugin.DUE}python", "3"), (f"{plugin.VERDICT}python", "failed: no end: never")],
    )
    session, lines = _reported(failed)
    assert lines == [
        "Reactive Streams TCK",
        "test_mine.py::Mine[a::b] (python): 1 TCK tests: 1 failed",
        "  2 of 3 tests did not run",
    ]
    assert session.exitstatus == pytest.ExitCode.OK


def test_the_summary_counts_a_repeated_test_once() -> None:
    """pytest-rerunfailures reports each failed run but the last with the outcome "rerun"."""
    due = (f"{plugin.DUE}python", "3")
    failed, passed = ((f"{plugin.VERDICT}python", verdict) for verdict in ("failed: no end", "passed: "))
    runs = [
        SimpleNamespace(
            when="call", outcome=outcome, nodeid="test_mine.py::Mine::required_x", user_properties=properties
        )
        for outcome, properties in (("rerun", [due, failed]), ("passed", [due, failed, passed]))
    ]
    _, lines = _reported(*runs)
    assert lines[1] == "test_mine.py::Mine (python): 1 TCK tests: 1 passed"


def test_the_summary_includes_skips_of_worker_processes() -> None:
    skipped = [
        SimpleNamespace(
            when="setup",
            skipped=True,
            nodeid=f"test_mine.py::Mine::{name}",
            user_properties=[(f"{plugin.DUE}python", "2")],
            longrepr=("test_mine.py", 7, "Skipped: no database here"),
        )
        for name in ("required_x", "beyond_y")
    ]
    session, lines = _reported(*skipped)
    assert lines == [
        "Reactive Streams TCK",
        "test_mine.py::Mine (python): 0 TCK tests: nothing ran",
        "  2 of 2 tests did not run",
        "  skipped 2 by marks or fixtures: no database here",
        "  every test was skipped, so nothing was verified: the run fails",
    ]
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED


def _reported(*reports: Any) -> tuple[Any, list[str]]:
    """Return the session and the summary of the main process for these reports."""
    lines: list[str] = []
    reporter = SimpleNamespace(section=lines.append, write_line=lines.append)
    plugins = pytest.PytestPluginManager()
    config: Any = SimpleNamespace(pluginmanager=plugins, stash=pytest.Stash())
    session = SimpleNamespace(config=config, exitstatus=pytest.ExitCode.OK)
    pytest_plugin.pytest_configure(config)
    for report in (SimpleNamespace(nodeid="test_other.py::test_it"), *reports):
        plugins.hook.pytest_runtest_logreport(report=report)
    pytest_plugin.pytest_sessionfinish(session)
    assert plugins.hasplugin("pyrs-tck-items")
    plugin.pytest_terminal_summary(reporter, config)
    return session, lines


LEFT_OUT = """
import pytest

@pytest.mark.skip(reason="no database here")
class Marked(Mine):
    pass
"""


def test_a_run_without_any_verdict_fails(project: Path) -> None:
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write(LEFT_OUT)
    marked = run_pytest(project, "-k", "Marked")
    assert marked.returncode == 1, marked.stdout
    assert "skipped 66 by marks or fixtures: no database here" in marked.stdout
    assert "every test was skipped, so nothing was verified: the run fails" in marked.stdout
    assert run_pytest(project, "-k", "Marked", "-p", "no:terminal").returncode == 1
    others = run_pytest(project, "-k", "Marked or (required_spec105 and not Wrong)")
    assert others.returncode == 0, others.stdout
    assert "skipped 66 by marks or fixtures: no database here" in others.stdout
    assert "the run fails" not in others.stdout


def test_a_verification_in_which_every_test_is_skipped_fails(project: Path) -> None:
    nothing = """
class Nothing(Mine):
    def max_elements_from_publisher(self):
        return 0

    def create_publisher(self, elements):
        raise Skipped("there is nothing to test")
"""
    with (project / "test_mine.py").open("a", encoding="utf-8") as file:
        file.write(f"from pyrs.tck import Skipped\n{nothing}")
    ran = run_pytest(project, "-k", "Nothing or (required_spec105 and not Wrong)")
    assert ran.returncode == 1, ran.stdout
    assert "every test was skipped, so nothing was verified: the run fails" in ran.stdout
    ran = run(project, "pyrs", "tck", "test_mine:Nothing")
    assert ran.returncode == 1
    assert "the run is void:\n  every test was skipped, so nothing was verified" in ran.stdout
    (project / "unittests.py").write_text(
        "import test_mine\nfrom pyrs.tck import as_test_case\nNothing = as_test_case(test_mine.Nothing)\n",
        encoding="utf-8",
    )
    ran = run(project, "unittest", "unittests")
    assert ran.returncode == 1, ran.stderr
    assert "every test was skipped, so nothing was verified" in ran.stderr
    ran = run(project, "unittest", "unittests", "-k", "required_spec105")
    assert "nothing was verified" not in ran.stderr, "a selection of tests does not void the run"


def test_skipping_every_test_is_a_problem() -> None:
    class Out(PublisherVerification[Any]):
        skip_tests: ClassVar[dict[str, str]] = dict.fromkeys(PublisherVerification.test_names(), "later")

    assert Out.problems() == ["skip_tests skips every test, so nothing is verified"]


def test_the_junit_file_of_an_earlier_run_is_removed(project: Path) -> None:
    (project / "mine.xml").write_text("<testsuites/>", encoding="utf-8")
    assert run(project, "pyrs", "tck", "nowhere:Mine", "--junit", "mine.xml").returncode == 2
    assert not (project / "mine.xml").exists()


def test_devices_and_symbolic_links_for_junit_are_kept(project: Path) -> None:
    earlier, link, pipe = project / "earlier.xml", project / "link.xml", project / "pipe"
    earlier.write_text("<testsuites/>", encoding="utf-8")
    link.symlink_to(earlier)
    os.mkfifo(pipe)
    for path in (link, pipe):
        assert run(project, "pyrs", "tck", "nowhere:Mine", "--junit", path.name).returncode == 2
    assert link.is_symlink() and not earlier.exists()
    assert pipe.is_fifo()


def test_the_command_prints_the_verdicts(project: Path) -> None:
    passed = run(project, "pyrs", "tck", "test_mine:Mine", "--junit", "mine.xml")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "  passed    required_spec101_subscriptionRequest" in passed.stdout
    assert passed.stdout.splitlines()[-1].startswith(
        "test_mine:Mine (python): 38 TCK tests: 29 passed, 2 skipped, 7 untested; "
    )
    suite = ElementTree.parse(project / "mine.xml").getroot()[0]
    assert suite.attrib["tests"] == str(len(PublisherVerification.test_names()))
    assert suite.attrib["failures"] == suite.attrib["errors"] == "0"
    failed = run(project, "pyrs", "tck", "test_mine:Wrong")
    assert failed.returncode == 1
    assert "failed: required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates" in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["test_mine"], "'test_mine' does not have the form module:Class"),
        (["nowhere:Mine"], "cannot import nowhere: No module named 'nowhere'"),
        (["test_mine:Other"], "test_mine has no Other; its verifications: Mine, "),
        (["test_mine.py:Mine"], "cannot import test_mine.py: "),
        (["test_mine:TestEnvironment"], "test_mine:TestEnvironment is not a subclass of a verification of pyrs.tck"),
        (["leaves:Mine"], "cannot import leaves: SystemExit: 0"),
        (["breaks:Mine"], "cannot import breaks: OSError: the database is away"),
        (["cannot_be_made:Wants"], "cannot_be_made:Wants() raised TypeError: "),
        (["cannot_be_made:Leaves"], "cannot_be_made:Leaves() raised SystemExit: 0"),
        (["test_mine:Mine", "--junit", "nowhere/mine.xml"], "the folder nowhere does not exist"),
        (["test_mine:Mine", "--junit", "."], "cannot write .: "),
    ],
)
def test_the_command_rejects_invalid_names(project: Path, arguments: list[str], complaint: str) -> None:
    (project / "leaves.py").write_text("from test_mine import Mine\nraise SystemExit(0)\n", encoding="utf-8")
    (project / "breaks.py").write_text("raise OSError('the database is away')\n", encoding="utf-8")
    (project / "cannot_be_made.py").write_text(
        """
from test_mine import Mine

class Wants(Mine):
    def __init__(self, database): ...

class Leaves(Mine):
    def __init__(self):
        raise SystemExit(0)
""",
        encoding="utf-8",
    )
    refused = run(project, "pyrs", "tck", *arguments)
    assert refused.returncode == 2
    assert f"pyrs tck: {complaint}" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_command_selects_tests_and_writes_json(project: Path) -> None:
    ran = run(project, "pyrs", "tck", "test_mine:Mine", "-k", "SPEC105_must spec302", "--json", "mine.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (report,) = json.loads((project / "mine.json").read_text(encoding="utf-8"))
    assert report["passed"] is True
    assert [verdict["rule"] for verdict in report["verdicts"]] == ["1.5", "3.2", "3.2"]
    nothing = run(project, "pyrs", "tck", "test_mine:Mine", "-k", "spec999")
    assert nothing.returncode == 1
    assert "nothing ran" in nothing.stdout
    assert "no test of test_mine:Mine has a name with " in nothing.stderr


def test_find_rejects_a_class_without_tests() -> None:
    with pytest.raises(UsageError, match="is not a subclass of a verification"):
        find("pyrs.tck.verification:Verification")


class _Right(PublisherVerification[Any]):
    environment = TestEnvironment(timeout=30, no_signals_timeout=0.01, hook_timeout=30, deadline=90)
    skip_tests: ClassVar[dict[str, str]] = {
        "stochastic_spec103_mustSignalOnMethodsSequentially": "it takes long to fail",
        **{name: "threads" for name in PublisherVerification.test_names() if name.startswith("beyond_")},
    }

    def create_publisher(self, elements: int) -> Any:
        return RightPublisher(elements)


class _Wrong(_Right):
    def create_publisher(self, elements: int) -> Any:
        return RightPublisher(elements + 1)


BAD = """
import threading
from pyrs.tck import PublisherVerification, TestEnvironment
from tests.tck.right import RightPublisher

class _Bad(PublisherVerification):
    environment = TestEnvironment(timeout=30, no_signals_timeout=0.01, hook_timeout=5, deadline=90)
    skip_tests = {name: "to be short" for name in PublisherVerification.test_names() if "spec105_must" not in name}

class Nothing(_Bad):
    def create_publisher(self, elements):
        return None

class Raises(_Bad):
    def create_publisher(self, elements):
        raise OSError("the database is away")

class Exits(_Bad):
    def create_publisher(self, elements):
        raise SystemExit(3)

class Blocks(_Bad):
    def create_publisher(self, elements):
        threading.Event().wait()

class Last(_Bad):
    def create_publisher(self, elements):
        return RightPublisher(elements)
"""
UNITTEST = """
import unittest, test_bad
from pyrs.tck import as_test_case

for name in ("Nothing", "Raises", "Exits", "Blocks", "Last"):
    globals()[name] = as_test_case(getattr(test_bad, name))
unittest.main()
"""
NAMES = ("Nothing", "Raises", "Exits", "Blocks", "Last")


@pytest.mark.parametrize(
    "command",
    [
        ["pytest", "-p", "no:cacheprovider", "test_bad.py"],
        ["pyrs", "tck", *(f"test_bad:{name}" for name in NAMES)],
        ["unittest_bad"],
    ],
    ids=["pytest", "command", "unittest"],
)
def test_failing_hooks_are_reported_and_the_run_continues(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "test_bad.py").write_text(BAD, encoding="utf-8")
    (tmp_path / "unittest_bad.py").write_text(UNITTEST, encoding="utf-8")
    ran = run(tmp_path, *command)
    output = ran.stdout + ran.stderr
    assert ran.returncode == 1, output
    for words in (
        "create_publisher(3) returned None, which has no method subscribe()",
        "create_publisher(3) raised OSError: the database is away",
        "SystemExit: 3",
        "create_publisher(3) did not return within 5000 ms",
    ):
        assert words in output
    assert "threading.Event().wait()" in output, "the frame that blocks"
    summary = {"pytest": "4 failed, 1 passed", "pyrs": "Last (python): 38 TCK tests: 1 passed"}
    assert summary.get(command[0], "FAILED (failures=4, skipped=325)") in output


def test_unittest_reports_the_same_verdicts() -> None:
    for verification in (_Right, _Wrong):
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(as_test_case(verification)).run(result)
        report = verify(verification)
        assert result.testsRun == len(report.verdicts) + 1
        assert result.wasSuccessful() == report.passed
        failed = {test.id().rpartition(".test_")[2] for test, _ in (*result.failures, *result.errors)}
        assert failed == {verdict.name for verdict in report.verdicts if verdict.status is Status.FAILED}
        reasons = {test.id().rpartition(".test_")[2]: reason for test, reason in result.skipped}
        assert reasons["optional_spec104_mustSignalOnErrorWhenFails"].startswith(
            "skipped: the test needs a failed Publisher"
        )


def test_the_test_case_of_a_class_with_a_missing_test_fails() -> None:
    class Lost(_Right):
        required_validate_maxElementsFromPublisher = None  # type: ignore[assignment]  # noqa: N815

    result = unittest.TestResult()
    as_test_case(Lost)("test_all_tests_are_there").run(result)
    assert len(result.failures) == 1


def test_junit_replaces_characters_that_xml_does_not_allow() -> None:
    verdict = Verdict("required_x", Kind.REQUIRED, Status.FAILED, "\x00 \ud800 <&> \u2028", 0.1, details="\x1b[0m")
    report = Report("mine:Mine", "python", (verdict,), ("required_y did not run",))
    suite = ElementTree.fromstring(as_junit([report]))[0]
    assert suite.attrib["failures"] == "1"
    assert suite.attrib["errors"] == "1"
    assert suite[0][0].attrib["message"] == "\ufffd \ufffd <&> \u2028"


def test_a_void_run_names_its_problems() -> None:
    report = Report("mine:Mine", "python", (), ("required_y did not run",))
    assert "the run is void:\n  required_y did not run" in as_text(report)
    assert "nothing ran" in as_text(report)
