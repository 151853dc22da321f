"""References, finalizers and late calls with a real JVM; tests/link forces the same races line by line."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs.errors import CallTimeout, JvmUnavailable, LinkBroken, LinkClosed
from pyrs.jvm.link import connection as link
from pyrs.jvm.link.frames import MORE, FrameType, frame
from pyrs.jvm.link.inbound import InboundStream
from tests.forking import status_of_a_child
from tests.waiting import DEADLINE, MILLIS, collected, eventually, recording

FUNCTION = "java.util.function.Function"
ACCEPTED_BYTES = 16_000_000


@pytest.fixture
def java_object(bridge: jvm.Bridge, shared_jvm: Any) -> Any:
    java = shared_jvm.gateway.jvm.java
    return bridge.from_jvm(java.util.concurrent.CompletableFuture.completedFuture(java.lang.Object())).result(DEADLINE)


class TestJavaObjectReturnedToJava:
    """RELEASE must not overtake the frame that returns the object; otherwise Java ends the link."""

    def test_result_of_a_callable_arrives_before_its_release(self, bridge: jvm.Bridge, shared_jvm: Any) -> None:
        same = bridge.to_jvm_callable(lambda thing: thing, FUNCTION)
        new = bridge.to_jvm_callable(lambda thing: shared_jvm.gateway.jvm.java.lang.Object(), FUNCTION)
        counting = shared_jvm.parties.Counting(100, 1, False)
        bridge.to_jvm(pyrs.range(1 << 40)).subscribe(counting)  # keeps the writer busy
        assert shared_jvm.parties.callMany(same, 2, 500) == "1000"
        assert shared_jvm.parties.callMany(new, 2, 150) == "300"
        counting.cancel()
        assert not bridge.closed

    def test_element_of_many_fragments_arrives_before_its_release(self, bridge: jvm.Bridge, shared_jvm: Any) -> None:
        busy, large = (shared_jvm.parties.Counting(100, 1, False) for _ in range(2))
        make = shared_jvm.gateway.jvm.java.lang.Object
        bridge.to_jvm(pyrs.range(1 << 40)).subscribe(busy)
        bridge.to_jvm(pyrs.range(30).map(lambda _: [make(), bytes(1_000_000)])).subscribe(large)
        assert large.awaitEnd(MILLIS)
        assert large.error() is None
        assert large.count() == 30
        busy.cancel()


def test_an_abandoned_future_leaves_no_stream(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    stage = shared_jvm.gateway.jvm.java.util.concurrent.CompletableFuture()
    future = bridge.from_jvm(stage)
    for _ in range(5):
        with pytest.raises(CallTimeout):
            future.result(0.01)
    eventually(lambda: bridge.stats()["streams_live"] == 0, "a stream is left in Python")
    eventually(lambda: bridge.jvm_stats()["streams_live"] == 0, "a stream is left in the JVM")
    stage.complete("late")
    assert future.result(DEADLINE) == "late"


def test_a_blocked_finalizer_stops_no_other_stream(bridge: jvm.Bridge, shared_jvm: Any) -> None:
    """The finalizer runs after the JVM has collected the last reference, and not on the reader thread of the link."""
    running, leave = threading.Event(), threading.Event()

    class Finalized(pyrs.Publisher[Any]):
        def subscribe(self, subscriber: Any) -> None:
            raise AssertionError

        def __del__(self) -> None:
            running.set()
            leave.wait(DEADLINE)

    bridge.to_jvm(Finalized())
    java = shared_jvm.gateway.jvm.java

    def finalized() -> bool:
        java.lang.System.gc()
        return running.is_set()

    try:
        collected(finalized, "the Publisher was not collected")
        recorder = recording(1_000, 1)
        bridge.from_jvm(shared_jvm.parties.Range(10_000)).subscribe(recorder)
        assert len(recorder.await_complete()) == 10_000
    finally:
        leave.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    "use", [str, lambda thing: thing.hashCode(), lambda thing: thing.java], ids=["str", "method", "java"]
)
def test_a_java_object_is_unavailable_in_a_forked_child(java_object: Any, use: Callable[[Any], Any]) -> None:
    def is_unavailable() -> bool:
        with pytest.raises((JvmUnavailable, LinkBroken)):
            use(java_object)
        return True

    assert status_of_a_child(is_unavailable) == 0
    assert str(java_object).startswith("java.lang.Object@"), "the parent cannot use the object any more"


def test_unauthenticated_peer_leaves_nothing_in_the_jvm(shared_jvm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM closes a connection that sends fragments before the handshake, and does not buffer them."""
    dial = link._dial
    fragments = b"".join(frame(FrameType.NEXT | MORE, number) for number in range(20_000))
    refused = threading.Event()

    def flood_then_dial(port: int, token: bytes) -> Any:
        # The limit is a number of bytes and not a time: the buffers of an unread socket hold a few hundred KB.
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as flood:
            flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
            with pytest.raises(ConnectionError):
                for _ in range(ACCEPTED_BYTES // len(fragments)):
                    flood.sendall(fragments)
        refused.set()
        return dial(port, token)

    monkeypatch.setattr(link, "_dial", flood_then_dial)
    with jvm.connect(shared_jvm.gateway) as bridge:
        assert refused.is_set()
        assert bridge.from_jvm(shared_jvm.parties.Range(10)).collect(timeout=DEADLINE) == list(range(10))


def test_java_receives_an_error_of_a_late_function_or_an_unprintable_exception(shared_jvm: Any) -> None:
    leave = threading.Event()

    class Unprintable(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    def raises(argument: object) -> None:
        raise Unprintable

    with jvm.connect(shared_jvm.gateway, call_timeout_seconds=0.3) as bridge:
        late = bridge.to_jvm_callable(lambda argument: leave.wait(DEADLINE), FUNCTION)
        try:
            assert "Python did not answer a call within 300 milliseconds" in shared_jvm.parties.failure(late)
        finally:
            leave.set()
    with jvm.connect(shared_jvm.gateway) as bridge:
        message = shared_jvm.parties.failure(bridge.to_jvm_callable(raises, FUNCTION))
        assert "Unprintable" in message and "SystemExit" in message, "the call ended by its deadline"


def test_close_returns_after_every_subscriber_was_notified(shared_jvm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer notifies the streams. The reader must not shut down the workers before all are notified."""
    bridge = jvm.connect(shared_jvm.gateway)
    connection = bridge._connection
    recorders = [recording(1) for _ in range(4)]
    for recorder in recorders:
        bridge.from_jvm(shared_jvm.parties.Range(1 << 60)).subscribe(recorder)
        recorder.await_count(1)
    lost = InboundStream.lost
    monkeypatch.setattr(link, "_GOAWAY_SECONDS", 0.05)

    def lost_late(stream: InboundStream, error: BaseException) -> None:
        connection._reader.join(0.3)  # gives the reader time to end before the streams are notified
        lost(stream, error)

    monkeypatch.setattr(InboundStream, "lost", lost_late)
    assert bridge.close(DEADLINE)
    for recorder in recorders:
        recorder.await_error(LinkClosed)


def test_a_java_object_of_a_closed_bridge_raises_link_closed(shared_jvm: Any) -> None:
    java = shared_jvm.gateway.jvm.java
    with jvm.connect(shared_jvm.gateway) as bridge:
        stage = java.util.concurrent.CompletableFuture.completedFuture(java.lang.Object())
        thing = bridge.from_jvm(stage).result(DEADLINE)
    for use in (str, lambda it: it.java, lambda it: it.hashCode()):
        with pytest.raises(LinkClosed, match="closed"):
            use(thing)
    assert repr(thing).startswith("<JavaObject")


def test_a_bridge_whose_end_the_jvm_noticed_first_is_broken(shared_jvm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A control call may reach the JVM after the link has ended there and before Python notices its end."""
    with jvm.connect(shared_jvm.gateway) as bridge:
        bridge._control.close()
        eventually(lambda: bridge.closed, "Python did not notice the end")
        monkeypatch.setattr(bridge._session, "open", True)
        with pytest.raises(LinkBroken, match="the link to the JVM is broken: "):
            bridge.to_jvm(pyrs.range(3))
        with pytest.raises(LinkBroken, match="the link to the JVM is broken: "):
            bridge.from_jvm(shared_jvm.parties.Range(3))
        monkeypatch.undo()
