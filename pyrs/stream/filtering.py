"""The filtering operators of a stream; what they do is in ``pyrs/operators/filtering.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from pyrs import operators
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Filtering"]

T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")
R = TypeVar("R")


class Filtering(Family[T_co]):
    """Operators that let some elements pass and others not."""

    __slots__ = ()

    def filter(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Let the elements pass for which the predicate is true.

            ---1---2---3---4---|
            filter(is_even)
            -------2-------4---|

        Demand counts the elements that pass: upstream is asked for one more in place of each that does not. What the
        predicate raises ends the stream with that error and cancels upstream.

        Raises:
            TypeError: the predicate cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.range(6).filter(lambda n: n % 2).collect()
            [1, 3, 5]
        """
        return self._then(operators.filtering.Filter(predicate))

    def take(self, count: int) -> Stream[T_co]:
        """Let the first elements pass, then complete and cancel upstream.

            ---1---2---3---4---
            take(2)
            ---1---2|

        Never requests more than ``count`` from upstream, completes with the last element without being asked again, and
        ``take(0)`` completes at once.

        Raises:
            TypeError: the count is not an integer.
            ValueError: it is negative.

        Examples:
            >>> import pyrs
            >>> from itertools import count
            >>> pyrs.from_iterable(count()).take(3).collect()
            [0, 1, 2]
        """
        return self._then(operators.filtering.Take(count))

    def of_type(self, cls: type[R]) -> Stream[R]:
        """Let the instances of a class pass.

            ---1---"a"---2---|
            of_type(str)
            -------"a"-------|

        Demand counts the elements that pass, as with ``filter``. Nothing is held.

        Args:
            cls: what ``isinstance`` takes.

        Raises:
            TypeError: it is not a class.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, "a", 2).of_type(int).collect()
            [1, 2]
        """
        return self._then(operators.filtering.OfType(cls))

    def take_while(self, predicate: Callable[[T_co], object], *, inclusive: bool = False) -> Stream[T_co]:
        """Let elements pass as long as the predicate is true, then complete and cancel upstream.

            ---1---2---3---4---
            take_while(is_below_3)
            ---1---2---|

        Demand goes through unchanged: the element that ends the stream was demanded too. Nothing is held. What the
        predicate raises ends the stream with that error and cancels upstream.

        Args:
            predicate: called with each element.
            inclusive: whether the first element for which it is false passes as well, as the last one.

        Raises:
            TypeError: the predicate cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).take_while(lambda n: n < 2).collect()
            [0, 1]
            >>> pyrs.range(9).take_while(lambda n: n < 2, inclusive=True).collect()
            [0, 1, 2]
        """
        return self._then(operators.filtering.TakeWhile(predicate, inclusive))

    def take_last(self, count: int) -> Stream[T_co]:
        """Let the last elements pass, when upstream has completed.

            ---1---2---3---4---|
            take_last(2)
            -------------------3---4|

        Requests everything as soon as anything is demanded, holds up to ``count`` elements, and emits them as they are
        demanded. The others are passed over, which is the purpose. An error of upstream ends the stream at once: nobody
        knows which would have been the last.

        Raises:
            TypeError: the count is not an integer.
            ValueError: it is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).take_last(2).collect()
            [7, 8]
        """
        return self._then(operators.filtering.TakeLast(count))

    def skip(self, count: int) -> Stream[T_co]:
        """Pass over the first elements.

            ---1---2---3---4---|
            skip(2)
            -----------3---4---|

        With the first demand ``count`` elements more are requested; after that demand goes through unchanged. Nothing
        is held.

        Raises:
            TypeError: the count is not an integer.
            ValueError: it is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).skip(3).collect()
            [3, 4]
        """
        return self._then(operators.filtering.Skip(count))

    def skip_while(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Pass over elements as long as the predicate is true. After that it is not asked any more.

            ---1---2---3---1---|
            skip_while(is_below_3)
            -----------3---1---|

        Demand counts the elements that pass, as with ``filter``. Nothing is held. What the predicate raises ends the
        stream with that error and cancels upstream.

        Raises:
            TypeError: the predicate cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 3, 1).skip_while(lambda n: n < 3).collect()
            [3, 1]
        """
        return self._then(operators.filtering.SkipWhile(predicate))

    def ignore_elements(self) -> Stream[NoReturn]:
        """Let the end pass, or the error, and no element.

            ---1---2---3---|
            ignore_elements()
            ---------------|

        Requests everything as soon as anything is demanded, and holds nothing.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).ignore_elements().collect()
            []
        """
        return self._then(operators.filtering.IgnoreElements())

    def distinct(self, key: Callable[[T_co], object] | None = None) -> Stream[T_co]:
        """Let each element pass the first time that it comes.

            ---1---2---1---3---|
            distinct()
            ---1---2-------3---|

        Demand counts the elements that pass, as with ``filter``. Grows: it remembers every element, or its key, that
        it has let pass, by its hash. One that cannot be hashed ends the stream with a TypeError, and what the key
        function raises with that; upstream is cancelled.

        Args:
            key: what to compare of an element; None compares elements.

        Raises:
            TypeError: the key cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "B", "b").distinct(str.lower).collect()
            ['a', 'B']
        """
        return self._then(operators.filtering.Distinct(key))

    def distinct_until_changed(
        self, key: Callable[[T_co], K] | None = None, *, comparer: Callable[[K, K], object] | None = None
    ) -> Stream[T_co]:
        """Let the elements pass that differ from the one that passed before.

            ---1---1---2---1---|
            distinct_until_changed()
            ---1-------2---1---|

        Demand counts the elements that pass, as with ``filter``. Holds one element, or its key. What a function raises
        ends the stream with that error and cancels upstream.

        Args:
            key: what to compare of an element; None compares elements.
            comparer: called with the key that passed last and this one; whether they are the same. None asks ``==``.

        Raises:
            TypeError: one of them cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 1, 2, 1).distinct_until_changed().collect()
            [1, 2, 1]
            >>> pyrs.just(1, 2, 5, 6).distinct_until_changed(comparer=lambda a, b: abs(a - b) < 2).collect()
            [1, 5]
        """
        return self._then(operators.filtering.DistinctUntilChanged(key, comparer))
