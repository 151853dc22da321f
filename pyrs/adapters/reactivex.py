"""RxPY's Observables. They push and know no demand: what comes of that is said here, on either side."""

from __future__ import annotations

from typing import TypeVar

import reactivex
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import short
from pyrs._core.overflow import Overflow
from pyrs._core.refill import Refill
from pyrs._core.validation import checked_natural, checked_publisher
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.publishers.creating import Emitter, created
from pyrs.stream.stream import Stream

__all__ = ["from_observable", "to_observable"]

T = TypeVar("T")


def from_observable(
    observable: reactivex.Observable[T], *, overflow: Overflow | str = "buffer", capacity: int = 256
) -> Stream[T]:
    """Return a stream of what an Observable pushes.

        observable ---1---2---3--->
        from_observable(observable)
        ---1---2---3---|

    An Observable cannot be slowed down: it is subscribed to when a Subscriber subscribes, and what it pushes beyond the
    demand is held, dropped or an error, as ``overflow`` says; by default it is held without a bound. A cancel disposes.

    Args:
        observable: of ``reactivex``.
        overflow: see ``pyrs.create``.
        capacity: the most elements that are held beyond the demand, with ``error``, ``drop_oldest``, ``drop_latest``.

    Raises:
        TypeError: it is no Observable, or overflow or capacity are not what ``pyrs.create`` takes.
        ValueError: overflow names no strategy, or capacity is less than 1.

    Rules: 1.1, 1.3, 3.5; a None, which is an element to RxPY, fails the stream with ``NullSignal``.

    Examples:
        >>> from_observable(reactivex.of(1, 2, 3)).map(str).collect()
        ['1', '2', '3']
    """
    if not isinstance(observable, reactivex.abc.ObservableBase):
        raise TypeError(f"observable must be an Observable, not {type(observable).__name__}")

    def connect(emitter: Emitter[T]) -> None:
        connection = SingleAssignmentDisposable()
        emitter.on_cancel(connection.dispose)

        def push(element: T) -> None:
            try:
                emitter.next(element)
            except NullSignal as error:
                emitter.error(error)
                connection.dispose()

        def subscribe(*_: object) -> None:
            connection.disposable = observable.subscribe(push, emitter.error, emitter.complete)

        # Inside RxPY's trampoline subscribe() returns before anything is pushed, so that there is what can be disposed.
        trampoline = CurrentThreadScheduler.singleton()
        if trampoline.schedule_required():
            trampoline.schedule(subscribe)
        else:
            subscribe()

    return created(connect, f"from_observable({short(observable)}", overflow, capacity)


def to_observable(
    stream: Publisher[T], *, scheduler: SchedulerBase | None = None, request: int | None = None
) -> reactivex.Observable[T]:
    """Return an Observable of the elements of a stream, subscribed to anew for each observer.

        ---1---2---3---|
        to_observable(stream)
        ---1---2---3--->

    An observer demands nothing, so everything is requested; with ``request`` so many elements at a time, and more when
    ``on_next`` has returned for three quarters of them, so that an observer that does its work in ``on_next`` slows
    a stream that other threads fill. Disposing cancels. What the observer raises cancels, too, and goes to the hook
    for dropped errors.

    Args:
        stream: any Publisher.
        scheduler: where to subscribe; None for the one that is given when somebody subscribes, else the current
            thread's. It is not where the observer is called: that is wherever the stream signals.
        request: how many elements are requested and not yet handed on, at most; None for everything there is.

    Raises:
        TypeError: the stream is no Publisher, the scheduler none of RxPY's, or request no integer.
        ValueError: request is less than 1.

    Rules: 2.1, 2.4, 2.5, 2.6, 2.7, 2.8, 2.13.

    Examples:
        >>> import pyrs
        >>> to_observable(pyrs.range(3)).run()
        2
    """
    publisher = checked_publisher(stream, "stream")
    if scheduler is not None and not isinstance(scheduler, SchedulerBase):
        raise TypeError(f"scheduler must be a scheduler of reactivex, not {type(scheduler).__name__}")
    at_a_time = UNBOUNDED if request is None else checked_natural(request, "request", 1)

    def subscribe(observer: ObserverBase[T], given: SchedulerBase | None = None) -> DisposableBase:
        observing = _Observing(observer, at_a_time)
        # Never before this has returned: what it returns is what take() disposes when it has had enough.
        where = scheduler or given or CurrentThreadScheduler.singleton()
        where.schedule(lambda *_: observing.subscribe_to(publisher))
        return Disposable(observing.dispose)

    return reactivex.create(subscribe)


class _Observing(Subscriber[T]):
    """Hands signals to an observer."""

    def __init__(self, observer: ObserverBase[T], request: int) -> None:
        self._observer = observer
        self._refill = Refill(request)
        self._over = False

    def subscribe_to(self, publisher: Publisher[T]) -> None:
        if not self._over:
            publisher.subscribe(self)

    def dispose(self) -> None:
        self._over = True
        self._refill.cancel()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._refill.begin(subscription)

    def on_next(self, element: T, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._over:
            return
        try:
            self._observer.on_next(element)
        except BaseException as error:
            self.dispose()
            self._report(error, "on_next")
        else:
            self._refill.taken()

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        self._end()
        try:
            self._observer.on_error(error)  # type: ignore[arg-type]  # one that is no Exception has nowhere else to go
        except BaseException as raised:
            self._report(raised, "on_error")

    def on_complete(self) -> None:
        self._end()
        try:
            self._observer.on_completed()
        except BaseException as error:
            self._report(error, "on_completed")

    def _end(self) -> None:
        self._over = True
        self._refill.end()

    def _report(self, error: BaseException, name: str) -> None:
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {name} of an observer")
