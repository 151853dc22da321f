"""GroupedStream: the elements of one key."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.api import Publisher
from pyrs.stream.stream import Stream

__all__ = ["GroupedStream"]

K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)


class GroupedStream(Stream[T_co], Generic[K, T_co]):
    """A stream of the elements that have one key; ``Stream.group_by`` makes them. It can be subscribed to once.

    Attributes:
        key: what the elements have in common.
    """

    __slots__ = ("key",)

    def __init__(self, key: K, source: Publisher[T_co]) -> None:
        super().__init__(source)
        self.key = key
