"""The flattening operators of a stream; what they do is in ``pyrs/operators/flattening.py`` and ``merging.py``."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pyrs import operators
from pyrs._core.validation import checked_natural
from pyrs.api import Publisher
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Flattening"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")

Inner: TypeAlias = Publisher[R] | Awaitable[R] | AsyncIterable[R]
"""What a function may make of an element."""


class Flattening(Family[T_co]):
    """Operators that make a stream of each element, and one stream of those."""

    __slots__ = ()

    def flat_map(
        self,
        function: Callable[[T_co], Inner[R]],
        *,
        concurrency: int = 256,
        prefetch: int = 32,
        delay_errors: bool = False,
    ) -> Stream[R]:
        """Make a stream of each element, and let the elements of all those pass as they come.

            ---1-------2-------|
            flat_map(lambda n: two elements, 10 n and 10 n + 1)
            ---10---11-20---21-|

        Requests ``concurrency`` elements of this stream, and one more whenever an inner stream has ended. Of each inner
        stream ``prefetch`` elements are requested and held until they are demanded, and more when three quarters of
        them were; one over an iterable is pulled from exactly as demanded. Slow Subscribers slow all streams; nothing
        is dropped, and what is held is bounded by ``concurrency * prefetch``. Inner streams that have something take
        turns, of ``prefetch`` elements at most; the order within each is kept, the order between them is not defined.

        Completes when this stream and all inner streams have. An inner stream's error ends the stream after what that
        inner stream gave before; an error of this stream or of the function ends it at once. The others are cancelled,
        and what is held of them is let go.

        Args:
            function: called with each element, on the thread that brings it; returns a Publisher. It may be a coroutine
                function, whose result is the one element, or an asynchronous generator function: they are awaited on
                the asyncio loop that runs where somebody subscribes, else on one in the background.
            concurrency: the most inner streams that are subscribed to at the same time.
            prefetch: the most elements that are held of each.
            delay_errors: whether the other inner streams are finished before an error ends the stream. Errors that
                follow the first go to the hook for dropped errors.

        Raises:
            TypeError: function is not callable.
            ValueError: concurrency or prefetch is less than 1.

        Rules: 1.1, 1.3, 1.4; what the function returns is no Publisher: the stream fails with a TypeError.

        Examples:
            >>> import pyrs
            >>> pyrs.just("ab", "cd").flat_map(pyrs.from_iterable).collect()
            ['a', 'b', 'c', 'd']
        """
        concurrency = checked_natural(concurrency, "concurrency", 1)
        prefetch = checked_natural(prefetch, "prefetch", 1)
        return self._over(operators.merging.FlatMap(self.source, function, concurrency, prefetch, delay_errors))

    def concat_map(self, function: Callable[[T_co], Inner[R]], *, prefetch: int = 32) -> Stream[R]:
        """Make a stream of each element, and pass those on one after the other.

            ---1-2-----------------|
            concat_map(lambda n: two elements, 10 n and 10 n + 1)
            ---10---11-20---21-----|

        Requests ``prefetch`` elements of this stream, and more when the turn of three quarters of them has come. The
        inner stream that is on is asked for exactly what is demanded. Slow Subscribers slow both; nothing is dropped,
        and at most ``prefetch`` elements of this stream are held. 1 asks for an element when the one before has begun.

        An error of an inner stream, or of the function, ends the stream at once. An error of this stream has its turn
        as an element would: after the inner streams of the elements before it.

        Args:
            function: called with an element when its turn has come; returns a Publisher.
            prefetch: the most elements of this stream that wait for their turn.

        Raises:
            TypeError: function is not callable.
            ValueError: prefetch is less than 1.

        Rules: 1.1, 1.3, 1.4; what the function returns is no Publisher: the stream fails with a TypeError.

        Examples:
            >>> import pyrs
            >>> pyrs.range(1, 4).concat_map(lambda n: pyrs.from_iterable([n] * n)).collect()
            [1, 2, 2, 3, 3, 3]
        """
        return self._over(
            operators.flattening.ConcatMap(self.source, function, checked_natural(prefetch, "prefetch", 1))
        )

    def switch_map(self, function: Callable[[T_co], Inner[R]], *, prefetch: int = 32) -> Stream[R]:
        """Make a stream of each element and pass that on until the next element comes.

            ---1---------2---------|
            switch_map(lambda n: three elements, 10 n to 10 n + 2)
            ---10---11---20---21---22|

        Requests everything of this stream and holds its newest element alone: an element that is overtaken before the
        Subscriber's thread came to look at it is dropped, and its stream is never made. An inner stream that is
        replaced is cancelled; up to ``prefetch`` elements of it that were held, waiting for demand, are dropped too.
        Such drops are what the operator is for, and are not reported. A slow Subscriber slows the inner stream, never
        this one.

        Completes when this stream and the last inner stream have. An error of this stream, or of the function, ends it
        at once; that of the inner stream that is on, after the elements before it.

        Args:
            function: called with an element; returns a Publisher.
            prefetch: the most elements that are held of the inner stream.

        Raises:
            TypeError: function is not callable.
            ValueError: prefetch is less than 1.

        Rules: 1.1, 1.3, 1.4; what the function returns is no Publisher: the stream fails with a TypeError.

        Examples:
            >>> import pyrs
            >>> pyrs.just("never", "b").switch_map(lambda s: pyrs.never() if s == "never" else pyrs.just(s)).collect()
            ['b']
        """
        return self._over(
            operators.flattening.SwitchMap(self.source, function, checked_natural(prefetch, "prefetch", 1))
        )
