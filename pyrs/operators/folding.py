"""Operators that make one element of all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from pyrs._core.stage import FoldStage

__all__ = ["Count", "ToList"]


class ToList(FoldStage):
    """``to_list()``: all elements."""

    calls_user_code = False

    def begin(self) -> tuple[Callable[[Any], object], Callable[[], Any]]:
        elements: list[Any] = []
        return elements.append, lambda: elements

    def __repr__(self) -> str:
        return "to_list()"


class Count(FoldStage):
    """``count()``: how many elements there are."""

    calls_user_code = False

    def begin(self) -> tuple[Callable[[Any], object], Callable[[], Any]]:
        numbers = count()
        return lambda _: next(numbers), lambda: next(numbers)

    def __repr__(self) -> str:
        return "count()"
