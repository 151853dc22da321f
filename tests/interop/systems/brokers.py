"""Helpers for the tests of servers and brokers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pyrs.jvm import Bridge, JavaObject


def refuse(batch: list[dict[str, Any]]) -> None:
    """Raise an error, like a handler that fails."""
    raise LookupError("no such account")


def sent(bridge: Bridge) -> int:
    """Return the number of elements that the JVM has sent to Python."""
    count = bridge.jvm_stats()["outbound_elements"]
    assert isinstance(count, int)
    return count


class Enough(Exception):
    """Ends a program that would run forever."""


def first_batch(
    program: ModuleType, run: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, Any]], int]:
    """Run the program of a recipe until it has processed one batch; return the batch and its count."""
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


class EndObserver:
    """Wraps a sender; sets an event when the stream that it sends completes."""

    def __init__(self, bridge: Bridge, sender: JavaObject, method: str) -> None:
        self.end = threading.Event()
        setattr(self, method, self._send)
        self._sends = getattr(sender, method)
        self._flux = bridge.java_class("reactor.core.publisher.Flux")
        self._on_complete = bridge.to_jvm_callable(self.end.set, "java.lang.Runnable")

    def _send(self, records: JavaObject, *options: JavaObject) -> JavaObject:
        results: JavaObject = self._sends(self._flux.from_(records).doOnComplete(self._on_complete), *options)
        return results
