"""Time-based sources: interval and timer."""

from __future__ import annotations

from pyrs._core.coordinator import Coordinator
from pyrs._core.operator import Operator
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.validation import Seconds, checked_seconds
from pyrs.api import Subscriber
from pyrs.errors import BufferOverflow
from pyrs.schedulers import Scheduler, checked_scheduler
from pyrs.schedulers.timer import waking_timer
from pyrs.stream.stream import Single, Stream

__all__ = ["interval", "timer"]


def interval(
    period: Seconds,
    initial: Seconds | None = None,
    *,
    overflow: Overflow | str = "error",
    scheduler: Scheduler | None = None,
) -> Stream[int]:
    """Return a stream of 0, 1, 2, ..., one number per period.

        interval(4)
        ----0---1---2---
        interval(4, initial=1)
        -0---1---2---

    Ticks do not wait for demand. ``overflow`` selects what happens to a tick without demand: ``"error"`` fails the
    stream with ``BufferOverflow``, ``"drop"`` drops its number, and ``"latest"`` keeps it until it is demanded or the
    next tick replaces it. Ticks do not drift: a late tick does not delay the next one.

    Args:
        period: the seconds between two ticks.
        initial: the seconds before the first tick; None for ``period``.
        overflow: ``"error"``, ``"drop"`` or ``"latest"``.
        scheduler: the scheduler that emits the ticks; None for that of ``schedulers.use``, else the default one.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: ``period`` is not greater than 0, ``initial`` is negative, one of them is not finite, or
            ``overflow`` has another value.

    Rules: 1.1.

    Examples:
        >>> interval(0.001).take(3).collect()
        [0, 1, 2]
    """
    every = checked_seconds(period, "period", positive=True)
    start = every if initial is None else checked_seconds(initial, "initial")
    strategy = checked_overflow(overflow, Overflow.ERROR, Overflow.DROP, Overflow.LATEST)
    return Stream(_Interval(f"interval({every:g})", every, start, strategy, scheduler))


def timer(seconds: Seconds, *, scheduler: Scheduler | None = None) -> Single[int]:
    """Return a stream that emits 0 after the given time, and completes.

        timer(4)
        ----0|

    The time starts with ``subscribe``. If there is no demand when it has passed, the element is emitted on demand.

    Args:
        seconds: the delay.
        scheduler: the scheduler that emits the element; None for that of ``schedulers.use``, else the default one.

    Raises:
        TypeError: ``seconds`` is not a duration, or ``scheduler`` is not a Scheduler.
        ValueError: ``seconds`` is negative or not finite.

    Examples:
        >>> timer(0.001).block()
        0
    """
    delay = checked_seconds(seconds, "seconds")
    return Single(_Interval(f"timer({delay:g})", None, delay, Overflow.LATEST, scheduler))


class _IntervalRun(Coordinator[int]):
    def __init__(self, subscriber: Subscriber[int], operator: _Interval) -> None:
        super().__init__(subscriber, operator)
        self._period = operator.period
        self._overflow = operator.overflow
        self._timer = waking_timer(self, operator.scheduler)
        self._first_due = self._timer.now() + operator.initial
        self._ticks = 0
        self._pending_tick: int | None = None

    def _begin(self) -> None:
        self._timer.set(self._first_due)

    def _requested_more(self, n: int) -> None:
        if self._overflow is Overflow.LATEST:
            self.wake()

    def _advance(self) -> None:
        if self._timer.claim():
            tick, self._ticks = self._ticks, self._ticks + 1
            if self._demand() > 0 or self._overflow is Overflow.LATEST:
                if self._pending_tick is not None:
                    self._discard(self._pending_tick)
                self._pending_tick = tick
            elif self._overflow is Overflow.ERROR:
                self._raised(
                    BufferOverflow(
                        f"tick {tick} was not demanded; overflow='drop' skips such ticks, 'latest' keeps one"
                    )
                )
                return
            else:
                self._discard(tick)
            if self._period is not None:
                # The deadline is a multiple of the period, because a sum would drift. It is set before the emission,
                # which may take long.
                self._timer.set(self._first_due + self._ticks * self._period)
        if self._pending_tick is not None and self._demand() > 0:
            tick, self._pending_tick = self._pending_tick, None
            self._emit(tick)
            if self._period is None:
                self._complete()


class _Interval(Operator[int]):
    run_type = _IntervalRun

    def __init__(
        self,
        call: str,
        period: float | None,
        initial: float,
        overflow: Overflow,
        scheduler: Scheduler | None,
    ) -> None:
        super().__init__(None, call)
        self.period = period  # None for a single tick
        self.initial = initial
        self.overflow = overflow
        self.scheduler = checked_scheduler(scheduler)
