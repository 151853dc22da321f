"""The grouping operators of a stream; what they do is in ``pyrs/operators``: buffering, windowing and grouping."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pyrs import operators
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.operators.splitting import Handle
    from pyrs.schedulers import Scheduler
    from pyrs.stream.grouped import GroupedStream
    from pyrs.stream.stream import Stream

__all__ = ["Grouping"]

T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


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

        Examples:
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
            return self._then(operators.buffering.BufferCount(count, skip))
        if skip is not None:
            raise TypeError("skip goes with count alone, not with seconds")
        return self._over(operators.buffering.BufferTime(self.source, count, seconds, prefetch, scheduler))

    @overload
    def window(self, count: int, *, skip: int | None = None) -> Stream[Stream[T_co]]: ...
    @overload
    def window(
        self,
        count: int | None = None,
        *,
        seconds: float | timedelta,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Stream[Stream[T_co]]: ...
    def window(
        self,
        count: int | None = None,
        *,
        skip: int | None = None,
        seconds: float | timedelta | None = None,
        prefetch: int = 256,
        scheduler: Scheduler | None = None,
    ) -> Stream[Stream[T_co]]:
        """Cut the stream in streams: of so many elements each, or of what comes in a time, or whichever is first.

            ---1---2---3---4---5---|
            window(2)
            ---o-------o-------o---|
               |       |       5---|
               |       3---4|
               1---2|

        As ``buffer``, but the elements can be read while they come. A window is emitted with its first element. It can
        be subscribed to once, at any time; a second Subscriber is given an error. An error of upstream ends the windows
        that are open, and then the stream of windows.

        By count, a demand for ``n`` windows requests ``n * count`` elements, whether the windows are read or not. A
        window that nobody reads holds its elements, ``count`` at most, until it is let go, and holds up nothing. With
        ``skip`` a window begins every so many elements; windows that overlap those demanded wait until they are
        demanded too.

        By time, a window is closed so many seconds after its first element, if the next one is demanded by then; else
        it stays open until that is, so that nothing is dropped. With a count, what a window has room for is requested.
        Without one, a window holds up to ``prefetch`` elements that were not read; after that upstream waits for
        whoever reads it, or for the next window. One that is cancelled drops its elements until it is closed.

        Whoever cancels the stream of windows still gets the rest of those that he was given: upstream is cancelled when
        the last of them was closed or cancelled. One that nobody has read and nobody holds any more counts as
        cancelled.

        Args:
            count: how many elements make a window.
            skip: after how many elements the next window begins; None for ``count``. Not together with ``seconds``.
            seconds: how long a window is open, from its first element on: a number or a timedelta.
            prefetch: by time alone, the most elements of a window that are held.
            scheduler: what the time is told by; see ``pyrs.schedulers``.

        Raises:
            TypeError: there is neither a count nor a time, or both ``skip`` and ``seconds``, or one of a wrong type.
            ValueError: one of them is less than 1, or the time is not positive and finite.

        Examples:
            >>> import pyrs
            >>> [window.collect() for window in pyrs.range(5).window(2).collect()]
            [[0, 1], [2, 3], [4]]
        """
        from pyrs.stream.stream import Stream

        if seconds is None:
            if count is None:
                raise TypeError("window needs a count, or seconds, or both")
            return self._over(operators.windowing.WindowCount(self.source, count, skip, Stream))
        if skip is not None:
            raise TypeError("skip goes with count alone, not with seconds")
        return self._over(operators.windowing.WindowTime(self.source, count, seconds, prefetch, scheduler, Stream))

    @overload
    def group_by(
        self, key: Callable[[T_co], K], *, prefetch: int = 256, max_groups: int = 256
    ) -> Stream[GroupedStream[K, T_co]]: ...
    @overload
    def group_by(
        self, key: Callable[[T_co], K], value: Callable[[T_co], V], *, prefetch: int = 256, max_groups: int = 256
    ) -> Stream[GroupedStream[K, V]]: ...
    def group_by(
        self,
        key: Callable[[T_co], Any],
        value: Callable[[T_co], Any] | None = None,
        *,
        prefetch: int = 256,
        max_groups: int = 256,
    ) -> Stream[GroupedStream[Any, Any]]:
        """Deal the elements out to streams, one for each key.

            ---1---2---3---4---|
            group_by(is_even)
            ---o---o-----------|
               |   2-------4---|
               1-------3-------|

        A group is emitted with its first element, and ends with the stream. It can be subscribed to once; a second
        Subscriber is given an error. Requests ``prefetch`` elements when it is subscribed to, and more as they are
        read.

        So it holds ``prefetch`` elements at most, all groups together: **a group that is not read holds up the others**
        when it has as many. Read all groups at once (``flat_map`` with a ``concurrency`` of at least as many as there
        are), or cancel those that you do not want. A group that was cancelled drops what it holds, and the next element
        of its key begins another. Nothing else is dropped.

        More groups at a time than ``max_groups`` end the stream with ``pyrs.errors.BufferOverflow``; it is as many
        as ``flat_map`` reads at once by default. An error of upstream or of a function ends the groups, and then the
        stream of groups. Whoever cancels the stream of groups still gets the rest of those that he was given: upstream
        is cancelled when the last of them was. A group that nobody has read and nobody holds any more keeps nothing
        alive and holds up nothing: it drops its elements, and its key is not begun again, but counts among
        ``max_groups``.

        Args:
            key: what an element is grouped by; it has to be hashable.
            value: what of an element goes to its group; None for the element itself.
            prefetch: the most elements that are held.
            max_groups: the most groups at a time.

        Raises:
            TypeError: a function cannot be called, or a number is not an integer.
            ValueError: a number is less than 1.

        Examples:
            >>> import pyrs
            >>> words = pyrs.just("to", "be", "not", "be")
            >>> groups = words.group_by(str).flat_map(lambda group: group.count().map(lambda n: (group.key, n)))
            >>> groups.collect()
            [('to', 1), ('be', 2), ('not', 1)]
        """
        from pyrs.stream.grouped import GroupedStream

        def wrap(handle: Handle) -> GroupedStream[Any, Any]:
            return GroupedStream(handle.part.key, handle)

        return self._over(operators.grouping.GroupBy(self.source, key, value, prefetch, max_groups, wrap))
