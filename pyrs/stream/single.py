"""Single: a Stream of exactly one element, or an error."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from pyrs import operators
from pyrs.stream.stream import Stream

__all__ = ["Single"]

T_co = TypeVar("T_co", covariant=True)


class Single(Stream[T_co]):
    """A stream of exactly one element, or an error: what ``first``, ``reduce``, ``count``, ``to_list`` ... return.

    It is a Publisher as any other, and begins when it is subscribed to. For its element, ``await`` it on an asyncio
    loop, or call ``block`` on a thread that may wait. Each await and each ``block`` runs the stream anew.
    """

    __slots__ = ()

    def block(self, timeout: float | None = None) -> T_co:
        """Wait on the calling thread and return the element. A loop there would stand still: ``await`` on one.

        Args:
            timeout: the most seconds to wait, None for as long as it takes.

        Raises:
            TimeoutError: there was no element in time. The stream was cancelled.
            TypeError: timeout is no number.
            ValueError: timeout is negative or not finite.
            BaseException: what the stream failed with.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).count().block()
            5
        """
        return operators.terminal.single(self.source, timeout)

    def __await__(self) -> Generator[Any, None, T_co]:
        """Wait on the running asyncio loop and return the element; a cancelled task cancels the stream."""
        from pyrs.aio import iteration

        return iteration.single(self.source).__await__()
