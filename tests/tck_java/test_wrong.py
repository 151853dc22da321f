"""The official TCK rejects wrong Python objects, test by test."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from pyrs.tck import Family, JavaReferee, Status, TestEnvironment, Verdict
from pyrs.tck.expected import BLACKBOX, PROCESSOR, WHITEBOX, Kind
from tests.tck_java.table import BEGIN, END, PAGE, Row, rows, table

ROWS = list(rows())
# Flow differs only in its adapters, so one test for each kind of call suffices.
RULES = ("109", "203", "205", "213", "303", "309", "313", "104_mustCall")
FLOW = list({row.case.test: row for row in ROWS if any(rule in row.case.test for rule in RULES)}.values())


# A test that passes must not reach a timeout.
PATIENT = TestEnvironment(timeout=3.0, hook_timeout=30.0, deadline=60.0)


@pytest.fixture(scope="module")
def verdicts(
    referees: Callable[[Family], JavaReferee], pool: ThreadPoolExecutor
) -> dict[tuple[Family, str], Future[Verdict]]:
    """Judge all rows, several at a time."""

    def judge(family: Family, row: Row) -> Verdict:
        referee = referees(family)
        if row.status is not Status.PASSED:
            return row.judged(row.case, referee.judge)
        return row.judged(
            row.case, lambda verification, test: referee.judge(with_environment(verification, PATIENT), test)
        )

    families = {Family.REACTIVE_STREAMS: ROWS, Family.FLOW: FLOW}
    for family in families:
        referees(family)  # start it here: two threads must not start it at the same time
    return {
        (family, str(row)): pool.submit(partial(judge, family, row))
        for family, rows in families.items()
        for row in rows
    }


def with_environment(verification: Any, environment: TestEnvironment) -> Any:
    return type(verification.__name__, (verification,), {"environment": environment})


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_wrong_object_does_not_pass(verdicts: dict[tuple[Family, str], Future[Verdict]], row: Row) -> None:
    verdict = verdicts[Family.REACTIVE_STREAMS, str(row)].result()
    assert verdict.status is row.status, verdict.reason


@pytest.mark.parametrize("row", FLOW, ids=str)
def test_a_wrong_object_does_not_pass_as_flow(verdicts: dict[tuple[Family, str], Future[Verdict]], row: Row) -> None:
    verdict = verdicts[Family.FLOW, str(row)].result()
    assert verdict.status is row.status, verdict.reason


def test_every_test_of_the_official_tck_rejects_some_object() -> None:
    """This shows that every test reaches the Python object."""
    runnable = {
        name for table in (PROCESSOR, WHITEBOX, BLACKBOX) for name, kind in table.items() if kind is not Kind.UNTESTED
    }
    rejecting = {row.case.test for row in ROWS if row.status is not Status.PASSED}
    assert runnable - rejecting == set()


def test_the_table_in_the_documentation_is_current() -> None:
    written = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert written.strip() == table().strip(), "run python -m tests.tck_java.table"


def test_a_failure_shows_the_java_stack_and_the_python_frames(referee: JavaReferee) -> None:
    def verdict_of(test: str, name: str) -> Any:
        row = next(row for row in ROWS if row.case.test == test and row.wrong == name)
        return row.judged(row.case, referee.judge)

    # An exception of Python, an exception of Java in a call from Python, and an error recorded during such a call.
    raised = verdict_of("required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops", "CancelsOnce")
    assert raised.reason == "RuntimeError: cancelled already"
    passed = verdict_of("required_spec317_mustSupportAPendingElementCountUpToLongMaxValue", "IgnoresDemand")
    assert "Received more than bufferSize (32) onNext signals" in passed.reason
    recorded = verdict_of(
        "required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete", "RequestsInOnComplete"
    )
    assert "Subscription::request MUST NOT be called from Subscriber::onComplete (Rule 2.3)" in recorded.reason
    for verdict, file in ((raised, "publishers"), (passed, "publishers"), (recorded, "subscribers")):
        assert "at org.reactivestreams.tck." in verdict.details
        assert f"wrong_{file}.py" in verdict.details
        assert "org.testng" not in verdict.details
        assert "pyrs/tck/_java" not in verdict.details
