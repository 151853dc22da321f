"""Aggregating operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from pyrs import operators
from pyrs._core.validation import MISSING
from pyrs.stream.family import K, OperatorFamily, R, T_co, V

if TYPE_CHECKING:
    from pyrs.stream.stream import Single, Stream


class Folding(OperatorFamily[T_co]):
    """Operators that reduce all elements to one value, or select one element."""

    def to_list(self) -> Single[list[T_co]]:
        """Collect all elements into a list, as a ``Single``.

            ---1---2---3---|
            to_list()
            ---------------[1, 2, 3]|

        Requests unbounded demand; the list **grows** with the stream. ``collect()`` returns the list itself.

        Examples:
            >>> import pyrs
            >>> pyrs.range(3).to_list().block()
            [0, 1, 2]
        """
        return self._single(self._then(operators.folding.ToList()))

    def count(self) -> Single[int]:
        """Count the elements.

            ---1---2---3---|
            count()
            ---------------3|

        Requests unbounded demand. Buffers nothing.

        Examples:
            >>> import pyrs
            >>> pyrs.range(10).filter(lambda n: n % 2).count().block()
            5
        """
        return self._single(self._then(operators.folding.Count()))

    @overload
    def reduce(self, function: Callable[[T_co, T_co], T_co]) -> Single[T_co]: ...
    @overload
    def reduce(self, function: Callable[[R, T_co], R], initial: R) -> Single[R]: ...
    def reduce(self, function: Callable[[Any, Any], Any], initial: Any = MISSING) -> Single[Any]:
        """Reduce all elements to one value, like ``functools.reduce``, as a ``Single``.

            ---1---2---3---|
            reduce(add)
            ---------------6|

        Requests unbounded demand and keeps the current value. If ``function`` raises, the stream fails with that error.

        Args:
            function: called with the current value and the element; returns the next value.
            initial: the first value. Without it the first element is used, and an empty stream fails with
                ``pyrs.NoElement``.

        Raises:
            TypeError: ``function`` is not callable.
            NullSignal: ``initial`` is None.

        Examples:
            >>> import pyrs
            >>> from operator import add
            >>> pyrs.range(5).reduce(add).block()
            10
            >>> pyrs.empty().reduce(add, 0).block()
            0
        """
        return self._single(self._then(operators.folding.Reduce(function, initial)))

    def to_set(self) -> Single[set[T_co]]:
        """Collect all elements into a set, as a ``Single``.

            ---1---2---1---|
            to_set()
            ---------------{1, 2}|

        Requests unbounded demand; the set **grows** with the stream. If an element is not hashable, the stream fails
        with a TypeError.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2, 1).to_set().block()
            {1, 2}
        """
        return self._single(self._then(operators.folding.ToSet()))

    @overload
    def to_dict(self, key: Callable[[T_co], K]) -> Single[dict[K, T_co]]: ...
    @overload
    def to_dict(self, key: Callable[[T_co], K], value: Callable[[T_co], V]) -> Single[dict[K, V]]: ...
    def to_dict(self, key: Callable[[T_co], Any], value: Callable[[T_co], Any] | None = None) -> Single[dict[Any, Any]]:
        """Collect all elements into a dict, as a ``Single``.

            ---"a"---"bc"---|
            to_dict(len)
            ----------------{1: "a", 2: "bc"}|

        Requests unbounded demand; the dict **grows** with the number of keys. The last element of each key is kept. If
        a function raises, upstream is cancelled and the stream fails with that error.

        Args:
            key: returns the key of an element.
            value: returns the value of an element; None for the element itself.

        Raises:
            TypeError: ``key`` or ``value`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "bc").to_dict(len).block()
            {1: 'a', 2: 'bc'}
        """
        return self._single(self._then(operators.folding.ToDict(key, value)))

    @overload
    def first(self) -> Single[T_co]: ...
    @overload
    def first(self, *, default: R) -> Single[T_co | R]: ...
    def first(self, *, default: Any = MISSING) -> Single[Any]:
        """Emit the first element, as a ``Single``, and cancel upstream.

            ---1---2---
            first()
            ---1|

        Requests exactly 1.

        Args:
            default: the element to emit for an empty stream. Without it an empty stream fails with ``pyrs.NoElement``.

        Raises:
            NullSignal: ``default`` is None.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).first().block()
            0
            >>> pyrs.empty().first(default="nothing").block()
            'nothing'
        """
        return self._single(self._then(operators.folding.First(default)))

    @overload
    def last(self) -> Single[T_co]: ...
    @overload
    def last(self, *, default: R) -> Single[T_co | R]: ...
    def last(self, *, default: Any = MISSING) -> Single[Any]:
        """Emit the last element, as a ``Single``.

            ---1---2---|
            last()
            -----------2|

        Requests unbounded demand and keeps one element.

        Args:
            default: the element to emit for an empty stream. Without it an empty stream fails with ``pyrs.NoElement``.

        Raises:
            NullSignal: ``default`` is None.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).last().block()
            4
        """
        return self._single(self._then(operators.folding.Last(default)))

    @overload
    def element_at(self, index: int) -> Single[T_co]: ...
    @overload
    def element_at(self, index: int, *, default: R) -> Single[T_co | R]: ...
    def element_at(self, index: int, *, default: Any = MISSING) -> Single[Any]:
        """Emit the element at an index as a ``Single``, and cancel upstream.

            ---1---2---3---
            element_at(1)
            -------2|

        The index is counted from 0. Requests exactly ``index + 1``. Elements before the index are dropped.

        Args:
            index: the index of the element.
            default: the element to emit if the stream is shorter. Without it, such a stream fails with
                ``pyrs.NoElement``.

        Raises:
            TypeError: ``index`` is not an integer.
            ValueError: ``index`` is negative.
            NullSignal: ``default`` is None.

        Examples:
            >>> import pyrs
            >>> pyrs.just("a", "b", "c").element_at(1).block()
            'b'
        """
        return self._single(self._then(operators.folding.ElementAt(index, default)))

    def single(self) -> Single[T_co]:
        """Emit the only element; fail if there is none, or a second one.

            ---1---|
            single()
            -------1|

        Requests exactly 2 and keeps one element, which is emitted when upstream completes. An empty stream fails with
        ``pyrs.NoElement``. A second element cancels upstream and fails the stream with ``pyrs.TooManyElements``.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).filter(lambda n: n > 3).single().block()
            4
        """
        return self._single(self._then(operators.folding.OnlyElement()))

    def default_if_empty(self, value: R) -> Stream[T_co | R]:
        """Emit all elements, or the given value if there are none.

            ---|
            default_if_empty(0)
            ---0|

        Forwards demand unchanged; the value is emitted on demand. ``switch_if_empty`` continues with a stream instead.

        Raises:
            NullSignal: ``value`` is None.

        Examples:
            >>> import pyrs
            >>> pyrs.empty().default_if_empty(0).collect()
            [0]
        """
        return self._then(operators.folding.DefaultIfEmpty(value))

    def any(self, predicate: Callable[[T_co], object]) -> Single[bool]:
        """Emit whether the predicate returns true for at least one element.

            ---1---2---3---
            any(is_even)
            -------True|

        Requests unbounded demand and buffers nothing. The first element for which the predicate returns true decides
        and cancels upstream. Emits False for an empty stream. If the predicate raises, the stream fails with that
        error.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).any(lambda n: n > 3).block()
            True
        """
        return self._single(self._then(operators.folding.Match(predicate, True)))

    def all(self, predicate: Callable[[T_co], object]) -> Single[bool]:
        """Emit whether the predicate returns true for every element.

            ---1---2---3---
            all(is_odd)
            -------False|

        Requests unbounded demand and buffers nothing. The first element for which the predicate returns false decides,
        and cancels upstream. Emits True for an empty stream. If the predicate raises, the stream fails with that error.

        Raises:
            TypeError: ``predicate`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).all(lambda n: n > 3).block()
            False
        """
        return self._single(self._then(operators.folding.Match(predicate, False)))
