"""Stream: all the families of operators in one, and the endings."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from pyrs import operators
from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.context import attach
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.sites import assembly_site, is_coroutine_function
from pyrs._core.stage import Stage
from pyrs._core.subscription import checked_subscriber
from pyrs._core.validation import checked_callable, checked_natural, checked_publisher
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.stream.backpressure import Backpressure
from pyrs.stream.combining import Combining
from pyrs.stream.filtering import Filtering
from pyrs.stream.flattening import Flattening
from pyrs.stream.folding import Folding
from pyrs.stream.grouping import Grouping
from pyrs.stream.observing import Observing
from pyrs.stream.recovering import Recovering
from pyrs.stream.scheduling import Scheduling
from pyrs.stream.sharing import Sharing
from pyrs.stream.timing import Timing
from pyrs.stream.transforming import Transforming

if TYPE_CHECKING:
    from contextlib import aclosing

    from pyrs.stream.awaiting import AsyncSubscriber
    from pyrs.stream.single import Single

__all__ = ["Stream"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Stream(
    Transforming[T_co],
    Filtering[T_co],
    Folding[T_co],
    Combining[T_co],
    Flattening[T_co],
    Grouping[T_co],
    Timing[T_co],
    Recovering[T_co],
    Observing[T_co],
    Scheduling[T_co],
    Backpressure[T_co],
    Sharing[T_co],
):
    """A Publisher with operators; nothing happens until somebody subscribes.

    Args:
        source: any Publisher. What it signals is passed on as it is; demand and cancels reach it unchanged.

    Attributes:
        source: that Publisher.

    None is not an element. It may pass between the synchronous stages of one chain (``map`` to ``filter``), but where
    it would reach a Subscriber the stream fails with ``NullSignal``.
    """

    __slots__ = ("source",)

    carries_context = True

    def __init__(self, source: Publisher[T_co]) -> None:
        if isinstance(source, Stream):
            source = source.source
        self.source: Publisher[T_co] = checked_publisher(source, "source")

    def __repr__(self) -> str:
        source = getattr(self, "source", None)  # there is none where the __init__ of a subclass has failed
        return super().__repr__() if source is None else repr(source)

    if not TYPE_CHECKING:  # a checker knows by itself that a Stream is not iterable

        def __getitem__(self, place: object) -> object:
            """Not there: it says what to do where Python comes to look, in ``for x in stream`` and ``stream[0]``."""
            raise TypeError(
                f"a {type(self).__name__} is neither iterable nor a sequence: for x in stream.to_iterable(), "
                "stream.collect(), stream.element_at(n), or async for on an asyncio loop"
            )

    # Subscribing.

    @overload
    def subscribe(self, subscriber: Subscriber[T_co] | AsyncSubscriber[T_co], /) -> None: ...
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
        subscriber: Subscriber[T_co] | AsyncSubscriber[T_co] | None = None,
        *,
        on_next: Callable[[T_co], object] | None = None,
        on_error: Callable[[BaseException], object] | None = None,
        on_complete: Callable[[], object] | None = None,
        request: int | None = None,
    ) -> Subscription | None:
        """Start streaming, to a Subscriber or to callables.

        Args:
            subscriber: receives ``on_subscribe`` and then what it requests. Its methods may be coroutine functions:
                then they are awaited, one after the other, on the asyncio loop that runs where ``subscribe`` is called,
                else on one in the background.
            on_next: called with each element, in place of a Subscriber.
            on_error: called with the error; an error without it is reported as dropped.
            on_complete: called at the end.
            request: how much the callables ask for at first; None means all there is.

        Returns:
            With callables, the Subscription: to request more, or to cancel.

        Raises:
            NullSignal: there is neither a Subscriber nor a callable (1.9).
            TypeError: there are both, or one of them is not what it should be.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.range(5).subscribe(on_next=print, request=2)
            0
            1
        """
        given = on_next is not None or on_error is not None or on_complete is not None
        if subscriber is not None or not given:
            if given or request is not None:
                raise TypeError("give a Subscriber or callables, not both; request goes with callables")
            plain = checked_subscriber(cast("Subscriber[T_co]", subscriber))
            signals = (plain.on_next, plain.on_subscribe, plain.on_error, plain.on_complete)
            if any(map(is_coroutine_function, signals)):
                from pyrs.aio.subscribers import CoroutineSubscriber  # asyncio is a slow import

                plain = CoroutineSubscriber(plain)
            attach(self.source, plain)
            return None
        callbacks = CallbackSubscriber(on_next, on_error, on_complete, request)
        attach(self.source, callbacks)
        return callbacks

    def _then(self, stage: Stage) -> Stream[Any]:
        stage.site = assembly_site()
        source = self.source
        if isinstance(source, IterablePublisher) and stage.fuses:
            return Stream(IterablePublisher(source.iterable, (*source.stages, stage), source.name, source.site))
        if isinstance(source, PushedChainPublisher):
            return Stream(PushedChainPublisher(source.source, (*source.stages, stage)))
        return Stream(PushedChainPublisher(source, (stage,)))

    def _over(self, operator: Operator[R]) -> Stream[R]:
        return Stream(operator)

    def _folded(self, stage: Stage) -> Single[Any]:
        from pyrs.stream.single import Single  # a Single is a Stream, so neither module can come first

        return Single(self._then(stage))

    # Endings on the calling thread.

    @overload
    def for_each(  # type: ignore[overload-overlap]
        self, action: Callable[[T_co], Coroutine[Any, Any, object]], *, concurrency: int = ...
    ) -> Awaitable[None]: ...
    @overload
    def for_each(self, action: Callable[[T_co], object], *, timeout: float | None = ...) -> None: ...
    def for_each(
        self, action: Callable[[T_co], Any], *, timeout: float | None = None, concurrency: int | None = None
    ) -> Awaitable[None] | None:
        """Call the action with each element and return when the stream completes; await it with a coroutine function.

        With a plain function this blocks the calling thread and requests everything: the action itself is what holds a
        synchronous source back. A loop that runs on that thread stands still. With a coroutine function it returns an
        awaitable: elements are requested one by one, or ``concurrency`` ahead, as the action is done with them.

        Args:
            action: called with one element after the other. What it raises cancels the stream and is raised here.
            timeout: the most seconds to wait, None for as long as it takes. It cannot interrupt a source that runs on
                this thread. Of a plain function only; around an ``await`` put ``asyncio.wait_for``.
            concurrency: how many actions are awaited at a time, by default 1. Of a coroutine function only.

        Raises:
            TimeoutError: the stream did not end in time. It was cancelled.
            TypeError: timeout is no number, or the action is no coroutine function and returned a coroutine.
            ValueError: timeout is negative or not finite.
            BaseException: what the stream failed with.

        Examples:
            >>> import asyncio, pyrs
            >>> pyrs.just("a", "b").for_each(print)
            a
            b
            >>> async def tell(word):
            ...     print(word)
            >>> async def main():
            ...     await pyrs.just("a", "b").for_each(tell)
            >>> asyncio.run(main())
            a
            b
        """
        if is_coroutine_function(action):
            if timeout is not None:
                raise TypeError("timeout goes with a plain function; put asyncio.wait_for around the await")
            from pyrs.aio import iteration

            at_a_time = 1 if concurrency is None else checked_natural(concurrency, "concurrency", 1)
            return iteration.for_each(self.source, action, at_a_time)
        if concurrency is not None:
            raise TypeError("concurrency goes with a coroutine function, and action is none")
        operators.terminal.for_each(self.source, checked_callable(action, "action"), timeout)
        return None

    def collect(self, *, timeout: float | None = None) -> list[T_co]:
        """Return all the elements as a list. Requests everything, and grows with the stream.

        Raises:
            TimeoutError: the stream did not end in time. It was cancelled.
            TypeError: timeout is no number.
            ValueError: timeout is negative or not finite.
            BaseException: what the stream failed with.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).collect()
            [0, 1, 2]
        """
        return operators.terminal.collect(self.source, timeout)

    def to_iterable(self, *, prefetch: int = 256, timeout: float | None = None) -> Iterator[T_co]:
        """Return an iterator of the elements. Closing it, or letting go of it, cancels the stream.

        A chain over an iterable is iterated on the calling thread: each ``next`` demands one element. Of any other
        Publisher up to ``prefetch`` elements are requested ahead, and again when three quarters of them were used.

        Args:
            prefetch: the most elements held; 1 demands each element as it is wanted.
            timeout: the most seconds to wait for one element of another thread; None for as long as it takes.

        Raises:
            TimeoutError: no element came in time. The stream was cancelled.
            TypeError: timeout is no number.
            ValueError: timeout is negative or not finite, or prefetch is less than 1.
            BaseException: what the stream failed with.

        Examples:
            >>> import pyrs
            >>> for word in pyrs.just("one", "two").to_iterable():
            ...     print(word)
            one
            two
        """
        return operators.terminal.to_iterable(self.source, checked_natural(prefetch, "prefetch", 1), timeout)

    # Endings on an asyncio loop.

    def __aiter__(self) -> AsyncIterator[T_co]:
        """Iterate on the running asyncio loop: an element is requested when the loop asks for it, and not before.

        An ``async for`` that is left early cancels the stream when Python finalises the iterator; ``iterate`` does so
        at once, and requests ahead where that is wanted.
        """
        from pyrs.aio import iteration  # asyncio is a slow import, and most streams never see a loop

        return iteration.elements(self.source, 1)

    def iterate(self, *, prefetch: int = 1) -> aclosing[AsyncGenerator[T_co, None]]:
        """Return a context manager whose value is an asynchronous iterator; leaving the block cancels the stream.

        Args:
            prefetch: how many elements are requested ahead of the loop; again when three quarters of them were used.
                More than 1 pays where elements come from other threads: the loop is woken once for a batch.

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
