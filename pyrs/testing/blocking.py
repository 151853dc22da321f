"""Detect calls that block a running asyncio loop."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread, get_ident, get_native_id
from typing import Any, NamedTuple

from pyrs._core.display import clipped
from pyrs._core.validation import checked_seconds

_SAMPLES = 5
"""The number of samples within the reported time."""


class BlockedLoop(NamedTuple):
    """One callback that blocked an asyncio loop.

    Attributes:
        callback: the repr of the callback's handle.
        seconds: the time for which it had blocked the loop when it was detected.
        stack: the stack of the loop's thread at that time.
        computed: whether it used the CPU during that time, instead of waiting in a call.
    """

    callback: str
    seconds: float
    stack: str
    computed: bool = False

    def __str__(self) -> str:
        how = "computed for" if self.computed else "waited for at least"
        return f"{self.callback} {how} {self.seconds:.3f} s on the loop's thread:\n{self.stack}"


@contextmanager
def detect_blocking(seconds: float = 0.05, *, computing: float | None = None) -> Iterator[list[BlockedLoop]]:
    """Fail if a callback blocks a running asyncio loop inside the ``with`` statement.

    Samples the callbacks of all asyncio loops of the process from a separate thread. A callback blocks its loop if the
    loop's thread waits in one call, such as ``time.sleep``, ``Lock.acquire`` or ``socket.recv``, for ``seconds``.

    On Linux, a thread is waiting while the kernel reports that it sleeps and its count of context switches does not
    change. A thread that is ready but gets no CPU time, or that waits for Python's interpreter lock, is not waiting.
    While more threads are ready than the machine has processors, only their share of the time counts, because the
    thread or process that the loop waits for may lack CPU time. Therefore a busy machine causes no false report, but it
    may hide a short wait. On other systems a thread is waiting while its stack does not change, and only part of the
    time counts if the sampling thread is late.

    Args:
        seconds: the shortest wait that is reported.
        computing: the shortest CPU time of one callback that is reported, too; None to report no CPU time.

    Yields:
        The reports so far. Remove those that a test expects.

    Raises:
        AssertionError: a loop was blocked. The message contains the stack. An exception of the block takes precedence.

    Examples:
        >>> import asyncio, time
        >>> async def blocks():
        ...     while not reports:
        ...         time.sleep(1.5)
        >>> with detect_blocking() as reports:
        ...     asyncio.run(blocks())
        ...     print(reports.pop().stack.splitlines()[-1].strip())
        time.sleep(1.5)
    """
    watchdog = _Watchdog(
        checked_seconds(seconds, "seconds"), None if computing is None else checked_seconds(computing, "computing")
    )
    watchdog.start()
    try:
        yield watchdog.reports
    finally:
        watchdog.stop()
    if watchdog.reports:
        shown = "\n".join(map(str, watchdog.reports))
        count = len(watchdog.reports)
        raise AssertionError(f"{count} callback{'s' if count > 1 else ''} blocked an asyncio loop:\n{shown}")


class _Run:
    """One call of a callback by a loop."""

    __slots__ = ("begun", "cpu", "handle", "ident", "mark", "native", "reported", "stack", "waited")

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.ident = get_ident()
        self.native = get_native_id()
        self.begun = time.monotonic()
        self.cpu = time.thread_time()
        self.mark: object = None  # changes when the thread runs
        self.waited = 0.0
        self.stack = ""
        self.reported = False


class _Watchdog:
    def __init__(self, seconds: float, computing: float | None) -> None:
        self.reports: list[BlockedLoop] = []
        self._seconds = seconds
        self._computing = computing
        self._interval = max(min(seconds, seconds if computing is None else computing) / _SAMPLES, 0.001)
        self._runs: dict[int, _Run] = {}  # the keys are thread identifiers
        self._stopped = Event()
        self._once = Lock()  # acquired by the first callback, which starts the thread
        self._started = Event()
        self._thread = Thread(target=self._watch, name="pyrs-detect-blocking", daemon=True)
        self._original: Any = None

    def start(self) -> None:
        """Watch the callbacks that asyncio loops call from now on."""
        import asyncio  # a slow import

        original = self._original = asyncio.Handle._run
        runs = self._runs

        def run(handle: Any) -> None:
            if self._once.acquire(blocking=False):
                self._thread.start()
                self._started.set()
            current = _Run(handle)
            before, runs[current.ident] = runs.get(current.ident), current
            try:
                original(handle)
            finally:
                if before is None:
                    runs.pop(current.ident, None)
                else:
                    runs[current.ident] = before
                self._check_cpu_time(current)

        asyncio.Handle._run = run  # type: ignore[method-assign, assignment]

    def stop(self) -> None:
        """Stop watching."""
        import asyncio

        asyncio.Handle._run = self._original  # type: ignore[method-assign]
        self._stopped.set()
        if not self._once.acquire(blocking=False) and self._started.wait(10):  # a callback may be starting the thread
            self._thread.join(10)

    def _check_cpu_time(self, run: _Run) -> None:
        if self._computing is not None and not run.reported:
            computed = time.thread_time() - run.cpu
            if computed >= self._computing:
                self._report(run, computed, True)

    def _report(self, run: _Run, seconds: float, computed: bool) -> None:
        run.reported = True
        self.reports.append(BlockedLoop(clipped(repr(run.handle)), seconds, run.stack, computed))

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._stopped.wait(self._interval):
            now = time.monotonic()
            elapsed, last = now - last, now
            share = _cpu_share()
            if elapsed > 2.5 * self._interval:  # late: other threads may have lacked CPU time, too
                elapsed = self._interval * (0.5 if share is None else 2.5)
            if share is not None:
                elapsed *= share
            for run in list(self._runs.values()):
                if not run.reported:
                    self._sample(run, elapsed)

    def _sample(self, run: _Run, elapsed: float) -> None:
        frame = sys._current_frames().get(run.ident)
        if frame is None or self._runs.get(run.ident) is not run:
            return
        mark = _waiting_mark(run, frame)
        if mark is None or mark != run.mark:
            run.mark, run.waited = mark, 0.0
            if self._computing is not None:
                run.stack = _format_stack(frame)
            return
        run.waited += elapsed
        if run.waited >= self._seconds and self._runs.get(run.ident) is run:
            run.stack = _format_stack(frame)
            self._report(run, run.waited, False)


def _cpu_share() -> float | None:
    """Return the share of a processor per ready thread, at most 1; None if unknown."""
    try:
        with open("/proc/loadavg", encoding="ascii", errors="replace") as file:
            ready = int(file.read().split()[3].partition("/")[0]) - 1  # without the thread that reads it
    except (OSError, LookupError, ValueError):
        return None
    return min(1.0, (os.cpu_count() or 1) / max(ready, 1))


def _waiting_mark(run: _Run, frame: Any) -> object:
    """Return a value that is constant while the thread waits in one call, else None."""
    try:
        with open(f"/proc/self/task/{run.native}/status", encoding="ascii", errors="replace") as file:
            status = file.read()
    except OSError:
        return (id(frame), frame.f_lasti)
    state = status.partition("\nState:")[2].lstrip()[:1]
    if state not in ("S", "D"):
        return None
    # A thread that waits for the interpreter lock wakes up every few milliseconds, which changes the count.
    return status.partition("\nvoluntary_ctxt_switches:")[2].split(maxsplit=1)[0]


def _format_stack(frame: Any) -> str:
    """Return the stack from the callback on, without asyncio's loop and the test."""
    entries = traceback.extract_stack(frame)
    callbacks = (n for n, entry in enumerate(entries) if entry.name == "run" and entry.filename == __file__)
    begin = max(callbacks, default=-1)
    return "".join(traceback.format_list(entries[begin + 2 :] or entries[-1:]))
