"""Run the official TCK on every faulty implementation, and store which test rejects each one.

``python -m tests.tck_java.campaign`` writes tests/tck_java/measured.json, from which ``python -m tests.tck.mutants``
takes the last column of docs/mutants.md. It takes a few minutes. Implementations that have a verdict already are
not run again, unless ``--again`` is given.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

from pyrs.tck import JavaReferee, Status, TestEnvironment, Verdict
from pyrs.tck.expected import BLACKBOX, PROCESSOR, PUBLISHER, WHITEBOX, Kind
from tests.conformance.sources_hash import current_commit
from tests.tck import judging, mutants, test_processors
from tests.tck.judging import Case
from tests.tck.right import RightFailedPublisher, RightProbed, RightPublisher, RightSubscriber

FILE = Path(__file__).with_name("measured.json")
# The tests of §3.9 and §3.13 check once, at the end of the timeout.
QUICK = TestEnvironment(timeout=0.5, no_signals_timeout=0.05, reference_timeout=0.5, hook_timeout=10, deadline=20)
AT_A_TIME = 20
EXCLUDED = {"Concurrent", "IgnoresDemand"}
"""Implementations that occupy the processor when they are run often. The test suite verifies them."""

# Each kind has a function that judges, a table of tests, and a conforming implementation.
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "Publishers": (judging.judge_publisher, PUBLISHER, RightPublisher),
    "Failed Publishers": (judging.judge_failed_publisher, PUBLISHER, RightFailedPublisher),
    "Subscribers, whitebox": (judging.judge_whitebox, WHITEBOX, RightProbed),
    "Subscribers, blackbox": (judging.judge_blackbox, BLACKBOX, RightSubscriber),
    "Processors": (test_processors.judged, PROCESSOR, test_processors.RightProcessor),
}


def main() -> int:
    """Judge the implementations without a verdict."""
    parser = argparse.ArgumentParser(prog="python -m tests.tck_java.campaign", description=__doc__)
    parser.add_argument("--again", action="store_true", help="also judge implementations with a verdict")
    arguments = parser.parse_args()
    judging.SHORT = QUICK
    known: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    verdicts: dict[str, str] = known.get("rejected_by", {})
    referee = JavaReferee()
    left = [
        (kind, make, [case.test for case in cases if case.make is make])
        for kind, cases in mutants.CASES.items()
        for make in {case.make: None for case in cases if isinstance(case.make, type)}
        if make.__name__ not in EXCLUDED and make is not KINDS[kind][2]
        if arguments.again or f"{kind}/{make.__name__}" not in verdicts
    ]
    for kind in dict.fromkeys(each[0] for each in left):
        statuses(referee, kind)
    with ThreadPoolExecutor(AT_A_TIME, "judging") as pool:
        found = {pool.submit(rejecting, referee, *each): f"{each[0]}/{each[1].__name__}" for each in left}
        for future in as_completed(found):
            verdicts[found[future]] = future.result()
            print(f"{found[future]}: {future.result() or 'accepted'}", flush=True)
            content = {"commit": current_commit(), "rejected_by": dict(sorted(verdicts.items()))}
            FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


def rejecting(referee: JavaReferee, kind: str, make: Any, first: list[str]) -> str:
    """Return the name of a test that rejects an implementation in two runs, or an empty string."""
    judge = KINDS[kind][0]
    usual = statuses(referee, kind)
    likely = [name for name in first if name in usual]
    for name in (*likely, *(name for name in usual if name not in likely)):
        if all(_status(judge, make, name, referee.judge) is not usual[name] for _ in range(2)):
            return name
    return ""


@cache
def statuses(referee: JavaReferee, kind: str) -> dict[str, Status]:
    """Return the verdicts of the official TCK for the conforming implementation.

    Raises:
        RuntimeError: a test rejects it, because the machine is too busy for the short timeouts.
    """
    judge, table, right = KINDS[kind]
    names = [name for name, what in table.items() if what is not Kind.UNTESTED]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = dict(zip(names, pool.map(lambda name: _status(judge, right, name, referee.judge), names), strict=True))
    rejected = [name for name, status in found.items() if status is Status.FAILED]
    if rejected:  # a verdict that differs from this one counts as a rejection, also if the implementation passes
        raise RuntimeError(f"the conforming implementation fails {', '.join(rejected)}: run this on an idle machine")
    return found


def _status(judge: Callable[..., Verdict], make: Any, name: str, by: Any) -> Status:
    return judge(Case(name, make, ""), by).status


if __name__ == "__main__":
    sys.exit(main())
