"""The transforming operators of a stream; what they do is in ``pyrs/operators/transforming.py``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pyrs._core.sites import is_coroutine_function
from pyrs._core.text import checked_natural
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

    @overload
    def map(
        self, function: Callable[[T_co], Coroutine[Any, Any, R]], *, concurrency: int = ..., ordered: bool = ...
    ) -> Stream[R]: ...
    @overload
    def map(self, function: Callable[[T_co], R]) -> Stream[R]: ...
    def map(
        self, function: Callable[[T_co], Any], *, concurrency: int | None = None, ordered: bool = True
    ) -> Stream[Any]:
        """Change each element into what the function returns for it; a coroutine function is awaited.

        ::

            ---1---2---3---|
            map(str)
            --"1"-"2"-"3"--|

        Demand goes through unchanged. What the function raises ends the stream with that error and cancels upstream;
        StopIteration arrives as a RuntimeError where upstream is an iterable.

        A coroutine function (one made by ``async def``) is called on the asyncio loop that runs where somebody
        subscribes, else on one in the background, for ``concurrency`` elements at a time. So many are requested ahead,
        whatever the demand is, and no more than those are running or done and not yet demanded: the stream slows. The
        Subscriber is signalled on the loop. A cancel cancels the tasks.

        Args:
            function: takes an element.
            concurrency: how many elements are awaited at a time; of a coroutine function only, by default 1.
            ordered: whether results come in the order of their elements; if not, as they are done.

        Raises:
            TypeError: the function cannot be called, or a concurrency was given and it is no coroutine function.
            ValueError: the concurrency is less than 1.

        Example:
            >>> import pyrs
            >>> pyrs.just(1, 2).map(lambda n: n * 10).collect()
            [10, 20]
            >>> async def double(n):
            ...     return 2 * n
            >>> pyrs.range(4).map(double, concurrency=2).collect()
            [0, 2, 4, 6]
        """
        if is_coroutine_function(function):
            from pyrs.operators.coroutines import AsyncMap  # asyncio is a slow import

            at_a_time = 1 if concurrency is None else checked_natural(concurrency, "concurrency", 1)
            return self._over(AsyncMap(self.source, function, at_a_time, ordered))
        if concurrency is not None or not ordered:
            raise TypeError("concurrency and ordered go with a coroutine function, and function is none")
        return self._then(transforming.Map(function))
