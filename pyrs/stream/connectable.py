"""ConnectableStream: a shared Stream that starts on ``connect()``."""

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
    """A shared stream that subscribes to its source on ``connect()``.

    ``publish`` and ``replay`` return it. Its Subscribers receive nothing before ``connect``. ``auto_connect`` and
    ``ref_count`` connect automatically. Operators applied to it return ordinary streams.
    """

    __slots__ = ("_shared",)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._shared = shared

    def connect(self) -> Connection:
        """Subscribe to the source, unless already connected.

        A synchronous source emits before this method returns.

        Returns:
            The connection. ``cancel()`` on it cancels the source: current Subscribers fail with ``Disconnected``, and
            later ones wait for the next ``connect``.

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

        The connection remains when all Subscribers have cancelled. After a ``publish`` has completed it never
        reconnects, so a later Subscriber receives no signal; use ``ref_count`` or ``replay`` for late Subscribers.
        Demand is that of the connected stream.

        Args:
            subscribers: the number of Subscribers to wait for; 0 connects immediately.
            on_connect: called with the connection just before it is connected, so that it can be cancelled later.

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

        Connects when ``subscribers`` Subscribers have subscribed. After a disconnect, or after a ``publish`` has
        completed, the same number is needed again for a new connection. Demand is that of the connected stream.

        Args:
            subscribers: the number of Subscribers that connects it.
            seconds: the grace period before it disconnects; a new Subscriber within it keeps the connection. None for
                no grace period.
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
        grace = None if seconds is None else checked_seconds(seconds, "seconds")
        needed = checked_natural(subscribers, "subscribers", 1)
        given = [str(needed)] if needed != 1 or grace else []
        given += [f"seconds={grace:g}"] if grace else []
        call = f"ref_count({', '.join(given)})"
        return Stream(operators.sharing.RefCount(self._shared, call, needed, grace, checked_scheduler(scheduler)))
