"""One source, many Subscribers: who they are, and one thread at a time that signals them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from enum import Enum
from threading import RLock, get_ident
from typing import Any, Final, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.context import in_context
from pyrs._core.demand import UNBOUNDED, checked_count, in_words, non_positive
from pyrs._core.subscription import checked_subscriber
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal, SpecViolation

__all__ = ["AlignedHub", "EmitResult", "Hub", "Tap"]

T = TypeVar("T")

IDLE: Final = 0
EMITTING: Final = 1
DRAINING: Final = 2


class EmitResult(Enum):
    """What became of a signal that was pushed. The names are Reactor's."""

    OK = "ok"
    """It was signalled, or is held until it can be."""

    OVERFLOW = "overflow"
    """There was no room for it: a Subscriber, or the slowest of them, is too far behind."""

    CANCELLED = "cancelled"
    """Whoever was to get it has cancelled, and nobody else will come."""

    TERMINATED = "terminated"
    """The stream has ended already."""

    NON_SERIALIZED = "non_serialized"
    """Another thread was pushing at the same time (1.3)."""

    ZERO_SUBSCRIBERS = "zero_subscribers"
    """There is no Subscriber, and no room to hold it for one."""


# By these names where elements are pushed: a look into an Enum is a function call in older Pythons.
OK: Final = EmitResult.OK
NON_SERIALIZED: Final = EmitResult.NON_SERIALIZED


def _ignore(element: Any) -> None:
    """Take an element in place of a Subscriber that is no longer there."""


class Tap(Subscription, Generic[T]):
    """One Subscriber's subscription to a hub.

    Rules: 1.6, 3.2, 3.5, 3.6, 3.7, 3.8, 3.9, 3.13, 3.15, 3.16, 3.17.
    """

    __slots__ = ("_hub", "emitted", "illegal", "live", "on_next", "place", "requested", "subscriber")

    def __init__(self, hub: Hub[T], subscriber: Subscriber[T]) -> None:
        self._hub = hub
        self.subscriber: Subscriber[T] | None = subscriber
        self.on_next = subscriber.on_next
        self.requested = 0  # written by whoever requests, under the hub's lock; a Python int has no bound (3.17)
        self.emitted = 0  # written by the thread that signals
        self.illegal: SpecViolation | None = None
        self.live = True
        self.place: Any = None  # where a replay has come to

    def request(self, n: int, /) -> None:
        if n.__class__ is not int:
            n = checked_count(n)
        hub = self._hub
        with hub._lock:
            if not self.live:
                return  # 3.6
            if n > 0:
                self.requested += n  # 3.8
                if self.requested >= UNBOUNDED:
                    hub._see_who_counts()
            elif self.illegal is None:
                self.illegal = non_positive(n)  # 3.9, signalled by the thread that signals (1.3)
                hub._accused = True
        if n > 0:
            hub._demanded()
        else:
            hub._wake()

    def cancel(self) -> None:
        hub = self._hub
        if self.take() is not None:  # 3.7
            hub._left()

    def take(self) -> Subscriber[T] | None:
        """End the Subscription and forget the Subscriber (3.13). Only the first caller is given it (1.7)."""
        hub = self._hub
        place = None
        with hub._lock:
            subscriber, self.subscriber = self.subscriber, None
            if subscriber is not None:
                self.live = False
                # Who is signalling right now may still have this tap in hand: it takes everything, and says nothing.
                self.on_next = _ignore
                self.requested = self.emitted + UNBOUNDED
                place, self.place = self.place, None
                hub._exclude(self)
        del place  # not under the lock: the elements that it may hold may have finalizers
        return subscriber

    def end(self, error: BaseException | None) -> None:
        """Signal the end, unless it is over. Not while it is being signalled something else."""
        error = self.illegal or error
        subscriber = self.take()
        if subscriber is None:
            return
        try:
            if error is None:
                subscriber.on_complete()  # 1.5
            else:
                subscriber.on_error(error)  # 1.4
        except BaseException as raised:
            self._hub._report(raised, "on_complete" if error is None else "on_error", subscriber)

    def __repr__(self) -> str:
        return f"<Tap {'live' if self.live else 'over'}, {in_words(self.requested - self.emitted)}>"


class Hub(Publisher[T], ABC, Generic[T]):
    """Signals several Subscribers, on one thread at a time: whichever brings an element, demand or the end.

    A thread that finds another one signalling leaves what it brought and returns; who signals looks again before it
    goes. So signals are serial (1.3), recursion is bounded (3.3), and no lock is held while a user's code runs:
    ``_turn`` is only ever tried, and ``_lock`` guards a few lines of ours.

    A subclass says what there is to signal in ``_drain``.

    Args:
        guards: whether a push is refused while another thread's push is being signalled.

    Rules: 1.3, 1.4, 1.5, 1.7, 1.9, 1.11, 2.13, 3.3; a Subscription's own are kept by ``Tap``.
    """

    carries_context = True

    def __init__(self, *, guards: bool = True) -> None:
        self._lock = RLock()  # may be taken again by its thread: a finalizer, run by the collector, may cancel
        # Whoever deletes the one item has the turn: see Lane.
        self._turn = [True]
        self._owner = 0  # the thread that has it, or had it last
        self._busy = IDLE  # what it does with it
        self._again = False  # there may be something to do
        self._accused = False  # somebody broke 3.9
        self._interrupt: BaseException | None = None  # it travels on when all were signalled
        self._taps: tuple[Tap[T], ...] = ()  # replaced, never changed; under the lock
        # Whether the demand of all of them is unbounded, so that none needs to be counted (3.17). Under the lock; true
        # only after all who count have left, false before one comes: who signals reads the taps first.
        self._unbounded = False
        self._ended = False  # no more elements come
        self._over = False  # and everybody was told
        self._error: BaseException | None = None
        self._abandoned = False  # cancelled for good: nobody wants what is held
        self._guards = guards

    @abstractmethod
    def _drain(self) -> None:
        """Signal whatever can be signalled."""

    def _demanded(self) -> None:
        """A Subscriber's demand grew. Called from any thread."""
        self._wake()

    def _left(self) -> None:
        """A Subscriber cancelled. Called from any thread."""
        self._wake()

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """See ``Publisher``."""
        tap = Tap(self, in_context(checked_subscriber(subscriber)))
        self._introduce(tap)
        self._admit(tap)

    def _introduce(self, tap: Tap[T]) -> None:
        """Signal ``on_subscribe``, before anything else can be (1.9)."""
        subscriber = tap.subscriber
        assert subscriber is not None
        try:
            subscriber.on_subscribe(tap)
        except BaseException as error:
            tap.take()
            self._report(error, "on_subscribe", subscriber)

    def _include(self, tap: Tap[T]) -> None:
        """Have it among those who are signalled, unless it cancelled. Under the lock."""
        while tap.live:
            taps = self._taps
            more = (*taps, tap)
            if taps is self._taps and tap.live:  # else a finalizer, run by the collector meanwhile, has cancelled one
                self._unbounded = False
                self._taps = more
                self._see_who_counts()
                self._accused |= tap.illegal is not None  # in on_subscribe
                return

    def _exclude(self, tap: Tap[T]) -> None:
        """Signal it no more. Under the lock."""
        while True:
            taps = self._taps
            others = tuple([each for each in taps if each is not tap])
            if taps is self._taps:  # as above
                self._taps = others
                self._see_who_counts()
                return

    def _see_who_counts(self) -> None:
        """Set ``_unbounded``. Under the lock."""
        taps = self._taps
        for tap in taps:
            if tap.requested < UNBOUNDED:
                break
        else:
            self._unbounded = bool(taps) and taps is self._taps  # the look comes last: as above
            return
        self._unbounded = False

    def _admit(self, tap: Tap[T]) -> None:
        """Let the tap take part from now on; if everything is over it is told so."""
        with self._lock:
            admitted = not (self._over or self._abandoned)
            if admitted:
                self._include(tap)
        if not admitted:
            tap.end(self._error)
        elif self._accused or self._ended:
            self._wake()
        else:
            self._demanded()

    def _wake(self) -> None:
        """Have everything looked at once more, by this thread or by the one that is signalling."""
        self._again = True
        self._run()

    def _run(self, interrupt: BaseException | None = None) -> None:
        """Do what there is to do, if nobody does it. An interrupt is raised after that, or others would wait for it."""
        turn = self._turn
        while self._again:
            try:
                del turn[0]
            except IndexError:
                break  # whoever has the turn looks again when it has given it back
            try:
                self._owner = get_ident()
                self._busy = DRAINING
                self._again = False
                if self._accused:
                    self._answer()
                self._drain()
                interrupt = self._take_interrupt() or interrupt
            except BaseException as error:
                interrupt = error
            finally:
                self._busy = IDLE
                turn.append(True)
        if interrupt is not None:
            raise interrupt

    def _collides(self) -> bool:
        """Return whether a push of this thread is one too many: another thread's push is being signalled."""
        return self._guards and self._busy == EMITTING and self._owner != get_ident()

    def _answer(self) -> None:
        self._accused = False
        for tap in self._taps:
            if tap.illegal is not None:
                self._end_of(tap)
                self._left()

    def _end_of(self, tap: Tap[T]) -> None:
        """Tell the Subscriber the end. By whoever has the turn."""
        try:
            tap.end(self._error)
        except BaseException as interrupt:  # an interrupt or an exit; the others are still to be signalled
            self._interrupt = interrupt

    def _finish(self) -> None:
        """Tell everybody the end, those who come later too. By whoever has the turn."""
        with self._lock:
            self._over = True
            taps = self._taps
        for tap in taps:
            self._end_of(tap)

    def try_emit_complete(self) -> EmitResult:
        """Complete the stream, after what is held.

        Returns:
            OK, or why not.
        """
        return self._end(None)

    def try_emit_error(self, error: BaseException, /) -> EmitResult:
        """Fail the stream, after what is held.

        Returns:
            OK, or why not. The caller has the error still: no hook is told.

        Raises:
            NullSignal: the error is None.
            TypeError: it is no exception.
        """
        if error is None:
            raise NullSignal("None is not an error")
        if not isinstance(error, BaseException):
            raise TypeError(f"error must be an exception, not {type(error).__name__}")
        return self._end(error)

    def _end(self, error: BaseException | None) -> EmitResult:
        with self._lock:
            if self._collides():
                return NON_SERIALIZED
            if self._ended:
                return EmitResult.TERMINATED
            if self._abandoned:
                return EmitResult.CANCELLED
            self._ended = True
            self._error = error
        self._wake()
        return OK

    def _subscriber_raised(self, tap: Tap[T], error: BaseException) -> None:
        """``on_next`` raised (2.13): the Subscription is cancelled. An interrupt waits until all were signalled."""
        subscriber = tap.take()
        self._left()
        try:
            self._report(error, "on_next", subscriber)
        except BaseException as interrupt:
            self._interrupt = interrupt

    def _report(self, error: BaseException, signal: str, subscriber: Subscriber[T] | None) -> None:
        """Tell the hook what a Subscriber raised, never the Subscriber.

        Raises:
            BaseException: the error itself, if it is an interrupt or an exit.
        """
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {signal} of {type(subscriber).__name__}" if subscriber else signal)

    def _take_interrupt(self) -> BaseException | None:
        """Return what is to be raised when the turn was given back. By whoever has the turn."""
        interrupt, self._interrupt = self._interrupt, None
        return interrupt


class AlignedHub(Hub[T]):
    """A hub whose Subscribers all get the same elements at the same time: the slowest one decides.

    Elements that cannot be signalled at once are held, up to the capacity.

    Args:
        capacity: the most elements held; None where whoever pushes was asked for no more than there is room for, and
            pushes serially.
    """

    def __init__(self, capacity: int | None) -> None:
        super().__init__(guards=capacity is not None)
        self._capacity = capacity
        self._buffer: deque[T] = deque()

    def try_emit(self, element: T, /) -> EmitResult:
        """Signal the element to every Subscriber, or hold it until the slowest one demands it.

        Returns:
            OK, or why it was not taken.

        Raises:
            NullSignal: the element is None.
        """
        if element is None:
            raise NullSignal("None is not an element")
        turn = self._turn
        try:
            del turn[0]
        except IndexError:
            result = self._hold(element)
        else:
            interrupt = None
            try:
                self._owner = get_ident()
                self._busy = EMITTING
                taps = self._taps
                if taps and self._unbounded and not self._buffer and not self._ended:
                    result = OK
                    for tap in taps:
                        try:
                            tap.on_next(element)
                        except BaseException as error:
                            self._subscriber_raised(tap, error)
                elif self._passes(taps):
                    result = OK
                    for tap in taps:
                        tap.emitted += 1
                        try:
                            tap.on_next(element)
                        except BaseException as error:
                            self._subscriber_raised(tap, error)
                else:
                    result = self._hold(element)
                if self._interrupt is not None:
                    interrupt = self._take_interrupt()
            finally:
                self._busy = IDLE
                turn.append(True)
            if interrupt is not None:
                self._run(interrupt)
        if self._again:
            self._run()
        return result

    def _passes(self, taps: tuple[Tap[T], ...]) -> bool:
        """Return whether an element goes straight to these, who are all that there are."""
        for tap in taps:
            if tap.requested <= tap.emitted:
                return False
        return bool(taps) and not self._buffer and not self._ended

    def _hold(self, element: T) -> EmitResult:
        """Put the element in the buffer, if there is room."""
        with self._lock:
            if self._collides():
                return NON_SERIALIZED
            if self._ended:
                return EmitResult.TERMINATED
            if self._abandoned:
                return EmitResult.CANCELLED
            if self._capacity is not None and len(self._buffer) >= self._capacity:
                return self._overflowed(element)
            self._buffer.append(element)
            self._again = True
        return OK

    def _overflowed(self, element: T) -> EmitResult:
        """The buffer is full. Under the lock."""
        return EmitResult.OVERFLOW if self._taps else EmitResult.ZERO_SUBSCRIBERS

    def _demanded(self) -> None:
        if self._buffer:  # or whoever is just about to put something there looks again after that
            self._wake()

    def _drain(self) -> None:
        buffer = self._buffer
        if self._abandoned:
            self._discard()
        while buffer:
            taps = self._taps
            if not taps:
                return
            room = min([tap.requested - tap.emitted for tap in taps])
            if room <= 0:
                return
            for _ in range(min(room, len(buffer))):
                try:
                    element = buffer.popleft()
                except IndexError:
                    break  # the oldest one had to make room
                for tap in taps:
                    tap.emitted += 1
                    try:
                        tap.on_next(element)
                    except BaseException as error:
                        self._subscriber_raised(tap, error)
                if self._taps is not taps or self._accused:
                    break
            if self._accused:
                self._answer()
            self._drained()
        if self._ended and not self._over:
            self._finish()

    def _drained(self) -> None:
        """Elements left the buffer. By whoever has the turn."""

    def _discard(self) -> None:
        count = 0
        while self._buffer:
            self._buffer.popleft()
            count += 1
        hooks.on_next_dropped(count, "held when the last Subscriber, or the connection, was cancelled", cancelled=True)
