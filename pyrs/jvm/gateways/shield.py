"""Work that a Ctrl-C must not cut in half."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from pyrs._core.executor import DaemonExecutor

__all__ = ["Shield"]

T = TypeVar("T")


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
        self._executor = DaemonExecutor("gateway")
        self._pid = os.getpid()

    def run(self, task: Callable[[], T]) -> T:
        """Run the task, on a worker if this is the main thread, and return its result or raise its exception."""
        if threading.current_thread() is not threading.main_thread() or os.getpid() != self._pid:
            # In a child made by fork() there are no workers; the gateway itself says there that it is the parent's.
            return self.here(task)
        done: Future[T] = Future()
        self._executor.execute(partial(self._work, task, done))
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
