"""The flattening operators of a stream; what they do is in ``pyrs/operators/flattening.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Flattening"]

T_co = TypeVar("T_co", covariant=True)


class Flattening(Family[T_co]):
    """Operators that make a stream of each element, and one stream of those."""

    __slots__ = ()
