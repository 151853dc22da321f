"""A session that runs step by step, and a way to run code at every line of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plain_session import PlainCodec, PlainSession

from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber
from tests.lines import AtLine

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


Interrupted = Callable[[Callable[[], object]], AtLine]


def at_every_line(functions: Sequence[Any], attempt: Callable[[Interrupted], bool]) -> None:
    """Repeat the attempt with an interruption at the first line, the second, and so on, until no line is left."""
    line = 1
    while attempt(partial(AtLine, functions, line)):
        line += 1
    assert line > 5, "the functions to interrupt did not run"
