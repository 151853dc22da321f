"""Verify several entries at a time, because a verification mostly waits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from pyrs import SpecViolation, set_error_hook
from pyrs.tck import Report, Status, beyond_subscription
from tests.conformance.entry import Entry
from tests.conformance.routes import ROUTES, SLOTS, Route, Verify

__all__ = [
    "PATIENCE",
    "TEST_LONG_RUN",
    "TEST_PATIENCE",
    "Result",
    "counts_in_words",
    "guard_reports",
    "numbers_of",
    "verify_all",
    "verify_entry",
    "verify_routes",
    "why_failed",
    "why_skipped",
]

PATIENCE = {"PYRS_TCK_TIMEOUT_SCALE": "2", "DEFAULT_TIMEOUT_MILLIS": "2000"}
"""Long timeouts for a loaded machine. Those of expected signals cost nothing when the signal arrives."""

TEST_PATIENCE = {
    "PYRS_TCK_TIMEOUT_SCALE": "5",
    "DEFAULT_TIMEOUT_MILLIS": "2000",
    "DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS": "40",
    "PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS": "2000",
}
"""The timeouts of the test suite, which must not fail under load: the scale multiplies each by five."""

TEST_LONG_RUN = 20_000
"""The number of nested requests in the test suite, for rule 3.3. A million take seconds of CPU time for each entry."""

LOGS = Path(__file__).resolve().parents[2] / "build" / "conformance"

FEW, ENDLESS = "it has fewer elements than the test needs", "it never completes"
LAZY, ALONE = "it cannot fail before the first request", "it supports one Subscriber, and the test needs two"
# A part of the skip reason, from the Python port or from the official TCK, and the reason on the page.
KNOWN = {
    "elements, but the Publisher has at most": FEW,
    "as required elements nr:": FEW,
    "needs on_complete": ENDLESS,
    "requires an onComplete signal": ENDLESS,
    "the test needs a failed Publisher": LAZY,
    "no error state Publisher provided": LAZY,
    "Subscribers, but the Processor supports": ALONE,
    "only supports 1 subscribers": ALONE,
}


class Result(NamedTuple):
    """The outcome of one verification; plain data, because it crosses a process boundary and is stored as JSON.

    Attributes:
        entry: the name of the entry.
        route: the key of the route.
        tck: how many tests of the TCK passed, were skipped and failed.
        beyond: the same for the additional tests of the Python port.
        untested: how many tests of the TCK have a name but no body.
        notes: (test, status, reason) of each skipped or failed test, and of each problem that voids the run.
        seconds: the duration.
    """

    entry: str
    route: str
    tck: tuple[int, int, int]
    beyond: tuple[int, int, int]
    untested: int
    notes: tuple[tuple[str, str, str], ...]
    seconds: float

    def problems(self, entry: Entry) -> list[str]:
        """Return the failures and skips that the entry does not explain, and the problems that void the run."""
        wrong = []
        for test, status, reason in self.notes:
            known = why_skipped(entry, test, reason) if status == "skipped" else why_failed(entry, test)
            if status == "void" or not known:
                wrong.append(f"{status} {test}: {reason}")
        return wrong


def verify_entry(entry: Entry, route: Route, verify: Verify) -> Result:
    began = time.monotonic()
    with guard_reports() as reported:
        report = verify(entry.verification)
    tck, beyond = (_counts(report, beyond=beyond) for beyond in (False, True))
    notes = [
        (verdict.name, verdict.status.value, verdict.reason)
        for verdict in report.verdicts
        if verdict.status in (Status.FAILED, Status.SKIPPED)
    ]
    notes += [("the run", "void", problem) for problem in report.problems]
    notes += [("the run", "void", f"strict reported: {text}") for text in dict.fromkeys(reported)]
    untested = report.count(Status.UNTESTED)
    return Result(entry.name, route.key, tck, beyond, untested, tuple(notes), round(time.monotonic() - began, 1))


@contextmanager
def guard_reports() -> Iterator[list[str]]:
    """Collect the reports of ``strict`` about the code under test.

    The test of §2.5 sends a second Subscription, so a report of §2.12 is about the TCK.
    """
    reported: list[str] = []

    def hook(error: BaseException, where: str) -> None:
        if where == "strict" and isinstance(error, SpecViolation) and error.rule != "2.12":
            reported.append(str(error))
        before(error, where)

    before = set_error_hook(hook)
    try:
        yield reported
    finally:
        set_error_hook(before)


def _counts(report: Report, *, beyond: bool) -> tuple[int, int, int]:
    passed, skipped, failed = (
        report.count(status, beyond=beyond) for status in (Status.PASSED, Status.SKIPPED, Status.FAILED)
    )
    return passed, skipped, failed


def why_skipped(entry: Entry, test: str, reason: str) -> str:
    """Return why a test does not apply to an entry; empty if neither the entry nor ``KNOWN`` explains it."""
    # The reasons for the TCK's optional tests of a rule also apply to the port's additional test of that rule.
    names = (test, test.replace("beyond_", "optional_", 1))
    for beginning, why in entry.skips.items():
        if any(name.startswith(beginning) for name in names):
            return why
    return next((why for text, why in KNOWN.items() if text in reason), "")


def why_failed(entry: Entry, test: str) -> str:
    """Return why a third-party implementation fails a test; empty if the failure is not known."""
    return next((why for beginning, why in entry.faults.items() if test.startswith(beginning)), "")


def numbers_of(result: Result) -> str:
    """Return the text of the table's cell: the TCK's tests, then the additional ones."""
    return counts_in_words(result.tck) + (f"; {counts_in_words(result.beyond)}" if any(result.beyond) else "")


def counts_in_words(counts: tuple[int, int, int]) -> str:
    passed, skipped, failed = counts
    return (
        f"{passed} passed" + (f", {skipped} skipped" if skipped else "") + (f", **{failed} failed**" if failed else "")
    )


# The next two functions run in a worker process.

_verify: Verify | None = None
_opened: Any = None


def _begin(route: str, patience: Mapping[str, str], long_run: int) -> None:
    global _verify, _opened
    os.environ.update(patience)
    beyond_subscription._LONG_RUN = long_run
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(LOGS / f"{route}-{os.getpid()}.log", "w") as log:
        os.dup2(log.fileno(), 2)  # the warnings that the tests provoke in libraries do not belong on the terminal
    _opened = ROUTES[route].opens()
    _verify = _opened.__enter__()


def _one(route: str, name: str) -> Result:
    from tests.conformance.registry import EVERY_ENTRY

    assert _verify is not None
    return verify_entry(EVERY_ENTRY[name], ROUTES[route], _verify)


def verify_all(
    route: Route,
    names: Iterable[str],
    patience: Mapping[str, str] = PATIENCE,
    long_run: int = beyond_subscription._LONG_RUN,
) -> Iterator[Result]:
    """Verify the entries of these names in worker processes; yield each result when it is complete."""
    given = list(names)
    if not given:
        return
    processes = min(route.processes, len(given))
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, (route.key, dict(patience), long_run)) as pool:
        for future in as_completed([pool.submit(_one, route.key, name) for name in given]):
            yield future.result()


def verify_routes(work: Mapping[str, Sequence[str]], slots: int = SLOTS) -> Iterator[Result]:
    """Verify entries on several routes at the same time, as far as their slots permit.

    Args:
        work: the names of the entries by the key of the route, with the longest route first.
        slots: the sum of the slots of the routes that run at the same time.
    """
    arrived: SimpleQueue[Any] = SimpleQueue()
    waiting = [ROUTES[key] for key, names in work.items() if names]
    running: list[Route] = []

    def run(route: Route) -> None:
        try:
            for result in verify_all(route, work[route.key]):
                arrived.put(result)
        except BaseException as error:
            arrived.put(error)
        arrived.put(route)

    while waiting or running:
        for route in list(waiting):
            if not running or sum(each.slots for each in running) + route.slots <= slots:
                waiting.remove(route)
                running.append(route)
                Thread(target=run, args=(route,), name=route.key, daemon=True).start()
        item = arrived.get()
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Route):
            running.remove(item)
        else:
            yield item
