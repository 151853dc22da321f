"""The Data Sources of ``read_stream`` and ``stream_from_publishers``.

Spark's planner and the executors run them. Their classes are pickled by value, so ``read_stream`` does not need this
package there, and ``stream_from_publishers`` can report that it is missing. Therefore the nested classes use only
variables of the enclosing function, and modules of the standard library, pyspark and pyarrow.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow


def streaming_source(
    name: str, schema: Any, open_planner: Callable[[], Any], read: Callable[[Any], Iterator[Any]]
) -> type[Any]:
    """Return a Data Source class for Spark to register.

    Args:
        name: the name of the format.
        schema: the Spark schema of the rows.
        open_planner: called in Spark's planner, a process on the driver's host; returns an object with the methods
            that ``Reader`` calls. It reaches the planner through the driver's JVM, and is removed before anything is
            sent to an executor, so it may contain a secret.
        read: called on an executor with the value of a partition; yields its batches.
    """
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    try:
        from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow
    except ImportError:  # before Spark 4.2 there are no limits, and availableNow is one batch
        ReadMaxRows, SupportsTriggerAvailableNow = None, object  # noqa: N806 - Spark's names

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
        def __init__(self, open_planner: Any) -> None:
            self._open_planner = open_planner
            self._opened: Any = None
            self._position: Any = None

        def __getstate__(self) -> dict[str, Any]:
            return {}  # an executor needs no state

        def _planner(self) -> Any:
            if self._opened is None:
                self._opened = self._open_planner()
            return self._opened

        def initialOffset(self) -> Any:  # noqa: N802
            initial = self._planner().initial()
            if self._position is None:  # Spark before 4.2 requests it after the first micro-batch has been planned
                self._position = initial
            return initial

        def getDefaultReadLimit(self) -> Any:  # noqa: N802
            return ReadMaxRows(1)  # the number has no effect; the type differs from that of Trigger.Once

        def latestOffset(self, start: Any = None, limit: Any = None) -> Any:  # noqa: N802
            # Spark before 4.2 does not pass the start of the batch, which is the end of the previous batch.
            limited = type(limit).__name__ != "ReadAllAvailable"
            self._position = self._planner().after(start or self._position, limited)
            return self._position

        def reportLatestOffset(self) -> Any:  # noqa: N802
            return self._planner().latest()

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            self._planner().finish()

        def partitions(self, start: Any, end: Any) -> Any:
            return [InputPartition(value) for value in self._planner().ranges(start, end)]

        def read(self, partition: Any) -> Any:
            return read(partition.value)

        def commit(self, end: Any) -> None:
            self._planner().commit(end)

        def stop(self) -> None:
            if self._opened is not None:
                self._opened.close()

    class Source(DataSource):  # type: ignore[misc]
        def __init__(self, open_planner: Any) -> None:
            self._open_planner = open_planner

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> Any:
            return schema

        def streamReader(self, schema: Any) -> Any:  # noqa: N802
            open_planner, self._open_planner = self._open_planner, None
            return Reader(open_planner)

    class Registered(Source):
        def __new__(cls, options: Any) -> Any:
            # The result is not an instance of this class, which refers to ``open_planner``: Spark pickles a class with
            # its instance.
            return Source(open_planner)

    return Registered


def reader_source(name: str, schema: Any, host: str, port: int, token: bytes) -> type[Any]:
    """Return the Data Source class of ``read_stream``.

    Its planner sends requests to the server of the driver. An executor receives its rows within its partition, and
    opens no connection.
    """

    class Client:
        def __init__(self, token: bytes) -> None:
            self._token = token
            self._connection: Any = None
            self._finish = False

        def initial(self) -> Any:
            return self._request_json("initial")

        def after(self, start: Any, limited: bool) -> Any:
            return self._request_json("latest", start=start, finish=self._finish, once=not limited)

        def latest(self) -> Any:
            return self._request_json("report")

        def finish(self) -> None:
            self._finish = True

        def ranges(self, start: Any, end: Any) -> list[bytes]:
            return self._request("plan", start=start, end=end)

        def commit(self, end: Any) -> None:
            self._request_json("commit", end=end)

        def close(self) -> None:
            if self._connection is not None:
                self._connection.close()

        def _request_json(self, what: str, **offsets: Any) -> Any:
            return json.loads(self._request(what, **offsets)[0])

        def _request(self, what: str, **offsets: Any) -> list[bytes]:
            if self._connection is None:
                self._connect()
            request = json.dumps({"what": what, **offsets}).encode()
            self._connection.sendall(struct.pack(">I", len(request)) + request)
            failed, count = struct.unpack(">BI", self._exactly(5))
            pieces = []
            for _ in range(count):
                (length,) = struct.unpack(">Q", self._exactly(8))
                pieces.append(self._exactly(length))
            if failed:
                raise RuntimeError(pieces[0].decode())
            return pieces

        def _connect(self) -> None:
            for _ in range(20):  # the server closes the oldest unauthenticated connection if there are many
                try:
                    self._connection = socket.create_connection((host, port), 10)
                    self._prove()
                except OSError as error:
                    reason = error
                    self.close()
                    time.sleep(0.05)
                else:
                    return
            raise RuntimeError(f"the process that read_stream was called in does not answer: {reason}")

        def _prove(self) -> None:
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            nonce = os.urandom(32)
            self._connection.sendall(nonce)
            server_nonce, proof = self._exactly(32), self._exactly(32)
            if not hmac.compare_digest(proof, hmac.digest(self._token, b"driver" + nonce + server_nonce, "sha256")):
                raise RuntimeError("the server is not the process that read_stream was called in")
            self._connection.sendall(hmac.digest(self._token, b"reader" + nonce + server_nonce, "sha256"))
            self._connection.settimeout(None)  # the answer may wait for an element

        def _exactly(self, length: int) -> bytes:
            if length > 1 << 30:
                raise RuntimeError(f"an answer of {length} bytes exceeds the limit of 1 GiB")
            pieces = []
            while length:
                # This call usually receives everything, in one allocation.
                piece = self._connection.recv(length, socket.MSG_WAITALL)
                if not piece:
                    reason = "another query or another run of this one reads the stream now, or its session was stopped"
                    raise ConnectionError(f"the process that read_stream was called in does not answer: {reason}")
                pieces.append(piece)
                length -= len(piece)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read(data: bytes) -> Iterator[Any]:
        with pyarrow.ipc.open_stream(data) as batches:
            yield from batches

    return streaming_source(name, schema, partial(Client, token), read)
