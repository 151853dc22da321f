"""The timing operators of a stream; what they do is in ``pyrs/operators/timing.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import Stream

    Seconds = float | timedelta

__all__ = ["Timing"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Timing(Family[T_co]):
    """Operators on time.

    Each takes a ``scheduler``: its clock counts, and signals that wait for a time come from it. Without one it is that
    of ``with schedulers.use(...)`` around ``subscribe``, else the default pool. Durations are seconds or timedeltas. A
    scheduler that is closed meanwhile fails the stream with ``SchedulerClosed`` when a timer is needed again.
    """

    __slots__ = ()

    def sample(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Let the latest element of each period pass: throttling by the last one.

            --1-2----3-4-5--------6-|
            sample(5)
            -----2----5----------6|       a period without an element gives none

        Requests everything and drops all but the latest element of a period: drops are its job, and no hook hears of
        them. Without demand at the end of a period its element waits, until that of the next one takes its place. The
        element that is held when the stream completes is the last one; an error waits for no demand, and drops it.

        Args:
            seconds: the period. The first begins with ``subscribe``.
            scheduler: see ``Timing``.

        Raises:
            TypeError: seconds is no duration, or the scheduler none.
            ValueError: seconds is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).sample(60).collect()
            [99]
        """
        return self._over(operators.timing.Sample(self.source, seconds, scheduler))

    def throttle(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Let an element pass, and then none for so long: throttling by the first one.

            --1-2----3-4-5----6-|
            throttle(5)
            --1------3--------6-|

        Counts what passes: one more is requested for each element that is dropped. Drops are its job, and no hook hears
        of them. It only reads the clock: nothing waits, and nothing is late.

        Args:
            seconds: for so long nothing passes after an element did.
            scheduler: whose clock counts; see ``Timing``.

        Raises:
            TypeError: seconds is no duration, or the scheduler none.
            ValueError: seconds is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).throttle(60).collect()
            [0]
        """
        return self._then(operators.timing.Throttle(seconds, scheduler))

    def debounce(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Let an element pass when no other has followed it for so long.

            --1-2-3-----------4-----|
            debounce(5)
            -----------3-----------4|

        Requests everything, and drops each element that another one follows too soon: drops are its job, and no hook
        hears of them. Without demand an element whose time has come waits, until another one takes its place. The last
        element passes when the stream completes; an error waits for no demand, and drops what was not signalled.

        Args:
            seconds: how long it has to be quiet.
            scheduler: see ``Timing``.

        Raises:
            TypeError: seconds is no duration, or the scheduler none.
            ValueError: seconds is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.range(100).debounce(60).collect()
            [99]
        """
        return self._over(operators.timing.Debounce(self.source, seconds, scheduler))

    def delay(self, seconds: Seconds, *, prefetch: int = 256, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Shift every signal by so long: elements, the end, and an error, all in their order.

            --1-2---3|
            delay(4)
            ------1-2---3|

        What was demanded is asked for and held until its time comes, ``prefetch`` elements at most: a source that gives
        more than that in the time of the delay is slowed. Nothing is dropped.

        Args:
            seconds: by how much.
            prefetch: the most elements that are held; more are asked for when three quarters were handed on.
            scheduler: where the signals come from; see ``Timing``.

        Raises:
            TypeError: seconds is no duration, or the scheduler none.
            ValueError: seconds is negative or not finite, or prefetch less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).delay(0.001).collect()
            [1, 2]
        """
        return self._over(operators.timing.Delay(self.source, seconds, prefetch, scheduler))

    def delay_subscription(self, seconds: Seconds, *, scheduler: Scheduler | None = None) -> Stream[T_co]:
        """Subscribe to what is before this operator so much later.

            --1-2---3|               from when it is subscribed to
            delay_subscription(4)
            ------1-2---3|

        Demand is kept until then, and handed on as it is. Nothing is held or dropped.

        Args:
            seconds: how long it waits.
            scheduler: where it subscribes; see ``Timing``.

        Raises:
            TypeError: seconds is no duration, or the scheduler none.
            ValueError: seconds is negative or not finite.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).delay_subscription(0.001).collect()
            [1, 2]
        """
        return self._over(operators.timing.DelaySubscription(self.source, seconds, scheduler))

    def timeout(
        self,
        seconds: Seconds,
        *,
        first: Seconds | None = None,
        fallback: Publisher[R] | None = None,
        scheduler: Scheduler | None = None,
    ) -> Stream[T_co | R]:
        """Fail, or go on with another stream, when the next element or the end does not come in time.

            --1-2-----------3---|
            timeout(5)
            --1-2----X                 a StreamTimeout, which is a TimeoutError
            timeout(5, fallback=letters)
            --1-2----a-b-|

        Demand is handed on as it is, and nothing is held or dropped. Upstream is cancelled when the time is over. The
        clock starts with ``subscribe``, and again when the Subscriber has dealt with an element; it runs whether or
        not more is demanded, so a Subscriber that asks late may see a timeout. One timer serves all elements.

        Args:
            seconds: how long an element may take.
            first: how long the first one may take; ``seconds`` when None.
            fallback: subscribed to in place of the error, without a timeout, for what is still demanded.
            scheduler: see ``Timing``.

        Raises:
            TypeError: seconds or first is no duration, the fallback no Publisher, or the scheduler none.
            ValueError: seconds or first is not finite and greater than 0.

        Examples:
            >>> import pyrs
            >>> pyrs.never().timeout(0.001, fallback=pyrs.just("nothing came")).collect()
            ['nothing came']
        """
        return self._over(operators.timing.Timeout(self.source, seconds, first, fallback, scheduler))
