"""Publishers whose violation needs two threads or a deep stack."""

from __future__ import annotations

import sys
import time
import traceback
from threading import Condition, Thread, get_ident
from typing import Any

from pyrs.api import Subscriber
from tests.tck.right import LONG_MAX, RightPublisher, RightSubscription


class CompletesOnAnotherThread(RightPublisher):
    """Completes on a second thread when the first one is inside on_next of the last element."""

    class subscription(RightSubscription):  # noqa: N801
        def emit(self, subscriber: Subscriber[Any]) -> None:
            if self.illegal or not self.demand or self.sent + 1 != self.elements:
                super().emit(subscriber)
                return
            self.cancel()
            self.sent += 1
            Thread(target=self.complete, args=(subscriber, get_ident()), daemon=True).start()
            subscriber.on_next(self.sent)

        def complete(self, subscriber: Subscriber[Any], emitting: int) -> None:
            deadline = time.monotonic() + 1
            while not waits_in_on_next(emitting) and time.monotonic() < deadline:
                time.sleep(0.001)
            subscriber.on_complete()


def waits_in_on_next(thread: int) -> bool:
    """Return whether a Subscriber waits in on_next on this thread."""
    stack = traceback.extract_stack(sys._current_frames().get(thread))
    return stack[-1].name == "wait" and any(frame.name == "on_next" for frame in stack)


class FailsDuringOnNext(RightPublisher):
    """Signals on_error inside request(0), also while another thread is inside on_next."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            subscriber = self.subscriber
            if n > 0 or subscriber is None:
                super().request(n)
            else:
                self.cancel()
                subscriber.on_error(ValueError("3.9: request(n) needs a positive n"))


class CancelAwaitsTheSignal(RightPublisher):
    """Waits in cancel until the signal of another thread has returned."""

    class subscription(RightSubscription):  # noqa: N801
        def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
            super().__init__(subscriber, elements)
            self.emitting = 0
            self.returned = Condition()

        def emit(self, subscriber: Subscriber[Any]) -> None:
            self.emitting = get_ident()
            super().emit(subscriber)
            with self.returned:
                self.emitting = 0
                self.returned.notify_all()

        def cancel(self) -> None:
            with self.returned:
                self.returned.wait_for(lambda: self.emitting in (0, get_ident()), 30)
            super().cancel()


class BusyWithoutALock(RightPublisher):
    """Checks and sets its busy flag in two steps."""

    class subscription(RightSubscription):  # noqa: N801
        def drain(self) -> None:
            if self.busy:
                return
            self.busy = True
            while True:
                subscriber = self.subscriber
                if subscriber is not None:
                    self.emit(subscriber)
                if self.stopped or not (self.illegal or self.demand):
                    self.busy = False
                    return


class LosesTheWakeup(RightPublisher):
    """Clears its busy flag outside the lock, after it has checked the demand for the last time."""

    class subscription(RightSubscription):  # noqa: N801
        def drain(self) -> None:
            with self.lock:
                if self.busy:
                    return
                self.busy = True
            while (self.demand or self.illegal or self.sent == self.elements) and self.subscriber is not None:
                self.emit(self.subscriber)
            self.busy = False


class LosesAnAddition(RightPublisher):
    """Adds to the demand without a lock."""

    class subscription(RightSubscription):  # noqa: N801
        def request(self, n: int, /) -> None:
            if n <= 0:
                self.illegal = True
            else:
                before = self.demand
                self.demand = min(LONG_MAX, before + n)
            self.drain()


class RecursesInItsDrain(RightPublisher):
    """Drains by a method that calls itself after each element: the stack grows although on_next does not nest."""

    class subscription(RightSubscription):  # noqa: N801
        def drain(self) -> None:
            with self.lock:
                if self.busy:
                    return
                self.busy = True
            self.step()

        def step(self) -> None:
            if self.subscriber is not None:
                self.emit(self.subscriber)
            with self.lock:
                if self.stopped or not (self.illegal or self.demand):
                    self.busy = False
                    return
            self.step()


class RecursesAfterAHundred(RightPublisher):
    """Emits inside request from the 101st element on."""

    class subscription(RightSubscription):  # noqa: N801
        def drain(self) -> None:
            if self.sent < 100 or self.stopped or not self.demand or self.subscriber is None:
                super().drain()
            else:
                self.emit(self.subscriber)
