"""The backpressure operators of a stream; what they do is in ``pyrs/operators/backpressure.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyrs import operators
from pyrs._core.overflow import Overflow
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream

__all__ = ["Backpressure"]

T_co = TypeVar("T_co", covariant=True)


class Backpressure(Family[T_co]):
    """Operators that shape demand, or live without it."""

    __slots__ = ()

    def prefetch(self, count: int) -> Stream[T_co]:
        """Request ``count`` elements ahead of demand.

            request(1) request(1) ...         from below
            prefetch(4)
            request(4) ...... request(3) ...  above, where 3 were taken

        It holds at most ``count`` elements, and requests more when three quarters of them were taken. Nothing is
        dropped; a slow Subscriber slows the source. The same as ``limit_rate(count)``, said of what it holds.

        Args:
            count: the most elements that are requested and held.

        Raises:
            TypeError: count is not an integer.
            ValueError: it is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).prefetch(2).collect()
            [0, 1, 2, 3, 4]
        """
        return self._over(operators.backpressure.LimitRate(self.source, count, None, f"prefetch({count})", "count"))

    def limit_rate(self, high: int, low: int | None = None) -> Stream[T_co]:
        """Request at most ``high`` elements at a time, whatever is demanded, and ``low`` more when as many were taken.

            request(unbounded)                      from below
            limit_rate(100, 50)
            request(100) ..... request(50) .....    above

        It requests ahead, holds at most ``high`` elements, and drops nothing. Use it where a source does much for
        each request, or must not be asked for everything at once.

        Args:
            high: the most elements that are requested and not yet taken.
            low: how many are requested again, each time when so many were taken; three quarters of ``high`` when None.

        Raises:
            TypeError: one of them is not an integer.
            ValueError: one of them is less than 1, or low is more than high.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).limit_rate(4, low=2).collect()
            [0, 1, 2, 3, 4]
        """
        call = f"limit_rate({high})" if low is None else f"limit_rate({high}, low={low})"
        return self._over(operators.backpressure.LimitRate(self.source, high, low, call))

    def on_backpressure_buffer(
        self,
        capacity: int,
        overflow: Overflow | str = "error",
        on_overflow: Callable[[T_co], object] | None = None,
    ) -> Stream[T_co]:
        """Hold what is not demanded, and say what becomes of an element for which there is no room.

            ---1-2-3-4-5---------|
            on_backpressure_buffer(2, "drop_oldest")     one is demanded, then three
            ---1---------4-5-----|

        Requests everything at once, and holds up to ``capacity`` elements. The end comes after them, and so does an
        error, also the one of an overflow: with ``"error"`` upstream is cancelled, what is held is still signalled as
        it is demanded, and then ``BufferOverflow``. Dropped elements are counted for the hook, unless ``on_overflow``
        is told of each.

        Args:
            capacity: the most elements that are held.
            overflow: ``"error"``, ``"drop_oldest"`` or ``"drop_latest"``; see ``pyrs.Overflow``.
            on_overflow: called, on the source's thread, with each element that is dropped, or did not fit. What it
                raises ends the stream, after what is held.

        Raises:
            TypeError: the capacity is not an integer, overflow no Overflow or string, on_overflow not callable.
            ValueError: the capacity is less than 1, or overflow none of the three.

        Examples:
            >>> import pyrs
            >>> lost = []
            >>> numbers = pyrs.range(6).on_backpressure_buffer(2, "drop_oldest", lost.append)
            >>> subscription = numbers.subscribe(on_next=print, request=1)
            0
            >>> lost
            [1, 2, 3]
            >>> subscription.request(5)
            4
            5
        """
        return self._over(operators.backpressure.BackpressureBuffer(self.source, capacity, overflow, on_overflow))

    def on_backpressure_drop(self, on_dropped: Callable[[T_co], object] | None = None) -> Stream[T_co]:
        """Drop what is not demanded.

            ---1-2-3-4-5---|
            on_backpressure_drop()     one is demanded, and one more after 3
            ---1-----4-----|

        Requests everything at once and holds nothing. Dropped elements are counted for the hook, unless ``on_dropped``
        is told of each. An iterable drops most of its elements at once: this is for sources that cannot wait.

        Args:
            on_dropped: called, on the source's thread, with each element that is dropped. What it raises ends the
                stream.

        Raises:
            TypeError: on_dropped is not callable.

        Examples:
            >>> import pyrs
            >>> lost = []
            >>> _ = pyrs.range(4).on_backpressure_drop(lost.append).subscribe(on_next=print, request=1)
            0
            >>> lost
            [1, 2, 3]
        """
        return self._then(operators.backpressure.BackpressureDrop(on_dropped))

    def on_backpressure_latest(self) -> Stream[T_co]:
        """Hold the latest element that was not demanded; the one before it is dropped.

            ---1-2-3-4-5---|
            on_backpressure_latest()     one is demanded, and one more after 3
            ---1-----3-----5---|         one more after the end

        Requests everything at once and holds one element. Dropped elements are counted for the hook. The end comes
        after the element that is held.

        Examples:
            >>> import pyrs
            >>> before = pyrs.set_element_hook(lambda count, where: None)
            >>> subscription = pyrs.range(4).on_backpressure_latest().subscribe(on_next=print, request=1)
            0
            >>> subscription.request(1)
            3
            >>> _ = pyrs.set_element_hook(before)
        """
        call = "on_backpressure_latest()"
        return self._over(operators.backpressure.BackpressureBuffer(self.source, 1, Overflow.DROP_OLDEST, None, call))

    def on_backpressure_error(self) -> Stream[T_co]:
        """Fail with ``BufferOverflow`` when an element comes that is not demanded.

            ---1-2---
            on_backpressure_error()     one is demanded
            ---1-X

        Requests everything at once and holds nothing. Upstream is cancelled when the stream fails.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.range(4).on_backpressure_error().subscribe(on_next=print, on_error=print, request=1)
            0
            an element came that was not demanded
        """
        return self._then(operators.backpressure.BackpressureError())
