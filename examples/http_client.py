"""Use the JDK HTTP client with Python streams as bodies.

Run it: python examples/http_client.py
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import jpype

import pyrs
from pyrs import jvm

LINE = b"a line of the request body\n"


class Shout(BaseHTTPRequestHandler):
    """Respond with the request's body in capitals."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.upper())

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Body(pyrs.Subscriber[list[bytes]]):
    """Collect the response, one list of buffers at a time."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.done = Event()

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, buffers: list[bytes]) -> None:
        for buffer in buffers:
            self.data += buffer
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        print("failed:", error)
        self.done.set()

    def on_complete(self) -> None:
        self.done.set()


server = ThreadingHTTPServer(("127.0.0.1", 0), Shout)
Thread(target=server.serve_forever, daemon=True).start()

with jvm.launch() as bridge:
    http = jpype.JPackage("java").net.http
    # The request body is a Python Publisher; the HTTP client requests elements as fast as it can send them.
    lines = pyrs.range(1000).map(lambda number: LINE)
    body = bridge.to_jvm(lines, element_type="java.nio.ByteBuffer")
    publisher = http.HttpRequest.BodyPublishers.fromPublisher(body, 1000 * len(LINE))
    # The response body goes to a Python Subscriber, whose demand the HTTP client obeys.
    received = Body()
    handler = http.HttpResponse.BodyHandlers.fromSubscriber(bridge.to_jvm(received))

    address = jpype.JClass("java.net.URI").create(f"http://127.0.0.1:{server.server_port}/")
    request = http.HttpRequest.newBuilder(address).POST(publisher).build()
    response = bridge.from_jvm(http.HttpClient.newHttpClient().sendAsync(request, handler))  # a CompletableFuture
    print("status", response.result(timeout_seconds=30).statusCode())
    received.done.wait(30)
    print(len(received.data), "bytes in the response, first line:", received.data.splitlines()[0].decode())

server.shutdown()
