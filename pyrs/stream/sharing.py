"""Sharing operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from pyrs import operators
from pyrs._core.validation import checked_natural, checked_seconds
from pyrs.api import Publisher
from pyrs.stream.family import K_co, OfKind, OperatorFamily, T_co

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import ConnectableStream, Stream


class Sharing(OperatorFamily[T_co]):
    """Operators that share one subscription among several Subscribers."""

    def publish(self, prefetch: int = 256) -> ConnectableStream[T_co]:
        """Share one subscription, started by ``connect()``, among several Subscribers.

            ---1---2---3---|
            publish()
            ---1---2---3---|
                 --2---3---|    subscribed after the first element

        An element is emitted to all Subscribers when every one of them has demand, so the slowest Subscriber **slows**
        all. Requests and buffers up to ``prefetch`` elements ahead and replenishes at 75 %. Drops nothing: without a
        Subscriber nothing more is requested (Reactor drops elements until the first one subscribes). A later Subscriber
        receives new elements; one that subscribes after the terminal signal or a cancel waits for the next
        ``connect()``.

        An error is emitted to every Subscriber after the buffered elements. Without a Subscriber it is reported as
        dropped.

        Args:
            prefetch: the maximum number of buffered elements.

        Raises:
            TypeError: ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> numbers = pyrs.range(3).publish()
            >>> total = []
            >>> _ = numbers.subscribe(on_next=total.append)
            >>> _ = numbers.map(str).subscribe(on_next=total.append)
            >>> _ = numbers.connect()
            >>> total
            [0, '0', 1, '1', 2, '2']
        """
        return self._connectable(operators.sharing.Publish(self.source, "publish()", prefetch))

    def share(self) -> Stream[T_co]:
        """Share one subscription while there are Subscribers: ``publish().ref_count()``.

            ---1---2---3---|
            share()
            ---1---2---3---|
                 --2---3---|    subscribed after the first element

        The first Subscriber connects to the source, the cancel of the last one disconnects, and the next Subscriber
        connects again, also after the terminal signal. Demand is that of ``publish``: the slowest Subscriber **slows**
        all. A synchronous source may emit everything to the first Subscriber before a second one subscribes.

        Examples:
            >>> import pyrs
            >>> from pyrs import sinks
            >>> sink = sinks.multicast_best_effort()
            >>> shared = sink.stream.share()
            >>> one = shared.subscribe(on_next=lambda n: print("one", n))
            >>> two = shared.subscribe(on_next=lambda n: print("two", n))
            >>> sink.emit(1)
            one 1
            two 1
            >>> sink.subscriber_count
            1
        """
        return self._over(
            operators.sharing.RefCount(operators.sharing.Publish(self.source, "share()", 256), "", 1, None, None)
        )

    def replay(
        self,
        limit: int | None = None,
        seconds: float | timedelta | None = None,
        *,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> ConnectableStream[T_co]:
        """Share one subscription, and replay earlier elements to each new Subscriber.

            ---1---2---3---|
            replay(1)
            ---1---2---3---|
                     2-3---|    subscribed after the second element

        Starts on ``connect()``. Each Subscriber receives the history, new elements and the terminal signal, at its own
        pace.

        Without a limit, requests unbounded demand and keeps all elements: memory **grows**. With ``seconds`` only,
        keeps the elements of that time and those that the slowest Subscriber has not consumed. With a limit, keeps the
        last ``limit`` elements and those that the slowest Subscriber has not consumed, and requests at most
        ``prefetch`` elements ahead of that Subscriber, which **slows** all. Without Subscribers, the source continues.

        Elements older than ``seconds`` are not replayed. No timer removes them: they are released when the next element
        or Subscriber arrives. The last element is kept until another one follows it.

        Args:
            limit: the maximum number of replayed elements; None for no limit.
            seconds: the maximum age of a replayed element; None for no limit.
            prefetch: the maximum number of elements requested ahead of the slowest Subscriber. Ignored without a limit.
            scheduler: the scheduler whose clock measures ``seconds``; None for the current one.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``limit`` or ``prefetch`` is less than 1, or ``seconds`` is not positive and finite.

        Examples:
            >>> import pyrs
            >>> letters = pyrs.just("a", "b", "c").replay(2)
            >>> _ = letters.connect()
            >>> letters.collect()
            ['b', 'c']
        """
        return self._connectable(_replayed(self.source, "replay", limit, seconds, prefetch, scheduler))

    @overload
    def cache(self: OfKind[K_co], limit: int | None = None, seconds: None = None, *, prefetch: int = 256) -> K_co: ...
    @overload
    def cache(
        self,
        limit: int | None = None,
        seconds: float | timedelta | None = None,
        *,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Stream[T_co]: ...
    def cache(
        self,
        limit: int | None = None,
        seconds: float | timedelta | None = None,
        *,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Any:
        """Run the stream once and replay it to every Subscriber.

            ---1---2---3---|
            cache()
            ---1---2---3---|
                             123|    subscribed after completion

        Same as ``replay().auto_connect()``: the first Subscriber starts the source, which continues when all
        Subscribers have cancelled. Demand and memory are those of ``replay``: without a limit, memory **grows**. An
        error is replayed after the elements. The source is not started again: after ``seconds`` a new Subscriber of a
        completed stream receives completion without elements. To load a value periodically, use
        ``value.repeat_when(lambda counts: counts.delay(60)).replay(1).auto_connect()``.

        The arguments are those of ``replay``.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``limit`` or ``prefetch`` is less than 1, or ``seconds`` is not positive and finite.

        Examples:
            >>> import pyrs
            >>> loaded = pyrs.from_iterable(print(n) or n for n in (1, 2)).cache()
            >>> loaded.collect(), loaded.collect()
            1
            2
            ([1, 2], [1, 2])
        """
        shared = _replayed(self.source, "cache", limit, seconds, prefetch, scheduler)
        cached = operators.sharing.AutoConnect(shared, "", 1, None)
        return self._kept(cached) if seconds is None else self._over(cached)


def _replayed(
    source: Publisher[Any],
    name: str,
    limit: int | None,
    seconds: float | timedelta | None,
    prefetch: int,
    scheduler: Scheduler | None,
) -> operators.sharing.Replay:
    from pyrs.schedulers import checked_scheduler  # loads threads, which most programs do not need

    history = None if limit is None else checked_natural(limit, "limit", 1)
    age = None if seconds is None else checked_seconds(seconds, "seconds", positive=True)
    given = [] if history is None else [str(history)]
    given += [] if age is None else [f"seconds={age:g}"]
    call = f"{name}({', '.join(given)})"
    return operators.sharing.Replay(source, call, history, age, prefetch, checked_scheduler(scheduler))
