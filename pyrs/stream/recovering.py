"""The recovering operators of a stream; what they do is in ``pyrs/operators/recovering.py``."""

from __future__ import annotations

from typing import TypeVar

from pyrs.stream.family import Family

__all__ = ["Recovering"]

T_co = TypeVar("T_co", covariant=True)


class Recovering(Family[T_co]):
    """Operators that go on after an error or after the end."""

    __slots__ = ()
