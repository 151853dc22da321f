"""map, filter, take and simple sources: results, demand, reprs, argument validation, and subscription by callbacks."""

from __future__ import annotations

import gc
import itertools
import pickle
import threading
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.operator_registry import ROWS
from tests.operator_registry.row import Apply
from tests.waiting import DEADLINE

Wrap = Callable[[Any], pyrs.Stream[Any]]


@pytest.fixture
def numbers(any_way: Wrap) -> Callable[[int], pyrs.Stream[int]]:
    return lambda count: any_way(pyrs.range(count))


def test_random_chain_matches_plain_iterators_under_random_demand(numbers: Callable[[int], pyrs.Stream[int]]) -> None:
    random = Random(1)
    for _ in range(150):
        count = random.choice([0, 1, 2, 7, 50])
        stream, model = numbers(count), iter(range(count))
        for _ in range(random.randrange(5)):
            kind, n = random.choice(["map", "filter", "take"]), random.randrange(1, 5)
            if kind == "map":
                stream, model = stream.map(lambda x, n=n: x + n), map(lambda x, n=n: x + n, model)
            elif kind == "filter":
                stream, model = stream.filter(lambda x, n=n: x % n), filter(lambda x, n=n: x % n, model)
            else:
                stream, model = stream.take(n * 3), itertools.islice(model, n * 3)
        expected = list(model)
        subscriber: TestSubscriber[int] = TestSubscriber()
        stream.subscribe(subscriber)
        demanded = 0
        while demanded < len(expected):
            n = random.choice([1, 2, 3, 100])
            subscriber.request(n)
            demanded += n
            subscriber.await_count(min(demanded, len(expected)))
        subscriber.request(1)
        assert subscriber.await_complete() == expected, repr(stream)


def test_take_requests_no_more_than_its_count() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[str] = TestSubscriber()
    source.stream().take(5).map(str).subscribe(subscriber)
    subscriber.request(2)
    subscriber.request(pyrs.UNBOUNDED)
    subscriber.request(10)
    assert source.requests == [2, 3]
    source.assert_not_cancelled()
    subscriber.cancel()
    assert source.requests == [2, 3]
    source.assert_cancelled(1)


def test_filter_requests_a_replacement_for_each_rejected_element(hidden: Wrap) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    hidden(pyrs.range(100)).filter(lambda n: n % 10 == 9).subscribe(subscriber)
    subscriber.request(1)
    subscriber.assert_elements(9)
    subscriber.request(2)
    subscriber.assert_elements(9, 19, 29).assert_live()


def test_take_completes_with_its_last_element_and_cancels(numbers: Callable[[int], pyrs.Stream[int]]) -> None:
    cancelled: list[bool] = []
    subscriber: TestSubscriber[int] = TestSubscriber(3)
    numbers(10).do_on_cancel(lambda: cancelled.append(True)).take(3).subscribe(subscriber)
    assert subscriber.await_complete() == [0, 1, 2]
    assert cancelled == [True]


def test_take_zero_completes_without_demand(numbers: Callable[[int], pyrs.Stream[int]]) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    numbers(10).take(0).subscribe(subscriber)
    assert subscriber.await_complete() == []


def test_take_zero_after_count_completes_without_demand(numbers: Callable[[int], pyrs.Stream[int]]) -> None:
    subscriber: TestSubscriber[int] = TestSubscriber()
    numbers(10).take(0).count().take(0).subscribe(subscriber)
    assert subscriber.await_complete() == []


def test_take_zero_twice_completes_downstream_once(numbers: Callable[[int], pyrs.Stream[int]]) -> None:
    subscriber: TestSubscriber[list[int]] = TestSubscriber(1)
    numbers(10).take(0).take(0).to_list().subscribe(subscriber)
    assert subscriber.await_complete() == [[]]


def test_take_accepts_a_count_beyond_the_largest_long() -> None:
    assert pyrs.range(3).take(2**80).collect() == [0, 1, 2]


def test_repr_shows_the_chain_as_written(hidden: Wrap) -> None:
    def is_even(n: int) -> bool:
        return n % 2 == 0

    stream = pyrs.from_iterable([1, 2, 3]).map(str).filter(is_even).take(2)
    assert repr(stream) == "from_iterable([1, 2, 3]).map(str).filter(is_even).take(2)"
    assert repr(pyrs.range(2, 9).map(lambda n: n)) == "range(2, 9).map(<lambda>)"
    assert repr(hidden(pyrs.never()).map(len).take(1)) == "hidden.map(len).take(1)"
    assert repr(pyrs.just("a", 1)) == "just('a', 1)"
    assert repr(pyrs.error(ValueError("no"))) == "error(ValueError('no'))"
    assert (repr(pyrs.empty()), repr(pyrs.never())) == ("empty()", "never()")
    assert len(repr(pyrs.from_iterable(list(range(10_000))))) < 100


def test_repr_of_a_source_accepts_elements_without_repr_and_class() -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    element = Hostile()
    for stream in (pyrs.just(element), pyrs.from_iterable([element])):
        assert "<" in repr(stream)
        assert next(iter(stream.to_iterable())) is element


def test_stream_of_a_stream_has_the_same_source() -> None:
    stream = pyrs.range(3)
    assert pyrs.Stream(stream).source is stream.source


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: pyrs.range(3).map(None), TypeError, "function must be callable, not NoneType"),  # type: ignore[arg-type]
        (lambda: pyrs.range(3).filter(3), TypeError, "predicate must be callable, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.range(3).take("1"), TypeError, "count must be an integer, not str"),  # type: ignore[arg-type]
        (lambda: pyrs.range(3).take(-1), ValueError, "count must be at least 0, not -1"),
        (lambda: pyrs.range(3).for_each("x"), TypeError, "action must be callable"),  # type: ignore[arg-type]
        (lambda: pyrs.range(3).to_iterable(prefetch=0), ValueError, "prefetch must be at least 1"),
        (lambda: pyrs.range(3).iterate(prefetch=0), ValueError, "prefetch must be at least 1"),
        (lambda: pyrs.from_iterable(5), TypeError, "iterable must be an iterable, not int"),  # type: ignore[arg-type]
        (lambda: pyrs.just(1, None), pyrs.NullSignal, "None is not an element"),
        (lambda: pyrs.error("no"), TypeError, "exception must be an exception, not str"),  # type: ignore[arg-type]
        (lambda: pyrs.error(ValueError), TypeError, r"not type: create an instance, ValueError\(...\)"),  # type: ignore[arg-type]
        (lambda: pyrs.Stream([1]), TypeError, "source must be a Publisher: list has no subscribe"),  # type: ignore[arg-type]
        (lambda: pyrs.range(3).subscribe(print), TypeError, "has no on_subscribe"),  # type: ignore[call-overload]
        (lambda: pyrs.range(3).subscribe(on_next=1), TypeError, "on_next must be callable"),  # type: ignore[call-overload]
        (lambda: pyrs.range(3).subscribe(), pyrs.NullSignal, "a Subscriber is needed"),
        (lambda: pyrs.range(3).subscribe(on_next=print, request=-1), ValueError, "request must be at least 0"),
    ],
)
def test_wrong_arguments_raise(wrong: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_subscribe_rejects_a_subscriber_with_callbacks() -> None:
    with pytest.raises(TypeError, match="not both"):
        pyrs.range(3).subscribe(TestSubscriber(), on_next=print)  # type: ignore[call-overload]


class TestCallbacks:
    def test_callbacks_receive_all_signals_and_subscribe_returns_the_subscription(self) -> None:
        received: list[Any] = []
        subscription = pyrs.range(4).subscribe(
            on_next=received.append, on_complete=lambda: received.append("end"), request=2
        )
        assert received == [0, 1]
        subscription.request(5)
        assert received == [0, 1, 2, 3, "end"]

    def test_callable_that_is_false_receives_the_elements(self, numbers: Callable[[int], pyrs.Stream[int]]) -> None:
        class Recorded(list[int]):
            __call__ = list.append

        received, ended = Recorded(), threading.Event()
        numbers(3).subscribe(on_next=received, on_complete=ended.set)
        assert ended.wait(DEADLINE)
        assert received == [0, 1, 2]

    def test_cancel_stops_the_callbacks(self) -> None:
        received: list[int] = []
        subscription = pyrs.range(9).subscribe(on_next=received.append, request=2)
        subscription.cancel()
        subscription.request(5)
        assert received == [0, 1]

    def test_error_goes_to_on_error_or_to_the_error_hook(self, dropped: Any) -> None:
        failure = ValueError("no")
        received: list[BaseException] = []
        pyrs.error(failure).subscribe(on_error=received.append)
        assert received == [failure]
        pyrs.error(failure).subscribe(on_next=print)
        assert dropped.take() == [failure]

    def test_exception_of_on_next_cancels(self, dropped: Any) -> None:
        received: list[int] = []

        def next_(n: int) -> None:
            received.append(n)
            raise ValueError("mine")

        pyrs.range(9).subscribe(on_next=next_)
        assert received == [0]
        assert [str(error) for error in dropped.take()] == ["mine"]


def test_subscribers_share_an_iterator() -> None:
    iterator: Iterator[int] = iter(range(6))
    stream = pyrs.from_iterable(iterator)
    assert stream.take(2).collect() == [0, 1]
    assert stream.collect() == [2, 3, 4, 5]


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_repr_of_a_source_formats_only_a_part_of_long_bytes(kind: type) -> None:
    element = kind(4_000_000)
    tracemalloc.start()
    try:
        stream = pyrs.just(element)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert len(repr(stream)) < 50


class Shown:
    """An element with a slow repr, such as a DataFrame, or a lazy query whose repr runs it."""

    shown = 0

    def __repr__(self) -> str:
        Shown.shown += 1
        return "<shown>"

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (pyrs.just, "just(<shown>)"),
        (pyrs.from_iterable, "from_iterable(<shown>)"),
        (lambda value: pyrs.from_iterable([value]).log(), "from_iterable([<shown>]).log()"),
        (lambda value: pyrs.empty().start_with(value), "empty().start_with(<shown>)"),
        (lambda value: pyrs.empty().merge(value), "merge(empty(), from_iterable(<shown>))"),
        (lambda value: pyrs.just(value).take_until(pyrs.just(value)), "just(<shown>).take_until(just(<shown>))"),
        (lambda value: pyrs.empty().on_error_return(value), "empty().on_error_return(<shown>)"),
        (lambda value: pyrs.empty().on_error_resume(pyrs.just(value)), "empty().on_error_resume(just(<shown>))"),
    ],
    ids=["just", "from_iterable", "log", "start_with", "merge", "take_until", "on_error_return", "on_error_resume"],
)
def test_assembly_and_subscription_do_not_format_elements(make: Callable[[Any], Any], expected: str) -> None:
    Shown.shown = 0
    stream = make(Shown())
    stream.collect(timeout=DEADLINE)
    assert Shown.shown == 0
    assert repr(stream) == expected


@pytest.mark.parametrize(
    ("iterable", "shown"),
    [
        (dict.fromkeys(range(100_000)).items(), "<dict_items of 100000 elements>"),
        (Counter(range(100_000)), "<Counter of 100000 elements>"),
        (Counter("ab"), "Counter({'a': 1, 'b': 1})"),
    ],
    ids=["dict_items", "Counter", "small Counter"],
)
def test_repr_of_a_source_formats_only_a_part_of_a_long_container(iterable: Iterable[Any], shown: str) -> None:
    tracemalloc.start()
    try:
        assert repr(pyrs.from_iterable(iterable)) == f"from_iterable({shown})"
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


class Unused(pyrs.Publisher[int]):
    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    "apply", [pytest.param(each.apply, id=name) for row in ROWS.values() for name, each in row.samples.items()]
)
def test_assembled_operator_does_not_keep_its_source_until_the_garbage_collector_runs(apply: Apply) -> None:
    source = Unused()
    released = weakref.ref(source)
    enabled = gc.isenabled()
    gc.disable()
    try:
        apply(pyrs.Stream(source))
        del source
        assert released() is None
    finally:
        if enabled:
            gc.enable()


def never_closed(_: object) -> pyrs.Stream[int]:
    return pyrs.never()


@pytest.mark.parametrize(
    "stream",
    [
        pyrs.just(1, 2).log().start_with(0),
        pyrs.range(3).buffer_when(pyrs.never(), never_closed),
        pyrs.range(3).on_error_resume(never_closed),
        pyrs.range(3).merge(pyrs.never()),
    ],
    ids=["start_with", "buffer_when", "on_error_resume", "merge"],
)
def test_stream_whose_values_and_functions_can_be_pickled_can_be_pickled(stream: pyrs.Stream[Any]) -> None:
    assert repr(pickle.loads(pickle.dumps(stream))) == repr(stream)


def test_publisher_whose_repr_raises_can_be_combined() -> None:
    class Unshown(pyrs.Publisher[int]):
        def __repr__(self) -> str:
            raise OSError("closed")

        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            pyrs.just(1).subscribe(subscriber)

    stream = pyrs.zip(Unshown(), Unshown(), combine=lambda a, b: a // (b - 1))
    assert repr(stream) == "<a call whose repr raised OSError>"
    with pytest.raises(ZeroDivisionError):
        stream.collect(timeout=DEADLINE)
