"""The combining operators of a stream; what they do is in ``pyrs/operators/combining.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyrs._core.text import checked_natural
from pyrs.api import Publisher
from pyrs.operators import combining
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Combining"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Combining(Family[T_co]):
    """Operators that make one stream of several."""

    __slots__ = ()

    def merge(self, *others: Publisher[R], prefetch: int = 256) -> Stream[T_co | R]:
        """Let the elements of several streams pass as they come.

        ::

            ---1-------2---|
            -----a---b-----|
            merge(letters)
            ---1-a---b-2---|

        Subscribes to all at once, requests ``prefetch`` elements of each and holds them until they are demanded: slow
        Subscribers slow all sources, and nothing is dropped. Completes when all have; the first error ends the stream
        and cancels the others, after what that source gave before.

        Args:
            others: the other Publishers.
            prefetch: the most elements that are held of each.

        Raises:
            TypeError: one of the others is no Publisher.
            ValueError: prefetch is less than 1.

        Example:
            >>> import pyrs
            >>> sorted(pyrs.just(1, 2).merge(pyrs.just(3)).collect())
            [1, 2, 3]
        """
        return self._over(combining.Merge((self.source, *others), checked_natural(prefetch, "prefetch", 1)))

    def concat(self, *others: Publisher[R]) -> Stream[T_co | R]:
        """Go on with the others, one after the other, when this stream has completed.

        ::

            ---1---2---|
                       --a---b---|
            concat(letters)
            ---1---2-----a---b---|

        Each is subscribed to when its turn comes, and is asked for what is still demanded. Nothing is held or dropped.
        An error ends the stream: those that follow are not subscribed to.

        Raises:
            TypeError: one of the others is no Publisher.

        Example:
            >>> import pyrs
            >>> pyrs.just(1, 2).concat(pyrs.just(3)).collect()
            [1, 2, 3]
        """
        return self._over(combining.Concat((self.source, *others)))
