"""Eclipse Vert.x: files and request bodies into Python, Python Publishers into responses."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.proxy import TcpProxy, proxy_to
from tests.interop.systems.system import System
from tests.waiting import eventually

SYSTEM = System(
    name="Eclipse Vert.x",
    packages=("io.vertx:vertx-reactive-streams:4.5.14", "io.reactivex.rxjava3:rxjava:3.1.12"),
    component="the library itself: its files, its HTTP server",
    source="`ReactiveWriteStream` behind a `ReadStream<Buffer>` (`bytes`): `AsyncFile`, `HttpServerRequest`",
    sink="`ReactiveReadStream` before a `WriteStream<Buffer>` (`bytes` as `Buffer`): `HttpServerResponse`",
    ordering="kept",
    delivery="each byte once, or an error",
    cancel="stops the pipe and closes the file",
    gateways=("jpype", "spark"),
)

SIZE = 1 << 14
LARGE = 4096  # chunks: 64 MiB
BUFFERED = 16 << 20
"""An upper bound for the bytes in the buffers of sockets, adapters and link."""


def chunks(count: int) -> Iterator[bytes]:
    """Return distinct chunks, which reveal a wrong order."""
    return (number.to_bytes(8, "big") * (SIZE // 8) for number in range(count))


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


@pytest.fixture(scope="module")
def vertx(connected: tuple[Bridge, Any], recipe: ModuleType) -> Iterator[Any]:
    bridge = connected[0]
    vertx = recipe.open_vertx(bridge)
    yield vertx
    recipe.awaited(bridge, vertx.close()).result(DEADLINE)


def read_by(received: TestSubscriber[bytes]) -> Callable[[pyrs.Stream[bytes]], pyrs.Publisher[bytes]]:
    """Return a handler that subscribes to the body of a request and answers nothing."""

    def answer(body: pyrs.Stream[bytes]) -> pyrs.Publisher[bytes]:
        body.subscribe(received)
        return pyrs.never()

    return answer


@pytest.fixture
def open_files(bridge: Bridge) -> Any:
    """Return a function that lists the open files of the JVM."""
    folder = Path(f"/proc/{bridge.java_class('java.lang.ProcessHandle').current().pid()}/fd")

    def paths() -> list[str]:
        found = []
        for entry in folder.iterdir():
            try:
                found.append(os.readlink(entry))
            except OSError:  # closed since the listing
                pass
        return found

    return paths


class TestEventLoop:
    def test_elements_arrive_on_the_event_loop(self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType) -> None:
        """While the event loop is busy no element arrives."""
        busy, released = threading.Event(), threading.Event()

        def occupy(_: object) -> None:
            busy.set()
            released.wait(DEADLINE)

        vertx.getOrCreateContext().runOnContext(bridge.to_jvm_callable(occupy, "io.vertx.core.Handler"))
        assert busy.wait(DEADLINE)
        content, received = Watched(lambda: iter(range(1000))), TestSubscriber(1000, timeout=DEADLINE)
        try:
            loop = recipe.on_event_loop(bridge, vertx, bridge.to_jvm(content))
            bridge.from_jvm(loop).subscribe(received)
            received.await_subscription()
            elsewhere = bridge.java_class(f"{recipe.RXJAVA}.core.Flowable").range(1, 1000)
            assert len(bridge.from_jvm(elsewhere).collect(timeout=DEADLINE)) == 1000
            assert received.elements == []
            assert content.requested < 100
        finally:
            released.set()
        assert received.await_complete() == list(range(1000))


class TestFile:
    def test_program_on_the_page_runs(self, program: ModuleType, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(bytes(SIZE))
        assert program.size_of(str(tmp_path / "file")) == SIZE

    @pytest.mark.parametrize("count", [0, 1, 1000])
    def test_bytes_arrive_unchanged(
        self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType, tmp_path: Path, count: int
    ) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"".join(chunks(count)))
        stream = recipe.read_file(bridge, vertx, str(file))
        parts = stream.collect(timeout=DEADLINE)
        assert all(type(part) is bytes for part in parts)
        assert b"".join(parts) == b"".join(chunks(count))
        assert b"".join(stream.collect(timeout=DEADLINE)) == b"".join(parts)

    def test_slow_subscriber_receives_all_elements(
        self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType, tmp_path: Path
    ) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"".join(chunks(100)))
        received = TestSubscriber(1, timeout=DEADLINE, on_element=lambda subscriber, _: subscriber.request(1))
        recipe.read_file(bridge, vertx, str(file)).subscribe(received)
        assert b"".join(received.await_complete()) == b"".join(chunks(100))

    def test_cancel_closes_the_file(
        self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType, open_files: Any, tmp_path: Path
    ) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"".join(chunks(LARGE)))
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.read_file(bridge, vertx, str(file)).subscribe(received)
        received.await_count(3)
        assert str(file) in open_files()
        received.cancel()
        eventually(lambda: str(file) not in open_files(), "the file is still open")
        assert len(received.elements) == 3

    @pytest.mark.parametrize("count", [1, 7, 500])
    def test_slow_write_stream_receives_all_elements(
        self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType, tmp_path: Path, count: int
    ) -> None:
        """The stream is full after each element, so the Publisher completes while the pipe is paused."""
        file = tmp_path / "file"
        options = bridge.java_class("io.vertx.core.file.OpenOptions")()
        opened = recipe.awaited(bridge, vertx.fileSystem().open(str(file), options)).result(DEADLINE)
        content = pyrs.from_iterable(list(chunks(count)))
        recipe.into_write_stream(bridge, vertx, content, opened.setWriteQueueMaxSize(2)).result(DEADLINE)
        assert _digest([file.read_bytes()]) == _digest(chunks(count))

    def test_missing_file_fails_the_stream(
        self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType, tmp_path: Path
    ) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.read_file(bridge, vertx, str(tmp_path / "none")).subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "io.vertx.core.file.FileSystemException"
        assert "none" in str(error)


class TestServer:
    @pytest.fixture
    def serve(self, bridge: Bridge, vertx: JavaObject, recipe: ModuleType) -> Iterator[Any]:
        """Return a function that starts a server and returns a proxy to it."""
        running = []

        def start(answer: Any) -> TcpProxy:
            server = recipe.serve(bridge, vertx, answer)
            proxy = proxy_to(server.actualPort())
            running.append((server, proxy))
            return proxy.__enter__()

        yield start
        for server, proxy in running:
            proxy.__exit__(None, None, None)
            recipe.awaited(bridge, server.close()).result(DEADLINE)

    @pytest.mark.parametrize("count", [0, 1, 16, LARGE])
    def test_bytes_arrive_unchanged_in_both_directions(self, serve: Any, count: int) -> None:
        proxy = serve(lambda body: body.map(bytes.swapcase))
        with socket.create_connection(("127.0.0.1", proxy.port), DEADLINE) as client:
            sending = self._sending(client, count)
            response = http.client.HTTPResponse(client)
            response.begin()
            assert response.status == 200
            assert response.read() == b"".join(chunks(count)).swapcase()
            sending.join(DEADLINE)

    def test_slow_client_slows_the_publisher_and_a_disconnect_cancels_it(self, serve: Any) -> None:
        content = Watched(lambda: chunks(LARGE * 1000))
        proxy = serve(lambda body: content)
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert proxy.stalled.wait(DEADLINE)
            assert content.requested * SIZE < BUFFERED
            assert not content.cancelled.is_set()
        assert content.cancelled.wait(DEADLINE)

    def test_subscriber_without_demand_slows_the_client(self, serve: Any) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        with self._stalled_by(received, serve) as (client, sending):
            received.cancel()
            client.shutdown(socket.SHUT_RDWR)
            sending.join(DEADLINE)
        assert len(received.elements) == 3
        assert not received.ended

    @pytest.mark.parametrize("demand", [LARGE * SIZE, pyrs.UNBOUNDED])
    def test_subscriber_that_requests_again_receives_the_rest(self, serve: Any, demand: int) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        with self._stalled_by(received, serve) as (_, sending):
            assert len(received.elements) == 3
            received.request(demand)
            parts = received.await_complete()
            sending.join(DEADLINE)
        assert _digest(parts) == _digest(chunks(LARGE))

    def test_client_disconnect_fails_the_request_body(self, serve: Any) -> None:
        received = TestSubscriber(None, timeout=DEADLINE)
        sent = b"".join(chunks(4))
        with socket.create_connection(("127.0.0.1", serve(read_by(received)).port)) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % (2 * len(sent)) + sent)
            received.await_count(1)
        error = received.await_error(JavaError)
        assert "closed" in str(error)
        assert sent.startswith(b"".join(received.elements))

    @contextlib.contextmanager
    def _stalled_by(
        self, received: TestSubscriber[bytes], serve: Any
    ) -> Iterator[tuple[socket.socket, threading.Thread]]:
        """Yield a client and the thread that sends its body, which blocks after the three requested parts."""
        proxy = serve(read_by(received))
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            sending = self._sending(client, LARGE)
            received.await_count(3)
            assert proxy.stalled.wait(DEADLINE)
            assert proxy.upstream < BUFFERED
            yield client, sending

    @staticmethod
    def _sending(client: socket.socket, count: int) -> threading.Thread:
        """Send a request with ``count`` chunks on another thread."""

        def send() -> None:
            with contextlib.suppress(OSError):
                client.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % (count * SIZE))
                for chunk in chunks(count):
                    client.sendall(chunk)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        return thread

    def test_publisher_error_aborts_the_exchange(self, serve: Any) -> None:
        proxy = serve(lambda body: Watched(lambda: chunks(1), ValueError("no more")))
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=DEADLINE)
        connection.request("GET", "/")
        with pytest.raises((http.client.HTTPException, OSError)):  # the response is cut off
            connection.getresponse().read()
        connection.close()
