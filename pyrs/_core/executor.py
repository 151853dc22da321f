"""DaemonExecutor: a pool of daemon threads, which grows while tasks block."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from queue import Empty, SimpleQueue
from sys import is_finalizing
from time import monotonic

from pyrs._core import hooks

Task = Callable[[], object]

_EAGER_THREADS = 4
_STALL_SECONDS = 0.02


class DaemonExecutor:
    """Runs tasks on daemon threads, and adds threads while all of them are blocked.

    The first four threads start without delay. After that a task waits until a thread is free. If no task has been
    started for 20 ms, more threads start. At ``max_threads`` tasks wait in an unbounded queue, and the executor warns
    once, unless ``max_threads`` is 1. A thread ends after ``idle_seconds`` without a task. Daemon threads do not delay
    the exit of the interpreter. An exception of a task is reported to the dropped-errors hook. Invariant: a task that
    ``execute`` accepted runs exactly once. After an interrupt of ``execute`` it runs once or never.

    Args:
        name: the threads are named ``pyrs-<name>-<number>``.
        thread_ends: called by each thread before it ends, for example to detach it from a foreign runtime.
    """

    def __init__(
        self,
        name: str,
        max_threads: int = 256,
        idle_seconds: float = 5.0,
        thread_ends: Callable[[], object] = lambda: None,
    ) -> None:
        self._name = name
        self._max_threads = max_threads
        self._idle_seconds = idle_seconds
        self._thread_ends = thread_ends
        self._lock = threading.RLock()  # reentrant: a finalizer may submit a task while the lock is held
        self._handoff: SimpleQueue[Task | None] = SimpleQueue()  # one idle thread is reserved for each task in it
        self._backlog: deque[Task] = deque()  # tasks without a thread; empty while a thread is idle
        self._idle = 0
        self._threads: set[threading.Thread] = set()
        self._started = 0
        self._closed = False
        self._warned = False
        self._taken = 0  # the number of tasks that threads took from the backlog
        self._watched = False  # a thread runs ``_watch``

    @property
    def threads(self) -> int:
        """Return the current number of threads."""
        return len(self._threads)

    @property
    def backlog(self) -> int:
        """Return the number of tasks that wait for a thread."""
        return len(self._backlog)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{self._idle} idle, {len(self._backlog)} queued"
        return f"<DaemonExecutor {self._name}: {len(self._threads)} of {self._max_threads} threads, {state}>"

    def execute(self, task: Task) -> None:
        """Run the task on a thread of this executor, without waiting.

        Raises:
            RuntimeError: the executor was shut down, the system cannot start a thread, or the interpreter is exiting.
        """
        thread, queued, watch = None, False, False
        try:
            with self._lock:
                if self._closed:
                    raise RuntimeError(f"the executor {self._name} was shut down")
                if self._idle:
                    self._idle -= 1
                    self._handoff.put(task)
                else:
                    self._backlog.append(task)
                    queued = True
                    if len(self._threads) < min(_EAGER_THREADS, self._max_threads):
                        thread = self._new_thread()
                    elif self._max_threads > 1:
                        watch, self._watched = not self._watched, True
            if thread is not None:
                self._start(thread)
            if watch and not is_finalizing():
                threading.Thread(target=self._watch, name=f"pyrs-{self._name}-watch", daemon=True).start()
        except BaseException as error:  # no thread can be started, or an interrupt
            with self._lock:
                if thread is not None and thread.ident is None:
                    self._threads.discard(thread)
                if watch:
                    self._watched = False
                if queued and task in self._backlog:
                    self._backlog.remove(task)
                elif queued and isinstance(error, RuntimeError):
                    return  # another thread has taken the task
            raise

    def _watch(self) -> None:
        """Start threads while tasks wait and no task has started since the last check."""
        pause = threading.Event()
        while True:
            taken = self._taken
            pause.wait(_STALL_SECONDS)
            warn = False
            with self._lock:
                if not self._backlog:
                    self._watched = False
                    return
                if taken != self._taken:
                    continue
                more = min(len(self._backlog), len(self._threads), self._max_threads - len(self._threads))
                if not more:
                    warn, self._warned = not self._warned, True
            for _ in range(more):
                with self._lock:
                    thread = self._new_thread() if self._backlog else None
                if thread is not None:
                    try:
                        self._start(thread)
                    except RuntimeError:
                        break  # the system has no more threads now: the tasks wait
            if warn:
                import logging

                logging.getLogger("pyrs").warning(
                    "all %d threads of %s are busy: further work waits for one of them", self._max_threads, self._name
                )

    def _new_thread(self) -> threading.Thread | None:
        """Return a new thread, or None at ``max_threads``; called under the lock."""
        # An empty context: on a free-threaded Python a thread inherits the context of its starter.
        name = f"pyrs-{self._name}-{self._started + 1}"
        thread = threading.Thread(target=Context().run, args=(self._work,), name=name, daemon=True)
        if len(self._threads) >= self._max_threads:  # a finalizer has just added the last thread
            return None
        self._started += 1
        try:
            self._threads.add(thread)
        except BaseException:  # an interrupt after ``add`` has returned
            self._threads.discard(thread)
            raise
        return thread

    def _start(self, thread: threading.Thread) -> None:
        """Start the thread; called without the lock, which a finalizer may need.

        ``Thread.start`` waits for the new thread, and that thread may run the finalizer.
        """
        try:
            if is_finalizing():  # Thread.start would block
                raise RuntimeError("the interpreter is exiting")
            thread.start()
        except BaseException:
            with self._lock:
                self._threads.discard(thread)
            raise

    def _work(self) -> None:
        try:
            while (task := self._next_task()) is not None:
                try:
                    task()
                except BaseException as error:  # also SystemExit, which would end this thread silently
                    hooks.on_error_dropped(error, f"on thread {threading.current_thread().name}")
                del task  # a waiting thread must not keep a finished task alive (§3.13)
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
                # A task that arrived after this thread found none may have no other thread to run it.
                successor = self._new_thread() if self._backlog and not self._threads else None
            if successor is not None:
                self._start(successor)
            try:
                self._thread_ends()
            except BaseException as error:
                hooks.on_error_dropped(error, f"at the end of thread {threading.current_thread().name}")

    def _next_task(self) -> Task | None:
        with self._lock:
            if self._backlog:
                self._taken += 1
                return self._backlog.popleft()
            if self._closed:
                return None
            self._idle += 1
        try:
            return self._handoff.get(timeout=self._idle_seconds)
        except Empty:
            pass
        with self._lock:
            while True:
                idle = self._idle
                try:
                    return self._handoff.get_nowait()  # submitted between the deadline and the lock
                except Empty:
                    if self._idle == idle:  # otherwise a finalizer has submitted a task
                        self._idle = idle - 1
                        return None

    def shutdown(self, deadline_seconds: float = 5.0) -> bool:
        """Accept no more tasks, finish the accepted ones, and wait for the threads.

        Returns whether every thread ended within the deadline, except the calling thread, if it is one of them.
        """
        with self._lock:
            self._closed = True
            for _ in range(self._idle):
                self._handoff.put(None)
            self._idle = 0
        end = monotonic() + deadline_seconds
        while True:
            with self._lock:  # repeatedly: threads may have been started for waiting tasks
                threads = self._threads - {threading.current_thread()}
            if not threads:
                return True
            for thread in threads:
                if not ended(thread, max(0.0, end - monotonic())):
                    return False


def ended(thread: threading.Thread, deadline_seconds: float) -> bool:
    """Wait until a thread has ended; return False at the deadline.

    The thread may not be started yet.
    """
    end = monotonic() + deadline_seconds
    pause = threading.Event()
    while True:
        try:
            thread.join(max(0.0, end - monotonic()))
        except RuntimeError:  # not started yet
            if monotonic() >= end:
                return False
            pause.wait(0.001)
        else:
            return not thread.is_alive()
