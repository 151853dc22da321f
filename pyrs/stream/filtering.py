"""The filtering operators of a stream; what they do is in ``pyrs/operators/filtering.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyrs.operators import filtering
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Filtering"]

T_co = TypeVar("T_co", covariant=True)


class Filtering(Family[T_co]):
    """Operators that let some elements pass and others not."""

    __slots__ = ()

    def filter(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Let the elements pass for which the predicate is true.

        ::

            ---1---2---3---4---|
            filter(is_even)
            -------2-------4---|

        Demand counts the elements that pass: upstream is asked for one more in place of each that does not. What the
        predicate raises ends the stream with that error and cancels upstream.

        Raises:
            TypeError: the predicate cannot be called.

        Example:
            >>> import pyrs
            >>> pyrs.range(6).filter(lambda n: n % 2).collect()
            [1, 3, 5]
        """
        return self._then(filtering.Filter(predicate))

    def take(self, count: int) -> Stream[T_co]:
        """Let the first elements pass, then complete and cancel upstream.

        ::

            ---1---2---3---4---
            take(2)
            ---1---2|

        Never requests more than ``count`` from upstream, completes with the last element without being asked again, and
        ``take(0)`` completes at once.

        Raises:
            TypeError: the count is not an integer.
            ValueError: it is negative.

        Example:
            >>> import pyrs
            >>> from itertools import count
            >>> pyrs.from_iterable(count()).take(3).collect()
            [0, 1, 2]
        """
        return self._then(filtering.Take(count))
