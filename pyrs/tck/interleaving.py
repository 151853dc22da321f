"""Interleave a call of ``request`` with another call at every line (§1.3, §1.8)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from threading import Event, Thread, current_thread
from types import FrameType
from typing import Any

from pyrs.api import Publisher
from pyrs.tck.environment import LONG_MAX, Flop, Skipped, T, TestEnvironment, callers, is_machinery, named, quoted
from pyrs.tck.manual import Watching
from pyrs.tck.publisher_hooks import PublisherHooks, publisher_test
from pyrs.tck.waiting import attempt, linger, started

_MAX_LINES = 500
_ATTEMPTS = 3
_SECONDS = 10.0  # for all lines; long enough for a loaded machine
_BLOCKED = 0.02  # seconds without progress after which a thread is considered to wait for the other one
_SECONDS_OF_EMISSION = 3.0  # for all lines that the Publisher's own thread runs between two elements
_PATIENCE = 4  # timeouts that the third thread stays inside on_next, unless that blocks the requests


class InterleavingTests(PublisherHooks[T]):
    """Tests that interleave a request with another call at every line."""

    def beyond_spec103_mustSignalSeriallyAtEveryInterleaving(self) -> None:
        """If two requests interleave at any line, the signals must be serial (§1.3).

        The test traces the requesting thread. It covers the code that runs inside ``request``.
        """
        self.needs(4, completion=False)
        self._interleave_requests(elements=4, with_third=False)
        self._interleave_requests(elements=4, with_third=True)
        if self.call_number_hook(self.max_elements_from_publisher) < LONG_MAX:
            self._interleave_requests(elements=1, with_third=False)  # both threads reach the end of the stream

    @publisher_test(3)
    def beyond_spec308_mustCountARequestAtEveryLineOfTheEmission(self, publisher: Publisher[T]) -> None:
        """A request while the Publisher's thread stops emitting must count (§1.2, §3.8).

        The test traces a thread of the Publisher from on_next on. If on_next runs inside ``request``,
        beyond_spec103_mustSignalSeriallyAtEveryInterleaving covers the emission.
        """
        for line in self.env.rounds(_MAX_LINES, _SECONDS_OF_EMISSION):
            losses = misses = 0
            reached = served = False
            while not (reached and served):
                subscriber = self.subscribe(publisher, _RequestsAtLine[T](self.env, line))
                publisher = self.new_publisher(3)
                reached, served = subscriber.request_two()
                self.env.verify_no_async_errors_no_delay()
                subscriber.cancel()
                misses = 0 if reached else misses + 1  # the thread may run the line too late on a busy machine
                losses += not served
                if misses == _ATTEMPTS:
                    return
                if losses == _ATTEMPTS:
                    lost = Flop(
                        "2 elements were requested, the second one while the Publisher's thread was at the line below, "
                        f"after on_next, but {subscriber.elements} arrived (rule 1.2)"
                    )
                    lost.stack = subscriber.place
                    raise lost

    def _interleave_requests(self, elements: int, *, with_third: bool) -> None:
        requested = 2 + with_third
        total = min(requested, elements)
        patience = _PATIENCE * self.env.timeout
        for line in self.env.rounds(_MAX_LINES, _SECONDS):
            subscriber, reached = self._interleaved(line, elements, total, third_stays=patience * with_third)
            if subscriber.third_returned_early:  # it blocks the requests, or the machine is loaded
                patience = 5 * _BLOCKED
            if not reached:
                subscriber.request(1)
            if not subscriber.receives_all():
                arrived = subscriber.elements
                self.env.flop(
                    f"{requested} threads requested {requested} elements, but {arrived} arrived (rules 1.2, 1.3)"
                )
            self.env.verify_no_async_errors_no_delay()
            subscriber.cancel()
            if not reached:
                return

    def cancel_at_every_line(self, elements: int, demand: int) -> None:
        """Cancel on another thread at every line of a request (§1.8).

        Neither call may raise (§3.15, §3.16).
        """
        for line in self.env.rounds(_MAX_LINES, _SECONDS):
            subscriber, reached = self._interleaved(line, elements, demand, cancels=True)
            self.env.verify_no_async_errors_no_delay()
            if subscriber.error is not None:
                self.env.flop(f"unexpected on_error({quoted(subscriber.error)})", subscriber.error)
            if not reached:
                subscriber.cancel()
                return

    def _interleaved(
        self, line: int, elements: int, total: int, *, third_stays: float = 0.0, cancels: bool = False
    ) -> tuple[_Interleaved[T], bool]:
        """Test one interleaving of a call of ``request`` with another call.

        Returns the Subscriber, and whether its first request reached the line.
        """
        for _ in range(_ATTEMPTS):
            own = _Interleaved[T](self.env, total, third_stays=third_stays, cancels=cancels)
            subscriber = self.subscribe(self.new_publisher(elements), own)
            reached = subscriber.interleave(line)
            if not subscriber.tracing_failed:
                break
            subscriber.cancel()
        return subscriber, reached


class _Interleaved(Watching[T]):
    """Requests or cancels on a second thread when its first request reaches a line.

    Args:
        total: the number of expected elements. The first request is for all of them if the second thread cancels.
        cancels: whether the second thread cancels.
        third_stays: the seconds that a third thread, which has requested before, stays inside on_next during both
            requests; 0 without a third thread.

    Attributes:
        third_returned_early: the third thread returned from on_next before the first request did.
        tracing_failed: the interpreter did not call the trace function, so the first request did not run. On a busy
            machine, CPython 3.11 sometimes calls another object instead.
    """

    def __init__(self, env: TestEnvironment, total: int, *, third_stays: float, cancels: bool) -> None:
        super().__init__(env, total)
        self._cancels = cancels
        self._third_stays = third_stays
        self.third_returned_early = False
        self._inside = Event()
        self._released = Event()
        self._second: Thread | None = None
        self._second_waits = Event()  # set when the second thread is inside on_next or has returned
        self._first_returned = Event()
        self.tracing_failed = False

    def interleave(self, line: int) -> bool:
        """Request on two threads; return whether the first request reached the line."""
        threads = [started("third", attempt, self.env, self.request, 1)] if self._third_stays else []
        if self._third_stays:
            self._inside.wait(self.env.timeout)
        threads.insert(0, started("first", self._request_first, line))
        for thread in threads:
            thread.join(10 * self.env.timeout)
            if self._second is not None:
                self._second.join(10 * self.env.timeout)
            self._released.set()
        if any(thread.is_alive() for thread in (*threads, self._second) if thread is not None):
            self.env.flop_and_fail("one of several concurrent calls of request did not return (rule 3.16)")
        return self._second is not None

    def on_next(self, element: T, /) -> None:
        with self._guard.during(f"on_next({named(element)})"):
            super().on_next(element)
            if self._third_stays and self.elements == 1:
                self._inside.set()
                linger(self._released, self._third_stays)
                self.third_returned_early = not self._released.is_set()
            elif current_thread() is self._second:
                self._second_waits.set()
                linger(self._first_returned, 5 * _BLOCKED)

    def _request_first(self, line: int) -> None:
        enter = _AtLine(line, self._start_second_call).enter
        sys.settrace(enter)
        try:
            attempt(self.env, self.request, self._total if self._cancels else 1)
        except Exception:
            self.tracing_failed = True
        finally:
            sys.settrace(None)
            self._first_returned.set()

    def _start_second_call(self) -> None:
        self._second = started("second", self._call_second)
        linger(self._second_waits, _BLOCKED)

    def _call_second(self) -> None:
        attempt(self.env, self.cancel if self._cancels else partial(self.request, 1))
        self._second_waits.set()


class _RequestsAtLine(Watching[T]):
    """Requests one element, and another at a later line of the Publisher's thread."""

    def __init__(self, env: TestEnvironment, line: int) -> None:
        super().__init__(env, total=1)
        self._at_line = _AtLine(line, self._reach)
        self._requester = current_thread()
        self._traced = False
        self._has_tracer = False
        self._reached = Event()
        self._requested = Event()
        self.place = ""  # the line, as text

    def request_two(self) -> tuple[bool, bool]:
        """Request twice.

        Returns whether the thread reached the line, and whether two elements arrived then.
        """
        self.request(1)
        self.receives_all()
        if self._has_tracer:
            raise Skipped("the thread is traced already")  # by a debugger, or to measure the coverage
        if self._traced:
            linger(self._reached, 5 * _BLOCKED)
        self._at_line.stop()
        if not self._reached.is_set():
            return False, True
        self.expect(2)
        return True, self.receives_all()

    def on_next(self, element: T, /) -> None:
        if self.elements == 0 and current_thread() is not self._requester:
            tracer = sys.gettrace()
            if tracer is None:
                self._traced = True
                self._at_line.trace_callers()
            else:  # the tests of two Publishers may share a thread
                self._has_tracer = not isinstance(getattr(tracer, "__self__", None), _AtLine)
        super().on_next(element)

    def _reach(self) -> None:
        self.place = callers()
        self._reached.set()
        started("second", self._request_second)
        linger(self._requested, _BLOCKED)  # the second thread may wait for a lock that this one holds

    def _request_second(self) -> None:
        self.act("request(1)", lambda own: own.request(1))
        self._requested.set()


class _AtLine:
    """Calls a function at the n-th line of the code under test on this thread."""

    def __init__(self, line: int, action: Callable[[], None]) -> None:
        self._left = line
        self._action = action
        self._callers: list[FrameType] = []

    def trace_callers(self) -> None:
        """Trace the functions that have called the current one, and those that they call."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not is_machinery(frame.f_code.co_filename):
                frame.f_trace = self._at
                self._callers.append(frame)
            frame = frame.f_back
        sys.settrace(self.enter)

    def stop(self) -> None:
        """Stop tracing on the traced thread at its next call.

        The functions of a long-lived thread would keep the action alive.
        """
        self._left = -1
        while self._callers:
            self._callers.pop().f_trace = None

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """Trace the calls of the code under test."""
        if self._left < 0:
            sys.settrace(None)
            return None
        return None if is_machinery(frame.f_code.co_filename) else self._at

    def _at(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._left -= 1
            if self._left == -1:
                sys.settrace(None)
                self._action()
        return self._at if self._left >= 0 else None
