"""Compare random trees of merge, concat, zip, flat_map and concat_map with a list model, under any demand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestSubscriber
from tests.rounds import rounds

Wrap = Callable[[Any], pyrs.Stream[Any]]
Sources = dict[str, Wrap]


class Tree(NamedTuple):
    """An operator with its inputs and limits, or a leaf with its elements.

    The ``kind`` of an operator is its name, or "join" for a concat of unordered parts. The ``kind`` of a leaf is the
    name of its source.
    """

    kind: str
    parts: tuple[Any, ...]
    prefetch: int = 1
    concurrency: int = 1


def trees(kinds: list[str], leaves: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    def extend(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        some = st.lists(parts, min_size=1, max_size=3).map(tuple)
        return st.builds(Tree, st.sampled_from(kinds), some, st.integers(1, 5), st.integers(1, 3))

    return st.recursive(leaves, extend, max_leaves=6)


lists = st.lists(st.integers(), max_size=9).map(tuple)
leaves = st.builds(Tree, st.sampled_from(["fused", "hidden", "mapped", "threaded"]), lists)
ordered = trees(["concat", "zip", "concat_map"], leaves)
demands = st.lists(st.sampled_from([1, 2, 3, 10]), max_size=8)


def model(tree: Tree) -> list[Any]:
    if tree.kind == "zip":
        return list(zip(*map(model, tree.parts), strict=False))
    if tree.kind in ("concat", "concat_map"):
        return list(chain.from_iterable(map(model, tree.parts)))
    return list(tree.parts)


def stream_of(tree: Tree, sources: Sources, leaf: Callable[[Tree], pyrs.Stream[Any]] | None = None) -> pyrs.Stream[Any]:
    """Return the stream of a tree. If ``leaf`` is given, it creates the streams of the ordered subtrees."""
    if tree.kind in sources:
        return sources[tree.kind](pyrs.from_iterable(tree.parts))
    if leaf is not None and tree.kind not in ("merge", "flat_map", "join"):
        return leaf(tree)
    parts = [stream_of(part, sources, leaf) for part in tree.parts]
    if tree.kind == "zip":
        return pyrs.zip(parts, prefetch=tree.prefetch)
    if tree.kind in ("concat", "join"):
        return pyrs.concat(parts)
    if tree.kind == "merge":
        return pyrs.merge(parts, prefetch=tree.prefetch, concurrency=tree.concurrency)
    indexes = pyrs.range(len(parts))
    if tree.kind == "concat_map":
        return indexes.concat_map(parts.__getitem__, prefetch=tree.prefetch)
    return indexes.flat_map(parts.__getitem__, prefetch=tree.prefetch, concurrency=tree.concurrency)


def received(stream: pyrs.Stream[Any], pattern: list[int]) -> list[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber()
    stream.subscribe(subscriber)
    for n in pattern:
        subscriber.request(n)
        subscriber.assert_rules()
    subscriber.request(pyrs.UNBOUNDED)
    return subscriber.await_complete()


def sources_of(hidden: Wrap, threaded: Wrap) -> Sources:
    return {
        "fused": lambda stream: stream,
        "hidden": hidden,
        "mapped": lambda stream: hidden(stream).map(lambda element: element),
        "threaded": threaded,
    }


many = settings(
    max_examples=rounds(240), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@many
@given(ordered, demands)
def test_ordered_tree_matches_the_list_model(hidden: Wrap, threaded: Wrap, tree: Tree, pattern: list[int]) -> None:
    assert received(stream_of(tree, sources_of(hidden, threaded)), pattern) == model(tree)


@many
@given(trees(["merge", "flat_map", "join"], ordered), demands)
def test_unordered_tree_keeps_every_element_and_the_order_of_each_source(
    hidden: Wrap, threaded: Wrap, tree: Tree, pattern: list[int]
) -> None:
    sources = sources_of(hidden, threaded)
    expected: list[list[Any]] = []

    def numbered(part: Tree) -> pyrs.Stream[Any]:
        number = len(expected)
        expected.append(model(part))
        return stream_of(part, sources).map(lambda element: (number, element))

    if tree.kind in sources:
        tree = Tree("merge", (tree,))

    def number_leaves(part: Tree) -> Tree:
        """Wrap each leaf of the unordered part in its own tree, so that it receives a number."""
        if part.kind in sources:
            return Tree("concat", (part,))
        if part.kind in ("merge", "flat_map", "join"):
            return part._replace(parts=tuple(map(number_leaves, part.parts)))
        return part

    elements = received(stream_of(number_leaves(tree), sources, numbered), pattern)
    assert len(elements) == sum(map(len, expected))
    for number, source_elements in enumerate(expected):
        assert [element for which, element in elements if which == number] == source_elements


@pytest.mark.parametrize(
    "combine",
    [
        lambda a, b: a.then(b),
        lambda a, b: a.switch_if_empty(b),
        lambda a, b: a.take_until(b),
        lambda a, b: a.skip_until(b),
        lambda a, b: a.buffer_when(b, pyrs.just),
        lambda a, b: a.window_when(b, pyrs.just),
    ],
)
def test_repr_of_nested_combinations_does_not_grow_exponentially(combine: Callable[[Any, Any], Any]) -> None:
    stream: Any = pyrs.range(3)
    for _ in range(16):
        stream = pyrs.Stream(combine(stream, stream))
    assert len(repr(stream)) < 5_000
