"""Flattening operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import K_co, OfKind, OperatorFamily, R, T_co

if TYPE_CHECKING:
    from asyncio import Future

    from pyrs.operators.notification import Notification
    from pyrs.stream.stream import Stream

Inner: TypeAlias = "Publisher[R] | Coroutine[Any, Any, R] | Future[R] | AsyncIterable[R]"
"""The result of a flattening function for one element."""


class Flattening(OperatorFamily[T_co]):
    """Operators that map elements to inner streams and flatten those."""

    def flat_map(
        self,
        function: Callable[[T_co], Inner[R]],
        *,
        concurrency: int = 256,
        prefetch: int = 32,
        delay_errors: bool = False,
    ) -> Stream[R]:
        """Map each element to a stream and interleave the elements of those streams.

            ---1-------2-------|
            flat_map(lambda n: two elements, 10 n and 10 n + 1)
            ---10---11-20---21-|

        Requests ``concurrency`` elements, and one more each time an inner stream terminates. Requests ``prefetch``
        elements of each inner stream, buffers them until they are demanded, and replenishes at 75 %; an inner stream
        over an iterable is pulled on demand instead. Slow Subscribers slow all streams; nothing is dropped. Buffers at
        most ``concurrency * prefetch`` elements. Inner streams with buffered elements are served in turns of at most
        ``prefetch`` elements. Order is kept within each inner stream and is undefined between them.

        Completes when this stream and all inner streams have completed. An error of an inner stream is emitted after
        its elements. An error of this stream or of ``function`` is emitted when no buffered element is demanded. All
        other streams are then cancelled. If ``function`` does not return a Publisher, the stream fails with a
        TypeError.

        Args:
            function: called with each element, on the thread that delivers it; returns a Publisher. A coroutine
                function (its result is the single inner element) or an asynchronous generator function is also
                accepted: it runs on the asyncio loop that is running at ``subscribe``, else on a background loop.
            concurrency: the maximum number of inner streams subscribed at the same time.
            prefetch: the maximum number of buffered elements per inner stream.
            delay_errors: whether the other inner streams run to their end before an error is emitted. Later errors are
                reported to the dropped-errors hook.

        Raises:
            TypeError: ``function`` is not callable, or a number is not an integer.
            ValueError: ``concurrency`` or ``prefetch`` is less than 1.

        Rules: 1.1, 1.3, 1.4.

        Examples:
            >>> import pyrs
            >>> pyrs.just("ab", "cd").flat_map(pyrs.from_iterable).collect()
            ['a', 'b', 'c', 'd']
        """
        return self._over(operators.merging.FlatMap(self.source, function, concurrency, prefetch, delay_errors))

    def flat_map_sequential(
        self,
        function: Callable[[T_co], Inner[R]],
        *,
        concurrency: int = 256,
        prefetch: int = 32,
        delay_errors: bool = False,
    ) -> Stream[R]:
        """Map elements to streams, run these concurrently, and emit them in order.

            ---1-------2------------|
            flat_map_sequential(lambda n: two elements, 10 n and 10 n + 1)
            ---10--------11-20---21-|

        Like ``flat_map``, except for the order: an inner stream that is not the first buffers up to ``prefetch``
        elements and waits until the streams before it have completed. Requests ``concurrency`` elements, and one more
        each time the first inner stream completes. Slow Subscribers slow all streams; nothing is dropped. Buffers at
        most ``concurrency * prefetch`` elements. An inner stream over an iterable is pulled in its turn.

        An error of an inner stream, of ``function`` or of this stream is emitted in order, after the elements before
        it.

        Args:
            function: as for ``flat_map``.
            concurrency: the maximum number of inner streams subscribed at the same time.
            prefetch: the maximum number of buffered elements per inner stream.
            delay_errors: whether the inner streams after a failed one are emitted before its error. Later errors are
                reported to the dropped-errors hook.

        Raises:
            TypeError: ``function`` is not callable, or a number is not an integer.
            ValueError: ``concurrency`` or ``prefetch`` is less than 1.

        Examples:
            >>> import asyncio, pyrs
            >>> async def sleep(seconds):
            ...     await asyncio.sleep(seconds)
            ...     return seconds
            >>> pyrs.just(0.02, 0.01).flat_map_sequential(sleep).collect()
            [0.02, 0.01]
        """
        operator = operators.merging.FlatMapSequential(self.source, function, concurrency, prefetch, delay_errors)
        return self._over(operator)

    def concat_map(
        self, function: Callable[[T_co], Inner[R]], *, prefetch: int = 32, delay_errors: bool = False
    ) -> Stream[R]:
        """Map each element to a stream and emit those streams sequentially.

            ---1-2-----------------|
            concat_map(lambda n: two elements, 10 n and 10 n + 1)
            ---10---11-20---21-----|

        Requests ``prefetch`` elements of this stream, buffers them, and replenishes at 75 %. Forwards the exact demand
        to the active inner stream. Slow Subscribers slow both; nothing is dropped. With ``prefetch=1`` an element is
        requested only when ``function`` is about to be called with the previous one.

        An error of an inner stream or of ``function`` fails the stream at once. An error of this stream is emitted
        after the inner streams of the elements before it. If ``function`` does not return a Publisher, the stream fails
        with a TypeError.

        Args:
            function: called with an element when its inner stream is next; returns a Publisher.
            prefetch: the maximum number of buffered elements of this stream.
            delay_errors: whether the inner streams after a failed one are emitted before its error. Later errors are
                reported to the dropped-errors hook.

        Raises:
            TypeError: ``function`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Rules: 1.1, 1.3, 1.4.

        Examples:
            >>> import pyrs
            >>> pyrs.range(1, 4).concat_map(lambda n: pyrs.from_iterable([n] * n)).collect()
            [1, 2, 2, 3, 3, 3]
        """
        return self._over(operators.flattening.ConcatMap(self.source, function, prefetch, delay_errors))

    def expand(
        self, function: Callable[[T_co], Inner[R]], *, depth_first: bool = False, prefetch: int = 32
    ) -> Stream[T_co | R]:
        """Emit each element, and recursively the elements of the stream for it.

            ---1---2-----------------------|
            expand(lambda n: pyrs.just(10 * n) if n < 100 else pyrs.empty())
            ---1---2---10---20---100---200-|

        Walks a tree: ``function`` returns the stream of an element's children. Breadth-first by default: the streams
        are emitted sequentially, in the order of their elements, after this stream. Depth-first, the stream of an
        element is emitted before the next element of the stream that contains it.

        Requests ``prefetch`` elements of the active stream and replenishes at 75 %; a slow Subscriber slows it.
        **Breadth-first grows**: emitted elements are kept until the function is called with them. Depth-first buffers
        up to ``prefetch`` elements for each level of the tree. An infinite tree is expanded as far as it is demanded.

        An error of a stream is emitted after its elements, an error of the function at once. Both fail the stream.

        Args:
            function: called with each emitted element when its turn comes; returns a Publisher, or is a coroutine
                function or an asynchronous generator function, as for ``flat_map``.
            depth_first: whether the stream of an element follows that element directly.
            prefetch: the maximum number of buffered elements per stream.

        Raises:
            TypeError: ``function`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> children = {"a": ["b", "c"], "b": ["d"]}
            >>> tree = lambda name: pyrs.from_iterable(children.get(name, []))
            >>> pyrs.just("a").expand(tree).collect()
            ['a', 'b', 'c', 'd']
            >>> pyrs.just("a").expand(tree, depth_first=True).collect()
            ['a', 'b', 'd', 'c']
        """
        return self._over(operators.flattening.Expand(self.source, function, depth_first, prefetch))

    def filter_when(self, predicate: Callable[[T_co], Inner[Any]], *, prefetch: int = 32) -> Stream[T_co]:
        """Emit the elements for which an asynchronous predicate is true.

            ---1---2---3---|
            filter_when(asynchronous lambda n: n != 2)
            -----1-------3--|

        Calls the predicate with one element at a time and decides by the first element of the returned stream; an empty
        stream rejects the element. Requests ``prefetch`` elements of this stream, buffers them, and replenishes at
        75 %; requests one element of the returned stream. Slow Subscribers slow both. Only rejected elements are
        dropped.

        An error of the predicate or its stream fails the stream at once. An error of this stream is emitted after the
        elements before it.

        Args:
            predicate: called with an element when it is next; returns a Publisher, or is a coroutine function.
            prefetch: the maximum number of buffered elements of this stream.

        Raises:
            TypeError: ``predicate`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> async def is_odd(n):
            ...     return n % 2 == 1
            >>> pyrs.range(5).filter_when(is_odd).collect()
            [1, 3]
        """
        return self._over(operators.flattening.FilterWhen(self.source, predicate, prefetch))

    def delay_until(self: OfKind[K_co], function: Callable[[T_co], Inner[Any]], *, prefetch: int = 32) -> K_co:
        """Emit each element when the stream that a function returns for it has completed.

            ---1---2-----------|
            delay_until(a stream that completes after 3)
            ------1---2--------|

        Calls the function with one element at a time. Requests unbounded demand of the returned stream when the element
        is demanded, and ignores the elements of that stream. Requests ``prefetch`` elements of this stream, buffers
        them, and replenishes at 75 %. Slow Subscribers slow both; no element of this stream is dropped.

        An error of the function or its stream fails the stream at once. An error of this stream is emitted after the
        elements before it.

        Args:
            function: called with an element when it is next; returns a Publisher, or is a coroutine function.
            prefetch: the maximum number of buffered elements of this stream.

        Raises:
            TypeError: ``function`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "b").delay_until(lambda s: pyrs.timer(0.01).do_on_next(lambda _: print(s))).collect()
            a
            b
            ['a', 'b']
        """
        return self._kept(operators.flattening.DelayUntil(self.source, function, prefetch))

    def switch_on_first(self, function: Callable[[Notification[T_co], Stream[T_co]], Publisher[R]]) -> Stream[R]:
        """Choose the stream to emit by the first signal of this stream.

            ---3---1---2---|
            switch_on_first(lambda signal, stream: stream.take(signal.element))
            ---3---1---2|

        Requests one element at once, and calls the function with the first signal and the stream of all elements,
        including the first. The function returns the given stream, a stream derived from it, or another Publisher. The
        returned Publisher receives the exact demand. When that Publisher terminates or is cancelled, this stream is
        cancelled. Buffers one element. If ``function`` raises, or does not return a Publisher, the stream fails with
        that error.

        Args:
            function: called with a ``Notification`` and the stream, on the thread of the first signal. The stream
                accepts one Subscriber.

        Raises:
            TypeError: ``function`` is not callable.

        Rules: 1.1, 1.3.

        Examples:
            >>> import pyrs
            >>> def decode(signal, lines):
            ...     return lines.skip(1).map(int if signal.element == "integers" else str)
            >>> pyrs.just("integers", "1", "2").switch_on_first(decode).collect()
            [1, 2]
        """
        return self._over(operators.switching.SwitchOnFirst(self.source, function, self._over))

    def switch_map(self, function: Callable[[T_co], Inner[R]], *, prefetch: int = 32) -> Stream[R]:
        """Map each element to a stream, and switch to it from the previous one.

            ---1---------2---------|
            switch_map(lambda n: three elements, 10 n to 10 n + 2)
            ---10---11---20---21---22|

        Requests unbounded demand of this stream and keeps its latest element. An element is dropped if another one
        replaces it before ``function`` is called. A replaced inner stream is cancelled, and its buffered elements (at
        most ``prefetch``) are discarded. These drops are not reported. A slow Subscriber slows only the inner stream.

        Completes when this stream and the last inner stream have completed. An error of this stream or of ``function``
        fails the stream at once; an error of the active inner stream is emitted after its elements. If ``function``
        does not return a Publisher, the stream fails with a TypeError.

        Args:
            function: called with an element; returns a Publisher.
            prefetch: the maximum number of buffered elements of the inner stream.

        Raises:
            TypeError: ``function`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Rules: 1.1, 1.3, 1.4.

        Examples:
            >>> import pyrs
            >>> pyrs.just("never", "b").switch_map(lambda s: pyrs.never() if s == "never" else pyrs.just(s)).collect()
            ['b']
        """
        return self._over(operators.flattening.SwitchMap(self.source, function, prefetch))
