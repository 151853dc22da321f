"""Single: a Stream of exactly one element, or an error."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from pyrs import operators
from pyrs.stream.stream import Stream

__all__ = ["Single"]

T_co = TypeVar("T_co", covariant=True)


class Single(Stream[T_co]):
    """A stream of exactly one element, or an error.

    ``first``, ``reduce``, ``count``, ``to_list`` and others return it. It is a Publisher like any other and starts on
    subscribe. To get the element, ``await`` the Single on an asyncio loop, or call ``block``. Each ``await`` and each
    ``block`` subscribes again.
    """

    __slots__ = ()

    def block(self, timeout: float | None = None) -> T_co:
        """Block the calling thread until the element arrives, and return it.

        On an asyncio loop, use ``await`` instead: ``block`` stalls the loop.

        Args:
            timeout: the maximum number of seconds to wait; None for no limit.

        Raises:
            TimeoutError: no element arrived in time. The stream was cancelled.
            TypeError: ``timeout`` is not a number.
            ValueError: ``timeout`` is negative or not finite.
            BaseException: the error of the stream.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).count().block()
            5
        """
        return operators.terminal.single(self.source, timeout)

    def __await__(self) -> Generator[Any, None, T_co]:
        """Wait on the running asyncio loop and return the element.

        Cancelling the task cancels the stream.
        """
        from pyrs.aio import iteration

        return iteration.single(self.source).__await__()
