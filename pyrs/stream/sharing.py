"""The sharing operators of a stream; what they do is in ``pyrs/operators/sharing.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyrs import operators
from pyrs._core.validation import checked_natural, checked_seconds
from pyrs.schedulers import checked_scheduler
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.schedulers import Scheduler
    from pyrs.stream.connectable import ConnectableStream
    from pyrs.stream.stream import Stream

__all__ = ["Sharing"]

T_co = TypeVar("T_co", covariant=True)


class Sharing(Family[T_co]):
    """Operators that let several Subscribers share one subscription."""

    __slots__ = ()

    def publish(self, prefetch: int = 256) -> ConnectableStream[T_co]:
        """Let several Subscribers share one subscription, which begins with ``connect()``.

            ---1---2---3---|
            publish()
            ---1---2---3---|
                 --2---3---|    who came after the first element

        All Subscribers get the same elements at the same time: an element goes out when every one of them has demand,
        so the slowest **slows** all. Up to ``prefetch`` elements are requested ahead and held. Nothing is dropped:
        without a Subscriber the source is asked for no more. (Reactor's drops until the first one comes.) One that
        comes later gets what goes out from then on; one that comes after the end, or after the connection was
        cancelled, waits for the next ``connect()``.

        An error reaches every Subscriber after what is held; where there is none, the hook for dropped errors is told.

        Args:
            prefetch: the most elements held; again requested when three quarters have gone out.

        Raises:
            TypeError: the prefetch is not an integer.
            ValueError: it is less than 1.

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
        return _connectable(operators.sharing.Publish(self.source, "publish()", prefetch))

    def share(self) -> Stream[T_co]:
        """Share one subscription as long as there is a Subscriber: ``publish().ref_count()``.

            ---1---2---3---|
            share()
            ---1---2---3---|
                 --2---3---|    who came after the first element

        The first Subscriber subscribes to the source, the last one that cancels cancels it, and the next one begins
        anew, also after the end. Demand is that of ``publish``: the slowest Subscriber **slows** all. Over a
        synchronous source the first Subscriber may have had everything before the second comes.

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
        from pyrs.stream.stream import Stream

        return Stream(
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
        """Share one subscription, and give each Subscriber first what came before it.

            ---1---2---3---|
            replay(1)
            ---1---2---3---|
                     2-3---|    who came after the second element

        It begins with ``connect()``. Each Subscriber gets the history, then what comes, at its own pace, then the end;
        also one that comes after the end.

        Without a limit it **grows**: everything is requested and kept. With one it holds the last ``limit`` elements,
        and what slower Subscribers have not taken: the source is asked for at most ``prefetch`` elements ahead of the
        slowest, who so **slows** all. Without a Subscriber it goes on, and the history moves on.

        No timer looks after ``seconds``: nobody is given what is too old, but it is let go of when the next element or
        Subscriber comes, and the last element when another follows it.

        Args:
            limit: the most elements of the history, None for all.
            seconds: how long an element belongs to the history, None for ever.
            prefetch: how far the source may be ahead of the slowest Subscriber. Without a limit it means nothing.
            scheduler: whose clock ``seconds`` goes by; the current one when None.

        Raises:
            TypeError: an argument is not what it should be.
            ValueError: the limit or the prefetch is less than 1, or the seconds are not positive and finite.

        Examples:
            >>> import pyrs
            >>> letters = pyrs.just("a", "b", "c").replay(2)
            >>> _ = letters.connect()
            >>> letters.collect()
            ['b', 'c']
        """
        return _connectable(self._replayed("replay", limit, seconds, prefetch, scheduler))

    def cache(
        self,
        limit: int | None = None,
        seconds: float | timedelta | None = None,
        *,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Stream[T_co]:
        """Run the stream once, for the first Subscriber, and give later ones what it gave: ``replay().auto_connect()``.

            ---1---2---3---|
            cache()
            ---1---2---3---|
                             123|    who came after the end

        Demand and memory are those of ``replay``: without a limit it **grows**. It goes on when all have cancelled. An
        error is kept as well: later Subscribers get it after the elements.

        Args:
            limit: the most elements kept, None for all.
            seconds: how long an element is given to those who come, as by ``replay``; None for ever.
            prefetch: how far the source may be ahead of the slowest Subscriber. Without a limit it means nothing.
            scheduler: whose clock ``seconds`` goes by; the current one when None.

        Raises:
            TypeError: an argument is not what it should be.
            ValueError: the limit or the prefetch is less than 1, or the seconds are not positive and finite.

        Examples:
            >>> import pyrs
            >>> loaded = pyrs.from_iterable(print(n) or n for n in (1, 2)).cache()
            >>> loaded.collect(), loaded.collect()
            1
            2
            ([1, 2], [1, 2])
        """
        from pyrs.stream.stream import Stream

        return Stream(
            operators.sharing.AutoConnect(self._replayed("cache", limit, seconds, prefetch, scheduler), "", 1, None)
        )

    def _replayed(
        self,
        name: str,
        limit: int | None,
        seconds: float | timedelta | None,
        prefetch: int,
        scheduler: Scheduler | None,
    ) -> operators.sharing.Replay:
        history = None if limit is None else checked_natural(limit, "limit", 1)
        age = None if seconds is None else checked_seconds(seconds, "seconds", positive=True)
        given = [] if history is None else [str(history)]
        given += [] if age is None else [f"seconds={age:g}"]
        call = f"{name}({', '.join(given)})"
        return operators.sharing.Replay(self.source, call, history, age, prefetch, checked_scheduler(scheduler))


def _connectable(shared: operators.sharing.Shared) -> ConnectableStream[T_co]:
    from pyrs.stream.connectable import ConnectableStream  # which is a Stream, so neither module can come first

    return ConnectableStream(shared)
