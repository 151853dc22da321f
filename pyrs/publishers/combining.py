"""Combining sources: merge, concat, zip, combine_latest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from pyrs.api import Publisher, R, T
from pyrs.operators import combining, latest, merging
from pyrs.stream.combining import Source
from pyrs.stream.family import A, B, C, D
from pyrs.stream.stream import Stream

__all__ = ["combine_latest", "concat", "merge", "zip"]

E = TypeVar("E")


def _sources_of(sources: tuple[Any, ...]) -> tuple[Publisher[Any], ...]:
    """Return the Publishers of the arguments.

    A single iterable contains the Publishers. If there are several arguments, an iterable becomes a stream of its
    elements.
    """
    if len(sources) == 1 and not hasattr(sources[0], "subscribe") and isinstance(sources[0], Iterable):
        return tuple(sources[0])
    return combining.as_publishers(sources)


@overload
def merge(
    a: Source[A],
    b: Source[B],
    /,
    *,
    concurrency: int | None = None,
    prefetch: int = 256,
    delay_errors: bool = False,
) -> Stream[A | B]: ...
@overload
def merge(
    a: Source[A],
    b: Source[B],
    c: Source[C],
    /,
    *,
    concurrency: int | None = None,
    prefetch: int = 256,
    delay_errors: bool = False,
) -> Stream[A | B | C]: ...
@overload
def merge(
    a: Source[A],
    b: Source[B],
    c: Source[C],
    d: Source[D],
    /,
    *,
    concurrency: int | None = None,
    prefetch: int = 256,
    delay_errors: bool = False,
) -> Stream[A | B | C | D]: ...
@overload
def merge(
    *sources: Publisher[T] | Iterable[Publisher[T]],
    concurrency: int | None = None,
    prefetch: int = 256,
    delay_errors: bool = False,
) -> Stream[T]: ...
def merge(
    *sources: Any, concurrency: int | None = None, prefetch: int = 256, delay_errors: bool = False
) -> Stream[Any]:
    """Return a stream that interleaves the elements of all sources.

    See ``Stream.merge``.

    Args:
        sources: Publishers and iterables of elements, or a single iterable of Publishers.
        concurrency: the maximum number of sources subscribed at the same time; None for no limit.
        prefetch: the maximum number of buffered elements per source.
        delay_errors: whether the remaining sources run to their end before an error is emitted.

    Raises:
        TypeError: a source is neither a Publisher nor an iterable, or is a str or bytes; or a number is not an integer.
        ValueError: ``concurrency`` or ``prefetch`` is less than 1.

    Examples:
        >>> from pyrs import just
        >>> sorted(merge(just(1, 2), just(3)).collect())
        [1, 2, 3]
    """
    return Stream(merging.Merge(_sources_of(sources), concurrency, prefetch, delay_errors))


@overload
def concat(a: Source[A], b: Source[B], /) -> Stream[A | B]: ...
@overload
def concat(a: Source[A], b: Source[B], c: Source[C], /) -> Stream[A | B | C]: ...
@overload
def concat(a: Source[A], b: Source[B], c: Source[C], d: Source[D], /) -> Stream[A | B | C | D]: ...
@overload
def concat(*sources: Publisher[T] | Iterable[Publisher[T]]) -> Stream[T]: ...
def concat(*sources: Any) -> Stream[Any]:
    """Return a stream that emits the elements of the sources sequentially.

    See ``Stream.concat``.

    Args:
        sources: Publishers and iterables of elements, or a single iterable of Publishers, which is read immediately.

    Raises:
        TypeError: a source is neither a Publisher nor an iterable, or is a str or bytes.

    Examples:
        >>> from pyrs import just
        >>> concat([just(n) for n in (1, 2, 3)]).collect()
        [1, 2, 3]
    """
    return Stream(combining.Concat(_sources_of(sources)))


@overload
def zip(a: Source[A], b: Source[B], /, *, prefetch: int = 32) -> Stream[tuple[A, B]]: ...
@overload
def zip(a: Source[A], b: Source[B], c: Source[C], /, *, prefetch: int = 32) -> Stream[tuple[A, B, C]]: ...
@overload
def zip(
    a: Source[A], b: Source[B], c: Source[C], d: Source[D], /, *, prefetch: int = 32
) -> Stream[tuple[A, B, C, D]]: ...
@overload
def zip(
    a: Source[A], b: Source[B], c: Source[C], d: Source[D], e: Source[E], /, *, prefetch: int = 32
) -> Stream[tuple[A, B, C, D, E]]: ...
@overload
def zip(*sources: Publisher[Any] | Iterable[Publisher[Any]], prefetch: int = 32) -> Stream[tuple[Any, ...]]: ...
@overload
def zip(a: Source[A], b: Source[B], /, *, combine: Callable[[A, B], R], prefetch: int = 32) -> Stream[R]: ...
@overload
def zip(
    a: Source[A], b: Source[B], c: Source[C], /, *, combine: Callable[[A, B, C], R], prefetch: int = 32
) -> Stream[R]: ...
@overload
def zip(
    sources: Publisher[Any] | Iterable[Publisher[Any]], /, *, combine: Callable[..., R], prefetch: int = 32
) -> Stream[R]: ...
@overload
def zip(
    a: Source[Any],
    b: Source[Any],
    c: Source[Any],
    d: Source[Any],
    /,
    *sources: Source[Any],
    combine: Callable[..., R],
    prefetch: int = 32,
) -> Stream[R]: ...
def zip(*sources: Any, combine: Callable[..., Any] | None = None, prefetch: int = 32) -> Stream[Any]:
    """Return a stream that combines the n-th elements of all sources.

    See ``Stream.zip``.

    Args:
        sources: Publishers and iterables of elements, or a single iterable of Publishers. Without sources the stream is
            empty.
        combine: called with one element of each source; None for a tuple.
        prefetch: the maximum number of buffered elements per source.

    Raises:
        TypeError: a source is neither a Publisher nor an iterable, or is a str or bytes; or ``combine`` is not
            callable, or ``prefetch`` is not an integer.
        ValueError: ``prefetch`` is less than 1.

    Examples:
        >>> from pyrs import just
        >>> zip(just(1, 2), just("a", "b")).collect()
        [(1, 'a'), (2, 'b')]
    """
    return Stream(combining.Zip(_sources_of(sources), combine, prefetch))


@overload
def combine_latest(a: Source[A], b: Source[B], /, *, prefetch: int = 32) -> Stream[tuple[A, B]]: ...
@overload
def combine_latest(a: Source[A], b: Source[B], c: Source[C], /, *, prefetch: int = 32) -> Stream[tuple[A, B, C]]: ...
@overload
def combine_latest(
    a: Source[A], b: Source[B], c: Source[C], d: Source[D], /, *, prefetch: int = 32
) -> Stream[tuple[A, B, C, D]]: ...
@overload
def combine_latest(
    a: Source[A], b: Source[B], c: Source[C], d: Source[D], e: Source[E], /, *, prefetch: int = 32
) -> Stream[tuple[A, B, C, D, E]]: ...
@overload
def combine_latest(
    *sources: Publisher[Any] | Iterable[Publisher[Any]], prefetch: int = 32
) -> Stream[tuple[Any, ...]]: ...
@overload
def combine_latest(a: Source[A], b: Source[B], /, *, combine: Callable[[A, B], R], prefetch: int = 32) -> Stream[R]: ...
@overload
def combine_latest(
    a: Source[A], b: Source[B], c: Source[C], /, *, combine: Callable[[A, B, C], R], prefetch: int = 32
) -> Stream[R]: ...
@overload
def combine_latest(
    sources: Publisher[Any] | Iterable[Publisher[Any]], /, *, combine: Callable[..., R], prefetch: int = 32
) -> Stream[R]: ...
@overload
def combine_latest(
    a: Source[Any],
    b: Source[Any],
    c: Source[Any],
    d: Source[Any],
    /,
    *sources: Source[Any],
    combine: Callable[..., R],
    prefetch: int = 32,
) -> Stream[R]: ...
def combine_latest(*sources: Any, combine: Callable[..., Any] | None = None, prefetch: int = 32) -> Stream[Any]:
    """Return a stream that combines the latest elements of all sources.

    Emits each time a source emits, once all sources have emitted. See ``Stream.combine_latest``.

    Args:
        sources: Publishers and iterables of elements, or a single iterable of Publishers. Without sources the stream is
            empty.
        combine: called with the latest element of each source; None for a tuple.
        prefetch: the maximum number of buffered elements per source.

    Raises:
        TypeError: a source is neither a Publisher nor an iterable, or is a str or bytes; or ``combine`` is not
            callable, or ``prefetch`` is not an integer.
        ValueError: ``prefetch`` is less than 1.

    Examples:
        >>> from pyrs import just
        >>> combine_latest(just(1), just("a", "b"), combine="{}{}".format).collect()
        ['1a', '1b']
    """
    return Stream(latest.CombineLatest(_sources_of(sources), combine, prefetch))
