"""The timing operators of a stream; what they do is in ``pyrs/operators/timing.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Timing"]

T_co = TypeVar("T_co", covariant=True)


class Timing(Family[T_co]):
    """Operators that know a clock."""

    __slots__ = ()
