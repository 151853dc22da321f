"""What the tests of the kit share: timeouts, and the errors that come to light on other threads."""

from __future__ import annotations

import math
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Event, get_ident
from typing import NamedTuple, NoReturn, TypeVar

__all__ = ["INT_MAX", "LONG_MAX", "TEST_BUFFER_SIZE", "Call", "Flop", "Skipped", "TestEnvironment", "named"]

R = TypeVar("R")

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
TEST_BUFFER_SIZE = 16

_KIT = str(Path(__file__).parent)
_MACHINERY = (
    "/_pytest/",
    "/pluggy/",
    "/threading.py",
    "/contextlib.py",
    "/runpy.py",
    "<frozen",
    "/pytest/__main__",
)
_MOST_ERRORS = 1_000  # a Publisher that ignores cancel may flop without end


class Flop(AssertionError):
    """A rule was broken, as seen from wherever the kit was called.

    Attributes:
        stack: the frames that led to the kit, without the kit's own, as text.
    """

    stack = ""


class Skipped(Exception):
    """The test says nothing about this implementation; the text says why."""


class Call(NamedTuple):
    """A call of what the user has written.

    Attributes:
        text: what is called.
        since: since when (time.monotonic).
        thread: on which thread.
        is_hook: whether it has the deadline of hooks; otherwise it has the test's.
    """

    text: str
    since: float
    thread: int
    is_hook: bool

    @property
    def name(self) -> str:
        """What is called, without arguments."""
        return self.text.partition("(")[0]


class TestEnvironment:
    """The timeouts of a verification, and what went wrong in one of its tests.

    A test must not raise into the Publisher that it watches, and much happens on threads that are not the test's. So
    what is wrong is recorded (`flop`) and raised by the test when it looks (`verify_no_async_errors`). Each test looks
    once more at its end, and has an environment of its own, so that no error is lost and none is another test's.

    Every time is in seconds and is multiplied by the environment variable ``PYRS_TCK_TIMEOUT_SCALE``: set it to 5 on a
    slow machine. Where an argument is None, the Java kit's variable counts if it is set (those are in milliseconds).

    Args:
        timeout: how long to wait for what must happen (``DEFAULT_TIMEOUT_MILLIS``, else 0.5).
        no_signals_timeout: how long to wait for what must not happen (``DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS``, else 0.1).
        reference_timeout: how long a Publisher may keep a Subscriber that has cancelled
            (``PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS``, else 1).
        hook_timeout: how long ``create_publisher`` and the other hooks may take.
        deadline: how long a test may take (one of many repetitions, for a test that repeats itself); a test that is
            not over by then has failed. None runs the tests on the
            thread that asks, without a deadline: for debuggers.
        debug: print every signal.

    Examples:
        >>> TestEnvironment(timeout=0.25)
        TestEnvironment(timeout=0.25, no_signals_timeout=0.1, reference_timeout=1, hook_timeout=2, deadline=15)
    """

    __test__ = False  # not a test case, whatever pytest makes of the name

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
        self.calls: dict[int, Call] = {}  # that are on
        self.returned: dict[str, float] = {}  # the longest that those took which are over, by their names
        self.alive_at = time.monotonic()
        self._errors: list[BaseException] = []
        self._changed = Condition()
        self._closing: list[Callable[[], None]] = []
        self.closed = Event()

    def __repr__(self) -> str:
        names = ("timeout", "no_signals_timeout", "reference_timeout", "hook_timeout", "deadline")
        times = ((name, getattr(self, name)) for name in names)
        return f"TestEnvironment({', '.join(f'{name}={_short(value)}' for name, value in times)})"

    def fresh(self) -> TestEnvironment:
        """Return an environment with the same timeouts in which nothing has happened: one for each test."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.calls = {}
        copy.returned = {}
        copy.alive_at = time.monotonic()
        copy._errors = []
        copy._changed = Condition()
        copy._closing = []
        copy.closed = Event()
        return copy

    def on_close(self, action: Callable[[], None]) -> None:
        """Call this when the test is over: helper threads end then."""
        self._closing.append(action)

    def close(self) -> None:
        """End what the test has started."""
        self.closed.set()
        while self._closing:
            self._closing.pop()()

    def progress(self) -> None:
        """Begin the deadline anew: for a test that repeats something many times, once for each."""
        self.alive_at = time.monotonic()

    def timed(self, text: str, function: Callable[[], R], *, is_hook: bool = True) -> R:
        """Call what the user has written, so that it is known by name when it is late. On any thread.

        Args:
            text: what is called, with its arguments.
            function: calls it.
            is_hook: whether it has the deadline of hooks; otherwise it has the test's.
        """
        call = Call(text, time.monotonic(), get_ident(), is_hook)
        self.calls[id(call)] = call
        try:
            return function()
        finally:
            del self.calls[id(call)]
            self.returned[call.name] = max(self.returned.get(call.name, 0.0), time.monotonic() - call.since)

    # What goes wrong on any thread.

    def flop(self, message: str, error: BaseException | None = None) -> None:
        """Record that a rule was broken; the test fails when it looks.

        Args:
            message: what is wrong.
            error: the exception that showed it. The test fails with that one.
        """
        self._record(_flop(message) if error is None else error)

    def flop_and_fail(self, message: str) -> NoReturn:
        """Record that a rule was broken, and raise it: for the test's own thread."""
        flop = _flop(message)
        self._record(flop)
        raise flop

    def _record(self, error: BaseException) -> None:
        self.debug(f"flop: {error}")
        with self._changed:
            if len(self._errors) < _MOST_ERRORS:
                self._errors.append(error)
            self._changed.notify_all()

    def clear_async_errors(self) -> None:
        """Forget what was recorded."""
        with self._changed:
            self._errors.clear()

    def drop_async_error(self) -> BaseException | None:
        """Take the oldest error out, or return None."""
        with self._changed:
            return self._errors.pop(0) if self._errors else None

    def await_async_error(self, timeout: float) -> BaseException | None:
        """Wait for an error and take it out; None when the time is up. Nothing here polls."""
        with self._changed:
            self._changed.wait_for(lambda: self._errors, timeout)
            return self._errors.pop(0) if self._errors else None

    @property
    def first_async_error(self) -> BaseException | None:
        """The oldest error, which stays."""
        with self._changed:
            return self._errors[0] if self._errors else None

    def verify_no_async_errors(self, delay: float | None = None) -> None:
        """Fail if anything was recorded, or is within the delay (`no_signals_timeout` if None)."""
        with self._changed:
            self._changed.wait_for(lambda: self._errors, self.no_signals_timeout if delay is None else delay)
        self.verify_no_async_errors_no_delay()

    def verify_no_async_errors_no_delay(self) -> None:
        """Fail if anything was recorded so far."""
        error = self.first_async_error
        if isinstance(error, AssertionError):
            raise error
        if error is not None:
            raise AssertionError(f"async error during the test: {type(error).__name__}: {error}") from error

    def debug(self, message: str) -> None:
        """Print, if debugging is on."""
        if self.debug_enabled:
            print(f"[tck] {message}", flush=True)


def named(thing: object) -> str:
    """Return a text for messages, of objects whose own may raise."""
    try:
        return str(thing)
    except Exception as error:
        return f"<{type(thing).__name__}, whose str() raises {type(error).__name__}>"


def same(one: object, other: object) -> bool:
    """Say whether two elements are one object, or equal. What ``==`` makes of arrays is neither true nor false."""
    if one is other:
        return True
    try:
        return bool(one == other)
    except Exception:
        return False


def milliseconds(seconds: float) -> str:
    """Return "within 500 ms"."""
    return f"within {round(seconds * 1000)} ms"


def _flop(message: str) -> Flop:
    flop = Flop(message)
    flop.stack = callers()
    return flop


def callers() -> str:
    """Return the stack of this thread as text, without the kit's own frames and the machinery below them."""
    frames = traceback.extract_stack(sys._getframe(1), limit=40)
    return "".join(traceback.format_list([frame for frame in frames if not is_machinery(frame.filename)]))


def is_machinery(filename: str) -> bool:
    """Say whether a file is the kit's, pytest's or the thread machinery's."""
    name = filename.replace(os.sep, "/")
    return filename.startswith(_KIT) or any(part in name for part in _MACHINERY)


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
    """Return the seconds until a moment of time.monotonic, at least 0."""
    return max(0.0, deadline - time.monotonic())
