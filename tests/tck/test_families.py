"""Families of faulty implementations: the named test rejects each one. All are judged at the same time."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from pyrs.tck import TestEnvironment, Verdict, beyond_publisher, beyond_subscription, judge, races
from tests.tck import judging
from tests.tck.judging import (
    Case,
    assert_verdict,
    judge_blackbox,
    judge_failed_publisher,
    judge_publisher,
    judge_whitebox,
)
from tests.tck.test_processors import judged
from tests.tck.wrong_counting import COUNTING
from tests.tck.wrong_for_long import FOR_LONG, FOR_LONG_WHITEBOX
from tests.tck.wrong_later import LATER, LATER_BLACKBOX, LATER_FAILED, LATER_WHITEBOX
from tests.tck.wrong_processors import PROCESSORS
from tests.tck.wrong_states import STATES
from tests.tck.wrong_subscriber_families import BLACKBOX, WHITEBOX
from tests.tck.wrong_subscribing import FAILED, SUBSCRIBING

CASES = [*COUNTING, *STATES, *SUBSCRIBING, *LATER, *FOR_LONG]
KINDS = (
    (CASES, judge_publisher),
    ([*FAILED, *LATER_FAILED], judge_failed_publisher),
    ([*WHITEBOX, *LATER_WHITEBOX, *FOR_LONG_WHITEBOX], judge_whitebox),
    ([*BLACKBOX, *LATER_BLACKBOX], judge_blackbox),
    (PROCESSORS, judged),
)
ALL = [case for cases, _ in KINDS for case in cases]
# Most verdicts wait for a signal that does not arrive. The waits overlap, so they may be long.
OVERLAPPING = TestEnvironment(timeout=1.5, no_signals_timeout=0.05, reference_timeout=0.5, hook_timeout=30, deadline=60)
# A signal of another thread arrives later on a loaded machine.
ON_OTHER_THREADS = TestEnvironment(
    timeout=1.5, no_signals_timeout=0.4, reference_timeout=0.5, hook_timeout=30, deadline=60
)
AT_A_TIME = 24


def judge_with_long_waits(verification: Any, test: str) -> Verdict:
    """Judge with long waits for signals that must not arrive."""
    return judge(type(verification.__name__, (verification,), {"environment": ON_OTHER_THREADS}), test)


def judge_with(judge_kind: Any, case: Case) -> Verdict:
    """Judge a case; the function depends on the kind."""
    name = case.make.__name__
    verdict: Verdict = judge_kind(case, judge_with_long_waits if "Thread" in name or "Later" in name else judge)
    return verdict


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Future[Verdict]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "SHORT", OVERLAPPING)
        patch.setattr(
            races, "_SWITCH_INTERVAL", sys.getswitchinterval()
        )  # the short interval would slow down the other tests
        patch.setattr(beyond_publisher, "_SECONDS_OF_A_LARGE_DEMAND", 60.0)
        patch.setattr(beyond_publisher, "_SECONDS_OF_A_FAST_RUN", 60.0)
        patch.setattr(beyond_subscription, "_SECONDS_OF_A_LONG_RUN", 60.0)
        with ThreadPoolExecutor(AT_A_TIME, "judging") as pool:
            return {str(case): pool.submit(judge_with, kind, case) for cases, kind in KINDS for case in cases}


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_faulty_implementation_is_rejected(case: Case, verdicts: dict[str, Future[Verdict]]) -> None:
    assert_verdict(verdicts[str(case)].result(), case)


@pytest.mark.parametrize(
    "cases", [cases for cases, _ in KINDS], ids=["publisher", "failed", "whitebox", "blackbox", "processor"]
)
def test_each_faulty_implementation_has_its_own_name_and_fault(cases: list[Case]) -> None:
    names = [case.make.__name__ for case in cases]
    assert len(set(names)) == len(names)
    assert len({case.make.__doc__ for case in cases}) == len(names)
