"""Stream: a Publisher with operators. Thin: what an operator does is in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.fusion import Stage
from pyrs._core.iterating import IterablePublisher
from pyrs._core.staged import StagedPublisher
from pyrs._core.subscription import checked_subscriber
from pyrs._core.text import checked_callable, checked_natural
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.operators import filtering, terminal, transform

if TYPE_CHECKING:
    from contextlib import aclosing

__all__ = ["Stream"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Stream(Publisher[T_co]):
    """A Publisher with operators; nothing happens until somebody subscribes.

    Args:
        source: any Publisher. What it signals is passed on as it is; demand and cancels reach it unchanged.

    Attributes:
        source: that Publisher.

    None is not an element. It may pass between the synchronous stages of one chain (``map`` to ``filter``), but where
    it would reach a Subscriber the stream fails with ``NullSignal``.
    """

    __slots__ = ("source",)

    def __init__(self, source: Publisher[T_co]) -> None:
        if isinstance(source, Stream):
            source = source.source
        if not callable(getattr(source, "subscribe", None)):
            raise TypeError(f"source must be a Publisher: {type(source).__name__} has no subscribe()")
        self.source: Publisher[T_co] = source

    def __repr__(self) -> str:
        return repr(self.source)

    # Subscribing.

    @overload
    def subscribe(self, subscriber: Subscriber[T_co], /) -> None: ...
    @overload
    def subscribe(
        self,
        *,
        on_next: Callable[[T_co], object] | None = None,
        on_error: Callable[[BaseException], object] | None = None,
        on_complete: Callable[[], object] | None = None,
        request: int | None = None,
    ) -> Subscription: ...
    def subscribe(
        self,
        subscriber: Subscriber[T_co] | None = None,
        *,
        on_next: Callable[[T_co], object] | None = None,
        on_error: Callable[[BaseException], object] | None = None,
        on_complete: Callable[[], object] | None = None,
        request: int | None = None,
    ) -> Subscription | None:
        """Start streaming, to a Subscriber or to callables.

        Args:
            subscriber: receives ``on_subscribe`` and then what it requests.
            on_next: called with each element, in place of a Subscriber.
            on_error: called with the error; an error without it is reported as dropped.
            on_complete: called at the end.
            request: how much the callables ask for at first; None means all there is.

        Returns:
            With callables, the Subscription: to request more, or to cancel.

        Raises:
            NullSignal: there is neither a Subscriber nor a callable (1.9).
            TypeError: there are both, or one of them is not what it should be.

        Example:
            >>> import pyrs
            >>> _ = pyrs.range(5).subscribe(on_next=print, request=2)
            0
            1
        """
        given = on_next is not None or on_error is not None or on_complete is not None
        if subscriber is not None or not given:
            if given or request is not None:
                raise TypeError("give a Subscriber or callables, not both; request goes with callables")
            self.source.subscribe(checked_subscriber(subscriber))
            return None
        callbacks = CallbackSubscriber(on_next, on_error, on_complete, request)
        self.source.subscribe(callbacks)
        return callbacks

    # Operators.

    def _then(self, stage: Stage) -> Stream[Any]:
        source = self.source
        if isinstance(source, IterablePublisher):
            return Stream(IterablePublisher(source.iterable, (*source.stages, stage), source.name))
        if isinstance(source, StagedPublisher):
            return Stream(StagedPublisher(source.source, (*source.stages, stage)))
        return Stream(StagedPublisher(source, (stage,)))

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
        return self._then(transform.Map(function))

    def filter(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Let the elements pass for which the predicate is true.

        ::

            ---1---2---3---4---|
            filter(is_even)
            -------2-------4---|

        Demand counts the elements that pass: upstream is asked for one more in place of each that does not. What the
        predicate raises ends the stream with that error and cancels upstream.

        Raises:
            TypeError: the predicate cannot be called.

        Example:
            >>> import pyrs
            >>> pyrs.range(6).filter(lambda n: n % 2).collect()
            [1, 3, 5]
        """
        return self._then(filtering.Filter(predicate))

    def take(self, count: int) -> Stream[T_co]:
        """Let the first elements pass, then complete and cancel upstream.

        ::

            ---1---2---3---4---
            take(2)
            ---1---2|

        Never requests more than ``count`` from upstream, completes with the last element without being asked again, and
        ``take(0)`` completes at once.

        Raises:
            TypeError: the count is not an integer.
            ValueError: it is negative.

        Example:
            >>> import pyrs
            >>> from itertools import count
            >>> pyrs.from_iterable(count()).take(3).collect()
            [0, 1, 2]
        """
        return self._then(filtering.Take(count))

    # Endings on the calling thread.

    def for_each(self, action: Callable[[T_co], object], *, timeout: float | None = None) -> None:
        """Call the action with each element and return when the stream completes.

        Requests everything: the action itself is what holds a synchronous source back. Do not call it on an asyncio
        loop.

        Args:
            action: called with one element after the other. What it raises cancels the stream and is raised here.
            timeout: the most seconds to wait, None for as long as it takes. It cannot interrupt a source that runs on
                this thread.

        Raises:
            TimeoutError: the stream did not end in time. It was cancelled.
            BaseException: what the stream failed with.

        Example:
            >>> import pyrs
            >>> pyrs.just("a", "b").for_each(print)
            a
            b
        """
        terminal.for_each(self.source, checked_callable(action, "action"), timeout)

    def collect(self, *, timeout: float | None = None) -> list[T_co]:
        """Return all the elements as a list. Requests everything, and grows with the stream.

        Raises:
            TimeoutError: the stream did not end in time. It was cancelled.
            BaseException: what the stream failed with.

        Example:
            >>> import pyrs
            >>> pyrs.range(3).collect()
            [0, 1, 2]
        """
        return terminal.collect(self.source, timeout)

    def to_iterable(self, *, prefetch: int = 256, timeout: float | None = None) -> Iterator[T_co]:
        """Return an iterator of the elements. Closing it, or letting go of it, cancels the stream.

        A chain over an iterable is iterated on the calling thread: each ``next`` demands one element. Of any other
        Publisher up to ``prefetch`` elements are requested ahead, and again when three quarters of them were used.

        Args:
            prefetch: the most elements held; 1 demands each element as it is wanted.
            timeout: the most seconds to wait for one element of another thread; None for as long as it takes.

        Raises:
            TimeoutError: no element came in time. The stream was cancelled.
            BaseException: what the stream failed with.

        Example:
            >>> import pyrs
            >>> for word in pyrs.just("one", "two").to_iterable():
            ...     print(word)
            one
            two
        """
        return terminal.to_iterable(self.source, checked_natural(prefetch, "prefetch", 1), timeout)

    # Endings on an asyncio loop.

    def __aiter__(self) -> AsyncIterator[T_co]:
        """Iterate on the running asyncio loop: an element is requested when the loop asks for it, and not before.

        An ``async for`` that is left early cancels the stream when Python finalises the iterator; ``iterate`` does so
        at once, and requests ahead where that is wanted.
        """
        from pyrs import aio  # asyncio is a slow import, and most streams never see a loop

        return aio.elements(self.source, 1)

    def iterate(self, *, prefetch: int = 1) -> aclosing[AsyncGenerator[T_co, None]]:
        """Return a context manager whose value is an asynchronous iterator; leaving the block cancels the stream.

        Args:
            prefetch: how many elements are requested ahead of the loop; again when three quarters of them were used.
                More than 1 pays where elements come from other threads: the loop is woken once for a batch.

        Example:
            >>> import asyncio, pyrs
            >>> async def main():
            ...     async with pyrs.range(10).iterate() as numbers:
            ...         async for number in numbers:
            ...             if number == 2:
            ...                 return number
            >>> asyncio.run(main())
            2
        """
        from contextlib import aclosing

        from pyrs import aio

        return aclosing(aio.elements(self.source, checked_natural(prefetch, "prefetch", 1)))
