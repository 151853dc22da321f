"""The recovering operators of a stream; what they do is in ``pyrs/operators/recovering.py`` and ``retrying.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pyrs import operators
from pyrs.api import Publisher
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.operators.backoff import Backoff
    from pyrs.operators.recovering import Kind
    from pyrs.schedulers import Scheduler
    from pyrs.stream.stream import Stream

__all__ = ["Recovering"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Recovering(Family[T_co]):
    """Operators that go on after an error or after the end."""

    __slots__ = ()

    def retry(
        self,
        times: int | None = None,
        *,
        when: Kind = Exception,
        backoff: Backoff | None = None,
        scheduler: Scheduler | None = None,
    ) -> Stream[T_co]:
        """Subscribe to this stream once more when it has failed.

            ---1---X
                   ---1---2---|
            retry(1)
            ---1------1---2---|

        What came before the error stays: the Subscriber sees those elements again if the source gives them again.
        Demand that was not met is asked of the next attempt; nothing is held or dropped. The error that ends it says
        how many attempts were made. KeyboardInterrupt and SystemExit are never retried.

        Args:
            times: how often it is subscribed to again, so that there are ``times + 1`` attempts; None for no limit.
            when: which errors are retried: a type, a tuple of types, or a predicate. Others end the stream.
            backoff: how long to wait before each further attempt; None for not at all.
            scheduler: where it waits, and on whose thread it subscribes after that; see ``pyrs.schedulers``.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: times is negative.

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
        return self._over(operators.retrying.Retry(self.source, times, when, backoff, scheduler))

    def retry_when(self, function: Callable[[Stream[BaseException]], Publisher[Any]]) -> Stream[T_co]:
        """Subscribe to this stream once more whenever another Publisher says so.

            ---1---X               X
                      ---1---2---X
            retry_when(lambda errors: errors.delay(3).take(1))
                   ...s|
            ---1------1---2------|

        For each Subscriber the function is called once, with the stream of the errors. Of the Publisher that it returns
        one signal is requested for each error, and each signal, whatever it is, starts the next attempt. When that
        Publisher completes or fails, so does this stream; if an attempt is on, when that attempt fails. Demand that was
        not met is asked of the next attempt. An error that was answered before it was taken is not kept.

        Raises:
            TypeError: the function cannot be called. At subscribe time: it returned no Publisher.

        Examples:
            >>> import pyrs
            >>> failing = pyrs.just(1).concat(pyrs.error(OSError("down")))
            >>> failing.retry_when(lambda errors: errors.take(2)).collect()
            [1, 1, 1]
        """
        return self._over(operators.retrying.RetryWhen(self.source, function))

    def repeat(self, times: int | None = None, *, until: Callable[[], object] | None = None) -> Stream[T_co]:
        """Subscribe to this stream once more when it has completed.

            ---1---2---|
                       ---1---2---|
            repeat(1)
            ---1---2------1---2---|

        Demand that was not met is asked of the next round; nothing is held or dropped. An error ends it. A source
        without elements needs no demand, so without a limit its rounds only end with a cancel from another thread.

        Args:
            times: how often it is subscribed to again, so that there are ``times + 1`` rounds; None for no limit.
            until: called after each round; a true answer completes the stream.

        Raises:
            TypeError: times is not an integer, or until cannot be called.
            ValueError: times is negative.

        Examples:
            >>> import pyrs
            >>> pyrs.just("tick", "tack").repeat(1).collect()
            ['tick', 'tack', 'tick', 'tack']
        """
        return self._over(operators.recovering.Repeat(self.source, times, until))

    def on_error_resume(
        self, fallback: Publisher[R] | Callable[[Any], Publisher[R]], kind: Kind = Exception
    ) -> Stream[T_co | R]:
        """Go on with another Publisher where this stream fails.

            ---1---X
                   ---8---9---|
            on_error_resume(fallback)
            ---1------8---9---|

        Demand that was not met is asked of the fallback; nothing is held or dropped. An error of the fallback ends the
        stream, and so does what the function raises. KeyboardInterrupt and SystemExit are never answered.

        Args:
            fallback: the Publisher, or a function that is given the error and returns it. To let an error pass after
                all, the function raises it again.
            kind: which errors are answered: a type, a tuple of types, or a predicate. Others pass.

        Raises:
            TypeError: fallback is neither a Publisher nor callable, or kind is neither of the three.

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
        """Give one last element where this stream fails, and complete.

            ---1---X
            on_error_return(0)
            ---1---0|

        The element waits until it is demanded. KeyboardInterrupt and SystemExit are never answered.

        Args:
            value: the element, or a function that is given the error and returns it.
            kind: which errors are answered: a type, a tuple of types, or a predicate. Others pass.

        Raises:
            NullSignal: the value is None. What the function returns is looked at when it comes.
            TypeError: kind is neither of the three.

        Examples:
            >>> import pyrs
            >>> pyrs.just(2, 0).map(lambda n: 6 // n).on_error_return(-1, ZeroDivisionError).collect()
            [3, -1]
        """
        return self._over(operators.recovering.returning(self.source, value, kind))

    def on_error_map(self, function: Callable[[Any], BaseException], kind: Kind = Exception) -> Stream[T_co]:
        """Change the error that ends this stream into the one that the function returns for it.

            ---1---X
            on_error_map(function)
            ---1---Y

        The first error is the cause of the second, as with ``raise ... from``. Demand goes through unchanged.

        Args:
            function: is given the error and returns the other.
            kind: which errors are changed: a type, a tuple of types, or a predicate. Others pass.

        Raises:
            TypeError: the function cannot be called, or kind is neither of the three.

        Examples:
            >>> import pyrs
            >>> failing = pyrs.error(KeyError("name")).on_error_map(lambda error: ValueError(f"no {error}"))
            >>> _ = failing.subscribe(on_error=print)
            no 'name'
        """
        return self._over(
            operators.recovering.OnErrorMap(self.source, function, operators.recovering.Selection(kind, "kind"))
        )
