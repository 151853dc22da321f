"""Contenders of single operators: pyrs, hand-written iterators, and RxPY."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import reactivex
from reactivex import operators as rx

import pyrs
from benchmarks.core_contenders import Count, is_even, timed
from benchmarks.measure import Contender

LINES_OF_A_CHUNK = 100
CHUNK = b"some words of one line\n" * LINES_OF_A_CHUNK
BRANCHES = 10


def _contender(
    name: str, elements: int, expected: Callable[[int], int], consume: Callable[[int, Count], object]
) -> Contender:
    def run(count: int) -> float:
        counted = Count()

        def work() -> int:
            consume(count, counted)
            return counted.count

        return timed(work, expected(count))

    return Contender(name, elements, run)


def ours(elements: int, expected: Callable[[int], int], stream: Callable[[int], pyrs.Stream[Any]]) -> Contender:
    """Subscribe to a stream over the elements with unbounded demand."""
    return _contender("ours", elements, expected, lambda count, counted: stream(count).subscribe(on_next=counted))


def iterators(elements: int, expected: Callable[[int], int], iterate: Callable[[int], Iterable[Any]]) -> Contender:
    """Loop over a hand-written iterator."""

    def consume(count: int, counted: Count) -> None:
        for element in iterate(count):
            counted(element)

    return _contender("iterators", elements, expected, consume)


def rxpy(elements: int, expected: Callable[[int], int], observable: Callable[[int], Any]) -> Contender:
    """Subscribe to an observable of RxPY."""
    return _contender("RxPY", elements, expected, lambda count, counted: observable(count).subscribe(counted))


def same(count: int) -> int:
    return count


def half(count: int) -> int:
    return count // 2


def one(count: int) -> int:
    return 1


# split_lines


def _chunks(count: int) -> Iterator[bytes]:
    """Repeat a chunk whose borders are in the middle of a line."""
    data = CHUNK[7:] + CHUNK[:7]
    yield CHUNK[:7]
    for _ in range(count // LINES_OF_A_CHUNK - 1):
        yield data
    yield CHUNK[7:]


def _lines(count: int) -> Iterator[bytes]:
    rest = b""
    for chunk in _chunks(count):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def split_lines(elements: int) -> Contender:
    return ours(elements, same, lambda count: pyrs.from_iterable(_chunks(count)).split_lines())


def lines_of_a_generator(elements: int) -> Contender:
    return iterators(elements, same, _lines)


# handle


def _emit_even(number: int, sink: Any) -> None:
    if is_even(number):
        sink.next(number)


def handle(elements: int) -> Contender:
    return ours(elements, half, lambda count: pyrs.range(count).handle(_emit_even))


def even_of_a_generator(elements: int) -> Contender:
    return iterators(elements, half, lambda count: (number for number in range(count) if is_even(number)))


# merge_comparing


def merge_comparing(elements: int) -> Contender:
    return ours(
        elements,
        same,
        lambda count: pyrs.from_iterable(range(0, count, 2)).merge_comparing(pyrs.from_iterable(range(1, count, 2))),
    )


def merge_of_heapq(elements: int) -> Contender:
    return iterators(elements, same, lambda count: heapq.merge(range(0, count, 2), range(1, count, 2)))


# expand: a tree whose nodes have ten children


def _children(node: int, count: int) -> range:
    first = node * BRANCHES + 1
    return range(first, min(first + BRANCHES, count))


def expand(elements: int) -> Contender:
    return ours(
        elements,
        same,
        lambda count: pyrs.just(0).expand(lambda node: pyrs.from_iterable(_children(node, count))),
    )


def rx_inner_streams(elements: int) -> Contender:
    """Subscribe to the same inner streams with flat_map: RxPY's expand exceeds the recursion limit."""

    def children_of_all(count: int) -> Any:
        return reactivex.from_iterable(range(count)).pipe(
            rx.flat_map(lambda node: reactivex.from_iterable(_children(node, count)))
        )

    return rxpy(elements, lambda count: count - 1, children_of_all)


# sequence_equal


def sequence_equal(elements: int) -> Contender:
    return ours(elements, one, lambda count: pyrs.range(count).sequence_equal(pyrs.range(count)))


def rx_sequence_equal(elements: int) -> Contender:
    def compare(count: int) -> Any:
        other = reactivex.from_iterable(range(count))
        return reactivex.from_iterable(range(count)).pipe(rx.sequence_equal(other))

    return rxpy(elements, one, compare)


# parallel


def parallel(elements: int) -> Contender:
    """Distribute the elements over four rails and merge them, on one thread: the cost of parallel itself."""
    return ours(elements, same, lambda count: pyrs.range(count).parallel(4).map(lambda number: number + 1).sequential())


def rx_rails(elements: int) -> Contender:
    """Group by the remainder, and merge the groups."""

    def rails(count: int) -> Any:
        return reactivex.from_iterable(range(count)).pipe(
            rx.group_by(lambda number: number % 4),
            rx.flat_map(lambda group: group.pipe(rx.map(lambda number: number + 1))),
        )

    return rxpy(elements, same, rails)
