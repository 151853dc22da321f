"""Operators that do not await a function reject coroutine functions at assembly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pyrs


async def coroutine(*_: Any) -> Any:
    return False


class AsyncCallable:
    async def __call__(self, *_: Any) -> bool:
        return False


def three() -> pyrs.Stream[int]:
    return pyrs.range(3)


REJECTING: dict[str, Callable[[Any], object]] = {
    "filter": lambda f: three().filter(f),
    "take_while": lambda f: three().take_while(f),
    "skip_while": lambda f: three().skip_while(f),
    "repeat": lambda f: three().repeat(until=f),
    "any": lambda f: three().any(f),
    "all": lambda f: three().all(f),
    "distinct": lambda f: three().distinct(f),
    "distinct_until_changed": lambda f: three().distinct_until_changed(f),
    "comparer": lambda f: three().distinct_until_changed(comparer=f),
    "group_by": lambda f: three().group_by(f),
    "to_dict": lambda f: three().to_dict(f),
    "value": lambda f: three().to_dict(str, f),
    "reduce": lambda f: three().reduce(f),
    "scan": lambda f: three().scan(f),
    "zip": lambda f: pyrs.zip(three(), three(), combine=f),
    "combine_latest": lambda f: pyrs.combine_latest(three(), three(), combine=f),
    "with_latest_from": lambda f: three().with_latest_from(three(), f),
    "retry": lambda f: three().retry(2, when=f),
    "retry_when": lambda f: three().retry_when(f),
    "repeat_when": lambda f: three().repeat_when(f),
    "switch_on_first": lambda f: three().switch_on_first(f),
    "buffer_until": lambda f: three().buffer_until(f),
    "buffer_while": lambda f: three().buffer_while(f),
    "buffer_until_changed": lambda f: three().buffer_until_changed(f),
    "buffer_when": lambda f: three().buffer_when(three(), f),
    "window_until": lambda f: three().window_until(f),
    "window_when": lambda f: three().window_when(three(), f),
    "sequence_equal": lambda f: three().sequence_equal(three(), f),
    "on_backpressure_reduce": lambda f: three().on_backpressure_reduce(f),
    "transform_rails": lambda f: three().parallel(2).transform_rails(f),
    "parallel.filter": lambda f: three().parallel(2).filter(f),
    "handle": lambda f: three().handle(f),
    "merge_comparing": lambda f: three().merge_comparing(three(), key=f),
    "on_error_resume": lambda f: three().on_error_resume(f),
    "on_error_resume with a predicate": lambda f: three().on_error_resume(three(), f),
    "on_error_return": lambda f: three().on_error_return(f),
    "on_error_map": lambda f: three().on_error_map(f),
    "do_on_next": lambda f: three().do_on_next(f),
    "do_on_complete": lambda f: three().do_on_complete(f),
    "do_on_request": lambda f: three().do_on_request(f),
    "finally_do": lambda f: three().finally_do(f),
    "defer": lambda f: pyrs.defer(f),
    "using": lambda f: pyrs.using(f, lambda _: three()),
    "from_callable": lambda f: pyrs.from_callable(f),
    "generate": lambda f: pyrs.generate(f, f),
    "on_next": lambda f: three().subscribe(on_next=f),
    "on_error": lambda f: three().subscribe(on_error=f),
    "on_complete": lambda f: three().subscribe(on_complete=f),
    "consume": lambda f: pyrs.sinks.SubmissionPublisher().consume(f),
    "schedule": lambda f: pyrs.schedulers.VirtualTime().schedule(f),
}


@pytest.mark.parametrize("build", REJECTING.values(), ids=REJECTING)
def test_operator_rejects_a_coroutine_function(build: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=r"must be a plain function: .* map, flat_map and for_each take coroutine"):
        build(coroutine)


@pytest.mark.parametrize("function", [AsyncCallable(), AsyncCallable().__call__, partial(coroutine, 1)])
def test_every_kind_of_coroutine_function_is_rejected(function: Any) -> None:
    with pytest.raises(TypeError, match="predicate must be a plain function"):
        three().filter(function)


@pytest.mark.parametrize("name", ["flat_map", "concat_map", "switch_map"])
def test_flattening_operators_await_a_coroutine_function(name: str) -> None:
    async def same(n: int) -> int:
        return n

    assert getattr(pyrs.just(5), name)(same).collect(timeout=20) == [5]


def test_object_that_holds_a_coroutine_function_is_accepted_if_its_call_is_plain() -> None:
    class Wrapper:
        func = staticmethod(coroutine)

        def __call__(self, number: int) -> int:
            return number + 1

    assert pyrs.just(1).filter(Wrapper()).collect() == [1]
