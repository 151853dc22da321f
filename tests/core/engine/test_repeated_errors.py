"""An error object that is raised repeatedly does not accumulate traceback entries."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from tests.core.conftest import Hidden


async def _iterate(stream: pyrs.Stream[Any]) -> None:
    async for _ in stream:
        pass


async def _await_list(stream: pyrs.Stream[Any]) -> None:
    await stream.to_list()


TERMINAL_OPERATIONS: dict[str, Callable[[pyrs.Stream[Any]], object]] = {
    "collect": lambda stream: stream.collect(),
    "block": lambda stream: stream.first().block(),
    "for_each": lambda stream: stream.for_each(print),
    "to_iterable": lambda stream: list(stream.to_iterable()),
    "async for": lambda stream: asyncio.run(_iterate(stream)),
    "await": lambda stream: asyncio.run(_await_list(stream)),
}


def _replayed(error: BaseException) -> pyrs.Stream[Any]:
    return pyrs.error(error).cache()


def _dematerialized(error: BaseException) -> pyrs.Stream[Any]:
    return pyrs.just(*pyrs.error(error).materialize().collect()).dematerialize()


def _hidden(error: BaseException) -> pyrs.Stream[Any]:
    return pyrs.Stream(Hidden(pyrs.error(error)))


@pytest.mark.parametrize("build", [pyrs.error, _replayed, _hidden, _dematerialized])
@pytest.mark.parametrize("run", TERMINAL_OPERATIONS.values(), ids=TERMINAL_OPERATIONS)
def test_traceback_of_a_repeated_error_does_not_grow(
    build: Callable[[BaseException], pyrs.Stream[Any]], run: Callable[[pyrs.Stream[Any]], object]
) -> None:
    error = ValueError("down")
    stream = build(error)
    lengths = []
    for _ in range(100):
        with pytest.raises(ValueError, match="down") as raised:
            run(stream)
        assert raised.value is error
        lengths.append(sum(1 for _ in traceback.walk_tb(error.__traceback__)))
    assert max(lengths[20:]) <= max(lengths[:20])


def test_traceback_contains_the_frames_of_nested_streams() -> None:
    def innermost(n: int) -> int:
        raise ValueError("deep")

    def inner(n: int) -> list[int]:
        return pyrs.just(n).map(innermost).collect()

    def outer(n: int) -> list[list[int]]:
        return pyrs.just(n).map(inner).collect()

    with pytest.raises(ValueError, match="deep") as raised:
        pyrs.just(1).map(outer).collect()
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(raised.value.__traceback__)]
    assert [name for name in names if name in ("outer", "inner", "innermost")] == ["outer", "inner", "innermost"]
