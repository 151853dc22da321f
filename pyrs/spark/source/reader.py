"""A Data Source for Spark's Python workers, whose reader requests all answers from the driver's process.

It travels by value, so neither the planner nor the executors need this package. The nested classes use the standard
library, pyspark and pyarrow, imported in the methods that use them, and no name outside of their function.
"""

from __future__ import annotations

from typing import Any


def reader_source(name: str, schema: Any, host: str, port: int, token: bytes, max_rows: int) -> type[Any]:
    """Return a Data Source class for Spark to register.

    The token reaches the planner, a process on the driver's host, through the driver's JVM. It is removed before
    anything is sent to an executor, which receives its rows within its partition and opens no connection.

    Args:
        name: the name that Spark registers.
        schema: the ``StructType`` of the rows.
        host: the loopback address on which the driver's process listens.
        port: the port on which it listens.
        token: the secret that both sides prove to know.
        max_rows: the most rows of a batch.
    """
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    try:
        from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow
    except ImportError:  # before Spark 4.2 the reader applies the limit, and availableNow is one batch
        ReadMaxRows, SupportsTriggerAvailableNow = None, object  # noqa: N806 - Spark's names

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
        def __init__(self, token: bytes | None) -> None:
            self._token = token
            self._connection: Any = None
            self._position: Any = None
            self._finish = False

        def __getstate__(self) -> dict[str, Any]:
            return {}  # an executor needs no state

        def initialOffset(self) -> Any:  # noqa: N802
            self._position = self._answer("initial")
            return self._position

        def getDefaultReadLimit(self) -> Any:  # noqa: N802
            return ReadMaxRows(max_rows)

        def latestOffset(self, start: Any = None, limit: Any = None) -> Any:  # noqa: N802
            # Spark before 4.2 does not pass the start of the batch. It is the end of the previous batch.
            self._position = self._answer("latest", start=start or self._position, finish=self._finish)
            return self._position

        def reportLatestOffset(self) -> Any:  # noqa: N802
            return self._answer("report")

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            self._finish = True

        def partitions(self, start: Any, end: Any) -> Any:
            return [InputPartition(data) for data in self._ask("plan", start=start, end=end)]

        def read(self, partition: Any) -> Any:
            import pyarrow

            with pyarrow.ipc.open_stream(partition.value) as batches:
                yield from batches

        def commit(self, end: Any) -> None:
            self._answer("commit", end=end)

        def stop(self) -> None:
            if self._connection is not None:
                self._connection.close()

        def _answer(self, what: str, **offsets: Any) -> Any:
            import json

            return json.loads(self._ask(what, **offsets)[0])

        def _ask(self, what: str, **offsets: Any) -> list[bytes]:
            import json
            import struct

            if self._connection is None:
                self._connected()
            question = json.dumps({"what": what, **offsets}).encode()
            self._connection.sendall(struct.pack(">I", len(question)) + question)
            failed, count = struct.unpack(">BI", self._exactly(5))
            pieces = []
            for _ in range(count):
                (length,) = struct.unpack(">Q", self._exactly(8))
                pieces.append(self._exactly(length))
            if failed:
                raise RuntimeError(pieces[0].decode())
            return pieces

        def _connected(self) -> None:
            import socket
            import time

            for _ in range(20):  # the server drops the oldest unproven connection if foreign clients open many
                try:
                    self._connection = socket.create_connection((host, port), 10)
                    self._prove()
                except OSError as error:
                    reason = error
                    self.stop()
                    time.sleep(0.05)
                else:
                    return
            raise RuntimeError(f"the process that read_stream was called in does not answer: {reason}")

        def _prove(self) -> None:
            import hmac
            import os
            import socket

            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ours = os.urandom(32)
            self._connection.sendall(ours)
            theirs, proof, token = self._exactly(32), self._exactly(32), self._token or b""
            if not hmac.compare_digest(proof, hmac.digest(token, b"driver" + ours + theirs, "sha256")):
                raise RuntimeError("the server is not the process that read_stream was called in")
            self._connection.sendall(hmac.digest(token, b"reader" + ours + theirs, "sha256"))
            self._connection.settimeout(None)  # the answer may wait for an element

        def _exactly(self, length: int) -> bytes:
            if length > 1 << 30:
                raise RuntimeError(f"an answer of {length} bytes exceeds the limit of 1 GiB")
            data = bytearray(length)
            rest = memoryview(data)
            while rest:
                count = self._connection.recv_into(rest)
                if not count:
                    reason = "another query reads there now (or this one twice), or its session was stopped"
                    raise ConnectionError(f"the process that read_stream was called in does not answer: {reason}")
                rest = rest[count:]
            return bytes(data)

    class Source(DataSource):  # type: ignore[misc]
        def __init__(self, token: bytes) -> None:
            self._token: bytes | None = token

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> Any:
            return schema

        def streamReader(self, schema: Any) -> Any:  # noqa: N802
            token, self._token = self._token, None
            return Reader(token)

    class Registered(Source):
        def __new__(cls, options: Any) -> Any:
            # An instance of the other class, which travels without the token.
            return Source(token)

    return Registered
