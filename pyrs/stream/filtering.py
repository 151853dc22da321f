"""Filtering operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from pyrs import operators
from pyrs.stream.family import K, OperatorFamily, R, T_co

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream


class Filtering(OperatorFamily[T_co]):
    """Operators that emit a subset of the elements."""

    def filter(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Emit the elements for which the predicate returns true.

            ---1---2---3---4---|
            filter(is_even)
            -------2-------4---|

        Requests one more element for each that is dropped. If the predicate raises, the stream fails with that error.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(6).filter(lambda n: n % 2).collect()
            [1, 3, 5]
        """
        return self._then(operators.filtering.Filter(predicate))

    def take(self, count: int) -> Stream[T_co]:
        """Emit the first ``count`` elements, then complete and cancel upstream.

            ---1---2---3---4---
            take(2)
            ---1---2|

        Never requests more than ``count`` elements. Completes with the last element; ``take(0)`` completes immediately.

        Raises:
            TypeError: ``count`` is not an integer.
            ValueError: ``count`` is negative.

        Examples:
            >>> import pyrs
            >>> from itertools import count
            >>> pyrs.from_iterable(count()).take(3).collect()
            [0, 1, 2]
        """
        return self._then(operators.filtering.Take(count))

    def of_type(self, cls: type[R]) -> Stream[R]:
        """Emit the elements that are instances of a class.

            ---1---"a"---2---|
            of_type(str)
            -------"a"-------|

        Requests one more element for each that is dropped. Buffers nothing.

        Args:
            cls: the class, as for ``isinstance``.

        Raises:
            TypeError: ``cls`` is not a class.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, "a", 2).of_type(int).collect()
            [1, 2]
        """
        return self._then(operators.filtering.OfType(cls))

    def take_while(self, predicate: Callable[[T_co], object], *, inclusive: bool = False) -> Stream[T_co]:
        """Emit elements while the predicate returns true, then complete.

            ---1---2---3---4---
            take_while(is_below_3)
            ---1---2---|

        Cancels upstream on completion. Forwards demand unchanged; the element that completes the stream uses one unit
        of demand. Buffers nothing. If the predicate raises, upstream is cancelled and the stream fails with that error.

        Args:
            predicate: called with each element.
            inclusive: whether the first element for which the predicate returns false is also emitted.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).take_while(lambda n: n < 2).collect()
            [0, 1]
            >>> pyrs.range(9).take_while(lambda n: n < 2, inclusive=True).collect()
            [0, 1, 2]
        """
        return self._then(operators.filtering.TakeWhile(predicate, inclusive))

    def take_last(self, count: int) -> Stream[T_co]:
        """Emit the last ``count`` elements when upstream completes.

            ---1---2---3---4---|
            take_last(2)
            -------------------3---4|

        Requests unbounded demand at the first request, buffers the last ``count`` elements, and emits them on demand.
        Earlier elements are dropped without a report. An upstream error fails the stream at once.

        Raises:
            TypeError: ``count`` is not an integer.
            ValueError: ``count`` is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).take_last(2).collect()
            [7, 8]
        """
        return self._then(operators.filtering.TakeLast(count))

    def skip(self, count: int) -> Stream[T_co]:
        """Drop the first ``count`` elements and emit the rest.

            ---1---2---3---4---|
            skip(2)
            -----------3---4---|

        Adds ``count`` to the first request; later demand is forwarded unchanged. Buffers nothing.

        Raises:
            TypeError: ``count`` is not an integer.
            ValueError: ``count`` is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).skip(3).collect()
            [3, 4]
        """
        return self._then(operators.filtering.Skip(count))

    def skip_last(self, count: int) -> Stream[T_co]:
        """Drop the last ``count`` elements and emit the rest.

            ---1---2---3---4---|
            skip_last(2)
            -----------1---2---|

        Adds ``count`` to the first request; later demand is forwarded unchanged. Buffers the latest ``count`` elements,
        which are dropped on completion without a report.

        Args:
            count: the number of elements to drop.

        Raises:
            TypeError: ``count`` is not an integer.
            ValueError: ``count`` is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).skip_last(2).collect()
            [0, 1, 2]
        """
        return self._then(operators.filtering.SkipLast(count))

    def skip_while(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Drop elements while the predicate returns true, then emit all that follow.

            ---1---2---3---1---|
            skip_while(is_below_3)
            -----------3---1---|

        The predicate is not called after it has returned false. Requests one more element for each that is dropped.
        Buffers nothing. If the predicate raises, upstream is cancelled and the stream fails with that error.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 3, 1).skip_while(lambda n: n < 3).collect()
            [3, 1]
        """
        return self._then(operators.filtering.SkipWhile(predicate))

    def ignore_elements(self) -> Stream[NoReturn]:
        """Drop all elements and forward only the terminal signal.

            ---1---2---3---|
            ignore_elements()
            ---------------|

        Requests unbounded demand at the first request. Buffers nothing.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).ignore_elements().collect()
            []
        """
        return self._then(operators.filtering.IgnoreElements())

    def distinct(self, key: Callable[[T_co], object] | None = None) -> Stream[T_co]:
        """Emit each element only the first time it occurs.

            ---1---2---1---3---|
            distinct()
            ---1---2-------3---|

        Requests one more element for each that is dropped. Memory **grows**: every emitted element, or its key, is kept
        in a set. If an element or key is not hashable, or ``key`` raises, upstream is cancelled and the stream fails
        with that error.

        Args:
            key: returns the value to compare; None compares the elements.

        Raises:
            TypeError: ``key`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "B", "b").distinct(str.lower).collect()
            ['a', 'B']
        """
        return self._then(operators.filtering.Distinct(key))

    def distinct_until_changed(
        self, key: Callable[[T_co], K] | None = None, *, comparer: Callable[[K, K], object] | None = None
    ) -> Stream[T_co]:
        """Drop elements that are equal to the previously emitted element.

            ---1---1---2---1---|
            distinct_until_changed()
            ---1-------2---1---|

        Requests one more element for each that is dropped. If a function raises, the stream fails with that error.

        Args:
            key: returns the value to compare; None compares the elements.
            comparer: returns whether the last emitted key and the current key are equal; None for ``==``.

        Raises:
            TypeError: ``key`` or ``comparer`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 1, 2, 1).distinct_until_changed().collect()
            [1, 2, 1]
            >>> pyrs.just(1, 2, 5, 6).distinct_until_changed(comparer=lambda a, b: abs(a - b) < 2).collect()
            [1, 5]
        """
        return self._then(operators.filtering.DistinctUntilChanged(key, comparer))
