"""Stream, with all operator families, and its subclasses Maybe and Single."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from pyrs import operators
from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.context import attach
from pyrs._core.display import kind_of, name_of
from pyrs._core.downstream import awaits_signals, checked_subscriber
from pyrs._core.iterating import IterablePublisher
from pyrs._core.observation import last_operator
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.sites import assembly_site
from pyrs._core.stage import Stage
from pyrs._core.validation import checked_natural, checked_publisher, checked_seconds
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.stream.advice import missing_attribute
from pyrs.stream.backpressure import Backpressure
from pyrs.stream.combining import Combining, Source
from pyrs.stream.family import A, B, K, R, T_co
from pyrs.stream.filtering import Filtering
from pyrs.stream.flattening import Flattening
from pyrs.stream.folding import Folding
from pyrs.stream.grouping import Grouping
from pyrs.stream.observing import Observing
from pyrs.stream.recovering import Recovering
from pyrs.stream.scheduling import Scheduling
from pyrs.stream.sharing import Sharing
from pyrs.stream.terminal import Terminal
from pyrs.stream.timing import Timing
from pyrs.stream.transforming import Transforming

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.operators.recovering import Kind
    from pyrs.operators.sharing import Connection, Shared
    from pyrs.schedulers import Scheduler
    from pyrs.stream.awaiting import AsyncSubscriber


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
    Terminal[T_co],
):
    """A Publisher with operators; nothing runs before ``subscribe``.

    None is not an element. It may pass between the synchronous stages of one chain (``map`` to ``filter``), but the
    stream fails with ``NullSignal`` instead of emitting it to a Subscriber.

    Args:
        source: any Publisher. Its signals, demand and cancels pass unchanged.

    Attributes:
        source: that Publisher; the source of a Stream if a Stream was given.
    """

    carries_context = True

    def __init__(self, source: Publisher[T_co]) -> None:
        if isinstance(source, Stream):
            source = source.source
        self.source: Publisher[T_co] = checked_publisher(source, "source")

    if not TYPE_CHECKING:  # a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(missing_attribute(type(self), name), name=name, obj=self)

    def __repr__(self) -> str:
        source = getattr(self, "source", None)  # missing if the __init__ of a subclass failed
        return super().__repr__() if source is None else repr(source)

    if not TYPE_CHECKING:  # type checkers already reject these

        def __await__(self) -> object:
            """Reject ``await stream``, and name the alternatives."""
            raise TypeError(
                f"a {type(self).__name__} cannot be awaited, as it may have many elements: use await stream.to_list(), "
                "await stream.first(), or async for"
            )

        def __getitem__(self, place: object) -> object:
            """Reject ``for x in stream`` and ``stream[0]``, and name the alternatives."""
            raise TypeError(
                f"a {type(self).__name__} is neither iterable nor a sequence: use for x in stream.to_iterable(), "
                "stream.collect(), stream.element_at(n), or async for on an asyncio loop"
            )

    # Subscribing

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
        """Subscribe a Subscriber, or callables, and start the stream.

        Args:
            subscriber: receives ``on_subscribe``, then the elements it requests. Its methods may be coroutine
                functions: they are awaited sequentially on the asyncio loop that is running at ``subscribe``, else on a
                background loop.
            on_next: called with each element, in place of a Subscriber.
            on_error: called with the error; without it, an error is reported as dropped.
            on_complete: called on completion.
            request: the initial demand of the callables; 0 for none, None for unbounded.

        Returns:
            The Subscription if callables were given, to request more or to cancel; otherwise None.

        Raises:
            NullSignal: neither a Subscriber nor a callable is given (§1.9).
            TypeError: both are given, ``request`` is given without a callable, or an argument has the wrong type.
            ValueError: ``request`` is negative.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.range(5).subscribe(on_next=print, request=2)
            0
            1
        """
        given = on_next is not None or on_error is not None or on_complete is not None
        candidate: object = subscriber
        if callable(candidate) and not hasattr(candidate, "on_subscribe"):
            raise TypeError(
                f"subscriber must be a Subscriber: {kind_of(candidate)} has no on_subscribe(); "
                f"pass a function by name: subscribe(on_next={name_of(candidate)})"
            )
        if subscriber is not None or not given:
            if given or request is not None:
                raise TypeError("subscribe: pass a Subscriber or callables, not both; request requires callables")
            plain = checked_subscriber(cast("Subscriber[T_co]", subscriber))
            if awaits_signals(plain):
                from pyrs.aio.subscribers import CoroutineSubscriber  # asyncio is a slow import

                plain = CoroutineSubscriber(plain)
            attach(last_operator(self.source), plain)
            return None
        callbacks = CallbackSubscriber(on_next, on_error, on_complete, request)
        attach(last_operator(self.source), callbacks)
        return callbacks

    def _then(self, stage: Stage) -> Stream[Any]:
        stage.site = assembly_site()
        source = self.source
        if isinstance(source, IterablePublisher) and stage.fuses:
            return Stream(IterablePublisher(source.iterable, (*source.stages, stage), source.name, source.site))
        if isinstance(source, PushedChainPublisher):
            return Stream(PushedChainPublisher(source.source, (*source.stages, stage)))
        return Stream(PushedChainPublisher(source, (stage,)))

    def _over(self, publisher: Publisher[R]) -> Stream[R]:
        return Stream(publisher)

    def _grouped(self, key: Any, publisher: Publisher[R]) -> GroupedStream[Any, R]:
        return GroupedStream(key, publisher)

    def _connectable(self, shared: Shared) -> ConnectableStream[Any]:
        return ConnectableStream(shared)

    def _kept(self, publisher: Publisher[Any]) -> Stream[T_co]:
        return publisher if type(publisher) is Stream else Stream(publisher)

    def _single(self, publisher: Publisher[R]) -> Single[R]:
        return Single(publisher)


def _rename_methods() -> None:
    """Name the inherited methods after Stream, for messages such as ``Stream.map()``."""
    for family in Stream.__mro__[1:]:
        for name, method in vars(family).items() if family.__module__.startswith("pyrs.stream.") else ():
            if isinstance(method, FunctionType) and not name.startswith("_"):
                method.__qualname__, method.__module__ = f"Stream.{name}", __name__


_rename_methods()


class Maybe(Stream[T_co]):
    """A stream of at most one element, or an error.

    For example, ``pyrs.empty`` and ``Single.filter`` return a Maybe. To get the element, or None if there is none,
    ``await`` the Maybe on an asyncio loop, or call ``block``. Each call subscribes again.

    These operators keep the kind, a Maybe or a Single: ``map``, ``flat_map``, ``zip``, ``timeout`` without a fallback,
    ``retry``, ``on_error_resume``, ``on_error_return``, ``on_error_map``, ``cache`` without a time, ``publish_on``,
    ``subscribe_on``, ``delay*``, ``do_on_*``, ``finally_do``, ``checkpoint``, ``log``, ``progress`` and ``metrics``.
    Streams that a function returns must be of that kind, too: use ``concat_map`` instead of ``flat_map`` for others,
    and ``Stream(single)`` to apply the operators of a Stream.

    ``filter`` returns a Maybe, and so does ``zip`` unless all its streams are Singles; ``default_if_empty`` returns a
    Single; ``switch_if_empty`` and ``then`` return the kind of their argument. All other operators return the same type
    as on a Stream.

    Examples:
        >>> import pyrs
        >>> answer = pyrs.range(5).count().map(lambda n: 10 * n).filter(lambda n: n > 40)
        >>> answer.block(), answer.filter(lambda n: n > 50).block()
        (50, None)
    """

    def _kept(self, publisher: Publisher[Any]) -> Maybe[T_co]:
        return Maybe(publisher)

    def block(self, timeout: float | None = None) -> T_co | None:
        """Block the calling thread, and return the element, or None if there is none.

        On an asyncio loop, use ``await`` instead: ``block`` stalls the loop.

        Args:
            timeout: the maximum number of seconds to wait; None for no limit.

        Raises:
            TimeoutError: the stream did not terminate in time. It was cancelled.
            TypeError: ``timeout`` is not a number.
            ValueError: ``timeout`` is negative or not finite.
            BaseException: the error of the stream.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).count().block()
            5
        """
        return cast("T_co | None", operators.terminal.single(self.source, timeout, not isinstance(self, Single)))

    def __await__(self) -> Generator[Any, None, T_co | None]:
        """Wait on the running asyncio loop and return the element, or None.

        Cancelling the task cancels the stream.
        """
        from pyrs.aio import iteration

        return iteration.single(self.source, not isinstance(self, Single)).__await__()

    @overload
    def map(self, function: Callable[[T_co], Coroutine[Any, Any, R]], **options: Any) -> Maybe[R]: ...
    @overload
    def map(self, function: Callable[[T_co], R]) -> Maybe[R]: ...
    def map(self, function: Callable[[T_co], Any], **options: Any) -> Maybe[Any]:
        return self._kept(super().map(function, **options))

    def filter(self, predicate: Callable[[T_co], object]) -> Maybe[T_co]:
        return Maybe(super().filter(predicate))

    def flat_map(  # type: ignore[override]
        self, function: Callable[[T_co], Maybe[R] | Coroutine[Any, Any, R]], **options: Any
    ) -> Maybe[R]:
        return cast("Maybe[R]", self._kept(super().flat_map(function, **options)))

    @overload
    def zip(self, b: Source[A], /, *, prefetch: int = 32) -> Maybe[tuple[T_co, A]]: ...
    @overload
    def zip(self, b: Source[A], c: Source[B], /, *, prefetch: int = 32) -> Maybe[tuple[T_co, A, B]]: ...
    @overload
    def zip(self, *others: Source[Any], prefetch: int = 32) -> Maybe[tuple[Any, ...]]: ...
    @overload
    def zip(self, *others: Source[Any], combine: Callable[..., R], prefetch: int = 32) -> Maybe[R]: ...
    def zip(self, *others: Source[Any], **options: Any) -> Maybe[Any]:
        kind = Single if all(isinstance(each, Single) for each in (self, *others)) else Maybe
        return kind(super().zip(*others, **options))

    def on_error_resume(  # type: ignore[override]
        self, fallback: Maybe[R] | Callable[[Any], Maybe[R]], kind: Kind = Exception
    ) -> Maybe[T_co | R]:
        return self._kept(super().on_error_resume(fallback, kind))

    @overload
    def on_error_return(self, value: Callable[[Any], R], kind: Kind = ...) -> Maybe[T_co | R]: ...
    @overload
    def on_error_return(self, value: R, kind: Kind = ...) -> Maybe[T_co | R]: ...
    def on_error_return(self, value: Any, kind: Kind = Exception) -> Maybe[Any]:
        return self._kept(super().on_error_return(value, kind))

    def default_if_empty(self, value: R) -> Single[T_co | R]:
        return Single(super().default_if_empty(value))

    @overload
    def switch_if_empty(self, other: Single[R]) -> Single[T_co | R]: ...
    @overload
    def switch_if_empty(self, other: Maybe[R]) -> Maybe[T_co | R]: ...
    @overload
    def switch_if_empty(self, other: Publisher[R]) -> Stream[T_co | R]: ...
    def switch_if_empty(self, other: Publisher[Any]) -> Stream[Any]:
        kind = Single if isinstance(other, Single) else Maybe if isinstance(other, Maybe) else Stream
        return kind(super().switch_if_empty(other))


class Single(Maybe[T_co]):
    """A stream of exactly one element, or an error.

    ``first``, ``reduce``, ``count``, ``to_list`` and others return it. It starts on subscribe, like any Publisher. To
    get the element, ``await`` the Single on an asyncio loop, or call ``block``. Each call subscribes again. See
    ``Maybe`` for the operators that return a Single.
    """

    def _kept(self, publisher: Publisher[Any]) -> Single[T_co]:
        return Single(publisher)

    if TYPE_CHECKING:  # the methods of Maybe, with more precise types

        def block(self, timeout: float | None = None) -> T_co: ...
        def __await__(self) -> Generator[Any, None, T_co]: ...
        @overload
        def map(self, function: Callable[[T_co], Coroutine[Any, Any, R]], **options: Any) -> Single[R]: ...
        @overload
        def map(self, function: Callable[[T_co], R]) -> Single[R]: ...
        def map(self, function: Any, **options: Any) -> Any: ...
        def flat_map(  # type: ignore[override]
            self, function: Callable[[T_co], Single[R] | Coroutine[Any, Any, R]], **options: Any
        ) -> Single[R]: ...
        @overload  # type: ignore[override]
        def zip(self, b: Single[A], /, *, prefetch: int = 32) -> Single[tuple[T_co, A]]: ...
        @overload
        def zip(self, b: Single[A], c: Single[B], /, *, prefetch: int = 32) -> Single[tuple[T_co, A, B]]: ...
        @overload
        def zip(self, *others: Single[Any], combine: Callable[..., R], prefetch: int = 32) -> Single[R]: ...
        @overload
        def zip(self, b: Source[A], /, *, prefetch: int = 32) -> Maybe[tuple[T_co, A]]: ...
        @overload
        def zip(self, *others: Source[Any], prefetch: int = 32) -> Maybe[tuple[Any, ...]]: ...
        @overload
        def zip(self, *others: Source[Any], combine: Callable[..., R], prefetch: int = 32) -> Maybe[R]: ...
        def zip(self, *others: Any, **options: Any) -> Any: ...
        def on_error_resume(  # type: ignore[override]
            self, fallback: Single[R] | Callable[[Any], Single[R]], kind: Kind = ...
        ) -> Single[T_co | R]: ...
        @overload
        def on_error_return(self, value: Callable[[Any], R], kind: Kind = ...) -> Single[T_co | R]: ...
        @overload
        def on_error_return(self, value: R, kind: Kind = ...) -> Single[T_co | R]: ...
        def on_error_return(self, value: Any, kind: Kind = ...) -> Any: ...


class GroupedStream(Stream[T_co], Generic[K, T_co]):
    """A stream of the elements with one key, emitted by ``Stream.group_by``.

    It accepts one Subscriber.

    Attributes:
        key: the key of all its elements.
    """

    def __init__(self, key: K, source: Publisher[T_co]) -> None:
        super().__init__(source)
        self.key = key


class ConnectableStream(Stream[T_co]):
    """A shared stream that subscribes to its source on ``connect()``.

    ``publish`` and ``replay`` return it. Its Subscribers receive no element before ``connect``. ``auto_connect`` and
    ``ref_count`` connect automatically. Operators applied to it return ordinary streams.
    """

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._shared = shared

    def connect(self) -> Connection:
        """Subscribe to the source, unless already connected.

        A synchronous source emits before this method returns.

        Returns:
            The connection. Its ``cancel()`` cancels the source and fails the current Subscribers with ``Disconnected``.

        Examples:
            >>> import pyrs
            >>> numbers = pyrs.just(1, 2).publish()
            >>> _ = numbers.subscribe(on_next=lambda n: print("a", n))
            >>> _ = numbers.subscribe(on_next=lambda n: print("b", n))
            >>> _ = numbers.connect()
            a 1
            b 1
            a 2
            b 2
        """
        connection = self._shared.connection()
        connection.connect()
        return connection

    def auto_connect(
        self, subscribers: int = 1, on_connect: Callable[[Connection], object] | None = None
    ) -> Stream[T_co]:
        """Connect once, when the given number of Subscribers have subscribed.

        The connection remains when all Subscribers have cancelled. A ``publish`` that has terminated is not connected
        again, so later Subscribers receive no signal: use ``ref_count`` or ``replay`` for them.

        Args:
            subscribers: the number of Subscribers to wait for; 0 connects immediately.
            on_connect: called with the connection just before it starts; keep the connection to cancel it later.

        Raises:
            TypeError: ``subscribers`` is not an integer, or ``on_connect`` is not callable.
            ValueError: ``subscribers`` is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).replay().auto_connect().collect()
            [1, 2]
        """
        return Stream(
            operators.sharing.AutoConnect(self._shared, f"auto_connect({subscribers})", subscribers, on_connect)
        )

    def ref_count(
        self,
        subscribers: int = 1,
        seconds: float | timedelta | None = None,
        *,
        scheduler: Scheduler | None = None,
    ) -> Stream[T_co]:
        """Connect while there are Subscribers: disconnect when the last one cancels.

        Connects when ``subscribers`` Subscribers are subscribed. After a disconnect, or after a ``publish`` has
        terminated, the same number is needed again for a new connection. Demand is that of ``publish`` or ``replay``.

        Args:
            subscribers: the number of Subscribers to wait for before connecting.
            seconds: the grace period before disconnecting, during which a new Subscriber keeps the connection.
            scheduler: the scheduler of the grace period; None for the current one.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``subscribers`` is less than 1, or ``seconds`` is negative or not finite.

        Examples:
            >>> import pyrs
            >>> shared = pyrs.just(1, 2).publish().ref_count()
            >>> shared.collect(), shared.collect()
            ([1, 2], [1, 2])
        """
        from pyrs.schedulers import checked_scheduler  # loads threads, which most programs do not need

        grace = None if seconds is None else checked_seconds(seconds, "seconds")
        needed = checked_natural(subscribers, "subscribers", 1)
        given = [str(needed)] if needed != 1 or grace else []
        given += [f"seconds={grace:g}"] if grace else []
        call = f"ref_count({', '.join(given)})"
        return Stream(operators.sharing.RefCount(self._shared, call, needed, grace, checked_scheduler(scheduler)))
