"""The transforming operators of a stream; what they do is in ``pyrs/operators/transforming.py``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from pyrs import operators
from pyrs._core.sites import is_coroutine_function
from pyrs._core.validation import MISSING, checked_callable, checked_natural, checked_publisher
from pyrs.api import Publisher
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.operators.notification import Notification
    from pyrs.stream.single import Single
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

            ---1---2---3---|
            map(str)
            --"1"-"2"-"3"--|

        Demand goes through unchanged. What the function raises ends the stream with that error and cancels upstream;
        StopIteration arrives as a RuntimeError where upstream is an iterable.

        A coroutine function (one made by ``async def``) is called on the asyncio loop that runs where somebody
        subscribes, else on one in the background, for ``concurrency`` elements at a time. So many are requested ahead,
        whatever the demand is, and no more than those are running or done and not yet demanded: the stream slows. The
        Subscriber is signalled on the loop. A cancel cancels the tasks. A plain function that returns a coroutine, such
        as a lambda around a coroutine function, fails the stream with a TypeError at the first element.

        Args:
            function: takes an element.
            concurrency: how many elements are awaited at a time; of a coroutine function only, by default 1.
            ordered: whether results come in the order of their elements; if not, as they are done.

        Raises:
            TypeError: the function cannot be called, or a concurrency was given and it is no coroutine function.
            ValueError: the concurrency is less than 1.

        Examples:
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
        return self._then(operators.transforming.Map(function))

    @overload
    def scan(self, function: Callable[[T_co, T_co], T_co]) -> Stream[T_co]: ...
    @overload
    def scan(self, function: Callable[[R, T_co], R], initial: R) -> Stream[R]: ...
    def scan(self, function: Callable[[Any, Any], Any], initial: Any = MISSING) -> Stream[Any]:
        """Emit for each element what the function makes of all so far.

            ---1---2---3---|
            scan(add)
            ---1---3---6---|

            ---1---2---3---|
            scan(add, 10)
            10-11--13--16--|

        Without an initial value the first element is the first value. With one, that is emitted before any element,
        also if there is none, as in Reactor's ``scan`` and ``itertools.accumulate``. Demand goes through unchanged, but
        for the initial value, which uses one. Holds the last value. What the function raises ends the stream with that
        error and cancels upstream.

        Args:
            function: called with the value before and the element; returns the value for this element.
            initial: the first value.

        Raises:
            TypeError: the function cannot be called.
            NullSignal: the initial value is None.

        Examples:
            >>> import pyrs
            >>> from operator import add
            >>> pyrs.just(1, 2, 3).scan(add).collect()
            [1, 3, 6]
            >>> pyrs.just(1, 2, 3).scan(add, 10).collect()
            [10, 11, 13, 16]
        """
        return self._then(operators.transforming.Scan(function, initial))

    def with_index(self, start: int = 0) -> Stream[tuple[int, T_co]]:
        """Pair each element with its number, as ``enumerate`` does.

            ---a------b------c------|
            with_index()
            ---(0,a)--(1,b)--(2,c)--|

        Demand goes through unchanged. Nothing is held.

        Args:
            start: the number of the first.

        Raises:
            TypeError: it is not an integer.
            ValueError: it is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "b").with_index(1).collect()
            [(1, 'a'), (2, 'b')]
        """
        return self._then(operators.transforming.WithIndex(start))

    def materialize(self) -> Stream[Notification[T_co]]:
        """Make an element of each signal: of elements, of the end, and of an error, after which the stream completes.

            ---1---2---X
            materialize()
            ---1---2---X|    (Notifications)

        Demand goes through unchanged; the last notification waits until it is demanded. Only that one is held. For
        ``pyrs.Notification`` see there.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).materialize().collect()
            [Notification.next(1), Notification.completed()]
        """
        return self._then(operators.transforming.Materialize())

    def dematerialize(self: Transforming[Notification[R]]) -> Stream[R]:
        """Make the signals again of which ``materialize`` made elements, and cancel upstream at the end.

            ---1---2---X|    (Notifications)
            dematerialize()
            ---1---2---X

        Demand goes through unchanged: the end comes with the demand after the last element. Nothing is held. An element
        that is no Notification ends the stream with a TypeError.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).materialize().dematerialize().collect()
            [1, 2]
        """
        return self._then(operators.transforming.Dematerialize())

    @overload
    def transform(self, function: Callable[[Stream[T_co]], Single[R]]) -> Single[R]: ...
    @overload
    def transform(self, function: Callable[[Stream[T_co]], Publisher[R]]) -> Stream[R]: ...
    def transform(self, function: Callable[[Stream[T_co]], Publisher[Any]]) -> Stream[Any]:
        """Apply an operator of your own: a function that makes a Publisher of this stream.

            ---1---2---3---|
            transform(lambda stream: stream.map(str).take(2))
            --"1"-"2"|

        The function is called once, now, and not for each Subscriber; what it raises is raised here. Demand, and what
        is held, are those of what it returns: a Stream as it is, or any other Publisher, which becomes one.

        Args:
            function: takes this stream and returns a Publisher.

        Raises:
            TypeError: the function cannot be called, or returned no Publisher.

        Examples:
            >>> import pyrs
            >>> def average_of(count):
            ...     return lambda stream: stream.buffer(count).map(lambda some: sum(some) / len(some))
            >>> pyrs.just(1, 2, 6, 4).transform(average_of(2)).collect()
            [1.5, 5.0]
        """
        from pyrs.stream.stream import Stream  # a Stream is of this family, so neither module can come first

        made = checked_callable(function, "function")(cast("Stream[T_co]", self))
        return made if isinstance(made, Stream) else Stream(checked_publisher(made, "what the function returns"))
