"""DataFrames as cold Publishers: a bounded window of partitions, in Arrow batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from threading import Event, Lock
from time import monotonic
from typing import Any, NamedTuple, TextIO

from pyrs._core.validation import checked_natural
from pyrs.api import Subscriber
from pyrs.operators.progress import Progress
from pyrs.spark.read.execution import ExecutionFailed, in_sql_execution
from pyrs.spark.read.partitions import PartitionReader, is_cancelled, partition_failed, reader_for
from pyrs.spark.read.showing import Bar, table_of
from pyrs.spark.schema.arrow import (
    Encoding,
    Shape,
    checked_shape,
    distinct_fields,
    session_zone,
    shape_and_encoding,
    size_of,
)
from pyrs.spark.sessions import (
    JobRun,
    SparkOperator,
    checked_dataframe,
    dataframe_name,
    in_background,
    is_connect,
    unless_stopped,
)
from pyrs.stream.stream import Stream

_MEMORY = 256 << 20
_MIN_JOBS, _MAX_JOBS = 4, 16  # the bounds of the default window, which is the number of cores
_DECAY = 0.2  # the weight of a smaller partition in the expected size
# The limits of a job of several partitions: their number, and its expected result and duration.
_MAX_JOB_PARTITIONS = 64
_MAX_JOB_BYTES = 32 << 20
_MAX_JOB_SECONDS = 0.5
_MAX_BUFFERED_BATCHES = 8  # the maximum number of buffered batches of a reader that streams
_CHECK_SECONDS = 0.1


def from_dataframe(
    df: Any, as_: str = "rows", window: int | None = None, ordered: bool = True, memory: int = _MEMORY
) -> FrameStream:
    """Stream the rows of a DataFrame, a few partitions at a time.

        from_dataframe(df, window=2)
        job of partition 0  ====
        job of partition 1  ======
        job of partition 2      =====         after partition 0 was emitted
        --------------------0-0-0-1-1-1-2-2-|

    Cold: each Subscriber plans the query and runs its own jobs. Nothing runs before the first request. Each requested
    element starts the job of another partition, until ``window`` partitions are being computed or are buffered. After a
    partition is emitted, the next one starts if there is demand. So a paused Subscriber starts no job.

    Without a ``window`` the maximum number of jobs is the number of cores, but not less than 4 or more than 16. A job
    reads several partitions, at most 64, if all of them are demanded, and if the previous partitions were so small and
    fast that the job is expected to read at most 32 MiB, within 0.5 seconds.

    A job starts if the buffered batches and the partitions of all running jobs are expected to fit in ``memory``, or if
    nothing is buffered and no other job runs. The expected size of a partition is Spark's estimate at first, and then
    follows the observed sizes: a larger partition raises it at once, smaller ones lower it gradually. So the stream
    holds at most about ``memory`` and one partition, as Arrow. A partition larger than ``memory`` is read alone: the
    driver's JVM holds all of it, and Python at most ``memory``. If the last stage is a barrier stage, one job reads all
    partitions, because Spark runs their tasks together.

    The rows are those of ``df.collect()``, under the settings that the session has when the first request plans the
    query. Elements and the terminal signal arrive on threads of pyrs, never on the thread that subscribes or requests,
    so an asyncio loop is not blocked.

    A cancel, or the end of an iteration, cancels the jobs of this stream by their tag; other jobs of the session
    continue. The jobs have the local properties, such as the scheduler pool and the job group, of the thread that
    subscribed. In a classic session they lack the tags of ``spark.addTag``, because Spark binds tags to a thread.

    A DataFrame of Spark Connect is read from Connect's own Arrow stream, in order: ``window`` and ``ordered`` have no
    effect, and the server computes all partitions while the Subscriber is paused.

    The elements by ``as_``:

    - ``rows``: ``pyspark.sql.Row``, with the values that ``df.collect()`` has (binaries are bytes).
    - ``tuples``: plain tuples of the same values, faster.
    - ``dicts``: dicts by column name; nested structs are dicts, too.
    - ``arrow``: ``pyarrow.RecordBatch``, of at most ``spark.sql.execution.arrow.maxRecordsPerBatch`` rows (10,000).
    - ``pandas``: one ``pandas.DataFrame`` for each of these batches; times are naive, in the session's zone. Variants,
      spatial values and values of user-defined types have the form of Arrow, such as a dict of two binaries.

    Args:
        df: the DataFrame.
        as_: the type of the elements, see above. Demand counts elements, which are batches for the last two.
        window: the maximum number of partitions that are being computed or are buffered, one in each job; None for the
            maximum by cores, see above.
        ordered: whether partitions are emitted in the order of the DataFrame. Otherwise each is emitted when it is
            computed, and a slow partition does not delay the others.
        memory: the approximate maximum of bytes of Arrow that the stream holds, see above; 256 MiB by default.

    Raises:
        TypeError: ``df`` is not a DataFrame, a column has a type that Arrow cannot carry, ``as_`` is not a string, or
            ``window`` or ``memory`` is not an integer.
        ValueError: ``df`` is streaming, ``as_`` has another value, ``window`` or ``memory`` is less than 1, ``as_`` is
            ``"dicts"`` and two columns have the same name, or a struct has two fields with the same name and ``as_`` is
            neither ``"rows"`` nor ``"tuples"``.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.
        ImportError: ``as_`` is ``"pandas"``, which is not installed.

    A partition that cannot be computed fails the stream with ``PartitionFailed``, which names the partition; if
    ordered, after the elements before it. So does a partition that exceeds ``spark.driver.maxResultSize``. A query that
    cannot be planned fails the stream with Spark's error. A value without a Python form, such as a date after the year
    9999, fails it with a ``ValueError`` that names the column.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 1.8, 3.3, 3.5, 3.9, 3.13.

    Examples:
        >>> for row in from_dataframe(spark.range(3)).to_iterable():    # doctest: +SKIP
        ...     print(row)
        Row(id=0)
        Row(id=1)
        Row(id=2)
    """
    checked_dataframe(df, streaming=False)
    shape, encoding = shape_and_encoding(df, as_)
    most = window if window is None else checked_natural(window, "window", 1)
    arguments = _Arguments(df, shape, encoding, most, bool(ordered), checked_natural(memory, "memory", 1))
    return FrameStream(arguments.operator())


class FrameStream(Stream[Any]):
    """The stream of ``from_dataframe``, with progress by partitions."""

    __slots__ = ()

    source: SparkOperator[Any]

    def progress(
        self, total: int | None = None, description: str | None = None, *, file: TextIO | None = None
    ) -> Stream[Any]:
        """Show the progress of each subscription: the partitions read, and the rows.

            from_dataframe(df).progress()
            38%|███▊      | 3/8 [00:01<00:02, 2.50 partitions/s, 31,250 rows]

        The display is that of ``Stream.progress``: a ``tqdm`` bar if that is installed, also in a notebook, otherwise
        at most one line each half second. A row counts when it is signalled, a partition after the last row of its job.
        Demand is unchanged. An error of the display is reported to the dropped-errors hook, and the stream continues.

        After another operator, or with a ``total``, elements are counted instead of partitions.

        Args:
            total: the number of elements; None to count partitions.
            description: the text at the beginning of the line.
            file: the file to write to; None for stderr.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: ``total`` is negative.
        """
        if total is not None:
            return super().progress(total, description, file=file)
        return FrameStream(self.source.arguments._replace(progress=Progress(None, description, file)).operator())

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows, without running a job."""
        arguments = self.source.arguments
        order = "in order" if arguments.ordered else "in any order"
        most = f"{_MAX_JOBS} jobs" if arguments.window is None else f"{arguments.window} partitions"
        what = f"A stream of {arguments.shape.name}, at most {most} at a time, {order}."
        columns = [(field.name, field.dataType.simpleString()) for field in arguments.df.schema]
        return table_of(str(self.source.call), what, columns)


class _Arguments(NamedTuple):
    """The arguments of ``from_dataframe`` and ``progress``."""

    df: Any
    shape: Shape
    encoding: Encoding
    window: int | None
    ordered: bool
    memory: int
    progress: Progress | None = None

    def operator(self) -> SparkOperator[Any]:
        how = f"as_={self.shape.name!r}" + ("" if self.window is None else f", window={self.window}")
        how += ("" if self.ordered else ", ordered=False") + (
            "" if self.memory == _MEMORY else f", memory={self.memory}"
        )
        return SparkOperator(f"from_dataframe({dataframe_name(self.df)}, {how})", self, _DataFrameRun)


class _Job:
    """The batches of one job, from a reading thread to the drain loop."""

    __slots__ = ("batches", "done", "error", "partitions", "received", "seconds")

    def __init__(self, partitions: range) -> None:
        self.partitions = partitions
        self.batches: deque[Any] = deque()
        self.error: BaseException | None = None
        self.received = 0  # in bytes; written by the reading thread
        self.seconds = 0.0
        self.done = False  # set last, by the reading thread


class _DataFrameRun(JobRun[Any]):
    """Reads partitions on threads, and emits their elements in the drain loop."""

    def __init__(self, subscriber: Subscriber[Any], operator: SparkOperator[Any]) -> None:
        arguments: _Arguments = operator.arguments
        super().__init__(subscriber, operator, arguments.df.sparkSession)
        self._arguments = arguments
        self._shape = arguments.shape
        self._reader: PartitionReader | None = None
        self._planned = False
        self._count = 0  # the number of partitions
        self._most_jobs = self._first_jobs = arguments.window or _MIN_JOBS
        self._next = 0  # the partition that the next job starts with
        self._taken = 0  # the number of partitions whose batches were all taken
        self._slots: deque[_Job] = deque()  # jobs that run or have batches; used by the drain loop only
        self._bytes = 0  # the size of all batches that the drain loop has taken
        self._buffered_bytes = 0  # the size of the batches not taken yet; written under the lock
        self._buffered_lock = Lock()
        self._expected: float | None = None  # the expected size of a partition, in bytes
        self._is_estimate = True  # whether ``_expected`` is Spark's estimate
        self._seconds = 0.0  # the total duration of the finished jobs
        self._elements: Iterator[Any] | None = None  # the rest of the batch that is being emitted
        self._remaining = 0  # the number of elements in that rest
        self._rows_per_element = 1  # the number of rows in each of these elements
        self._batch_taken = Event()
        self._bar = None if arguments.progress is None else Bar(arguments.progress)
        self._read_all = False

    def _advance(self) -> None:
        while not self._interrupted:
            demand = self._demand()
            if demand:
                self._start_more()
            if self._elements is None:
                if not self._take_next():
                    return
            elif not demand:
                return
            else:
                emitted = self._emit_through(self._elements, min(demand, self._remaining), steady=True)
                self._remaining -= emitted
                if self._bar is not None:
                    self._bar.rows(emitted * self._rows_per_element)
                if not self._remaining:
                    self._elements = None

    def _start_more(self) -> None:
        reader = self._reader
        if reader is None:
            if not self._planned:
                self._planned = True
                self._jobs.submit(self._run_query, in_background)
            return
        if self._bar is not None and not self._next:
            self._bar.partitions(0, self._count)
        # Each requested element may need another partition, because partitions may be empty.
        most = min(self._most_jobs if self._taken else self._first_jobs, self._requested + self._taken)
        while len(self._slots) < most and self._next < self._count:
            memory = self._free_memory()
            if self._slots and memory < (self._expected or 0.0):
                return
            partitions = range(self._next, min(self._next + self._partitions_of_a_job(memory), self._count))
            self._next = partitions.stop
            job = _Job(partitions)
            self._slots.append(job)
            self._jobs.submit(partial(self._read, reader, job))

    def _free_memory(self) -> float:
        """Return the part of ``memory`` that buffered and expected bytes leave."""
        reserved: float = self._buffered_bytes
        for job in self._slots:
            if not job.done:
                reserved += max(0.0, (self._expected or 0.0) * len(job.partitions) - job.received)
        return self._arguments.memory - reserved

    def _observe(self, job: _Job) -> None:
        """Adapt the expected size to a finished job: raise it at once, lower it gradually."""
        size = job.received / len(job.partitions)
        if self._is_estimate or self._expected is None or size > self._expected:
            self._expected = size
        else:
            self._expected += (size - self._expected) * _DECAY
        self._is_estimate = False

    def _partitions_of_a_job(self, memory: float) -> int:
        """Return the number of partitions of the next job.

        Several, if all of them are demanded, earlier partitions were small and fast, and ``memory`` is enough. All, if
        they are those of a barrier stage.
        """
        taken = self._taken
        if self._reader is not None and self._reader.is_barrier:
            return self._count
        if self._arguments.window is not None or not taken:
            return 1
        demanded = self._demand() * taken / max(self._emitted, 1) - (self._next - taken)
        most_bytes = min(_MAX_JOB_BYTES, memory)
        small = min(most_bytes * taken / max(self._bytes, 1), _MAX_JOB_SECONDS * taken / max(self._seconds, 1e-6))
        return max(1, int(min(demanded, small, _MAX_JOB_PARTITIONS)))

    def _take_next(self) -> bool:
        """Take a batch, release a finished job, or complete the stream; False to wait."""
        slots = self._slots
        if self._arguments.ordered:
            job = slots[0] if slots else None
        else:
            job = next((each for each in slots if each.done or each.batches), None)
        if job is None:
            if self._reader is not None and not slots and self._next == self._count:
                self._read_all = True
                self._complete()
            return False
        done = job.done  # read first: when it is set, all batches have been appended
        if job.batches:
            batch = job.batches.popleft()
            size = size_of(batch)
            with self._buffered_lock:
                self._buffered_bytes -= size
            self._batch_taken.set()
            self._bytes += size
            self._elements, self._remaining = self._shape.of_batch(batch)
            self._rows_per_element = batch.num_rows // self._remaining
            return True
        if not done:
            return False
        slots.remove(job)
        if job.error is not None:
            self._fail(job.error)
            return False
        self._taken += len(job.partitions)
        self._seconds += job.seconds
        self._observe(job)
        if self._bar is not None:
            self._bar.partitions(self._taken, self._count)
        return True

    def _run_query(self) -> None:
        """Plan the query, and keep its SQL execution open until the stream ends."""
        site = self._operator.site
        title = "from_dataframe" if site is None else f"from_dataframe at {site}"  # as Spark names its own actions
        df, encoding = self._arguments.df, self._arguments.encoding
        try:
            if self._shape.name == "pandas":  # its times are in the session's zone, which may have changed
                self._shape = checked_shape("pandas", df.schema, session_zone(df.sparkSession))
            reader = reader_for(distinct_fields(df), encoding)
            if is_connect(reader.df):
                self._plan(reader)
                return
            in_sql_execution(reader.df, "from_dataframe", title, partial(self._plan, reader))
        except ExecutionFailed:
            pass
        except Exception as error:
            self._job_raised(error)

    def _plan(self, reader: PartitionReader) -> None:
        self._jobs.inherit()  # makes the jobs belong to this SQL execution, with the settings of this thread
        self._count = reader.open()
        self._expected = reader.expected_bytes()
        if self._arguments.window is None:
            cores = reader.cores()
            self._most_jobs = min(max(_MIN_JOBS, cores), _MAX_JOBS)
            self._first_jobs = min(cores + 1, self._most_jobs)  # later jobs have several partitions, if these are small
        self._reader = reader
        self.wake()
        self._jobs.wait_until_finished()

    def _read(self, reader: PartitionReader, job: _Job) -> None:
        delivered = False

        def deliver(batch: Any) -> None:
            nonlocal delivered
            delivered = True
            size = size_of(batch)
            job.received += size
            with self._buffered_lock:
                self._buffered_bytes += size
            job.batches.append(batch)
            self.wake()
            while self._is_full(reader, job) and self._live:
                self._batch_taken.clear()
                if self._is_full(reader, job):
                    self._batch_taken.wait(_CHECK_SECONDS)

        began = monotonic()
        failed = job.partitions[0]
        try:
            try:
                reader.read(job.partitions, deliver, self._has_ended)
            except Exception as error:
                is_final = delivered or reader.is_barrier or is_cancelled(error)
                if len(job.partitions) == 1 or is_final or self._has_ended():
                    raise
                # Read one by one, to emit the partitions before the failed one and to name it in the error.
                for failed in job.partitions:
                    reader.read(range(failed, failed + 1), deliver, self._has_ended)
        except Exception as error:
            if self._has_ended():
                return  # the cancel itself is the likely cause
            unknown = reader.delivers_all or reader.is_barrier
            job.error = unless_stopped(self._spark, partition_failed(error, None if unknown else failed))
        job.seconds = monotonic() - began
        job.done = True
        self.wake()

    def _is_full(self, reader: PartitionReader, job: _Job) -> bool:
        """Return whether a reading thread must wait.

        A thread whose job has no buffered batch continues, because its partition may be the next one to emit.
        """
        batches = len(job.batches)
        return bool(batches) and (
            self._buffered_bytes > self._arguments.memory or (reader.delivers_all and batches >= _MAX_BUFFERED_BATCHES)
        )

    def _has_ended(self) -> bool:
        return not self._live

    def _release(self) -> None:
        if self._read_all:
            self._jobs.finish()
        super()._release()
        if self._bar is not None:
            self._bar.close()
        self._slots.clear()
        self._elements = None
