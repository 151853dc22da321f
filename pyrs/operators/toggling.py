"""buffer_when: lists that other streams open and close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs._core.coordinator import Coordinator
from pyrs._core.display import name_of
from pyrs._core.inputs import DirectInput, QueuedInput
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_natural, checked_publisher
from pyrs.api import Publisher, Subscriber

__all__ = ["BufferWhen"]


class _BufferWhenRun(Coordinator[Any]):
    """Moves the elements of the source to all open lists, in the drain loop.

    Each demanded list is requested of the opening stream, so every list that is open was demanded.
    """

    _operator: BufferWhen

    def __init__(self, subscriber: Subscriber[Any], operator: BufferWhen) -> None:
        super().__init__(subscriber, operator)
        self._input = QueuedInput[Any](self, operator.prefetch)
        self._openings = DirectInput[Any](self, self._open, self._opened_last)
        self._lists: dict[DirectInput[Any], list[Any]] = {}  # the open lists, by the inputs that close them
        self._opens = True  # the opening stream has not completed

    def _begin(self) -> None:
        self._openings.subscribe_to(self._operator.openings)
        if self._live:
            super()._begin()

    def _requested_more(self, n: int) -> None:
        self._openings.request(n)

    def _open(self, opening: Any) -> None:
        self._distribute()
        try:
            closing = checked_publisher(self._operator.closing(opening), "the result of closing")
        except BaseException as error:
            self._raised(error)
            return

        def close(_: object) -> None:
            self._close(upstream)

        upstream = DirectInput[Any](self, close, close)
        self._lists[upstream] = []
        upstream.request(1)
        upstream.subscribe_to(closing)

    def _close(self, upstream: DirectInput[Any]) -> None:
        self._distribute()
        elements = self._lists.pop(upstream, None)
        if elements is not None:
            upstream.cancel()
            self._emit(elements)
            self._complete_after_last()

    def _opened_last(self, _: object) -> None:
        self._opens = False
        self._complete_after_last()

    def _complete_after_last(self) -> None:
        if not self._opens and not self._lists:
            self._complete()

    def _distribute(self) -> None:
        """Move the queued elements to the open lists."""
        queue = self._input.elements
        elements = [queue.popleft() for _ in range(len(queue))]
        for each in self._lists.values():
            each.extend(elements)
        self._input.taken(len(elements))
        if not self._lists:
            self._discard_all(elements)

    def _advance(self) -> None:
        ended = self._input.ended  # read before the queue, which then has all elements before the end
        self._distribute()
        if ended and not self._input.elements:
            error, self._input.error = self._input.error, None
            if error is None:
                while self._lists:
                    self._emit(self._lists.pop(next(iter(self._lists))))
            self._end_with(error)

    def _release(self) -> None:
        for each in (self._input, self._openings, *self._lists):
            each.cancel()
        self._drop(self._input.error)
        held = {id(element): element for elements in self._lists.values() for element in elements}
        self._lists.clear()
        self._discard_all(list(held.values()))


class BufferWhen(Operator[Any]):
    """``buffer_when(openings, closing)``: lists that other streams open and close."""

    run_type = _BufferWhenRun

    def __init__(
        self,
        source: Publisher[Any],
        openings: Publisher[Any],
        closing: Callable[[Any], Publisher[Any]],
        prefetch: int,
    ) -> None:
        self.openings = checked_publisher(openings, "openings")
        self.closing = checked_callable(closing, "closing")
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        super().__init__(source, f"buffer_when({openings!r}, {name_of(closing)})")
