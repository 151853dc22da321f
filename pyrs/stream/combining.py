"""Combining operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import A, B, C, D, OperatorFamily, R, T_co

if TYPE_CHECKING:
    from pyrs.stream.stream import Maybe, Single, Stream

Source: TypeAlias = "Publisher[R] | Iterable[R]"
"""A Publisher, or an iterable of elements that is not a str or bytes."""


class Combining(OperatorFamily[T_co]):
    """Operators that combine several streams into one."""

    def _and(self, others: tuple[Publisher[Any], ...]) -> tuple[Publisher[Any], ...]:
        return (self.source, *operators.combining.checked_sources(others, "others"))

    def _and_iterables(self, others: tuple[Source[Any], ...]) -> tuple[Publisher[Any], ...]:
        return (self.source, *operators.combining.as_publishers(others, "others"))

    def merge(
        self,
        *others: Source[R],
        concurrency: int | None = None,
        prefetch: int = 256,
        delay_errors: bool = False,
    ) -> Stream[T_co | R]:
        """Interleave the elements of several streams as they arrive.

            ---1-------2---|
            -----a---b-----|
            merge(letters)
            ---1-a---b-2---|

        Subscribes to the sources in order, requests ``prefetch`` elements of each and buffers them until they are
        demanded. A source over an iterable is pulled on demand instead. Slow Subscribers slow all sources; nothing is
        dropped. Sources with buffered elements are served in turns of at most ``prefetch`` elements.

        Completes when all sources have completed. The first error is emitted after the earlier elements of its source;
        the other sources are cancelled and their buffered elements are discarded.

        A source whose ``subscribe`` blocks delays the sources after it. Use ``subscribe_on`` to run it on its own
        thread.

        Args:
            others: the other Publishers, or iterables of elements.
            concurrency: the maximum number of sources subscribed at the same time; None for no limit.
            prefetch: the maximum number of buffered elements per source.
            delay_errors: whether the remaining sources run to their end before an error is emitted. Later errors are
                reported to the dropped-errors hook.

        Raises:
            TypeError: one of the others is neither a Publisher nor an iterable, or is a str or bytes; or a number is
                not an integer.
            ValueError: ``concurrency`` or ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> sorted(pyrs.just(1, 2).merge(pyrs.just(3)).collect())
            [1, 2, 3]
        """
        return self._over(operators.merging.Merge(self._and_iterables(others), concurrency, prefetch, delay_errors))

    def concat(self, *others: Source[R]) -> Stream[T_co | R]:
        """Emit this stream, then each of the other streams, sequentially.

            ---1---2---|
                       --a---b---|
            concat(letters)
            ---1---2-----a---b---|

        Each source is subscribed to when the previous one has completed, and receives the remaining demand. Buffers and
        drops nothing. An error fails the stream; the sources after it are not subscribed to.

        Args:
            others: the other Publishers, or iterables of elements.

        Raises:
            TypeError: one of the others is neither a Publisher nor an iterable, or is a str or bytes.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).concat(pyrs.just(3), [4, 5]).collect()
            [1, 2, 3, 4, 5]
        """
        return self._over(operators.combining.Concat(self._and_iterables(others)))

    @overload
    def then(self, other: Single[R]) -> Single[R]: ...
    @overload
    def then(self, other: Maybe[R]) -> Maybe[R]: ...
    @overload
    def then(self, other: Publisher[R]) -> Stream[R]: ...
    def then(self, other: Any) -> Any:
        """Ignore the elements of this stream, then emit the other stream.

            ---1---2---|
                       ---a---b---|
            then(letters)
            --------------a---b---|

        Requests unbounded demand of this stream with the first request. The other stream receives the exact demand; it
        is not subscribed to if this one fails. Buffers nothing.

        Raises:
            TypeError: ``other`` is not a Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).do_on_next(print).then(pyrs.just("saved")).collect()
            1
            2
            ['saved']
        """
        ignoring = self._then(operators.filtering.IgnoreElements())
        after = operators.combining.Then(ignoring.source, other)
        return other._kept(after) if isinstance(other, OperatorFamily) else self._over(after)

    def merge_comparing(
        self,
        *others: Publisher[R],
        key: Callable[[Any], Any] | None = None,
        reverse: bool = False,
        prefetch: int = 32,
    ) -> Stream[T_co | R]:
        """Merge sorted streams into one sorted stream, like ``heapq.merge``.

            ---1---4---5---|
            -----2---3-----|
            merge_comparing(others)
            -----1-2-3-----4-5|

        Subscribes to all sources, requests ``prefetch`` elements of each and buffers them until each active source has
        an element; then the smallest is emitted when it is demanded. The slowest source slows the others. Of equal
        elements, that of the earlier source is first. Completes when all sources have completed. An error of a source
        is emitted after its elements; the other sources are cancelled and their buffered elements are discarded.

        Args:
            others: the other Publishers.
            key: returns the value to compare; None for the element.
            reverse: whether the largest is emitted first. The sources must then be sorted in descending order.
            prefetch: the maximum number of buffered elements per source.

        Raises:
            TypeError: one of the others is not a Publisher, ``key`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 4, 5).merge_comparing(pyrs.just(2, 3)).collect()
            [1, 2, 3, 4, 5]
        """
        return self._over(operators.combining.MergeComparing(self._and(others), key, reverse, prefetch))

    def first_with_signal(self, *others: Publisher[R]) -> Stream[T_co | R]:
        """Emit the signals of the stream that signals first, and cancel the others.

            -------1---2---|
            ---a---b---c---|
            first_with_signal(letters)
            ---a---b---c---|

        Also known as ``amb`` and ``race``. An element, completion and an error are signals. Forwards the demand
        to all streams until one signals, then to that stream only. Buffers nothing. Elements of the others are dropped
        and not reported. Streams after one that signals inside ``subscribe`` are not subscribed to.

        Args:
            others: the other Publishers.

        Raises:
            TypeError: one of the others is not a Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.never().first_with_signal(pyrs.just("a", "b")).collect()
            ['a', 'b']
        """
        return self._over(operators.combining.FirstWithSignal(self._and(others)))

    def first_with_value(self, *others: Publisher[R]) -> Stream[T_co | R]:
        """Emit the stream that emits an element first, and cancel the others.

            --X
            ---a---b---c---|
            first_with_value(letters)
            ---a---b---c---|

        Like ``first_with_signal``, except that streams that fail or complete without an element are skipped. If all are
        skipped, the result fails with ``NoElement``, whose cause is the first of their errors. All other errors are
        reported to the dropped-errors hook, and so is the first error if a stream emits an element.

        Args:
            others: the other Publishers.

        Raises:
            TypeError: one of the others is not a Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.empty().first_with_value(pyrs.just("a", "b")).collect()
            ['a', 'b']
        """
        return self._over(operators.combining.FirstWithValue(self._and(others)))

    @overload
    def zip(self, b: Source[A], /, *, prefetch: int = 32) -> Stream[tuple[T_co, A]]: ...
    @overload
    def zip(self, b: Source[A], c: Source[B], /, *, prefetch: int = 32) -> Stream[tuple[T_co, A, B]]: ...
    @overload
    def zip(
        self, b: Source[A], c: Source[B], d: Source[C], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B, C]]: ...
    @overload
    def zip(
        self, b: Source[A], c: Source[B], d: Source[C], e: Source[D], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B, C, D]]: ...
    @overload
    def zip(self, *others: Source[Any], prefetch: int = 32) -> Stream[tuple[Any, ...]]: ...
    @overload
    def zip(self, *, combine: Callable[[T_co], R], prefetch: int = 32) -> Stream[R]: ...
    @overload
    def zip(self, b: Source[A], /, *, combine: Callable[[T_co, A], R], prefetch: int = 32) -> Stream[R]: ...
    @overload
    def zip(
        self, b: Source[A], c: Source[B], /, *, combine: Callable[[T_co, A, B], R], prefetch: int = 32
    ) -> Stream[R]: ...
    @overload
    def zip(
        self,
        b: Source[Any],
        c: Source[Any],
        d: Source[Any],
        /,
        *others: Source[Any],
        combine: Callable[..., R],
        prefetch: int = 32,
    ) -> Stream[R]: ...
    def zip(self, *others: Source[Any], combine: Callable[..., Any] | None = None, prefetch: int = 32) -> Stream[Any]:
        """Combine the n-th elements of all streams.

            ---1------2---3----|
            -----a--b----------c---|
            zip(letters)
            -----1a---2b-------3c|

        Subscribes to all sources, requests ``prefetch`` elements of each and buffers them until every source has an
        element and one is demanded. The slowest source slows the others. Completes when a source has completed and its
        buffered elements are used; the other sources are then cancelled and their buffered elements discarded. An error
        of a source is emitted after its elements.

        Args:
            others: the other Publishers, or iterables of elements.
            combine: called with one element of each source; None for a tuple.
            prefetch: the maximum number of buffered elements per source.

        Raises:
            TypeError: one of the others is neither a Publisher nor an iterable, or is a str or bytes, or ``combine`` is
                not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 3).zip(pyrs.just("a", "b")).collect()
            [(1, 'a'), (2, 'b')]
            >>> pyrs.just("a", "b").zip([10, 20, 30]).collect()
            [('a', 10), ('b', 20)]
        """
        return self._over(operators.combining.Zip(self._and_iterables(others), combine, prefetch))

    def sequence_equal(
        self, other: Publisher[A], comparer: Callable[[T_co, A], object] | None = None, *, prefetch: int = 32
    ) -> Single[bool]:
        """Emit whether two streams emit equal elements in the same order.

            ---1---2---3---|
            --1--2--4------|
            sequence_equal(other)
            -----------False|

        Subscribes to both streams, requests ``prefetch`` elements of each, compares them when both have one, and
        replenishes at 75 %. The first difference, including a difference in length, decides the result and cancels both
        streams. The result is emitted when it is demanded. An error of a stream fails the result after the earlier
        elements have been compared.

        Args:
            other: the other Publisher.
            comparer: called with the n-th elements, returns whether they are equal; None for ``==``.
            prefetch: the maximum number of buffered elements per stream.

        Raises:
            TypeError: ``other`` is not a Publisher, ``comparer`` is not callable, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 3).sequence_equal(pyrs.range(1, 4)).block()
            True
            >>> pyrs.just("a", "b").sequence_equal(pyrs.just("A"), lambda a, b: a.lower() == b.lower()).block()
            False
        """
        return self._single(operators.combining.SequenceEqual(self._and((other,)), comparer, prefetch))

    @overload
    def combine_latest(self, b: Publisher[A], /, *, prefetch: int = 32) -> Stream[tuple[T_co, A]]: ...
    @overload
    def combine_latest(
        self, b: Publisher[A], c: Publisher[B], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B]]: ...
    @overload
    def combine_latest(
        self, b: Publisher[A], c: Publisher[B], d: Publisher[C], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B, C]]: ...
    @overload
    def combine_latest(
        self, b: Publisher[A], c: Publisher[B], d: Publisher[C], e: Publisher[D], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B, C, D]]: ...
    @overload
    def combine_latest(self, *others: Publisher[Any], prefetch: int = 32) -> Stream[tuple[Any, ...]]: ...
    @overload
    def combine_latest(self, *, combine: Callable[[T_co], R], prefetch: int = 32) -> Stream[R]: ...
    @overload
    def combine_latest(
        self, b: Publisher[A], /, *, combine: Callable[[T_co, A], R], prefetch: int = 32
    ) -> Stream[R]: ...
    @overload
    def combine_latest(
        self, b: Publisher[A], c: Publisher[B], /, *, combine: Callable[[T_co, A, B], R], prefetch: int = 32
    ) -> Stream[R]: ...
    @overload
    def combine_latest(
        self,
        b: Publisher[Any],
        c: Publisher[Any],
        d: Publisher[Any],
        /,
        *others: Publisher[Any],
        combine: Callable[..., R],
        prefetch: int = 32,
    ) -> Stream[R]: ...
    def combine_latest(
        self, *others: Publisher[Any], combine: Callable[..., Any] | None = None, prefetch: int = 32
    ) -> Stream[Any]:
        """Combine the latest elements of all streams, each time one of them emits.

            ---1-----2---------|
            -----a-------b-----|
            combine_latest(letters)
            -----1a--2a--2b----|

        Emits nothing until every source has emitted. Subscribes to all sources, requests ``prefetch`` elements of each
        and buffers them in order of arrival until they are demanded; slow Subscribers slow all sources. Until every
        source has emitted, only the latest element of each source is kept; older ones are dropped without a report.
        After that, every element appears in at least one combination.

        Completes when all sources have completed, or when one completes without an element. The first error is emitted
        after the combinations of earlier elements. Use ``subscribe_on`` for a source whose ``subscribe`` blocks.

        Args:
            others: the other Publishers.
            combine: called with the latest element of each source; None for a tuple.
            prefetch: the maximum number of buffered elements per source.

        Raises:
            TypeError: one of the others is not a Publisher, ``combine`` is not callable, or ``prefetch`` is not an
                integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).combine_latest(pyrs.just("a", "b")).collect()
            [(2, 'a'), (2, 'b')]
        """
        return self._over(operators.latest.CombineLatest(self._and(others), combine, prefetch))

    @overload
    def with_latest_from(self, other: Publisher[A]) -> Stream[tuple[T_co, A]]: ...
    @overload
    def with_latest_from(self, other: Publisher[A], combine: Callable[[T_co, A], R]) -> Stream[R]: ...
    def with_latest_from(self, other: Publisher[Any], combine: Callable[..., Any] | None = None) -> Stream[Any]:
        """Combine each element with the latest element of another stream.

            ---1---2-----3---|
            -----a-----b-----|
            with_latest_from(letters)
            -------2a----3b--|

        Forwards demand to this stream. An element that arrives before the first one of ``other`` is dropped without a
        report, and one more is requested. Requests unbounded demand of ``other`` and keeps its latest element.

        Completes with this stream, or when ``other`` completes without an element. The first error fails the stream.

        Args:
            other: the Publisher whose latest element is used.
            combine: called with the element and the latest element of ``other``; None for a tuple.

        Raises:
            TypeError: ``other`` is not a Publisher, or ``combine`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).with_latest_from(pyrs.just("a", "b")).collect()
            [(1, 'b'), (2, 'b')]
        """
        return self._over(operators.latest.WithLatestFrom(self.source, other, combine))

    def start_with(self, *elements: R) -> Stream[T_co | R]:
        """Emit the given elements before those of this stream.

            ---1---2---|
            start_with(0)
            0---1---2---|

        Subscribes to this stream after the given elements, and forwards the remaining demand. Drops nothing.

        Args:
            elements: the elements to emit first.

        Raises:
            NullSignal: one of the elements is None.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).start_with(-1, 0).collect()
            [-1, 0, 1, 2]
        """
        return self._over(operators.combining.StartWith(self.source, elements))

    def switch_if_empty(self, other: Publisher[R]) -> Stream[T_co | R]:
        """Switch to another stream if this one completes without an element.

            -------|
                   --a---b---|
            switch_if_empty(letters)
            ---------a---b---|

        Forwards demand to the active source; ``other`` is subscribed to only if this stream is empty. Buffers and drops
        nothing. An error of this stream is forwarded; use ``on_error_resume`` to recover from it.

        Raises:
            TypeError: ``other`` is not a Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.empty().switch_if_empty(pyrs.just("none")).collect()
            ['none']
        """
        return self._over(operators.combining.SwitchIfEmpty(self.source, other))

    def take_until(self, other: Publisher[Any]) -> Stream[T_co]:
        """Emit elements until another stream emits its first element or completes.

            ---1---2---3---4---|
            -------------x
            take_until(stop)
            ---1---2---3-|

        Subscribes to ``other`` first and requests one element of it. Forwards demand to this stream. When ``other``
        emits or completes, this stream is cancelled and the result completes. An error of either fails the stream.

        Raises:
            TypeError: ``other`` is not a Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).take_until(pyrs.never()).collect()
            [1, 2]
        """
        return self._over(operators.latest.TakeUntil(self.source, other))

    def skip_until(self, other: Publisher[Any]) -> Stream[T_co]:
        """Drop elements until another stream emits its first element or completes.

            ---1---2---3---4---|
            -------------x
            skip_until(go)
            ---------------4---|

        Subscribes to ``other`` first and requests one element of it. Forwards demand to this stream, and requests one
        more element for each that is dropped. Drops are not reported. An error of either fails the stream.

        Raises:
            TypeError: ``other`` is not a Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).skip_until(pyrs.just("go")).collect()
            [1, 2]
        """
        return self._over(operators.latest.SkipUntil(self.source, other))
