"""The environment of a test: timeouts, and the errors recorded on all threads."""

from __future__ import annotations

import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Condition, Event, get_ident
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import NamedTuple, NoReturn, TypeVar

from pyrs.tck.trace import Trace

T = TypeVar("T")  # the type of the elements, in all modules of the TCK
R = TypeVar("R")

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
TEST_BUFFER_SIZE = 16

_TCK_FOLDER = str(Path(__file__).parent)
_MACHINERY = (
    "/_pytest/",
    "/pluggy/",
    "/threading.py",
    "/typing.py",
    "/contextlib.py",
    "/functools.py",
    "/runpy.py",
    "<frozen",
    "/pytest/__main__",
)
_SECONDS_OF_ROUNDS = 5.0  # the iterations of a test end after this time
_MAX_ERRORS = 1_000  # a Publisher that ignores cancel may cause errors endlessly


class Flop(AssertionError):
    """The violation of a rule, with the stack of the code that called the TCK."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.stack = callers()


class HookFailed(AssertionError):
    """A hook raised or returned something invalid, so nothing was verified."""


class Skipped(Exception):
    """The test does not apply to this implementation; the message says why."""


class Call(NamedTuple):
    """A call of the user's code that has not returned yet."""

    text: str  # the called method with its arguments
    since: float  # the start (time.monotonic)
    thread: int

    @property
    def name(self) -> str:
        """The called method without arguments."""
        return self.text.partition("(")[0]


class TestEnvironment:
    """The timeouts of a verification and the errors recorded in one test.

    A Publisher may suppress the exceptions of its Subscriber, and many signals arrive on other threads. So errors are
    recorded with ``flop`` and raised by ``verify_no_async_errors``. Each test has its own environment and
    checks it at the end, so no error is lost or attributed to another test.

    All times are in seconds and are multiplied by the environment variable ``PYRS_TCK_TIMEOUT_SCALE``; set it to 5 on a
    slow machine. If one of the first three arguments is None, the environment variable of the official TCK applies, in
    milliseconds.

    Args:
        timeout: the timeout for an expected signal (``DEFAULT_TIMEOUT_MILLIS``, by default 0.5).
        no_signals_timeout: how long to wait for a forbidden signal (``DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS``, by default
            0.1).
        reference_timeout: the timeout for the release of a Subscriber that has cancelled
            (``PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS``, by default 1).
        hook_timeout: the timeout of ``create_publisher`` and the other hooks, of ``subscribe`` and ``cancel``.
        deadline: the time limit of a test, or of each iteration of a test that has several. None runs the tests on the
            calling thread without a deadline, for debugging.
        debug: whether to print every signal.

    Examples:
        >>> TestEnvironment(timeout=0.25)
        TestEnvironment(timeout=0.25, no_signals_timeout=0.1, reference_timeout=1, hook_timeout=2, deadline=15)
    """

    __test__ = False  # pytest would collect the class because of its name

    def __init__(
        self,
        *,
        timeout: float | None = None,
        no_signals_timeout: float | None = None,
        reference_timeout: float | None = None,
        hook_timeout: float = 2.0,
        deadline: float | None = 15.0,
        debug: bool = False,
    ) -> None:
        self.scale = _positive("PYRS_TCK_TIMEOUT_SCALE", 1.0)
        self.timeout = self.scale * _chosen("timeout", timeout, "DEFAULT_TIMEOUT_MILLIS", 0.5)
        self.no_signals_timeout = self.scale * _chosen(
            "no_signals_timeout", no_signals_timeout, "DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS", 0.1
        )
        self.reference_timeout = self.scale * _chosen(
            "reference_timeout", reference_timeout, "PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS", 1.0
        )
        self.hook_timeout = self.scale * _checked("hook_timeout", hook_timeout)
        self.deadline = None if deadline is None else self.scale * _checked("deadline", deadline)
        self.debug_enabled = debug
        self._begin()

    def _begin(self) -> None:
        self.calls: dict[int, Call] = {}  # the calls that have not returned
        self.returned: dict[str, float] = {}  # the longest duration of the calls that have returned, by name
        self.alive_at = time.monotonic()
        self.trace = Trace(printed=self.debug_enabled)
        self.signals = ""  # the trace when the first error was recorded
        self._errors: list[tuple[BaseException, str]] = []  # with the message of ``flop``
        self._changed = Condition()
        self._closing: list[Callable[[], None]] = []
        self.closed = Event()

    def __repr__(self) -> str:
        names = ("timeout", "no_signals_timeout", "reference_timeout", "hook_timeout", "deadline")
        times = ((name, getattr(self, name)) for name in names)
        return f"TestEnvironment({', '.join(f'{name}={_short(value)}' for name, value in times)})"

    def fresh(self) -> TestEnvironment:
        """Return an environment with the same timeouts and no errors, for one test."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._begin()
        return copy

    def on_close(self, action: Callable[[], None]) -> None:
        """Register an action for the end of the test, such as stopping a helper thread."""
        self._closing.append(action)

    def close(self) -> None:
        """Stop everything that the test has started."""
        self.closed.set()
        while self._closing:
            self._closing.pop()()

    def progress(self) -> None:
        """Restart the deadline for the next iteration of a test."""
        self.alive_at = time.monotonic()

    def rounds(self, count: int, seconds: float = _SECONDS_OF_ROUNDS) -> Iterator[int]:
        """Yield the numbers of a test's iterations.

        There are fewer than ``count`` if they take longer than ``seconds``. Each iteration has its own deadline.
        """
        until = time.monotonic() + seconds * self.scale
        for at in range(count):
            if at and time.monotonic() > until:
                return
            self.progress()
            self.trace = Trace(printed=self.debug_enabled)
            yield at

    def timed(self, text: str, function: Callable[[], R]) -> R:
        """Call the user's code within ``hook_timeout``; a late call is reported.

        ``request`` has the deadline of its test instead.

        Raises:
            HookFailed: it returned a coroutine or a generator, whose code would not run.
        """
        call = Call(text, time.monotonic(), get_ident())
        self.calls[id(call)] = call
        try:
            result = function()
        finally:
            del self.calls[id(call)]
            self.returned[call.name] = max(self.returned.get(call.name, 0.0), time.monotonic() - call.since)
        if isinstance(result, CoroutineType):
            result.close()
            raise HookFailed(f"{text} returned a coroutine: define it with def instead of async def")
        if isinstance(result, AsyncGeneratorType) or (
            isinstance(result, GeneratorType) and text in ("set_up()", "tear_down()")  # an element may be a generator
        ):
            raise HookFailed(f"{text} returned a generator, whose code never runs: define it without yield")
        return result

    # Errors, on any thread.

    def flop(self, message: str, error: BaseException | None = None) -> None:
        """Record the violation of a rule, which fails the test at its next check.

        The test fails with ``error``, the exception behind the violation, if one is given.
        """
        if error is None:
            error, message = Flop(message), ""
        self._record(error, message)

    def flop_and_fail(self, message: str) -> NoReturn:
        """Record the violation of a rule and raise it; for the test's own thread."""
        flop = Flop(message)
        self._record(flop)
        raise flop

    def _record(self, error: BaseException, message: str = "") -> None:
        self.debug(f"flop: {named(error)}")
        with self._changed:
            self.signals = self.signals or str(self.trace)
            if len(self._errors) < _MAX_ERRORS:
                self._errors.append((error, message))
            self._changed.notify_all()

    def clear_async_errors(self) -> None:
        """Remove the recorded errors."""
        with self._changed:
            self._errors.clear()

    def drop_async_error(self) -> BaseException | None:
        """Remove and return the oldest error, or return None."""
        return self.await_async_error(0)

    def await_async_error(self, timeout: float) -> BaseException | None:
        """Wait for an error, remove and return it; return None after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._errors, timeout)
            return self._errors.pop(0)[0] if self._errors else None

    @property
    def first_async_error(self) -> BaseException | None:
        """The oldest error, which stays recorded."""
        with self._changed:
            return self._errors[0][0] if self._errors else None

    def verify_no_async_errors(self, delay: float | None = None) -> None:
        """Fail if an error is recorded within the delay.

        The default delay is ``no_signals_timeout``.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._errors, self.no_signals_timeout if delay is None else delay)
        self.verify_no_async_errors_no_delay()

    def verify_no_async_errors_no_delay(self) -> None:
        """Fail if an error was recorded."""
        with self._changed:
            error, message = self._errors[0] if self._errors else (None, "")
        if isinstance(error, (AssertionError, Skipped)):
            raise error
        if error is not None:
            where = f"; {message}" if message else ""
            raise AssertionError(f"async error during the test: {blamed(error)}{where}") from error

    def debug(self, message: str) -> None:
        """Print a message if debugging is enabled."""
        if self.debug_enabled:
            print(f"[tck] {message}", flush=True)


def named(thing: object) -> str:
    """Return the object's text for messages, also if its ``__str__`` raises."""
    try:
        return str(thing)
    except Exception as error:
        return f"<{type(thing).__name__}, whose str() raises {type(error).__name__}>"


def quoted(thing: object) -> str:
    """Return the object's ``repr`` for messages, or its name if the ``repr`` raises."""
    try:
        return repr(thing)
    except Exception:
        return named(thing)


def described(error: BaseException) -> str:
    """Return the class and the message of an exception for messages."""
    return f"{type(error).__name__}: {named(error)}"


# The methods of the code under test, and the rules by which they must return normally.
_RETURNS_NORMALLY = {"request": "3.16", "cancel": "3.15", "subscribe": "1.9"} | dict.fromkeys(
    ("on_subscribe", "on_next", "on_error", "on_complete"), "2.13"
)


def blamed(error: BaseException) -> str:
    """Describe an exception, with the method that the TCK called if it is known."""
    method = ""
    inside = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(_TCK_FOLDER):
            inside, method = True, ""
        elif inside and not is_machinery(file):
            inside, method = False, frame.f_code.co_name
    rule = _RETURNS_NORMALLY.get(method)
    if rule is None or isinstance(error, RecursionError):  # a recursion violates another rule (§3.3)
        return described(error)
    return f"{method} raised {described(error)} (rule {rule})"


def same(one: object, other: object) -> bool:
    """Return whether two elements are the same; ``==`` of arrays may raise."""
    if one is other:
        return True
    try:
        return bool(one == other)
    except Exception:
        return False


def milliseconds(seconds: float) -> str:
    """Return a duration as text: "within 500 ms"."""
    return f"within {round(seconds * 1000)} ms"


def overdue(message: str, seconds: float) -> str:
    """Return the message with the time limit, which precedes the number of a rule."""
    what, rule, rest = message.partition(" (rule")
    return f"{what} {milliseconds(seconds)}{rule}{rest}"


def callers() -> str:
    """Return the stack of this thread as text, without the frames of the TCK."""
    return as_text(traceback.extract_stack(sys._getframe(1), limit=40))


def as_text(stack: traceback.StackSummary) -> str:
    """Return the frames of a stack as text, without those of the TCK."""
    return "".join(traceback.format_list([frame for frame in stack if not is_machinery(frame.filename)]))


def is_machinery(filename: str) -> bool:
    """Return whether a file belongs to the TCK, pytest or the thread start."""
    name = filename.replace(os.sep, "/")
    return filename.startswith(_TCK_FOLDER) or any(part in name for part in _MACHINERY)


def _checked(name: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of seconds, not {type(value).__name__}")
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a positive number of seconds, not {value}")
    return float(value)


def _positive(variable: str, default: float) -> float:
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        return _checked(f"the environment variable {variable}", float(text))
    except ValueError:
        raise ValueError(f"the environment variable {variable} must be a positive number, not {text!r}") from None


def _chosen(name: str, value: float | None, variable: str, default: float) -> float:
    if value is not None:
        return _checked(name, value)
    return _positive(variable, default * 1000) / 1000


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def remaining(deadline: float) -> float:
    """Return the seconds until a deadline in ``time.monotonic`` time, at least 0."""
    return max(0.0, deadline - time.monotonic())
