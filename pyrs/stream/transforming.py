"""Transforming operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast, overload

from pyrs import operators
from pyrs._core.sites import is_coroutine_function
from pyrs._core.validation import MISSING, checked_callable, checked_natural, checked_publisher
from pyrs.api import Publisher
from pyrs.stream.family import OperatorFamily, R, T_co

if TYPE_CHECKING:
    from pyrs.operators.notification import Notification
    from pyrs.operators.transforming import HandleSink
    from pyrs.stream.stream import Single, Stream


class Transforming(OperatorFamily[T_co]):
    """Operators that transform elements or signals."""

    @overload
    def map(
        self, function: Callable[[T_co], Coroutine[Any, Any, R]], *, concurrency: int = ..., ordered: bool = ...
    ) -> Stream[R]: ...
    @overload
    def map(self, function: Callable[[T_co], R]) -> Stream[R]: ...
    def map(
        self, function: Callable[[T_co], Any], *, concurrency: int | None = None, ordered: bool = True
    ) -> Stream[Any]:
        """Apply the function to each element; a coroutine function is awaited.

            ---1---2---3---|
            map(str)
            --"1"-"2"-"3"--|

        Forwards demand unchanged. If the function raises, the stream fails with that error; over an iterable,
        StopIteration becomes a RuntimeError.

        A coroutine function (``async def``) runs on the asyncio loop that is running at ``subscribe``, else on a
        background loop, for up to ``concurrency`` elements at a time. ``concurrency`` elements are requested ahead
        of demand. Results wait for demand, so a slow Subscriber slows the source. Signals are emitted on the loop, on
        a thread that requests or on the source's thread. A cancel cancels the tasks. A plain function that returns a
        coroutine, such as a lambda around a coroutine function, fails the stream with a TypeError at the first element.

        Args:
            function: called with each element.
            concurrency: the maximum number of elements awaited at a time, by default 1. For a coroutine function only.
            ordered: whether results are emitted in the order of their elements; if not, in the order of completion.

        Raises:
            TypeError: ``function`` is not callable, other arguments are given and it is not a coroutine function, or
                ``concurrency`` is not an integer.
            ValueError: ``concurrency`` is less than 1.

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

            limit = 1 if concurrency is None else checked_natural(concurrency, "concurrency", 1)
            return self._over(AsyncMap(self.source, function, limit, ordered))
        if concurrency is not None or not ordered:
            raise TypeError("map: concurrency and ordered require a coroutine function")
        return self._then(operators.transforming.Map(function))

    @overload
    def scan(self, function: Callable[[T_co, T_co], T_co]) -> Stream[T_co]: ...
    @overload
    def scan(self, function: Callable[[R, T_co], R], initial: R) -> Stream[R]: ...
    def scan(self, function: Callable[[Any, Any], Any], initial: Any = MISSING) -> Stream[Any]:
        """Emit each intermediate result of a reduction.

            ---1---2---3---|
            scan(add)
            ---1---3---6---|

            ---1---2---3---|
            scan(add, 10)
            10-11--13--16--|

        Without ``initial``, the first element is the first result. With it, that value is emitted before any element,
        also for an empty stream, as in Reactor's ``scan`` and ``itertools.accumulate``. Forwards demand unchanged,
        except that the initial value uses one unit of demand. If the function raises, the stream fails with that error.

        Args:
            function: called with the previous result and the element; returns the next result.
            initial: the first result.

        Raises:
            TypeError: ``function`` is not callable.
            NullSignal: ``initial`` is None.

        Examples:
            >>> import pyrs
            >>> from operator import add
            >>> pyrs.just(1, 2, 3).scan(add).collect()
            [1, 3, 6]
            >>> pyrs.just(1, 2, 3).scan(add, 10).collect()
            [10, 11, 13, 16]
        """
        return self._then(operators.transforming.Scan(function, initial))

    def handle(self, function: Callable[[T_co, HandleSink], object]) -> Stream[Any]:
        """Let a function transform or drop each element, or complete the stream.

            --------1-------2--------x-------|
            handle(square the numbers, complete at "x")
            --------1-------4--------|

        Combines ``map``, ``filter`` and ``take_while``. Forwards demand unchanged, and requests one more element for
        each that the function drops. Buffers nothing. If the function raises, the stream fails with that error.

        Args:
            function: called with the element and a sink. ``sink.next(element)`` emits an element, ``sink.complete()``
                completes the stream after that element. A call without either drops the element.

        Raises:
            TypeError: ``function`` is not callable.

        Examples:
            >>> import pyrs
            >>> def squares(text, sink):
            ...     if text == "x":
            ...         sink.complete()
            ...     elif text.isdigit():
            ...         sink.next(int(text) ** 2)
            >>> pyrs.from_iterable("1a2x3").handle(squares).collect()
            [1, 4]
        """
        return self._then(operators.transforming.Handle(function))

    def with_index(self, start: int = 0) -> Stream[tuple[int, T_co]]:
        """Pair each element with its index, like ``enumerate``.

            ---a------b------c------|
            with_index()
            ---(0,a)--(1,b)--(2,c)--|

        Forwards demand unchanged. Buffers nothing.

        Args:
            start: the index of the first element.

        Raises:
            TypeError: ``start`` is not an integer.
            ValueError: ``start`` is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "b").with_index(1).collect()
            [(1, 'a'), (2, 'b')]
        """
        return self._then(operators.transforming.WithIndex(start))

    def decode(self: Transforming[bytes], encoding: str = "utf-8", errors: str = "strict") -> Stream[str]:
        r"""Decode chunks of bytes to text.

            ---b"a\xc3"---b"\xa9"---b"c"---|
            decode()
            ---"a"--------"é"-------"c"---|

        Emits the text of each chunk. A character whose bytes span several chunks is emitted with the last of them. If a
        chunk completes no character, nothing is emitted and one more chunk is requested. Buffers the bytes of an
        incomplete character; an error of this stream drops them.

        With ``"strict"``, invalid bytes, and an incomplete character at the end, fail the stream with a
        UnicodeDecodeError. An element that is not a bytes-like object fails it with a TypeError.

        Args:
            encoding: the name of a codec of the standard library, or a registered one, with an incremental decoder.
            errors: how invalid bytes are treated, as for ``bytes.decode``: ``"strict"``, ``"replace"``, ``"ignore"`` or
                another registered name.

        Raises:
            LookupError: the codec or the error handler is unknown.
            TypeError: an argument is not a string.

        Rules: 1.4.

        Examples:
            >>> import pyrs
            >>> chunks = pyrs.just(b"na\xc3", b"\xafve")
            >>> chunks.decode().collect()
            ['na', 'ïve']
        """
        return self._then(operators.decoding.Decode(encoding, errors))

    @overload
    def split_lines(self: Transforming[str], *, max_length: int | None = None) -> Stream[str]: ...
    @overload
    def split_lines(self: Transforming[bytes], *, max_length: int | None = None) -> Stream[bytes]: ...
    def split_lines(self: Transforming[Any], *, max_length: int | None = None) -> Stream[Any]:
        r"""Split chunks of text or bytes into lines.

            ---"a\nb"---"c\n"---"d"---|
            split_lines()
            ---"a"-------"bc"--------"d"|

        Chunks may end anywhere. A line ends with ``\n``, ``\r\n`` or ``\r``, as in a text file, and is emitted
        without it. An incomplete last line is emitted on completion. Requests a chunk when a line is demanded and none
        is buffered, or unbounded demand if that is requested. Buffers the lines of one chunk and an incomplete line,
        which **grows** without ``max_length``. An error of this stream is emitted after the complete lines, and drops
        the incomplete one.

        A line that is too long fails the stream with ``BufferOverflow`` after the lines before it. An element that is
        neither text nor bytes, or not of the first one's kind, fails it with a TypeError.

        Args:
            max_length: the maximum length of a line in characters or bytes, without its line ending; None for no limit.

        Raises:
            TypeError: ``max_length`` is not an integer.
            ValueError: ``max_length`` is less than 1.

        Rules: 1.4.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a\nb", "c\r", "\nd").split_lines().collect()
            ['a', 'bc', 'd']
            >>> pyrs.just(b"x\n\ny").split_lines().collect()
            [b'x', b'', b'y']
        """
        return self._then(operators.decoding.SplitLines(max_length))

    def materialize(self) -> Stream[Notification[T_co]]:
        """Emit each signal as a ``pyrs.Notification``, then complete.

            ---1---2---X
            materialize()
            ---1---2---X|    (Notifications)

        Completion and error also become elements. Forwards demand unchanged; buffers the last notification.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).materialize().collect()
            [Notification.next(1), Notification.completed()]
        """
        return self._then(operators.transforming.Materialize())

    def dematerialize(self: Transforming[Notification[R]]) -> Stream[R]:
        """Convert Notifications back to signals: the inverse of ``materialize``.

            ---1---2---X|    (Notifications)
            dematerialize()
            ---1---2---X

        A completion or error Notification cancels upstream. Forwards demand unchanged: that Notification uses one unit
        of demand. Buffers nothing. An element that is not a Notification fails the stream with a TypeError.

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
        """Apply a function that builds a Publisher from this stream.

            ---1---2---3---|
            transform(lambda stream: stream.map(str).take(2))
            --"1"-"2"|

        Use it for custom operators. The function is called once, immediately, and not per Subscriber; its exceptions
        are raised here. Demand and buffering are those of its result, which is wrapped unless it is a Stream.

        Args:
            function: receives this stream and returns a Publisher.

        Raises:
            TypeError: ``function`` is not callable, or did not return a Publisher.

        Examples:
            >>> import pyrs
            >>> def average_of(count):
            ...     return lambda stream: stream.buffer(count).map(lambda some: sum(some) / len(some))
            >>> pyrs.just(1, 2, 6, 4).transform(average_of(2)).collect()
            [1.5, 5.0]
        """
        result = checked_callable(function, "function")(cast("Stream[T_co]", self))
        return (
            cast("Stream[Any]", result)
            if isinstance(result, OperatorFamily)
            else self._over(checked_publisher(result, "the result of function"))
        )
