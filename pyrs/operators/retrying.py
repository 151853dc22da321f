"""retry, retry_when, repeat_when: subscribe to the source again; and Backoff."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.context import attach
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import name_of
from pyrs._core.inputs import CallbackInput
from pyrs._core.operator import Operator
from pyrs._core.sites import add_note
from pyrs._core.validation import checked_callable, checked_natural, checked_number, checked_publisher, checked_seconds
from pyrs.api import Publisher, Subscriber
from pyrs.operators.recovering import Kind, Selection
from pyrs.schedulers import Scheduler, checked_scheduler
from pyrs.schedulers.timer import Timer

if TYPE_CHECKING:
    from datetime import timedelta


class Backoff:
    """Exponentially growing delays with jitter.

    The jitter prevents clients from retrying simultaneously. The n-th delay is ``first * factor ** (n - 1)``, limited
    to ``most``, times a random factor between ``1 - jitter`` and ``1 + jitter``. The product is limited to ``most``,
    too. A Backoff is a value object: it can be shared, and two with equal arguments are equal.

    Args:
        first: the first delay, in seconds or as a timedelta.
        factor: the ratio of each delay to the previous one; 1 for constant delays.
        most: the maximum delay, in seconds or as a timedelta.
        jitter: the maximum relative deviation of a delay, from 0 to 1; 0 for exact delays.
        random: returns a number from 0 to 1; None for ``random.random``.

    Raises:
        TypeError: a number has the wrong type, or ``random`` is not callable.
        ValueError: a duration is negative or not finite, ``most`` is less than ``first``, ``factor`` is less than 1 or
            not finite, or ``jitter`` is not between 0 and 1.

    Examples:
        >>> backoff = Backoff(first=0.1, factor=2, most=0.5, jitter=0)
        >>> [backoff.delay(attempt) for attempt in (1, 2, 3, 4)]
        [0.1, 0.2, 0.4, 0.5]
    """

    def __init__(
        self,
        first: float | timedelta = 0.1,
        factor: float = 2.0,
        most: float | timedelta = 10.0,
        jitter: float = 0.5,
        *,
        random: Callable[[], float] | None = None,
    ) -> None:
        self._first = checked_seconds(first, "first")
        self._most = checked_seconds(most, "most")
        self._factor = checked_number(factor, "factor")
        self._jitter = checked_number(jitter, "jitter")
        self._random = random if random is None else checked_callable(random, "random")
        if self._most < self._first:
            raise ValueError(f"most must be at least {self._first}, the value of first, not {self._most}")
        if not 1.0 <= self._factor < inf:
            raise ValueError(f"factor must be finite and at least 1, not {self._factor}")
        if not 0.0 <= self._jitter <= 1.0:
            raise ValueError(f"jitter must be between 0 and 1, not {self._jitter}")

    def delay(self, attempt: int) -> float:
        """Return the delay in seconds after the given number of failed attempts.

        Raises:
            TypeError: ``attempt`` is not an integer.
            ValueError: ``attempt`` is less than 1.
        """
        attempt = checked_natural(attempt, "attempt", 1)
        try:
            seconds = self._first * self._factor ** (attempt - 1)
        except OverflowError:  # the power exceeds the range of a float, and therefore ``most``
            seconds = self._most if self._first else 0.0
        seconds = min(seconds, self._most)
        if self._jitter:
            from random import random  # a slow import that most programs do not need

            chosen = random() if self._random is None else self._random()
            seconds *= 1.0 + self._jitter * (2.0 * chosen - 1.0)
        return min(seconds, self._most)

    def _values(self) -> tuple[object, ...]:
        return (self._first, self._factor, self._most, self._jitter, self._random)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Backoff) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"Backoff(first={self._first}, factor={self._factor}, most={self._most}, jitter={self._jitter})"


class _RetryRun(SubscriptionArbiter[Any]):
    _operator: Retry

    def __init__(self, subscriber: Subscriber[Any], operator: Retry) -> None:
        super().__init__(subscriber, operator)
        self._attempts = 0
        self._timer = None if operator.backoff is None else Timer(operator.scheduler, self._begin, self._fail)

    def _begin(self) -> None:
        self._attempts += 1
        super()._begin()

    def _source_failed(self, error: BaseException) -> None:
        operator, attempts = self._operator, self._attempts
        exhausted = operator.times is not None and attempts > operator.times
        if exhausted or error not in operator.when:
            if attempts > 1:
                where = f", assembled at {operator.site}" if operator.site else ""
                add_note(error, f"after {attempts} attempts in {operator.call}{where}")
            self._fail(error)
        elif operator.backoff is None or self._timer is None:
            self._begin()
        else:
            delay = operator.backoff.delay(attempts)
            try:
                self._timer.set_after(delay)
            except RuntimeError as refused:  # the scheduler is closed
                raise refused from error


class Retry(Operator[Any]):
    """``retry(times, when=kind, backoff=...)``: subscribes again after an error."""

    run_type = _RetryRun

    def __init__(
        self,
        source: Publisher[Any],
        times: int | None,
        when: Kind,
        backoff: Backoff | None,
        scheduler: Scheduler | None,
    ) -> None:
        self.times = times if times is None else checked_natural(times, "times")
        self.when = Selection(when, "when")
        if not isinstance(backoff, (Backoff, type(None))):
            raise TypeError(f"backoff must be a Backoff, not {type(backoff).__name__}")
        self.backoff = backoff
        self.scheduler = checked_scheduler(scheduler)
        arguments = ("" if times is None else f", {times}") + self.when.argument("when")
        arguments += "" if backoff is None else f", backoff={backoff!r}"
        super().__init__(source, f"retry({arguments[2:]})")


class _RetryWhenRun(SubscriptionArbiter[Any]):
    """Pushes each outcome of the source to ``_outcomes``, and requests one signal.

    ``_outcomes`` is the stream that the user's function receives, and a signal is an element of the Publisher that the
    function returns. When a signal arrives, the run subscribes to the source again. A signal, or the end of the
    signals, has an effect only while no source is active, so that the downstream Subscriber is called serially (§1.3).
    """

    _operator: RetryWhen

    def __init__(self, subscriber: Subscriber[Any], operator: RetryWhen) -> None:
        super().__init__(subscriber, operator)
        self._outcomes = _Outcomes(f"the {operator.outcomes} of {operator.call}")
        self._signals = CallbackInput[Any](self, self._signalled, self._signals_ended)
        self._waiting = False  # an outcome was emitted and no signal has arrived; under the lock, like _signals.ended
        self._emitted_before = 0  # the number of elements of earlier subscriptions

    def _begin(self) -> None:
        signals = self._operator.function(self._operator.wrap(self._outcomes))
        attach(checked_publisher(signals, "the result of function"), self._signals)
        super()._begin()

    def _source_completed(self) -> None:
        if self._operator.repeats:
            emitted, self._emitted_before = self._emitted - self._emitted_before, self._emitted
            self._request_signal(emitted)
        else:
            self._complete()

    def _source_failed(self, error: BaseException) -> None:
        if self._operator.repeats or hooks.is_exit(error):
            self._fail(error)
        else:
            self._request_signal(error)

    def _request_signal(self, outcome: BaseException | int) -> None:
        with self._lock:
            ended = self._signals.ended
            self._waiting = not ended
        if ended:
            self._end_with(self._signals.take_error())
            return
        # The outcome is pushed first, because the Publisher of the signals may request it inside ``request``.
        self._outcomes.push(outcome)
        self._signals.request(1)

    def _signalled(self, signal: Any) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, False
        if waiting:
            self._outcomes.forget()
            super()._begin()
        self._discard(signal)

    def _signals_ended(self, error: BaseException | None) -> None:
        signals = self._signals
        signals.error = error
        with self._lock:
            waiting, self._waiting = self._waiting, False
            live, signals.ended = self._live, True
        if waiting or not live:
            self._end_with(signals.take_error())

    def _release(self) -> None:
        self._signals.cancel()  # reports an error that has not taken effect
        self._outcomes.end()


class RetryWhen(Operator[Any]):
    """``retry_when(function)``: subscribes again when another Publisher emits."""

    name, outcomes, repeats = "retry_when", "errors", False
    run_type = _RetryWhenRun

    def __init__(
        self,
        source: Publisher[Any],
        function: Callable[[Any], Publisher[Any]],
        wrap: Callable[[Publisher[Any]], Publisher[Any]],
    ) -> None:
        self.function = checked_callable(function, "function")
        self.wrap = wrap
        super().__init__(source, f"{self.name}({name_of(function)})")


class RepeatWhen(RetryWhen):
    """``repeat_when(function)``: like ``retry_when``, but after a completion."""

    name, outcomes, repeats = "repeat_when", "completions", True


class _OutcomesRun(Coordinator[Any]):
    _operator: _Outcomes

    def __init__(self, subscriber: Subscriber[Any], operator: _Outcomes) -> None:
        super().__init__(subscriber, operator)
        self.slot: deque[Any] = deque(maxlen=1)

    def _begin(self) -> None:
        self._operator.runs[self] = None

    def _advance(self) -> None:
        ended = self._operator.ended  # read first: if it is true, no outcome is added
        if self._demand():
            try:
                outcome = self.slot.popleft()
            except IndexError:
                pass
            else:
                self._emit(outcome)
        if ended and not self.slot:
            self._complete()

    def _release(self) -> None:
        self._operator.runs.pop(self, None)
        self.slot.clear()


class _Outcomes(Operator[Any]):
    """The stream of outcomes for the function of ``retry_when`` or ``repeat_when``.

    Each Subscriber receives an outcome on demand, until the signal that answers the outcome arrives.
    """

    run_type = _OutcomesRun

    def __init__(self, call: str) -> None:
        super().__init__(None, call)
        self.runs: dict[_OutcomesRun, None] = {}  # in the order of subscription; changed by any thread, so it is copied
        self.ended = False

    def push(self, outcome: BaseException | int) -> None:
        for run in self.runs.copy():
            run.slot.append(outcome)
            run.wake()

    def forget(self) -> None:
        """Remove the outcome, because its signal has arrived."""
        for run in self.runs.copy():
            run.slot.clear()

    def end(self) -> None:
        self.ended = True  # before the copy: a run that is added later reads it
        for run in self.runs.copy():
            run.wake()
