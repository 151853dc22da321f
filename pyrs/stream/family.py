"""The base class of the mixins that give ``Stream`` its methods."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyrs._core.operator import PublisherWrapper
from pyrs.api import Publisher

if TYPE_CHECKING:
    from pyrs._core.stage import Stage
    from pyrs.operators.sharing import Shared
    from pyrs.stream.stream import ConnectableStream, GroupedStream, Single, Stream

# The type variables of all families.
T_co = TypeVar("T_co", covariant=True)
K_co = TypeVar("K_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class OfKind(Protocol[K_co]):
    """A stream of the kind ``K_co``: a Stream, a Maybe or a Single.

    As the type of ``self``, it makes ``single.do_on_next(...)`` a Single, and ``stream.do_on_next(...)`` a Stream.
    """

    @property
    def source(self) -> Publisher[Any]: ...
    def _then(self, stage: Stage) -> Stream[Any]: ...
    def _over(self, publisher: Publisher[R]) -> Stream[R]: ...
    def _kept(self, publisher: Publisher[Any]) -> K_co: ...


class OperatorFamily(PublisherWrapper[T_co]):
    """Base class of the mixins of ``pyrs.Stream``, one per family of operators.

    Each method only builds the operator over ``source``; validation and behaviour are in the operator.
    """

    @abstractmethod
    def _then(self, stage: Stage) -> Stream[Any]:
        """Return this stream followed by a synchronous stage."""

    @abstractmethod
    def _over(self, publisher: Publisher[R]) -> Stream[R]:
        """Return a stream of another Publisher, such as an operator over ``source``."""

    @abstractmethod
    def _kept(self, publisher: Publisher[Any]) -> Stream[T_co]:
        """Return ``publisher`` as a stream of this kind: a Maybe if this is a Maybe."""

    @abstractmethod
    def _single(self, publisher: Publisher[R]) -> Single[R]:
        """Return the Single of a Publisher of one element."""

    @abstractmethod
    def _grouped(self, key: Any, publisher: Publisher[R]) -> GroupedStream[Any, R]:
        """Return the stream of one group."""

    @abstractmethod
    def _connectable(self, shared: Shared) -> ConnectableStream[Any]:
        """Return the stream of a shared Publisher."""
