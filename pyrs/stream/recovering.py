"""Error recovery and repetition of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import K_co, OfKind, OperatorFamily, R, T_co

if TYPE_CHECKING:
    from pyrs.operators.recovering import Kind
    from pyrs.operators.retrying import Backoff
    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import Stream


class Recovering(OperatorFamily[T_co]):
    """Operators that continue after an error, or repeat after completion."""

    def retry(
        self: OfKind[K_co],
        times: int | None = None,
        *,
        when: Kind = Exception,
        backoff: Backoff | None = None,
        scheduler: Scheduler | None = None,
    ) -> K_co:
        """Subscribe to this stream again when it fails.

            ---1---X
                   ---1---2---|
            retry(1)
            ---1------1---2---|

        Elements emitted before the error are not withdrawn: the Subscriber receives them again if the source repeats
        them. Remaining demand is requested from the next attempt. Buffers and drops nothing. After more than one
        attempt, the final error has a note with their number. KeyboardInterrupt, SystemExit and RecursionError are
        never retried.

        Args:
            times: the maximum number of further attempts, after the first one; None for no limit.
            when: the errors to retry: a type, a tuple of types, or a predicate. Other errors fail the stream.
            backoff: the delay before each further attempt; None for no delay.
            scheduler: the scheduler that delays and then subscribes; see ``pyrs.schedulers``.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``times`` is negative.

        Examples:
            >>> import pyrs
            >>> answers = iter([OSError("down"), OSError("down"), "up"])
            >>> def call():
            ...     answer = next(answers)
            ...     if isinstance(answer, OSError):
            ...         raise answer
            ...     return answer
            >>> pyrs.from_callable(call).retry(3, when=OSError, backoff=pyrs.Backoff(first=0.001)).collect()
            ['up']
        """
        return self._kept(operators.retrying.Retry(self.source, times, when, backoff, scheduler))

    def retry_when(self, function: Callable[[Stream[BaseException]], Publisher[Any]]) -> Stream[T_co]:
        """Subscribe to this stream again each time another Publisher emits.

            ---1---X
                      ---1---2---X
            retry_when(lambda errors: errors.delay(3).take(1))
                   ...s|
            ---1---------1---2---|

        Calls ``function`` once per Subscriber, with the stream of errors. One element of the returned Publisher is
        requested for each error; any element it emits starts the next attempt. When that Publisher completes or fails,
        the result does the same, after the current attempt has failed. Remaining demand is requested from the next
        attempt. At most one error is buffered, until the next attempt starts. If ``function`` does not return a
        Publisher, the stream fails with a TypeError.

        Raises:
            TypeError: ``function`` is not callable.

        Examples:
            >>> import pyrs
            >>> failing = pyrs.just(1).concat(pyrs.error(OSError("down")))
            >>> failing.retry_when(lambda errors: errors.take(2)).collect()
            [1, 1, 1]
        """
        return self._over(operators.retrying.RetryWhen(self.source, function, self._over))

    def repeat(self, times: int | None = None, *, until: Callable[[], object] | None = None) -> Stream[T_co]:
        """Subscribe to this stream again when it completes.

            ---1---2---|
                       ---1---2---|
            repeat(1)
            ---1---2------1---2---|

        Remaining demand is requested from the next round. Buffers and drops nothing. An error fails the stream. An
        empty source needs no demand: without a limit, it is repeated until another thread cancels.

        Args:
            times: the maximum number of further rounds, after the first one; None for no limit.
            until: called before each further round; a true result completes the stream.

        Raises:
            TypeError: ``times`` is not an integer, or ``until`` is not callable.
            ValueError: ``times`` is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.just("tick", "tack").repeat(1).collect()
            ['tick', 'tack', 'tick', 'tack']
        """
        return self._over(operators.recovering.Repeat(self.source, times, until))

    def repeat_when(self, function: Callable[[Stream[int]], Publisher[Any]]) -> Stream[T_co]:
        """Subscribe to this stream again each time another Publisher emits.

            ---1---2---|
                          ---3---|
            repeat_when(lambda counts: counts.delay(3).take(1))
                       ...s|
            ---1---2---------3---|

        Calls ``function`` once per Subscriber, with a stream that emits the number of elements of each completed round.
        One element of the returned Publisher is requested for each round; any element it emits starts the next round.
        When that Publisher completes or fails, the result does the same, after the current round has completed. An
        error of this stream is forwarded. Remaining demand is requested from the next round. At most one number is
        buffered. If ``function`` does not return a Publisher, the stream fails with a TypeError.

        Raises:
            TypeError: ``function`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just("poll").repeat_when(lambda counts: counts.take(2)).collect()
            ['poll', 'poll', 'poll']
        """
        return self._over(operators.retrying.RepeatWhen(self.source, function, self._over))

    def on_error_resume(
        self, fallback: Publisher[R] | Callable[[Any], Publisher[R]], kind: Kind = Exception
    ) -> Stream[T_co | R]:
        """Continue with another Publisher when this stream fails.

            ---1---X
                   ---8---9---|
            on_error_resume(fallback)
            ---1------8---9---|

        Remaining demand is requested from the fallback. Buffers and drops nothing. An error of the fallback, or an
        exception from the function, fails the stream. KeyboardInterrupt, SystemExit and RecursionError are never
        handled.

        Args:
            fallback: the Publisher, or a function that receives the error and returns a Publisher, or re-raises.
            kind: the errors to handle: a type, a tuple of types, or a predicate. Other errors fail the stream.

        Raises:
            TypeError: ``fallback`` is neither a Publisher nor callable, or ``kind`` has the wrong type.

        Examples:
            >>> import pyrs
            >>> pyrs.just("4", "x", "5").map(int).on_error_resume(pyrs.just(0), ValueError).collect()
            [4, 0]
        """
        return self._over(operators.recovering.resuming(self.source, fallback, kind))

    @overload
    def on_error_return(self, value: Callable[[Any], R], kind: Kind = Exception) -> Stream[T_co | R]: ...
    @overload
    def on_error_return(self, value: R, kind: Kind = Exception) -> Stream[T_co | R]: ...
    def on_error_return(self, value: Any, kind: Kind = Exception) -> Stream[Any]:
        """Emit one last element when this stream fails, and complete.

            ---1---X
            on_error_return(0)
            ---1---0|

        The element is emitted on demand. KeyboardInterrupt, SystemExit and RecursionError are never handled.

        Args:
            value: the element, or a function that receives the error and returns the element.
            kind: the errors to handle: a type, a tuple of types, or a predicate. Other errors fail the stream.

        Raises:
            NullSignal: ``value`` is None. If the function returns None, the stream fails with NullSignal.
            TypeError: ``kind`` has the wrong type.

        Examples:
            >>> import pyrs
            >>> pyrs.just(2, 0).map(lambda n: 6 // n).on_error_return(-1, ZeroDivisionError).collect()
            [3, -1]
        """
        return self._over(operators.recovering.returning(self.source, value, kind))

    def on_error_map(self: OfKind[K_co], function: Callable[[Any], BaseException], kind: Kind = Exception) -> K_co:
        """Replace the error of this stream by the one that the function returns.

            ---1---X
            on_error_map(function)
            ---1---Y

        The original error becomes the ``__cause__`` of a new one without a cause. Forwards demand unchanged.

        Args:
            function: receives the error and returns the new one.
            kind: the errors to replace: a type, a tuple of types, or a predicate. Other errors pass unchanged.

        Raises:
            TypeError: ``function`` is not callable, or ``kind`` has the wrong type.

        Examples:
            >>> import pyrs
            >>> failing = pyrs.error(KeyError("name")).on_error_map(lambda error: ValueError(f"no {error}"))
            >>> _ = failing.subscribe(on_error=print)
            no 'name'
        """
        return self._kept(operators.recovering.mapping(self.source, function, kind))
