"""Terminal operations of Stream, on a thread or on an asyncio loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, overload

from pyrs import operators
from pyrs._core.sites import is_coroutine_function
from pyrs._core.validation import checked_callable, checked_natural
from pyrs.stream.family import OperatorFamily, T_co

if TYPE_CHECKING:
    from contextlib import aclosing


class Terminal(OperatorFamily[T_co]):
    """Operations that run the stream and return its elements."""

    # Terminal operations on the calling thread

    @overload
    def for_each(  # type: ignore[overload-overlap]
        self, action: Callable[[T_co], Coroutine[Any, Any, object]], *, concurrency: int = ...
    ) -> Awaitable[None]: ...
    @overload
    def for_each(self, action: Callable[[T_co], object], *, timeout: float | None = ...) -> None: ...
    def for_each(
        self, action: Callable[[T_co], Any], *, timeout: float | None = None, concurrency: int | None = None
    ) -> Awaitable[None] | None:
        """Call the action with each element and return when the stream completes.

        With a plain function this blocks the calling thread and requests unbounded demand; a synchronous source is
        slowed by the action itself. An asyncio loop on that thread is stalled. With a coroutine function it returns an
        awaitable, which requests elements one by one, or ``concurrency`` ahead, as the actions finish.

        Args:
            action: called with each element, sequentially unless ``concurrency`` is greater than 1. If it raises, the
                stream is cancelled, and the error is raised here.
            timeout: the maximum number of seconds to wait; None for no limit. It cannot interrupt a source that runs on
                this thread. For a plain function only; use ``asyncio.wait_for`` around an ``await``.
            concurrency: the maximum number of concurrent actions, by default 1. For a coroutine function only; more
                than 1 requires asyncio, not trio.

        Raises:
            TimeoutError: the stream did not terminate in time. It was cancelled.
            TypeError: ``action`` is not callable, ``timeout`` is not a number, ``timeout`` or ``concurrency`` is given
                for the other kind of function, ``concurrency`` is not an integer, or a plain function returned a
                coroutine.
            ValueError: ``timeout`` is negative or not finite, or ``concurrency`` is less than 1.
            BaseException: the error of the stream.

        Examples:
            >>> import asyncio, pyrs
            >>> pyrs.just("a", "b").for_each(print)
            a
            b
            >>> async def show(word):
            ...     print(word)
            >>> async def main():
            ...     await pyrs.just("a", "b").for_each(show)
            >>> asyncio.run(main())
            a
            b
        """
        if is_coroutine_function(action):
            if timeout is not None:
                raise TypeError("for_each: timeout requires a plain function; use asyncio.wait_for around the await")
            from pyrs.aio import iteration

            limit = 1 if concurrency is None else checked_natural(concurrency, "concurrency", 1)
            return iteration.for_each(self.source, action, limit)
        if concurrency is not None:
            raise TypeError("for_each: concurrency requires a coroutine function as action")
        operators.terminal.for_each(self.source, checked_callable(action, "action"), timeout)
        return None

    def collect(self, *, timeout: float | None = None) -> list[T_co]:
        """Block until the stream completes, and return all its elements as a list.

        Requests unbounded demand; the list **grows** with the stream.

        Args:
            timeout: the maximum number of seconds to wait; None for no limit.

        Raises:
            TimeoutError: the stream did not terminate in time. It was cancelled.
            TypeError: ``timeout`` is not a number.
            ValueError: ``timeout`` is negative or not finite.
            BaseException: the error of the stream.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).collect()
            [0, 1, 2]
        """
        return operators.terminal.collect(self.source, timeout)

    def to_iterable(self, *, prefetch: int | None = None, timeout: float | None = None) -> Iterator[T_co]:
        """Return an iterator over the elements, which blocks the thread that iterates.

        Closing or releasing the iterator cancels the stream. A chain over an iterable runs on the calling thread, and
        each ``next`` requests one element. From any other Publisher up to ``prefetch`` elements are requested ahead,
        and more when 75 % of them are consumed.

        Args:
            prefetch: the maximum number of buffered elements; 1 requests each element when it is needed. The default is
                256, and grows up to 4,096 while an element takes less than 4 microseconds on average.
            timeout: the maximum number of seconds to wait for an element of another thread; None for no limit.

        Raises:
            TimeoutError: no element arrived in time. The stream was cancelled.
            TypeError: ``timeout`` is not a number, or ``prefetch`` is not an integer.
            ValueError: ``timeout`` is negative or not finite, or ``prefetch`` is less than 1.
            BaseException: the error of the stream.

        Examples:
            >>> import pyrs
            >>> for word in pyrs.just("one", "two").to_iterable():
            ...     print(word)
            one
            two
        """
        if prefetch is not None:
            prefetch = checked_natural(prefetch, "prefetch", 1)
        return operators.terminal.to_iterable(self.source, prefetch, timeout)

    # Terminal operations on an asyncio loop

    def __aiter__(self) -> AsyncIterator[T_co]:
        """Iterate on the running asyncio loop, and request one element per iteration.

        Leaving an ``async for`` early cancels only when Python finalizes the iterator; ``iterate`` cancels at once.
        """
        from pyrs.aio import iteration  # asyncio is a slow import that most streams do not need

        return iteration.elements(self.source, 1)

    def iterate(self, *, prefetch: int = 1) -> aclosing[AsyncGenerator[T_co, None]]:
        """Return a context manager that yields an asynchronous iterator of the elements.

        Leaving the block cancels the stream.

        Args:
            prefetch: the maximum number of elements requested ahead; more are requested when 75 % are consumed. A value
                above 1 is faster if elements arrive from other threads: the loop is woken once per batch.

        Raises:
            TypeError: ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
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

        from pyrs.aio import iteration

        return aclosing(iteration.elements(self.source, checked_natural(prefetch, "prefetch", 1)))
