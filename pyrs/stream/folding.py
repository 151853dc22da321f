"""The folding operators of a stream; what they do is in ``pyrs/operators/folding.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyrs.operators import folding
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.single import Single

__all__ = ["Folding"]

T_co = TypeVar("T_co", covariant=True)


class Folding(Family[T_co]):
    """Operators that make one element of all."""

    __slots__ = ()

    def to_list(self) -> Single[list[T_co]]:
        """Gather all elements in a list.

        ::

            ---1---2---3---|
            to_list()
            ---------------[1, 2, 3]|

        Requests everything; the list grows with the stream. ``collect()`` returns the list itself.

        Example:
            >>> import pyrs
            >>> pyrs.range(3).to_list().block()
            [0, 1, 2]
        """
        return self._folded(folding.ToList())

    def count(self) -> Single[int]:
        """Count the elements.

        ::

            ---1---2---3---|
            count()
            ---------------3|

        Requests everything and holds nothing.

        Example:
            >>> import pyrs
            >>> pyrs.range(10).filter(lambda n: n % 2).count().block()
            5
        """
        return self._folded(folding.Count())
