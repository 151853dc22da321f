"""The Flow types of the JDK: SubmissionPublisher, the HTTP client, and its file Publisher and Subscriber."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.jvm.link.window import BYTE_BUDGET
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.proxy import TcpProxy, proxy_to
from tests.interop.systems.system import System
from tests.serving import serving
from tests.waiting import eventually

SYSTEM = System(
    name="JDK",
    packages=(),
    component="the JDK 17: `SubmissionPublisher`, `java.net.http`, against a server in the process of the tests",
    source="`BodyHandlers.ofPublisher` (`List<ByteBuffer>` as a list of `bytes`), `BodyPublishers.ofFile` (`bytes`), "
    "`SubmissionPublisher` (any)",
    sink="`BodyPublishers.fromPublisher` (`bytes` as `ByteBuffer`), `BodySubscribers.ofFile`",
    ordering="kept",
    delivery="each byte once, or an error; a `SubmissionPublisher` emits the elements submitted after `subscribe`",
    cancel="closes the connection, or the file; unsubscribes from the `SubmissionPublisher`",
    gateways=("jpype", "spark"),
)

SIZE = 1 << 14
LARGE = 4096  # chunks: 64 MiB
BUFFERED = 16 << 20
"""An upper bound for the bytes in the buffers of sockets, client and link.

A download was measured with 0.5 MiB in these buffers, and an upload with 5 MiB.
"""


def chunks(count: int) -> Iterator[bytes]:
    """Return distinct chunks, which reveal a wrong order."""
    return (number.to_bytes(8, "big") * (SIZE // 8) for number in range(count))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the number of chunks in the path; /cut closes early, /none sends a long 404, /silent never answers."""
        if self.path == "/silent":
            self.server.requested.set()  # type: ignore[attr-defined]
            self.rfile.read(1)
            return
        count = {"/cut": 3, "/none": LARGE}.get(self.path) or int(self.path[1:])
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Length", str((count + 1 if self.path == "/cut" else count) * SIZE))
        self.end_headers()
        for chunk in chunks(count):
            self.wfile.write(chunk)
        self.close_connection = self.path == "/cut"

    def do_POST(self) -> None:
        """Answer with the digest of the body; /unread waits for the test, and closes the connection without reading."""
        if self.path == "/unread":
            self.server.resume.wait(DEADLINE)  # type: ignore[attr-defined]
            self.close_connection = True
            return
        digest = sha256()
        while size := int(self.rfile.readline(), 16):
            digest.update(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        self.send_response(200)
        answer = digest.hexdigest().encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):  # the client disconnected in the middle of its body
            pass

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requested = threading.Event()
        self.resume = threading.Event()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as server:
        yield server
        server.resume.set()


@pytest.fixture
def proxy(server: Server) -> Iterator[TcpProxy]:
    with proxy_to(server.server_port) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def client(connected: tuple[Bridge, Any], recipe: ModuleType) -> Any:
    return recipe.http_client(connected[0])


def url(at: TcpProxy, path: str) -> str:
    return f"http://127.0.0.1:{at.port}{path}"


class TestDownload:
    def test_program_on_the_page_runs(self, program: ModuleType, proxy: TcpProxy) -> None:
        assert program.size_of(url(proxy, "/3")) == 3 * SIZE

    @pytest.mark.parametrize("count", [0, 1, LARGE])
    def test_bytes_arrive_unchanged(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy, count: int
    ) -> None:
        parts = recipe.download(bridge, client, url(proxy, f"/{count}")).collect(timeout=2 * DEADLINE)
        assert b"".join(parts) == b"".join(chunks(count))

    def test_each_subscription_sends_a_request(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
    ) -> None:
        stream = recipe.download(bridge, client, url(proxy, "/1"))
        assert (
            b"".join(stream.collect(timeout=DEADLINE))
            == b"".join(stream.collect(timeout=DEADLINE))
            == b"".join(chunks(1))
        )

    def test_demand_and_cancel_reach_the_server(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
    ) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.download(bridge, client, url(proxy, f"/{LARGE}")).subscribe(received)
        received.await_count(3)
        assert proxy.stalled.wait(DEADLINE)
        assert proxy.downstream < BUFFERED
        received.cancel()
        assert proxy.client_gone.wait(DEADLINE)
        assert len(received.elements) == 3
        assert not received.ended

    def test_cancel_before_the_response_closes_the_connection(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, server: Server, proxy: TcpProxy
    ) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.download(bridge, client, url(proxy, "/silent")).subscribe(received)
        assert server.requested.wait(DEADLINE)
        received.cancel()
        assert proxy.client_gone.wait(DEADLINE)

    def test_truncated_response_fails_with_io_exception_after_its_bytes(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
    ) -> None:
        broken = TestSubscriber(None, timeout=DEADLINE)
        recipe.download(bridge, client, url(proxy, "/cut")).subscribe(broken)
        error = broken.await_error(JavaError)
        assert error.java_class == "java.io.IOException"
        assert b"".join(broken.elements) == b"".join(chunks(3))

    def test_error_status_raises_and_closes_the_connection(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
    ) -> None:
        with pytest.raises(OSError, match="404"):
            recipe.download(bridge, client, url(proxy, "/none")).collect(timeout=DEADLINE)
        assert proxy.client_gone.wait(DEADLINE), "the connection stays open for a body without a reader"

    def test_unreachable_server_fails_with_connect_exception(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject
    ) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
            address = f"http://127.0.0.1:{taken.getsockname()[1]}/"
            with pytest.raises(JavaError) as caught:
                recipe.download(bridge, client, address).collect(timeout=DEADLINE)
        assert caught.value.java_class == "java.net.ConnectException"


class TestUpload:
    @pytest.mark.parametrize("count", [0, 1, LARGE])
    def test_bytes_arrive_unchanged(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy, count: int
    ) -> None:
        body = Watched(lambda: chunks(count))
        response = recipe.upload(bridge, client, url(proxy, "/"), body).result(2 * DEADLINE)
        assert response.statusCode() == 200
        assert response.body() == sha256(b"".join(chunks(count))).hexdigest()
        assert body.subscribers == 1

    def test_slow_server_slows_the_publisher_and_a_disconnect_cancels_it(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, server: Server, proxy: TcpProxy
    ) -> None:
        body = Watched(lambda: chunks(LARGE * 1000))
        answer = recipe.upload(bridge, client, url(proxy, "/unread"), body)
        assert proxy.stalled.wait(DEADLINE)
        assert body.requested * SIZE < BUFFERED
        server.resume.set()
        assert body.cancelled.wait(DEADLINE)
        with pytest.raises(JavaError):
            answer.result(DEADLINE)

    def test_publisher_error_aborts_the_exchange(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
    ) -> None:
        error = ValueError("no more")
        answer = recipe.upload(bridge, client, url(proxy, "/"), Watched(lambda: chunks(1), error))
        with pytest.raises(ValueError, match="no more") as caught:
            answer.result(DEADLINE)
        assert caught.value is error
        assert proxy.client_gone.wait(DEADLINE)


class TestFiles:
    def test_copied_file_is_identical(self, bridge: Bridge, recipe: ModuleType, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        source.write_bytes(b"".join(chunks(100)))
        target.write_bytes(b"longer" * SIZE * 100)
        copy = recipe.write_file(bridge, str(target), recipe.read_file(bridge, str(source)))
        assert str(copy.result(DEADLINE)) == str(target)
        assert target.read_bytes() == source.read_bytes()

    def test_missing_file_raises_file_not_found_exception(
        self, bridge: Bridge, recipe: ModuleType, tmp_path: Path
    ) -> None:
        with pytest.raises(JavaError, match="not found") as caught:
            recipe.read_file(bridge, str(tmp_path / "none"))
        assert caught.value.java_class == "java.io.FileNotFoundException"

    def test_demand_of_the_file_writer_is_bounded(self, bridge: Bridge, recipe: ModuleType, tmp_path: Path) -> None:
        ahead: list[int] = []

        def parts() -> Iterator[bytes]:
            for chunk in chunks(LARGE):
                ahead.append(content.requested - content.emitted)
                yield chunk

        content = Watched(parts)
        recipe.write_file(bridge, str(tmp_path / "written"), content).result(2 * DEADLINE)
        assert content.emitted == LARGE
        assert max(ahead) * SIZE <= 2 * BYTE_BUDGET


class TestSubmissionPublisher:
    @pytest.fixture
    def publisher(self, bridge: Bridge) -> Any:
        return bridge.java_class("java.util.concurrent.SubmissionPublisher")()

    def test_elements_submitted_after_subscribe_arrive(
        self, bridge: Bridge, recipe: ModuleType, publisher: Any
    ) -> None:
        received = TestSubscriber(None, timeout=DEADLINE)
        recipe.events(bridge, publisher).subscribe(received)
        for number in range(10):
            publisher.submit(number)
        publisher.close()
        assert received.await_complete() == list(range(10))

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, publisher: Any
    ) -> None:
        received = TestSubscriber(2, timeout=DEADLINE)
        recipe.events(bridge, publisher).subscribe(received)
        lags = [publisher.offer(number, None) for number in range(1000)]
        assert min(lags) < 0, "1000 elements were buffered for a demand of 2"
        assert received.await_count(2) == [0, 1]
        received.cancel()
        eventually(lambda: not publisher.hasSubscribers(), "the cancel did not reach the publisher")
        publisher.close()
        assert not received.ended

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, publisher: Any) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.events(bridge, publisher).subscribe(received)
        publisher.closeExceptionally(bridge.java_class("java.lang.IllegalStateException")("the sensor is gone"))
        error = received.await_error(JavaError)
        assert error.java_message == "the sensor is gone"
