"""The pytest plugin: one item for each test, with its name in the TCK.

``pyrs.pytest_plugin``, which pip registers as a ``pytest11`` entry point, loads this module when pytest collects a
subclass of one of the four verifications. The name of the class does not matter; fixtures, marks and ``-k`` work as for
any test class.
"""

from __future__ import annotations

import faulthandler
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from pyrs.tck.referees import Referee
    from pyrs.tck.verdicts import Verdict
    from pyrs.tck.verification import Verification

# An item's reports have these properties for each TCK: the verdict, and the number of tests of the verification. They
# also reach the summary from the worker processes of pytest-xdist, through the Reports of pyrs.pytest_plugin.
VERDICT = "reactive-streams-tck "
DUE = "reactive-streams-tck-due "
REPORTS = "pyrs-tck-reports"

# pytest-xdist adds @ and a group; the name of a parameter set may contain :: and @
_ITEM = re.compile(r"(.*?)::(\w+)(\[.*\])?(?:@.*)?", re.DOTALL)
_COLLECTED: pytest.StashKey[dict[str, list[str]]] = pytest.StashKey()
_REFEREES: pytest.StashKey[list[Referee]] = pytest.StashKey()


class VerificationClass(pytest.Class):
    """The collector of a verification."""

    def funcnamefilter(self, name: str) -> bool:
        """Return whether a method is a test of the TCK, or one that the user has added."""
        verification: type[Verification] = self.obj
        if any(name in vars(owner) for owner in verification.__mro__ if owner.__module__.startswith("pyrs.tck.")):
            # The official TCK does not have the additional tests.
            java = self.config.getoption("tck_referee") == "java"
            return name in (verification.expected if java else verification.test_names())
        return super().funcnamefilter(name)

    def classnamefilter(self, name: str) -> bool:
        """Return False: nested classes are not collected."""
        return False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect the tests.

        Raises:
            CollectError: a test is missing or overridden, a skip has no reason, or the class has an ``__init__``.
        """
        verification: type[Verification] = self.obj
        if verification.__init__ is not object.__init__:
            raise self.CollectError(
                f"{verification.__name__} has an __init__, and pytest collects no test of such a class: "
                "use set_up() or a fixture"
            )
        items = list(super().collect())
        order = {name: at for at, name in enumerate(verification.test_names())}
        items.sort(key=lambda item: order.get(_run_and_name(item.nodeid)[1], len(order)))
        runs: dict[str, list[str]] = {}
        for item in filter(_is_of_the_tck, items):
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
    """Choose the TCKs after a verification was collected.

    Raises:
        UsageError: the JVM or the jars of the official TCK are not available.
    """
    config = session.config
    if not config.stash.get(_COLLECTED, {}) or config.option.collectonly:
        return
    from pyrs.errors import JvmError
    from pyrs.tck.referees import chosen

    if config.option.tck_referee != "python" and config.option.tck_jvm == "jpype":
        faulthandler.disable()  # it and the JVM both handle SIGSEGV
    try:
        referees = chosen(config.option.tck_referee, config.option.tck_jvm, config.option.tck_family)
    except (JvmError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_REFEREES] = referees
    for item in filter(_is_of_the_tck, session.items):
        run, name = _run_and_name(item.nodeid)
        names = config.stash[_COLLECTED][run]
        running = [referee for referee in referees if _due(referee, [name])]
        item.user_properties += [(f"{DUE}{referee}", str(_due(referee, names))) for referee in running]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of the TCK within its deadline."""
    __tracebackhide__ = True
    if not _is_of_the_tck(pyfuncitem):
        return None
    from pyrs.tck.referees import disagreement
    from pyrs.tck.verdicts import Status

    name, subject = pyfuncitem.originalname, pyfuncitem.instance
    subject.tck_run, _ = _run_and_name(pyfuncitem.nodeid)
    verdicts = []
    for referee in pyfuncitem.config.stash[_REFEREES]:
        if str(referee) != "python" and name not in subject.expected:
            continue
        verdict = referee.judge(subject, name)
        pyfuncitem.user_properties.append((f"{VERDICT}{referee}", f"{verdict.status.value}: {verdict.reason}"))
        if verdict.error is not None and subject.is_debugged:
            raise verdict.error  # without a deadline the user is debugging: show all frames, and let --pdb stop there
        verdicts.append(verdict)
    failures = [f"{each.reason}\n\n{each.details}".rstrip() for each in verdicts if each.status is Status.FAILED]
    if len(verdicts) > 1:
        failures.append(disagreement(*verdicts))
    if any(failures):
        pyfuncitem.repr_failure = _message_of  # type: ignore[method-assign]  # pytest would report hidden frames
        pytest.fail("\n\n".join(filter(None, failures)), pytrace=False)
    for verdict in verdicts:
        if verdict.status is not Status.PASSED:
            pytest.skip(f"{verdict.status.value}: {verdict.reason}")
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if all tests of a verification ran and every one was skipped."""
    if hasattr(session.config, "workerinput"):
        return  # a worker of pytest-xdist; the main process adds up the reports
    green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if session.exitstatus in green and _void(_tallies(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the counts of each verification, and the reasons for skips."""
    tallies = _tallies(config)
    if not tallies:
        return
    from pyrs.tck.verdicts import NOTHING_JUDGED, Report, Status

    terminalreporter.section("Reactive Streams TCK")
    void = _void(tallies)
    for key, tally in tallies.items():
        terminalreporter.write_line(str(Report(*key, tuple(tally.verdicts))))
        if tally.due > len(tally.verdicts):
            terminalreporter.write_line(f"  {tally.due - len(tally.verdicts)} of {tally.due} tests did not run")
        for reason in dict.fromkeys(tally.left_out):
            terminalreporter.write_line(f"  skipped {tally.left_out.count(reason)} by marks or fixtures: {reason}")
        for verdict in tally.verdicts:
            if verdict.status is Status.SKIPPED:
                terminalreporter.write_line(f"  skipped {verdict.name}: {verdict.reason}")
        if key in void:
            terminalreporter.write_line(f"  {NOTHING_JUDGED}: the run fails")


class _Tally(NamedTuple):
    """The tests of one run of a verification with one TCK."""

    due: int  # the number of tests
    verdicts: list[Verdict]  # the verdicts of the tests that ran
    left_out: list[str]  # the reasons of skips by marks or fixtures


def _tallies(config: pytest.Config) -> dict[tuple[str, str], _Tally]:
    """Return the tallies by run and TCK."""
    tallies = {
        (run, str(referee)): _Tally(_due(referee, names), [], [])
        for run, names in config.stash.get(_COLLECTED, {}).items()
        for referee in config.stash.get(_REFEREES, [])
    }
    received: Any = config.pluginmanager.get_plugin(REPORTS)
    for report in received.reports:
        properties = {str(key): str(text) for key, text in report.user_properties}
        for due in [key for key in properties if key.startswith(DUE)]:
            referee = due.removeprefix(DUE)
            run, name = _run_and_name(report.nodeid)
            tally = tallies.setdefault((run, referee), _Tally(int(properties[due]), [], []))
            _add(tally, report, name, properties.get(f"{VERDICT}{referee}"))
    return tallies


def _add(tally: _Tally, report: Any, name: str, result: str | None) -> None:
    from pyrs.tck.expected import kind_of
    from pyrs.tck.verdicts import Status, Verdict

    if report.when == "call" and result is not None:
        status, _, reason = result.partition(": ")
        tally.verdicts.append(Verdict(name, kind_of(name), Status(status), reason))
    elif report.when == "setup" and report.skipped:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        tally.left_out.append(str(reason).removeprefix("Skipped: "))


def _void(tallies: dict[tuple[str, str], _Tally]) -> set[tuple[str, str]]:
    """Return the runs in which all tests were selected and none passed or failed.

    Marks and fixtures may skip all tests of one verification, because pytest reports each skip. They must not skip the
    tests of all verifications.
    """
    from pyrs.tck.verdicts import anything_judged

    idle = {key: tally for key, tally in tallies.items() if not anything_judged(tally.verdicts)}
    return {
        key
        for key, tally in idle.items()
        if len(tally.verdicts) + len(tally.left_out) == tally.due and (not tally.left_out or len(idle) == len(tallies))
    }


def _message_of(excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
    return str(excinfo.value)


def _is_of_the_tck(item: pytest.Item | pytest.Collector) -> bool:
    """Return whether an item of a verification is a test of the TCK."""
    collector = item.parent
    return isinstance(collector, VerificationClass) and getattr(item, "originalname", "") in collector.obj.test_names()


def _run_and_name(nodeid: str) -> tuple[str, str]:
    """Return the run of an item (one per parameter set) and the test's name."""
    verification, name, parameters = _ITEM.fullmatch(nodeid).groups("")  # type: ignore[union-attr]
    return f"{verification}{parameters}", name


def _due(referee: Referee, names: list[str]) -> int:
    return sum(str(referee) == "python" or not name.startswith("beyond_") for name in names)
