"""``connect(reconnect=True)`` over Py4J to a JVM without Spark: the connection is cut, and the JVM keeps running."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import jvm
from pyrs.errors import JvmUnavailable, LinkBroken, LinkClosed
from pyrs.jvm.java_objects import Operation
from pyrs.jvm.link import connection
from pyrs.testing import TestSubscriber
from tests.waiting import DEADLINE, eventually

pyspark = pytest.importorskip("pyspark")
NEW_LINK = "its streams, calls and Java objects have ended, and the next use of the bridge opens a new link"


def launch_jvm() -> Any:
    from py4j.java_gateway import JavaGateway

    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    return JavaGateway.launch_gateway(jarpath=str(jar), die_on_exit=True, enable_auth=True)


def stop_jvm(gateway: Any) -> None:
    process = gateway.java_process
    gateway.shutdown()
    process.stdin.close()
    process.wait(DEADLINE)
    process.stdout.close()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    gateway = launch_jvm()
    yield gateway
    stop_jvm(gateway)


def cut(bridge: jvm.Bridge) -> None:
    """Shut down the socket, as if the connection broke, and wait until the session has ended."""
    session = bridge._session
    bridge._connection._socket.shutdown(socket.SHUT_RDWR)
    eventually(lambda: not session.open, "the end of the connection was not noticed")


def consume_in_java(bridge: jvm.Bridge, stream: pyrs.Stream[Any]) -> None:
    """Subscribe Java to a Python stream, and wait for the end."""
    body = bridge.java_class("java.net.http.HttpResponse$BodySubscribers").discarding()
    bridge.to_jvm(stream).subscribe(body)
    assert bridge.from_jvm(body.getBody()).result(DEADLINE) is None


def test_new_streams_work_after_the_link_broke(gateway: Any) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        publisher = gateway.jvm.java.util.concurrent.SubmissionPublisher()
        for _ in range(3):
            old, cancelled = TestSubscriber[Any](10), threading.Event()
            bridge.from_jvm(publisher).subscribe(old)
            body = gateway.jvm.java.net.http.HttpResponse.BodySubscribers.discarding()
            bridge.to_jvm(pyrs.never().do_on_cancel(cancelled.set)).subscribe(body)
            cut(bridge)
            assert NEW_LINK in str(old.await_error(LinkBroken, DEADLINE))
            assert cancelled.wait(DEADLINE)
            assert not bridge.closed
            assert repr(bridge).startswith(f"<Bridge {bridge.name} broken, ")
            new = TestSubscriber[Any](10)
            bridge.from_jvm(publisher).subscribe(new)
            publisher.submit("after")
            assert new.await_count(1, DEADLINE) == ["after"]
            assert old.elements == []
            consume_in_java(bridge, pyrs.empty())
            assert bridge.java_class("java.lang.Integer").parseInt("7") == 7
            assert " open, " in repr(bridge)
        eventually(lambda: publisher.getNumberOfSubscribers() == 1, "Java Subscriptions of old links are left")


def test_calls_of_objects_of_the_old_link_raise_link_broken(gateway: Any) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        strings, java_list = bridge.java_class("java.lang.String"), bridge.java_class("java.util.ArrayList")()
        raw = java_list.java
        cut(bridge)
        assert bridge.java_class("java.util.List").of(raw).size() == 1
        with pytest.raises(LinkBroken):
            strings.valueOf(1)
        with pytest.raises(LinkBroken):
            java_list.size()


def test_any_use_of_an_object_of_the_old_link_raises_link_broken(gateway: Any) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        concurrent = gateway.jvm.java.util.concurrent
        body = gateway.jvm.java.net.http.HttpResponse.BodySubscribers.discarding()
        converted = [*map(bridge.from_jvm, (concurrent.SubmissionPublisher(), concurrent.CompletableFuture(), body))]
        publisher = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
        cut(bridge)
        for each in (*converted, publisher):
            with pytest.raises(LinkBroken, match="belongs to a link that has ended"):
                bridge.from_jvm(each)
        for use in (bridge.to_jvm, bridge.value_of, bridge.java_class("java.util.Objects").isNull):
            with pytest.raises(LinkBroken, match="belongs to a link that has ended"):
                use(publisher)


def test_from_jvm_raises_link_broken_if_the_link_breaks_during_the_call(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        mirror = bridge.to_jvm(pyrs.just(1))
        control = bridge._references.control
        unwrap = control.unwrap

        def unwrap_and_cut(value: object) -> int:
            handle = unwrap(value)
            cut(bridge)
            bridge.java_class("java.lang.String")  # opens the next link, as another thread could
            return handle

        monkeypatch.setattr(control, "unwrap", unwrap_and_cut)
        with pytest.raises(LinkBroken, match="the next use of the bridge opens a new link"):
            bridge.from_jvm(mirror)


def test_a_call_that_java_receives_after_the_link_broke_raises_link_broken(gateway: Any) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        java_list = bridge.java_class("java.util.ArrayList")()
        references = java_list._link
        cut(bridge)
        eventually(lambda: not references.control.is_open(), "Java did not notice the end of the connection")
        with pytest.raises(LinkBroken, match="the bridge to Python has ended"):
            references._command([int(Operation.METHOD), java_list, "size"], references)
        with pytest.raises(LinkBroken, match="the bridge to Python has ended"):
            references.control.resolve(java_list._handle)


def test_a_call_with_an_object_that_java_refuses_to_export_raises_link_broken(gateway: Any) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        java_list = bridge.java_class("java.util.ArrayList")()
        references, raw = java_list._link, gateway.jvm.java.lang.Object()
        cut(bridge)
        eventually(lambda: not references.control.is_open(), "Java did not notice the end of the connection")
        with pytest.raises(LinkBroken, match="the bridge to Python has ended"):
            references._command([int(Operation.METHOD), java_list, "add", raw], references)


@pytest.mark.parametrize("returns_object", [False, True], ids=["value", "object"])
def test_a_call_that_java_is_executing_when_the_link_breaks_returns_its_result(
    gateway: Any, returns_object: bool
) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge, ThreadPoolExecutor(1) as pool:
        future = gateway.jvm.java.util.concurrent.CompletableFuture()
        call = pool.submit(bridge.java_class("java.util.Objects").requireNonNull(future).get)
        eventually(lambda: future.getNumberOfDependents() == 1, "Java does not execute the call")
        cut(bridge)
        eventually(lambda: not bridge._control.is_open(), "Java did not notice the end of the connection")
        future.complete(gateway.jvm.java.lang.Object() if returns_object else "late")
        result = call.result(DEADLINE)
        if returns_object:
            with pytest.raises(LinkBroken):
                result.toString()
        else:
            assert result == "late"


def test_a_link_that_does_not_open_leaves_the_bridge_usable(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        cut(bridge)
        before = bridge._references

        def refused(port: int, token: bytes) -> Any:
            raise LinkBroken("not now")

        monkeypatch.setattr(connection, "_dial", refused)
        with pytest.raises(LinkBroken, match="not now"):
            bridge.java_class("java.lang.String")
        assert bridge._references is before
        monkeypatch.undo()
        assert bridge.java_class("java.lang.Integer").parseInt("7") == 7


def test_a_finalizer_that_uses_the_bridge_while_a_link_is_opened_does_not_break_the_link(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector runs a finalizer on the thread that opens the link."""
    with jvm.connect(gateway, reconnect=True) as bridge:
        errors: list[BaseException] = []
        unpatched = bridge._gateway.open

        def open_and_collect(token: bytes, options: Any) -> Any:
            try:
                bridge.java_class("java.lang.String")
            except LinkBroken as error:
                errors.append(error)
            return unpatched(token, options)

        monkeypatch.setattr(bridge._gateway, "open", open_and_collect)
        for expected in (1, 2):
            cut(bridge)
            used: list[Any] = []
            thread = threading.Thread(target=lambda: used.append(bridge.java_class("java.lang.Integer")), daemon=True)  # noqa: B023
            thread.start()
            thread.join(DEADLINE)
            assert not thread.is_alive(), "the finalizer waits for the lock of its own thread"
            assert len(errors) == expected
            assert used[0].parseInt("7") == 7


def test_threads_share_one_new_link(gateway: Any) -> None:
    with jvm.connect(gateway, reconnect=True) as bridge:
        cut(bridge)
        with ThreadPoolExecutor(8) as pool:
            classes = list(pool.map(bridge.java_class, ["java.util.ArrayList"] * 16))
        assert {each.class_._link for each in classes} == {bridge._references}


def test_a_closed_bridge_stays_closed(gateway: Any) -> None:
    bridge = jvm.connect(gateway, reconnect=True)
    cut(bridge)
    bridge.close()
    assert bridge.closed and " closed, " in repr(bridge)
    with pytest.raises(LinkClosed):
        bridge.java_class("java.lang.String")


def test_without_reconnect_the_bridge_stays_broken(gateway: Any) -> None:
    bridge = jvm.connect(gateway)
    subscriber = TestSubscriber[Any](1)
    bridge.from_jvm(gateway.jvm.java.util.concurrent.SubmissionPublisher()).subscribe(subscriber)
    cut(bridge)
    assert NEW_LINK not in str(subscriber.await_error(LinkBroken, DEADLINE))
    assert bridge.closed
    with pytest.raises(LinkClosed):
        bridge.java_class("java.lang.String")


def test_a_jvm_that_has_ended_is_unavailable() -> None:
    gateway = launch_jvm()
    bridge = jvm.connect(gateway, reconnect=True)
    session = bridge._session
    stop_jvm(gateway)
    eventually(lambda: not session.open)
    with pytest.raises(JvmUnavailable, match="no JVM answers"):
        bridge.java_class("java.lang.String")
    bridge.close()
