"""The scheduling operators of a stream; what they do is in ``pyrs/operators/scheduling.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyrs import operators
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import Stream

__all__ = ["Scheduling"]

T_co = TypeVar("T_co", covariant=True)


class Scheduling(Family[T_co]):
    """Operators that change the thread."""

    __slots__ = ()

    def publish_on(self, scheduler: Scheduler, prefetch: int = 256) -> Stream[T_co]:
        """Signal everything behind this operator on the scheduler.

            ---1---2---3---|     on the source's thread
            publish_on(schedulers.single())
            ----1---2---3---|    on the scheduler's

        Requests ``prefetch`` elements, holds them in a queue, and requests more from the scheduler's thread when three
        quarters were taken: a slow Subscriber slows the source, and nothing is dropped. Elements keep their order,
        and an error or the end comes after them. After 256 elements other tasks get the thread in between.

        A source that is pulled, such as an iterable, runs on whichever thread requests: the first ``prefetch`` elements
        are pulled where you subscribe, the others on the scheduler, where each goes to the Subscriber as soon as it is
        there. With ``subscribe_on`` all of it runs on the scheduler. ``on_subscribe`` comes on the subscribing thread.

        Args:
            scheduler: where ``on_next``, ``on_error`` and ``on_complete`` run, one at a time. It stays yours to close.
            prefetch: the most elements that are held.

        Raises:
            TypeError: the scheduler is none.
            ValueError: prefetch is less than 1.

        A scheduler that is closed meanwhile fails the stream with ``SchedulerClosed``, on the thread that noticed; what
        was held then goes to the hook for dropped elements. An asyncio loop that is closed takes the tasks that wait
        in it along, and the stream falls silent with it.

        Rules: 1.3, 1.7, 2.2, 3.4.

        Examples:
            >>> import pyrs, threading
            >>> from pyrs import schedulers
            >>> work = schedulers.single("work")
            >>> names = pyrs.range(2).publish_on(work).map(lambda n: threading.current_thread().name).collect()
            >>> {name.rpartition("-")[0] for name in names}
            {'pyrs-work'}
            >>> work.close()
            True
        """
        return self._over(operators.scheduling.PublishOn(self.source, scheduler, prefetch))

    def subscribe_on(self, scheduler: Scheduler) -> Stream[T_co]:
        """Subscribe to what is before this operator, and request from it, on the scheduler.

            subscribe, request(n)                on any thread
            subscribe_on(schedulers.pool())
            subscribe, request(n) ---1---2---|   on the scheduler's

        A source that is pulled, and every function before this operator, runs on the scheduler then, and its signals
        come from there. A source with a thread of its own still signals on that; ``publish_on`` moves signals.
        Demand is handed on as it is; nothing is held or dropped. A request from inside ``on_next`` of a source that
        runs on the scheduler takes no task. A cancel is not moved. ``on_subscribe`` comes on the subscribing
        thread. Where ``create`` is before this operator, its function runs on the scheduler and demand reaches it at
        once, from whichever thread requests: it may push for as long as it likes. The same holds for any other source
        that is not pulled, while its ``subscribe`` runs.

        Do not pull a long or slow source on an asyncio loop: it holds the loop until the demand is met.

        Args:
            scheduler: where it subscribes and requests, one at a time. It stays yours to close.

        Raises:
            TypeError: the scheduler is none.

        A scheduler that is closed meanwhile fails the stream with ``SchedulerClosed`` at the next request.

        Rules: 1.3, 1.7, 3.4.

        Examples:
            >>> import pyrs
            >>> from pyrs import schedulers
            >>> work = schedulers.single()
            >>> pyrs.range(3).subscribe_on(work).map(str).collect()
            ['0', '1', '2']
            >>> work.close()
            True
        """
        return self._over(operators.scheduling.SubscribeOn(self.source, scheduler))
