"""The pytest plugin: one item for each test of a verification, under the name that it has in the Java kit.

``pyrs.pytest_plugin``, which pip registers (the entry point ``pytest11``), loads it as soon as a module that
pytest collects defines a subclass of one of the four verifications. Such a class is collected whatever its name;
fixtures, marks, ``-k`` and the rest work as for any class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from pyrs.tck.referees import Referee
    from pyrs.tck.verdicts import Verdict
    from pyrs.tck.verification import Verification

__all__ = ["VERDICT", "VerificationClass"]

# Properties of an item's reports, one for each referee: its verdict, and how many tests of its verification are due.
# They reach the summary from other processes, too, by what the module that pip registers hears.
VERDICT = "reactive-streams-tck "
DUE = "reactive-streams-tck-due "
REPORTS = "pyrs-tck-reports"

_ITEM = re.compile(r"(.*)::(\w+)(\[.*\])?(?:@.*)?", re.DOTALL)  # pytest-xdist adds @ and a group
_COLLECTED: pytest.StashKey[dict[str, list[str]]] = pytest.StashKey()
_REFEREES: pytest.StashKey[list[Referee]] = pytest.StashKey()


class VerificationClass(pytest.Class):
    """A verification, as pytest's tree shows it."""

    def funcnamefilter(self, name: str) -> bool:
        """Say which methods are tests: those of the kit."""
        verification: type[Verification] = self.obj
        # The Java kit has no tests beyond its own.
        java = self.config.getoption("tck_referee") == "java"
        return name in (verification.expected if java else verification.test_names())

    def classnamefilter(self, name: str) -> bool:
        """Say which nested classes are tests: none."""
        return False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect the tests; refuse a class that lost some.

        Raises:
            CollectError: the names are not those of the Java kit, or a skip has no reason.
        """
        verification: type[Verification] = self.obj
        items = list(super().collect())
        runs: dict[str, list[str]] = {}
        for item in items:
            run, name = _run_and_name(item.nodeid)
            runs.setdefault(run, []).append(name)
        problems = verification.problems()
        for names in runs.values() or [[]]:
            problems += [f"{name} was not collected" for name in verification.expected if name not in names]
        if problems:
            raise self.CollectError("\n".join(problems))
        self.config.stash.setdefault(_COLLECTED, {}).update(runs)
        return items


def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the referees, now that there is something to judge.

    Raises:
        UsageError: there is no JVM for the official kit.
    """
    config = session.config
    if not config.stash.get(_COLLECTED, {}) or config.option.collectonly:
        return
    from pyrs.errors import JvmError
    from pyrs.tck.referees import chosen

    try:
        referees = chosen(config.option.tck_referee, config.option.tck_jvm, config.option.tck_family)
    except (JvmError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_REFEREES] = referees
    for item in session.items:
        if isinstance(item.parent, VerificationClass):
            run, name = _run_and_name(item.nodeid)
            names = config.stash[_COLLECTED][run]
            judges = [referee for referee in referees if _due(referee, [name])]
            item.user_properties += [(f"{DUE}{referee}", str(_due(referee, names))) for referee in judges]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of the kit, within its deadline."""
    __tracebackhide__ = True
    if not isinstance(pyfuncitem.parent, VerificationClass):
        return None
    from pyrs.tck.referees import disagreement
    from pyrs.tck.verdicts import Status

    name, subject = pyfuncitem.originalname, pyfuncitem.instance
    subject.tck_run, _ = _run_and_name(pyfuncitem.nodeid)
    judged = []
    for referee in pyfuncitem.config.stash[_REFEREES]:
        if str(referee) != "python" and name not in subject.expected:
            continue
        verdict = referee.judge(subject, name)
        error: Any = verdict.error
        skips = isinstance(error, pytest.skip.Exception)  # a hook called pytest.skip
        if skips:
            verdict = verdict._replace(status=Status.SKIPPED, reason=str(error.msg))
        pyfuncitem.user_properties.append((f"{VERDICT}{referee}", f"{verdict.status.value}: {verdict.reason}"))
        if error is not None and (skips or subject.env.deadline is None):
            raise error  # or somebody debugs: all the frames, and --pdb where it was raised
        judged.append(verdict)
    wrong = [f"{verdict.reason}\n\n{verdict.details}".rstrip() for verdict in judged if verdict.status is Status.FAILED]
    if len(judged) > 1:
        wrong.append(disagreement(*judged))
    if any(wrong):
        pytest.fail("\n\n".join(filter(None, wrong)), pytrace=False)
    for verdict in judged:
        if verdict.status is not Status.PASSED:
            pytest.skip(f"{verdict.status.value}: {verdict.reason}")
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which a verification has judged nothing, though all its tests came up."""
    if hasattr(session.config, "workerinput"):
        return  # a process of pytest-xdist, whose reports are summed up elsewhere
    green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if session.exitstatus in green and _void(_tallies(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many tests of each verification ran, and why a required one did not."""
    tallies = _tallies(config)
    if not tallies:
        return
    from pyrs.tck.verdicts import NOTHING_JUDGED, Report, Status

    terminalreporter.section("Reactive Streams TCK")
    void = _void(tallies)
    for key, tally in tallies.items():
        terminalreporter.write_line(str(Report(*key, tuple(tally.verdicts))))
        if tally.due > len(tally.verdicts):
            terminalreporter.write_line(f"  {tally.due - len(tally.verdicts)} of its {tally.due} tests did not run")
        for reason in dict.fromkeys(tally.left_out):
            terminalreporter.write_line(f"  left out {tally.left_out.count(reason)}: {reason}")
        for verdict in tally.verdicts:
            if verdict.status is Status.SKIPPED:
                terminalreporter.write_line(f"  skipped {verdict.name}: {verdict.reason}")
        if key in void:
            terminalreporter.write_line(f"  {NOTHING_JUDGED}: that fails the run")


class _Tally(NamedTuple):
    """What became of the tests of a run of a verification, before one referee.

    Attributes:
        due: how many there are.
        verdicts: of those that ran.
        left_out: why others did not, by marks or fixtures.
    """

    due: int
    verdicts: list[Verdict]
    left_out: list[str]


def _tallies(config: pytest.Config) -> dict[tuple[str, str], _Tally]:
    """Return them by run and referee."""
    tallies = {
        (run, str(referee)): _Tally(_due(referee, names), [], [])
        for run, names in config.stash.get(_COLLECTED, {}).items()
        for referee in config.stash.get(_REFEREES, [])
    }
    heard: Any = config.pluginmanager.get_plugin(REPORTS)
    for report in heard.reports:
        properties = {str(key): str(text) for key, text in report.user_properties}
        for due in [key for key in properties if key.startswith(DUE)]:
            referee = due.removeprefix(DUE)
            run, name = _run_and_name(report.nodeid)
            tally = tallies.setdefault((run, referee), _Tally(int(properties[due]), [], []))
            _add(tally, report, name, properties.get(f"{VERDICT}{referee}"))
    return tallies


def _add(tally: _Tally, report: Any, name: str, said: str | None) -> None:
    from pyrs.tck.expected import kind_of
    from pyrs.tck.verdicts import Status, Verdict

    if report.when == "call" and said is not None:
        status, _, reason = said.partition(": ")
        tally.verdicts.append(Verdict(name, kind_of(name), Status(status), reason))
    elif report.when == "setup" and report.skipped:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        tally.left_out.append(str(reason).removeprefix("Skipped: "))


def _void(tallies: dict[tuple[str, str], _Tally]) -> set[tuple[str, str]]:
    """Return which have judged nothing though all their tests came up.

    Marks and fixtures may leave out all of one verification, since that is said of each test; but not all of all.
    """
    from pyrs.tck.verdicts import anything_judged

    idle = {key: tally for key, tally in tallies.items() if not anything_judged(tally.verdicts)}
    return {
        key
        for key, tally in idle.items()
        if len(tally.verdicts) + len(tally.left_out) == tally.due and (not tally.left_out or len(idle) == len(tallies))
    }


def _run_and_name(nodeid: str) -> tuple[str, str]:
    """Return which run of a verification an item is of, one for each set of parameters, and the test's name."""
    verification, name, parameters = _ITEM.fullmatch(nodeid).groups("")  # type: ignore[union-attr]
    return f"{verification}{parameters}", name


def _due(referee: Referee, names: list[str]) -> int:
    return sum(str(referee) == "python" or not name.startswith("beyond_") for name in names)
