"""The downstream side of every Publisher: one Subscriber's Subscription."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from threading import RLock
from typing import Any, Generic

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, in_words, non_positive
from pyrs._core.display import kind_of
from pyrs._core.sites import is_coroutine_function
from pyrs._core.validation import checked_integer
from pyrs.api import Subscriber, Subscription, T
from pyrs.errors import NullSignal

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")


def checked_subscriber(subscriber: Subscriber[T] | None) -> Subscriber[T]:
    """Return the subscriber, or raise a NullSignal or TypeError (§1.9)."""
    if subscriber is None:
        raise NullSignal("subscribe(None): a Subscriber is needed", rule="1.9", party="Subscriber")
    if isinstance(subscriber, type):
        raise TypeError(f"subscriber must be a Subscriber, not {kind_of(subscriber)}")
    for name in SIGNALS:
        if not callable(getattr(subscriber, name, None)):
            raise TypeError(f"subscriber must be a Subscriber: {type(subscriber).__name__} has no {name}()")
    return subscriber


def awaits_signals(subscriber: object) -> bool:
    """Return whether a method is a coroutine function, as in an ``AsyncSubscriber``."""
    return any(is_coroutine_function(getattr(subscriber, name, None)) for name in SIGNALS)


class SubscriberWrapper(Subscriber[T]):
    """Forwards signals to another Subscriber, whose name is shown in messages."""

    def __init__(self, subscriber: Subscriber[T]) -> None:
        self._subscriber = subscriber
        self.discards = hooks.discards_of(subscriber)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscriber.on_subscribe(subscription)

    def on_next(self, element: T, /) -> None:
        self._subscriber.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._subscriber.on_complete()

    def __repr__(self) -> str:
        return repr(self._subscriber)


def unwrapped(subscriber: object) -> object:
    """Return the Subscriber without wrappers of pyrs."""
    while isinstance(subscriber, SubscriberWrapper):
        subscriber = subscriber._subscriber
    return subscriber


def subscriber_name(subscriber: object) -> str:
    """Return the name of a Subscriber's class, without wrappers of pyrs."""
    return type(unwrapped(subscriber)).__name__


class DownstreamSubscription(Subscription, Generic[T]):
    """Counts the demand of one Subscriber and sends it at most one terminal signal.

    Every source and every operator signals its Subscriber through a subclass of this class. The subclass decides what
    demand and cancellation mean upstream, and it signals serially (§1.3). It implements:

    * ``_on_request(n)``: demand grew, or ``request`` was called with an illegal n. Called on any thread, in the context
      of the Subscriber.
    * ``_on_cancel()``: the Subscriber cancelled. Called on any thread.
    * ``_release()``: release the resources of the stream. Called once, or more often if the subclass documents that.

    An operator that forwards demand unchanged sets ``_demand_to`` instead, which then answers illegal requests as well.

    ``_requested`` is written under the lock, ``_emitted`` by the thread that emits, which reads the demand
    without the lock. A Python int does not overflow (§3.17).

    Rules: 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.13, 3.2, 3.5, 3.6, 3.7, 3.8, 3.9, 3.10, 3.11, 3.12, 3.13, 3.15, 3.16, 3.17.
    """

    # If empty, ``request`` does not call ``_on_request``: the thread that emits reads the demand after each element.
    _takes_demand: Sequence[bool] = (True,)
    # The error of the stream while it terminates, or the last error that was reported as dropped.
    _failure: BaseException | None = None

    def __init__(self, subscriber: Subscriber[T], context: Context | None) -> None:
        self._subscriber: Subscriber[T] | None = subscriber
        self.discards = hooks.discards_of(subscriber)
        self._context = context
        self._lock = RLock()  # reentrant: the collector may run a finalizer that cancels while the lock is held
        self._requested = 0
        self._emitted = 0
        self._illegal: BaseException | None = None  # the answer to the first request(n) with n <= 0; or an interrupt
        self._live = True  # neither cancelled nor terminated
        self._demand_to: Subscription | None = None  # receives all demand, if set; under the lock
        self._interrupted = False  # cancelled, terminated, or an illegal request: a loop over elements stops

    # Implemented by sources and operators.

    @abstractmethod
    def _on_request(self, n: int) -> None:
        """Serve demand that grew by n, or answer an illegal request (n <= 0)."""

    @abstractmethod
    def _on_cancel(self) -> None:
        """Stop emitting and release, now or after the element that is being emitted."""

    @abstractmethod
    def _release(self) -> None:
        """Release the upstream side: cancel inputs and timers, clear buffers."""

    @property
    def _call(self) -> str:
        """The user's call, for messages and the repr."""
        return type(self).__name__

    # Called by the Subscriber.

    def request(self, n: int, /) -> None:
        if n.__class__ is not int:
            n = checked_integer(n, "n")
        with self._lock:
            if not self._live:
                return  # 3.6
            if n > 0:
                self._requested += n  # 3.8; a Python int does not overflow (3.17)
            elif self._illegal is None:
                self._illegal = non_positive(n)  # 3.9: answered where signals are serial (1.3)
                self._interrupted = True
            else:
                return
            demand_to = self._demand_to
        if demand_to is not None:  # in any context: upstream restores its own
            demand_to.request(n if n < UNBOUNDED else UNBOUNDED)  # 3.17: the maximum for a third-party Subscription
        elif self._takes_demand:
            if self._context is None:
                self._on_request(n)
            else:
                self._context.copy().run(self._on_request, n)

    def cancel(self) -> None:
        with self._lock:
            if not self._live:
                return  # 3.7
            self._live = False  # 1.8, 3.12: at most the element that is being emitted still arrives
            self._interrupted = True
        self._on_cancel()  # 3.5: returns promptly

    def __repr__(self) -> str:
        return f"<{self._call} {'live' if self._live else 'over'}, {in_words(self._demand())}>"

    # Called by sources and operators, serially.

    def _demand(self) -> int:
        """Return the number of elements that may be emitted now."""
        return self._requested - self._emitted

    def _introduce(self) -> None:
        """Signal ``on_subscribe`` (§1.9)."""
        subscriber = self._subscriber
        if subscriber is not None:
            try:
                subscriber.on_subscribe(self)
            except BaseException as error:
                self._subscriber_raised(error, "on_subscribe", subscriber)

    def _complete(self) -> None:
        """Signal ``on_complete`` if the stream is live (§1.5, §1.7).

        If an illegal request is unanswered, signal its error instead (§3.9).
        """
        if self._illegal is not None:
            if self._live:
                self._fail(self._illegal)
            return
        subscriber = self._terminate()
        if subscriber is not None:
            try:
                subscriber.on_complete()
            except BaseException as error:
                self._subscriber_raised(error, "on_complete", subscriber)

    def _fail(self, error: BaseException) -> None:
        """Signal ``on_error`` (§1.4), or report the error as dropped (§1.7)."""
        subscriber = self._terminate(error)
        if subscriber is None:
            self._drop(error)
            return
        try:
            subscriber.on_error(error)
        except BaseException as raised:
            self._subscriber_raised(raised, "on_error", subscriber)
        finally:
            with self._lock:
                if self._failure is error:  # otherwise another one was reported in the meantime
                    self._failure = None

    def _end_with(self, error: BaseException | None) -> None:
        """Fail with the error if there is one, else complete."""
        if error is None:
            self._complete()
        else:
            self._fail(error)

    def _drop(self, error: BaseException | None) -> None:
        """Report an error that follows the terminal signal or a cancel.

        Does nothing for None, for an exit, and for the error with which the stream is failing or that was reported
        last: inputs that share a source, such as the windows of one stream, all fail with the same error.
        """
        if error is None or hooks.is_exit(error):
            return
        with self._lock:
            known, self._failure = self._failure is error, error
        if not known:
            hooks.on_error_dropped(error, f"{self._call}: the stream was cancelled or has terminated")

    def _terminate(self, error: BaseException | None = None) -> Subscriber[T] | None:
        """Release (§1.6), and return the Subscriber if the stream was live (§1.7).

        ``error`` is the error that the Subscriber then receives.
        """
        with self._lock:
            if not self._live:
                return None
            if error is not None:
                self._failure = error
                self._error_received(error)
            self._live = False
            self._interrupted = True
            subscriber = self._subscriber
        self._forget()  # 3.13: upstream is released before the Subscriber receives the terminal signal
        return subscriber

    def _error_received(self, error: BaseException) -> None:
        """Record that the Subscriber receives this error.

        Called under the lock, so it must take no other lock.
        """

    def _forget(self) -> None:
        """Drop the reference to the Subscriber (§3.13) and release, once."""
        if self._subscriber is not None:
            self._subscriber = None
            self._release()

    def _discard(self, element: Any) -> None:
        """Discard an element; called without a lock, because it runs user code."""
        hooks.discard(self.discards, element)

    def _discard_all(self, elements: deque[Any] | list[Any] | set[Any]) -> None:
        """Empty a buffer and discard its elements."""
        hooks.discard_all(self.discards, elements)

    def _subscriber_raised(
        self, error: BaseException, signal: str = "on_next", subscriber: Subscriber[T] | None = None
    ) -> None:
        """Cancel because the Subscriber raised (§2.13); an interrupt or exit propagates.

        A Subscriber of pyrs with ``catches_user_errors`` raises no errors of user code. A signal handler or a lack of
        memory can raise an error in it. It fails the stream, which otherwise would not end. If the Subscriber has
        already handled a terminal signal, it reports the error as dropped.
        """
        receiver = self._terminate()
        receiver = subscriber if receiver is None else receiver  # not ``or``: a Subscriber may be false
        if hooks.is_exit(error):
            raise error
        catches = signal != "on_error" and getattr(type(unwrapped(receiver)), "catches_user_errors", False)
        if receiver is not None and catches:
            receiver.on_error(error)
            return
        name = "" if receiver is None else f" of {subscriber_name(receiver)}"  # None after a cancel in on_next
        hooks.on_error_dropped(error, f"raised by {signal}{name}")
