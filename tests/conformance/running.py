"""Judges entries, several at a time: most of a verification is waiting."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from pyrs.tck import Report, Status
from tests.conformance.entry import Entry
from tests.conformance.routes import ROUTES, Judge, Route

__all__ = [
    "PATIENCE",
    "TEST_PATIENCE",
    "Result",
    "in_words",
    "judge_all",
    "judge_entry",
    "numbers_of",
    "why_failed",
    "why_skipped",
]

PATIENCE = {"PYRS_TCK_TIMEOUT_SCALE": "2", "DEFAULT_TIMEOUT_MILLIS": "2000"}
"""To wait for what happens costs nothing, and on a machine that does several things a thread may stand for a second."""

TEST_PATIENCE = {
    "PYRS_TCK_TIMEOUT_SCALE": "5",
    "DEFAULT_TIMEOUT_MILLIS": "2000",
    "DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS": "40",
    "PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS": "2000",
}
"""The same where a few rows are judged each time and none may fail by bad luck: five times these milliseconds."""

LOGS = Path(__file__).resolve().parents[2] / "build" / "conformance"

FEW, ENDLESS = "it has fewer elements than the test needs", "it never ends"
LAZY, ALONE = "it cannot fail before it is requested from", "it is for one Subscriber, and the test needs two"
# What the Python port says, and what the Java kit says.
KNOWN = {
    "elements, and the Publisher has at most": FEW,
    "as required elements nr:": FEW,
    "needs on_complete": ENDLESS,
    "requires an onComplete signal": ENDLESS,
    "there is no failed Publisher": LAZY,
    "no error state Publisher provided": LAZY,
    "Subscribers, and the Processor supports": ALONE,
    "only supports 1 subscribers": ALONE,
}


class Result(NamedTuple):
    """What came of an entry before one referee; plain data, since it comes from another process and goes to a file.

    Attributes:
        entry: its name.
        route: the key of the referee's route.
        kit: the Java kit's tests: how many passed, were skipped and failed.
        beyond: the same of the tests beyond it.
        untested: how many are names only.
        notes: (test, status, reason) of what neither passed nor is untested, and of what made the run void.
        seconds: how long it took.
    """

    entry: str
    route: str
    kit: tuple[int, int, int]
    beyond: tuple[int, int, int]
    untested: int
    notes: tuple[tuple[str, str, str], ...]
    seconds: float

    def problems(self, entry: Entry) -> list[str]:
        """Return what must not be: failures that are not known of somebody else's, skips that nobody has explained."""
        wrong = []
        for test, status, reason in self.notes:
            known = why_skipped(entry, test, reason) if status == "skipped" else why_failed(entry, test)
            if status == "void" or not known:
                wrong.append(f"{status} {test}: {reason}")
        return wrong


def judge_entry(entry: Entry, route: Route, judge: Judge) -> Result:
    began = time.monotonic()
    report = judge(entry.verification)
    kit, beyond = (_counts(report, beyond=beyond) for beyond in (False, True))
    notes = [
        (verdict.name, verdict.status.value, verdict.reason)
        for verdict in report.verdicts
        if verdict.status in (Status.FAILED, Status.SKIPPED)
    ]
    notes += [("the run", "void", problem) for problem in report.problems]
    untested = report.count(Status.UNTESTED)
    return Result(entry.name, route.key, kit, beyond, untested, tuple(notes), round(time.monotonic() - began, 1))


def _counts(report: Report, *, beyond: bool) -> tuple[int, int, int]:
    passed, skipped, failed = (
        report.count(status, beyond=beyond) for status in (Status.PASSED, Status.SKIPPED, Status.FAILED)
    )
    return passed, skipped, failed


def why_skipped(entry: Entry, test: str, reason: str) -> str:
    """Return why a test does not apply to an implementation; nothing if nobody said why."""
    for beginning, why in entry.skips.items():
        if test.startswith(beginning):
            return why
    return next((why for text, why in KNOWN.items() if text in reason), "")


def why_failed(entry: Entry, test: str) -> str:
    """Return why somebody else's implementation fails a test; nothing if that is not known."""
    return next((why for beginning, why in entry.faults.items() if test.startswith(beginning)), "")


def numbers_of(result: Result) -> str:
    """Return the numbers as they stand in the table."""
    return in_words(result.kit) + (f"; {in_words(result.beyond)}" if any(result.beyond) else "")


def in_words(counts: tuple[int, int, int]) -> str:
    passed, skipped, failed = counts
    return (
        f"{passed} passed" + (f", {skipped} skipped" if skipped else "") + (f", **{failed} failed**" if failed else "")
    )


# In the process that judges.

_judge: Judge | None = None
_opened: Any = None


def _begin(route: str) -> None:
    global _judge, _opened
    os.environ.update(PATIENCE)
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(LOGS / f"{route}-{os.getpid()}.log", "w") as log:
        os.dup2(log.fileno(), 2)  # what the tests make a library say is not for the terminal
    _opened = ROUTES[route].opens()
    _judge = _opened.__enter__()


def _one(route: str, name: str) -> Result:
    from tests.conformance.registry import EVERY_ENTRY

    assert _judge is not None
    return judge_entry(EVERY_ENTRY[name], ROUTES[route], _judge)


def judge_all(route: Route, names: Iterable[str]) -> Iterator[Result]:
    """Judge the entries of these names, in processes of their own; give each result as it comes."""
    with ProcessPoolExecutor(route.processes, get_context("spawn"), _begin, (route.key,)) as pool:
        for future in as_completed([pool.submit(_one, route.key, name) for name in names]):
            yield future.result()
