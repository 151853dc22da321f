"""Grouping operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import K, OperatorFamily, R, T_co, V

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.operators.splitting import PartHandle
    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import GroupedStream, Stream


class Grouping(OperatorFamily[T_co]):
    """Operators that collect elements into lists, windows or groups."""

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
        """Collect elements into lists, by count, by time, or by whichever comes first.

            ---1---2---3---4---5---|
            buffer(2)
            -------[1,2]---[3,4]---[5]|

            ---1-2------3----------|
            buffer(seconds=...)
            --------[1,2]----[3]---|

        When upstream completes or fails, the incomplete list is emitted, on demand, before the terminal signal.

        By count, demand for ``n`` lists requests ``n * count`` elements. With ``skip``, a list starts every ``skip``
        elements, and the first ``n`` lists need ``(n - 1) * skip + count`` elements. Lists overlap if ``skip`` is less
        than ``count`` (the last lists are then shorter); elements between lists are dropped if it is greater.

        By time, a list starts with its first element, so no list is empty, and is due ``seconds`` later. A list that is
        due but not demanded continues to fill. Without demand, the operator buffers up to ``count`` elements plus the
        prefetched ones, or without a count only the prefetched ones; after that upstream is slowed. While a list is
        demanded and there is no count, the list grows with the elements that arrive in ``seconds``.

        Args:
            count: the number of elements per list.
            skip: the number of elements between the starts of two lists; None for ``count``. Not with ``seconds``.
            seconds: the maximum time from the first element of a list until the list is due: a number or a timedelta.
            prefetch: by time, the maximum number of elements requested ahead; never more than ``count``.
            scheduler: the scheduler whose clock measures ``seconds``; see ``pyrs.schedulers``.

        Raises:
            TypeError: neither ``count`` nor ``seconds`` is given, both ``skip`` and ``seconds`` are, or an argument has
                the wrong type.
            ValueError: ``count``, ``skip`` or ``prefetch`` is less than 1, or ``seconds`` is not positive and finite.

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
                raise TypeError("buffer requires count, seconds, or both")
            return self._then(operators.buffering.BufferCount(count, skip))
        if skip is not None:
            raise TypeError("skip cannot be combined with seconds; use count and skip")
        return self._over(operators.buffering.BufferTime(self.source, count, seconds, prefetch, scheduler))

    def buffer_until(self, predicate: Callable[[T_co], object], *, cut_before: bool = False) -> Stream[list[T_co]]:
        """Collect elements into lists that a predicate delimits.

            ---1---2---3---4---5---6---|
            buffer_until(lambda n: n % 3 == 0)
            -----------[1,2,3]-----[4,5,6]|

        By default, each element for which the predicate is true is the last of its list. Forwards demand, and requests
        one more element for each that ends no list. **A list grows** until the predicate is true. When upstream
        completes or fails, the incomplete list is emitted, on demand, before the terminal signal. If the predicate
        raises, the stream fails with that error.

        Args:
            predicate: called with each element.
            cut_before: whether such an element begins the next list instead.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(1, 8).buffer_until(lambda n: n % 3 == 0).collect()
            [[1, 2, 3], [4, 5, 6], [7]]
            >>> pyrs.range(1, 8).buffer_until(lambda n: n % 3 == 0, cut_before=True).collect()
            [[1, 2], [3, 4, 5], [6, 7]]
        """
        return self._then(operators.buffering.BufferBy(*operators.buffering.until(predicate, cut_before)))

    def buffer_while(self, predicate: Callable[[T_co], object]) -> Stream[list[T_co]]:
        """Collect consecutive elements that a predicate accepts into lists.

            ---1---2---0---3---0---|
            buffer_while(bool)
            -----------[1,2]---[3]-|

        The predicate is true for the elements of a list. The other elements are dropped. Forwards demand, and requests
        one more element for each that ends no list. **A list grows** while the predicate is true; no list is empty.
        When upstream completes or fails, the incomplete list is emitted, on demand, before the terminal signal. If the
        predicate raises, the stream fails with that error.

        Args:
            predicate: called with each element.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 0, 0, 3).buffer_while(bool).collect()
            [[1, 2], [3]]
        """
        return self._then(operators.buffering.BufferBy(*operators.buffering.during(predicate)))

    def buffer_until_changed(self, key: Callable[[T_co], Any] | None = None) -> Stream[list[T_co]]:
        """Collect consecutive equal elements into lists, like ``itertools.groupby``.

            ---1---1---2---2---1---|
            buffer_until_changed()
            -----------[1,1]---[2,2]-[1]|

        Forwards demand, and requests one more element for each that ends no list. **A list grows** until the key
        changes. When upstream completes or fails, the incomplete list is emitted, on demand, before the terminal
        signal. If ``key`` raises, the stream fails with that error.

        Args:
            key: returns the value to compare; None for the element.

        Raises:
            TypeError: ``key`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "A", "b", "a").buffer_until_changed(str.lower).collect()
            [['a', 'A'], ['b'], ['a']]
        """
        return self._then(operators.buffering.BufferBy(*operators.buffering.until_changed(key)))

    def buffer_when(
        self, openings: Publisher[R], closing: Callable[[R], Publisher[Any]], *, prefetch: int = 256
    ) -> Stream[list[T_co]]:
        """Collect elements into lists that other streams open and close.

            -1---2---3---4---5---|
            ---o-------o---------|
            buffer_when(openings, lambda _: a stream that emits later)
            -----------[2,3]---[4,5]|

        An element of ``openings`` opens a list, and ``closing`` is called with that element. The first element or the
        completion of the returned stream closes the list, which is emitted even if it is empty. Lists may overlap.
        Elements outside of a list are dropped and not reported. Requests one opening for each demanded list, and
        ``prefetch`` elements of this stream, and more when 75 % are consumed. **A list grows** until it is closed;
        without an open list nothing is buffered.

        When this stream completes, the open lists are emitted. The stream also completes when ``openings`` has
        completed and all lists are closed. An error of any of the streams fails the stream at once.

        Args:
            openings: its elements open lists.
            closing: called with such an element; returns a Publisher.
            prefetch: the maximum number of elements requested ahead.

        Raises:
            TypeError: ``openings`` is not a Publisher, ``closing`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.range(4).delay_subscription(0.01).buffer_when(pyrs.just("open"), lambda _: pyrs.never()).collect()
            [[0, 1, 2, 3]]
        """
        return self._over(operators.toggling.BufferWhen(self.source, openings, closing, prefetch))

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
        """Split the stream into inner streams, by count, by time, or both.

            ---1---2---3---4---5---|
            window(2)
            ---o-------o-------o---|
               |       |       5---|
               |       3---4|
               1---2|

        Like ``buffer``, but the elements can be consumed while they arrive. A window is emitted with its first element,
        and accepts one Subscriber. An upstream error fails the open windows and then the stream of windows.

        By count, demand for ``n`` windows requests ``n * count`` elements, whether the windows are consumed or not. A
        window without a Subscriber buffers its elements, at most ``count``, until the window is released, and blocks
        nothing. With ``skip``, a window starts every ``skip`` elements, the first ``n`` windows need ``(n - 1) * skip +
        count`` elements, and each window is emitted when it is demanded.

        By time, a window closes ``seconds`` after its first element if the next window is demanded by then; otherwise
        it stays open until the next window is demanded, so that nothing is dropped. With a count, the remaining
        capacity of the window is requested. Without one, a window buffers up to ``prefetch`` elements; after that
        upstream is slowed until the window is consumed or the next one is demanded. A cancelled window drops its
        elements until it closes.

        After a cancel of the stream of windows, the emitted windows continue: upstream is cancelled when the last of
        them has closed or been cancelled. An unreferenced window without a Subscriber counts as cancelled.

        The arguments are those of ``buffer``; by time without a count, ``prefetch`` is the maximum number of buffered
        elements of a window.

        Raises:
            TypeError: neither ``count`` nor ``seconds`` is given, both ``skip`` and ``seconds`` are, or an argument has
                the wrong type.
            ValueError: ``count``, ``skip`` or ``prefetch`` is less than 1, or ``seconds`` is not positive and finite.

        Examples:
            >>> import pyrs
            >>> [window.collect() for window in pyrs.range(5).window(2).collect()]
            [[0, 1], [2, 3], [4]]
        """
        if seconds is None:
            if count is None:
                raise TypeError("window requires count, seconds, or both")
            return self._over(operators.windowing.WindowCount(self.source, count, skip, self._over))
        if skip is not None:
            raise TypeError("skip cannot be combined with seconds; use count and skip")
        return self._over(operators.windowing.WindowTime(self.source, count, seconds, prefetch, scheduler, self._over))

    def window_until(
        self, predicate: Callable[[T_co], object], *, cut_before: bool = False, prefetch: int = 256
    ) -> Stream[Stream[T_co]]:
        """Split the stream into inner streams that a predicate delimits.

            ---1---2---3---4---5---6---|
            window_until(lambda n: n % 3 == 0)
            ---o-----------o-----------|
               1---2---3|  4---5---6|

        By default, each element for which the predicate is true is the last of its inner stream. Like ``buffer_until``,
        but a window emits while it is filled. Requests and buffers at most ``prefetch`` elements in all windows
        together, and replenishes at 75 %: **a window that is not consumed blocks the others**. A cancelled window, and
        one that can no longer be subscribed to, drops its elements. Windows accept one Subscriber. After a cancel of
        this stream, upstream is cancelled when no window is open. An error of upstream or of the predicate fails the
        open window and the stream.

        Args:
            predicate: called with each element.
            cut_before: whether such an element begins the next window instead.
            prefetch: the maximum number of requested and buffered elements.

        Raises:
            TypeError: ``predicate`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> lines = pyrs.just("BEGIN", "a", "b", "BEGIN", "c")
            >>> parts = lines.window_until(lambda line: line == "BEGIN", cut_before=True)
            >>> parts.concat_map(lambda part: part.skip(1).to_list()).collect()
            [['a', 'b'], ['c']]
        """
        cut = operators.buffering.until(predicate, cut_before)
        return self._over(operators.windowing.WindowBy(self.source, cut, prefetch, self._over))

    def window_while(self, predicate: Callable[[T_co], object], *, prefetch: int = 256) -> Stream[Stream[T_co]]:
        """Split consecutive elements that a predicate accepts into inner streams.

            ---1---2---0---3---0---|
            window_while(bool)
            ---o-----------o-------|
               1---2---|   3---|

        The predicate is true for the elements of an inner stream. The other elements are dropped. Like
        ``buffer_while``, with the demand and the buffer of ``window_until``.

        Args:
            predicate: called with each element.
            prefetch: the maximum number of requested and buffered elements.

        Raises:
            TypeError: ``predicate`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 0, 0, 3).window_while(bool).concat_map(lambda window: window.to_list()).collect()
            [[1, 2], [3]]
        """
        cut = operators.buffering.during(predicate)
        return self._over(operators.windowing.WindowBy(self.source, cut, prefetch, self._over))

    def window_until_changed(
        self, key: Callable[[T_co], Any] | None = None, *, prefetch: int = 256
    ) -> Stream[Stream[T_co]]:
        """Split consecutive equal elements into inner streams, like ``itertools.groupby``.

            ---1---1---2---2---1---|
            window_until_changed()
            ---o-------o-------o---|
               1---1---|2--2---|1--|

        Like ``buffer_until_changed``, with the demand and the buffer of ``window_until``.

        Args:
            key: returns the value to compare; None for the element.
            prefetch: the maximum number of requested and buffered elements.

        Raises:
            TypeError: ``key`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> letters = pyrs.from_iterable("aab").window_until_changed()
            >>> letters.concat_map(lambda window: window.count()).collect()
            [2, 1]
        """
        cut = operators.buffering.until_changed(key)
        return self._over(operators.windowing.WindowBy(self.source, cut, prefetch, self._over))

    def window_when(
        self, openings: Publisher[R], closing: Callable[[R], Publisher[Any]], *, prefetch: int = 256
    ) -> Stream[Stream[T_co]]:
        """Split the stream into inner streams that other streams open and close.

            -1---2---3---4---5---|
            ---o-------o---------|
            window_when(openings, lambda _: a stream that emits later)
            ---o-------o---------|
               --2---3-|
                       --4---5---|

        Like ``buffer_when``, but a window is emitted when it opens, and its elements when they arrive. Windows may
        overlap. Elements outside of a window are dropped and not reported. Requests one opening for each demanded
        window. Requests ``prefetch`` elements of this stream, minus the unread elements of the open window that has the
        most, and replenishes at 75 %: **an open window that is not consumed blocks the others**. A cancelled window
        drops its elements and cancels the stream that would close it. Windows accept one Subscriber.

        When this stream completes, the open windows complete. The stream also completes when ``openings`` has completed
        and all windows are closed. An error of any of the streams fails the open windows and the stream. After a cancel
        of the stream of windows, no window opens and the open ones continue.

        Args:
            openings: its elements open windows.
            closing: called with such an element; returns a Publisher, whose first signal closes the window.
            prefetch: the maximum number of buffered elements per window.

        Raises:
            TypeError: ``openings`` is not a Publisher, ``closing`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> numbers = pyrs.range(4).delay_subscription(0.01)
            >>> windows = numbers.window_when(pyrs.just("open"), lambda _: pyrs.never())
            >>> windows.flat_map(lambda window: window.to_list()).collect()
            [[0, 1, 2, 3]]
        """
        return self._over(operators.toggling.WindowWhen(self.source, openings, closing, prefetch, self._over))

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
        """Split the stream into one inner stream per key.

            ---1---2---3---4---|
            group_by(is_even)
            ---o---o-----------|
               |   2-------4---|
               1-------3-------|

        A group is emitted with its first element and terminates with the stream. It accepts one Subscriber; a second
        one receives an error. Requests ``prefetch`` elements on subscribe, and replenishes as the groups are consumed.

        All groups together buffer at most ``prefetch`` elements: **a group that is not consumed blocks the others**
        when it has filled that buffer. Consume all groups concurrently (``flat_map`` with a ``concurrency`` of at least
        the number of groups), or cancel the groups that are not needed. A cancelled group drops its buffered elements,
        and the next element of its key starts a new group.

        More than ``max_groups`` concurrent groups fail the stream with ``pyrs.errors.BufferOverflow``; the default
        equals the default ``concurrency`` of ``flat_map``. An error of upstream or of a function fails the groups and
        then the stream of groups. After a cancel of the stream of groups, the emitted groups continue: no group opens,
        and upstream is cancelled when the last of them has been cancelled. A group without a Subscriber that is no
        longer referenced drops its elements, and counts as cancelled for upstream. Its key starts no new group, and it
        still counts towards ``max_groups``.

        Args:
            key: returns the key of an element; it must be hashable.
            value: returns the value to emit in the group; None for the element itself.
            prefetch: the maximum number of buffered elements.
            max_groups: the maximum number of concurrent groups.

        Raises:
            TypeError: a function is not callable, or a number is not an integer.
            ValueError: a number is less than 1.

        Examples:
            >>> import pyrs
            >>> words = pyrs.just("to", "be", "not", "be")
            >>> groups = words.group_by(str).flat_map(lambda group: group.count().map(lambda n: (group.key, n)))
            >>> groups.collect()
            [('to', 1), ('be', 2), ('not', 1)]
        """

        def wrap(handle: PartHandle) -> GroupedStream[Any, Any]:
            return self._grouped(handle.part.key, handle)

        return self._over(operators.grouping.GroupBy(self.source, key, value, prefetch, max_groups, wrap))
