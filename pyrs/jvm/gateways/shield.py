"""Work that a Ctrl-C must not cut in half."""

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

__all__ = ["Shield"]

T = TypeVar("T")
_IDLE_SECONDS = 10.0


class Workers:
    """Daemon threads that run tasks of the main thread, where an interrupt may strike between any two instructions.

    A thread that is idle puts a token into `_idle` before it waits for a task, and whoever takes the token hands it a
    task. Each step is one operation that cannot be interrupted. An interrupt between two of them costs at most a token,
    and so at most one thread too many: there are never more tokens than threads that wait.
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
            # In an empty context: a Python without the GIL has a thread inherit the context of its starter.
            threading.Thread(target=Context().run, args=(self._work, [task]), name=name, daemon=True).start()
        else:
            self._tasks.put(task)

    def _work(self, first: list[Callable[[], object]]) -> None:
        # In a list: a thread keeps its arguments as long as it runs, and a finished task must not be kept.
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
                        continue  # the token was taken: a task is on its way, or was lost to an interrupt
                    return


class Shield:
    """Keeps work off the main thread, the only one that an interrupt reaches.

    A KeyboardInterrupt inside a Py4J call is worse than a lost result: Py4J then resets the connections of every other
    thread, and those send their commands again. A call on a worker is never interrupted: nobody is reset because of us.

    Args:
        after: runs on the worker after each task, whatever became of it.
        stays: asked on a thread that is no worker before a task: whether the thread may keep what `after` takes from
            it. Where not, `after` runs there too.
    """

    def __init__(self, after: Callable[[], None], stays: Callable[[], bool] = lambda: True) -> None:
        self._after = after
        self._stays = stays
        self._workers = Workers()
        self._pid = os.getpid()

    def run(self, task: Callable[[], T]) -> T:
        """Run the task, on a worker if this is the main thread, and return its result or raise its exception."""
        if threading.current_thread() is not threading.main_thread() or os.getpid() != self._pid:
            # In a child made by fork() there are no workers; the gateway itself says there that it is the parent's.
            return self.here(task)
        done: Future[T] = Future()
        self._workers.execute(partial(self._work, task, done))
        try:
            return done.result()
        finally:
            del done  # an exception holds this frame, and the frame must not hold the exception

    def here(self, task: Callable[[], T]) -> T:
        """Run the task on this thread, and leave the thread as it was found."""
        if self._stays():
            return task()
        try:
            return task()
        finally:
            self._after()

    def _work(self, task: Callable[[], T], done: Future[T]) -> None:
        try:
            result = task()
        except BaseException as error:  # raised again on the thread that asked
            done.set_exception(error)
        else:
            done.set_result(result)
        finally:
            del done
            self._after()
