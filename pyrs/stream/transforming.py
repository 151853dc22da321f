"""The transforming operators of a stream; what they do is in ``pyrs/operators/transforming.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyrs.operators import transforming
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Transforming"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Transforming(Family[T_co]):
    """Operators that change elements."""

    __slots__ = ()

    def map(self, function: Callable[[T_co], R]) -> Stream[R]:
        """Change each element into what the function returns for it.

        ::

            ---1---2---3---|
            map(str)
            --"1"-"2"-"3"--|

        Demand goes through unchanged. What the function raises ends the stream with that error and cancels upstream;
        StopIteration arrives as a RuntimeError where upstream is an iterable.

        Raises:
            TypeError: the function cannot be called.

        Example:
            >>> import pyrs
            >>> pyrs.just(1, 2).map(lambda n: n * 10).collect()
            [10, 20]
        """
        return self._then(transforming.Map(function))
