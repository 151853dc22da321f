"""The contender "limit": a minimal channel for the bytes of the link, over a bare socket without Reactive Streams.

To Python: a JVM sends prepared NEXT frames. Python reads and decodes them, and calls one bound method for each element.
To the JVM: one bound Python method is called for each element, a full batch is encoded in one call, and a Java thread
reads, decodes and calls ``onNext``.
"""

from __future__ import annotations

import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgpack

from benchmarks.consumer import DEADLINE_SECONDS, Consumer, NoDemand, Stalled

NEXT = 7
FRAME_ELEMENTS = 1_024
FRAME_BYTES = 65_536
_HEADER = struct.Struct(">IBQ")


def longs(count: int) -> Iterator[int]:
    """Return the elements of ``Sources.longs``."""
    return iter(range(count))


def records(count: int) -> Iterator[dict[str, object]]:
    """Yield the elements of ``Sources.records``."""
    for index in range(count):
        yield {"user": index, "rating": index * 0.5, "title": f"title {index % 1000}"}


def frames(elements: Iterable[object]) -> Iterator[bytes]:
    """Yield NEXT frames whose bodies have at most 1,024 elements and 65,536 bytes."""
    pack = msgpack.Packer().pack
    batch: list[bytes] = []
    size = 3
    for element in elements:
        value = pack(element)
        if len(batch) == FRAME_ELEMENTS or size + len(value) > FRAME_BYTES:
            yield _frame(msgpack.Packer().pack_array_header(len(batch)) + b"".join(batch))
            batch, size = [], 3
        batch.append(value)
        size += len(value)
    if batch:
        yield _frame(msgpack.Packer().pack_array_header(len(batch)) + b"".join(batch))


class FrameFiles:
    """Files of frames, written once for each kind and number of elements."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="pyrs-benchmarks-")
        self._files: dict[tuple[Callable[[int], Iterable[object]], int], Path] = {}

    def path(self, source: Callable[[int], Iterable[object]], count: int) -> Path:
        key = (source, count)
        if key not in self._files:
            self._files[key] = Path(self._directory.name) / f"{source.__name__}-{count}.frames"
            with self._files[key].open("wb") as file:
                file.writelines(frames(source(count)))
        return self._files[key]

    def repeated(self, content: bytes, count: int) -> Path:
        """Return the path of a file with ``count`` frames of the same content."""
        path = Path(self._directory.name) / f"repeated-{count}.frames"
        if not path.exists():
            with path.open("wb") as file:
                for _ in range(count):
                    file.write(_frame(content))
        return path

    def close(self) -> None:
        self._directory.cleanup()


def receive(port: int, consumer: Consumer, elements: int) -> float:
    """Read, decode and call a bound method for each element; return the seconds."""
    consumer.on_subscribe(NoDemand())
    start = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS) as peer, peer.makefile("rb", 1 << 18) as file:
        read, on_next, unpack, header_size = file.read, consumer.on_next, msgpack.unpackb, _HEADER.size
        while header := read(header_size):
            length, _, _ = _HEADER.unpack(header)
            for element in unpack(read(length - 9)):
                on_next(element)
    consumer.on_complete()
    seconds = time.perf_counter() - start
    consumer.wait(elements)
    return seconds


def increment(number: int) -> int:
    return number + 1


def is_positive(number: int) -> bool:
    return number > 0


def transformed(stream: Any) -> Any:
    """Apply the two functions that ``comprehend`` calls to each element of a stream of longs."""
    return stream.map(increment).filter(is_positive)


def comprehend(port: int, elements: int) -> float:
    """Read, decode and transform each frame by a list comprehension; return the seconds."""
    received: list[int] = []
    start = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS) as peer, peer.makefile("rb", 1 << 18) as file:
        read, unpack, header_size = file.read, msgpack.unpackb, _HEADER.size
        while header := read(header_size):
            length, _, _ = _HEADER.unpack(header)
            received += [each for element in unpack(read(length - 9)) if is_positive(each := increment(element))]
    seconds = time.perf_counter() - start
    if len(received) != elements:
        raise Stalled(f"{len(received)} elements arrived, {elements} were sent")
    return seconds


def receive_arrow(port: int, consumer: Consumer, elements: int) -> float:
    """Read whole IPC streams, and call a bound method with the RecordBatch of each; return the seconds."""
    import pyarrow

    consumer.on_subscribe(NoDemand())
    start = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS) as peer:
        peer.settimeout(None)  # MSG_WAITALL waits on a blocking socket only
        while header := peer.recv(_HEADER.size, socket.MSG_WAITALL):
            body = bytearray(_HEADER.unpack(header)[0] - 9)
            if peer.recv_into(body, len(body), socket.MSG_WAITALL) != len(body):
                raise Stalled('the connection of the contender "limit" ended inside a batch')
            with pyarrow.ipc.open_stream(pyarrow.py_buffer(body)) as reader:
                consumer.on_next(reader.read_next_batch())
    consumer.on_complete()
    seconds = time.perf_counter() - start
    consumer.wait(elements)
    return seconds


def send_arrow(port: int, content: bytes, elements: int, wait: Callable[[], Any]) -> float:
    """Send the bytes of an IPC stream for each element, and return the seconds until the JVM has received all."""
    header = _HEADER.pack(len(content) + 9, 0, 1)
    start = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS) as peer:
        for _ in range(elements):
            peer.sendall(header)
            peer.sendall(content)
    wait()
    return time.perf_counter() - start


def arrow_batch() -> Any:
    """Return a RecordBatch of 65,536 rows of a long, a double and a string."""
    import pyarrow

    rows = range(65_536)
    columns = [list(rows), [row * 0.5 for row in rows], [f"title {row}" for row in rows]]
    return pyarrow.RecordBatch.from_arrays([pyarrow.array(column) for column in columns], ["id", "half", "title"])


class Sender:
    """Collects elements, and writes each full batch directly to the socket."""

    def __init__(self, peer: socket.socket) -> None:
        self._send = peer.sendall
        self._pack = msgpack.Packer().pack
        self._batch: list[object] = []

    def on_next(self, element: object) -> None:
        batch = self._batch
        batch.append(element)
        if len(batch) == FRAME_ELEMENTS:
            self.flush()

    def flush(self) -> None:
        if self._batch:
            self._send(_frame(self._pack(self._batch)))
            self._batch.clear()


def send(port: int, elements: Iterable[object], wait: Callable[[], Any]) -> float:
    """Send every element, and return the seconds until the JVM has received all."""
    start = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sender = Sender(peer)
        on_next = sender.on_next
        for element in elements:
            on_next(element)
        sender.flush()
    wait()
    return time.perf_counter() - start


class Rows:
    """Repeat prepared records, because creating a dict costs more than sending it."""

    _records = tuple(records(1_024))

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Iterator[dict[str, object]]:
        whole, rest = divmod(self._count, len(self._records))
        for _ in range(whole):
            yield from self._records
        yield from self._records[:rest]


def _frame(body: bytes) -> bytes:
    return _HEADER.pack(len(body) + 9, NEXT, 1) + body
