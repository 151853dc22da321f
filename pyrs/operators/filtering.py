"""Operators that let some elements pass and others not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import Chain
from pyrs._core.stage import Stage, StageRun
from pyrs._core.text import checked_callable, checked_natural, name_of

__all__ = ["Filter", "Take"]


class Filter(Stage):
    """``filter(predicate)``: the elements for which the predicate is true."""

    def __init__(self, predicate: Callable[[Any], object]) -> None:
        self.predicate = checked_callable(predicate, "predicate")

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """See ``Stage``."""
        return filter(self.predicate, iterator)

    def run(self) -> StageRun:
        """See ``Stage``."""
        return _FilterRun(self.predicate)

    def functions(self) -> tuple[object, ...]:
        """See ``Stage``."""
        return (self.predicate,)

    def __repr__(self) -> str:
        return f"filter({name_of(self.predicate)})"


class _FilterRun(StageRun):
    __slots__ = ("_predicate", "_unbounded")

    def __init__(self, predicate: Callable[[Any], object]) -> None:
        self._predicate = predicate
        self._unbounded = False

    def on_next(self, element: Any) -> None:
        if self._predicate(element):
            self.emit(element)
        elif not self._unbounded:
            self.ask(1)  # its demand was not used up by the Subscriber

    def request(self, n: int) -> None:
        if n >= UNBOUNDED:
            self._unbounded = True
        self.ask(n)


class Take(Stage):
    """``take(count)``: the first elements, then the end. Never asks for more than ``count``."""

    calls_user_code = False

    def __init__(self, count: int) -> None:
        self.count = checked_natural(count, "count")

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """See ``Stage``."""
        return whole.first(iterator, self.count)

    def run(self) -> StageRun:
        """See ``Stage``."""
        return _TakeRun(self.count)

    def __repr__(self) -> str:
        return f"take({self.count})"


class _TakeRun(StageRun):
    __slots__ = ("_left", "_lock", "_to_ask")

    def __init__(self, count: int) -> None:
        self._left = count
        self._to_ask = count
        self._lock = Lock()  # request comes from any thread

    def begin(self) -> None:
        if not self._left:
            self.finish()

    def on_next(self, element: Any) -> None:
        self._left -= 1
        if self._left > 0:
            self.emit(element)
        elif self._left == 0:
            self.emit(element)
            self.finish()

    def request(self, n: int) -> None:
        if n > 0:
            with self._lock:
                n = min(n, self._to_ask)
                self._to_ask -= n
            if not n:
                return
        self.ask(n)
