"""Scheduling operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrs import operators
from pyrs.stream.family import K_co, OfKind, OperatorFamily, T_co

if TYPE_CHECKING:
    from pyrs.schedulers import Scheduler
    from pyrs.stream.parallel import ParallelStream


class Scheduling(OperatorFamily[T_co]):
    """Operators that change the threads on which signals or requests run."""

    def publish_on(self: OfKind[K_co], scheduler: Scheduler, prefetch: int = 256) -> K_co:
        """Emit all signals on the scheduler.

            ---1---2---3---|     on the source's thread
            publish_on(schedulers.single())
            ----1---2---3---|    on the scheduler's

        Requests ``prefetch`` elements, buffers them in a queue, and replenishes from the scheduler's thread at 75 %: a
        slow Subscriber slows the source, and nothing is dropped. Order is preserved; a terminal signal follows the
        buffered elements. After 256 elements or more, other tasks of the scheduler get the thread.

        A pulled source, such as an iterable, runs on the thread that requests: the first ``prefetch`` elements are
        pulled on the subscribing thread and later ones on the scheduler, where each element is emitted at once. Use
        ``subscribe_on`` to run all of it on the scheduler. ``on_subscribe`` runs on the subscribing thread.

        If the scheduler is closed, the stream fails with ``SchedulerClosed`` on the thread that detects it. The same
        applies if a closed asyncio loop discards a task of the stream. The buffered elements are reported to the
        dropped-elements hook.

        Args:
            scheduler: runs ``on_next``, ``on_error`` and ``on_complete``, one at a time. The caller closes it.
            prefetch: the maximum number of buffered elements.

        Raises:
            TypeError: ``scheduler`` is not a Scheduler, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

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
        return self._kept(operators.scheduling.PublishOn(self.source, scheduler, prefetch))

    def subscribe_on(self: OfKind[K_co], scheduler: Scheduler) -> K_co:
        """Subscribe to the source, and request from it, on the scheduler.

            subscribe, request(n)                on any thread
            subscribe_on(schedulers.pool())
            subscribe, request(n) ---1---2---|   on the scheduler's

        A pulled source, and the functions between it and this operator, run on the scheduler, and signals are emitted
        there. A source with its own thread still emits on that thread; use ``publish_on`` to move its signals. Forwards
        demand unchanged; buffers and drops nothing. A request inside ``on_next`` on the scheduler is served by the
        running task. ``on_subscribe`` runs on the subscribing thread, and a cancel on the thread that cancels.

        If the source is not pulled, demand is forwarded on the requesting thread while ``subscribe`` runs, so that the
        function of ``create`` may emit for any length of time. Demand for ``create`` is forwarded there afterwards,
        too, because any thread may push the next element at once.

        A pulled source occupies the scheduler until the demand is met: do not run a long one on an asyncio loop.

        If the scheduler is closed, the stream fails with ``SchedulerClosed`` at ``subscribe`` or at the next request.

        Args:
            scheduler: runs ``subscribe`` and ``request``, one at a time. The caller closes it.

        Raises:
            TypeError: ``scheduler`` is not a Scheduler.

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
        return self._kept(operators.scheduling.SubscribeOn(self.source, scheduler))

    def parallel(self, rails: int) -> ParallelStream[T_co]:
        """Distribute the elements over rails, which process them concurrently.

            ---1---2---3---4---|
            parallel(2).run_on(pool).map(slow).sequential()
            ------1--2----4--3-|

        The rails with outstanding demand receive elements in turn, so a slow rail receives fewer. Requests the sum of
        the demand of the rails; ``run_on`` and ``sequential`` limit the demand of each rail to their ``prefetch``. If a
        rail is cancelled, the elements that were requested for it wait until another rail has demand; nothing else is
        buffered. The order across the rails is lost; ``flat_map_sequential`` preserves it.

        **Python runs one thread at a time under the GIL.** Rails on a pool help for blocking I/O and for functions that
        release the GIL. They do not speed up computations in Python. For coroutine functions use
        ``map(function, concurrency=8)``, which needs no threads.

        Args:
            rails: the number of rails, at most 65,536.

        Returns:
            A ``ParallelStream``. Its ``run_on``, ``map``, ``filter``, ``flat_map``, ``concat_map``, ``do_on_next``,
            ``reduce`` and ``transform_rails`` apply to each rail; ``sequential`` returns a Stream again.

        Raises:
            TypeError: ``rails`` is not an integer.
            ValueError: ``rails`` is less than 1 or greater than 65,536.

        Rules: 1.1, 1.3, 2.1, 2.8.

        Examples:
            >>> import pyrs
            >>> from pyrs import schedulers
            >>> pool = schedulers.pool(4)
            >>> pages = pyrs.just("a", "b").parallel(4).run_on(pool).map(str.upper).sequential()
            >>> sorted(pages.collect())
            ['A', 'B']
            >>> pool.close()
            True
        """
        from pyrs.stream.parallel import ParallelStream  # most programs do not use it

        return ParallelStream(operators.parallel.Rails(self.source, rails, self._over), self._over)
