"""The grouping operators of a stream; what they do is in ``pyrs/operators/buffering.py`` and ``grouping.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, overload

from pyrs.operators import buffering
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import Stream

__all__ = ["Grouping"]

T_co = TypeVar("T_co", covariant=True)


class Grouping(Family[T_co]):
    """Operators that gather elements in lists, windows or groups."""

    __slots__ = ()

    @overload
    def buffer(self, count: int, *, skip: int | None = None) -> Stream[list[T_co]]: ...
    @overload
    def buffer(
        self,
        count: int | None = None,
        *,
        seconds: float | timedelta,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Stream[list[T_co]]: ...
    def buffer(
        self,
        count: int | None = None,
        *,
        skip: int | None = None,
        seconds: float | timedelta | None = None,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Stream[list[T_co]]:
        """Gather elements in lists: so many, or what comes in a time, or whichever is reached first.

        ::

            ---1---2---3---4---5---|
            buffer(2)
            -------[1,2]---[3,4]---[5]|

            ---1-2------3----------|
            buffer(seconds=...)
            --------[1,2]----[3]---|

        The last list is what was there at the end. At an error that is emitted too, when it is demanded, and then the
        error: nothing is dropped.

        By count, a demand for ``n`` lists requests ``n * count`` elements. With ``skip`` a list begins every so many
        elements: fewer than ``count`` make lists that overlap, of which the last ones are shorter; more leave out those
        in between.

        By time, a list begins with its first element, so that none is empty, and is due so many seconds later. A list
        that is due and not demanded goes on filling until it is. Held while nothing is demanded: up to ``count`` and as
        many as are prefetched, or without a count the prefetched ones alone; after that upstream waits. While a list is
        demanded, and there is no count, it grows with what comes in that time.

        Args:
            count: how many elements make a list.
            skip: after how many elements the next list begins; None for ``count``. Not together with ``seconds``.
            seconds: how long a list is filled, from its first element on: a number or a timedelta.
            prefetch: by time, the most elements that are requested ahead; never more than ``count``.
            scheduler: what the time is told by; see ``pyrs.schedulers``.

        Raises:
            TypeError: there is neither a count nor a time, or both ``skip`` and ``seconds``, or one of a wrong type.
            ValueError: one of them is less than 1, or the time is not positive and finite.

        Example:
            >>> import pyrs
            >>> pyrs.range(5).buffer(2).collect()
            [[0, 1], [2, 3], [4]]
            >>> pyrs.range(5).buffer(2, skip=3).collect()
            [[0, 1], [3, 4]]
            >>> pyrs.range(5).buffer(3, seconds=60).collect()
            [[0, 1, 2], [3, 4]]
        """
        if seconds is None:
            if count is None:
                raise TypeError("buffer needs a count, or seconds, or both")
            return self._then(buffering.BufferCount(count, skip))
        if skip is not None:
            raise TypeError("skip goes with count alone, not with seconds")
        return self._over(buffering.BufferTime(self.source, count, seconds, prefetch, scheduler))
