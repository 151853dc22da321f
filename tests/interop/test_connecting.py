"""A bridge can be used as soon as ``connect`` returns, and bridges are independent."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from tests.interop.harness import DEADLINE, MILLISECONDS, Java

BRIDGES = 60


def test_java_can_call_python_immediately_after_connect(machine: tuple[Callable[..., jvm.Bridge], Java]) -> None:
    """Java calls a function or subscribes before Python has used the bridge."""
    connect, java = machine
    for n in range(BRIDGES):
        with connect() as bridge:
            if n % 2:
                doubled = bridge.to_jvm_callable(lambda x: x * 2, "java.util.function.Function")
                assert java.static("interop.Functions", "apply", doubled, n) == f"Long {n * 2}"
            else:
                recorder = java.new("interop.Recorder", 2**63 - 1)
                java.static("interop.Functions", "subscribe", bridge.to_jvm(pyrs.just(n)), recorder)
                assert java.call(recorder, "awaitEnd", MILLISECONDS) == "complete"
                assert java.call(recorder, "described") == f"Long {n}"


def test_two_bridges_are_independent(machine: tuple[Callable[..., jvm.Bridge], Java]) -> None:
    connect, java = machine
    with connect() as first, connect() as second:
        flux = java.static("reactor.core.publisher.Flux", "range", 1, 1_000)
        through = java.call(flux, "transform", first.to_jvm_stage(lambda s: s.map(lambda x: x + 1)))
        stream = second.from_jvm(java.call(through, "transform", second.to_jvm_stage(lambda s: s.map(lambda x: x + 1))))
        assert stream.collect(timeout=DEADLINE) == list(range(3, 1_003))
        published: Any = first.to_jvm(pyrs.range(3))
        assert second.from_jvm(published).collect(timeout=DEADLINE) == [0, 1, 2]
        first.close()
        assert second.from_jvm(flux).take(3).collect(timeout=DEADLINE) == [1, 2, 3]


@pytest.mark.parametrize("deadline", [-1, inf, nan, None, "5"])
def test_invalid_deadline_of_close_leaves_the_bridge_open(
    machine: tuple[Callable[..., jvm.Bridge], Java], deadline: Any
) -> None:
    connect, _ = machine
    with connect() as bridge:
        with pytest.raises((TypeError, ValueError), match="deadline_seconds must be "):
            bridge.close(deadline)
        assert bridge.value_of(bridge.java_class("java.util.List").of(1)) == [1]
        assert bridge.close(1e12)
