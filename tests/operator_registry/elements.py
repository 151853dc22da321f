"""Operators that transform, select and aggregate elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.options import EMPTY, ONE_ELEMENT, failed_stream, no_failed_stream
from tests.operator_registry.row import Apply, Conformance, Row, Sample, some

__all__ = ["FILTERING", "FOLDING", "TRANSFORMING"]

ONE_MORE = "exact, one more for each rejected element"
FIRST_DEMAND = "everything, with the first demand"


async def _same(element: Any) -> Any:
    return element


TRANSFORMING = [
    Row(
        {"map": Sample(lambda s: s.map(str), conformance=Conformance(subset=True, all_routes=True))},
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "map(coroutine)": Sample(
                lambda s: s.map(_same, concurrency=4),
                demand=lambda s: s.map(_same),
                conformance=Conformance(name="map with a coroutine function", covers=("Stream.map",)),
            )
        },
        demand="ahead: `concurrency` (1)",
        slow="slows",
        holds="`concurrency`",
        variant="of a coroutine function",
    ),
    Row(
        {"scan": Sample(lambda s: s.scan(lambda a, b: b))},
        demand="exact, one less with an initial value",
        slow="slows",
        holds="one value",
    ),
    Row(
        {"handle": Sample(lambda s: s.handle(lambda element, sink: sink.next(element)))},
        demand="exact, one more for each dropped element",
        slow="slows",
        holds="nothing",
    ),
    Row({"with_index": Sample(lambda s: s.with_index())}, demand="exact", slow="slows", holds="nothing"),
    Row(
        {
            "decode": Sample(
                lambda s: s.map(lambda n: b"%d" % n).decode(),
            )
        },
        demand="exact, one more for each chunk without a complete character",
        slow="slows",
        holds="an incomplete character",
    ),
    Row(
        {"split_lines": Sample(lambda s: s.map(lambda n: f"{n}\n").split_lines())},
        demand="exact: a chunk when no line is left; everything, if the demand is unbounded",
        slow="slows",
        holds="the lines of a chunk; **grows** without `max_length`: one line",
    ),
    Row(
        {
            "materialize": Sample(
                lambda s: s.materialize(),
                conformance=Conformance(
                    elements=lambda n: max(0, n - 1),
                    failed=no_failed_stream,
                    skips={EMPTY: "on_complete is an element"},
                    covers=("Stream.materialize", "Notification"),
                ),
            )
        },
        demand="exact",
        slow="slows; the terminal notification waits",
        holds="one notification",
    ),
    Row(
        {
            "dematerialize": Sample(
                lambda s: s.materialize().dematerialize(),
                conformance=Conformance(failed=lambda: failed_stream().dematerialize()),
            )
        },
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {"transform": Sample(lambda s: s.transform(lambda stream: stream.map(str)), conformance=None)},
        demand="exact, and as the operators of its function",
        slow="as the operators of its function",
        holds="as the operators of its function",
    ),
]

FILTERING = [
    Row(
        {
            "filter": Sample(
                lambda s: s.filter(lambda n: n % 2), conformance=Conformance(elements=lambda n: min(2 * n, 2**62))
            ),
            "of_type": Sample(lambda s: s.of_type(int)),
        },
        demand=ONE_MORE,
        slow="slows",
        holds="nothing",
    ),
    Row({"distinct": Sample(lambda s: s.distinct())}, demand=ONE_MORE, slow="slows", holds="**grows**: each key"),
    Row(
        {"distinct_until_changed": Sample(lambda s: s.distinct_until_changed())},
        demand=ONE_MORE,
        slow="slows",
        holds="one key",
    ),
    Row(
        {"skip": Sample(lambda s: s.skip(2), conformance=Conformance(elements=lambda n: n + 2))},
        demand="exact, and `count` more the first time",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {"skip_last": Sample(lambda s: s.skip_last(2), conformance=Conformance(elements=lambda n: n + 2))},
        demand="exact, and `count` more the first time",
        slow="slows; the last ones are dropped",
        holds="`count`",
    ),
    Row(
        {
            "skip_while": Sample(
                lambda s: s.skip_while(lambda n: n < 3),
                conformance=Conformance(lambda s: s.skip_while(lambda n: False)),
            )
        },
        demand=ONE_MORE,
        slow="slows",
        holds="nothing",
    ),
    Row(
        {"take": Sample(lambda s: s.take(1_000), conformance=Conformance(max_elements=1_000))},
        demand="exact, never more than `count`",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "take_while": Sample(
                lambda s: s.take_while(lambda n: n < 8), conformance=Conformance(lambda s: s.take_while(lambda n: True))
            )
        },
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "take_last": Sample(
                lambda s: s.take_last(2), conformance=Conformance(lambda s: s.take_last(1_000), max_elements=1_000)
            )
        },
        demand=FIRST_DEMAND,
        slow="the last ones wait; the others are dropped",
        holds="`count`",
    ),
    Row(
        {
            "ignore_elements": Sample(
                lambda s: s.ignore_elements(), conformance=Conformance(max_elements=0, elements=lambda n: 3)
            )
        },
        demand=FIRST_DEMAND,
        slow="no effect",
        holds="nothing",
    ),
]


def _folded(apply: Apply, elements: Callable[[int], int] = lambda n: 3 * n) -> Sample:
    """Return a sample of an operator that emits one element.

    Args:
        apply: applies the operator to a stream.
        elements: maps the number of emitted elements, zero or one, to the number of elements of the source.
    """
    return Sample(apply, conformance=Conformance(max_elements=1, elements=elements, skips=ONE_ELEMENT))


FOLDING = [
    Row(
        {
            "to_list": _folded(lambda s: s.to_list()),
            "to_set": _folded(lambda s: s.to_set()),
            "to_dict": _folded(lambda s: s.to_dict(str)),
        },
        demand=FIRST_DEMAND,
        slow="waits",
        holds="**grows**: all elements, or keys",
    ),
    Row(
        {
            "count": _folded(lambda s: s.count()),
            "any": _folded(lambda s: s.any(lambda n: False)),
            "all": _folded(lambda s: s.all(lambda n: True)),
        },
        demand=FIRST_DEMAND,
        slow="waits",
        holds="nothing",
    ),
    Row(
        {
            "reduce": _folded(lambda s: s.reduce(lambda a, b: a + b, 0)),
            "last": _folded(lambda s: s.last(default=0)),
        },
        demand=FIRST_DEMAND,
        slow="waits",
        holds="one value",
    ),
    Row({"first": _folded(lambda s: s.first(default=0))}, demand="exact: one", slow="waits", holds="nothing"),
    Row(
        {"element_at": _folded(lambda s: s.element_at(1, default=0))},
        demand="`index + 1`, with the first demand",
        slow="waits",
        holds="nothing",
    ),
    Row(
        {
            "single": Sample(
                lambda s: s.single(),
                over=lambda: some().take(1),
                conformance=Conformance(max_elements=1, elements=lambda n: 1, skips=ONE_ELEMENT),
            )
        },
        demand="two, with the first demand",
        slow="waits",
        holds="one value",
    ),
    Row(
        {
            "default_if_empty": Sample(
                lambda s: s.default_if_empty(0), conformance=Conformance(skips={EMPTY: "it is never empty"})
            )
        },
        demand="exact",
        slow="slows; the value waits",
        holds="one value",
    ),
]
