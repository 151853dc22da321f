"""The pytest plugin: one item for each test of a verification, under the name that it has in the Java kit.

pip registers it (the entry point ``pytest11``). It does nothing until a module that pytest collects defines a subclass
of one of the four verifications. Such a class is collected whatever its name; fixtures, marks, ``-k`` and the rest work
as for any class.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyrs.tck.verdicts import Verdict
    from pyrs.tck.verification import Verification

__all__ = ["VerificationClass"]

_VERDICT = "reactive-streams-tck"  # a property of the item's report: it reaches the summary from other processes, too
_COLLECTED: pytest.StashKey[dict[str, int]] = pytest.StashKey()


def _is_verification(thing: object) -> bool:
    """Say whether this is a user's verification. The kit is not imported for those who do not use it."""
    kit: Any = sys.modules.get("pyrs.tck.verification")
    return (
        kit is not None
        and isinstance(thing, type)
        and issubclass(thing, kit.Verification)
        and not thing.__module__.startswith("pyrs.tck.")
        and bool(getattr(thing, "expected", ()))
    )


class VerificationClass(pytest.Class):
    """A verification, as pytest's tree shows it."""

    def funcnamefilter(self, name: str) -> bool:
        """Say which methods are tests: those of the kit."""
        verification: type[Verification] = self.obj
        return name in verification.test_names()

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
        names = {item.name for item in items}
        problems = verification.problems() + [
            f"{name} was not collected" for name in verification.expected if name not in names
        ]
        if problems:
            raise self.CollectError("\n".join(problems))
        self.config.stash.setdefault(_COLLECTED, {})[self.nodeid] = len(items)
        return items


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> VerificationClass | None:
    """Collect subclasses of the verifications, whatever their names, unless a name begins with an underscore."""
    if _is_verification(obj) and not name.startswith("_"):
        return VerificationClass.from_parent(collector, name=name, obj=obj)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of the kit, within its deadline."""
    __tracebackhide__ = True
    if not isinstance(pyfuncitem.parent, VerificationClass):
        return None
    from pyrs.tck.verdicts import Status, judge

    name = pyfuncitem.originalname
    verdict = judge(pyfuncitem.instance, name)
    error: Any = verdict.error
    if isinstance(error, pytest.skip.Exception):
        raise error  # a hook called pytest.skip
    pyfuncitem.user_properties.append((_VERDICT, f"{verdict.status.value}: {verdict.reason}"))
    if verdict.status is Status.FAILED:
        if pyfuncitem.instance.env.deadline is None:
            raise error  # somebody debugs: all the frames, and --pdb where it was raised
        pytest.fail(f"{verdict.reason}\n\n{verdict.details}".rstrip(), pytrace=False)
    if verdict.status is not Status.PASSED:
        pytest.skip(f"{verdict.status.value}: {verdict.reason}")
    return True


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many tests of each verification ran, and why a required one did not."""
    collected = config.stash.get(_COLLECTED, {})
    ran: dict[str, list[Verdict]] = {nodeid: [] for nodeid in collected}
    for reports in terminalreporter.stats.values():
        for report in reports:
            verdict = _verdict_of(report)
            if verdict is not None:
                ran.setdefault(report.nodeid.rpartition("::")[0], []).append(verdict)
    if not ran:
        return
    from pyrs.tck.verdicts import Report, Status

    terminalreporter.section("Reactive Streams TCK, Python referee")
    for nodeid, verdicts in ran.items():
        terminalreporter.write_line(str(Report(nodeid, "python", tuple(verdicts))))
        missing = collected.get(nodeid, 0) - len(verdicts)
        if missing > 0:
            terminalreporter.write_line(f"  {missing} of its {collected[nodeid]} tests did not run")
        for verdict in verdicts:
            if verdict.status is Status.SKIPPED:
                terminalreporter.write_line(f"  skipped {verdict.name}: {verdict.reason}")


def _verdict_of(report: Any) -> Verdict | None:
    text = dict(getattr(report, "user_properties", ())).get(_VERDICT)
    if text is None or getattr(report, "when", "") != "call":
        return None
    from pyrs.tck.expected import kind_of
    from pyrs.tck.verdicts import Status, Verdict

    status, _, reason = str(text).partition(": ")
    name = report.nodeid.rpartition("::")[2]
    return Verdict(name, kind_of(name), Status(status), reason)
