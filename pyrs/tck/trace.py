"""The signals of a test as a marble diagram with a line for each thread."""

from __future__ import annotations

from collections import deque
from threading import current_thread
from typing import Any

from pyrs.api import Subscriber, Subscription

_LONGEST = 16  # the number of signals that are kept; earlier ones are counted
_PLAIN = (int, float, str, bytes, bool, type(None))  # other types may have a slow or faulty repr
# The beginnings of the names of the threads that run a test.
_TEST_THREADS = tuple(f"pyrs-tck-{kind}" for kind in ("required", "optional", "stochastic", "must", "beyond"))


class Trace:
    """Records the signals in both directions between a Publisher and its Subscribers."""

    def __init__(self, *, printed: bool) -> None:
        self._printed = printed
        self._marks: deque[tuple[int, str, str]] = deque(maxlen=_LONGEST)
        self._count = 0
        self._subscribers = 0

    def new_subscriber(self) -> int:
        """Return the number of a new Subscriber."""
        self._subscribers += 1
        return self._subscribers

    def add(self, subscriber: int, mark: str) -> None:
        """Record a signal of the current thread."""
        self._count += 1
        self._marks.append((subscriber, current_thread().name, mark))
        if self._printed:
            print(f"[tck] {self._label(subscriber, current_thread().name)}: {mark}", flush=True)

    def __str__(self) -> str:
        marks = list(self._marks)
        rows = dict.fromkeys(mark[:2] for mark in marks)
        labels = {row: self._label(*row) for row in rows}
        width = max(map(len, labels.values()), default=0)
        earlier = f"({self._count - len(marks)} earlier signals)\n" if self._count > len(marks) else ""
        lines = (
            f"{labels[row]:<{width}}  {''.join(_cell(mark[2], mark[:2] == row) for mark in marks)}--" for row in rows
        )
        return earlier + "\n".join(lines)

    def _label(self, subscriber: int, thread: str) -> str:
        thread = "test" if thread.startswith(_TEST_THREADS) else thread
        return f"Subscriber {subscriber}, {thread}" if self._subscribers > 1 else thread


def _cell(mark: str, shown: bool) -> str:
    return f"--{mark}" if shown else "-" * (len(mark) + 2)


def _short(value: object) -> str:
    text = repr(value) if type(value) in _PLAIN else type(value).__name__
    return text if len(text) <= 20 else f"{text[:17]}..."


class RecordedSubscriber(Subscriber[Any]):
    """Records and forwards the signals of a Subscriber and its Subscription."""

    def __init__(self, trace: Trace, subscriber: Subscriber[Any]) -> None:
        self._trace = trace
        self._subscriber = subscriber
        self._number = trace.new_subscriber()

    def __str__(self) -> str:
        return str(self._subscriber)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._trace.add(self._number, "on_subscribe")
        nothing: object = subscription
        recorded = None if nothing is None else _RecordedSubscription(self._trace, self._number, subscription)
        self._subscriber.on_subscribe(recorded)  # type: ignore[arg-type]  # None is forwarded (§2.13)

    def on_next(self, element: Any, /) -> None:
        self._trace.add(self._number, _short(element))
        self._subscriber.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._trace.add(self._number, f"X({type(error).__name__})")
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._trace.add(self._number, "|")
        self._subscriber.on_complete()


class _RecordedSubscription(Subscription):
    def __init__(self, trace: Trace, number: int, subscription: Subscription) -> None:
        self._trace = trace
        self._number = number
        self.original = subscription

    def __str__(self) -> str:
        return str(self.original)

    def request(self, n: int, /) -> None:
        self._trace.add(self._number, f"request({_short(n) if n != 2**63 - 1 else 'unbounded'})")
        self.original.request(n)

    def cancel(self) -> None:
        self._trace.add(self._number, "cancel")
        self.original.cancel()


def original(subscription: Subscription) -> Subscription:
    """Return the Subscription that the Publisher created."""
    return subscription.original if isinstance(subscription, _RecordedSubscription) else subscription
