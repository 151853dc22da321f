"""Read the partitions of a DataFrame as Arrow batches."""

from __future__ import annotations

import re
import socket
import struct
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Lock
from traceback import format_exception
from typing import Any
from weakref import WeakSet

import pyarrow

from pyrs.errors import PyrsError
from pyrs.spark.read.execution import java_method
from pyrs.spark.schema.arrow import Encoding, arrow_schema, numbered, prefers_large, renamed
from pyrs.spark.sessions import is_connect, loopback

_CONNECT_SECONDS = 15
_UNKNOWN_BYTES = 1 << 60
_TOO_LARGE = "spark.driver.maxResultSize"
_WITHOUT_MESSAGE = re.compile(r"[\w.$]+")  # an exception whose text is the name of its class
_TRACEBACK = "Traceback (most recent call last):"
_GROUPED = 3  # the number of errors of an exception group in its text
_LENGTH = struct.Struct("!i")
_PARTITION_FAILED = re.compile(r"(?:[\w.]+\.)?PartitionFailed: partition (\d+): (.*)")
_BARRIER_TASK = re.compile(r"\bbarrier task \w+\(\d+, (\d+)\) finished unsuccessfully")
_JOB_CANCELLED = re.compile(r"\bJob \d+ cancelled\b")
_RUN_JOB = ("org.apache.spark.SparkContext", "org.apache.spark.api.java.JavaRDD", "java.util.ArrayList")
_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)  # available on Linux only
_probed: WeakSet[Any] = WeakSet()  # the gateways for which has_fast_path has returned True


class PartitionFailed(PyrsError, RuntimeError):
    """A partition of a DataFrame could not be computed; Spark's error is the cause.

    Attributes:
        partition: the index of the partition.
    """

    def __init__(self, partition: int, message: str) -> None:
        super().__init__(partition, message)
        self.partition = partition

    def __str__(self) -> str:
        return f"partition {self.partition}: {self.args[1]}"


def partition_failed(error: BaseException, partition: int | None = None) -> BaseException:
    """Return a ``PartitionFailed`` with Spark's error as its cause.

    Args:
        error: the exception that Spark raised.
        partition: the index of the partition; None to read it from the text of the error. If the text has none, the
            error itself is returned.
    """
    reason = reason_of(error)
    found = _PARTITION_FAILED.match(reason)
    if found is not None and partition in (None, int(found[1])):
        partition, reason = int(found[1]), found[2]
    if partition is None:
        task = _BARRIER_TASK.search(text_of(error))
        if task is None:
            return error
        partition = int(task[1])
    if _TOO_LARGE in reason:
        reason += f". Make partitions smaller with df.repartition(n), or set {_TOO_LARGE} before the session starts"
    failed = PartitionFailed(partition, reason)
    failed.__cause__ = error
    return failed


def text_of(error: BaseException) -> str:
    """Return the type and the message of an error.

    The text of an exception group has those of its first errors, too.

    UTF-8 can encode the result, even if the error names a file whose name is not UTF-8. If Spark's worker cannot encode
    the text of an error, it sends no error, and its task may never end.
    """
    try:
        text = f"{type(error).__name__}: {str(error).lstrip()}"  # the first line is the reason
        grouped = getattr(error, "exceptions", ())
        if grouped and isinstance(grouped, tuple):  # Spark's worker may drop them with the cause
            text += ": " + "; ".join(text_of(each).splitlines()[0] for each in grouped[:_GROUPED])
    except Exception as failed:
        return f"{type(error).__name__} (its __str__ raised {type(failed).__name__})"
    return text.encode("utf-8", "backslashreplace").decode()


def cause_for_worker(error: BaseException) -> BaseException | None:
    """Return the error as the cause of an error in a task, or None.

    The result is None if UTF-8 cannot encode the traceback of the error, because Spark's worker may send the traceback
    of the cause, too.
    """
    try:
        "".join(format_exception(error)).encode()
    except Exception:
        return None
    return error


def reason_of(error: BaseException) -> str:
    """Return the reason of an error in one line.

    For a Java error, it is the text of the innermost cause that has a message: the error of a Python worker that has
    exited is caused by an ``EOFException`` without one.
    """
    text = ""
    java = getattr(error, "java_exception", None)
    try:
        while java is not None:
            own = (java.toString() or "").strip()  # some exceptions have no text
            if not text or (own and not _WITHOUT_MESSAGE.fullmatch(own)):
                text = own
            java = java.getCause()
    except Exception:  # the JVM has ended
        pass
    lines = (text or text_of(error)).strip().splitlines()
    found = next((line for line in lines if _PARTITION_FAILED.match(line)), None)
    if found is not None:
        return found
    # A Python worker's error ends with the traceback and the message of the exception, which may have several lines.
    starts = [i for i, line in enumerate(lines) if _TRACEBACK in line]
    after = lines[starts[-1] + 1 :] if starts else []
    # The error of a barrier stage names its task in the first line, and the reason in the second.
    first = 1 if len(lines) > 1 and _BARRIER_TASK.search(lines[0]) else 0
    return next((line for line in after if line[:1].isalpha()), lines[first])


def is_cancelled(error: BaseException) -> bool:
    """Return whether the error means that the job was cancelled, in code or in the UI."""
    return _JOB_CANCELLED.search(reason_of(error)) is not None


class PartitionReader(ABC):
    """Reads the partitions of ``df`` by jobs of its plan, for one subscription."""

    delivers_all = False
    """Whether one read delivers the batches of all partitions, and waits while ``deliver`` blocks."""

    is_barrier = False
    """Whether one job must compute all partitions, because Spark starts the tasks of a barrier stage together."""

    def __init__(self, df: Any) -> None:
        self.df = df

    @abstractmethod
    def open(self) -> int:
        """Plan the query, and return the number of partitions."""

    def expected_bytes(self) -> float | None:
        """Return Spark's estimate of the size of a partition, or None.

        Call this after ``open``.
        """
        return None

    def cores(self) -> int:
        """Return the number of partitions that Spark can compute at the same time."""
        return 1

    @abstractmethod
    def read(self, partitions: range, deliver: Callable[[Any], object], ended: Callable[[], bool]) -> None:
        """Run the job of some partitions, and deliver their batches.

        The delivery ends when ``ended`` returns True. Several threads may call this at the same time.
        """


def reader_for(df: Any, encoding: Encoding) -> PartitionReader:
    """Return the fastest reader that works with this session."""
    if is_connect(df):
        return ConnectReader(df, encoding)
    return JvmReader(df, encoding) if has_fast_path(df) else PublicReader(df)


def has_fast_path(df: Any) -> bool:
    """Return whether the driver's JVM has the methods that ``JvmReader`` calls."""
    try:
        gateway = df.sparkSession.sparkContext._gateway
        if gateway not in _probed:
            java_method(gateway, df._jdf.getClass(), "toArrowBatchRdd")
            rdd = gateway.jvm.java.lang.Class.forName("org.apache.spark.api.python.PythonRDD")
            java_method(gateway, rdd, "runJob", *_RUN_JOB)
            _probed.add(gateway)
    except Exception:  # a method is missing, or a vendor's driver forbids reflection
        return False
    return True


class _RddReader(PartitionReader):
    def __init__(self, df: Any) -> None:
        super().__init__(df)
        self._context = df.sparkSession.sparkContext
        self._observed: Lock | None = None

    def open(self) -> int:
        self._encoded = self._plan()
        # Since Spark 4.3 the metrics of an ``Observation`` are those of a single RDD, so all jobs of an observed plan
        # run over one RDD. They run sequentially, because jobs that share an RDD fail together.
        has_metrics = _if_supported(lambda: not self.df._jdf.queryExecution().observedMetrics().isEmpty())
        self._observed = Lock() if has_metrics else None
        self._partitions = int(self._encoded.getNumPartitions())
        return self._partitions

    def cores(self) -> int:
        return int(self._context.defaultParallelism)

    @abstractmethod
    def _plan(self) -> Any:
        """Return the RDD of encoded batches."""


class JvmReader(_RddReader):
    """Reads each partition as Arrow that the JVM encodes.

    A job reads one partition or several small ones. The reader calls ``toArrowBatchRdd`` and ``PythonRDD.runJob``,
    which are not public, but have had the same names and signatures since Spark 3.5.
    """

    def __init__(self, df: Any, encoding: Encoding) -> None:
        super().__init__(df.alias("pyrs"))  # a separate plan, because the stages of a shared one would stay cancelled
        self._kinds = df.schema
        self._encoding = encoding
        self._idle: deque[Any] = deque()

    def _plan(self) -> Any:
        jvm = self._context._jvm
        self._spark_context = self._context._jsc.sc()
        self._run_job, self._array_list = jvm.PythonRDD.runJob, jvm.java.util.ArrayList
        self._nothing = self._context._jsc.emptyRDD()
        while True:
            # toArrowBatchRdd reads the setting of large types, which may change during the call. The batches have no
            # schema, and pyarrow would crash with a wrong one.
            large = prefers_large(self.df.sparkSession)
            encoded = self.df._jdf.toArrowBatchRdd()
            if large is prefers_large(self.df.sparkSession):
                break
        if large is not self._encoding.large:
            self._encoding = Encoding(arrow_schema(self._kinds, large), large)
        self.is_barrier = bool(_if_supported(lambda: encoded.isBarrier()))
        return encoded.toJavaRDD()

    def expected_bytes(self) -> float | None:
        size = _if_supported(lambda: int(str(self.df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())))
        # Without statistics, as for an RDD, Spark returns spark.sql.defaultSizeInBytes, by default the largest long.
        return None if size is None or size >= _UNKNOWN_BYTES else size / max(self._partitions, 1)

    def _run(self, partitions: range) -> Any:
        # No two jobs share an RDD at the same time: when one fails, Spark's scheduler fails all jobs over its RDD, and
        # the partition that failed could not be identified. A union with an empty RDD is an RDD with the same content.
        if self.is_barrier:
            return self._run_over(self._encoded, partitions)
        if self._observed is not None:
            with self._observed:
                return self._run_over(self._encoded, partitions)
        try:
            rdd = self._idle.popleft()
        except IndexError:
            rdd = self._encoded.union(self._nothing)
        served = self._run_over(rdd, partitions)
        self._idle.append(rdd)
        return served

    def _run_over(self, rdd: Any, partitions: range) -> Any:
        indices = self._array_list()
        for partition in partitions:
            indices.add(partition)
        return self._run_job(self._spark_context, rdd, indices)

    def read(self, partitions: range, deliver: Callable[[Any], object], ended: Callable[[], bool]) -> None:
        address, secret, server = self._run(partitions)
        try:
            with _connected(address, secret) as connection:
                for data in _frames(connection):
                    if ended():
                        return
                    batch = pyarrow.ipc.read_record_batch(pyarrow.py_buffer(data), self._encoding.schema)
                    if batch.num_rows:
                        deliver(batch)
            server.getResult()  # raises if the JVM stopped before it had sent everything
        finally:
            # The server holds the whole partition, and Py4J would release it only at a later garbage collection.
            self._context._gateway.detach(server)


class PublicReader(_RddReader):
    """Reads each partition as Arrow that Python workers encode.

    It reads them with public methods of Spark: ``mapInArrow``, ``rdd`` and ``runJob``.
    """

    def __init__(self, df: Any) -> None:
        self._names = df.columns
        # mapInArrow parses the names of columns, and loses the number of rows without a column.
        sent = numbered(df) if self._names else df.selectExpr("true AS row")
        super().__init__(sent.mapInArrow(_encoder(), "batch binary"))

    def _plan(self) -> Any:
        rdd = self.df.rdd
        java = rdd._jrdd.rdd()
        self.is_barrier = bool(_if_supported(lambda: java.isBarrier()))
        self._shared = _MappedOnce(rdd.mapPartitions(_payloads()))
        return rdd

    def _run(self, partitions: range) -> list[bytes]:
        if self._observed is None:
            return self._run_over(self._encoded, partitions)  # see JvmReader._run
        with self._observed:
            return self._run_over(self._shared, partitions)

    def _run_over(self, rdd: Any, partitions: range) -> list[bytes]:
        return self._context.runJob(rdd, _payloads(), list(partitions))  # type: ignore[no-any-return]

    def read(self, partitions: range, deliver: Callable[[Any], object], ended: Callable[[], bool]) -> None:
        for data in self._run(partitions):
            if ended():
                return
            with pyarrow.ipc.open_stream(data) as batches:
                for batch in batches:
                    deliver(renamed(batch, self._names) if self._names else batch.select([]))


class ConnectReader(PartitionReader):
    """Reads all partitions, in order, from the Arrow stream of Spark Connect.

    The reader presents them as one partition. It calls the client's ``to_table_as_iterator``, which is not public.
    ``toLocalIterator`` has called this method since Spark 3.5.
    """

    delivers_all = True

    def __init__(self, df: Any, encoding: Encoding) -> None:
        self._has_columns = bool(encoding.schema.names)
        # The client loses the number of rows of a batch without a column.
        super().__init__(df if self._has_columns else df.selectExpr("true AS row"))
        self._encoding = encoding

    def open(self) -> int:
        return 1

    def read(self, partitions: range, deliver: Callable[[Any], object], ended: Callable[[], bool]) -> None:
        plan, client = self.df._plan, self.df.sparkSession.client
        observed = (plan.observations,) if hasattr(plan, "observations") else ()  # since Spark 4.0
        with closing(client.to_table_as_iterator(plan.to_proto(client), *observed)) as answers:
            for answer in answers:
                if ended():
                    return
                if isinstance(answer, pyarrow.Table):  # the other answers are schemas
                    table = self._encoded(answer) if self._has_columns else answer
                    for batch in table.to_batches():
                        deliver(batch if self._has_columns else batch.select([]))

    def _encoded(self, table: pyarrow.Table) -> pyarrow.Table:
        """Return the table with the types of the encoding, in which times are in UTC.

        Only columns of other types are cast: Arrow's cast refuses a null in a list of variants, and an array of nulls.
        """
        schema = self._encoding.schema
        if table.schema.types == schema.types:
            return table
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(table.columns, schema, strict=True)
        ]
        return pyarrow.Table.from_arrays(columns, schema=schema)


class _MappedOnce:
    """Gives all jobs the same RDD: ``runJob`` calls ``mapPartitions`` for each job."""

    def __init__(self, mapped: Any) -> None:
        self._mapped = mapped

    def mapPartitions(self, function: Any) -> Any:  # noqa: N802 - the name of Spark's method
        return self._mapped


def _if_supported(call: Callable[[], Any]) -> Any:
    """Return the result of a method in the JVM; None if a vendor's driver lacks it."""
    try:
        return call()
    except Exception:
        return None


def _encoder() -> Callable[[Iterator[Any]], Iterator[Any]]:
    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        # Pickled by value, so it imports nothing from this package, which may be missing on the executors.
        import pyarrow

        for batch in batches:
            if batch.num_rows:
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch)
                yield pyarrow.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})

    return encode


def _payloads() -> Callable[[Iterator[Any]], Iterator[bytes]]:
    return lambda rows: (bytes(row[0]) for row in rows)


def _connected(address: int | str, secret: str | None) -> socket.socket:
    """Return a connection to the JVM's server, at a loopback port or a Unix socket."""
    if isinstance(address, str):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_CONNECT_SECONDS)
    else:
        connection = socket.create_connection((loopback(), address), _CONNECT_SECONDS)
    try:
        if isinstance(address, str):
            connection.connect(address)
        else:
            _prove(connection, secret or "")
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)  # the job has ended, and its result is in memory
    return connection


def _prove(connection: socket.socket, secret: str) -> None:
    if _QUICK_ACK is not None:
        # The JVM writes small pieces and waits for the TCP acknowledgement of each, which Linux delays by 40 ms.
        connection.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    proof = secret.encode()
    connection.sendall(_LENGTH.pack(len(proof)) + proof)
    with connection.makefile("rb", 0) as answers:
        (length,) = _LENGTH.unpack(_exactly(answers, _LENGTH.size))
        answer = _exactly(answers, length)
    if answer != b"ok":
        raise ConnectionError(f"Spark's JVM refused the secret of the connection: {answer!r}")


def _frames(connection: socket.socket) -> Iterator[bytes]:
    with connection.makefile("rb", 1 << 16) as stream:
        while header := stream.read(_LENGTH.size):
            (length,) = _LENGTH.unpack(header)
            yield _exactly(stream, length)


def _exactly(stream: Any, length: int) -> bytes:
    data: bytes = stream.read(length)
    while len(data) < length:  # without a buffer a read may be short: before Java 16 the JVM writes single bytes
        more = stream.read(length - len(data))
        if not more:
            raise ConnectionError(f"Spark's JVM closed the connection {length - len(data)} bytes too early")
        data += more
    return data
