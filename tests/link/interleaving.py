"""A session that runs step by step, and a way to run code at every line of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType as PythonFrame
from typing import Any

from plain_session import PlainCodec, PlainSession

from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber

UNREADABLE = "unreadable"


def signals(subscriber: TestSubscriber[Any]) -> list[Any]:
    """Return the received elements, followed by "complete" or the name of the error's type."""
    subscriber.assert_rules()
    terminal = ["complete"] if subscriber.completed else []
    return [*subscriber.elements, *terminal, *([type(subscriber.error).__name__] if subscriber.error else [])]


class Codec(PlainCodec):
    """Fails to decode ``UNREADABLE``, and reports handle 1 for every body of a NEXT_HOME."""

    def __init__(self) -> None:
        self.discarded: list[Any] = []

    def batch_decoder(self) -> Callable[[bytes], tuple[list[Any], Exception | None]]:
        def decode(body: bytes) -> tuple[list[Any], Exception | None]:
            elements = self.decode(body)
            if UNREADABLE in elements:
                return elements[: elements.index(UNREADABLE)], ValueError("it cannot be converted here")
            return elements, None

        return decode

    def discard(self, body: bytes) -> None:
        self.discarded.append(self.decode(body))

    def home_handles(self, body: bytes) -> list[int]:
        return [1]


class Stepped(PlainSession):
    """Runs tasks in ``run`` only: the test decides when drain loops, workers and the writer run."""

    def __init__(self, codec: PlainCodec | None = None) -> None:
        super().__init__()
        self.codec = codec or Codec()

    def _inline(self, task: Callable[[], None]) -> None:
        self._tasks.append(task)

    def run(self) -> None:
        while self._tasks:
            self._tasks.popleft()()

    def next(self, *elements: Any, home: bool = False) -> None:
        kind = FrameType.NEXT_HOME if home else FrameType.NEXT
        self.receive(Frame(kind, 1, self.codec.encode(list(elements))))


class AtLine:
    """Runs ``intrude`` at the n-th line of the given functions on this thread."""

    def __init__(self, functions: Sequence[Any], line: int, intrude: Callable[[], object]) -> None:
        self.codes = {function.__code__ for function in functions}
        self.line = line
        self.intrude = intrude
        self.seen = 0

    @property
    def reached(self) -> bool:
        return self.seen >= self.line

    def __enter__(self) -> AtLine:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *ignored: object) -> None:
        sys.settrace(self._before)

    def _trace(self, at: PythonFrame, event: str, argument: object) -> Any:
        return self._look if at.f_code in self.codes and not self.reached else None

    def _look(self, at: PythonFrame, event: str, argument: object) -> Any:
        if event == "line" and not self.reached:
            self.seen += 1
            if self.reached:
                sys.settrace(None)
                self.intrude()
        return self._look


Interrupted = Callable[[Callable[[], object]], AtLine]


def at_every_line(functions: Sequence[Any], attempt: Callable[[Interrupted], bool]) -> None:
    """Repeat the attempt with an interruption at the first line, the second, and so on, until no line is left."""
    line = 1
    while attempt(partial(AtLine, functions, line)):
        line += 1
    assert line > 5, "the functions to interrupt did not run"
