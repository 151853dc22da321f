"""Sources that feed hot streams, and emit an element only when the stream does not drop it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any

import pyrs
from pyrs._core.callbacks import CallbackSubscriber
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.sinks import EmitResult, Sink, SubmissionPublisher
from tests.conformance.entry import after_each_test

__all__ = ["fed", "submitted", "turnstile"]

_POLL_INTERVAL = 0.002


def turnstile(elements: int, apply: Callable[[pyrs.Stream[int]], pyrs.Stream[Any]]) -> pyrs.Stream[Any]:
    """Apply an operator that may drop elements to a source that emits one element at a time.

    The next element is emitted when the previous one has passed the operator and there is demand.
    """
    return pyrs.defer(lambda: _Turnstile(elements).through(apply))


class _Turnstile:
    def __init__(self, elements: int) -> None:
        self._elements = elements
        self._lock = Lock()
        self._emitter: Any = None
        self._emitted = self._passed = self._demand = 0

    def through(self, apply: Callable[[pyrs.Stream[int]], pyrs.Stream[Any]]) -> pyrs.Stream[Any]:
        source: pyrs.Stream[int] = pyrs.create(self._open, overflow="buffer")
        return pyrs.Stream(_Outlet(apply(source).do_on_next(self._pass), self._request))

    def _open(self, emitter: Any) -> None:
        self._emitter = emitter
        if self._elements == 0:
            emitter.complete()
        self._emit_next()  # a request may have arrived earlier

    def _request(self, n: int) -> None:
        with self._lock:
            self._demand += n
        self._emit_next()

    def _pass(self, element: Any) -> None:
        with self._lock:
            self._passed += 1
        self._emit_next()

    def _emit_next(self) -> None:
        with self._lock:
            ready = self._emitter is not None and self._emitted == self._passed
            if not ready or self._emitted >= min(self._demand, self._elements):
                return
            self._emitted += 1
            number = self._emitted
        self._emitter.next(number)
        if number == self._elements:
            self._emitter.complete()


class _Outlet(Publisher[Any], Subscriber[Any], Subscription):
    """Reports a request after the operator has received it, so that the next element meets demand."""

    def __init__(self, source: Publisher[Any], on_request: Callable[[int], object]) -> None:
        self._source = source
        self._on_request = on_request

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if subscriber is None:
            raise TypeError("subscribe(None)")
        self._subscriber = subscriber
        self._source.subscribe(self)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        self._subscriber.on_subscribe(self)

    def on_next(self, element: Any, /) -> None:
        self._subscriber.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self._end().on_error(error)

    def on_complete(self) -> None:
        self._end().on_complete()

    def _end(self) -> Subscriber[Any]:
        subscriber, self._subscriber = self._subscriber, _DISCARD
        return subscriber

    def request(self, n: int, /) -> None:
        self._subscription.request(n)
        if n > 0:
            self._on_request(n)

    def cancel(self) -> None:
        self._subscriber = _DISCARD
        self._subscription.cancel()


_DISCARD: Subscriber[Any] = CallbackSubscriber(None, None, None, None)


def fed(sink: Sink[int], elements: int) -> pyrs.Stream[int]:
    """Return the stream of a sink into which a thread emits elements, repeating each until it is accepted."""
    if elements == 0:
        sink.try_emit_complete()
        return sink.stream
    requested, stopped = Event(), Event()

    def feed() -> None:
        number = 0
        while not stopped.is_set():
            last = number == elements
            result = sink.try_emit_complete() if last else sink.try_emit(number)
            if result is EmitResult.OK:
                number += 1
                if last:
                    return
            elif result in (EmitResult.CANCELLED, EmitResult.TERMINATED):
                return
            else:
                requested.wait(_POLL_INTERVAL)
                requested.clear()

    begun = Lock()

    def begin(n: int) -> None:
        requested.set()
        if begun.acquire(blocking=False):
            Thread(target=feed, name="conformance-feeder", daemon=True).start()

    def stop() -> None:
        stopped.set()
        requested.set()

    after_each_test(stop)
    return sink.stream.do_on_request(begin)


def submitted(elements: int) -> pyrs.Stream[int]:
    """Return a SubmissionPublisher to which a thread submits elements from the first request of a Subscriber on."""
    publisher: SubmissionPublisher[int] = SubmissionPublisher()
    stopped = Event()
    begun = Lock()

    def submit() -> None:
        for number in range(elements):
            if stopped.is_set() or not publisher.has_subscribers:
                return
            publisher.submit(number)
        publisher.close()

    def begin(n: int) -> None:
        if begun.acquire(blocking=False):
            Thread(target=submit, name="conformance-submitter", daemon=True).start()

    def stop() -> None:
        stopped.set()
        publisher.close()

    after_each_test(stop)
    if elements == 0:
        publisher.close()
    return publisher.do_on_request(begin)
