"""publish, replay, auto_connect and ref_count: share one subscription."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, Final

from pyrs import schedulers
from pyrs._core import hooks
from pyrs._core.context import in_context
from pyrs._core.demand import UNBOUNDED, Prefetch
from pyrs._core.display import chained
from pyrs._core.downstream import checked_subscriber
from pyrs._core.hub import OK, AlignedHub, EmitResult, HubSubscription
from pyrs._core.inputs import Input
from pyrs._core.operator import Operator
from pyrs._core.replay import ReplayHub
from pyrs._core.validation import checked_callable, checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.errors import Disconnected, NullSignal
from pyrs.schedulers import Scheduler
from pyrs.schedulers.timer import Timer


class Assembled(Publisher[Any]):
    """A Publisher over another Publisher; its repr ends with the user's call."""

    carries_context = True  # the hub captures the context of each Subscriber

    def __init__(self, source: Publisher[Any], call: str) -> None:
        self.source = source
        self.call = call

    def __repr__(self) -> str:
        return chained(self.source, self.call)


class Shared(Assembled):
    """The base class of Publish and Replay, with at most one connection at a time."""

    def __init__(self, source: Publisher[Any], call: str) -> None:
        super().__init__(source, call)
        self._lock = RLock()
        self._current: Connection | None = None

    @abstractmethod
    def begin(self) -> Connection:
        """Return a new connection, not connected yet."""

    def connection(self) -> Connection:
        """Return the connection for new Subscribers."""
        with self._lock:
            if self._current is None or self._current.hub._over:
                self._current = self.begin()
            return self._current

    def forget(self, connection: Connection) -> None:
        """Stop using this connection for new Subscribers."""
        with self._lock:
            if self._current is connection:
                self._current = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.connection().hub.subscribe(checked_subscriber(subscriber))


class Publish(Shared):
    """``publish(prefetch)``: emits to all Subscribers at the pace of the slowest."""

    def __init__(self, source: Publisher[Any], call: str, prefetch: int) -> None:
        super().__init__(source, call)
        self.prefetch = checked_natural(prefetch, "prefetch", 1)

    def begin(self) -> Connection:
        return Connection(self, _PublishHub(self.prefetch))


class Replay(Shared):
    """``replay(limit, seconds)``: emits the history to each new Subscriber."""

    def __init__(
        self,
        source: Publisher[Any],
        call: str,
        limit: int | None,
        seconds: float | None,
        prefetch: int,
        scheduler: Scheduler | None,
    ) -> None:
        super().__init__(source, call)
        self.limit = limit
        self.seconds = seconds
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.scheduler = scheduler

    def begin(self) -> Connection:
        prefetch = UNBOUNDED if self.limit is None else self.prefetch
        return Connection(self, _ReplayHub(self.limit, self.seconds, schedulers.current(self.scheduler).now, prefetch))


class Connection:
    """A shared stream's subscription to its source, with its Subscribers."""

    def __init__(self, shared: Shared, hub: _PublishHub | _ReplayHub) -> None:
        self.hub = hub
        self._shared = shared
        self._connected = False

    def connect(self) -> None:
        """Subscribe to the source, unless already connected."""
        with self._shared._lock:
            connected, self._connected = self._connected, True
        if not connected:
            self.hub.feed.discards = self.hub.discards
            self.hub.feed.subscribe_to(self._shared.source)

    def cancel(self) -> None:
        """Cancel the source; current Subscribers fail with ``Disconnected``.

        Later Subscribers need a new connection. Idempotent. If the source has already terminated, Subscribers still
        receive their buffered elements.
        """
        self._shared.forget(self)
        hub = self.hub
        hub.feed.cancel()
        with hub._lock:
            if not hub._ended:
                hub._error = Disconnected(f"{self._shared.call}: the connection to the source was cancelled")
                hub._ended = hub._abandoned = True
            elif hub._subscriptions:
                hub._final = True
            else:
                hub._abandoned = True  # no Subscriber receives the buffered elements, nor the error after them
        hub.wake_here()

    def __repr__(self) -> str:
        state = "not connected" if not self._connected else "ended" if self.hub._ended else "connected"
        return f"<Connection of {self._shared.call}: {state}, {len(self.hub._subscriptions)} subscribers>"


_UNOBSERVED: Final = "a shared stream has no Subscribers"


class _Feed(Input[Any]):
    """Requests up to ``prefetch`` elements ahead of the slowest Subscriber."""

    def __init__(self, hub: _PublishHub | _ReplayHub, prefetch: int) -> None:
        super().__init__(demand=prefetch)
        self._hub = hub
        self._prefetch = Prefetch(prefetch)
        self._received = 0  # changed by the source's thread
        self._requested_upstream = prefetch  # under the guard

    def on_next(self, element: Any, /) -> None:
        if self._closed:
            self.discard(element)
            return
        self._received += 1
        if self._hub.try_emit(element) is not OK:  # raises NullSignal for None
            self.discard(element)
        self.refill()

    def refill(self) -> None:
        """Request the free capacity, if it is three quarters of the prefetch or more."""
        if self._capacity() < self._prefetch.refill_at or self._closed:
            return
        with self._guard:
            while True:
                requested, capacity = self._requested_upstream, self._capacity()
                if requested == self._requested_upstream:
                    break  # otherwise a finalizer has cancelled a Subscriber and requested more
            if capacity < self._prefetch.refill_at:
                return
            self._requested_upstream += capacity
        self.request(capacity)

    def _capacity(self) -> int:
        return self._prefetch.size - (self._requested_upstream - self._received) - self._hub._buffered()

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        unobserved = isinstance(self._hub, AlignedHub) and not self._hub._subscriptions
        # Not try_emit_error, which raises if the argument is not an exception: then no Subscriber would be notified.
        if not self._close() or self._hub._end(error) is not EmitResult.OK:
            hooks.on_error_dropped(error, "the connection of a shared stream was cancelled or has terminated")
        elif unobserved:  # also if a later Subscriber may receive it, after buffered elements
            self._hub._report_error(_UNOBSERVED)

    def on_complete(self) -> None:
        if self._close():
            self._hub.try_emit_complete()


class _PublishHub(AlignedHub[Any]):
    def __init__(self, prefetch: int) -> None:
        super().__init__(capacity=None)
        self.feed = _Feed(self, prefetch)
        self.on_finished: list[Callable[[], object]] = []  # called when the hub has terminated and the buffer is empty

    def _finish(self) -> None:
        super()._finish()
        self._report_error(_UNOBSERVED)
        actions, self.on_finished = self.on_finished, []
        for action in actions:
            action()

    def _drained(self) -> None:
        self.feed.refill()


class _ReplayHub(ReplayHub[Any]):
    def __init__(self, limit: int | None, seconds: float | None, now: Callable[[], float], prefetch: int) -> None:
        super().__init__(limit, seconds, now, capacity=None)
        self.feed = _Feed(self, prefetch)

    def _buffered(self) -> int:
        """Return the number of elements that the slowest Subscriber has not received."""
        newest = self._tail.number
        positions = [each.position for each in self._subscriptions]
        return max((newest - each.number for each in positions if each is not None), default=0)

    def _drained(self) -> None:
        self.feed.refill()


class AutoConnect(Assembled):
    """``auto_connect(subscribers)``: connects after that number of subscriptions.

    Subscribers that have left are counted too.
    """

    def __init__(
        self, shared: Shared, call: str, subscribers: int, on_connect: Callable[[Connection], object] | None
    ) -> None:
        super().__init__(shared, call)
        self._shared = shared
        self._missing = checked_natural(subscribers, "subscribers")
        self._on_connect = None if on_connect is None else checked_callable(on_connect, "on_connect")
        self._lock = RLock()
        if not self._missing:
            self._connect()

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self._shared.subscribe(subscriber)
        with self._lock:
            self._missing -= 1
            last = not self._missing
        if last:
            self._connect()

    def _connect(self) -> None:
        connection = self._shared.connection()
        if self._on_connect is not None:
            self._on_connect(connection)
        connection.connect()


class RefCount(Operator[Any]):
    """``ref_count(subscribers, seconds)``: connected while there are Subscribers."""

    def __init__(
        self, shared: Shared, call: str, subscribers: int, seconds: float | None, scheduler: Scheduler | None
    ) -> None:
        super().__init__(shared, call)
        self._shared = shared
        self._needed = checked_natural(subscribers, "subscribers", 1)
        self._seconds = seconds
        self._scheduler = scheduler
        self._lock = shared._lock  # one lock, so that no thread waits for one while it holds the other
        self._period: _Period | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Count one more Subscriber, and connect when there are enough."""
        subscriber = in_context(checked_subscriber(subscriber))
        with self._lock:
            connection = self._shared.connection()
            period = self._period
            if period is None or period.connection is not connection:
                period = self._period = _Period(connection)
                if self._seconds:
                    period.timer = Timer(
                        self._scheduler,
                        partial(self._expired, period),
                        lambda _: self._disconnect(period),  # the scheduler was closed before the deadline
                        self._lock,
                    )
                    if isinstance(connection.hub, _PublishHub):  # a history outlives the terminal signal
                        connection.hub.on_finished.append(period.timer.cancel)
            period.count += 1
            connects = period.connects = period.connects or period.count >= self._needed
        if period.timer is not None:
            period.timer.cancel()
        _CountedSubscription(self, period, subscriber).start()
        if connects:
            connection.connect()

    def leave(self, period: _Period) -> None:
        """Remove a Subscriber, and disconnect after the last one.

        Disconnects at once, or after the grace period.
        """
        with self._lock:
            period.count -= 1
            if period.count or period is not self._period or not period.connects:
                return
        if period.timer is not None and self._seconds and not period.connection.hub._over:
            try:
                period.timer.set_after(self._seconds)
            except Exception:  # the scheduler is closed, and cancel() must return normally (§3.15)
                pass
            else:
                self._clear_if_unneeded(period, period.timer)
                return
        self._disconnect(period)

    def _clear_if_unneeded(self, period: _Period, timer: Timer) -> None:
        """Clear the timer that was just set if it is no longer needed."""
        with self._lock:
            if period.count:
                timer.clear()  # under the lock: the next Subscriber that leaves sets it again
            unneeded = period is not self._period or period.connection.hub._over
        if unneeded:
            timer.cancel()

    def _expired(self, period: _Period) -> None:
        if period.timer is not None and period.timer.claim():
            self._disconnect(period)

    def _disconnect(self, period: _Period) -> None:
        with self._lock:
            if period.count or period is not self._period:
                return  # a Subscriber subscribed in time
            self._period = None
            self._shared.forget(period.connection)  # a later Subscriber needs a new connection
        period.connection.cancel()


class _Period:
    """One connection and the number of its Subscribers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.count = 0
        self.connects = False  # there were enough Subscribers
        self.timer: Timer | None = None  # disconnects if there is no new Subscriber


class _CountedSubscription(HubSubscription[Any]):
    """A subscription to the connection, which ``ref_count`` counts."""

    def __init__(self, operator: RefCount, period: _Period, subscriber: Subscriber[Any]) -> None:
        super().__init__(period.connection.hub, subscriber)
        self._operator = operator
        self._period = period
        self._counted = True  # whether the connection continues without this Subscriber, which then leaves it

    def finish(self, error: BaseException | None) -> None:
        self._counted = self._illegal is not None and not self._hub._over  # 3.9; else the connection has terminated
        super().finish(error)

    def _terminate(self, error: BaseException | None = None) -> Subscriber[Any] | None:
        subscriber = super()._terminate(error)
        if subscriber is not None and self._counted:
            self._operator.leave(self._period)
        return subscriber

    def _on_cancel(self) -> None:
        self._forget()
        self._operator.leave(self._period)
        self._hub._left()
