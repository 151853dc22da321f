"""The stages of apply_by_key without Spark: state between random batches, its format, and refused operators."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import Row

import pyrs
from pyrs import schedulers, sinks
from pyrs.errors import NullSignal
from pyrs.spark.keyed.stage import KeyedStage, _unsupported_reason
from pyrs.spark.keyed.values import decoded, encoded
from tests.operator_registry import SAMPLES

StageFunction = Callable[[pyrs.Stream[Any]], Any]
Batches = Sequence[tuple[float, Sequence[int]]]


def total(a: int, b: int) -> int:
    return a + b


STAGES: dict[str, StageFunction] = {
    "map, filter": lambda rows: rows.map(lambda n: n + 1).filter(lambda n: n % 2),
    "handle": lambda rows: rows.handle(lambda n, sink: sink.next(n) if n % 2 else None),
    "distinct": lambda rows: rows.distinct(),
    "distinct(key)": lambda rows: rows.distinct(lambda n: n % 5),
    "distinct_until_changed": lambda rows: rows.distinct_until_changed(lambda n: n // 4),
    "scan": lambda rows: rows.scan(total),
    "scan(initial)": lambda rows: rows.scan(total, 100),
    "with_index": lambda rows: rows.with_index(3),
    "skip, take": lambda rows: rows.skip(4).take(7),
    "take, buffer": lambda rows: rows.take(7).buffer(3),
    "skip_while, take_while": lambda rows: rows.skip_while(lambda n: n < 8).take_while(lambda n: n != 3),
    "buffer": lambda rows: rows.buffer(3),
    "buffer(skip less)": lambda rows: rows.buffer(3, skip=2),
    "buffer(skip more)": lambda rows: rows.buffer(2, skip=5),
    "buffer(seconds)": lambda rows: rows.buffer(seconds=5),
    "buffer(count, seconds)": lambda rows: rows.buffer(3, seconds=5),
    "window": lambda rows: rows.window(3).flat_map(lambda window: window.reduce(total)),
    "window(skip)": lambda rows: rows.window(4, skip=2).concat_map(lambda window: window.to_list()),
    "window(seconds)": lambda rows: rows.window(seconds=4).concat_map(lambda window: window.to_list()),
    "window(count, seconds)": lambda rows: rows.window(3, seconds=4).flat_map(lambda window: window.count()),
    "debounce": lambda rows: rows.debounce(2),
    "throttle": lambda rows: rows.throttle(3),
    "timestamp, elapsed": lambda rows: rows.timestamp().elapsed(),
    "flat_map": lambda rows: rows.flat_map(lambda n: pyrs.range(n % 3)).distinct_until_changed(),
    "flat_map_sequential": lambda rows: rows.flat_map_sequential(lambda n: pyrs.just(n, n)).buffer(3),
    "concat_map": lambda rows: rows.concat_map(lambda n: pyrs.range(n % 3).map(lambda m: (n, m))),
    "filter_when, delay_until": lambda rows: (
        rows.filter_when(lambda n: pyrs.just(n % 2)).delay_until(lambda n: pyrs.empty()).buffer(3)
    ),
    "of_type, do_on_next": lambda rows: rows.of_type(int).do_on_next(bool).take_while(lambda n: n < 12, inclusive=True),
    "timers in a chain": lambda rows: rows.debounce(2).with_index().buffer(2, seconds=10).map(tuple),
    "all": lambda rows: (
        rows.buffer(seconds=3).flat_map(pyrs.from_iterable).scan(total, 0).distinct().debounce(1).skip(1)
    ),
}


def emitted_in_driver(stage: StageFunction, batches: Batches) -> list[list[Any]]:
    """Return the elements that one subscription emits in each batch, in virtual time."""
    found: list[list[Any]] = []
    emitted: list[Any] = []
    sink = sinks.unicast()  # several times as fast as a TestPublisher
    with schedulers.use(schedulers.VirtualTime()) as time:
        time.advance_to(batches[0][0])
        stage(sink.stream).subscribe(on_next=emitted.append)
        for now, elements in batches:
            time.advance_to(now)
            for element in elements:
                sink.try_emit(element)
            found.append(emitted.copy())
            emitted.clear()
    return found


def emitted_by_batches(stage: StageFunction, batches: Batches) -> list[list[Any]]:
    """Return the elements that the stage emits if only the serialized state is passed from batch to batch."""
    found, state = [], None
    for now, elements in batches:
        step = KeyedStage(stage).advance(state, elements, now)
        state = step.state
        found.append(step.emitted)
    return found


def random_batches(seed: int) -> Batches:
    """Return batches, some of them empty, at times with irregular intervals."""
    generator = random.Random(seed)
    now, batches = 1_700_000_000.0, []
    for _ in range(generator.randint(1, 12)):
        now += generator.choice([0, 0.5, 1, 2, 2.5, 7])
        batches.append((now, [generator.randint(0, 12) for _ in range(generator.choice([0, 1, 2, 5, 9]))]))
    return batches


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_with_saved_state_emits_the_same_elements_as_in_the_driver(name: str) -> None:
    for seed in range(25):
        batches = random_batches(seed)
        assert emitted_by_batches(STAGES[name], batches) == emitted_in_driver(STAGES[name], batches), batches


# Stages that subscribe to a stream for each element or window, which takes up to 400 microseconds on an idle processor.
SUBSCRIBING = ("window", "flat_map", "concat_map", "filter_when")


@pytest.mark.campaign
@pytest.mark.timeout(900)  # each stage takes less than a minute on an idle processor
@pytest.mark.parametrize("name", STAGES)
def test_large_random_batches_give_the_same_results(name: str) -> None:
    """Run a million elements in 41 batches; a tenth in the stages that take most of the time."""
    count = 100_000 if name.startswith(SUBSCRIBING) else 1_000_000
    generator = random.Random(1)
    elements = [generator.randint(0, 3_000) for _ in range(count)]
    cuts = [0, *sorted(generator.sample(range(count), 40)), count]
    batches = [(1.5 * number, elements[start:end]) for number, (start, end) in enumerate(pairwise(cuts))]
    assert emitted_by_batches(STAGES[name], batches) == emitted_in_driver(STAGES[name], batches)


def test_a_timer_is_due_when_the_stage_must_run_again() -> None:
    stage = KeyedStage(lambda rows: rows.debounce(5))
    step = stage.advance(None, [1, 2], 100.0)
    assert (step.emitted, step.due) == ([], 105.0)
    step = stage.advance(step.state, [3], 103.0)
    assert (step.emitted, step.due) == ([], 105.0)  # a timer that was moved is checked at its former time
    step = stage.advance(step.state, [], 105.0)
    assert (step.emitted, step.due) == ([], 108.0)
    step = stage.advance(step.state, [], 110.0)
    assert (step.emitted, step.due) == ([3], None)


def test_time_that_goes_backwards_stops_the_clock() -> None:
    stage = KeyedStage(lambda rows: rows.timestamp())
    step = stage.advance(None, [1], 100.0)
    assert stage.advance(step.state, [2], 90.0).emitted == [(100.0, 2)]


def test_a_mutable_initial_value_is_not_shared_between_keys() -> None:
    def append(found: list[int], n: int) -> list[int]:
        found.append(n)
        return found

    stage = KeyedStage(lambda rows: rows.scan(append, []).map(list))
    assert stage.advance(None, [1, 2], 0).emitted == [[], [1], [1, 2]]
    step = stage.advance(None, [3], 0)
    assert step.emitted == [[], [3]]
    assert stage.advance(step.state, [4], 0).emitted == [[3, 4]]


def test_a_completed_stream_stays_completed() -> None:
    stage = KeyedStage(lambda rows: rows.take(2))
    step = stage.advance(None, [1, 2, 3], 0)
    assert step.emitted == [1, 2]
    again = stage.advance(step.state, [4], 0)
    assert (again.emitted, again.state) == ([], step.state)


SAVED = {
    *("buffer", "concat_map", "debounce", "delay_until", "distinct", "distinct_until_changed", "do_on_next", "elapsed"),
    *("filter", "filter_when", "flat_map", "flat_map_sequential", "handle", "map", "of_type", "scan", "skip"),
    *("skip_while", "take", "take_while", "throttle", "timestamp", "transform", "window", "with_index"),
}


def test_exactly_the_documented_operators_keep_their_state() -> None:
    accepted = set()
    for name, sample in SAMPLES.items():
        try:
            KeyedStage(sample.apply)
        except Exception:
            continue
        accepted.add(name.partition("(")[0])
    assert accepted == SAVED
    assert _unsupported_reason(object()) is not None


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (lambda rows: rows.map(str).skip_last(2), r"the state of skip_last\(2\): the operator does not support it"),
        (lambda rows: rows.group_by(str), r"the state of group_by\(str\): the operator does not support it"),
        (lambda rows: rows.window_until(bool), r"the state of window_until\(bool\): the operator does not support it"),
        (lambda rows: rows.reduce(max), r"reduce\(max\): it emits when the stream completes, .* scan emits each"),
        (lambda rows: rows.map(str).merge(pyrs.just(1)), r"the state of merge\("),
        (lambda rows: pyrs.just(1), r"the state of just\(1\)"),
        (lambda rows: rows.debounce(1, scheduler=schedulers.default()), r"debounce\(1\): Spark measures the time"),
        (lambda rows: 3, "the result of stage must be a Publisher"),
    ],
)
def test_an_unsupported_operator_is_refused_by_its_name(stage: StageFunction, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        KeyedStage(stage)


def test_a_stream_that_does_not_complete_at_once_is_refused() -> None:
    for name in ("flat_map", "concat_map"):
        stage = KeyedStage(lambda rows: getattr(rows, name)(lambda _: pyrs.just(1).delay(3)))  # noqa: B023
        with pytest.raises(RuntimeError, match=rf"{name}\(.*: a stream that the function returned has not completed"):
            stage.advance(None, [1], 0)


def test_the_error_of_a_function_is_the_error_of_the_stage() -> None:
    with pytest.raises(ZeroDivisionError):
        KeyedStage(lambda rows: rows.map(lambda n: 1 // n)).advance(None, [0], 0)
    with pytest.raises(NullSignal):
        KeyedStage(lambda rows: rows.map(lambda n: None)).advance(None, [0], 0)


def test_state_that_cannot_be_saved_is_refused_with_its_operator() -> None:
    stage = KeyedStage(lambda rows: rows.distinct(lambda _: object()))
    with pytest.raises(TypeError, match=r"distinct\(.*\) cannot save its state: <object .* is of type object"):
        stage.advance(None, [1], 0)


def test_a_stage_with_other_operators_without_state_continues() -> None:
    stages: list[StageFunction] = [
        lambda rows: rows.scan(total, 0).skip(1),
        lambda rows: rows.scan(total, 0).skip(1).map(str),
        lambda rows: rows.scan(total, 0).map(float).skip(1).filter(bool),
        lambda rows: rows.filter(bool).scan(total, 0).skip(1),
        lambda rows: rows.flat_map(lambda n: pyrs.just(n)).scan(total, 0).skip(1),
    ]
    for before in stages:
        saved = KeyedStage(before).advance(None, [1, 2], 0.0).state
        for after in stages:
            assert [int(float(n)) for n in KeyedStage(after).advance(saved, [3, 4], 0.0).emitted] == [6, 10]


class Modulo:
    """A function whose repr is that of ``object``, with an address."""

    def __call__(self, n: int) -> int:
        return n % 5


@pytest.mark.parametrize(
    "stage",
    [
        lambda rows: rows.scan(partial(total), 0),
        lambda rows: rows.distinct(partial(Modulo())),
        lambda rows: rows.distinct(Modulo()),
        lambda rows: rows.skip_while(Modulo()),
    ],
)
def test_the_state_continues_in_another_process_for_any_kind_of_function(stage: StageFunction) -> None:
    """The same function has another address in each process."""
    first, second = KeyedStage(stage), KeyedStage(stage)
    saved = first.advance(None, [5, 10], 0.0).state
    assert second.advance(saved, [15], 0.0) == first.advance(saved, [15], 0.0)


def test_the_state_of_another_stage_is_refused() -> None:
    saved = KeyedStage(lambda rows: rows.map(str).distinct().buffer(3)).advance(None, [1], 0).state
    KeyedStage(lambda rows: rows.map(repr).filter(bool).distinct().buffer(3)).advance(saved, [1], 0)
    former = r"the checkpoint has the state of distinct\(\), buffer\(3\), but the stage now has "
    for stage, now in [
        (lambda rows: rows.distinct().buffer(4), r"distinct\(\), buffer\(4\)"),
        (lambda rows: rows.map(str), "no operator with state"),
    ]:
        with pytest.raises(RuntimeError, match=former + now):
            KeyedStage(stage).advance(saved, [1], 0)
    with pytest.raises(RuntimeError, match="the checkpoint has state of version 0, but this version of pyrs continues"):
        KeyedStage(lambda rows: rows).advance('{"version": 0}', [1], 0)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 2**80, -0.5, float("inf"), "text \ud800", b"\x00\xff", bytearray(b"x"), Decimal("1.50")),
        *([1, [2, (3,)]], (), {1: "a", (2, None): {"b": []}}, {1, "a", (2,)}, frozenset({1})),
        *(datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 4, fold=1), datetime.timedelta(-1, 2, 3)),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 4, fold=1),
        datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc),
        UUID(int=7),
        Row(id=1, inner=Row(names=["a"], at=None)),
        Row(1, 2),
    ],
)
def test_values_are_restored_with_their_types(value: Any) -> None:
    again = decoded(json.loads(json.dumps(encoded(value))))
    assert again == value and repr(again) == repr(value)
    assert isinstance(again, type(value))
