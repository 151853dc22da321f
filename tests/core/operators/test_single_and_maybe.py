"""Single and Maybe: the operators that return the same class, ``await`` and ``block``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import pyrs
from pyrs import Maybe, Single, SpecViolation, Stream, schedulers
from pyrs.adapters.futures import to_future
from pyrs.errors import TooManyElements
from tests.core.support import notes_of
from tests.waiting import DEADLINE


async def doubled(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


def ignored(*_: object) -> None:
    pass


KEEPING: dict[str, Callable[[Any], Any]] = {
    "map": lambda s: s.map(lambda n: n),
    "map with a coroutine function": lambda s: s.map(doubled).map(lambda n: n // 2),
    "flat_map": lambda s: s.flat_map(pyrs.just),
    "flat_map with a coroutine function": lambda s: s.flat_map(doubled).map(lambda n: n // 2),
    "zip": lambda s: s.zip(pyrs.just("x")).map(lambda pair: pair[0]),
    "zip with combine": lambda s: s.zip(pyrs.just("x"), combine=lambda n, _: n),
    "timeout": lambda s: s.timeout(DEADLINE),
    "retry": lambda s: s.retry(1),
    "on_error_resume": lambda s: s.on_error_resume(pyrs.just(0)),
    "on_error_return": lambda s: s.on_error_return(0),
    "on_error_map": lambda s: s.on_error_map(lambda error: error),
    "cache": lambda s: s.cache(),
    "publish_on": lambda s: s.publish_on(schedulers.default()),
    "subscribe_on": lambda s: s.subscribe_on(schedulers.default()),
    "delay": lambda s: s.delay(0),
    "delay_subscription": lambda s: s.delay_subscription(0),
    "delay_until": lambda s: s.delay_until(pyrs.just),
    "do_on_next": lambda s: s.do_on_next(ignored),
    "do_on_subscribe": lambda s: s.do_on_subscribe(ignored),
    "do_on_request": lambda s: s.do_on_request(ignored),
    "do_on_complete": lambda s: s.do_on_complete(ignored),
    "do_on_error": lambda s: s.do_on_error(ignored),
    "do_on_terminate": lambda s: s.do_on_terminate(ignored),
    "do_on_cancel": lambda s: s.do_on_cancel(ignored),
    "finally_do": lambda s: s.finally_do(ignored),
    "checkpoint": lambda s: s.checkpoint(),
    "log": lambda s: s.log(),
    "metrics": lambda s: s.metrics(pyrs.Metrics("kinds")),
}


def sources() -> dict[str, Stream[int]]:
    return {
        "Single": pyrs.range(7).count(),
        "Maybe": pyrs.range(7).count().filter(lambda n: n == 7),
        "empty Maybe": pyrs.range(7).count().filter(lambda n: n < 7),
        "Stream": pyrs.from_iterable([7]),
    }


@pytest.mark.parametrize("operator", KEEPING)
@pytest.mark.parametrize("kind", sources())
def test_operator_returns_the_class_of_its_source(operator: str, kind: str) -> None:
    source = sources()[kind]
    result = KEEPING[operator](source)
    assert type(result) is type(source)
    assert result.collect(timeout=DEADLINE) == ([] if kind.startswith("empty") else [7])
    if isinstance(result, Maybe):
        expected = None if kind.startswith("empty") else 7

        async def main() -> object:
            return await asyncio.wait_for(result, DEADLINE)

        assert result.block(DEADLINE) == expected
        assert asyncio.run(main()) == expected


@pytest.mark.parametrize(
    ("call", "expected", "element"),
    [
        (lambda one, maybe: one.filter(bool), Maybe, 7),
        (lambda one, maybe: maybe.default_if_empty(0), Single, 0),
        (lambda one, maybe: maybe.switch_if_empty(one), Single, 7),
        (lambda one, maybe: maybe.switch_if_empty(maybe), Maybe, None),
        (lambda one, maybe: one.zip(maybe), Maybe, None),
        (lambda one, maybe: one.zip(pyrs.from_iterable([1, 2])), Maybe, (7, 1)),
        (lambda one, maybe: pyrs.range(3).then(one), Single, 7),
        (lambda one, maybe: one.then(maybe), Maybe, None),
        (lambda one, maybe: pyrs.just(3), Single, 3),
        (lambda one, maybe: pyrs.empty(), Maybe, None),
        (lambda one, maybe: pyrs.error(OSError()).on_error_resume(one), Single, 7),
    ],
)
def test_operator_returns_the_documented_class(
    call: Callable[[Any, Any], Any], expected: type, element: object
) -> None:
    stream = call(pyrs.range(7).count(), pyrs.empty())
    assert type(stream) is expected
    assert stream.block(DEADLINE) == element


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.concat_map(pyrs.range),
        lambda one: one.concat(one),
        lambda one: one.repeat(1),
        lambda one: one.retry_when(lambda errors: errors),
        lambda one: one.cache(1, 60),
        lambda one: one.timeout(DEADLINE, fallback=pyrs.range(2)),
        lambda one: one.then(pyrs.range(2)),
        lambda one: pyrs.empty().switch_if_empty(pyrs.range(2)),
        lambda one: Stream(one),
        lambda one: pyrs.just(1, 2),
        lambda one: one.group_by(bool).first().block().do_on_next(ignored),
        lambda one: one.publish().do_on_next(ignored),
    ],
)
def test_other_operators_return_a_stream(call: Callable[[Any], Any]) -> None:
    assert type(call(pyrs.range(7).count())) is Stream


def test_single_without_an_element_is_a_violation() -> None:
    empty: Single[int] = Single(pyrs.empty())

    async def main() -> None:
        await empty

    for run in (empty.block, lambda: asyncio.run(main()), lambda: to_future(empty).result(DEADLINE)):
        with pytest.raises(SpecViolation):
            run()


@pytest.mark.parametrize(("kind", "rule"), [(Single, "exactly one element"), (Maybe, "at most one element")])
@pytest.mark.parametrize("source", [pyrs.range(3), pyrs.just(1).flat_map(lambda n: pyrs.range(3))])
def test_second_element_fails_block_await_and_to_future(
    kind: type[Maybe[int]], rule: str, source: pyrs.Stream[int]
) -> None:
    several = kind(source)

    async def main() -> None:
        await several

    for run in (several.block, lambda: asyncio.run(main()), lambda: to_future(several).result(DEADLINE)):
        with pytest.raises(TooManyElements, match=f"must emit {rule}, but emitted a second one"):
            run()


@pytest.mark.parametrize("kind", [Single, Maybe])
@pytest.mark.parametrize("infinite", [count(), iter(count, None)], ids=["count", "callable iterator"])
@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: s.concat(pyrs.never())], ids=["pulled", "pushed"])
def test_block_cancels_at_the_second_element(
    kind: type[Maybe[int]], infinite: Any, wrap: Any, discarded: list[Any]
) -> None:
    cancelled: list[bool] = []
    stream = wrap(pyrs.from_iterable(infinite)).do_on_cancel(lambda: cancelled.append(True))
    with pytest.raises(TooManyElements, match="a second one"):
        kind(stream).block(timeout=DEADLINE)
    assert cancelled == [True]
    assert len(discarded) == 2


def test_future_of_a_maybe_has_the_element_or_none() -> None:
    assert to_future(pyrs.just(1).filter(bool)).result(DEADLINE) == 1
    assert to_future(pyrs.empty()).result(DEADLINE) is None


def test_error_note_names_the_operator_of_a_single() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        pyrs.range(3).count().map(lambda n: n // 0).filter(bool).block()
    assert any("map(" in note and "test_single_and_maybe.py" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [
        (lambda s: s.reduce(lambda total, n: None), pyrs.NullSignal),
        (lambda s: s.skip(9).reduce(max), pyrs.NoElement),
        (lambda s: s.skip(9).last(), pyrs.NoElement),
        (lambda s: s.single(), TooManyElements),
    ],
    ids=["function that returns None", "reduce", "last", "single"],
)
def test_block_and_await_raise_the_same_error_with_the_same_notes(
    aggregate: Callable[[Any], Single[Any]], kind: type[Exception], wrap: Callable[[Any], Any]
) -> None:
    aggregated = aggregate(wrap(pyrs.just(1, 2)))

    async def main() -> None:
        await aggregated

    raised = []
    for run in (lambda: aggregated.block(DEADLINE), lambda: asyncio.run(main())):
        with pytest.raises(kind) as caught:
            run()
        raised.append((str(caught.value), notes_of(caught.value)))
    assert raised[0] == raised[1]
    assert "test_single_and_maybe.py" in raised[0][1][0]
