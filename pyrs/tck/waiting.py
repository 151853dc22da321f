"""Synchronizers: Latch, Promise for one value, Receptacle for several."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Generic

from pyrs.tck.environment import TEST_BUFFER_SIZE, T, TestEnvironment, named, overdue, remaining


class ProbeOverflow(RuntimeError):
    """More elements arrived than any test requests."""


class _EndOfStream:
    def __repr__(self) -> str:
        return "end of stream"


END_OF_STREAM = _EndOfStream()
_NOTHING: Any = object()
_STEPS = 10  # the number of steps of ``linger``


class Latch:
    """An event that can happen once. The latch is open before it and closed after it."""

    def __init__(self, env: TestEnvironment) -> None:
        self._env = env
        self._event = Event()

    @property
    def is_closed(self) -> bool:
        return self._event.is_set()

    def close(self) -> None:
        self._event.set()

    def closes_while(self, count: Callable[[], int], until: float = math.inf) -> bool:
        """Wait for the event while a counter changes.

        Returns False if the counter stops before the event, otherwise True. The wait ends after ``until``, a
        ``time.monotonic`` time, although the counter still changes.
        """
        seen = count()
        while not self._event.wait(self._env.timeout):
            if seen == (seen := count()):
                return False
            if time.monotonic() > until:
                break
        return True

    def assert_closed(self, message: str) -> None:
        """Record an error if the event has not happened."""
        if not self.is_closed:
            self._env.flop(message)

    def assert_open(self, message: str) -> None:
        """Record an error if the event has happened."""
        if self.is_closed:
            self._env.flop(message)

    def expect_close(self, message: str, timeout: float | None = None) -> None:
        """Wait for the event; record an error if it does not happen."""
        timeout = self._env.timeout if timeout is None else timeout
        if not self._event.wait(timeout):
            self._env.flop(overdue(message, timeout))


class Promise(Latch, Generic[T]):
    """A value that is set once, which closes the latch."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self._lock = Lock()
        self._value: T = _NOTHING

    @property
    def value(self) -> T:
        """The value; the test fails if it is not set."""
        if not self.is_closed:
            self._env.flop_and_fail("the expected value has not arrived yet")
        return self._value

    def complete(self, value: T) -> None:
        """Set the value; record an error if it is set already."""
        with self._lock:
            late = self.is_closed
            if not late:
                self._value = value
                self.close()
        if late:
            self._env.flop(f"received a second value, {named(value)}, after {named(self._value)}")


class Receptacle(Generic[T]):
    """A queue of the received elements and the end of the stream."""

    def __init__(self, env: TestEnvironment, capacity: int | None = 2 * TEST_BUFFER_SIZE) -> None:
        self._env = env
        self.capacity = capacity
        self._queue: queue.Queue[Any] = queue.Queue(capacity or 0)  # None: no limit
        self._completed = Latch(env)

    def add(self, value: T) -> None:
        """Add an element; raise ``ProbeOverflow`` if the queue is full."""
        self._completed.assert_open(f"unexpected element {named(value)} received after the stream completed (rule 1.7)")
        self._put(value)

    def complete(self) -> None:
        """Add the end of the stream."""
        self._completed.assert_open("unexpected additional on_complete received after the stream completed (rule 1.7)")
        self._completed.close()
        self._put(END_OF_STREAM)

    def _put(self, value: object) -> None:
        try:
            self._queue.put_nowait(value)
        except queue.Full:
            raise ProbeOverflow(f"more than {self.capacity} elements are buffered") from None

    def next(self, message: str) -> T:
        """Wait for an element; fail if none arrives."""
        return self._element(self._poll(self._env.timeout), message)

    def next_or(self, otherwise: T) -> T:
        """Wait for an element; return ``otherwise`` if none arrives."""
        value = self._poll(self._env.timeout)
        either: T = otherwise if value is _NOTHING else value
        return either

    def next_or_end_of_stream(self, message: str) -> T | _EndOfStream:
        """Wait for an element or the end; if neither arrives, record an error."""
        value = self._poll(self._env.timeout)
        if value is _NOTHING:
            self._env.flop(overdue(message, self._env.timeout))
            return END_OF_STREAM
        either: T | _EndOfStream = value
        return either

    def next_n(self, count: int, message: str) -> list[T]:
        """Wait for a number of elements; fail if not all arrive within the timeout."""
        deadline = time.monotonic() + self._env.timeout
        what, rule, number = message.partition(" (rule")
        return [
            self._element(self._poll(remaining(deadline)), f"{what} (element {at + 1} of {count}){rule}{number}")
            for at in range(count)
        ]

    def _element(self, value: Any, message: str) -> T:
        if value is _NOTHING:
            self._env.flop_and_fail(overdue(message, self._env.timeout))
        if value is END_OF_STREAM:
            self._env.flop_and_fail(f"{message}: expected an element but received the end of the stream")
        element: T = value
        return element

    def expect_completion(self, message: str) -> None:
        """Wait for the end of the stream; record an error if it does not arrive."""
        value = self._poll(self._env.timeout)
        if value is _NOTHING:
            self._env.flop(overdue(message, self._env.timeout))
        elif value is not END_OF_STREAM:
            self._env.flop(f"expected the end of the stream but received element [{named(value)}]")

    def expect_none(self, message: str = "expected no element but received") -> None:
        """Wait for ``no_signals_timeout``; record an error if anything arrives."""
        value = self._poll(self._env.no_signals_timeout)
        if value is END_OF_STREAM:
            self._env.flop("expected no element but received the end of the stream")
        elif value is not _NOTHING:
            self._env.flop(f"{message} [{named(value)}]")

    def _poll(self, timeout: float) -> Any:
        try:
            return self._queue.get(timeout=timeout) if timeout > 0 else self._queue.get_nowait()
        except queue.Empty:
            return _NOTHING


def started(name: str, target: Callable[..., object], *arguments: object) -> Thread:
    """Start a daemon thread."""
    thread = Thread(target=target, args=arguments, name=f"pyrs-tck-{name}", daemon=True)
    thread.start()
    return thread


def attempt(env: TestEnvironment, call: Callable[..., object], *arguments: object) -> None:
    """Make one of several concurrent calls, and record its exception."""
    try:
        call(*arguments)
    except BaseException as error:  # also SystemExit, which ends a thread silently
        env.flop("a concurrent call raised it", error)


def linger(event: Event, seconds: float) -> None:
    """Wait for an event of another thread, longer on a loaded machine.

    This thread needs the processor after each of the steps. Another thread that competes for the processor has then run
    as well.
    """
    for _ in range(_STEPS):
        if event.wait(seconds / _STEPS):
            return
