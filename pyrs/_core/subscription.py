"""A source's Subscription: exact demand, serial signals, bounded recursion, one terminal signal."""

from __future__ import annotations

from abc import abstractmethod
from threading import RLock
from typing import Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.context import capture
from pyrs._core.demand import checked_count, in_words, non_positive
from pyrs._core.display import kind_of
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NullSignal, SpecViolation

__all__ = ["InertSubscription", "SourceSubscription", "checked_subscriber"]

T = TypeVar("T")

_SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")


def checked_subscriber(subscriber: Subscriber[T] | None) -> Subscriber[T]:
    """Return the subscriber if it is one.

    Raises:
        NullSignal: it is None (1.9).
        TypeError: it lacks one of the four methods, or is a class.
    """
    if subscriber is None:
        raise NullSignal("subscribe(None): a Subscriber is needed", rule="1.9", party="Subscriber")
    if isinstance(subscriber, type):
        raise TypeError(f"subscriber must be a Subscriber, not {kind_of(subscriber)}")
    for name in _SIGNALS:
        if not callable(getattr(subscriber, name, None)):
            raise TypeError(f"subscriber must be a Subscriber: {type(subscriber).__name__} has no {name}()")
    return subscriber


class SourceSubscription(Subscription, Generic[T]):
    """Drives a source on whichever thread asks, one at a time.

    The first thread that requests becomes the one that emits; requests that come meanwhile, from inside ``on_next``
    or from other threads, add to the demand and return. So signals are serial (1.3), the stack stays flat (3.3), and
    no lock is held while a user's code runs. A source says what it does in ``_produce``, ``_look_for_end`` and
    ``_release``.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.13, 3.2, 3.3, 3.5, 3.6, 3.7, 3.8, 3.9, 3.10,
    3.11, 3.12, 3.13, 3.15, 3.16, 3.17.
    """

    __slots__ = (
        "_attention",
        "_busy",
        "_emitted",
        "_illegal",
        "_live",
        "_lock",
        "_requested",
        "_subscribed_in",
        "_subscriber",
    )

    def __init__(self, subscriber: Subscriber[T]) -> None:
        self._subscriber: Subscriber[T] | None = subscriber
        self._subscribed_in = capture()
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        # Two sums and no counter that both sides change: the thread that emits reads the demand without the lock.
        self._requested = 0  # written by whoever requests, under the lock
        self._emitted = 0  # written by the thread that emits
        self._illegal: SpecViolation | None = None
        self._live = True  # neither cancelled nor ended
        self._attention = False  # something other than demand happened: leave the loop over elements and look
        self._busy = True  # from the start, so that what on_subscribe requests is sent after it returned

    # What a source says.

    @abstractmethod
    def _produce(self, subscriber: Subscriber[T], demand: int) -> int:
        """Signal up to ``demand`` elements and return how many they were; ``complete`` or ``fail`` at the end.

        After each element look at ``self._attention`` and return if it is set. Demand that came meanwhile, which is
        ``self._requested - self._emitted`` in all, may be served too.
        """

    @abstractmethod
    def _look_for_end(self) -> None:
        """Called when there is no demand: end the stream if that can be told without pulling."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of the source. Called once, by the thread that emits or by nobody else's leave."""

    # What the Subscriber may do.

    def request(self, n: int, /) -> None:
        if n.__class__ is not int:
            n = checked_count(n)
        with self._lock:
            if not self._live:
                return  # 3.6
            if n > 0:
                self._requested += n  # 3.8; a Python int has no bound to wrap at (3.17)
            elif self._illegal is None:
                self._illegal = non_positive(n)  # 3.9, signalled by the thread that emits (1.3)
                self._attention = True
            if self._busy:
                return  # 3.3
        if self._subscribed_in is None:
            self._drain()
        else:  # what is signalled from here is signalled in the context of whoever subscribed
            self._subscribed_in.copy().run(self._drain)

    def cancel(self) -> None:
        with self._lock:
            if not self._live:
                return  # 3.7
            self._live = False
            self._attention = True
            if self._busy:
                return  # 3.5: at once; the thread that emits sees it after the element it is at (1.8, 3.12)
            self._busy = True
        self._let_go()

    def __repr__(self) -> str:
        state = "live" if self._live else "over"
        return f"<{type(self).__name__} {state}, {in_words(self._requested - self._emitted)}>"

    # What keeps the rules.

    def start(self) -> None:
        """Signal ``on_subscribe``, then whatever was requested in it. Called once."""
        subscriber = self._subscriber
        assert subscriber is not None
        try:
            subscriber.on_subscribe(self)  # 1.9
        except BaseException as error:
            self.subscriber_raised(error, "on_subscribe")
        self._drain(owner=True)

    def _drain(self, owner: bool = False) -> None:
        try:
            if not owner:
                with self._lock:
                    if self._busy:
                        return
                    owner = self._busy = True
            looked = False
            while True:
                subscriber = self._subscriber
                if not self._live or subscriber is None:
                    break
                if self._illegal is not None:
                    self.fail(self._illegal)
                    break
                demand = self._requested - self._emitted
                if demand:
                    looked = False
                    self._emitted += self._produce(subscriber, demand)
                elif not looked:
                    looked = True
                    self._look_for_end()
                else:
                    with self._lock:
                        if self._requested == self._emitted and not self._attention:
                            self._busy = False
                            return
            self._let_go()
        except BaseException as error:
            # Only an interrupt comes here: from a user's code, or between two lines of ours. It must not leave the
            # flag up with a live Subscription behind it.
            if owner:
                self.fail(error)
                self._let_go()
            raise

    def _end(self) -> Subscriber[T] | None:
        """Make the Subscription count as cancelled (1.6); return the Subscriber if it was live until now (1.7)."""
        with self._lock:
            if not self._live:
                return None
            self._live = False
            self._attention = True
        subscriber = self._subscriber
        self._let_go()  # the source is closed by the time that its end is seen
        return subscriber

    def _let_go(self) -> None:
        """Drop every reference (3.13). Only the thread that holds the busy flag calls this; the flag stays up."""
        if self._subscriber is not None:
            self._subscriber = None
            self._release()

    def complete(self) -> None:
        """Signal ``on_complete``, unless the stream is over (1.5, 1.7)."""
        subscriber = self._end()
        if subscriber is not None:
            try:
                subscriber.on_complete()
            except BaseException as error:
                self.subscriber_raised(error, "on_complete")

    def fail(self, error: BaseException) -> None:
        """Signal ``on_error``, unless the stream is over; then the error goes to the hook (1.4, 1.7)."""
        subscriber = self._end()
        if subscriber is not None:
            try:
                subscriber.on_error(error)
            except BaseException as raised:
                self.subscriber_raised(raised, "on_error")
        elif not hooks.is_exit(error):
            hooks.on_error_dropped(error, "raised by the source of a cancelled stream")

    def subscriber_raised(self, error: BaseException, signal: str) -> None:
        """The Subscriber broke 2.13: its Subscription counts as cancelled, and the hook is told, never the Subscriber.

        Raises:
            BaseException: the error itself, if it is an interrupt or an exit.
        """
        subscriber = self._subscriber
        self._end()
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {signal} of {type(subscriber).__name__}" if subscriber else signal)


class InertSubscription(SourceSubscription[T]):
    """The Subscription of a stream without elements: nothing, or the error that it was made with."""

    __slots__ = ("_error",)

    def __init__(self, subscriber: Subscriber[T], error: BaseException | None = None) -> None:
        super().__init__(subscriber)
        self._error = error

    def _produce(self, subscriber: Subscriber[T], demand: int) -> int:
        self._look_for_end()
        return demand  # it is as good as served: none will come

    def _look_for_end(self) -> None:
        if self._error is not None:
            self.fail(self._error)

    def _release(self) -> None:
        self._error = None
