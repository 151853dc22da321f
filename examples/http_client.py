"""The JDK HTTP client: Python makes the request body and takes the response. Run it: python examples/http_client.py"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import jpype

import pyrs
from pyrs import jvm

LINE = b"a line of the request body\n"


class Shout(BaseHTTPRequestHandler):
    """Answers with what it was sent, in capitals."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.upper())

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Body(pyrs.Subscriber[list[bytes]]):
    """Takes the answer a few buffers at a time, as the HTTP client has them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.over = Event()

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, buffers: list[bytes]) -> None:
        for buffer in buffers:
            self.data += buffer
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        print("failed:", error)
        self.over.set()

    def on_complete(self) -> None:
        self.over.set()


server = ThreadingHTTPServer(("127.0.0.1", 0), Shout)
Thread(target=server.serve_forever, daemon=True).start()

with jvm.launch() as bridge:
    http = jpype.JPackage("java").net.http
    # The request body: a Python Publisher, from which the HTTP client requests what it can send.
    lines = pyrs.range(1000).map(lambda number: LINE)
    body = bridge.to_jvm(lines, element_type="java.nio.ByteBuffer")
    publisher = http.HttpRequest.BodyPublishers.fromPublisher(body, 1000 * len(LINE))
    # The response body: a Python Subscriber, from which the HTTP client takes its demand.
    answer = Body()
    handler = http.HttpResponse.BodyHandlers.fromSubscriber(bridge.to_jvm(answer))

    address = jpype.JClass("java.net.URI").create(f"http://127.0.0.1:{server.server_port}/")
    request = http.HttpRequest.newBuilder(address).POST(publisher).build()
    response = bridge.from_jvm(http.HttpClient.newHttpClient().sendAsync(request, handler))  # a CompletableFuture
    print("status", response.result(timeout_seconds=30).statusCode())
    answer.over.wait(30)
    print(len(answer.data), "bytes came back, the first line of them:", answer.data.splitlines()[0].decode())

server.shutdown()
