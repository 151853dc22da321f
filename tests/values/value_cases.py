"""The classes and modules in the expressions of the vectors, and References that need no link."""

from __future__ import annotations

import collections
import datetime
import decimal  # noqa: F401 - the vectors use it, and the other unused imports
import enum
import json
import uuid  # noqa: F401
import zoneinfo  # noqa: F401
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy  # noqa: F401

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "values.json").read_text())


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Word(str, enum.Enum):
    YES = "yes"


class UserId(int):
    pass


class Name(str):
    pass


Point = collections.namedtuple("Point", ["x", "y"])


class Plain:
    pass


class OfPeer:
    """A test double of an object of the peer."""


class Recorder:
    """A test double of References: ``own`` returns 7, 8, ...; an ``OfPeer`` has handle 9."""

    def __init__(self) -> None:
        self.owned: list[object] = []
        self.disowned: list[int] = []
        self.received: list[int] = []

    def own(self, value: object) -> int:
        for index, each in enumerate(self.owned):
            if each is value:
                return 7 + index
        self.owned.append(value)
        return 6 + len(self.owned)

    def disown(self, carried: Iterable[object]) -> None:
        self.disowned += [each for each in carried if isinstance(each, int)]

    def kind_of(self, value: object) -> int:
        return 0

    def home(self, value: object) -> tuple[int, int, object] | None:
        return (0, 9, value) if isinstance(value, OfPeer) else None

    @property
    def remote_object(self) -> Callable[[int], object]:
        return lambda handle: self.remote(0, handle)

    def remote(self, kind: int, handle: int) -> object:
        self.received.append(handle)
        return ("remote", kind, handle)

    def local(self, handle: int) -> object:
        return ("local", handle)


def value_of(expression: str) -> Any:
    """Evaluate an expression of the vectors."""
    return eval(expression, dict(globals()))  # safe: the expressions come from this repository


def same(one: Any, other: Any) -> bool:
    """Return True for equal values of equal types at every depth; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, datetime.datetime):
        return repr(one) == repr(other)
    return bool(one == other) or (one != one and other != other)
