"""Operators over several streams before the referee: each item below is one test of the kit."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

import pyrs
from pyrs.tck import PublisherVerification


class _Numbers:
    """An iterable of so many integers, endless if need be, and never a list."""

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def __iter__(self) -> Any:
        return islice(count(), self.elements)


def numbers(elements: int) -> pyrs.Stream[int]:
    return pyrs.from_iterable(_Numbers(elements))


def pushed(elements: int) -> pyrs.Stream[int]:
    """A stream that nothing is pulled from."""
    return numbers(elements).concat()


class FlatMapVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return numbers(elements).flat_map(pyrs.just)

    def create_failed_publisher(self) -> Any:
        return pyrs.error(RuntimeError("failed")).flat_map(pyrs.just)


class FlatMapOfOneVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.just(0).flat_map(lambda _: pushed(elements))

    def create_failed_publisher(self) -> Any:
        return pyrs.just(0).flat_map(lambda _: pyrs.error(RuntimeError("failed")))


class MergeVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.merge(numbers(elements // 2), pushed(elements - elements // 2))

    def create_failed_publisher(self) -> Any:
        return pyrs.merge(pyrs.error(RuntimeError("failed")), pyrs.never())


class ConcatMapVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return numbers(elements).concat_map(pyrs.just)

    def create_failed_publisher(self) -> Any:
        return pyrs.error(RuntimeError("failed")).concat_map(pyrs.just)


class SwitchMapVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.just(0).switch_map(lambda _: pushed(elements))

    def create_failed_publisher(self) -> Any:
        return pyrs.error(RuntimeError("failed")).switch_map(pyrs.just)


class ZipVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.zip(numbers(elements), pushed(elements))

    def create_failed_publisher(self) -> Any:
        return pyrs.zip(pyrs.never(), pyrs.error(RuntimeError("failed")))


class CombineLatestVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return pyrs.combine_latest(pyrs.just(0), numbers(elements)) if elements else pyrs.combine_latest()

    def create_failed_publisher(self) -> Any:
        return pyrs.combine_latest(pyrs.never(), pyrs.error(RuntimeError("failed")))


class TakeUntilVerification(PublisherVerification[Any]):
    def create_publisher(self, elements: int) -> Any:
        return pushed(elements).take_until(pyrs.never())

    def create_failed_publisher(self) -> Any:
        return pyrs.never().take_until(pyrs.error(RuntimeError("failed")))
