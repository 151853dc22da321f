"""Time-based operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import K_co, OfKind, OperatorFamily, R, T_co

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import Stream

    Seconds = float | timedelta


class Timing(OperatorFamily[T_co]):
    """Time-based operators.

    Each accepts a ``scheduler``: its clock measures time, and delayed signals are emitted on it. The default is the
    scheduler of ``with schedulers.use(...)`` around ``subscribe``, else the default pool. Durations are seconds or
    timedeltas. If the scheduler is closed, the stream fails with ``SchedulerClosed`` when it next needs a timer.
    """

    def sample(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Emit the latest element of each period.

            --1-2----3-4-5--------6-|
            sample(5)
            -----2----3----5--------6|    a period without an element emits none

        Requests unbounded demand and drops the other elements of a period without a report. An element whose period
        ends without demand waits until it is demanded, or the element of the next period replaces it, so at most two
        elements are buffered. On completion the latest element is emitted last; an error is emitted at once and
        discards the buffered elements.

        Args:
            seconds: the period. The first one starts with ``subscribe``.
            scheduler: see ``Timing``.

        Raises:
            TypeError: ``seconds`` is not a duration, or ``scheduler`` is not a Scheduler.
            ValueError: ``seconds`` is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).sample(60).collect()
            [99]
        """
        return self._over(operators.timing.Sample(self.source, seconds, scheduler))

    def throttle(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Emit an element, then drop all elements for the given time.

            --1-2----3-4-5----6-|
            throttle(5)
            --1------3--------6-|

        Requests one more element for each that is dropped. Drops are not reported. Buffers nothing and starts no timer.

        Args:
            seconds: the time after an emitted element during which elements are dropped.
            scheduler: the scheduler whose clock is used; see ``Timing``.

        Raises:
            TypeError: ``seconds`` is not a duration, or ``scheduler`` is not a Scheduler.
            ValueError: ``seconds`` is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).throttle(60).collect()
            [0]
        """
        return self._then(operators.timing.Throttle(seconds, scheduler))

    def throttle_latest(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Emit an element, then at most the latest element of each period.

            --1-2----3-4-5-----------6-|
            throttle_latest(5)
            --1----2----4----5-------6-|

        Like ``throttle``, but the latest element of a period is emitted when the period ends, and begins a new one.
        Requests unbounded demand and drops the other elements without a report. Without demand, an element that is due
        waits until it is demanded or the next due one replaces it, so at most two elements are buffered. On completion
        the latest element is emitted last; an error is emitted at once and discards the buffered elements.

        Args:
            seconds: the minimum time between two elements.
            scheduler: see ``Timing``.

        Raises:
            TypeError: ``seconds`` is not a duration, or ``scheduler`` is not a Scheduler.
            ValueError: ``seconds`` is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).throttle_latest(60).collect()
            [0, 99]
        """
        return self._over(operators.timing.ThrottleLatest(self.source, seconds, scheduler))

    def timestamp(self, *, scheduler: Scheduler | None = None) -> Stream[tuple[float, T_co]]:
        """Pair each element with the time at which it arrives.

            --a-----b---c---|
            timestamp()
            --(2,a)-(8,b)-(12,c)|

        Forwards demand unchanged. Buffers nothing. The time is that of the scheduler's monotonic clock, in seconds: its
        zero is arbitrary, and only differences are meaningful. For the time of day use ``map``.

        Args:
            scheduler: the scheduler whose clock is used; see ``Timing``.

        Raises:
            TypeError: ``scheduler`` is not a Scheduler.

        Examples:
            >>> import pyrs
            >>> from pyrs import schedulers
            >>> with schedulers.use(schedulers.VirtualTime()) as time:
            ...     _ = pyrs.interval(2).take(2).timestamp().subscribe(on_next=print)
            >>> _ = time.advance_by(4)
            (2.0, 0)
            (4.0, 1)
        """
        return self._then(operators.timing.Timestamp(scheduler))

    def elapsed(self, *, scheduler: Scheduler | None = None) -> Stream[tuple[float, T_co]]:
        """Pair each element with the time since the previous one.

            --a-----b---c---|
            elapsed()
            --(2,a)-(6,b)-(4,c)|

        The time of the first element counts from ``subscribe``, and includes the time that a source waits for demand.
        Forwards demand unchanged. Buffers nothing.

        Args:
            scheduler: the scheduler whose clock is used; see ``Timing``.

        Raises:
            TypeError: ``scheduler`` is not a Scheduler.

        Examples:
            >>> import pyrs
            >>> from pyrs import schedulers
            >>> with schedulers.use(schedulers.VirtualTime()) as time:
            ...     _ = pyrs.interval(2, initial=3).take(2).elapsed().subscribe(on_next=print)
            >>> _ = time.advance_by(5)
            (3.0, 0)
            (2.0, 1)
        """
        return self._then(operators.timing.Elapsed(scheduler))

    def debounce(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Emit an element when no other element follows it within the given time.

            --1-2-3-----------4-----|
            debounce(5)
            -----------3-----------4|

        Requests unbounded demand and drops an element without a report if another one follows too soon. Without demand,
        an element that is due waits until it is demanded or the next due one replaces it, so at most two elements are
        buffered. On completion the last element is emitted; an error is emitted at once and discards the buffered
        elements.

        Args:
            seconds: the time without a further element.
            scheduler: see ``Timing``.

        Raises:
            TypeError: ``seconds`` is not a duration, or ``scheduler`` is not a Scheduler.
            ValueError: ``seconds`` is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).debounce(60).collect()
            [99]
        """
        return self._over(operators.timing.Debounce(self.source, seconds, scheduler))

    def delay(self: OfKind[K_co], seconds: Seconds, *, prefetch: int = 256, scheduler: Scheduler | None = None) -> K_co:
        """Delay every signal: elements, completion and error, in order.

            --1-2---3|
            delay(4)
            ------1-2---3|

        Forwards demand, but buffers at most ``prefetch`` elements, which slows a faster source. Drops nothing.

        Args:
            seconds: the delay.
            prefetch: the maximum number of buffered elements. More are requested when 75 % are consumed.
            scheduler: the scheduler that emits the signals; see ``Timing``.

        Raises:
            TypeError: ``seconds`` is not a duration, ``prefetch`` is not an integer, or ``scheduler`` is not a
                Scheduler.
            ValueError: ``seconds`` is negative or not finite, or ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).delay(0.001).collect()
            [1, 2]
        """
        return self._kept(operators.timing.Delay(self.source, seconds, prefetch, scheduler))

    def delay_subscription(self: OfKind[K_co], seconds: Seconds, *, scheduler: Scheduler | None = None) -> K_co:
        """Delay the subscription to the source.

            --1-2---3|               after it is subscribed to
            delay_subscription(4)
            ------1-2---3|

        Earlier demand is forwarded after the delay. Buffers and drops nothing.

        Args:
            seconds: the delay.
            scheduler: the scheduler that subscribes; see ``Timing``.

        Raises:
            TypeError: ``seconds`` is not a duration, or ``scheduler`` is not a Scheduler.
            ValueError: ``seconds`` is negative or not finite.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).delay_subscription(0.001).collect()
            [1, 2]
        """
        return self._kept(operators.timing.DelaySubscription(self.source, seconds, scheduler))

    @overload
    def timeout(
        self: OfKind[K_co], seconds: Seconds, *, first: Seconds | None = None, scheduler: Scheduler | None = None
    ) -> K_co: ...
    @overload
    def timeout(
        self,
        seconds: Seconds,
        *,
        first: Seconds | None = ...,
        fallback: Publisher[R],
        scheduler: Scheduler | None = ...,
    ) -> Stream[T_co | R]: ...
    def timeout(
        self,
        seconds: Seconds,
        *,
        first: Seconds | None = None,
        fallback: Publisher[Any] | None = None,
        scheduler: Scheduler | None = None,
    ) -> Any:
        """Fail, or switch to a fallback, when the next signal does not arrive in time.

            --1-2-----------3---|
            timeout(5)
            --1-2----X                 a StreamTimeout, which is a TimeoutError
            timeout(5, fallback=letters)
            --1-2----a-b-|

        Forwards demand unchanged; buffers and drops nothing. A timeout cancels upstream. The clock starts with
        ``subscribe``, and restarts when the Subscriber returns from ``on_next``. It runs whether or not there is
        demand, so a Subscriber that requests late may cause a timeout.

        Args:
            seconds: the maximum time to the next signal.
            first: the maximum time to the first signal; None for ``seconds``.
            fallback: the Publisher to switch to, to which no timeout applies; it receives the remaining demand.
            scheduler: see ``Timing``.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``seconds`` or ``first`` is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.never().timeout(0.001, fallback=pyrs.just("too late")).collect()
            ['too late']
        """
        limited = operators.timing.Timeout(self.source, seconds, first, fallback, scheduler)
        return self._kept(limited) if fallback is None else self._over(limited)
