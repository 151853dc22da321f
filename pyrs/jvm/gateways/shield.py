"""Run work where a Ctrl-C cannot interrupt it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from typing import TypeVar

from pyrs._core import hooks

T = TypeVar("T")
_IDLE_SECONDS = 10.0


class Workers:
    """Daemon threads that run tasks for the main thread.

    An interrupt may stop the main thread at any line. An idle thread puts a token into ``_idle`` before it waits for a
    task; ``execute`` takes a token and queues a task. Each step is one atomic operation. An interrupt between two of
    them loses at most a token, which costs at most one additional thread: there are never more tokens than waiting
    threads.
    """

    def __init__(self) -> None:
        self._idle: list[bool] = []
        self._tasks: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._numbers = count(1)

    def execute(self, task: Callable[[], object]) -> None:
        """Run the task on a thread that is idle, or on a new one."""
        try:
            self._idle.pop()
        except IndexError:
            name = f"pyrs-gateway-{next(self._numbers)}"
            # An empty context: in a free-threaded Python a new thread inherits the context of its starter.
            threading.Thread(target=Context().run, args=(self._work, [task]), name=name, daemon=True).start()
        else:
            self._tasks.put(task)

    def _work(self, first: list[Callable[[], object]]) -> None:
        # The list is emptied, because a running thread references its arguments: it would keep a finished task alive.
        task = first.pop()
        while True:
            try:
                task()
            except BaseException as error:
                hooks.on_error_dropped(error, f"on thread {threading.current_thread().name}")
            del task
            self._idle.append(True)
            while True:
                try:
                    task = self._tasks.get(timeout=_IDLE_SECONDS)
                    break
                except Empty:
                    try:
                        self._idle.pop()
                    except IndexError:
                        continue  # the token was taken: a task follows, or an interrupt lost it
                    return


class Shield:
    """Keeps work off the main thread, the only one that an interrupt reaches.

    A KeyboardInterrupt inside a Py4J call loses more than the result: Py4J resets the connections of all other threads,
    which then send their commands again. A call on a worker is never interrupted.

    Args:
        after: Called on the worker after each task, even if the task raised.
        stays: Called before a task on a thread that is not a worker; returns whether that thread stays attached to the
            JVM afterwards. If not, ``after`` is called on it too.
    """

    def __init__(self, after: Callable[[], None], stays: Callable[[], bool] = lambda: True) -> None:
        self._after = after
        self._stays = stays
        self._workers = Workers()
        self._pid = os.getpid()

    def run(self, task: Callable[[], T]) -> T:
        """Run the task, on a worker if this is the main thread, and return its result."""
        if threading.current_thread() is not threading.main_thread() or os.getpid() != self._pid:
            # A child made by fork() has no workers, and its calls raise, because the gateway belongs to the parent.
            return self.here(task)
        done: Future[T] = Future()
        try:
            self._workers.execute(partial(self._work, task, done))
        except RuntimeError:  # the system starts no more threads, or Python 3.12 or later runs exit handlers
            return self.here(task)
        try:
            return done.result()
        finally:
            del done  # an exception references this frame, and the frame must not reference the exception

    def here(self, task: Callable[[], T]) -> T:
        """Run the task on this thread, and detach the thread if ``stays`` is false."""
        if self._stays():
            return task()
        try:
            return task()
        finally:
            self._after()

    def _work(self, task: Callable[[], T], done: Future[T]) -> None:
        try:
            result = task()
        except BaseException as error:  # raised again on the calling thread
            done.set_exception(error)
        else:
            done.set_result(result)
        finally:
            del done
            self._after()
