"""Run the official TCK on every faulty implementation, and store which test rejects each one.

``python -m tests.tck_java.campaign`` writes tests/tck_java/measured.json, from which ``python -m tests.tck.mutants``
takes the last column of docs/mutants.md. It takes about ten minutes. Implementations that have a verdict already are
not run again, unless ``--again`` is given.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
EXCLUDED = {"Concurrent", "IgnoresDemand", "HidesTheOverflow"}
"""Implementations with a verdict in the test suite, which occupy the processor when they are run often."""

# The function that judges, the tests, and the conforming implementation of a kind.
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
    with ThreadPoolExecutor(AT_A_TIME, "judging") as pool:
        for kind, cases in mutants.CASES.items():
            names = {case.make: None for case in cases if isinstance(case.make, type)}
            for make in names:
                key = f"{kind}/{make.__name__}"
                if make.__name__ in EXCLUDED or make is KINDS[kind][2] or (key in verdicts and not arguments.again):
                    continue
                verdicts[key] = rejecting(referee, pool, kind, make, [c.test for c in cases if c.make is make])
                print(f"{key}: {verdicts[key] or 'accepted'}", flush=True)
                content = {"commit": current_commit(), "rejected_by": dict(sorted(verdicts.items()))}
                FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


def rejecting(referee: JavaReferee, pool: ThreadPoolExecutor, kind: str, make: Any, first: list[str]) -> str:
    """Return a test that rejects an implementation twice, or an empty string."""
    judge, table, _ = KINDS[kind]
    names = [name for name, what in table.items() if what is not Kind.UNTESTED]
    usual = statuses(referee, kind)

    def rejects(name: str) -> bool:
        return all(_status(judge, make, name, referee.judge) is not usual[name] for _ in range(2))

    likely = [name for name in first if name in usual]
    for group in (likely, [name for name in names if name not in likely]):
        found = [name for name, is_rejected in zip(group, pool.map(rejects, group), strict=True) if is_rejected]
        if found:
            return found[0]
    return ""


@cache
def statuses(referee: JavaReferee, kind: str) -> dict[str, Status]:
    """Return the verdicts of the official TCK for the conforming implementation."""
    judge, table, right = KINDS[kind]
    names = [name for name, what in table.items() if what is not Kind.UNTESTED]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return dict(zip(names, pool.map(lambda name: _status(judge, right, name, referee.judge), names), strict=True))


def _status(judge: Callable[..., Verdict], make: Any, name: str, by: Any) -> Status:
    return judge(Case(name, make, ""), by).status


if __name__ == "__main__":
    sys.exit(main())
