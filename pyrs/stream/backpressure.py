"""The backpressure operators of a stream; what they do is in ``pyrs/operators/backpressure.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Backpressure"]

T_co = TypeVar("T_co", covariant=True)


class Backpressure(Family[T_co]):
    """Operators that say what happens to elements which are not demanded yet."""

    __slots__ = ()
