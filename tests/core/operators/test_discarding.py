"""Every element that an operator receives is delivered or discarded once: after a cancel, an error and an overflow.

The operators are those of ``tests.operator_registry``, so that a new operator is tested without a change here.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs._core.hub import Hub
from pyrs.testing import TestPublisher, TestSubscriber
from tests.operator_registry import SAMPLES
from tests.rounds import CAMPAIGN
from tests.waiting import eventually

Apply = Callable[[pyrs.Stream[Any]], Any]


class Pooled(int):
    """An element with an identity, which the operators of the registry treat as a number."""

    __hash__ = int.__hash__


class Source(pyrs.Publisher[Any]):
    """Emits pooled elements on demand, and records each.

    Args:
        count: the number of elements before the terminal signal.
        fails: whether the signal is an error.
        threaded: whether a thread emits, so that a cancel is concurrent with ``on_next``.
    """

    def __init__(self, count: int, fails: bool, threaded: bool) -> None:
        self.count = count
        self.fails = fails
        self.threaded = threaded
        self.emitted: list[Pooled] = []
        self.consumed: list[Pooled] = []  # received by a function, which replaces them
        self.threads: list[threading.Thread] = []

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        subscriber.on_subscribe(_Emission(self, subscriber))

    def element(self) -> Pooled:
        element = Pooled(len(self.emitted))
        self.emitted.append(element)
        return element

    def replace(self, *elements: Pooled) -> Pooled:
        """Return a new element that replaces the given ones. The operator calls this as its function."""
        self.consumed += elements
        return self.element()

    def inner(self, element: Pooled) -> pyrs.Publisher[Any]:
        """Return a stream of two new elements that replace the given one; over an iterable for every third element."""
        self.consumed.append(element)
        if element % 3:
            return Inner(self)
        return pyrs.from_iterable(self.element() for _ in range(2))


class Inner(Source):
    """Emits two elements, which belong to the source of the outer stream."""

    def __init__(self, outer: Source) -> None:
        super().__init__(2, outer.fails and len(outer.emitted) > 9, outer.threaded)
        self.outer = outer
        self.threads = outer.threads

    def element(self) -> Pooled:
        return self.outer.element()


class _Emission(pyrs.Subscription):
    def __init__(self, source: Source, subscriber: pyrs.Subscriber[Any]) -> None:
        self.source = source
        self.subscriber = subscriber
        self.demand = 0
        self.number = 0
        self.lock = threading.Lock()
        self.running = False
        self.terminated = False

    def request(self, n: int, /) -> None:
        with self.lock:
            self.demand += n
            starts = not self.running and not self.terminated
            self.running = self.running or starts
        if starts and self.source.threaded:
            thread = threading.Thread(target=self.emit)
            thread.start()
            self.source.threads.append(thread)
        elif starts:
            self.emit()

    def emit(self) -> None:
        while True:
            with self.lock:
                if self.terminated or not self.demand or self.number == self.source.count:
                    self.running = False
                    break
                self.demand -= 1
                self.number += 1
                element = self.source.element()
            self.subscriber.on_next(element)
        if self.number == self.source.count and not self.terminated:
            self.terminated = True
            if self.source.fails:
                self.subscriber.on_error(ValueError("planned"))
            else:
                self.subscriber.on_complete()

    def cancel(self) -> None:
        self.terminated = True


class Recorder(pyrs.Subscriber[Any]):
    """Requests and cancels as planned, and records the pooled elements in each element that it receives."""

    def __init__(self, requests: list[int], cancel_after: int) -> None:
        self.requests = requests
        self.cancel_after = cancel_after
        self.delivered: list[Pooled] = []
        self.subscription: Any = None
        self.cancelled = False
        self.parts: list[Recorder] = []
        self.received = 0

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.subscription = subscription
        if self.cancelled:  # by another thread, before this call
            subscription.cancel()

    def on_next(self, element: Any, /) -> None:
        self.received += 1
        self.record(element)
        if self.received == self.cancel_after:
            self.subscription.cancel()
        elif self.requests:
            self.subscription.request(self.requests.pop())

    def record(self, element: Any) -> None:
        if isinstance(element, pyrs.Publisher):
            part = Recorder([], self.cancel_after)
            self.parts.append(part)
            element.subscribe(part)
            part.subscription.request(pyrs.UNBOUNDED)
        else:
            self.delivered += pooled_in(element)

    def cancel(self) -> None:
        self.cancelled = True
        if self.subscription is not None:
            self.subscription.cancel()
        for part in tuple(self.parts):
            part.cancel()

    def all_delivered(self) -> list[Pooled]:
        return [*self.delivered, *(each for part in tuple(self.parts) for each in part.all_delivered())]

    def on_error(self, error: BaseException, /) -> None: ...
    def on_complete(self) -> None: ...


def pooled_in(element: Any) -> Iterator[Pooled]:
    """Yield the pooled elements that a list, a tuple, a dict or a Notification contains."""
    if isinstance(element, Pooled):
        yield element
    elif isinstance(element, pyrs.Notification):
        yield from pooled_in(element.element)
    elif isinstance(element, dict):
        yield from pooled_in(list(element.values()))
    elif isinstance(element, Iterable) and not isinstance(element, (str, pyrs.Publisher)):
        for each in element:
            yield from pooled_in(each)


OTHER_CALLS: dict[str, Apply] = {
    "map": lambda s: s.map(lambda n: n),
    "transform": lambda s: s.transform(lambda stream: stream.map(lambda n: n)),
    "filter_when": lambda s: s.filter_when(lambda n: pyrs.just(n % 2 == 0)),
    "buffer_when": lambda s: s.buffer_when(pyrs.range(1).concat(pyrs.never()), lambda n: pyrs.never()),
    "window_when": lambda s: s.window_when(pyrs.range(1).concat(pyrs.never()), lambda n: pyrs.never()),
    "window_while": lambda s: s.window_while(lambda n: n % 3),
    "on_backpressure_buffer": lambda s: s.on_backpressure_buffer(3, "drop_oldest"),
    "on_backpressure_drop": lambda s: s.on_backpressure_drop(),
}
"""Calls that replace samples whose function does not return its element, and samples that drop no element."""

MORE_CALLS: dict[str, Apply] = {
    "take_last(0)": lambda s: s.take_last(0),
    "buffer(2, skip=3)": lambda s: s.buffer(2, skip=3),
    "window(2, skip=3)": lambda s: s.window(2, skip=3),
    "window, not read": lambda s: s.window(3).map(lambda window: 1),
    "window, flat": lambda s: s.window(3).concat_map(lambda window: window),
    "group_by, flat": lambda s: s.group_by(lambda n: n % 3).flat_map(lambda group: group),
    "on_backpressure_buffer(drop_latest)": lambda s: s.on_backpressure_buffer(3, "drop_latest"),
    "on_backpressure_buffer(error)": lambda s: s.on_backpressure_buffer(3),
    "filter that raises": lambda s: s.filter(lambda n: 4 // (3 - n)),
    "zip(never)": lambda s: s.zip(pyrs.never()),
    "combine_latest(never)": lambda s: s.combine_latest(pyrs.never()),
    "never.with_latest_from": lambda s: pyrs.never().with_latest_from(s),
    "merge_comparing(never)": lambda s: s.merge_comparing(pyrs.never()),
    "filter.publish_on.filter": lambda s: (
        s.filter(lambda n: n % 2).publish_on(pyrs.schedulers.default()).filter(lambda n: n % 3)
    ),
    "parallel.run_on.map": lambda s: s.parallel(3).run_on(pyrs.schedulers.default(), 2).map(lambda n: n).sequential(2),
    "parallel, a rail that completes": lambda s: s.parallel(2).transform_rails(lambda rail: rail.take(2)).sequential(),
    "delay(60)": lambda s: s.delay(60),
    "debounce(60)": lambda s: s.debounce(60),
    "sample(60)": lambda s: s.sample(60),
    "throttle(60)": lambda s: s.throttle(60),
    "to_list of a filter": lambda s: s.filter(lambda n: n % 2).to_list(),
}

REPLACING_CALLS: dict[str, Callable[[pyrs.Stream[Any], Source], Any]] = {
    "flat_map": lambda s, source: s.flat_map(source.inner, concurrency=4, prefetch=2),
    "flat_map_sequential": lambda s, source: s.flat_map_sequential(source.inner),
    "concat_map": lambda s, source: s.concat_map(source.inner),
    "switch_map": lambda s, source: s.switch_map(source.inner),
    "expand, replacing": lambda s, source: s.expand(lambda n: Inner(source) if n < 9 else pyrs.empty()),
    "flat_map that raises": lambda s, source: s.flat_map(lambda n: 4 // (3 - n) and source.inner(n)),
    "concat_map that raises": lambda s, source: s.concat_map(lambda n: 4 // (3 - n) and source.inner(n)),
    "reduce": lambda s, source: s.reduce(source.replace),
    "reduce that raises": lambda s, source: s.reduce(lambda a, b: 4 // (3 - b) and source.replace(a, b)),
    "on_backpressure_reduce": lambda s, source: s.on_backpressure_reduce(source.replace),
}
"""Calls with a function that receives elements and returns others, which are counted as emitted."""

HISTORIES = ("cache", "cache(limit)", "publish")
"""Operators that store elements for later Subscribers: an element in the history is neither lost nor discarded."""

CONVERTING = ("decode", "split_lines")
"""Operators that emit new objects: test_discarded_elements.py tests them."""

CALLS = {
    **{name: sample.apply for name, sample in SAMPLES.items() if name not in CONVERTING},
    **OTHER_CALLS,
    **MORE_CALLS,
    **dict.fromkeys(REPLACING_CALLS),
}


FACTOR = 10 if CAMPAIGN else 1
PLANS = {"synchronous": 15, "threaded": 4}
"""The number of random plans for each kind of source."""


def check(name: str, source: Source, stream: pyrs.Stream[Any], plan: random.Random) -> None:
    discarded: list[Pooled] = []
    requests = [plan.choice([1, 1, 2, 5, 100]) for _ in range(plan.randrange(12))]
    recorder = Recorder(requests, plan.choice([1, 2, 3, 5, 1_000]))
    apply = CALLS[name]
    result: pyrs.Stream[Any] = REPLACING_CALLS[name](stream, source) if apply is None else apply(stream)
    result = result.do_on_discard(lambda element: discarded.extend(pooled_in(element)))
    result.subscribe(recorder)
    recorder.subscription.request(plan.choice([1, 2, 4, 1_000]))
    if source.threaded and plan.random() < 0.5:
        for thread in tuple(source.threads):
            thread.join(0.0005)
    recorder.cancel()
    for thread in tuple(source.threads):
        thread.join()
    later = Recorder([], 1_000)
    if name in HISTORIES:
        result.subscribe(later)
        later.subscription.request(1_000)
        later.cancel()

    def counts() -> tuple[Counter[int], Counter[int]]:
        # combine_latest delivers an element more than once, and replay to every Subscriber.
        delivered = set(map(id, [*recorder.all_delivered(), *later.all_delivered(), *source.consumed]))
        received = Counter([*delivered, *map(id, discarded)])
        return Counter(map(id, source.emitted)), received

    def settled() -> bool:
        emitted, received = counts()
        return received == emitted

    def message() -> str:
        return f"emitted {source.emitted}, delivered {recorder.all_delivered()}, discarded {discarded}"

    eventually(settled, message)


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("kind", PLANS)
def test_each_element_is_delivered_or_discarded_once(name: str, kind: str, dropped: Any) -> None:
    for seed in range(PLANS[kind] * FACTOR):
        plan = random.Random(f"{name} {seed}")
        source = Source(plan.randrange(15), plan.random() < 0.4, kind == "threaded")
        check(name, source, pyrs.Stream(source), plan)
    dropped.take()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_each_element_of_an_iterable_is_delivered_or_discarded_once(name: str, dropped: Any) -> None:
    for seed in range(4 * FACTOR):
        plan = random.Random(f"{name} {seed} iterable")
        source = Source(plan.randrange(15), plan.random() < 0.4, threaded=False)

        def elements(source: Source = source) -> Iterator[Pooled]:
            for _ in range(source.count):
                yield source.element()
            if source.fails:
                raise ValueError("planned")

        check(name, source, pyrs.defer(lambda elements=elements: pyrs.from_iterable(elements())), plan)
    dropped.take()


def test_discard_functions_are_called_from_the_first_to_the_last_and_before_the_hook() -> None:
    calls: list[tuple[str, int]] = []
    before = pyrs.set_discard_hook(lambda element: calls.append(("hook", element)))
    try:
        stream = pyrs.just(1, 2).filter(lambda n: n > 1).do_on_discard(lambda n: calls.append(("first", n)))
        assert stream.map(str).do_on_discard(lambda n: calls.append(("second", n))).collect() == ["2"]
    finally:
        pyrs.set_discard_hook(before)
    assert calls == [("first", 1), ("second", 1), ("hook", 1)]


def test_operator_after_do_on_discard_does_not_call_its_function() -> None:
    discarded: list[int] = []
    assert pyrs.range(4).do_on_discard(discarded.append).filter(lambda n: n % 2).collect() == [1, 3]
    assert discarded == []


def test_inner_stream_discards_to_the_function_of_its_operator() -> None:
    discarded: list[int] = []
    stream = pyrs.just(4).flat_map(lambda n: pyrs.range(n).filter(lambda m: m % 2))
    assert stream.do_on_discard(discarded.append).collect() == [1, 3]
    assert discarded == [0, 2]


def test_inner_stream_of_a_later_operator_does_not_call_the_function() -> None:
    discarded: list[int] = []
    stream = pyrs.just(4).publish_on(pyrs.schedulers.default()).do_on_discard(discarded.append)
    assert stream.flat_map(lambda n: pyrs.range(n).filter(lambda m: m % 2)).collect() == [1, 3]
    assert discarded == []


def test_error_of_the_function_is_reported_and_the_stream_continues(dropped: Any) -> None:
    assert pyrs.range(3).filter(bool).do_on_discard(lambda n: 1 // n).collect() == [1, 2]
    (error,) = dropped.take()
    assert isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit])
def test_base_exception_while_discarding_is_reported_and_the_cancel_continues(
    error: type[BaseException], dropped: Any
) -> None:
    """The discard function and the cancel of a third-party Subscription raise an error that is not an Exception."""

    class Upstream(pyrs.Subscription):
        def request(self, n: int, /) -> None: ...

        def cancel(self) -> None:
            raise error

    class Foreign(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            subscriber.on_subscribe(Upstream())
            for n in range(3):
                subscriber.on_next(n)

    def fail(element: int) -> None:
        discarded.append(element)
        raise error

    discarded: list[int] = []
    subscription = pyrs.Stream(Foreign()).prefetch(8).do_on_discard(fail).subscribe(on_next=print, request=0)
    subscription.cancel()
    assert discarded == [0, 1, 2]
    assert [type(each) for each in dropped.take()] == [error] * 4


def test_do_on_discard_of_a_single_is_a_single_and_a_wrong_argument_is_rejected() -> None:
    assert isinstance(pyrs.just(1).do_on_discard(print), pyrs.Single)
    with pytest.raises(TypeError, match="function must be callable"):
        pyrs.just(1).do_on_discard(3)  # type: ignore[arg-type]


def test_hook_receives_the_buffer_of_to_iterable_and_of_a_failed_collect(discarded: list[Any]) -> None:
    iterator = pyrs.range(5).concat(pyrs.never()).to_iterable()
    assert next(iterator) == 0
    iterator.close()  # type: ignore[attr-defined]
    assert sorted(discarded) == [1, 2, 3, 4]
    discarded.clear()
    with pytest.raises(ValueError, match="planned"):
        pyrs.range(3).concat(pyrs.error(ValueError("planned"))).collect()
    assert sorted(discarded) == [0, 1, 2]


async def _iterated_numbers(stream: pyrs.Stream[int]) -> list[int]:
    return [element async for element in stream]


@pytest.mark.parametrize(
    "iterate",
    [lambda stream: list(stream.to_iterable()), lambda stream: asyncio.run(_iterated_numbers(stream))],
    ids=["to_iterable", "async for"],
)
def test_hook_receives_elements_that_an_iterated_chain_drops(
    iterate: Callable[[pyrs.Stream[int]], list[int]], discarded: list[Any]
) -> None:
    assert iterate(pyrs.range(6).filter(lambda n: n % 2)) == [1, 3, 5]
    assert discarded == [0, 2, 4]
    discarded.clear()
    with pytest.raises(ZeroDivisionError):
        iterate(pyrs.just(2, 0).map(lambda n: 6 // n))
    assert discarded == [0]


def test_hook_receives_the_buffer_of_an_asynchronous_iteration(discarded: list[Any]) -> None:
    async def main() -> int:
        async with pyrs.range(5).concat(pyrs.never()).iterate(prefetch=8) as elements:
            async for element in elements:
                return element
        raise AssertionError

    assert asyncio.run(main()) == 0
    assert sorted(discarded) == [1, 2, 3, 4]


def test_sink_discards_the_buffer_of_a_cancelled_subscriber_and_on_overflow() -> None:
    discarded: list[int] = []
    sink = pyrs.sinks.unicast(2, overflow="drop_oldest")
    recorder = Recorder([], 1_000)
    with_discarded = sink.stream.do_on_discard(discarded.append)
    with_discarded.subscribe(recorder)
    for number in range(5):
        sink.emit(number)
    assert discarded == [0, 1, 2]
    recorder.cancel()
    assert discarded == [0, 1, 2, 3, 4]


def test_create_discards_elements_on_overflow_on_cancel_and_after_the_cancel() -> None:
    discarded: list[int] = []
    emitters: list[Any] = []
    recorder = Recorder([], 1_000)
    stream = pyrs.create(emitters.append, overflow="drop_latest", capacity=2)
    stream.do_on_discard(discarded.append).subscribe(recorder)
    for number in range(4):
        emitters[0].next(number)
    assert discarded == [2, 3]
    recorder.cancel()
    emitters[0].next(4)
    assert discarded == [2, 3, 0, 1, 4]


def test_prefetched_elements_are_discarded_on_cancel() -> None:
    discarded: list[int] = []
    source = TestPublisher[int]()
    recorder = Recorder([], 1_000)
    source.stream().limit_rate(4).do_on_discard(discarded.append).subscribe(recorder)
    source.next(1, 2)
    assert discarded == []
    recorder.cancel()
    assert discarded == [1, 2]


class _EmitsAfterCompletion(pyrs.Publisher[str]):
    """Breaks §1.7: emits an element after on_complete."""

    def subscribe(self, subscriber: pyrs.Subscriber[str], /) -> None:
        subscriber.on_subscribe(_LateEmission(subscriber))


class _LateEmission(pyrs.Subscription):
    def __init__(self, subscriber: pyrs.Subscriber[str]) -> None:
        self._subscriber: pyrs.Subscriber[str] | None = subscriber

    def request(self, n: int, /) -> None:
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            subscriber.on_next("a")
            subscriber.on_next("b")
            subscriber.on_complete()
            subscriber.on_next("late")

    def cancel(self) -> None: ...


async def _iterated(stream: pyrs.Stream[str]) -> list[str]:
    return [element async for element in stream]


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize(
    "elements",
    [
        lambda stream: list(stream.to_iterable(timeout=10)),
        lambda stream: asyncio.run(asyncio.wait_for(_iterated(stream), 10)),
        lambda stream: stream.delay(0.01).collect(timeout=10),
    ],
    ids=["to_iterable", "asynchronous iteration", "delay"],
)
def test_element_after_completion_does_not_discard_the_buffered_elements(elements: Any, hook: bool) -> None:
    discarded: list[str] = []
    before = pyrs.set_discard_hook(discarded.append if hook else None)
    try:
        assert elements(pyrs.Stream(_EmitsAfterCompletion())) == ["a", "b"]
        assert discarded == (["late"] if hook else [])
    finally:
        pyrs.set_discard_hook(before)


SHARING: dict[str, Callable[[TestPublisher[Any]], pyrs.Stream[Any]]] = {
    "share": lambda source: pyrs.Stream(source).share(),
    "publish": lambda source: pyrs.Stream(source).publish().auto_connect(3),
    "multicast": lambda source: through(source, pyrs.sinks.multicast()),
    "multicast_best_effort": lambda source: through(source, pyrs.sinks.multicast_best_effort()),
    "multicast_all_or_nothing": lambda source: through(source, pyrs.sinks.multicast_all_or_nothing()),
}


def through(source: TestPublisher[Any], sink: Any) -> pyrs.Stream[Any]:
    pyrs.Stream(source).subscribe(on_next=sink.try_emit)
    stream: pyrs.Stream[Any] = sink.stream
    return stream


BUFFERING = ("share", "publish", "multicast")


@pytest.mark.parametrize(("name", "buffered"), [*((name, False) for name in SHARING), *((n, True) for n in BUFFERING)])
def test_element_is_not_discarded_if_its_first_receiver_cancels_every_subscriber(name: str, buffered: bool) -> None:
    discarded: list[object] = []
    source: TestPublisher[Any] = TestPublisher()
    stream = SHARING[name](source).do_on_discard(discarded.append)
    subscribers: list[TestSubscriber[Any]] = []

    def cancel_all(subscriber: TestSubscriber[Any], element: object) -> None:
        for each in subscribers:
            each.cancel()

    demand = 0 if buffered else 1
    subscribers += [TestSubscriber(demand, on_element=cancel_all), TestSubscriber(demand), TestSubscriber(demand)]
    for each in subscribers:
        stream.subscribe(each)
    source.next("element")
    for each in subscribers:
        each.request(1)
    assert [each.elements for each in subscribers] == [["element"], [], []]
    assert discarded == []


@pytest.mark.parametrize("name", BUFFERING)
def test_element_that_is_signalled_during_a_cancel_is_delivered_or_discarded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub signals an element between two steps of the cancel."""
    discarded: list[object] = []
    source: TestPublisher[Any] = TestPublisher()
    stream = SHARING[name](source).do_on_discard(discarded.append)
    subscribers: list[TestSubscriber[Any]] = [TestSubscriber(1) for _ in range(3)]
    for each in subscribers:
        stream.subscribe(each)
    exclude = Hub._exclude

    def signal_first(self: Hub[Any], subscription: Any) -> None:
        monkeypatch.setattr(Hub, "_exclude", exclude)
        source.next("element")
        exclude(self, subscription)

    for each in subscribers[1:]:
        each.cancel()
    monkeypatch.setattr(Hub, "_exclude", signal_first)
    subscribers[0].cancel()
    assert [*subscribers[0].elements, *discarded] == ["element"]
