"""Additional tests with several threads: §1.3, §3.5, races on a Subscription."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Barrier, BrokenBarrierError

from pyrs.api import Publisher
from pyrs.tck.beyond_publisher import stops
from pyrs.tck.environment import T, TestEnvironment, milliseconds, quoted, remaining
from pyrs.tck.interleaving import InterleavingTests
from pyrs.tck.manual import Watching
from pyrs.tck.publisher_hooks import publisher_test
from pyrs.tck.waiting import attempt, started

_ROUNDS = 50
_THREADS = 4
_TOTAL = 100
_SECONDS = 3.0  # a slow Publisher publishes fewer elements
_SIGNAL_DURATION = 0.0002  # seconds that a signal takes, so that an overlapping signal is detected
_SWITCH_INTERVAL = 1e-5  # seconds: a short switch interval makes interleavings more likely


class RaceTests(InterleavingTests[T]):
    """Concurrent calls on one Subscription."""

    @publisher_test(_TOTAL + 1)
    def beyond_spec103_mustSignalSeriallyWhenManyThreadsRequest(self, publisher: Publisher[T]) -> None:
        """Signals must be serial and complete when four threads request (§1.1, §1.3).

        They request fewer elements from a slow Publisher.
        """
        requests = self.affordable(publisher, _TOTAL, _SECONDS) // _THREADS
        total = _THREADS * requests
        subscriber = self.subscribe(self.new_publisher(_TOTAL + 1), _Slow[T](self.env, total))

        def request_all() -> None:
            for _ in range(requests):
                subscriber.request(1)

        race(self.env, *[request_all] * _THREADS)
        if not subscriber.receives_all():
            self.env.flop(
                f"{_THREADS} threads requested {total} elements, but {subscriber.elements} arrived (rule 1.2)"
            )
        self.env.verify_no_async_errors()
        subscriber.cancel()
        if subscriber.elements != total:
            self.env.flop(f"{subscriber.elements} elements arrived, but {total} were requested (rule 1.1)")

    @publisher_test(3)
    def beyond_spec305_cancelMustBeThreadSafe(self, publisher: Publisher[T]) -> None:
        """Concurrent calls of cancel must not raise or cause a signal (§3.5, §3.7)."""
        subscriber = self.subscribe(publisher, Watching[T](self.env))
        race(self.env, *[subscriber.cancel] * _THREADS)
        self.env.verify_no_async_errors()
        if subscriber.signals:
            self.env.flop(f"{subscriber.last} arrived after cancel, and nothing was requested (rule 3.7)")

    def beyond_race_requestAgainstCancel(self) -> None:
        """A request that races with a cancel must not raise; signals stop (§1.8)."""
        self._rounds(20, False, request=10, most=10)
        self.cancel_at_every_line(20, demand=2)

    def beyond_race_cancelAgainstComplete(self) -> None:
        """Only one terminal signal may arrive if a cancel races with on_complete (§1.7)."""
        self._rounds(1, True, request=2, most=1)
        self.cancel_at_every_line(1, demand=2)

    def _rounds(self, elements: int, completion: bool, request: int, most: int) -> None:
        self.needs(elements, completion=completion)
        subscribers: list[Watching[T]] = []
        for _ in self.env.rounds(_ROUNDS):
            subscriber = self.subscribe(self.new_publisher(elements), Watching[T](self.env))
            race(self.env, partial(subscriber.request, request), subscriber.cancel)
            subscribers.append(subscriber)
            self.env.verify_no_async_errors_no_delay()
        # On a loaded machine, signals that were already in progress may arrive late. They must stop eventually.
        if not stops(self.env, lambda: [subscriber.signals for subscriber in subscribers]):
            self.env.flop(f"signals did not stop {milliseconds(10 * self.env.timeout)} of the cancel (rule 1.8)")
        for subscriber in subscribers:
            if subscriber.elements > most:
                self.env.flop(f"{subscriber.elements} elements arrived, but {most} were requested (rule 1.1)")
            if subscriber.error is not None:
                self.env.flop(f"unexpected on_error({quoted(subscriber.error)})", subscriber.error)


def race(env: TestEnvironment, *actions: Callable[[], object]) -> None:
    """Run actions concurrently, one thread each; record their exceptions."""
    start = Barrier(len(actions))

    def run(action: Callable[[], object]) -> None:
        with suppress(BrokenBarrierError):  # on a loaded machine the actions do not start together
            start.wait(env.timeout)
        attempt(env, action)

    interval = sys.getswitchinterval()
    deadline = time.monotonic() + 10 * env.timeout
    try:
        sys.setswitchinterval(_SWITCH_INTERVAL)
        threads = [started("race", run, action) for action in actions]
        for thread in threads:
            thread.join(remaining(deadline))
    finally:
        sys.setswitchinterval(interval)
    if any(thread.is_alive() for thread in threads):
        env.flop("a concurrent call did not return (rules 3.5, 3.15, 3.16)")


class _Slow(Watching[T]):
    """Takes some time in on_next, so that an overlapping signal is detected."""

    def on_next(self, element: T, /) -> None:
        with self._guard.during("on_next"):
            super().on_next(element)
            time.sleep(_SIGNAL_DURATION)
