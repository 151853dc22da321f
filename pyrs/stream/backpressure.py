"""Backpressure operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyrs import operators
from pyrs._core.overflow import Overflow
from pyrs.stream.family import OperatorFamily, T_co

if TYPE_CHECKING:
    from pyrs.stream.stream import Stream


class Backpressure(OperatorFamily[T_co]):
    """Operators that change demand, or handle sources that ignore it."""

    def prefetch(self, count: int) -> Stream[T_co]:
        """Request up to ``count`` elements ahead of demand.

            request(1) request(1) ...         from downstream
            prefetch(4)
            request(4) ...... request(3) ...  to upstream, after 3 were consumed

        Same as ``limit_rate(count)``: buffers up to ``count`` elements, replenishes at 75 %, and drops nothing.

        Args:
            count: the maximum number of elements requested and buffered.

        Raises:
            TypeError: ``count`` is not an integer.
            ValueError: ``count`` is less than 1.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).prefetch(2).collect()
            [0, 1, 2, 3, 4]
        """
        return self._over(operators.backpressure.LimitRate(self.source, count, None, f"prefetch({count})", "count"))

    def limit_rate(self, high: int, low: int | None = None) -> Stream[T_co]:
        """Request ``high`` elements, then ``low`` more each time ``low`` are consumed.

            request(unbounded)                      from downstream
            limit_rate(100, 50)
            request(100) ..... request(50) .....    to upstream

        Requests in batches, whatever the downstream demand is, and buffers up to ``high`` elements. Drops nothing; a
        slow Subscriber slows the source. Use it if a request is expensive, or if the source rejects unbounded demand.
        It does not limit the elements per second: ``delay_until(lambda _: pyrs.timer(seconds))`` does.

        Args:
            high: the maximum number of elements requested and not yet consumed.
            low: the number of elements to request each time; None for 75 % of ``high``.

        Raises:
            TypeError: an argument is not an integer.
            ValueError: an argument is less than 1, or ``low`` is greater than ``high``.

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
        """Buffer elements that exceed demand, up to ``capacity``.

            ---1-2-3-4-5---------|
            on_backpressure_buffer(2, "drop_oldest")     request(1), then request(3)
            ---1---------4-5-----|

        Requests unbounded demand. A terminal signal is emitted after the buffered elements. With ``"error"``, an
        overflow cancels upstream; the stream emits the buffered elements on demand and then fails with
        ``BufferOverflow``. Dropped elements are reported to the dropped-elements hook, unless ``on_overflow`` is given.

        Args:
            capacity: the maximum number of buffered elements.
            overflow: ``"error"``, ``"drop_oldest"`` or ``"drop_latest"``; see ``pyrs.Overflow``.
            on_overflow: called on the source's thread with each element that is dropped or rejected. If it raises,
                upstream is cancelled and the stream fails with that error after the buffered elements.

        Raises:
            TypeError: ``capacity`` is not an integer, ``overflow`` is neither a str nor an ``Overflow``, or
                ``on_overflow`` is not callable.
            ValueError: ``capacity`` is less than 1, or ``overflow`` is not one of the three.

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
        """Drop elements that exceed demand.

            ---1-2-3-4-5---|
            on_backpressure_drop()     request(1), and request(1) after 3
            ---1-----4-----|

        Requests unbounded demand and buffers nothing. Dropped elements are reported to the dropped-elements hook,
        unless ``on_dropped`` is given. Use it for a source that cannot wait; an iterable would lose most elements.

        Args:
            on_dropped: called on the source's thread with each dropped element. If it raises, the stream fails.

        Raises:
            TypeError: ``on_dropped`` is not callable.

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
        """Keep only the latest element that exceeds demand, and drop older ones.

            ---1-2-3-4-5---|
            on_backpressure_latest()     request(1), request(1) after 3,
            ---1-----3-----5---|         request(1) after completion

        Requests unbounded demand and buffers one element. Dropped elements are reported to the dropped-elements hook.

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

    def on_backpressure_reduce(self, function: Callable[[T_co, T_co], T_co]) -> Stream[T_co]:
        """Combine the elements that exceed demand into one.

            ---1-2-3-4-5---|
            on_backpressure_reduce(add)     request(1), request(1) after 4,
            ---1-------9---5---|            request(1) after completion

        Requests unbounded demand and buffers one element: the result of the function for the elements that arrived
        without demand. Nothing is dropped. A terminal signal is emitted after the buffered element.

        Args:
            function: called on the source's thread with the buffered element and a new one; returns the element that
                replaces both. If it raises, upstream is cancelled, and the stream fails with that error after the
                buffered element.

        Raises:
            TypeError: ``function`` is not callable.

        Examples:
            >>> import pyrs
            >>> from operator import add
            >>> subscription = pyrs.range(5).on_backpressure_reduce(add).subscribe(on_next=print, request=1)
            0
            >>> subscription.request(1)
            10
        """
        return self._over(operators.backpressure.BackpressureReduce(self.source, function))

    def on_backpressure_error(self) -> Stream[T_co]:
        """Fail with ``BufferOverflow`` when an element exceeds demand.

            ---1-2---
            on_backpressure_error()     request(1)
            ---1-X

        Requests unbounded demand and buffers nothing. The failure cancels upstream.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.range(4).on_backpressure_error().subscribe(on_next=print, on_error=print, request=1)
            0
            an element exceeded the demand
        """
        return self._then(operators.backpressure.BackpressureError())
