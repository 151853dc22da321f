"""The pytest plugin: one item for each test of a verification, under the name that it has in the Java kit.

``pyrs.pytest_plugin``, which pip registers (the entry point ``pytest11``), loads it as soon as a module that
pytest collects defines a subclass of one of the four verifications. Such a class is collected whatever its name;
fixtures, marks, ``-k`` and the rest work as for any class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyrs.tck.referees import Referee
    from pyrs.tck.verdicts import Verdict
    from pyrs.tck.verification import Verification

__all__ = ["VERDICT", "VerificationClass"]

# Properties of an item's report, one for each referee: they reach the summary from other processes, too. The module
# that pip registers knows the name as well.
VERDICT = "reactive-streams-tck "

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
        config.stash[_REFEREES] = chosen(config.option.tck_referee, config.option.tck_jvm, config.option.tck_family)
    except (JvmError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of the kit, within its deadline."""
    __tracebackhide__ = True
    if not isinstance(pyfuncitem.parent, VerificationClass):
        return None
    from pyrs.tck.referees import disagreement
    from pyrs.tck.verdicts import Status

    name, subject = pyfuncitem.originalname, pyfuncitem.instance
    names = pyfuncitem.config.stash[_COLLECTED][_run_and_name(pyfuncitem.nodeid)[0]]
    judged = []
    for referee in pyfuncitem.config.stash[_REFEREES]:
        if str(referee) != "python" and name not in subject.expected:
            continue
        verdict = referee.judge(subject, name)
        error: Any = verdict.error
        skips = isinstance(error, pytest.skip.Exception)  # a hook called pytest.skip
        if skips:
            verdict = verdict._replace(status=Status.SKIPPED, reason=str(error.msg))
        # With the number of tests that are due, which is not known where the summary of other processes is written.
        told = f"{verdict.status.value} of {_due(referee, names)}: {verdict.reason}"
        pyfuncitem.user_properties.append((f"{VERDICT}{referee}", told))
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


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many tests of each verification ran, and why a required one did not."""
    ran: dict[tuple[str, str], list[Verdict]] = {}
    due: dict[tuple[str, str], int] = {}
    for run, names in config.stash.get(_COLLECTED, {}).items():
        for referee in config.stash.get(_REFEREES, []):
            ran[run, str(referee)], due[run, str(referee)] = [], _due(referee, names)
    for reports in terminalreporter.stats.values():
        for report in reports:
            for key, of, verdict in _verdicts_of(report):
                ran.setdefault(key, []).append(verdict)
                due[key] = of
    if not ran:
        return
    from pyrs.tck.verdicts import Report, Status

    terminalreporter.section("Reactive Streams TCK")
    for key, verdicts in ran.items():
        terminalreporter.write_line(str(Report(*key, tuple(verdicts))))
        if due[key] > len(verdicts):
            terminalreporter.write_line(f"  {due[key] - len(verdicts)} of its {due[key]} tests did not run")
        for verdict in verdicts:
            if verdict.status is Status.SKIPPED:
                terminalreporter.write_line(f"  skipped {verdict.name}: {verdict.reason}")


def _run_and_name(nodeid: str) -> tuple[str, str]:
    """Return which run of a verification an item is of, one for each set of parameters, and the test's name."""
    verification, name, parameters = _ITEM.fullmatch(nodeid).groups("")  # type: ignore[union-attr]
    return f"{verification}{parameters}", name


def _due(referee: Referee, names: list[str]) -> int:
    return sum(str(referee) == "python" or not name.startswith("beyond_") for name in names)


def _verdicts_of(report: Any) -> Iterator[tuple[tuple[str, str], int, Verdict]]:
    if getattr(report, "when", "") != "call":
        return
    for key, text in getattr(report, "user_properties", ()):
        if str(key).startswith(VERDICT):
            from pyrs.tck.expected import kind_of
            from pyrs.tck.verdicts import Status, Verdict

            said, _, reason = str(text).partition(": ")
            status, _, due = said.partition(" of ")
            run, name = _run_and_name(report.nodeid)
            verdict = Verdict(name, kind_of(name), Status(status), reason)
            yield (run, str(key).removeprefix(VERDICT)), int(due), verdict
