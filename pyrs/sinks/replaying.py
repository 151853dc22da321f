"""ReplaySink: a sink that replays its history to later Subscribers."""

from __future__ import annotations

from typing import TypeVar

from pyrs._core.replay import ReplayHub
from pyrs.sinks.sink import Sink

T = TypeVar("T")


class ReplaySink(ReplayHub[T], Sink[T]):
    """``replay(limit, seconds)``: emits the history first, then new elements."""

    def _held(self) -> int:
        return self.held

    def _call(self) -> str:
        given = "" if self._limit is None else str(self._limit)
        if self._seconds is not None:
            given += f"{', ' if given else ''}seconds={self._seconds:g}"
        return f"replay({given})"
