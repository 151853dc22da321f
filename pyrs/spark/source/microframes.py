"""A Publisher's elements as small DataFrames: low latency, but no checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import pyarrow
import pyspark
from pyspark.sql import types as spark_types

from pyrs import schedulers
from pyrs._core.context import bound
from pyrs._core.display import name_of
from pyrs._core.fusion import checked_result
from pyrs._core.inputs import QueuedInput
from pyrs._core.validation import checked_callable, checked_natural, checked_publisher, checked_seconds
from pyrs.api import Publisher, Subscriber
from pyrs.errors import JvmUnavailable
from pyrs.schedulers.timer import waking_timer
from pyrs.spark.schema.arrow import checked_shape, prefers_large, rebuilt
from pyrs.spark.schema.rows import RowEncoder, checked_schema
from pyrs.spark.sessions import JobRun, SparkOperator, checked_session, in_background, wait_while_running
from pyrs.stream.stream import Single, Stream

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TAKES_ARROW = int(pyspark.__version__.partition(".")[0]) >= 4


def for_each_frame(
    publisher: Publisher[Any],
    schema: Any,
    fn: Callable[[Any], object],
    max_rows: int = 10_000,
    max_wait: float | timedelta = 1.0,
    spark: Any = None,
) -> Single[int]:
    """Call a function with small DataFrames of a Publisher's elements; count the rows.

        ---1-2-3---------4-|
        for_each_frame(schema, fn, max_rows=2)
        ------fn(1,2)-fn(3)-fn(4)--4|

    Cold: each subscription runs the function on the whole stream. Call ``block()`` on the result, or ``await`` it on an
    asyncio loop. An interrupt of either, or a cancel, cancels upstream and the jobs of the current frame.

    A frame is created when ``max_rows`` elements are buffered, when the first of them has waited for ``max_wait``, or
    when upstream ends, even with an error. While ``fn`` runs, the elements of one more frame are buffered: ``max_rows``
    elements are requested at first, and then as many as each new frame has. So at most one current and one buffered
    frame are in memory. No frame is empty.

    There is no checkpoint: a frame whose ``fn`` did not return is lost. Use ``read_stream`` if rows must not be lost,
    or are joined or aggregated over time.

    An element that does not fit the schema fails the result with ``SchemaMisfit``. ``fn`` is not called with the rows
    of that frame. The result fails with ``JvmUnavailable`` within about two seconds if the session is stopped while it
    waits for elements.

    Args:
        publisher: the source of the rows. A row is a ``Row``, a tuple or a dict, see ``RowEncoder``.
        schema: the schema of the rows: a ``StructType``, or text such as ``"id long, name string"``.
        fn: called with each DataFrame, on a thread of pyrs. Its Spark jobs carry a tag, by which a cancel finds them,
            and the local properties (such as a scheduler pool) of the thread that subscribed. If it raises, upstream is
            cancelled, and the result fails.
        max_rows: the maximum number of rows in a frame.
        max_wait: the longest time that a row waits for others while ``fn`` does not run: seconds or a timedelta.
        spark: the session, by default the active one.

    Returns:
        The number of rows, when all were processed.

    Raises:
        TypeError: an argument has a wrong type, or Arrow cannot carry the type of a column.
        ValueError: ``max_rows`` or ``max_wait`` is not positive, or the schema has no column or two columns with the
            same name.
        JvmUnavailable: there is no session, it was stopped, or it runs with ``PYSPARK_PIN_THREAD=false``.

    Rules: 1.3, 1.4, 2.1, 2.7, 2.8, 3.5, 3.13.

    Examples:
        >>> def store(df):                                                              # doctest: +SKIP
        ...     df.write.mode("append").parquet("/data/clicks")
        >>> await for_each_frame(clicks, "user long, page string", store, max_wait=0.2)  # doctest: +SKIP
    """
    source = checked_publisher(publisher, "publisher")
    session = _session(spark)
    struct = checked_schema(session, schema)
    frames = _MicroFrames(
        session,
        RowEncoder(struct, prefers_large(session)),
        checked_callable(fn, "fn"),
        checked_natural(max_rows, "max_rows", 1),
        checked_seconds(max_wait, "max_wait", positive=True),
    )
    call = f"for_each_frame({name_of(fn)}, max_rows={frames.max_rows}, max_wait={frames.max_wait:g})"
    return Single(SparkOperator(call, frames, _MicroFramesRun, source))


def _session(spark: Any) -> Any:
    if spark is None:
        from pyspark.sql import SparkSession

        try:
            spark = SparkSession.active()
        except Exception as error:
            raise JvmUnavailable("there is no active SparkSession: pass one as spark=") from error
    return checked_session(spark)


class _MicroFrames(NamedTuple):
    spark: Any
    encoder: RowEncoder
    fn: Callable[[Any], object]
    max_rows: int
    max_wait: float


class _MicroFramesRun(JobRun[int]):
    """Takes rows in the drain loop; a job thread builds each frame, and calls ``fn``."""

    def __init__(self, subscriber: Subscriber[int], operator: SparkOperator[int]) -> None:
        frames: _MicroFrames = operator.arguments
        super().__init__(subscriber, operator, frames.spark)
        self._frames = frames
        self._rows_input: QueuedInput[Any] = QueuedInput(self, frames.max_rows)
        self._timer = waking_timer(self, None)
        self._begun = False
        self._due = False
        self._running = False
        self._rows = 0
        self._ended = Event()
        self._stopped: JvmUnavailable | None = None

    def _advance(self) -> None:
        source = self._rows_input
        self._due = self._timer.claim() or self._due
        if not (self._begun or self._demand()):
            return
        if not self._begun:
            self._begun = True
            assert self._operator.source is not None
            # A pulled source must not block the drain loop, which also serves the timer.
            source.subscribe_to(Stream(self._operator.source).subscribe_on(schedulers.default()).source)
            # A stream that waits for elements has no job that would fail when the session stops.
            in_background(
                partial(wait_while_running, self._frames.spark, self._ended, partial(self.post, self._session_stopped))
            )
        ended = source.ended  # read before the queue: all elements before the end are in it
        waiting = len(source.elements)
        if waiting and not self._due and self._timer.deadline is None:
            self._timer.set_after(self._frames.max_wait)
        if self._running:
            return
        if waiting and (ended or self._due or waiting >= self._frames.max_rows):
            self._timer.cancel()
            self._due, self._running = False, True
            rows = [source.elements.popleft() for _ in range(min(waiting, self._frames.max_rows))]
            first, self._rows = self._rows, self._rows + len(rows)
            if not ended:
                source.request(len(rows))  # only now, so that at most one frame is buffered
            self._jobs.submit(partial(self._run_frame, rows, first))
        elif ended and not waiting:
            error, source.error = source.error, None
            if error is not None:
                self._fail(error)
            else:
                self._emit(self._rows)
                self._complete()
        elif self._stopped is not None:
            self._fail(self._stopped)

    def _run_frame(self, rows: list[Any], first: int) -> None:
        """Call ``fn``, on a thread whose jobs carry the tag."""
        try:
            frames = self._frames
            frame = _dataframe(frames.spark, frames.encoder, rows, first)
            checked_result(bound(partial(frames.fn, frame), self._context)())
        except BaseException as error:
            self._job_raised(error)
        else:
            self.post(self._frame_done)

    def _frame_done(self, _: object) -> None:
        self._running = False

    def _session_stopped(self, error: JvmUnavailable) -> None:
        self._operator.blame(error)
        self._stopped = error

    def _job_failed(self, error: BaseException) -> None:
        self._operator.blame(error)
        super()._job_failed(error)

    def _release(self) -> None:
        self._ended.set()
        self._timer.close()
        self._rows_input.cancel()
        super()._release()


def _dataframe(spark: Any, encoder: RowEncoder, rows: list[Any], first: int) -> Any:
    batch = encoder.batch(rows, first)
    if _TAKES_ARROW:
        try:
            return spark.createDataFrame(pyarrow.Table.from_batches([batch]), encoder.schema)
        except (pyarrow.ArrowInvalid, AttributeError):
            # Spark rejects null for a struct that contains a timestamp and a non-nullable field, and does not find the
            # fields of a user-defined type that is stored as such a struct.
            pass
    tuples, _ = checked_shape("tuples", rebuilt(encoder.schema, _with_instant), "UTC").of_batch(batch)
    return spark.createDataFrame(list(tuples), encoder.schema, verifySchema=False)


class _Instant(spark_types.TimestampType):  # type: ignore[misc]
    """A timestamp in UTC: ``createDataFrame`` ignores the ``fold`` of a naive time."""

    def fromInternal(self, ts: int) -> datetime:  # noqa: N802 - the name of Spark's method
        return _EPOCH + timedelta(microseconds=ts)


def _with_instant(kind: Any) -> Any:
    return _Instant() if isinstance(kind, spark_types.TimestampType) else kind
