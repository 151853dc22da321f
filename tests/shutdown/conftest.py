"""The fixtures of a plain JVM: ``shared_jvm``, ``new_jvm`` and a ``bridge`` to the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyrs import jvm
from tests.shutdown.plain_jvm import PlainJvm, compile_parties

OPEN_STREAMS = """
    running, stuck = recording(10, 1), recording(10, blocks=threading.Event())
    bridge.from_jvm(parties.Range(1 << 60)).subscribe(running)
    bridge.from_jvm(parties.Range(1 << 60)).subscribe(stuck)
    sink, blocked = parties.Counting(10, 1, False), parties.Counting(10, 0, True)
    bridge.to_jvm(pyrs.from_iterable(iter(int, 1))).subscribe(sink)
    bridge.to_jvm(pyrs.range(1_000)).subscribe(blocked)
    running.await_count(1), stuck.await_count(1)
    assert blocked.awaitBlocked(MILLIS)
"""
"""A program that subscribes in both directions; one Subscriber of each direction runs, and one blocks."""


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the Java side of the tests."""
    return compile_parties(tmp_path_factory.mktemp("parties"))


@pytest.fixture(scope="session")
def shared_jvm(classes: Path) -> Iterator[PlainJvm]:
    """Yield a JVM for tests that do not stop it or block its threads."""
    started = PlainJvm(classes)
    yield started
    started.stop()


@pytest.fixture
def new_jvm(classes: Path) -> Iterator[Callable[[], PlainJvm]]:
    """Yield a function that starts a JVM, which the test may kill."""
    started: list[PlainJvm] = []

    def start() -> PlainJvm:
        started.append(PlainJvm(classes))
        return started[-1]

    yield start
    for each in started:
        each.stop()
        assert not each.gateway._gateway_client.deque, "a connection to a stopped JVM is left"


@pytest.fixture
def bridge(shared_jvm: PlainJvm) -> Iterator[jvm.Bridge]:
    with jvm.connect(shared_jvm.gateway) as opened:
        yield opened
