"""The benchmarks of the core. A row compares pyrs with its contenders, and has budgets for the ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import core_contenders as contend
from benchmarks import operator_contenders as operators
from benchmarks.budgets import AtMostMore, Budget, Faster, Within
from benchmarks.measure import Contender

MILLION = 1_000_000


@dataclass(frozen=True)
class CoreRow:
    """One measurement that needs no JVM.

    Attributes:
        name: the argument of ``--only``.
        title: a description of the measurement.
        contenders: creates the measured implementations, of which the first is pyrs ("ours").
        budgets: the bounds of the ratios; each is one line of the table.
    """

    name: str
    title: str
    contenders: Callable[[], Sequence[Contender]]
    budgets: Sequence[Budget]


CORE_ROWS = (
    CoreRow(
        "map-filter",
        "from_iterable, map, filter, unbounded demand",
        lambda: (
            contend.map_filter(MILLION),
            contend.iterators(MILLION),
            contend.rx_map_filter(MILLION // 2),
            contend.aioreactive_map_filter(MILLION // 20),
        ),
        (Within("iterators", 1.5), Faster("RxPY", 2), Faster("aioreactive", 2)),
    ),
    CoreRow(
        "map-filter-1",
        "the same, request(1) for each element",
        lambda: (contend.map_filter_one_by_one(MILLION // 2), contend.iterators(MILLION)),
        (Within("iterators", 6),),
    ),
    CoreRow(
        "ten-maps",
        "ten stages",
        lambda: (contend.ten_maps(MILLION // 2), contend.ten_maps_of_iterators(MILLION // 2)),
        (Within("iterators", 1.5),),
    ),
    CoreRow(
        "multicast",
        "a multicast sink, map, filter, two Subscribers",
        lambda: (
            contend.multicast(MILLION // 4),
            contend.rx_subject(MILLION // 4),
            contend.loops_over_counters(MILLION // 4),
        ),
        (Faster("RxPY", 1.5),),
    ),
    CoreRow(
        "flat-map",
        "flat_map of 1,000 streams of 1,000",
        lambda: (contend.flat_map(MILLION), contend.rx_flat_map(MILLION // 2), contend.chained_iterators(MILLION)),
        (Faster("RxPY", 2),),
    ),
    CoreRow(
        "publish-on",
        "publish_on to another thread",
        lambda: (contend.publish_on(MILLION), contend.rx_observe_on(20_000)),
        (Faster("RxPY", 20),),
    ),
    CoreRow(
        "async-for",
        "async for over from_iterable",
        lambda: (contend.async_for(MILLION // 2), contend.async_generator(MILLION // 2)),
        (Within("generator", 3),),
    ),
    CoreRow(
        "split-lines",
        "split_lines of chunks of 100 lines",
        lambda: (operators.split_lines(MILLION), operators.lines_of_a_generator(MILLION)),
        (Within("iterators", 2),),
    ),
    CoreRow(
        "handle",
        "handle with a function that emits every second element",
        lambda: (operators.handle(MILLION), operators.even_of_a_generator(MILLION)),
        (Within("iterators", 4),),
    ),
    CoreRow(
        "merge-comparing",
        "merge_comparing of two streams",
        lambda: (operators.merge_comparing(MILLION // 4), operators.merge_of_heapq(MILLION // 4)),
        (Within("iterators", 10),),
    ),
    CoreRow(
        "expand",
        "expand, breadth-first, a tree with ten children for each node",
        lambda: (operators.expand(MILLION // 20), operators.rx_inner_streams(MILLION // 20)),
        (Faster("RxPY", 2),),
    ),
    CoreRow(
        "sequence-equal",
        "sequence_equal of two equal streams",
        lambda: (operators.sequence_equal(MILLION // 4), operators.rx_sequence_equal(20_000)),
        (Faster("RxPY", 1),),
    ),
    CoreRow(
        "parallel",
        "parallel(4), map, sequential, on one thread",
        lambda: (operators.parallel(MILLION // 4), operators.rx_rails(MILLION // 4)),
        (Faster("RxPY", 0.3),),
    ),
    CoreRow(
        "import",
        "import pyrs",
        lambda: (contend.interpreter("ours", "import pyrs"), contend.interpreter("bare", "pass")),
        (AtMostMore("bare", 35_000),),
    ),
)
