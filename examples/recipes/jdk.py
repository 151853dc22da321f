"""The JDK: the recipe of docs/recipes/jdk.md.

Run it: python examples/recipes/jdk.py
"""

from __future__ import annotations

import tempfile
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaFuture, JavaObject


def size_of(url: str) -> int:
    with jvm.launch() as bridge:
        return sum(len(part) for part in download(bridge, http_client(bridge), url).to_iterable(timeout=30))


RESPONSE = "java.net.http.HttpResponse"


def http_client(bridge: Bridge) -> JavaObject:
    """Create a client for all requests; it owns connections and threads."""
    client: JavaObject = bridge.java_class("java.net.http.HttpClient").newHttpClient()
    return client


def download(bridge: Bridge, client: JavaObject, url: str) -> pyrs.Stream[bytes]:
    """Return the body of a response; each Subscriber makes its own request."""

    def request() -> pyrs.Stream[bytes]:
        as_publisher = bridge.java_class(f"{RESPONSE}$BodyHandlers").ofPublisher()
        future = client.sendAsync(request_to(bridge, url).build(), as_publisher)
        responses: JavaFuture = bridge.from_jvm(future)
        body: pyrs.Stream[bytes] = responses.concat_map(lambda response: body_of(bridge, response), prefetch=1)
        return body.do_on_cancel(lambda: future.cancel(True))

    return pyrs.defer(request)


def body_of(bridge: Bridge, response: JavaObject) -> pyrs.Stream[bytes]:
    buffers: pyrs.Stream[list[bytes]] = bridge.from_jvm(response.body())
    body = buffers.map(b"".join)
    if response.statusCode() == 200:
        return body
    # An unread body keeps its connection open: subscribe to it and cancel.
    return body.take(1).ignore_elements().concat(pyrs.error(OSError(f"HTTP status {response.statusCode()}")))


def request_to(bridge: Bridge, url: str) -> Any:
    address = bridge.java_class("java.net.URI").create(url)
    return bridge.java_class("java.net.http.HttpRequest").newBuilder(address)


BODY = "java.net.http.HttpRequest$BodyPublishers"


def upload(bridge: Bridge, client: JavaObject, url: str, body: pyrs.Publisher[bytes]) -> JavaFuture:
    """Send the body in chunks.

    The result is the response, whose ``body()`` is a string.
    """
    publisher = bridge.to_jvm(body, element_type="java.nio.ByteBuffer")
    request = request_to(bridge, url).POST(bridge.java_class(BODY).fromPublisher(publisher)).build()
    as_text = bridge.java_class(f"{RESPONSE}$BodyHandlers").ofString()
    response: JavaFuture = bridge.from_jvm(client.sendAsync(request, as_text))
    return response


def read_file(bridge: Bridge, path: str) -> pyrs.Stream[bytes]:
    """Return the bytes of a file, read in blocks of 16 KiB on request.

    Each Subscriber reads it from the start.
    """
    content: pyrs.Stream[bytes] = bridge.from_jvm(bridge.java_class(BODY).ofFile(java_path(bridge, path)))
    return content


def write_file(bridge: Bridge, path: str, content: pyrs.Publisher[bytes]) -> JavaFuture:
    """Write the file, one element at a time; the result is its path."""
    option = bridge.java_class("java.nio.file.StandardOpenOption")
    options = option.CREATE, option.WRITE, option.TRUNCATE_EXISTING
    writer = bridge.java_class(f"{RESPONSE}$BodySubscribers").ofFile(java_path(bridge, path), *options)
    blocks = pyrs.Stream(content).map(lambda part: [part])
    bridge.to_jvm(blocks, element_type="java.util.List<java.nio.ByteBuffer>").subscribe(writer.java)
    written: JavaFuture = bridge.from_jvm(writer.getBody())
    return written


def java_path(bridge: Bridge, path: str) -> JavaObject:
    result: JavaObject = bridge.java_class("java.nio.file.Path").of(path)
    return result


def events(bridge: Bridge, publisher: JavaObject) -> pyrs.Stream[Any]:
    """Return the elements that are submitted after ``subscribe`` returns."""
    submitted: pyrs.Stream[Any] = bridge.from_jvm(publisher)
    return submitted


with jvm.launch() as bridge, tempfile.NamedTemporaryFile() as file:
    write_file(bridge, file.name, pyrs.just(b"to be, ", b"or not to be")).result(30)
    print(read_file(bridge, file.name).collect(timeout=30))
