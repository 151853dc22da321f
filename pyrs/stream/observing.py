"""The observing operators of a stream; what they do is in ``pyrs/operators/observing.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Observing"]

T_co = TypeVar("T_co", covariant=True)


class Observing(Family[T_co]):
    """Operators that look on, and change nothing."""

    __slots__ = ()
