"""Family: the base class of the operator families."""

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
    """The methods of one operator family, mixed into ``pyrs.Stream``.

    Each method only builds the operator over ``source``; validation and behaviour are in the operator.
    """

    __slots__ = ()

    source: Publisher[T_co]

    @abstractmethod
    def _then(self, stage: Stage) -> Stream[Any]:
        """Return this stream followed by a synchronous stage."""

    @abstractmethod
    def _over(self, operator: Operator[R]) -> Stream[R]:
        """Return the stream of an operator that was built over ``source``."""

    @abstractmethod
    def _folded(self, stage: Stage) -> Single[Any]:
        """Return the Single of a stage that reduces all elements to one."""
