"""A Ctrl-C that comes when a test wants it, once, and not too late."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from tests.waiting import uncollected

AGAIN_SECONDS = 0.05


class Interrupter:
    """Raises KeyboardInterrupt on the main thread, once for each call of `strike`."""

    def __init__(self) -> None:
        self.main = threading.main_thread().ident or 0
        self.due = False
        self.orders: SimpleQueue[bool] = SimpleQueue()  # written in C: an interrupt leaves nothing in it locked
        self.thread = threading.Thread(target=self._signal, name="interrupter", daemon=True)

    def strike(self) -> None:
        """Interrupt soon; on the main thread itself, at any moment from now on."""
        self.due = True
        self.orders.put(True)

    def handle(self, *_: object) -> None:
        if self.due:
            self.due = False
            raise KeyboardInterrupt

    def _signal(self) -> None:
        pause = threading.Event()
        while self.orders.get():
            while self.due:  # again and again: CPython overlooks a signal that meets the very moment a wait begins
                signal.pthread_kill(self.main, signal.SIGINT)
                pause.wait(AGAIN_SECONDS)


@contextmanager
def interrupter() -> Iterator[Interrupter]:
    """An Interrupter for a block on the main thread, without finalizers of others in the way."""
    one = Interrupter()
    before: Any = signal.signal(signal.SIGINT, one.handle)
    one.thread.start()
    try:
        with uncollected():
            yield one
    finally:
        one.due = False
        one.orders.put(False)
        one.thread.join()
        signal.signal(signal.SIGINT, before)  # which has what is pending handled first
