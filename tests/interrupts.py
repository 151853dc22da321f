"""Raise KeyboardInterrupt at a moment that the test chooses: on the main thread, or at a line of a function."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from tests.lines import AtLine
from tests.waiting import uncollected

AGAIN_SECONDS = 0.05


class Interrupter:
    """Raise KeyboardInterrupt on the main thread, once for each call of ``strike``."""

    def __init__(self) -> None:
        self.main = threading.main_thread().ident or 0
        self.due = False
        self.orders: SimpleQueue[bool] = SimpleQueue()  # implemented in C: an interrupt leaves no lock held
        self.thread = threading.Thread(target=self._signal, name="interrupter", daemon=True)

    def strike(self) -> None:
        """Interrupt the main thread soon. A caller on the main thread may be interrupted before this returns."""
        self.due = True
        self.orders.put(True)

    def handle(self, *_: object) -> None:
        if self.due:
            self.due = False
            raise KeyboardInterrupt

    def _signal(self) -> None:
        pause = threading.Event()
        while self.orders.get():
            while self.due:  # repeated, because CPython misses a signal that arrives just as a wait begins
                signal.pthread_kill(self.main, signal.SIGINT)
                pause.wait(AGAIN_SECONDS)


@contextmanager
def interrupter() -> Iterator[Interrupter]:
    """Yield an Interrupter for a block on the main thread, with garbage collection disabled."""
    interrupts = Interrupter()
    before: Any = signal.signal(signal.SIGINT, interrupts.handle)
    interrupts.thread.start()
    try:
        with uncollected():
            yield interrupts
    finally:
        interrupts.due = False
        interrupts.orders.put(False)
        interrupts.thread.join()
        signal.signal(signal.SIGINT, before)  # runs the handler of a pending signal first


class Raising(AtLine):
    """Raises KeyboardInterrupt on the current thread, at the n-th line that the given functions run."""

    def __init__(self, functions: tuple[Any, ...], line: int) -> None:
        super().__init__(functions, line, self._interrupt)

    def _interrupt(self) -> None:
        raise KeyboardInterrupt
