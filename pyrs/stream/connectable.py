"""ConnectableStream: a Stream that begins when it is told to, for all its Subscribers at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyrs import operators
from pyrs._core.validation import checked_natural, checked_seconds
from pyrs.schedulers import checked_scheduler
from pyrs.stream.stream import Stream

if TYPE_CHECKING:
    from datetime import timedelta

    from pyrs.operators.sharing import Connection, Shared
    from pyrs.schedulers import Scheduler

__all__ = ["ConnectableStream"]

T_co = TypeVar("T_co", covariant=True)


class ConnectableStream(Stream[T_co]):
    """What ``publish`` and ``replay`` return: its Subscribers wait until ``connect`` subscribes to the source for all.

    ``auto_connect`` and ``ref_count`` connect by themselves. Operators that are called on it give ordinary streams.
    """

    __slots__ = ("_shared",)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._shared = shared

    def connect(self) -> Connection:
        """Subscribe to the source, unless that was done.

        A synchronous source signals before this returns.

        Returns:
            The connection. Its ``cancel()`` cancels the source: Subscribers that are there fail with ``Disconnected``,
            and those who come later wait for the next ``connect``.

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
        """Connect when so many Subscribers have come, and never again.

        It stays connected when they have gone. After the end of a ``publish`` nothing connects anew: a Subscriber that
        comes then waits for ever; use ``ref_count`` or ``replay`` where some come late. Demand is that of the stream
        that is connected.

        Args:
            subscribers: how many; 0 connects now.
            on_connect: called with the connection just before it is connected: it can be cancelled later.

        Raises:
            TypeError: the number is not an integer, or on_connect not callable.
            ValueError: the number is negative.

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
        """Connect when so many Subscribers have come, and disconnect when the last has cancelled.

        A Subscriber that comes after a disconnect, or after the end of a ``publish``, begins a new connection; again as
        many are needed. Demand is that of the stream that is connected.

        Args:
            subscribers: how many connect it.
            seconds: how long it stays connected when the last has cancelled, for one who may come; None for not at all.
            scheduler: where that time passes; the current one when None.

        Raises:
            TypeError: an argument is not what it should be.
            ValueError: subscribers is less than 1, or the seconds are negative or not finite.

        Examples:
            >>> import pyrs
            >>> shared = pyrs.just(1, 2).publish().ref_count()
            >>> shared.collect(), shared.collect()
            ([1, 2], [1, 2])
        """
        grace = None if seconds is None else checked_seconds(seconds, "seconds")
        needed = checked_natural(subscribers, "subscribers", 1)
        given = [str(needed)] if needed != 1 or grace else []
        given += [f"seconds={grace:g}"] if grace else []
        call = f"ref_count({', '.join(given)})"
        return Stream(operators.sharing.RefCount(self._shared, call, needed, grace, checked_scheduler(scheduler)))
