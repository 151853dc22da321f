"""pyrs' sources and chains before the referee: each item below is one test of the kit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import pyrs
from pyrs.tck import PublisherVerification
from tests.tck.right import RightPublisher


class _OfPyrs(PublisherVerification[Any]):
    def create_failed_publisher(self) -> Any:
        return pyrs.error(RuntimeError("failed from the start"))


class RangeVerification(_OfPyrs):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.range(elements)


class SequenceVerification(_OfPyrs):
    """A list: its end is known with its last element."""

    def create_publisher(self, elements: int) -> Any:
        return pyrs.from_iterable(list(range(elements)))

    def max_elements_from_publisher(self) -> int:
        return 1_000_000


class GeneratorVerification(_OfPyrs):
    """A generator: its end is known when it is asked again."""

    def create_publisher(self, elements: int) -> Any:
        class Numbers:
            def __iter__(self) -> Iterator[int]:
                return islice(count(), elements)

        return pyrs.from_iterable(Numbers())


class JustVerification(_OfPyrs):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.just(*range(elements))

    def max_elements_from_publisher(self) -> int:
        return 1_000


class EmptyVerification(_OfPyrs):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.empty()

    def max_elements_from_publisher(self) -> int:
        return 0


class ChainVerification(_OfPyrs):
    """Fused: one chain of iterators, driven by one Subscription."""

    def create_publisher(self, elements: int) -> Any:
        return pyrs.range(2 * elements).filter(lambda n: n % 2 == 0).map(str).take(elements)

    def create_failed_publisher(self) -> Any:
        return pyrs.error(RuntimeError("failed from the start")).map(str)


class StagedVerification(_OfPyrs):
    """Not fused: the same stages over somebody else's Publisher."""

    def create_publisher(self, elements: int) -> Any:
        return pyrs.Stream(RightPublisher(2 * elements)).filter(lambda n: n % 2 == 0).map(str).take(elements)
