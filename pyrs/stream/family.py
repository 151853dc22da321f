"""What every family of operators stands on."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from pyrs.api import Publisher

if TYPE_CHECKING:
    from pyrs._core.operator import Operator
    from pyrs._core.stage import Stage
    from pyrs.stream.single import Single
    from pyrs.stream.stream import Stream

__all__ = ["Family"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Family(Publisher[T_co]):
    """A part of ``pyrs.Stream``: the methods of one family of operators.

    A method checks nothing and does nothing by itself: it makes the operator and puts it behind ``source``.
    """

    __slots__ = ()

    source: Publisher[T_co]

    @abstractmethod
    def _then(self, stage: Stage) -> Stream[Any]:
        """Return the stream with one more synchronous stage."""

    @abstractmethod
    def _over(self, operator: Operator[R]) -> Stream[R]:
        """Return the stream of an operator that was made over ``source``."""

    @abstractmethod
    def _folded(self, stage: Stage) -> Single[Any]:
        """Return the stream of the one element that the stage makes of all, or picks."""
