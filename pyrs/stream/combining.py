"""The combining operators of a stream; ``pyrs/operators`` has what they do: combining, merging, latest and until."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pyrs import operators
from pyrs._core.validation import checked_natural
from pyrs.api import Publisher
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Combining"]

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
R = TypeVar("R")


class Combining(Family[T_co]):
    """Operators that make one stream of several."""

    __slots__ = ()

    def _and(self, others: tuple[Publisher[Any], ...]) -> tuple[Publisher[Any], ...]:
        return (self.source, *operators.combining.checked_sources(others, "others"))

    def merge(
        self,
        *others: Publisher[R],
        concurrency: int | None = None,
        prefetch: int = 256,
        delay_errors: bool = False,
    ) -> Stream[T_co | R]:
        """Let the elements of several streams pass as they come.

            ---1-------2---|
            -----a---b-----|
            merge(letters)
            ---1-a---b-2---|

        Subscribes to all at once, requests ``prefetch`` elements of each and holds them until they are demanded; one
        over an iterable is pulled from exactly as demanded. Slow Subscribers slow all sources, and nothing is dropped.
        Sources that have something take turns, of ``prefetch`` elements at most. Completes when all have; the first
        error ends the stream after what that source gave before, cancels the others and lets go of what is held of
        them.

        They are subscribed to one after the other. One whose ``subscribe`` returns only when it is done, such as a
        ``create`` with a loop, keeps those behind it from beginning; ``subscribe_on`` gives it a thread of its own.

        Args:
            others: the other Publishers.
            concurrency: the most sources that are subscribed to at the same time; None for all.
            prefetch: the most elements that are held of each.
            delay_errors: whether the others are finished before an error ends the stream. Errors that follow the first
                go to the hook for dropped errors.

        Raises:
            TypeError: one of the others is no Publisher.
            ValueError: concurrency or prefetch is less than 1.

        Examples:
            >>> import pyrs
            >>> sorted(pyrs.just(1, 2).merge(pyrs.just(3)).collect())
            [1, 2, 3]
        """
        if concurrency is not None:
            concurrency = checked_natural(concurrency, "concurrency", 1)
        prefetch = checked_natural(prefetch, "prefetch", 1)
        return self._over(operators.merging.Merge(self._and(others), concurrency, prefetch, delay_errors))

    def concat(self, *others: Publisher[R]) -> Stream[T_co | R]:
        """Go on with the others, one after the other, when this stream has completed.

            ---1---2---|
                       --a---b---|
            concat(letters)
            ---1---2-----a---b---|

        Each is subscribed to when its turn comes, and is asked for what is still demanded. Nothing is held or dropped.
        An error ends the stream: those that follow are not subscribed to.

        Raises:
            TypeError: one of the others is no Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).concat(pyrs.just(3)).collect()
            [1, 2, 3]
        """
        return self._over(operators.combining.Concat(self._and(others)))

    @overload
    def zip(self, other: Publisher[A], /, *, prefetch: int = 32) -> Stream[tuple[T_co, A]]: ...
    @overload
    def zip(
        self, other: Publisher[A], another: Publisher[B], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B]]: ...
    @overload
    def zip(
        self, b: Publisher[A], c: Publisher[B], d: Publisher[C], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B, C]]: ...
    @overload
    def zip(
        self, b: Publisher[A], c: Publisher[B], d: Publisher[C], e: Publisher[D], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, A, B, C, D]]: ...
    @overload
    def zip(self, *others: Publisher[Any], prefetch: int = 32) -> Stream[tuple[Any, ...]]: ...
    @overload
    def zip(self, *others: Publisher[Any], combine: Callable[..., R], prefetch: int = 32) -> Stream[R]: ...
    def zip(
        self, *others: Publisher[Any], combine: Callable[..., Any] | None = None, prefetch: int = 32
    ) -> Stream[Any]:
        """Put the first elements of all streams together, then the second ones, and so on.

            ---1------2---3----|
            -----a--b----------c---|
            zip(letters)
            -----1a---2b-------3c|

        Subscribes to all at once, requests ``prefetch`` elements of each and holds them until there is one of each and
        it is demanded. The slowest source slows the others; nothing is dropped before the end. Completes as soon as one
        source has ended and its elements are used up: the others are cancelled, and what was prefetched of them is
        let go. A source's error comes in the same place, after what it gave before.

        Args:
            others: the other Publishers.
            combine: called with one element of each; None for a tuple of them.
            prefetch: the most elements that are held of each.

        Raises:
            TypeError: one of the others is no Publisher, or combine is not callable.
            ValueError: prefetch is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 3).zip(pyrs.just("a", "b")).collect()
            [(1, 'a'), (2, 'b')]
        """
        return self._over(operators.combining.Zip(self._and(others), combine, checked_natural(prefetch, "prefetch", 1)))

    @overload
    def combine_latest(self, other: Publisher[A], /, *, prefetch: int = 32) -> Stream[tuple[T_co, A]]: ...
    @overload
    def combine_latest(
        self, other: Publisher[A], another: Publisher[B], /, *, prefetch: int = 32
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
    def combine_latest(self, *others: Publisher[Any], combine: Callable[..., R], prefetch: int = 32) -> Stream[R]: ...
    def combine_latest(
        self, *others: Publisher[Any], combine: Callable[..., Any] | None = None, prefetch: int = 32
    ) -> Stream[Any]:
        """At each element of any stream, put the latest of all together, as soon as all have given one.

            ---1-----2---------|
            -----a-------b-----|
            combine_latest(letters)
            -----1a--2a--2b----|

        Subscribes to all at once, requests ``prefetch`` elements of each and holds them, in the order in which they
        came, until they are demanded: slow Subscribers slow all sources. Only the latest counts: an element that is
        followed by another of its source before all sources have given one is dropped, and is not reported; every later
        one is seen in at least one combination.

        Completes when all have, or when one has ended without an element. The first error ends the stream, after what
        came before it. A source whose ``subscribe`` returns only when it is done belongs behind ``subscribe_on``, as in
        ``merge``.

        Args:
            others: the other Publishers.
            combine: called with the latest of each; None for a tuple of them.
            prefetch: the most elements that are held of each.

        Raises:
            TypeError: one of the others is no Publisher, or combine is not callable.
            ValueError: prefetch is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).combine_latest(pyrs.just("a", "b")).collect()
            [(2, 'a'), (2, 'b')]
        """
        prefetch = checked_natural(prefetch, "prefetch", 1)
        return self._over(operators.latest.CombineLatest(self._and(others), combine, prefetch))

    @overload
    def with_latest_from(self, other: Publisher[A]) -> Stream[tuple[T_co, A]]: ...
    @overload
    def with_latest_from(self, other: Publisher[A], combine: Callable[[T_co, A], R]) -> Stream[R]: ...
    def with_latest_from(self, other: Publisher[Any], combine: Callable[..., Any] | None = None) -> Stream[Any]:
        """Put each element together with the latest of another stream.

            ---1---2-----3---|
            -----a-----b-----|
            with_latest_from(letters)
            -------2a----3b--|

        This stream is asked for exactly what is demanded, and for one more in place of each element that comes before
        the other has given one: such an element is dropped, and is not reported. Everything is requested of the other
        stream, and only its latest element is held.

        Completes with this stream, or when the other has ended without an element. The first error ends the stream.

        Args:
            other: the Publisher whose latest counts.
            combine: called with the element and the latest of the other; None for a tuple of both.

        Raises:
            TypeError: other is no Publisher, or combine is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).with_latest_from(pyrs.just("a", "b")).collect()
            [(1, 'b'), (2, 'b')]
        """
        return self._over(operators.latest.WithLatestFrom(self.source, other, combine))

    def start_with(self, *elements: R) -> Stream[T_co | R]:
        """Give these elements first.

            ---1---2---|
            start_with(0)
            0---1---2---|

        This stream is subscribed to when they were taken, and is asked for what is still demanded. Nothing is dropped.

        Raises:
            NullSignal: one of the elements is None.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).start_with(-1, 0).collect()
            [-1, 0, 1, 2]
        """
        return self._over(operators.combining.StartWith(self.source, elements))

    def switch_if_empty(self, other: Publisher[R]) -> Stream[T_co | R]:
        """Go on with another stream if this one completes without an element.

            -------|
                   --a---b---|
            switch_if_empty(letters)
            ---------a---b---|

        Whichever is on is asked for exactly what is demanded; the other is not subscribed to unless it is needed.
        Nothing is held or dropped. An error is an error: the other is not for that.

        Raises:
            TypeError: other is no Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.empty().switch_if_empty(pyrs.just("none")).collect()
            ['none']
        """
        return self._over(operators.combining.SwitchIfEmpty(self.source, other))

    def take_until(self, other: Publisher[Any]) -> Stream[T_co]:
        """Let elements pass until another stream gives its first element, or completes: that is the end.

            ---1---2---3---4---|
            -------------x
            take_until(stop)
            ---1---2---3-|

        The other is subscribed to first, and asked for one element. This stream is asked for exactly what is demanded;
        at the end it is cancelled. An error of either ends the stream.

        Raises:
            TypeError: other is no Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).take_until(pyrs.never()).collect()
            [1, 2]
        """
        return self._over(operators.until.TakeUntil(self.source, other))

    def skip_until(self, other: Publisher[Any]) -> Stream[T_co]:
        """Drop elements until another stream gives its first element, or completes; then let them pass.

            ---1---2---3---4---|
            -------------x
            skip_until(go)
            ---------------4---|

        The other is subscribed to first, and asked for one element. This stream is asked for what is demanded, and for
        one more in place of each element that is dropped; such drops are not reported. An error of either ends the
        stream.

        Raises:
            TypeError: other is no Publisher.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).skip_until(pyrs.just("go")).collect()
            [1, 2]
        """
        return self._over(operators.until.SkipUntil(self.source, other))
