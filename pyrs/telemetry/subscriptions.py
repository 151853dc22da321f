"""The observation of subscriptions: a span for each, and counts for metrics."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from itertools import compress, count, takewhile
from operator import length_hint
from threading import RLock
from time import perf_counter
from typing import Any, TypeVar

from opentelemetry import context as otel_context
from opentelemetry import trace

from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED
from pyrs._core.downstream import SubscriberWrapper, checked_subscriber
from pyrs._core.fusion import IteratorConsumer
from pyrs._core.hooks import emptied, on_error_dropped
from pyrs._core.iterating import IterablePublisher
from pyrs._core.observation import CountingSubscription
from pyrs._core.operator import Operator
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.operators.sharing import Assembled
from pyrs.telemetry.meters import Meters
from pyrs.telemetry.naming import name_of_stream, operators_of

T = TypeVar("T")

_MEASURE_SECONDS = 0.1
_LIST_ITERATOR: type = type(iter([]))
_abandoned: deque[Observation] = deque()
"""Observations whose Subscriber was collected. A finalizer must not call OpenTelemetry, which may hold a lock."""


def _none() -> int:
    return 0


def _end_abandoned() -> None:
    for observation in emptied(_abandoned):
        observation.end("cancelled")


class Observation:
    """One subscription: its span, its counts, and the context in which it runs.

    Attributes:
        name: the name of the span, and of the stream in metrics.
        context: the caller's context, in which the span is the current span.
        trace_context: OpenTelemetry's part of it.
        started: the time of the subscription.
        bounded: the number of elements requested before the demand became unbounded.
        counted: the elements before those that ``counting`` counts.
        counting: returns the number of the elements that are being delivered.
    """

    def __init__(self, name: str, attributes: Mapping[str, Any], meters: Meters | None) -> None:
        _end_abandoned()
        self.name = name
        self.started = self._measured_at = perf_counter()
        self.bounded = self.counted = self._requested = self._reported = self._measured = 0
        self.counting: Callable[[], int] = _none
        self._lock = RLock()  # reentrant: a finalizer may cancel or request while the lock is held
        self.ended = False
        self._meters = meters
        self._span = trace.INVALID_SPAN
        self._guarded(partial(self._start_span, attributes))
        self.context = copy_context()
        self.trace_context = trace.set_span_in_context(self._span)
        self.context.run(otel_context.attach, self.trace_context)
        self._totals = None if meters is None else meters.subscribed(self)

    def _start_span(self, attributes: Mapping[str, Any]) -> None:
        self._span = trace.get_tracer("pyrs").start_span(self.name, attributes=dict(attributes))

    def _guarded(self, record: Callable[[], object]) -> None:
        """Call OpenTelemetry and report an exception as dropped.

        A span processor that raises must not prevent a signal of the stream.
        """
        try:
            record()
        except Exception as raised:
            on_error_dropped(raised, f"recording the stream {self.name!r}")

    def elements(self) -> int:
        """Return the number of delivered elements, which never decreases."""
        self._reported = max(self._reported, self.counted + self.counting())
        return self._reported

    def demand(self) -> int:
        """Return the outstanding demand in elements; 0 if it is unbounded."""
        return 0 if self._requested >= UNBOUNDED else max(0, self._requested - self.elements())

    def request(self, n: int) -> None:
        """Count demand, and measure the delay of the elements since the last measurement."""
        with self._lock:
            self._requested += max(n, 0)
            if self._requested < UNBOUNDED:
                self.bounded = self._requested
        if self._totals is not None and perf_counter() - self._measured_at > _MEASURE_SECONDS:
            self._measure()

    def _measure(self) -> None:
        with self._lock:
            now, elements = perf_counter(), self.elements()
            new, seconds = elements - self._measured, now - self._measured_at
            if not new:
                return
            self._measured, self._measured_at = elements, now
        if self._meters is not None and self._totals is not None:
            self._guarded(partial(self._meters.delayed, seconds / new, self._totals))

    def end(self, outcome: str, error: BaseException | None = None) -> None:
        """End the span, once."""
        with self._lock:
            first, self.ended = not self.ended, True
        if not first:
            return
        self.counted, self.counting = self.elements(), _none  # 3.13: counting refers to the Subscription
        self._guarded(partial(self._record, outcome, error))
        self._guarded(self._span.end)
        if self._meters is not None and self._totals is not None:
            self._measure()
            self._guarded(partial(self._meters.ended, self, self._totals, outcome, error))

    def _record(self, outcome: str, error: BaseException | None) -> None:
        recorded = self._span
        recorded.set_attribute("pyrs.elements", self.counted)
        recorded.set_attribute("pyrs.requested", -1 if self._requested >= UNBOUNDED else self._requested)
        recorded.set_attribute("pyrs.outcome", outcome)
        if error is not None:  # last: an exception that cannot be formatted raises
            recorded.record_exception(error)
            recorded.set_status(trace.Status(trace.StatusCode.ERROR, str(error)))


def observed(subscriber: Subscriber[T], observation: Observation) -> Subscriber[T]:
    """Return a Subscriber that forwards signals, and records them in the observation."""
    if isinstance(subscriber, IteratorConsumer):
        return _ObservedConsumer(subscriber, subscriber, observation)
    return _ObservedSubscriber(subscriber, observation)


class _ObservedSubscriber(SubscriberWrapper[T]):
    def __init__(self, subscriber: Subscriber[T], observation: Observation) -> None:
        super().__init__(subscriber)
        self._observation = observation

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if isinstance(subscription, CountingSubscription):
            self._observation.counting = lambda: subscription.delivered
            self._count_nothing()
        self._subscriber.on_subscribe(_ObservedSubscription(subscription, self._observation))

    def _count_nothing(self) -> None:
        """Bypass ``on_next``, because the Subscription counts."""
        self.on_next = self._subscriber.on_next  # type: ignore[method-assign]

    def on_next(self, element: T, /) -> None:
        self._observation.counted += 1
        try:
            self._subscriber.on_next(element)
        except BaseException:
            self._observation.end("cancelled")  # 2.13
            raise

    def on_error(self, error: BaseException, /) -> None:
        self._observation.end("failed", error)
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._observation.end("completed")
        self._subscriber.on_complete()

    def __eq__(self, other: object) -> bool:
        """Compare the Subscribers.

        A Publisher that detects a second subscription uses the result (§2.12).
        """
        return bool(self._subscriber == (other._subscriber if isinstance(other, _ObservedSubscriber) else other))

    def __hash__(self) -> int:
        return hash(self._subscriber)

    def __del__(self) -> None:
        if not self._observation.ended:
            _abandoned.append(self._observation)


class _ObservedConsumer(_ObservedSubscriber[T], IteratorConsumer[T]):
    def __init__(self, subscriber: Subscriber[T], consumer: IteratorConsumer[T], observation: Observation) -> None:
        super().__init__(subscriber, observation)
        self._consumer = consumer
        self._subscription_counts = False
        self.steady_only = consumer.steady_only

    def _count_nothing(self) -> None:
        super()._count_nothing()
        self._subscription_counts = True

    def consume(self, iterator: Iterator[T], limit: int) -> int:
        if self._subscription_counts:
            return self._consumer.consume(iterator, limit)
        with _Counting(self._observation, iterator) as counted:
            return self._consumer.consume(counted, limit)


class _Counting:
    """Counts the elements of an iterator during an iteration, without Python calls."""

    def __init__(self, observation: Observation, iterator: Iterator[T]) -> None:
        self._observation = observation
        self._iterator = iterator

    def __enter__(self) -> Iterator[Any]:
        iterator = self._iterator
        if type(iterator) is _LIST_ITERATOR:  # a consumer may copy it at once
            size = length_hint(iterator)
            self._observation.counting = lambda: size - length_hint(iterator)
            return iterator
        number = count(1)
        self._observation.counting = lambda: int(repr(number)[6:-1]) - 1  # "count(1)"; next() would advance it
        return compress(iterator, number)

    def __exit__(self, *exception: object) -> None:
        observation = self._observation
        if not observation.ended:  # end has read the count
            observation.counted, observation.counting = observation.elements(), _none


class _ObservedSubscription(Subscription):
    def __init__(self, subscription: Subscription, observation: Observation) -> None:
        self._subscription = subscription
        self._observation = observation

    def request(self, n: int, /) -> None:
        if n.__class__ is int:
            self._observation.request(n)
        self._subscription.request(n)

    def cancel(self) -> None:
        self._observation.end("cancelled")
        self._subscription.cancel()

    def __repr__(self) -> str:
        return repr(self._subscription)


class _ObservedPublisher(Publisher[T]):
    carries_context = True

    def __init__(self, source: Publisher[T], observe: Callable[[], Observation]) -> None:
        self._source = source
        self._observe = observe

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        subscriber = checked_subscriber(subscriber)
        observation = self._observe()
        try:
            observation.context.run(attach, self._source, observed(subscriber, observation))
        except BaseException as error:
            observation.end("failed", error)
            raise


def _iterate(iterator: Generator[T, None, None], observe: Callable[[], Observation]) -> Generator[T, None, None]:
    observation = observe()  # when the iteration begins
    outcome: tuple[str, BaseException | None] = "completed", None
    try:
        with _Counting(observation, iterator) as counted:
            yield from counted
    except GeneratorExit:
        outcome = "cancelled", None
        raise
    except BaseException as error:
        outcome = "failed", error
        raise
    finally:
        observation.request(observation.elements())  # each next requests one element
        observation.end(*outcome)
        iterator.close()


class Span(Operator[T]):
    """``span(name)``: records each subscription as a span."""

    meters: Meters | None = None
    """The metrics of this process, after ``instrument``."""

    def __init__(self, source: Publisher[T], name: str, attributes: Mapping[str, Any]) -> None:
        super().__init__(source, f"span({name!r})")
        self.name = name
        self.attributes = attributes

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        observe = partial(Observation, self.name, self.attributes, Span.meters)
        _ObservedPublisher(self.source, observe).subscribe(subscriber)


class Observer:
    """The instrumentation of ``pyrs._core.observation``.

    It observes every subscription to a last operator, except that of a stream with ``span``, which has a span already,
    and that of a ``SubmissionPublisher``, which identifies its Subscribers.
    """

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def publisher(self, source: Publisher[T]) -> Publisher[T]:
        observe = self._observation_of(source)
        return source if observe is None else _ObservedPublisher(source, observe)

    def subscriber(self, source: Publisher[Any], subscriber: Subscriber[T]) -> Subscriber[T]:
        observe = self._observation_of(source)
        return subscriber if observe is None else observed(subscriber, observe())

    def iterator(self, source: IterablePublisher[T], iterator: Generator[T, None, None]) -> Generator[T, None, None]:
        observe = self._observation_of(source)
        return iterator if observe is None else _iterate(iterator, observe)

    @contextmanager
    def awaited(self, source: Publisher[Any]) -> Iterator[None]:
        observe = self._observation_of(source)
        if observe is None:
            yield
            return
        observation = observe()
        observation.request(UNBOUNDED)  # that of a fold
        outcome: tuple[str, BaseException | None] = "cancelled", None
        token = otel_context.attach(observation.trace_context)
        try:
            yield
            observation.counted = 1
            outcome = "completed", None
        except Exception as error:
            outcome = "failed", error
            raise
        finally:
            otel_context.detach(token)
            observation.end(*outcome)

    def _observation_of(self, source: Publisher[Any]) -> Callable[[], Observation] | None:
        """Return a function that begins an Observation; None for an unobserved stream."""
        try:
            # A stream with ``span`` has a span already, unless that is the span of a shared subscription.
            # A ``SubmissionPublisher`` compares its Subscribers by identity.
            operators = operators_of(source)
            unshared = takewhile(lambda each: not isinstance(each, Assembled), operators)
            if any(isinstance(each, Span) for each in unshared):
                return None
            if getattr(operators[0], "identifies_subscribers", False) is True:
                return None
            name, site = name_of_stream(operators)
        except Exception as error:
            on_error_dropped(error, "raised by an attribute of a Publisher, whose subscription is not recorded")
            return None
        attributes = {} if site is None else {"code.file.path": site.file, "code.line.number": site.line}
        return partial(Observation, name, attributes, self._meters)
