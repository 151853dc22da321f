"""What the tests of servers, and above all of brokers, ask for in the same way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pyrs.jvm import Bridge, JavaObject
from tests.interop.harness import DEADLINE


def eventually(condition: Callable[[], bool]) -> bool:
    """Asks the server again and again, each a round trip, until it is so."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if condition():
            return True
    return False


def refuse(batch: list[dict[str, Any]]) -> None:
    """A handler that cannot do its work."""
    raise LookupError("no such account")


def sent(bridge: Bridge) -> int:
    """How many elements the JVM has sent to Python."""
    count = bridge.jvm_stats()["outbound_elements"]
    assert isinstance(count, int)
    return count


class Enough(Exception):
    """What ends a program that would go on for ever."""


def first_batch(
    program: ModuleType, run: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, Any]], int]:
    """Runs a page's program, which prints batches and how many it dealt with, until it has dealt with one."""
    printed: list[Any] = []

    def show(*what: Any) -> None:
        printed.append(what)
        if what[0] == "handled":
            raise Enough

    monkeypatch.setattr(program, "print", show, raising=False)
    with pytest.raises(Enough):
        run()
    [(batch,), (_, count)] = printed
    return batch, count


class HeardOf:
    """A sender that says when it hears of the end of what it is to send."""

    def __init__(self, bridge: Bridge, sender: JavaObject, method: str) -> None:
        self.end = threading.Event()
        setattr(self, method, self._send)
        self._sends = getattr(sender, method)
        self._flux = bridge.java_class("reactor.core.publisher.Flux")
        self._notes = bridge.to_jvm_callable(self.end.set, "java.lang.Runnable")

    def _send(self, records: JavaObject, *options: JavaObject) -> JavaObject:
        results: JavaObject = self._sends(self._flux.from_(records).doOnComplete(self._notes), *options)
        return results
