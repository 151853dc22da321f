"""The scheduling operators of a stream; what they do is in ``pyrs/operators/scheduling.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Scheduling"]

T_co = TypeVar("T_co", covariant=True)


class Scheduling(Family[T_co]):
    """Operators that change the thread."""

    __slots__ = ()
