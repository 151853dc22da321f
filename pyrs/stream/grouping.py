"""The grouping operators of a stream; what they do is in ``pyrs/operators/grouping.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Grouping"]

T_co = TypeVar("T_co", covariant=True)


class Grouping(Family[T_co]):
    """Operators that gather elements in lists, windows or groups."""

    __slots__ = ()
