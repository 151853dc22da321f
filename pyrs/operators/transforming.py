"""Operators that change elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyrs._core.fusion import Chain
from pyrs._core.stage import Stage, StageRun
from pyrs._core.text import checked_callable, name_of

__all__ = ["Map"]


class Map(Stage):
    """``map(function)``: each element becomes what the function returns for it."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = checked_callable(function, "function")

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """See ``Stage``."""
        return map(self.function, iterator)

    def run(self) -> StageRun:
        """See ``Stage``."""
        return _MapRun(self.function)

    def functions(self) -> tuple[object, ...]:
        """See ``Stage``."""
        return (self.function,)

    def __repr__(self) -> str:
        return f"map({name_of(self.function)})"


class _MapRun(StageRun):
    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def on_next(self, element: Any) -> None:
        self.emit(self._function(element))
