"""The folding operators of a stream; what they do is in ``pyrs/operators/folding.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pyrs import operators
from pyrs._core.validation import MISSING
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.single import Single
    from pyrs.stream.stream import Stream

__all__ = ["Folding"]

T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")


class Folding(Family[T_co]):
    """Operators that make one element of all, or pick one."""

    __slots__ = ()

    def to_list(self) -> Single[list[T_co]]:
        """Gather all elements in a list.

            ---1---2---3---|
            to_list()
            ---------------[1, 2, 3]|

        Requests everything; the list grows with the stream. ``collect()`` returns the list itself.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).to_list().block()
            [0, 1, 2]
        """
        return self._folded(operators.folding.ToList())

    def count(self) -> Single[int]:
        """Count the elements.

            ---1---2---3---|
            count()
            ---------------3|

        Requests everything and holds nothing.

        Examples:
            >>> import pyrs
            >>> pyrs.range(10).filter(lambda n: n % 2).count().block()
            5
        """
        return self._folded(operators.folding.Count())

    @overload
    def reduce(self, function: Callable[[T_co, T_co], T_co]) -> Single[T_co]: ...
    @overload
    def reduce(self, function: Callable[[R, T_co], R], initial: R) -> Single[R]: ...
    def reduce(self, function: Callable[[Any, Any], Any], initial: Any = MISSING) -> Single[Any]:
        """Fold all elements to one value, as ``functools.reduce`` does.

            ---1---2---3---|
            reduce(add)
            ---------------6|

        Requests everything and holds the value. What the function raises ends the stream with that error and cancels
        upstream.

        Args:
            function: called with the value before and the element; returns the next value.
            initial: the value to begin with. Without one the first element is that, and an empty stream fails with
                ``pyrs.NoElement``.

        Raises:
            TypeError: the function cannot be called.
            NullSignal: the initial value is None.

        Examples:
            >>> import pyrs
            >>> from operator import add
            >>> pyrs.range(5).reduce(add).block()
            10
            >>> pyrs.empty().reduce(add, 0).block()
            0
        """
        return self._folded(operators.folding.Reduce(function, initial))

    def to_set(self) -> Single[set[T_co]]:
        """Gather all elements in a set.

            ---1---2---1---|
            to_set()
            ---------------{1, 2}|

        Requests everything; the set grows with the stream. An element that cannot be hashed ends the stream with a
        TypeError.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 1).to_set().block()
            {1, 2}
        """
        return self._folded(operators.folding.ToSet())

    @overload
    def to_dict(self, key: Callable[[T_co], K]) -> Single[dict[K, T_co]]: ...
    @overload
    def to_dict(self, key: Callable[[T_co], K], value: Callable[[T_co], V]) -> Single[dict[K, V]]: ...
    def to_dict(self, key: Callable[[T_co], Any], value: Callable[[T_co], Any] | None = None) -> Single[dict[Any, Any]]:
        """Gather all elements in a dict. Of several with the same key the last one stays.

            ---"a"---"bc"---|
            to_dict(len)
            ----------------{1: "a", 2: "bc"}|

        Requests everything; the dict grows with the keys. What a function raises ends the stream with that error and
        cancels upstream.

        Args:
            key: what an element is to be found by.
            value: what is to be found there; None for the element itself.

        Raises:
            TypeError: one of them cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "bc").to_dict(len).block()
            {1: 'a', 2: 'bc'}
        """
        return self._folded(operators.folding.ToDict(key, value))

    @overload
    def first(self) -> Single[T_co]: ...
    @overload
    def first(self, *, default: R) -> Single[T_co | R]: ...
    def first(self, *, default: Any = MISSING) -> Single[Any]:
        """Pick the first element, and cancel upstream.

            ---1---2---
            first()
            ---1|

        Requests 1 from upstream, and never more.

        Args:
            default: what an empty stream gives. Without one it fails with ``pyrs.NoElement``.

        Raises:
            NullSignal: the default is None, which is not an element.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).first().block()
            0
            >>> pyrs.empty().first(default="nothing").block()
            'nothing'
        """
        return self._folded(operators.folding.First(default))

    @overload
    def last(self) -> Single[T_co]: ...
    @overload
    def last(self, *, default: R) -> Single[T_co | R]: ...
    def last(self, *, default: Any = MISSING) -> Single[Any]:
        """Pick the last element.

            ---1---2---|
            last()
            -----------2|

        Requests everything and holds one element.

        Args:
            default: what an empty stream gives. Without one it fails with ``pyrs.NoElement``.

        Raises:
            NullSignal: the default is None, which is not an element.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).last().block()
            4
        """
        return self._folded(operators.folding.Last(default))

    @overload
    def element_at(self, index: int) -> Single[T_co]: ...
    @overload
    def element_at(self, index: int, *, default: R) -> Single[T_co | R]: ...
    def element_at(self, index: int, *, default: Any = MISSING) -> Single[Any]:
        """Pick the element of this number, counted from 0, and cancel upstream.

            ---1---2---3---
            element_at(1)
            -------2|

        Requests ``index + 1`` from upstream, and never more. Those before are passed over.

        Args:
            index: the number of the element.
            default: what a shorter stream gives. Without one it fails with ``pyrs.NoElement``.

        Raises:
            TypeError: the index is not an integer.
            ValueError: it is negative.
            NullSignal: the default is None, which is not an element.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "b", "c").element_at(1).block()
            'b'
        """
        return self._folded(operators.folding.ElementAt(index, default))

    def default_if_empty(self, value: R) -> Stream[T_co | R]:
        """Pass all elements on, or the value if there are none.

            ---|
            default_if_empty(0)
            ---0|

        Demand goes through unchanged; the value waits until it is demanded. Nothing is held. To go on with another
        stream there is ``switch_if_empty``.

        Raises:
            NullSignal: the value is None.

        Examples:
            >>> import pyrs
            >>> pyrs.empty().default_if_empty(0).collect()
            [0]
        """
        return self._then(operators.folding.DefaultIfEmpty(value))

    def any(self, predicate: Callable[[T_co], object]) -> Single[bool]:
        """Say whether the predicate is true of an element. The first one decides, and upstream is cancelled.

            ---1---2---3---
            any(is_even)
            -------True|

        Requests everything and holds nothing; False for an empty stream. What the predicate raises ends the stream with
        that error and cancels upstream.

        Raises:
            TypeError: the predicate cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).any(lambda n: n > 3).block()
            True
        """
        return self._folded(operators.folding.Match(predicate, True))

    def all(self, predicate: Callable[[T_co], object]) -> Single[bool]:
        """Say whether the predicate is true of every element. The first of which it is not decides.

            ---1---2---3---
            all(is_odd)
            -------False|

        Requests everything and holds nothing; True for an empty stream. Upstream is cancelled as soon as it is decided,
        or when the predicate raises, which ends the stream with that error.

        Raises:
            TypeError: the predicate cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).all(lambda n: n > 3).block()
            False
        """
        return self._folded(operators.folding.Match(predicate, False))
