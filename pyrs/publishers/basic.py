"""Basic sources: from_iterable, range, just, empty, error, never."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import NoReturn, overload

from pyrs._core.display import call_of, listed, short
from pyrs._core.downstream import checked_subscriber
from pyrs._core.iterating import IterablePublisher
from pyrs._core.sites import assembly_site
from pyrs._core.source import InertSubscription
from pyrs.api import Publisher, Subscriber, T
from pyrs.errors import NullSignal
from pyrs.stream.stream import Maybe, Single, Stream

__all__ = ["empty", "error", "from_iterable", "just", "never", "range"]


def from_iterable(iterable: Iterable[T]) -> Stream[T]:
    """Return a stream of the elements of an iterable.

    Cold: each Subscriber iterates the iterable; Subscribers of an iterator share its remaining elements. Elements are
    pulled on demand, on the thread that requests. A list, tuple, range, str or bytes completes the stream with its last
    element; other iterables usually complete it when one more element is requested. When the stream terminates or is
    cancelled, it closes an iterator that it created, but not an iterator that was passed in.

    Raises:
        TypeError: ``iterable`` is not iterable.

    Rules: 1.1, 1.2, 1.4, 1.5, 3.9. An element that is None fails the stream with ``NullSignal``.

    Examples:
        >>> from_iterable([1, 2, 3]).map(str).collect()
        ['1', '2', '3']
    """
    kind = type(iterable)
    is_indexable = hasattr(kind, "__getitem__") and not hasattr(kind, "__iter__") and not issubclass(kind, Publisher)
    if getattr(kind, "__iter__", None) is None and not is_indexable:
        raise TypeError(f"iterable must be an iterable, not {kind.__name__}{_advice_for(iterable)}")
    return Stream(IterablePublisher(iterable, (), call_of("from_iterable", short, iterable), assembly_site()))


def _advice_for(source: object) -> str:
    """Return advice for a source that is not an iterable."""
    if callable(getattr(source, "subscribe", None)):
        return ", which is a Publisher: use Stream(publisher)"
    if hasattr(type(source), "__aiter__"):
        return ": use from_async_iterable"
    if hasattr(type(source), "__await__"):
        return ": use from_awaitable"
    if callable(source):
        return ": call it, or use defer or from_callable"
    return ""


@overload
def range(stop: int, /) -> Stream[int]: ...
@overload
def range(start: int, stop: int, step: int = 1, /) -> Stream[int]: ...
def range(*bounds: int) -> Stream[int]:
    """Return a stream of integers, with the arguments of the built-in ``range``.

    Examples:
        >>> range(2, 10, 3).collect()
        [2, 5, 8]
    """
    numbers = builtins.range(*bounds)
    return Stream(IterablePublisher(numbers, (), repr(numbers)))


@overload
def just(element: T, /) -> Single[T]: ...
@overload
def just(*elements: T) -> Stream[T]: ...
def just(*elements: T) -> Stream[T]:
    """Return a stream of the given elements; a ``Single`` for one element.

    Raises:
        NullSignal: an element is None.

    Examples:
        >>> just("a", "b").collect()
        ['a', 'b']
    """
    if any(element is None for element in elements):
        raise NullSignal("just(None): None is not an element")
    kind: type[Stream[T]] = Single if len(elements) == 1 else Stream
    return kind(IterablePublisher(elements, (), call_of("just", listed, elements)))


def empty() -> Maybe[NoReturn]:
    """Return a stream that completes at once, without demand (§2.9).

    Examples:
        >>> empty().collect()
        []
    """
    return Maybe(IterablePublisher((), (), "empty()"))


def error(exception: BaseException) -> Single[NoReturn]:
    """Return a stream that fails at once with this exception, without demand (§2.10).

    Raises:
        TypeError: ``exception`` is not an exception.

    Examples:
        >>> error(ValueError("no")).collect()
        Traceback (most recent call last):
        ...
        ValueError: no
    """
    given: object = exception
    if not isinstance(given, BaseException):
        advice = f": create an instance, {given.__name__}(...)" if isinstance(given, type) else ""
        raise TypeError(f"exception must be an exception, not {type(given).__name__}{advice}")
    return Single(_InertPublisher(exception))


def never() -> Stream[NoReturn]:
    """Return a stream that emits no signal except ``on_subscribe``.

    A non-positive request fails the stream (§3.9).
    """
    return Stream(_InertPublisher(None))


class _InertPublisher(Publisher[NoReturn]):
    """Fails with the exception, or emits nothing if it is None."""

    def __init__(self, exception: BaseException | None) -> None:
        self.exception = exception

    def subscribe(self, subscriber: Subscriber[NoReturn], /) -> None:
        InertSubscription(checked_subscriber(subscriber), self.exception).start()

    def __repr__(self) -> str:
        return "never()" if self.exception is None else f"error({short(self.exception)})"
