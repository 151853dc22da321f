"""ParallelStream: the rails of ``Stream.parallel``, each a Stream."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, overload

from pyrs import operators
from pyrs._core.display import name_of
from pyrs._core.sites import Site, assembly_site
from pyrs._core.validation import MISSING, checked_callable, checked_publisher
from pyrs.api import Publisher
from pyrs.stream.family import R, T_co
from pyrs.stream.traits import scheduler_name

if TYPE_CHECKING:
    from pyrs.operators.parallel import Rails
    from pyrs.schedulers import Scheduler
    from pyrs.stream.flattening import Inner
    from pyrs.stream.stream import Stream

Transform = Callable[[Any], Any]


class ParallelStream(Generic[T_co]):
    """Rails that process the elements of a stream concurrently.

    ``Stream.parallel`` returns them. ``run_on`` moves the rails to the threads of a scheduler, ``sequential`` merges
    them into a Stream, and the other methods apply an operator to each rail. Nothing runs before that Stream is
    subscribed to.
    """

    def __init__(
        self,
        rails: Rails,
        wrap: Callable[[Publisher[Any]], Stream[Any]],
        transforms: tuple[Transform, ...] = (),
        calls: tuple[str, ...] = (),
        thread: str = "",
    ) -> None:
        self._rails = rails
        self._wrap = wrap  # wraps a Publisher in a Stream
        self._transforms = transforms
        self._calls = calls
        self._thread = thread

    def __repr__(self) -> str:
        return ".".join((repr(self._rails), *self._calls))

    if not TYPE_CHECKING:  # a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            from pyrs.stream.stream import Stream  # imported late, because stream.py imports this module

            message = f"'ParallelStream' object has no attribute {name!r}"
            if not name.startswith("_") and hasattr(Stream, name):
                message += f": use sequential().{name}, or transform_rails() for an operator on each rail"
            raise AttributeError(message, name=name, obj=self)

    def run_on(self, scheduler: Scheduler, prefetch: int = 256) -> ParallelStream[T_co]:
        """Run the following operators of each rail on the scheduler.

        Requests ``prefetch`` elements for each rail, buffers them in a queue, and replenishes at 75 %. The rails run
        concurrently if the scheduler has several threads, such as a pool. The scheduler also runs the requests of the
        rails. A pulled source, such as an iterable, therefore runs on the scheduler, on one thread at a time.

        Args:
            scheduler: runs the signals of the rails; the signals of one rail run sequentially. The caller closes it.
            prefetch: the maximum number of buffered elements for each rail.

        Raises:
            TypeError: ``scheduler`` is not a Scheduler, or ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> from pyrs import schedulers
            >>> pool = schedulers.pool(2)
            >>> sorted(pyrs.range(5).parallel(2).run_on(pool).map(lambda n: n * n).sequential().collect())
            [0, 1, 4, 9, 16]
            >>> pool.close()
            True
        """
        name = scheduler_name(scheduler)
        return self._with(
            lambda rail: rail.subscribe_on(scheduler).publish_on(scheduler, prefetch), f"run_on({name})", name
        )

    @overload
    def map(
        self, function: Callable[[T_co], Coroutine[Any, Any, R]], *, concurrency: int = ..., ordered: bool = ...
    ) -> ParallelStream[R]: ...
    @overload
    def map(self, function: Callable[[T_co], R]) -> ParallelStream[R]: ...
    def map(self, function: Callable[[T_co], Any], **options: Any) -> ParallelStream[Any]:
        """Apply ``Stream.map``, with its options, to each rail.

        Examples:
            >>> import pyrs
            >>> pyrs.range(4).parallel(2).map(str).sequential().collect()
            ['0', '1', '2', '3']
        """
        return self._with(lambda rail: rail.map(function, **options), f"map({name_of(function)})")

    def filter(self, predicate: Callable[[T_co], object]) -> ParallelStream[T_co]:
        """Apply ``Stream.filter`` to each rail.

        Examples:
            >>> import pyrs
            >>> pyrs.range(6).parallel(2).filter(lambda n: n > 2).sequential().collect()
            [3, 4, 5]
        """
        return self._with(lambda rail: rail.filter(predicate), f"filter({name_of(predicate)})")

    def flat_map(self, function: Callable[[T_co], Inner[R]], **options: Any) -> ParallelStream[R]:
        """Apply ``Stream.flat_map``, with its options, to each rail.

        Examples:
            >>> import pyrs
            >>> sorted(pyrs.just(1, 5).parallel(2).flat_map(lambda n: pyrs.just(n, n + 1)).sequential().collect())
            [1, 2, 5, 6]
        """
        return self._with(lambda rail: rail.flat_map(function, **options), f"flat_map({name_of(function)})")

    def concat_map(self, function: Callable[[T_co], Inner[R]], **options: Any) -> ParallelStream[R]:
        """Apply ``Stream.concat_map``, with its options, to each rail.

        Examples:
            >>> import pyrs
            >>> sorted(pyrs.just(1, 5).parallel(2).concat_map(lambda n: pyrs.just(n, n + 1)).sequential().collect())
            [1, 2, 5, 6]
        """
        return self._with(lambda rail: rail.concat_map(function, **options), f"concat_map({name_of(function)})")

    def do_on_next(self, action: Callable[[T_co], object]) -> ParallelStream[T_co]:
        """Apply ``Stream.do_on_next`` to each rail.

        The action may run on several threads at the same time.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "b").parallel(2).do_on_next(print).sequential().collect()
            a
            b
            ['a', 'b']
        """
        return self._with(lambda rail: rail.do_on_next(action), f"do_on_next({name_of(action)})")

    @overload
    def reduce(self, function: Callable[[T_co, T_co], T_co]) -> ParallelStream[T_co]: ...
    @overload
    def reduce(self, function: Callable[[R, T_co], R], initial: R) -> ParallelStream[R]: ...
    def reduce(self, function: Callable[[Any, Any], Any], initial: Any = MISSING) -> ParallelStream[Any]:
        """Reduce the elements of each rail to one value.

        An empty rail emits ``initial``, or nothing without it. The elements of a rail depend on timing, so ``function``
        must be associative and commutative. Reduce the values of the rails again after ``sequential``.

        Args:
            function: called with the current value and the element; returns the next value.
            initial: the first value of each rail. Without it, the first element of the rail is used.

        Raises:
            TypeError: ``function`` is not callable.
            NullSignal: ``initial`` is None.

        Examples:
            >>> import pyrs
            >>> from operator import add
            >>> pyrs.range(10).parallel(3).reduce(add).sequential().reduce(add, 0).block()
            45
        """

        def reduced(rail: Stream[Any]) -> Stream[Any]:
            if initial is MISSING:
                return rail.scan(function).take_last(1)  # not reduce, which rejects an empty stream
            return rail.reduce(function, initial)

        return self._with(reduced, f"reduce({name_of(function)})")

    def transform_rails(self, function: Callable[[Stream[T_co]], Publisher[R]]) -> ParallelStream[R]:
        """Replace each rail by the stream that the function returns for it.

        The function is called once for each rail of each subscription, and may apply any operators of a Stream.
        Elements are dispatched when each rail has a Subscriber. If the returned stream completes before its rail, its
        operators drop the elements that they buffer, and the elements that were not dispatched yet go to the other
        rails. When all returned streams have completed, the source is cancelled.

        Args:
            function: called with a rail; returns a Publisher, which usually subscribes to the rail once.

        Raises:
            TypeError: ``function`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).parallel(2).transform_rails(lambda rail: rail.take(2)).sequential().collect()
            [0, 1, 2, 3]
        """
        return self._transformed(checked_callable(function, "function"), f"transform_rails({name_of(function)})")

    def sequential(self, prefetch: int = 32) -> Stream[T_co]:
        """Merge the rails into a Stream, in no particular order.

        Requests ``prefetch`` elements of each rail, buffers them, and replenishes at 75 %. A slow Subscriber slows the
        rails. The first error, of the source or of a rail, follows the elements of its rail. It cancels the source and
        all other rails and fails the stream. The buffered elements of the other rails reach ``do_on_discard``.

        Args:
            prefetch: the maximum number of buffered elements for each rail.

        Raises:
            TypeError: ``prefetch`` is not an integer.
            ValueError: ``prefetch`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).parallel(2).sequential().collect()
            [0, 1, 2]
        """
        transform = partial(_apply, self._wrap, self._transforms)
        return self._wrap(operators.parallel.Sequential(self._rails, self._calls, transform, prefetch, self._thread))

    def _with(self, function: Transform, call: str, thread: str = "") -> ParallelStream[Any]:
        """Return the rails with another operator, whose errors name the calling line."""
        function(self._wrap(self._rails))  # validates the arguments now; the result is not subscribed to
        return self._transformed(partial(_at_site, function, assembly_site()), call, thread)

    def _transformed(self, function: Transform, call: str, thread: str = "") -> ParallelStream[Any]:
        threads = ", ".join(filter(None, (self._thread, thread)))
        return ParallelStream(self._rails, self._wrap, (*self._transforms, function), (*self._calls, call), threads)


def _apply(
    wrap: Callable[[Publisher[Any]], Stream[Any]], transforms: tuple[Transform, ...], rail: Stream[Any]
) -> Stream[Any]:
    """Apply the operators to a rail."""
    for transform in transforms:
        rail = wrap(checked_publisher(transform(rail), "the result"))
    return rail


def _at_site(function: Transform, site: Site | None, rail: Stream[Any]) -> Stream[Any]:
    """Apply operators to a rail, and set their site."""
    before = set(map(id, _operators_of(rail)))
    result: Stream[Any] = function(rail)
    for each in _operators_of(result):
        if id(each) not in before:
            each.site = site
    return result


def _operators_of(publisher: Any) -> Iterator[Any]:
    while publisher is not None:
        yield from getattr(publisher, "stages", ())
        if hasattr(publisher, "call"):
            yield publisher
        publisher = getattr(publisher, "source", None)
