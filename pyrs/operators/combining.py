"""Operators that make one stream of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyrs._core.coordinator import Coordinator, Operator
from pyrs._core.inputs import QueuedInput
from pyrs._core.relay import Relay
from pyrs._core.text import checked_publisher
from pyrs.api import Publisher, Subscriber

__all__ = ["Concat", "Merge"]


def _checked(sources: Sequence[Publisher[Any]]) -> tuple[Publisher[Any], ...]:
    return tuple(checked_publisher(source, f"sources[{place}]") for place, source in enumerate(sources))


class Merge(Operator[Any]):
    """``merge(a, b, ...)``: elements of all sources as they come."""

    def __init__(self, sources: Sequence[Publisher[Any]], prefetch: int) -> None:
        super().__init__(None, f"merge({', '.join(map(repr, sources))})")
        self.sources = _checked(sources)
        self.prefetch = prefetch

    def run(self, subscriber: Subscriber[Any]) -> _MergeRun:
        return _MergeRun(subscriber, self)


class _MergeRun(Coordinator[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: Merge) -> None:
        super().__init__(subscriber, operator)
        self._sources = operator.sources
        self._inputs = [QueuedInput[Any](self, operator.prefetch, passes=True) for _ in operator.sources]

    def _begin(self) -> None:
        for each, source in zip(self._inputs, self._sources, strict=True):
            each.subscribe_to(source)

    def _advance(self) -> None:
        left = len(self._inputs)
        for each in self._inputs:
            ended = each.ended  # read before the queue: what came before the end is in it
            if each.elements:
                each.taken(self._emit_from(each.elements))
            if ended and not each.elements:
                left -= 1
                if each.error is not None:
                    self._fail(each.error)
        if not left:
            self._complete()

    def _release(self) -> None:
        for each in self._inputs:
            each.cancel()


class Concat(Operator[Any]):
    """``concat(a, b, ...)``: one source after the other."""

    def __init__(self, sources: Sequence[Publisher[Any]]) -> None:
        super().__init__(None, f"concat({', '.join(map(repr, sources))})")
        self.sources = _checked(sources)

    def run(self, subscriber: Subscriber[Any]) -> _ConcatRun:
        return _ConcatRun(subscriber, self)


class _ConcatRun(Relay[Any]):
    def __init__(self, subscriber: Subscriber[Any], operator: Concat) -> None:
        super().__init__(subscriber, operator)
        self._sources = iter(operator.sources)

    def _begin(self) -> None:
        self._source_completed()

    def _source_completed(self) -> None:
        source = next(self._sources, None)
        if source is None:
            self._complete()
        else:
            self._switch_to(source)
