"""Record signals; every wait has a deadline."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Any

from pyrs.api import Subscriber, Subscription

DEADLINE = 30.0
MILLIS = 30_000


class Recorder(Subscriber[Any]):
    """Requests `first`, then `again` after each element; keeps the elements; may block for good in on_next."""

    def __init__(self, first: int = 0, again: int = 0, blocks: threading.Event | None = None) -> None:
        self.first, self.again, self.blocks = first, again, blocks
        self.elements: list[Any] = []
        self.got: SimpleQueue[Any] = SimpleQueue()
        self.terminals: SimpleQueue[BaseException | None] = SimpleQueue()

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        if self.first:
            subscription.request(self.first)

    def on_next(self, element: Any) -> None:
        self.elements.append(element)
        self.got.put(element)
        if self.blocks is not None:
            self.blocks.wait(DEADLINE * 4)
        if self.again:
            self.subscription.request(self.again)

    def on_error(self, error: BaseException) -> None:
        self.terminals.put(error)

    def on_complete(self) -> None:
        self.terminals.put(None)

    def end(self) -> BaseException | None:
        """The terminal signal: None for on_complete."""
        return self.terminals.get(timeout=DEADLINE)

    def next(self) -> Any:
        """The next element."""
        return self.got.get(timeout=DEADLINE)

    def only_one_terminal(self) -> bool:
        return self.terminals.empty()
