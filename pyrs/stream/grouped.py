"""GroupedStream: the elements of one key."""

from __future__ import annotations

from typing import Generic, TypeVar

from pyrs.api import Publisher
from pyrs.stream.stream import Stream

__all__ = ["GroupedStream"]

K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)


class GroupedStream(Stream[T_co], Generic[K, T_co]):
    """A stream of the elements with one key, emitted by ``Stream.group_by``.

    It accepts one Subscriber.

    Attributes:
        key: the key of all its elements.
    """

    __slots__ = ("key",)

    def __init__(self, key: K, source: Publisher[T_co]) -> None:
        super().__init__(source)
        self.key = key
