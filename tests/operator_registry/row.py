"""A row of the registry, and the calls of an operator that the tests make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pyrs

__all__ = ["Apply", "Conformance", "Row", "Sample", "failing", "nothing", "some"]

Apply = Callable[[pyrs.Stream[Any]], Any]


def some() -> pyrs.Stream[int]:
    """Return ten numbers from a Publisher that operators cannot fuse with."""
    return pyrs.range(10).concat(pyrs.empty())


def failing() -> pyrs.Stream[int]:
    """Return a stream of ten numbers that fails with a ValueError."""
    return some().concat(pyrs.error(ValueError("planned")))


def nothing(*arguments: object) -> None:
    """Accept any arguments and do nothing."""


class Conformance(NamedTuple):
    """The options of an operator's conformance entries.

    ``tests.conformance.entry.operator`` describes the other attributes.

    Attributes:
        apply: the call to verify, if the sample's call does not map n elements to a known number of elements.
        name: the name of the entries; by default that of the sample.
        hot: whether the source emits one element at a time, for an operator that drops elements.
    """

    apply: Apply | None = None
    name: str = ""
    elements: Callable[[int], int] = lambda n: n
    failed: Callable[[], Any] | None = None
    max_elements: int = pyrs.UNBOUNDED - 1
    covers: tuple[str, ...] = ()
    skips: Mapping[str, str] = MappingProxyType({})
    subset: bool = False
    all_routes: bool = False
    hot: bool = False


class Sample(NamedTuple):
    """A call of an operator.

    Attributes:
        apply: applies the operator to a stream.
        over: creates the stream for the tests of every operator; None leaves the sample out of them.
        demand: the call whose demand is measured, if the row describes a call with other arguments than ``apply``.
        conformance: the options of the conformance entries; None for no entries.
    """

    apply: Apply
    over: Callable[[], pyrs.Stream[Any]] | None = some
    demand: Apply | None = None
    conformance: Conformance | None = Conformance()


class Row(NamedTuple):
    """One operator, or several whose demand and buffers are the same.

    Attributes:
        samples: a call of each operator. A key is the operator's name, optionally with an argument in parentheses.
        demand: what the operator requests from upstream.
        slow: its behaviour if the Subscriber has no outstanding demand.
        holds: the maximum number of elements that it buffers.
        variant: text after the names in the table, if the row describes only some calls of the operators.
    """

    samples: Mapping[str, Sample]
    demand: str
    slow: str
    holds: str
    variant: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the operators."""
        return list(dict.fromkeys(key.partition("(")[0] for key in self.samples))

    @property
    def title(self) -> str:
        """The first cell of the row in the table."""
        return ", ".join(f"`{name}`" for name in self.names) + (self.variant and f" {self.variant}")
