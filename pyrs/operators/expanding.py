"""expand: emit elements and, recursively, the elements of their streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pyrs._core.coordinator import Coordinator
from pyrs._core.inputs import QueuedInput
from pyrs.api import Publisher, Subscriber
from pyrs.operators.merging import FlatteningOperator, checked_inner, discard_inner, running_loop


class _ExpandRun(Coordinator[Any]):
    """Emits one stream at a time, in the drain loop.

    Breadth-first, emitted elements wait in a queue until the streams before theirs have completed. Depth-first, the
    stream of an element interrupts the stream that emitted it.
    """

    _operator: Expand

    def __init__(self, subscriber: Subscriber[Any], operator: Expand) -> None:
        super().__init__(subscriber, operator)
        self._loop = running_loop()
        self._input = QueuedInput[Any](self, operator.prefetch)
        self._path = [self._input]  # the last stream is active, the others are interrupted
        self._unexpanded: deque[Any] = deque()  # emitted elements, breadth-first

    def _advance(self) -> None:
        path = self._path
        while not self._interrupted:
            active = path[-1]
            ended = active.ended  # read first: if it is true, the queue contains all remaining elements
            if active.elements:
                if not self._demand():
                    return
                element = active.elements.popleft()
                active.taken()
                self._emit(element)
                if self._operator.depth_first:
                    self._expand(element)
                else:
                    self._unexpanded.append(element)
            elif not ended:
                return
            else:
                path.pop()
                if active.error is not None:
                    self._fail(active.error)
                elif self._unexpanded:
                    self._expand(self._unexpanded.popleft())
                elif not path:
                    self._complete()

    def _expand(self, element: Any) -> None:
        if not self._live:
            return  # the Subscriber has cancelled
        try:
            inner = checked_inner(self._operator.function(element), self._operator, self._loop)
        except BaseException as error:
            self._raised(error)
            return
        if self._interrupted:
            discard_inner(inner)  # the function has cancelled
            return
        upstream = QueuedInput[Any](self, self._operator.prefetch)
        self._path.append(upstream)
        upstream.subscribe_to(inner)

    def _release(self) -> None:
        for each in self._path:
            each.cancel()
            self._drop(each.error)
        self._path.clear()
        self._unexpanded.clear()


class Expand(FlatteningOperator):
    """``expand(function)``: each element, and recursively those of its stream."""

    name = "expand"
    run_type = _ExpandRun

    def __init__(
        self, source: Publisher[Any], function: Callable[[Any], object], depth_first: bool, prefetch: int
    ) -> None:
        super().__init__(source, function, prefetch)
        self.depth_first = depth_first
