"""The sharing operators of a stream; what they do is in ``pyrs/operators/sharing.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Sharing"]

T_co = TypeVar("T_co", covariant=True)


class Sharing(Family[T_co]):
    """Operators that let several Subscribers share one subscription."""

    __slots__ = ()
