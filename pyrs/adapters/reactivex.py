"""Convert RxPY Observables, which have no demand, to streams and back."""

from __future__ import annotations

from typing import TypeVar

import reactivex
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import short
from pyrs._core.inputs import PrefetchingInput
from pyrs._core.overflow import Overflow
from pyrs._core.validation import checked_natural, checked_publisher
from pyrs.api import Publisher
from pyrs.errors import NullSignal, SpecViolation
from pyrs.publishers.creating import Emitter, created
from pyrs.stream.stream import Stream

__all__ = ["from_observable", "to_observable"]

T = TypeVar("T")


def from_observable(
    observable: reactivex.Observable[T], *, overflow: Overflow | str = "buffer", capacity: int = 256
) -> Stream[T]:
    """Return a stream of the elements that an Observable pushes.

        observable ---1---2---3--->
        from_observable(observable)
        ---1---2---3---|

    Subscribes to the Observable on ``subscribe``, and disposes on a cancel. An Observable cannot be slowed.
    Elements that exceed demand are buffered, are dropped or fail the stream (``overflow``); the default buffer is
    unbounded and **grows**.

    Args:
        observable: a ``reactivex.Observable``.
        overflow: see ``pyrs.create``.
        capacity: the maximum number of elements buffered beyond demand, for the bounded strategies.

    Raises:
        TypeError: ``observable`` is not an Observable, or ``pyrs.create`` does not accept ``overflow`` or ``capacity``.
        ValueError: ``overflow`` names no strategy, or ``capacity`` is less than 1.

    Rules: 1.1, 1.3, 3.5. None, which RxPY allows as an element, fails the stream with ``NullSignal``.

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

        def fail(error: object) -> None:
            if not isinstance(error, BaseException):  # RxPY does not check the argument of on_error
                what = f"on_error was called with {short(error)}, which is not an exception"
                error = SpecViolation(what, rule="1.4", party="Publisher")
            emitter.error(error)

        def subscribe(*_: object) -> None:
            connection.disposable = observable.subscribe(push, fail, emitter.complete)

        # Inside RxPY's trampoline, subscribe() returns before elements are pushed, so that its result can be disposed.
        trampoline = CurrentThreadScheduler.singleton()
        if trampoline.schedule_required():
            trampoline.schedule(subscribe)
        else:
            subscribe()

    return created(connect, f"from_observable({short(observable)}", overflow, capacity)


def to_observable(
    stream: Publisher[T], *, scheduler: SchedulerBase | None = None, request: int | None = None
) -> reactivex.Observable[T]:
    """Return an Observable that subscribes to the stream for each observer.

        ---1---2---3---|
        to_observable(stream)
        ---1---2---3--->

    An observer has no demand, so unbounded demand is requested. With ``request=n``, ``n`` elements are requested, and
    more when ``on_next`` has returned for three quarters of them: a slow observer then slows a stream that emits on
    other threads. Disposing the subscription cancels the stream. If the observer raises, the stream is cancelled and
    the error is reported as dropped.

    Args:
        stream: any Publisher.
        scheduler: where to subscribe; None for the scheduler passed to ``Observable.subscribe``, or else RxPY's
            scheduler of the current thread. The observer is called on the thread on which the stream emits.
        request: the maximum number of elements requested and not yet processed; None for unbounded demand.

    Raises:
        TypeError: ``stream`` is not a Publisher, ``scheduler`` not an RxPY scheduler, or ``request`` not an integer.
        ValueError: ``request`` is less than 1.

    Rules: 2.1, 2.4, 2.5, 2.6, 2.7, 2.8, 2.13.

    Examples:
        >>> import pyrs
        >>> to_observable(pyrs.range(3)).run()
        2
    """
    publisher = checked_publisher(stream, "stream")
    if scheduler is not None and not isinstance(scheduler, SchedulerBase):
        raise TypeError(f"scheduler must be a reactivex scheduler, not {type(scheduler).__name__}")
    prefetch = UNBOUNDED if request is None else checked_natural(request, "request", 1)

    def subscribe(observer: ObserverBase[T], given: SchedulerBase | None = None) -> DisposableBase:
        observing = _Observing(observer, prefetch)
        # Subscribes after this function has returned, so that take() can dispose the result.
        where = scheduler or given or CurrentThreadScheduler.singleton()
        where.schedule(lambda *_: observing.subscribe_to(publisher))
        return Disposable(observing.cancel)

    return reactivex.create(subscribe)


class _Observing(PrefetchingInput[T]):
    """Forwards the signals of a Publisher to an observer."""

    def __init__(self, observer: ObserverBase[T], request: int) -> None:
        super().__init__(None, request)
        self._observer = observer

    def _receive(self, element: T) -> None:
        try:
            self._observer.on_next(element)
        except BaseException as error:
            self.cancel()
            hooks.report(error, "raised by on_next of an observer")
        else:
            self.taken()

    def _end(self, error: BaseException | None) -> None:
        if self._cancelled:  # disposed since ``_close``: the observer would ignore the error
            if error is not None:
                self._drop(error)
            return
        try:
            if error is None:
                self._observer.on_completed()
            else:
                self._observer.on_error(error)  # type: ignore[arg-type]  # also one that is not an Exception
        except BaseException as raised:
            hooks.report(raised, f"raised by {'on_completed' if error is None else 'on_error'} of an observer")
