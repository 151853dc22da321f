"""expand: order, demand, termination and errors."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestPublisher
from tests.core.modelling import DEMANDS, Counting, agrees, quick
from tests.core.support import notes_of, subscribe
from tests.waiting import DEADLINE

NUMBERS = st.lists(st.integers(1, 4), max_size=4)


def children(n: int) -> list[int]:
    return [each for each in (2 * n, 3 * n) if each < 20]


def expanded(roots: list[int], depth_first: bool) -> list[int]:
    todo, found = deque(roots), []
    while todo:
        n = todo.popleft()
        found.append(n)
        if depth_first:
            todo.extendleft(reversed(children(n)))
        else:
            todo.extend(children(n))
    return found


@pytest.mark.parametrize("depth_first", [False, True])
@pytest.mark.parametrize("pushed", [False, True])
@quick
@given(roots=NUMBERS, demands=DEMANDS, prefetch=st.integers(1, 3))
def test_expand_matches_the_list_model(
    depth_first: bool, pushed: bool, roots: list[int], demands: list[int], prefetch: int
) -> None:
    def function(n: int) -> pyrs.Publisher[int]:
        return Counting(children(n)) if pushed else pyrs.from_iterable(children(n))

    agrees(
        lambda s: s.expand(function, depth_first=depth_first, prefetch=prefetch),
        roots,
        expanded(roots, depth_first),
        demands,
    )


@pytest.mark.parametrize("depth_first", [False, True])
def test_endless_tree_is_emitted_on_demand_without_recursion(depth_first: bool) -> None:
    numbers = pyrs.just(0).expand(lambda n: pyrs.just(n + 1), depth_first=depth_first)
    assert numbers.take(5_000).last().block(DEADLINE) == 4_999


def test_coroutine_function_is_awaited() -> None:
    async def next_of(n: int) -> int:
        if n == 3:
            raise LookupError("no more")
        return n + 1

    subscriber = subscribe(pyrs.just(0).expand(next_of))
    assert str(subscriber.await_error()) == "no more"
    assert subscriber.elements == [0, 1, 2, 3]


def test_error_of_an_inner_stream_follows_its_elements_and_cancels_the_others() -> None:
    source, inner = TestPublisher[int](), TestPublisher[int]()
    subscriber = subscribe(source.stream().expand(lambda n: inner, depth_first=True))
    source.next(1, 2)
    inner.error(ValueError("planned"))
    assert str(subscriber.await_error()) == "planned"
    assert subscriber.elements == [1]
    source.assert_cancelled(1)


@pytest.mark.parametrize("result", [ValueError("planned"), 3])
def test_failing_function_names_the_operator(result: Any) -> None:
    def function(n: int) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises((ValueError, TypeError)) as raised:
        pyrs.just(1).expand(function).collect()
    assert "in expand(function)" in notes_of(raised.value)[0]


@pytest.mark.parametrize("depth_first", [False, True])
def test_cancel_reaches_every_active_stream(depth_first: bool) -> None:
    source, inner = TestPublisher[int](), TestPublisher[int]()
    subscriber = subscribe(source.stream().expand(lambda n: inner, depth_first=depth_first))
    source.next(1)
    if not depth_first:
        source.complete()
    subscriber.cancel()
    inner.assert_cancelled(1)
    source.assert_cancelled(1 if depth_first else 0)


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="function must be callable"):
        pyrs.just(1).expand(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prefetch must be at least 1"):
        pyrs.just(1).expand(pyrs.just, prefetch=0)
