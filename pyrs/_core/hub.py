"""The engine of multicast: one thread at a time signals many Subscribers."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from enum import Enum
from threading import RLock, get_ident
from typing import Any, Final, Generic

from pyrs._core import hooks
from pyrs._core.context import in_context
from pyrs._core.demand import UNBOUNDED
from pyrs._core.downstream import DownstreamSubscription, checked_subscriber
from pyrs._core.drain import DrainLoop
from pyrs._core.validation import checked_error
from pyrs.api import Publisher, Subscriber, T
from pyrs.errors import NullSignal

IDLE: Final = 0
EMITTING: Final = 1
DRAINING: Final = 2


class EmitResult(Enum):
    """The outcome of a push.

    The names are Reactor's, without ``FAIL_`` and with a plural in ``ZERO_SUBSCRIBERS``.
    """

    OK = "ok"
    """The signal was sent, or is buffered until it can be sent."""

    OVERFLOW = "overflow"
    """The buffer is full; or the sink has no buffer, and there is too little demand."""

    CANCELLED = "cancelled"
    """The last Subscriber cancelled, and a later one receives no element."""

    TERMINATED = "terminated"
    """The stream has terminated already."""

    NON_SERIALIZED = "non_serialized"
    """Another push was in progress (§1.3)."""

    ZERO_SUBSCRIBERS = "zero_subscribers"
    """There is no Subscriber, and no capacity to buffer the element for a later one."""


# Bound once: in older Pythons an attribute of an Enum is a function call, and these are used for each element.
OK: Final = EmitResult.OK
NON_SERIALIZED: Final = EmitResult.NON_SERIALIZED


class HubSubscription(DownstreamSubscription[T]):
    """One Subscriber's subscription to a hub.

    Attributes:
        position: the node of the last received element in the history of a replaying hub; None without a history.
        missed: whether the element at that position arrived after the Subscriber had cancelled.
        joined: the number of the newest element that had left that history before the Subscriber subscribed.
    """

    missed = False
    joined = 0

    def __init__(self, hub: Hub[T], subscriber: Subscriber[T]) -> None:
        super().__init__(subscriber, None)  # the hub's signals carry the context already
        self._hub = hub
        self.on_next = subscriber.on_next
        if self.discards and not hub._subscriptions:
            hub.discards = self.discards  # the hub calls the discard functions of its first Subscriber
        self.position: Any = None

    def start(self) -> None:
        """Signal ``on_subscribe``, then join the hub; called once."""
        self._introduce()
        self._hub._admit(self)

    def finish(self, error: BaseException | None) -> None:
        """Send the terminal signal, or the answer to an illegal request (§3.9)."""
        self._end_with(error if self._illegal is None else self._illegal)

    def _error_received(self, error: BaseException) -> None:
        if error is self._hub._unreceived:
            self._hub._unreceived = None

    def _drop(self, error: BaseException | None) -> None:
        """Let the hub decide: its error usually reaches other Subscribers."""
        self._hub._missed_error(self)

    def _on_request(self, n: int) -> None:
        hub = self._hub
        if n <= 0:
            hub._has_illegal_request = True
            hub.wake_here()
            return
        if self._requested >= UNBOUNDED:
            with hub._lock:
                hub._bounded.discard(self)
                hub._update_unbounded()
        hub._demanded(self)

    def _on_cancel(self) -> None:
        self._forget()
        self._hub._left()

    def _forget(self) -> None:
        hub = self._hub
        with hub._lock:
            self._subscriber = None
            # First, because ``_drain`` looks for late elements only if ``hub._subscriptions`` has been replaced.
            hub._exclude(self)
            # The signalling thread may still refer to this subscription, which must ignore further elements.
            self.on_next = self._ignore_late
            self._requested = self._emitted + UNBOUNDED

    def _ignore_late(self, element: Any) -> None:
        """Receive an element after the cancel, with the hub's turn.

        The hub discards the element if no other Subscriber receives it.
        """
        if self.position is not None:
            self.missed = True  # a later Subscriber may receive it
        else:
            self._hub._late += 1
            self._hub._unsettled = True

    def _release(self) -> None:
        """Do nothing: the upstream side belongs to the hub."""


class Hub(DrainLoop, Publisher[T], Generic[T]):
    """Signals several Subscribers from one drain loop.

    A thread with an element, demand or a terminal signal stores it and returns if another thread is signalling.
    Therefore signals are serial (§1.3), recursion is bounded (§3.3), and no lock is held while user code runs.

    A subclass implements ``_drain`` and ``_demanded``.

    Args:
        guards: whether a push is refused while another thread's push is being signalled.

    Rules: 1.3, 1.4, 1.5, 1.7, 1.9, 1.11, 2.13, 3.3; ``HubSubscription`` follows those of a Subscription.
    """

    carries_context = True

    def __init__(self, *, guards: bool = True) -> None:
        super().__init__()
        self._lock = RLock()  # reentrant: the collector may run a finalizer that cancels while the lock is held
        self._owner = 0  # the thread that has the turn, or had it last
        self._activity = IDLE  # of the owner: IDLE, EMITTING or DRAINING
        self._has_illegal_request = False  # a Subscriber sent an illegal request (3.9)
        self._interrupt: BaseException | None = None  # raised after every Subscriber was signalled
        self._late = 0  # the number of Subscribers that had cancelled when the current element reached them
        self._unsettled = False  # an element was late, or there is an interrupt
        self._subscriptions: tuple[HubSubscription[T], ...] = ()  # replaced, never changed; under the lock
        # Whether all demand is unbounded, so that none is counted (3.17). Written under the lock: false before a
        # bounded Subscriber is added, true only after the last one was removed. Read it after _subscriptions.
        self._unbounded = False
        self._bounded: set[HubSubscription[T]] = set()  # those with bounded demand; under the lock
        self._ended = False  # completed or failed: no more elements are accepted
        self._over = False  # the terminal signal is being sent, or has been sent, to every Subscriber
        self._error: BaseException | None = None
        self._unreceived: BaseException | None = None  # the error, until a Subscriber receives it or it is reported
        self._abandoned = False  # no Subscriber will receive the buffered elements
        self._final = False  # abandon the hub when the last current Subscriber has cancelled
        self._guards = guards
        self.discards: hooks.Discards = ()

    @abstractmethod
    def _drain(self) -> None:
        """Signal as many elements and terminal signals as possible."""

    def _drained(self) -> None:
        """React to elements that Subscribers received, with the turn."""

    @abstractmethod
    def _demanded(self, subscription: HubSubscription[T]) -> None:
        """React to additional demand of a Subscriber, on any thread."""

    def _left(self) -> None:
        """React to the cancel of a Subscriber, on any thread."""
        with self._lock:
            self._abandoned |= self._final and not self._subscriptions
        self.wake_here()

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        HubSubscription(self, in_context(checked_subscriber(subscriber))).start()

    def _include(self, subscription: HubSubscription[T]) -> None:
        """Add a Subscription, unless it was cancelled; called under the lock."""
        while subscription._live:
            before = self._subscriptions
            more = (*before, subscription)
            # Repeated if a finalizer, which the collector may run here, has cancelled a Subscription.
            if before is self._subscriptions and subscription._live:
                self._unbounded = False
                self._subscriptions = more
                if subscription._requested < UNBOUNDED:  # a later request for unbounded demand removes it again
                    self._bounded.add(subscription)
                self._update_unbounded()
                if subscription._illegal is not None:  # requested in on_subscribe
                    self._has_illegal_request = True  # not |=, which could undo another thread's change
                return

    def _exclude(self, subscription: HubSubscription[T]) -> None:
        """Remove a Subscription, which receives no more; called under the lock."""
        self._bounded.discard(subscription)
        while True:
            before = self._subscriptions
            try:
                place = before.index(subscription)  # fast if the oldest one leaves first, as at the end of the stream
            except ValueError:
                return
            others = before[:place] + before[place + 1 :]
            if before is self._subscriptions:  # otherwise a finalizer has changed it
                self._subscriptions = others
                self._update_unbounded()
                return

    def _update_unbounded(self) -> None:
        """Set ``_unbounded``; called under the lock."""
        self._unbounded = not self._bounded and bool(self._subscriptions)

    def _admit(self, subscription: HubSubscription[T]) -> None:
        """Add the Subscriber, or send it the terminal signal if the hub accepts no more."""
        with self._lock:
            admitted = not (self._over or self._abandoned)
            if admitted:
                self._include(subscription)
        if not admitted:
            subscription.finish(self._error)
        elif self._has_illegal_request or self._ended:
            self.wake_here()
        else:
            self._demanded(subscription)

    def _work(self) -> None:
        self._again = False
        try:
            self._owner = get_ident()
            self._activity = DRAINING
            if self._has_illegal_request:
                self._answer()
            self._drain()
        finally:
            self._activity = IDLE
        self._raise_interrupt()

    def _raise_interrupt(self) -> None:
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def _refusal(self) -> EmitResult | None:
        """Return the reason to reject a push, or None; called under the lock."""
        if self._guards and self._activity == EMITTING and self._owner != get_ident():
            return NON_SERIALIZED  # another thread's push is being signalled
        if self._ended:
            return EmitResult.TERMINATED
        return EmitResult.CANCELLED if self._abandoned else None

    def _answer(self) -> None:
        """Fail the Subscribers that sent an illegal request (§3.9), with the turn."""
        self._has_illegal_request = False
        for each in self._subscriptions:
            if each._illegal is not None:
                self._finish_one(each)
                self._left()

    def _finish_one(self, subscription: HubSubscription[T]) -> None:
        """Send one Subscriber its terminal signal, with the turn."""
        try:
            subscription.finish(self._error)
        except BaseException as interrupt:  # an interrupt or an exit; the other Subscribers must still be signalled
            self._interrupt = interrupt

    def _finish(self) -> None:
        """Send every Subscriber the terminal signal, with the turn."""
        with self._lock:
            self._over = True
            subscriptions = self._subscriptions
        for each in subscriptions:
            self._finish_one(each)

    def try_emit_complete(self) -> EmitResult:
        """Complete the stream, after the buffered elements.

        Returns:
            OK, or the reason for the refusal.
        """
        return self._end(None)

    def try_emit_error(self, error: BaseException, /) -> EmitResult:
        """Fail the stream, after the buffered elements.

        Returns:
            OK, or the reason for the refusal. A refused error is not reported as dropped, because the caller has it.

        Raises:
            NullSignal: the error is None.
            TypeError: ``error`` is not an exception.
        """
        return self._end(checked_error(error))

    def _missed_error(self, subscription: HubSubscription[T]) -> None:
        """React to an error that a cancelled Subscriber missed; by default do nothing."""

    def _end(self, error: BaseException | None) -> EmitResult:
        with self._lock:
            if (refusal := self._refusal()) is not None:
                return refusal
            self._error = self._unreceived = error
            self._ended = True  # last: the drain loop reads it without the lock
        self.wake_here()
        return OK

    def _report_error(self, where: str) -> None:
        """Report the error as dropped, once, unless a Subscriber has received it."""
        with self._lock:
            error, self._unreceived = self._unreceived, None
        if error is not None:
            hooks.on_error_dropped(error, where)

    def _subscriber_raised(self, subscription: HubSubscription[T], error: BaseException) -> None:
        """Cancel because ``on_next`` raised (§2.13); raise an interrupt after all signals."""
        try:
            subscription._subscriber_raised(error, "on_next")
        except BaseException as interrupt:
            self._interrupt = interrupt
            self._unsettled = True
        self._left()

    def _settle_late(self, element: T, receivers: int) -> None:
        """Discard an element if all its receivers had cancelled; called with the turn."""
        late, self._late = self._late, 0
        self._unsettled = False
        if late and late == receivers:
            hooks.discard(self.discards, element)


class AlignedHub(Hub[T]):
    """A hub whose Subscribers receive each element at the pace of the slowest one.

    Elements that cannot be signalled at once are buffered, up to the capacity.

    Args:
        capacity: the maximum number of buffered elements; None if elements are pushed serially and only as requested
            from the source.
    """

    def __init__(self, capacity: int | None) -> None:
        super().__init__(guards=capacity is not None)
        self._capacity = capacity
        self._buffer: deque[T] = deque()

    def try_emit(self, element: T, /) -> EmitResult:
        """Signal the element to every Subscriber, or buffer it until all demand it."""
        if element is None:
            raise NullSignal("None is not an element")
        turn = self._turn
        try:
            del turn[0]  # DrainLoop.attempt, inlined: this saves two frames per element
        except IndexError:
            result = self._enqueue(element)
        else:
            try:
                try:
                    self._owner = get_ident()
                    self._activity = EMITTING
                    subscriptions = self._subscriptions
                    if (
                        self._buffer
                        or self._ended
                        or not subscriptions
                        or not (self._unbounded or self._count(subscriptions))
                    ):
                        result = self._enqueue(element)
                    else:
                        result = OK
                        for each in subscriptions:
                            try:
                                each.on_next(element)
                            except BaseException as error:
                                self._subscriber_raised(each, error)
                        if self._unsettled:
                            self._settle_late(element, len(subscriptions))
                            self._raise_interrupt()
                finally:
                    self._activity = IDLE
                    turn.append(True)
            except BaseException:
                if self._again:
                    self.run_here()
                raise
        if self._again:
            self.run_here()
        return result

    def _count(self, subscriptions: tuple[HubSubscription[T], ...]) -> bool:
        """Return whether all Subscribers demand an element; if so, count it as emitted."""
        for each in subscriptions:
            if each._requested <= each._emitted:
                return False
        for each in subscriptions:
            each._emitted += 1
        return True

    def _buffered(self) -> int:
        return len(self._buffer)

    def _enqueue(self, element: T) -> EmitResult:
        """Buffer the element, if there is capacity."""
        with self._lock:
            if (refusal := self._refusal()) is not None:
                return refusal
            if self._capacity is not None and len(self._buffer) >= self._capacity:
                return self._overflowed(element)
            self._buffer.append(element)
            self._again = True
        return OK

    def _overflowed(self, element: T) -> EmitResult:
        """Handle an element that the buffer cannot take; called under the lock."""
        return EmitResult.OVERFLOW if self._subscriptions else EmitResult.ZERO_SUBSCRIBERS

    def _demanded(self, subscription: HubSubscription[T]) -> None:
        if self._buffer:  # a thread that is about to buffer an element checks again afterwards
            self.wake_here()

    def _drain(self) -> None:
        buffer = self._buffer
        ended = self._ended  # read first: if it is true, the buffer contains all remaining elements
        if self._abandoned:
            self._discard()
        while buffer:
            subscriptions = self._subscriptions
            if not subscriptions:
                return
            demand = min([each._demand() for each in subscriptions])
            if demand <= 0:
                return
            for _ in range(min(demand, len(buffer))):
                try:
                    element = buffer.popleft()
                except IndexError:
                    break  # the oldest element was dropped in the meantime
                for each in subscriptions:
                    each._emitted += 1
                    try:
                        each.on_next(element)
                    except BaseException as error:
                        self._subscriber_raised(each, error)
                if self._subscriptions is not subscriptions or self._has_illegal_request:
                    self._settle_late(element, len(subscriptions))
                    break
            if self._has_illegal_request:
                self._answer()
            self._drained()
        if ended and not self._over:
            self._finish()

    def _discard(self) -> None:
        count = len(self._buffer)
        hooks.discard_all(self.discards, self._buffer)
        where = "buffered when the last Subscriber cancelled, or the connection was cancelled"
        hooks.on_next_dropped(count, where, cancelled=True)
