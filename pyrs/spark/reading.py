"""Reading the partitions of a DataFrame: by the JVM's own Arrow batches, or by Spark's public interface."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from pyrs.errors import PyrsError
from pyrs.spark.arrow import read_batch, read_stream

__all__ = ["JvmReader", "PartitionFailed", "PublicReader", "Reader", "has_fast_path", "reader_for"]

_CONNECT_SECONDS = 15
_LENGTH = struct.Struct("!i")
_RUN_JOB = ("org.apache.spark.SparkContext", "org.apache.spark.api.java.JavaRDD", "java.util.ArrayList")
_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)  # of Linux
_probed: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()  # by gateway


class PartitionFailed(PyrsError, RuntimeError):
    """A partition of a DataFrame could not be computed. What Spark says is its ``__cause__``.

    Attributes:
        partition: which one, counted from 0.
    """

    def __init__(self, partition: int, message: str) -> None:
        super().__init__(partition, message)
        self.partition = partition

    def __str__(self) -> str:
        return f"partition {self.partition}: {self.args[1]}"


class Reader(Protocol):
    """The partitions of one subscription."""

    window: int
    """How many may be read at a time."""

    def open(self) -> int | None:
        """Plan the query; return how many partitions there are, None if that shows in the end only."""

    def read(self, partition: int, deliver: Callable[[Any], object], over: Callable[[], bool]) -> bool:
        """Run the job of a partition, and deliver its batches; return whether there was such a partition.

        Args:
            partition: which; each is read once, and in order where ``window`` is 1.
            deliver: takes a batch.
            over: whether nobody wants more.
        """


def reader_for(df: Any, schema: Any, window: int) -> Reader:
    """Return the faster reader that works on this driver."""
    return JvmReader(df, schema, window) if has_fast_path(df) else PublicReader(df, window)


def has_fast_path(df: Any) -> bool:
    """Return whether the driver's JVM has the methods that ``JvmReader`` calls, with the signatures that it knows."""
    try:
        gateway = df.sparkSession.sparkContext._gateway
        if gateway not in _probed:
            _probed[gateway] = _probe(gateway, df._jdf)
        return _probed[gateway]
    except Exception:  # one of them is missing, or a vendor's driver forbids the question itself
        return False


def _probe(gateway: Any, java_df: Any) -> bool:
    to_class = gateway.jvm.java.lang.Class.forName

    def look_up(owner: Any, name: str, *parameters: str) -> None:
        kinds = gateway.new_array(gateway.jvm.java.lang.Class, len(parameters))
        for i, parameter in enumerate(parameters):
            kinds[i] = to_class(parameter)
        owner.getMethod(name, kinds)  # raises NoSuchMethodException

    look_up(java_df.getClass(), "toArrowBatchRdd")
    look_up(to_class("org.apache.spark.api.python.PythonRDD"), "runJob", *_RUN_JOB)
    return True


class JvmReader:
    """Has the JVM encode each partition as Arrow, in a job of its own, as many at a time as the window says.

    The two methods are no public interface, but have had the same names and signatures since Spark 3.5.
    """

    def __init__(self, df: Any, schema: Any, window: int) -> None:
        self.window = window
        self._df = df
        self._schema = schema

    def open(self) -> int | None:
        context = self._df.sparkSession.sparkContext
        # A plan of our own: stages of a shared one that a cancel has killed would stay dead for everybody.
        rdd = self._df.select("*")._jdf.toArrowBatchRdd().toJavaRDD()
        jvm, scala_context = context._jvm, context._jsc.sc()
        run_job, array_list = jvm.PythonRDD.runJob, jvm.java.util.ArrayList
        count: int = rdd.getNumPartitions()

        def run(partition: int) -> Any:
            partitions = array_list()
            partitions.add(partition)
            return run_job(scala_context, rdd, partitions)

        self._run = run
        return count

    def read(self, partition: int, deliver: Callable[[Any], object], over: Callable[[], bool]) -> bool:
        address, secret, server = self._run(partition)
        with _connected(address, secret) as connection:
            for data in _frames(connection):
                if over():
                    return True
                batch = read_batch(data, self._schema)
                if batch.num_rows:
                    deliver(batch)
        server.getResult()  # raises if the JVM stopped in the middle
        return True


class PublicReader:
    """Has Python workers encode each partition, and takes what they made from ``toLocalIterator``.

    That is public interface alone, and reads one partition after the other; with a window of more than one Spark
    computes the next one meanwhile.
    """

    window = 1

    def __init__(self, df: Any, window: int) -> None:
        self._df = df
        self._ahead = window > 1
        self._encoded: Iterator[Any] = iter(())

    def open(self) -> int | None:
        encoded = self._df.mapInArrow(_encoder(), "batch binary")
        self._encoded = encoded.toLocalIterator(prefetchPartitions=self._ahead)
        return None

    def read(self, partition: int, deliver: Callable[[Any], object], over: Callable[[], bool]) -> bool:
        for (data,) in self._encoded:
            if data is None:
                return True  # the mark at a partition's end
            if over():
                return True
            for batch in read_stream(data):
                deliver(batch)
        return False


def _encoder() -> Callable[[Iterator[Any]], Iterator[Any]]:
    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        # Travels to the executors by value, so it uses nothing of this package: that need not be there.
        import pyarrow

        def row(value: Any) -> Any:
            return pyarrow.RecordBatch.from_arrays([pyarrow.array([value], pyarrow.binary())], ["batch"])

        for batch in batches:
            if batch.num_rows:
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch)
                yield row(sink.getvalue())
        yield row(None)

    return encode


def _connected(address: int | str, secret: str | None) -> socket.socket:
    """Return a connection to what the JVM serves: at a port of the loopback, or at a path."""
    if isinstance(address, str):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_CONNECT_SECONDS)
            connection.connect(address)
        except BaseException:
            connection.close()
            raise
    else:
        host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
        connection = socket.create_connection((host, address), _CONNECT_SECONDS)
        try:
            _prove(connection, secret or "")
        except BaseException:
            connection.close()
            raise
    connection.settimeout(None)  # a job is done when it is served: what follows is bounded by the memory it is in
    return connection


def _prove(connection: socket.socket, secret: str) -> None:
    if _QUICK_ACK is not None:
        # The JVM writes small pieces and waits for each to be acknowledged, which Linux puts off for 40 ms.
        connection.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    proof = secret.encode()
    connection.sendall(_LENGTH.pack(len(proof)) + proof)
    with connection.makefile("rb", 0) as answers:
        answer = _exactly(answers, _exactly_length(answers))
    if answer != b"ok":
        raise ConnectionError(f"Spark's JVM did not take our proof: {answer!r}")


def _frames(connection: socket.socket) -> Iterator[bytes]:
    with connection.makefile("rb", 1 << 16) as stream:
        while header := stream.read(_LENGTH.size):
            (length,) = _LENGTH.unpack(header)
            yield _exactly(stream, length)


def _exactly_length(stream: Any) -> int:
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return int(length)


def _exactly(stream: Any, length: int) -> bytes:
    data: bytes = stream.read(length)
    if len(data) < length:
        raise ConnectionError(f"Spark's JVM closed the connection {length - len(data)} bytes too early")
    return data
