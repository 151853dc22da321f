"""Delayed tasks: the queue, and one timer thread for all schedulers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from threading import Lock, RLock, Thread, current_thread
from time import monotonic

from pyrs._core import hooks
from pyrs.schedulers.base import OwnedTask, Task, TaskHandle, run_reporting

_FEW = 64
"""The number of cancelled entries up to which the queue is not cleaned up."""

_IDLE_SECONDS = 5.0
_MAX_WAIT = 3600.0  # the timeout of a lock is limited; waking once an hour costs nothing


class Delayed(TaskHandle):
    """A task in a DelayQueue."""

    __slots__ = ("_queue", "execute", "waits")

    def __init__(self, task: Task, queue: DelayQueue, execute: Callable[[Task], object]) -> None:
        super().__init__(task)
        self._queue = queue
        self.execute = execute
        self.waits = True  # whether it is in the queue; written under the lock of the queue

    def cancel(self) -> None:
        self._task = None
        self._queue.cancelled(self)

    def refuse(self, error: BaseException, execute: Callable[[Task], object]) -> None:
        """Notify the owner, or the hook, that the scheduler will not run the task."""
        task, self._task = self._task, None
        if isinstance(task, OwnedTask):
            try:
                execute(partial(task.refused, error))
            except Exception:  # the system starts no more threads, so this one notifies the owner
                run_reporting(partial(task.refused, error), "a delayed task that no thread could run")
        elif task is not None:
            hooks.on_error_dropped(error, "a delayed task that its scheduler refused")


class DelayQueue:
    """A priority queue of tasks, by time, then by insertion.

    All methods except ``cancelled`` and ``len()`` require the lock. A cancelled entry stays until it is the first one,
    or until more than 64 entries and more than half of all are cancelled. Therefore a cancel needs no search, and
    memory is proportional to the pending entries, even if a million timeouts are started and cancelled.
    """

    def __init__(self) -> None:
        self.lock = RLock()  # reentrant: a finalizer may arm or cancel while the lock is held
        self._heap: list[tuple[float, int, Delayed]] = []
        self._number = count()
        self._cancelled = 0  # the number of cancelled entries in the heap

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def add(self, due: float, entry: Delayed) -> None:
        """Add an entry that is due at the given time."""
        heappush(self._heap, (due, next(self._number), entry))

    def earliest(self) -> float | None:
        """Return the time of the first entry that is not cancelled, or None."""
        heap = self._heap
        while heap:
            due, _, entry = heap[0]
            if entry.waits:
                return due
            heappop(heap)
            self._cancelled -= 1
        return None

    def pop(self) -> Delayed:
        """Remove and return the entry whose time ``earliest`` has returned."""
        entry = heappop(self._heap)[2]
        entry.waits = False
        return entry

    def cancelled(self, entry: Delayed) -> None:
        """Mark an entry as cancelled, if it is still in the queue."""
        with self.lock:
            if not entry.waits:
                return
            entry.waits = False
            self._cancelled += 1
            if self._cancelled > _FEW and self._cancelled * 2 > len(self._heap):
                self._heap = [item for item in self._heap if item[2].waits]
                heapify(self._heap)
                self._cancelled = 0


class TimerThread:
    """Passes each task to its scheduler when it is due.

    It runs on a daemon thread, which ends after five idle seconds. If a scheduler was closed during the delay,
    ``execute_refusal`` runs a function that notifies the owner of the task.
    """

    def __init__(self, execute_refusal: Callable[[Task], object]) -> None:
        self._execute_refusal = execute_refusal
        self._reset()

    def after_fork(self) -> None:
        """Reset: a forked child has its parent's lock and tasks, but no timer thread."""
        self._queue.lock = RLock()  # another thread of the parent may hold it, and the child may cancel an old entry
        self._reset()

    def _reset(self) -> None:
        self._queue = DelayQueue()
        # Released to wake the thread. A Condition would lose a finalizer's notification, and SimpleQueue.get waits for
        # ever if its timeout passes between two steps of CPython's implementation.
        self._woken = Lock()
        self._woken.acquire()
        self._wakes_at = 0.0  # when the thread checks the queue next without a wake-up
        self._thread: Thread | None = None

    def __repr__(self) -> str:
        return f"<TimerThread: {len(self._queue)} waiting>"

    def __len__(self) -> int:
        return len(self._queue)

    def arm(self, task: Task, delay: float, execute: Callable[[Task], object]) -> Delayed:
        """Call ``execute``, which must not block, with the task after the delay."""
        queue = self._queue
        entry = Delayed(task, queue, execute)
        due = monotonic() + delay
        with queue.lock:
            thread = self._new_thread() if self._thread is None else None
            queue.add(due, entry)
            if due < self._wakes_at:
                self._wakes_at = due
                try:
                    self._woken.release()
                except RuntimeError:
                    pass  # an earlier wake-up is still pending
        if thread is not None:
            self._start(thread, entry)
        return entry

    def _new_thread(self) -> Thread | None:
        # An empty context: on a free-threaded Python a thread inherits the context of its starter.
        watch = (self._watch, self._queue, self._woken)
        thread = Thread(target=Context().run, args=watch, name="pyrs-timer", daemon=True)
        if self._thread is not None:
            return None  # a finalizer has started it
        self._wakes_at = 0.0
        self._thread = thread
        return thread

    def _start(self, thread: Thread, entry: Delayed) -> None:
        """Start the thread, without the lock, which a finalizer on it may need."""
        try:
            thread.start()
        except BaseException:
            entry.cancel()
            with self._queue.lock:
                self._thread = None
            raise

    def _watch(self, queue: DelayQueue, woken: Lock) -> None:
        idle_since = monotonic()
        while True:
            due_now: list[Delayed] = []
            wait = 0.0
            with queue.lock:
                self._wakes_at = inf  # a timer that a finalizer arms from here on sends a wake-up
                now = monotonic()
                earliest = queue.earliest()
                while earliest is not None and earliest <= now:
                    due_now.append(queue.pop())
                    earliest = queue.earliest()
                if due_now:
                    self._wakes_at = 0.0  # the queue is checked again at once
                else:
                    if earliest is not None:
                        idle_since = now
                    elif now - idle_since >= _IDLE_SECONDS:
                        self._thread = None  # before the last check: a later arm() starts a new thread
                        if queue.earliest() is None or self._thread is not None:
                            return
                        self._thread = current_thread()
                    wait = _IDLE_SECONDS if earliest is None else min(earliest - now, _MAX_WAIT)
                    self._wakes_at = now + wait
            for entry in due_now:
                try:
                    entry.execute(entry)
                except BaseException as error:  # the scheduler was closed during the delay, or has no thread
                    self._refuse(entry, error)
            if not due_now:
                woken.acquire(timeout=wait)

    def _refuse(self, entry: Delayed, error: BaseException) -> None:
        """Notify the owner that its due task was refused.

        Never raises, because an exception would end the timer thread.
        """
        try:
            entry.refuse(error, self._execute_refusal)
        except BaseException as raised:  # an exit, raised by the owner or by the hook for dropped errors
            with suppress(BaseException):
                hooks.on_error_dropped(raised, "on the timer thread")
