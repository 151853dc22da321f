"""Runs tests, each with a deadline, and says what came of them."""

from __future__ import annotations

import ctypes
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from enum import Enum
from threading import Event, Thread
from typing import NamedTuple

from pyrs.tck.environment import Flop, Skipped, TestEnvironment, is_machinery, milliseconds
from pyrs.tck.expected import Kind, kind_of
from pyrs.tck.lateness import Lateness, forget, lateness_of
from pyrs.tck.verification import Verification

__all__ = ["NOTHING_JUDGED", "Report", "Status", "Verdict", "anything_judged", "judge", "unexpected", "verify"]

NOTHING_JUDGED = "every test was left out, so nothing was judged"

_GLANCE = 0.02  # how often a hook that may be late is looked at
_ENDING = 0.1  # how long a thread that was told to end may take


class Status(Enum):
    """What came of a test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNTESTED = "untested"


class Verdict(NamedTuple):
    """What came of one test.

    Attributes:
        name: the test's name.
        kind: what its failure means.
        status: passed, failed, skipped or untested.
        reason: why it was not passed; empty if it was.
        seconds: how long it took.
        error: the exception behind a failure, or None.
        details: where it happened, as text: the frames of the code that is judged.
    """

    name: str
    kind: Kind
    status: Status
    reason: str = ""
    seconds: float = 0.0
    error: BaseException | None = None
    details: str = ""


class TestAbandoned(BaseException):
    """Thrown into the thread of a test whose deadline has passed."""

    __test__ = False


class Report(NamedTuple):
    """What came of one verification.

    Attributes:
        verification: whose it is, as module:class.
        referee: who judged.
        verdicts: one for each test.
        problems: what makes the run void, whatever the verdicts say.
    """

    verification: str
    referee: str
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and all that should have run did."""
        return not self.problems and not any(verdict.status is Status.FAILED for verdict in self.verdicts)

    def count(self, status: Status, *, beyond: bool = False) -> int:
        """Count the verdicts of a status, of the Java kit's tests or of those beyond it."""
        return sum(verdict.status is status and (verdict.kind is Kind.BEYOND) == beyond for verdict in self.verdicts)

    def __str__(self) -> str:
        def numbers(beyond: bool) -> str:
            counted = ((status, self.count(status, beyond=beyond)) for status in Status)
            return ", ".join(f"{count} {status.value}" for status, count in counted if count) or "nothing ran"

        total = sum(verdict.kind is not Kind.BEYOND for verdict in self.verdicts)
        lines = [f"{self.verification} ({self.referee} referee): {total} tests of the Java kit: {numbers(False)}"]
        if total < len(self.verdicts):
            lines.append(f"{len(self.verdicts) - total} tests beyond it: {numbers(True)}")
        return "; ".join(lines)


def verify(verification: type[Verification]) -> Report:
    """Run every test of a verification.

    The names and kinds of the tests that ran are compared with the Java kit's, and every difference is a problem.

    Examples:
        >>> import pyrs
        >>> from pyrs.tck import PublisherVerification
        >>> class EmptyVerification(PublisherVerification[int]):
        ...     skip_tests = {name: "to keep the example short" for name in PublisherVerification.test_names()}
        ...     def create_publisher(self, elements):
        ...         return pyrs.empty()
        >>> print(verify(EmptyVerification))  # doctest: +ELLIPSIS
        pyrs.tck.verdicts:EmptyVerification (python referee): 38 tests of the Java kit: 31 skipped, 7 untested; 13 ...
    """
    forget(verification)
    verdicts = tuple(judge(verification, name) for name in verification.test_names())
    name = f"{verification.__module__}:{verification.__qualname__}"
    return Report(name, "python", verdicts, tuple(verification.problems() + unexpected(verification, verdicts)))


def unexpected(verification: type[Verification], verdicts: tuple[Verdict, ...]) -> list[str]:
    """Return how what ran differs from the Java kit's table, and whether nothing was judged."""
    ran = {verdict.name: verdict.kind for verdict in verdicts if verdict.kind is not Kind.BEYOND}
    wrong = [f"{name} did not run" for name in verification.expected if name not in ran]
    wrong += [f"{name} is no test of the Java kit" for name in ran if name not in verification.expected]
    wrong += [
        f"{name} ran as {kind.value}, and is {verification.expected[name].value}"
        for name, kind in ran.items()
        if verification.expected.get(name, kind) is not kind
    ]
    if verdicts and not anything_judged(verdicts):
        wrong.append(NOTHING_JUDGED)
    return wrong


def anything_judged(verdicts: Iterable[Verdict]) -> bool:
    """Say whether a test has passed or failed that was about more than the numbers which the hooks give."""
    done = (Status.PASSED, Status.FAILED)
    return any(verdict.status in done and "_validate_" not in verdict.name for verdict in verdicts)


def judge(
    verification: type[Verification] | Verification, name: str, body: Callable[[str], None] | None = None
) -> Verdict:
    """Run one test, on a thread of its own, and return within its deadline.

    A test that is late has failed: its thread is told to end, and left behind if it does not.

    Args:
        verification: a verification, or an object of one.
        name: the test's name.
        body: does the test; None for the method of that name.
    """
    subject = verification() if isinstance(verification, type) else verification
    kind = kind_of(name)
    began = time.monotonic()
    try:
        _run(subject, name, body)
    except Skipped as skipped:
        status = Status.UNTESTED if kind is Kind.UNTESTED else Status.SKIPPED
        return Verdict(name, kind, status, str(skipped), time.monotonic() - began)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        reason = str(error) or type(error).__name__
        if not isinstance(error, AssertionError):
            reason = f"{type(error).__name__}: {reason}"
        return Verdict(name, kind, Status.FAILED, reason, time.monotonic() - began, error, details_of(error))
    return Verdict(name, kind, Status.PASSED, "", time.monotonic() - began)


def details_of(error: BaseException) -> str:
    """Return the frames of the code that is judged, for an error that a test raised."""
    parts = []
    cause: BaseException | None = error
    while cause is not None:
        stack = getattr(cause, "stack", "")
        frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if not is_machinery(frame.filename)]
        text = stack or "".join(traceback.format_list(frames))
        if cause is not error:
            text = f"because of {type(cause).__name__}: {cause}\n{text}"
        if text:
            parts.append(text)
        cause = cause.__cause__
    return "\n".join(parts)


def _run(subject: Verification, name: str, body: Callable[[str], None] | None) -> None:
    subject.__dict__.pop("env", None)
    env = subject.env
    if env.deadline is None:
        subject.run_test(name, body)
        return
    raised: list[BaseException] = []
    over = Event()

    def run() -> None:
        try:
            subject.run_test(name, body)
        except BaseException as error:
            raised.append(error)
        finally:
            over.set()

    thread = Thread(target=run, name=f"pyrs-tck-{name}", daemon=True)
    thread.start()
    late, where = "the run was interrupted", thread.ident
    try:
        late, where = _await(over, env, env.deadline, lateness_of(subject))
    finally:
        if late:
            failure = Flop(late)
            failure.stack = _stack_of(where or thread.ident or 0)
            _end(thread, over)
            env.close()
    if late:
        raise failure
    if raised:
        raise raised[0]


def _await(over: Event, env: TestEnvironment, deadline: float, lateness: Lateness) -> tuple[str, int]:
    """Wait for a test to be over; return what is late, or nothing, and on which thread: 0 is the test's."""
    while not over.wait(_GLANCE):
        now = time.monotonic()
        calls = list(env.calls.values())
        for call in calls:
            usual = lateness.is_usual(call)
            limit = lateness.limit(call, env.hook_timeout if call.is_hook else deadline, env.scale)
            if now - call.since > limit and (call.is_hook or usual):
                lateness.note(env, call)
                why = " (it was late twice before, so it is given no longer)" if usual else ""
                return f"{call.text} did not return {milliseconds(limit)}{why}", call.thread
        if now - env.alive_at > deadline:
            lateness.note(env, *calls)
            return f"the test was not over {milliseconds(deadline)}: something in it blocks or runs without end", 0
    lateness.note(env)
    return "", 0


def _stack_of(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    if frame is None:
        return ""
    frames = [each for each in traceback.extract_stack(frame) if not is_machinery(each.filename)]
    return "".join(traceback.format_list(frames))


def _end(thread: Thread, over: Event) -> None:
    """Throw into a thread, so that a loop without end does not disturb the tests that follow."""
    throw = getattr(ctypes.pythonapi, "PyThreadState_SetAsyncExc", None)
    if throw is not None and thread.ident is not None:
        throw(ctypes.c_ulong(thread.ident), ctypes.py_object(TestAbandoned))
        over.wait(_ENDING)
