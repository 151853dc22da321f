"""Properties of every operator and source: no lock during user code, answers to invalid requests, released references.

``CATALOGUE`` has a stream for each public operator (from ``tests.operator_registry``) and source; tests check that it
is complete.
"""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import closing, nullcontext
from io import StringIO
from typing import Any

import pytest

import pyrs
from pyrs import sinks
from pyrs.testing import TestSubscriber
from tests.operator_registry import SAMPLES, Sample, some
from tests.waiting import DEADLINE, collected, eventually, uncollected


async def same(n: int) -> int:
    return n


async def count_to_ten() -> AsyncIterator[int]:
    for n in range(10):
        yield n


def completed_future() -> Future[int]:
    future: Future[int] = Future()
    future.set_result(1)
    return future


def filled(sink: Any) -> pyrs.Stream[int]:
    """Return the stream of a sink that has buffered elements for its first Subscriber."""
    for n in range(5):
        sink.try_emit(n)
    sink.try_emit_complete()
    stream: pyrs.Stream[int] = sink.stream
    return stream


def emit_ten(emitter: Any) -> None:
    for n in range(10):
        emitter.next(n)
    emitter.complete()


Factory = Callable[[], pyrs.Stream[Any]]

SOURCES: dict[str, Factory] = {
    "combine_latest": lambda: pyrs.combine_latest(some(), some()),
    "concat": lambda: pyrs.concat(some(), some()),
    "create": lambda: pyrs.create(emit_ten),
    "defer": lambda: pyrs.defer(some),
    "empty": pyrs.empty,
    "error": lambda: pyrs.error(ValueError("planned")),
    "from_async_iterable": lambda: pyrs.from_async_iterable(count_to_ten()),
    "from_awaitable": lambda: pyrs.from_awaitable(lambda: same(1)),
    "from_callable": lambda: pyrs.from_callable(lambda: 1),
    "from_future": lambda: pyrs.from_future(completed_future()),
    "from_iterable": lambda: pyrs.from_iterable(n for n in range(10)),
    "generate": lambda: pyrs.generate(lambda: 0, lambda n: (n, n + 1)),
    "interval": lambda: pyrs.interval(0.001, overflow="drop"),
    "just": lambda: pyrs.just(1, 2, 3),
    "merge": lambda: pyrs.merge(some(), some()),
    "never": pyrs.never,
    "range": lambda: pyrs.range(10),
    "timer": lambda: pyrs.timer(0.001),
    "using_when": lambda: pyrs.using_when(lambda: nullcontext(3), pyrs.range),
    "using": lambda: pyrs.using(lambda: closing(StringIO("ab")), lambda text: pyrs.from_iterable(text.read())),
    "zip": lambda: pyrs.zip(some(), some()),
    "unicast": lambda: filled(sinks.unicast()),
    "multicast": lambda: sinks.multicast().stream,
    "multicast_best_effort": lambda: sinks.multicast_best_effort().stream,
    "multicast_all_or_nothing": lambda: sinks.multicast_all_or_nothing().stream,
    "replay sink": lambda: filled(sinks.replay()),
}


def call(sample: Sample, over: Callable[[], pyrs.Stream[Any]]) -> Factory:
    return lambda: sample.apply(over())


OPERATORS: dict[str, Factory] = {
    name: call(sample, sample.over) for name, sample in SAMPLES.items() if sample.over is not None
}

CATALOGUE = {
    **{f"pyrs.{name}": each for name, each in SOURCES.items()},
    **{f".{name}": each for name, each in OPERATORS.items()},
}

TERMINAL_OPERATIONS = {"subscribe", "for_each", "collect", "to_iterable", "iterate", "explain"}
WITHOUT_ELEMENTS = {"pyrs.never", "pyrs.empty", "pyrs.error", ".ignore_elements", ".on_backpressure_error"}
"""These streams emit no element."""

HOT = {"pyrs.multicast", "pyrs.multicast_best_effort", "pyrs.multicast_all_or_nothing"}
"""These streams emit only elements that are pushed into their sinks."""

TERMINATED = {"pyrs.empty", "pyrs.error"}
"""These streams terminate inside ``subscribe``."""

every = pytest.mark.parametrize("name", sorted(CATALOGUE))
emitting = pytest.mark.parametrize("name", sorted(set(CATALOGUE) - WITHOUT_ELEMENTS - HOT))


@pytest.fixture(autouse=True)
def ignore_dropped_errors(dropped: Any) -> Any:
    yield
    dropped.take()


def test_catalogue_contains_every_operator() -> None:
    methods = {name for name, _ in inspect.getmembers(pyrs.Stream, inspect.isfunction) if not name.startswith("_")}
    assert methods - TERMINAL_OPERATIONS - set(OPERATORS) == set()


def test_catalogue_contains_every_source() -> None:
    functions = {name for name in dir(pyrs) if name[0] != "_" and inspect.isfunction(getattr(pyrs, name))}
    assert functions - {"set_discard_hook", "set_error_hook", "set_element_hook", "strict"} - set(SOURCES) == set()


@every
@pytest.mark.parametrize("n", [0, -1])
def test_rule_3_9_non_positive_request_signals_on_error(name: str, n: int) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
    CATALOGUE[name]().subscribe(subscriber)
    subscriber.request(n)
    subscriber.await_end()
    subscriber.assert_rules()
    assert subscriber.elements == []
    # A request after the terminal signal has no effect (3.6).
    assert isinstance(subscriber.error, pyrs.NonPositiveRequest) == (name not in TERMINATED)


@emitting
def test_no_lock_is_held_while_on_next_runs(name: str) -> None:
    inside, leave, called = threading.Event(), threading.Event(), threading.Event()

    class BlockingSubscriber(TestSubscriber[Any]):
        def on_next(self, element: Any, /) -> None:
            if not inside.is_set():
                inside.set()
                assert leave.wait(DEADLINE)

    subscriber = BlockingSubscriber(timeout=DEADLINE)
    stream = CATALOGUE[name]()

    def subscribe() -> None:
        stream.subscribe(subscriber)
        subscriber.request(1)

    def call() -> None:
        assert subscriber.subscription is not None
        subscriber.subscription.request(1)
        repr(subscriber.subscription)
        repr(stream)
        subscriber.subscription.cancel()
        called.set()

    threads = [threading.Thread(target=subscribe, daemon=True)]
    threads[0].start()
    assert inside.wait(DEADLINE)
    threads.append(threading.Thread(target=call, daemon=True))
    threads[1].start()
    in_time = called.wait(DEADLINE)
    leave.set()
    for thread in threads:
        thread.join(DEADLINE)
    assert in_time


@every
def test_rule_3_13_cancel_releases_the_subscriber(name: str) -> None:
    stream = CATALOGUE[name]()
    subscriber: TestSubscriber[Any] = TestSubscriber(timeout=DEADLINE)
    stream.subscribe(subscriber)
    subscription = subscriber.await_subscription()
    subscription.request(1)
    subscription.cancel()
    reference = weakref.ref(subscriber)
    del subscriber
    assert_collected(reference)
    del subscription


def assert_collected(reference: weakref.ref[Any]) -> None:
    """Wait until the object is collected: other threads may reference it until they have left a callback."""
    collected(
        lambda: reference() is None,
        lambda: f"kept alive by {[type(each) for each in gc.get_referrers(reference())]}",
    )


@emitting
def test_rule_2_13_subscriber_that_raises_is_cancelled_and_receives_no_more_signals(name: str, dropped: Any) -> None:
    raised = threading.Event()

    class RaisingSubscriber(TestSubscriber[Any]):
        def on_next(self, element: Any, /) -> None:
            super().on_next(element)
            raised.set()
            raise ValueError("mine")

    subscriber = RaisingSubscriber(timeout=DEADLINE)
    CATALOGUE[name]().subscribe(subscriber)
    subscriber.await_subscription().request(5)
    assert raised.wait(DEADLINE)
    eventually(lambda: any("mine" in str(error) for error in list(dropped.errors)), "the hook was not called")
    assert len(subscriber.elements) == 1
    assert not subscriber.ended


@emitting
def test_rule_1_8_cancel_during_on_next_stops_after_current_element(name: str) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(
        None, on_element=lambda this, element: this.cancel(), timeout=DEADLINE
    )
    CATALOGUE[name]().subscribe(subscriber)
    subscriber.await_count(1)
    subscriber.assert_rules()
    assert len(subscriber.elements) == 1


DEEP: dict[str, Callable[[pyrs.Stream[int]], pyrs.Stream[int]]] = {
    "concat_map": lambda s: s.concat_map(pyrs.just),
    "delay": lambda s: s.delay(0),
    "flat_map": lambda s: s.flat_map(pyrs.just),
    "merge": lambda s: s.merge(pyrs.empty()),
    "on_error_resume": lambda s: s.on_error_resume(pyrs.just(1)),
    "prefetch": lambda s: s.prefetch(4),
    "repeat": lambda s: s.repeat(0),
    "retry": lambda s: s.retry(1),
    "share": lambda s: s.share(),
    "timeout": lambda s: s.timeout(1_000_000),  # a timer left by the RecursionError must not fire in another test
}


@pytest.mark.parametrize("name", sorted(DEEP))
def test_chain_too_deep_for_the_stack_raises_recursion_error(name: str) -> None:
    stream: pyrs.Stream[int] = pyrs.just(1)
    for _ in range(400):
        stream = DEEP[name](stream)
    with uncollected(), pytest.raises(RecursionError):
        stream.collect(timeout=DEADLINE)
