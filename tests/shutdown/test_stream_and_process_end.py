"""The end of a stream, a bridge or a process: no call hangs, each Subscriber receives one terminal signal."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs.errors import LinkBroken, LinkClosed
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, MILLIS, collected, eventually, recording, uncollected


@pytest.fixture(autouse=True)
def quiet_drops() -> Any:
    """Disable the reports of dropped elements: the tests drop prefetched elements on purpose."""
    before = pyrs.set_element_hook(lambda count, where: None)
    yield
    pyrs.set_element_hook(before)


def bridge_threads() -> list[str]:
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("pyrs-bridge"))


def test_a_killed_jvm_fails_every_stream(new_jvm: Any) -> None:
    plain = new_jvm()
    bridge = jvm.connect(plain.gateway)
    running, idle = recording(10, 1), recording(1)
    bridge.from_jvm(plain.parties.Range(1 << 60)).subscribe(running)
    bridge.from_jvm(plain.parties.Range(1 << 60)).subscribe(idle)
    cancelled = threading.Event()

    def forever() -> Any:
        try:
            yield from iter(int, 1)
        finally:
            cancelled.set()

    bridge.to_jvm(pyrs.from_iterable(forever())).subscribe(plain.parties.Counting(10, 1, False))
    running.await_count(1), idle.await_count(1)
    plain.kill()
    for recorder in (running, idle):
        recorder.await_error(LinkBroken)
        recorder.assert_rules()
    assert cancelled.wait(DEADLINE), "the Python Publisher was not cancelled"
    assert bridge.closed
    with pytest.raises((LinkBroken, LinkClosed)):
        bridge.from_jvm(None)
    assert bridge.close(DEADLINE)
    eventually(lambda: bridge.name not in " ".join(bridge_threads()), lambda: f"threads are left: {bridge_threads()}")
    assert bridge.stats()["streams_live"] == 0


CHILD = """
import os, sys
from py4j.java_gateway import GatewayParameters, JavaGateway
import pyrs
from pyrs import jvm
port, token = int(sys.argv[1]), sys.stdin.readline().strip()
gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
bridge = jvm.connect(gateway)
shared = gateway.jvm.Parties.shared
class Slow(pyrs.Subscriber):
    def on_subscribe(self, subscription): self.subscription = subscription; subscription.request(10)
    def on_next(self, element):
        if element == 5: os.write(1, b"flowing\\n")
        self.subscription.request(1)
    def on_error(self, error): print("error", type(error).__name__, flush=True)
    def on_complete(self): pass
bridge.from_jvm(shared("source")).subscribe(Slow())
bridge.to_jvm(pyrs.from_iterable(iter(int, 1))).subscribe(shared("sink"))
os.write(1, b"both subscribed\\n")
sys.stdin.readline()
"""


def start_child(plain: Any, then: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD + then, str(plain.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(plain.token + "\n")
    child.stdin.flush()
    return child


@pytest.mark.parametrize("how", ["killed", "exits", "raises"])
def test_the_python_process_ends_mid_stream(shared_jvm: Any, how: str) -> None:
    source, sink = shared_jvm.parties.Range(1 << 60), shared_jvm.parties.Counting(10, 1, False)
    shared_jvm.parties.share("source", source)
    shared_jvm.parties.share("sink", sink)
    before = shared_jvm.parties.bridgeThreads()
    child = start_child(shared_jvm, "1/0" if how == "raises" else "")
    try:
        assert child.stdin is not None and child.stdout is not None
        assert {child.stdout.readline().strip() for _ in range(2)} == {"flowing", "both subscribed"}
        if how == "killed":
            child.kill()
        else:
            child.stdin.write("\n")
            child.stdin.flush()
        status = child.wait(DEADLINE)
        assert status == {"killed": -signal.SIGKILL, "exits": 0, "raises": 1}[how]
    finally:
        child.kill()
        child.communicate()
    assert source.awaitCancelled(MILLIS), "the Java Publisher was not cancelled"
    assert sink.awaitEnd(MILLIS), "the Java Subscriber received no terminal signal"
    assert "Link" in sink.error()
    eventually(lambda: shared_jvm.parties.bridgeThreads() <= before, "threads of the bridge are left in the JVM")


def test_close_fails_every_live_stream(shared_jvm: Any) -> None:
    bridge = jvm.connect(shared_jvm.gateway)
    source, sink = shared_jvm.parties.Range(1 << 60), shared_jvm.parties.Counting(10, 1, False)
    running, idle = recording(10, 1), recording(0)
    bridge.from_jvm(source).subscribe(running)
    bridge.from_jvm(shared_jvm.parties.Range(5)).subscribe(idle)
    bridge.to_jvm(pyrs.from_iterable(iter(int, 1))).subscribe(sink)
    running.await_count(1)
    assert bridge.close(DEADLINE)
    for recorder in (running, idle):
        recorder.await_error(LinkClosed)
        recorder.assert_rules()
    assert source.awaitCancelled(MILLIS)
    assert sink.awaitEnd(MILLIS)
    with pytest.raises(LinkClosed, match="is closed"):
        bridge.to_jvm(pyrs.range(3))
    assert "closed" in repr(bridge)


def test_close_inside_a_callback_fails_the_stream(shared_jvm: Any) -> None:
    bridge = jvm.connect(shared_jvm.gateway)
    recorder = TestSubscriber(1, on_element=lambda subscriber, element: bridge.close(), timeout=DEADLINE)
    bridge.from_jvm(shared_jvm.parties.Range(5)).subscribe(recorder)
    recorder.await_error(LinkClosed)
    assert bridge.close(DEADLINE)


def test_two_bridges_on_one_jvm_are_independent(shared_jvm: Any) -> None:
    first, second = jvm.connect(shared_jvm.gateway), jvm.connect(shared_jvm.gateway)
    recorder = recording(10, 1)
    second.from_jvm(shared_jvm.parties.Range(200_000)).subscribe(recorder)
    ended = recording(1)
    first.from_jvm(shared_jvm.parties.Range(5)).subscribe(ended)
    ended.await_count(1)
    first.close()
    ended.await_error(LinkClosed)
    assert recorder.await_complete() == list(range(200_000))
    second.close()


def open_files(plain: Any) -> int:
    """Count the open files of this process without the idle connections that Py4J keeps in its pool."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        return 0
    return len(list(descriptors.iterdir())) - len(plain.gateway._gateway_client.deque)


def test_ten_thousand_streams_leave_nothing_behind(shared_jvm: Any) -> None:
    gc.collect()
    files = open_files(shared_jvm)
    threads = threading.active_count()
    with jvm.connect(shared_jvm.gateway) as bridge:
        source = bridge.from_jvm(shared_jvm.parties.Range(5))
        sink = bridge.to_jvm(pyrs.range(5))
        for _ in range(50):
            recorders = [recording(pyrs.UNBOUNDED) for _ in range(196)]
            for number, recorder in enumerate(recorders):
                source.subscribe(recorder)
                if number % 7 == 0:
                    recorder.cancel()
            countings = [shared_jvm.parties.Counting(10, 1, False) for _ in range(4)]
            for counting in countings:
                sink.subscribe(counting)
            for number, recorder in enumerate(recorders):
                if number % 7:
                    assert recorder.await_complete() == [0, 1, 2, 3, 4]
            for counting in countings:
                assert counting.awaitEnd(MILLIS)
                assert counting.count() == 5
        eventually(lambda: bridge.stats()["streams_live"] == 0, "streams are left in Python")
        eventually(lambda: bridge.jvm_stats()["streams_live"] == 0, "streams are left in the JVM")
        assert bridge.stats()["streams_total"] == 10_000
        del source, sink, recorders, countings

        def handles_are_released() -> bool:
            shared_jvm.gateway.jvm.System.gc()
            return bool(bridge.jvm_stats()["handles_owned"] == 0)

        collected(handles_are_released, lambda: f"handles are left: {bridge.jvm_stats()}")
    eventually(lambda: threading.active_count() <= threads + 1, lambda: f"threads are left: {bridge_threads()}")
    eventually(lambda: shared_jvm.parties.bridgeThreads() == 0, "threads are left in the JVM")
    eventually(lambda: open_files(shared_jvm) <= files + 2, "files are left")


def test_64_blocked_streams_on_each_side_do_not_block_another_one(new_jvm: Any) -> None:
    plain = new_jvm()
    release = threading.Event()
    with jvm.connect(plain.gateway) as bridge:
        blocked = [recording(10, blocks=release) for _ in range(64)]
        for recorder in blocked:
            bridge.from_jvm(plain.parties.Range(1_000)).subscribe(recorder)
        sinks = [plain.parties.Counting(10, 0, True) for _ in range(64)]
        for sink in sinks:
            bridge.to_jvm(pyrs.range(1_000)).subscribe(sink)
        for recorder in blocked:
            recorder.await_count(1)
        for sink in sinks:
            assert sink.awaitBlocked(MILLIS)
        recorder, sink = recording(100, 1), plain.parties.Counting(100, 1, False)
        bridge.from_jvm(plain.parties.Range(20_000)).subscribe(recorder)
        bridge.to_jvm(pyrs.range(20_000)).subscribe(sink)
        assert recorder.await_complete() == list(range(20_000))
        assert sink.awaitEnd(MILLIS)
        assert sink.count() == 20_000 and sink.inOrder()
        release.set()
        plain.parties.Counting.release()


def test_a_subscriber_that_stops_requesting_buffers_at_most_one_window(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    source = shared_jvm.parties.Range(10_000_000)
    recorder = recording(1)
    bridge.from_jvm(source).subscribe(recorder)
    assert recorder.await_count(1) == [0]
    bridge._session.call(0, deadline_seconds=DEADLINE)
    assert source.emitted() <= 16
    assert bridge.stats()["in_flight"] <= 16
    # The delivered element is subtracted from the demand after on_next has returned.
    eventually(lambda: bridge.stats()["demand"] == 0, "the delivered element is still part of the demand")
    recorder.cancel()
    assert source.awaitCancelled(MILLIS)


def test_200_interrupts_leave_other_streams_complete(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    count = 100_000
    others = [recording(100, 1) for _ in range(2)]
    for other in others:
        bridge.from_jvm(shared_jvm.parties.Range(count)).subscribe(other)
    sink = shared_jvm.parties.Counting(100, 1, False)
    bridge.to_jvm(pyrs.range(count)).subscribe(sink)
    endless = bridge.from_jvm(shared_jvm.parties.Range(1 << 60))
    main = threading.main_thread().ident
    assert main is not None
    armed = threading.Event()
    stop = threading.Event()

    def interrupt() -> None:
        while armed.wait(DEADLINE) and not stop.is_set():
            armed.clear()
            signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    interrupts = 0
    with uncollected():  # Python ignores an interrupt that arrives in a finalizer
        while interrupts < 200:
            try:
                for number in endless.to_iterable(timeout=DEADLINE):
                    if number == interrupts % 40:
                        armed.set()
            except KeyboardInterrupt:
                interrupts += 1
    stop.set()
    armed.set()
    thread.join(DEADLINE)
    for other in others:
        assert other.await_complete() == list(range(count))
    assert sink.awaitEnd(MILLIS)
    assert sink.count() == count and sink.inOrder()
    eventually(lambda: bridge.stats()["streams_live"] == 0, lambda: f"streams are left: {bridge!r}")
