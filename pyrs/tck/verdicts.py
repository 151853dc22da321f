"""Run tests, each with a deadline, and report the verdicts."""

from __future__ import annotations

import ctypes
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from threading import Event, Thread, active_count, get_ident
from typing import NamedTuple

from pyrs.tck.advice import explain
from pyrs.tck.environment import (
    Call,
    Flop,
    HookFailed,
    Skipped,
    TestEnvironment,
    as_text,
    blamed,
    described,
    milliseconds,
    named,
)
from pyrs.tck.expected import Kind, kind_of
from pyrs.tck.lateness import Lateness, forget, lateness_of
from pyrs.tck.verification import Verification, imported
from pyrs.tck.waiting import started

NOTHING_JUDGED = "every test was skipped, so nothing was verified"

_POLL_INTERVAL = 0.02  # seconds between two checks for a late hook
_MAX_THREADS = 1_000  # the threads that a test may start before it is abandoned
_ABANDON_TIMEOUT = 0.1  # seconds that an abandoned thread is given to end


class Status(Enum):
    """The outcome of a test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNTESTED = "untested"


class Verdict(NamedTuple):
    """The outcome of one test, with its reason.

    Attributes:
        name: the test's name.
        kind: the meaning of its failure.
        status: passed, failed, skipped or untested.
        reason: why the test did not pass; empty if it passed.
        seconds: the duration.
        error: the exception behind a failure, or None.
        details: the expectation, the rule, the signals, the likely cause and the stack frames of the code under test.
    """

    name: str
    kind: Kind
    status: Status
    reason: str = ""
    seconds: float = 0.0
    error: BaseException | None = None
    details: str = ""


class TestAbandoned(BaseException):
    """Raised in the thread of a test that has missed its deadline."""

    __test__ = False


class Report(NamedTuple):
    """The outcome of one verification.

    Attributes:
        verification: the class, as ``module:Class``.
        referee: the TCK: "python" for the port, "java" or "java flow" for the official one.
        verdicts: one for each test.
        problems: the reasons why the run is void, regardless of the verdicts.
    """

    verification: str
    referee: str
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if no test failed and the run is not void."""
        return not self.problems and not any(verdict.status is Status.FAILED for verdict in self.verdicts)

    def count(self, status: Status, *, beyond: bool = False) -> int:
        """Count the verdicts with a status.

        Args:
            status: the status.
            beyond: count the additional tests of the port instead of those of the official TCK.
        """
        return sum(verdict.status is status and (verdict.kind is Kind.BEYOND) == beyond for verdict in self.verdicts)

    def __str__(self) -> str:
        def numbers(beyond: bool) -> str:
            counted = ((status, self.count(status, beyond=beyond)) for status in Status)
            return ", ".join(f"{count} {status.value}" for status, count in counted if count) or "nothing ran"

        total = sum(verdict.kind is not Kind.BEYOND for verdict in self.verdicts)
        lines = [f"{self.verification} ({self.referee}): {total} TCK tests: {numbers(False)}"]
        if total < len(self.verdicts):
            lines.append(f"{len(self.verdicts) - total} additional tests: {numbers(True)}")
        return "; ".join(lines)


def verify(
    verification: type[Verification],
    *,
    only: Callable[[str], bool] | None = None,
    on_verdict: Callable[[Verdict], object] | None = None,
) -> Report:
    """Run the tests of a verification.

    The names and kinds of the tests are compared with those of the official TCK; a difference voids the run, unless
    ``only`` selects tests.

    Args:
        verification: the verification.
        only: selects tests by their names; None runs all.
        on_verdict: called with each verdict.

    Examples:
        >>> import pyrs
        >>> from pyrs.tck import PublisherVerification
        >>> class EmptyVerification(PublisherVerification[int]):
        ...     skip_tests = {name: "to keep the example short" for name in PublisherVerification.test_names()}
        ...     def create_publisher(self, elements):
        ...         return pyrs.empty()
        >>> print(verify(EmptyVerification))  # doctest: +ELLIPSIS
        pyrs.tck.verdicts:EmptyVerification (python): 38 TCK tests: 31 skipped, 7 untested; ...
    """
    forget(verification)
    return judge_all("python", judge, verification, verification.test_names(), only, on_verdict)


def judge_all(
    referee: str,
    judge: Callable[[type[Verification], str], Verdict],
    verification: type[Verification],
    names: Iterable[str],
    only: Callable[[str], bool] | None,
    on_verdict: Callable[[Verdict], object] | None,
) -> Report:
    """Run the selected tests and return their report."""
    verdicts = []
    for name in names:
        if only is None or only(name):
            verdicts.append(judge(verification, name))
            if on_verdict is not None:
                on_verdict(verdicts[-1])
    problems = verification.problems() + (unexpected(verification, verdicts) if only is None else [])
    name = f"{verification.__module__}:{verification.__qualname__}"
    return Report(name, referee, tuple(verdicts), tuple(problems))


def unexpected(verification: type[Verification], verdicts: Sequence[Verdict]) -> list[str]:
    """Return the differences from the official TCK's table."""
    ran = {verdict.name: verdict.kind for verdict in verdicts if verdict.kind is not Kind.BEYOND}
    wrong = [f"{name} did not run" for name in verification.expected if name not in ran]
    wrong += [f"{name} is not a test of the official TCK" for name in ran if name not in verification.expected]
    wrong += [
        f"{name} ran as {kind.value}, but the official TCK has it as {verification.expected[name].value}"
        for name, kind in ran.items()
        if verification.expected.get(name, kind) is not kind
    ]
    if verdicts and not anything_judged(verdicts):
        wrong.append(NOTHING_JUDGED)
    return wrong


def anything_judged(verdicts: Iterable[Verdict]) -> bool:
    """Return whether a test, except those that validate hooks, passed or failed."""
    done = (Status.PASSED, Status.FAILED)
    return any(verdict.status in done and "_validate_" not in verdict.name for verdict in verdicts)


def judge(
    verification: type[Verification] | Verification, name: str, body: Callable[[str], None] | None = None
) -> Verdict:
    """Run one test on a separate thread and return its verdict within its deadline.

    Without a deadline, the test runs on the calling thread.

    A test that misses its deadline has failed. ``TestAbandoned`` is raised in its thread; a thread that continues, for
    example because it is blocked in a C function, is abandoned.

    Args:
        verification: a verification class, or an object of one.
        name: the test's name.
        body: runs the test; None for the method of that name.
    """
    subject = verification() if isinstance(verification, type) else verification
    kind = kind_of(name)
    began = time.monotonic()
    try:
        _run(subject, name, body)
    except BaseException as error:
        for cause in _with_causes(error):
            if isinstance(cause, (KeyboardInterrupt, *imported(("_pytest.outcomes", "Exit")))):
                raise cause from None  # a hook may have raised it on another thread
        if isinstance(error, Skipped):
            status = Status.UNTESTED if kind is Kind.UNTESTED else Status.SKIPPED
            return Verdict(name, kind, status, str(error), time.monotonic() - began)
        own = isinstance(error, AssertionError)
        reason = (named(error) or type(error).__name__) if own else blamed(error)
        judged = "env" in vars(subject) and not isinstance(error, HookFailed)
        details = f"{explain(subject, name, reason, judged=judged)}\n{details_of(error)}".rstrip()
        return Verdict(name, kind, Status.FAILED, reason, time.monotonic() - began, error, details)
    return Verdict(name, kind, Status.PASSED, "", time.monotonic() - began)


def details_of(error: BaseException) -> str:
    """Return the stack frames of the code under test, for an error that a test raised."""
    parts = []
    for cause in _with_causes(error):
        text = getattr(cause, "stack", "") or as_text(traceback.extract_tb(cause.__traceback__))
        if cause is not error:
            text = f"caused by {described(cause)}\n{text}"
        if text:
            parts.append(text)
    return "\n".join(parts)


def _with_causes(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, each once, because they may form a cycle."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and not any(cause is each for each in found):
        found.append(cause)
        cause = cause.__cause__
    return found


def _run(subject: Verification, name: str, body: Callable[[str], None] | None) -> None:
    subject.__dict__.pop("env", None)
    env = subject.env
    if env.deadline is None:
        subject.run_test(name, body)
        return
    raised: list[BaseException] = []
    ended = Event()

    def run() -> None:
        try:
            subject.run_test(name, body)
        except BaseException as error:
            raised.append(error)
        finally:
            ended.set()

    thread = started(name, run)
    late, where = "the run was interrupted", thread.ident
    try:
        late, where = _await(ended, env, env.deadline, lateness_of(subject))
    finally:
        if late:
            failure = Flop(late)
            failure.stack = _stack_of(where or thread.ident or 0)
            _end(thread, ended)
            env.close()
    if late:
        raise failure
    if raised:
        raise raised[0]


def _await(ended: Event, env: TestEnvironment, deadline: float, lateness: Lateness) -> tuple[str, int]:
    """Wait for a test.

    Returns the reason to abandon it, which is empty if it ended, and the thread that blocks, which is 0 if unknown.
    """
    threads = active_count()
    while not ended.wait(_POLL_INTERVAL):
        if active_count() - threads > _MAX_THREADS:
            return f"the code under test started more than {_MAX_THREADS} threads", 0
        now = time.monotonic()
        calls = list(env.calls.values())
        for call in calls:
            shortened = lateness.is_shortened(call)
            if call.name == "request" and not shortened:
                continue  # a synchronous Publisher emits inside it, so it has the deadline of the test
            limit = lateness.limit(call, min(env.hook_timeout, deadline), env.scale)
            if now - call.since > limit:
                lateness.note(env, call)
                why = " (a shortened timeout, because it was late twice before)" if shortened else ""
                return f"{call.text} did not return {milliseconds(limit)}{_rule_of(call)}{why}", call.thread
        if now - env.alive_at > deadline:
            lateness.note(env, *calls)
            blocked = next((call for call in calls if call.name == "request"), None)
            if blocked is not None:
                why = f"{blocked.text} did not return{_rule_of(blocked)}"
                return f"the test did not end {milliseconds(deadline)}: {why}", blocked.thread
            return f"the test did not end {milliseconds(deadline)}: the code under test blocks or does not terminate", 0
    lateness.note(env)
    return "", 0


def _rule_of(call: Call) -> str:
    return " (rules 3.4, 3.16)" if call.name == "request" else ""


def _stack_of(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    return "" if frame is None else as_text(traceback.extract_stack(frame))


def _end(thread: Thread, ended: Event) -> None:
    """Raise ``TestAbandoned`` in a thread, to end an endless loop."""
    throw = getattr(ctypes.pythonapi, "PyThreadState_SetAsyncExc", None)
    if throw is not None and thread.ident is not None:
        throw(ctypes.c_ulong(thread.ident), ctypes.py_object(TestAbandoned))
        _receive(throw)
        ended.wait(_ABANDON_TIMEOUT)


def _receive(throw: Callable[..., object]) -> None:
    """Raise ``TestAbandoned`` on this thread, too, and suppress it.

    CPython 3.11 has one flag for the pending exceptions of all threads, and clears it when a thread receives its
    exception, which a blocked thread does not. While the flag is set, each call of a traced function loops endlessly,
    which would fail a later test that traces a Publisher.
    """
    try:
        throw(ctypes.c_ulong(get_ident()), ctypes.py_object(TestAbandoned))
        for _ in range(1_000_000):  # it is raised in one of the first iterations
            pass
    except TestAbandoned:
        pass
