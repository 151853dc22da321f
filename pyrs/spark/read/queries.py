"""Streaming queries as Publishers of their batches, which Subscribers acknowledge."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from math import inf
from os import PathLike, fspath
from threading import Condition
from time import monotonic, sleep
from typing import Any, NamedTuple

from pyrs._core.coordinator import Coordinator
from pyrs.api import Subscriber
from pyrs.errors import JvmUnavailable, PyrsError
from pyrs.spark.read.dataframes import from_dataframe
from pyrs.spark.read.execution import exclude_from_log
from pyrs.spark.schema.arrow import shape_and_encoding
from pyrs.spark.sessions import (
    NO_INTERRUPTS,
    SparkOperator,
    checked_dataframe,
    checked_session,
    dataframe_name,
    drain_executor,
    in_background,
    inherited,
    unless_stopped,
    why_stopped,
)
from pyrs.stream.stream import Stream

_log = logging.getLogger("pyrs.spark")
_REMIND_SECONDS = 60.0
_ACKNOWLEDGE = ("explicit", "request")

_CHECK_SECONDS = 0.1
_STOP_CHECK_SECONDS = 1.0
_COMMIT_SECONDS = 10.0
_TRIGGERS = ("processingTime", "availableNow", "once")


class _Stopped(Exception):
    """Ends the foreachBatch function without a commit, and the query without an error.

    Spark recognizes this text, which the error of an interrupted Java call has, and does not fail the query. The text
    is short because Spark's pattern recurses for each character.
    """

    def __init__(self) -> None:
        text = "An error occurred while calling it\n: java.lang.InterruptedException"
        super().__init__(f"py4j.protocol.Py4JJavaError: {text}")


class BatchDiscarded(PyrsError, RuntimeError):
    """A batch was garbage collected before ``ack()`` was called.

    Spark has not committed the batch: the next query over the checkpoint receives it again.

    Attributes:
        batch_id: the number of the batch.
    """

    def __init__(self, batch_id: int) -> None:
        super().__init__(batch_id)
        self.batch_id = batch_id

    def __str__(self) -> str:
        return (
            f"batch {self.batch_id} was discarded without an acknowledgement: keep the Batch and call batch.ack() when "
            'its data is stored, or use from_stream(..., acknowledge="request")'
        )


class Batch(NamedTuple("_BatchFields", [("batch_id", int), ("data", Any)])):
    """A micro-batch of a streaming query: a tuple of its number and its rows.

    As a context manager it acknowledges itself when the block ends without an exception.

    Attributes:
        batch_id: Spark's number for the batch. A batch that was not acknowledged is delivered again with the same
            number.
        data: the rows, in the form that ``as_`` of ``from_stream`` names.
    """

    _query: _QueryRun | None = None  # the query that waits for the acknowledgement

    def ack(self) -> None:
        """Acknowledge the batch: Spark commits it, and computes the next one.

        Call it from any thread. A second call does nothing, and so does a call after the query has ended. The commit
        follows the call: a cancel waits for it, in the background, but the end of the session or of the process does
        not.
        """
        query, self._query = self._query, None
        if query is not None:
            query.acknowledge(self.batch_id)

    def __del__(self) -> None:
        if self._query is not None:
            self._query.batch_discarded(self.batch_id)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.ack()

    def __reduce__(self) -> tuple[Any, ...]:
        return Batch, tuple(self)  # a copy cannot acknowledge the batch


def from_stream(
    sdf: Any,
    as_: str = "rows",
    checkpoint: str | PathLike[str] | None = None,
    trigger: Mapping[str, Any] | None = None,
    output_mode: str = "append",
    acknowledge: str = "explicit",
) -> Stream[Batch]:
    """Return a stream of the batches of a streaming DataFrame.

        from_stream(sdf)
        request(2)
        -----------Batch(0)--------------Batch(1)---
                            batch 0.ack()
                            Spark commits batch 0

    Cold: each Subscriber starts its own query, with its first request. Spark commits a batch to the checkpoint,
    and computes the next one, when ``batch.ack()`` is called. So at most one batch is not acknowledged, and operators
    that prefetch, buffer or change threads can follow.

    Delivery is at least once: a batch that was not acknowledged when the query stopped or failed, when the Subscriber
    cancelled or when the driver died, is delivered again with the same ``batch_id`` by the next query over the
    checkpoint. Store the ``batch_id`` with the data to recognize it. A batch that is garbage collected without
    ``ack()`` fails the stream with ``BatchDiscarded``.

    With ``acknowledge="request"`` the demand acknowledges: Spark commits a batch when another one is requested, or,
    with unbounded demand, when ``on_next`` returns. This is at least once only if a Subscriber requests an element
    after it has processed the one before. ``to_iterable()``, ``buffer``, ``concat_map`` and other operators request
    earlier: a driver that dies then loses the batches that these have buffered.

    A batch is in memory as a whole. The source limits its size (``maxFilesPerTrigger``, ``maxOffsetsPerTrigger``).

    The stream completes when the query ends: all data was read (``availableNow``), or ``query.stop()`` was called,
    which takes less than a second even while a batch waits for its acknowledgement. If the query fails, the stream
    fails with Spark's error. If a batch could not be computed, the ``__cause__`` of that error is a
    ``PartitionFailed``. A cancel stops the query.

    The data of a batch by ``as_``:

    - ``rows``: a list of ``Row``.
    - ``tuples``: a list of tuples.
    - ``dicts``: a list of dicts.
    - ``arrow``: one ``pyarrow.Table``.
    - ``pandas``: one ``pandas.DataFrame``.

    Args:
        sdf: the streaming DataFrame, of a classic session.
        as_: the type of the data of a batch, see above.
        checkpoint: the folder of the query's checkpoint, one for each query. Without it no progress is kept.
        trigger: as ``DataStreamWriter.trigger`` takes it, for example ``{"processingTime": "1 second"}`` or
            ``{"availableNow": True}``. By default each batch starts when the previous one is committed.
        output_mode: ``"append"``, ``"update"`` or ``"complete"``.
        acknowledge: ``"explicit"``, by ``Batch.ack()``, or ``"request"``, by demand.

    Raises:
        TypeError: ``sdf`` is not a DataFrame, a column has a type that Arrow cannot carry, or another argument has a
            wrong type.
        ValueError: ``sdf`` is not streaming, ``as_`` or ``acknowledge`` has another value or ``as_`` does not fit the
            columns, see ``from_dataframe``, or the trigger is not supported.
        JvmUnavailable: the session is one of Spark Connect, where Spark calls ``foreachBatch`` functions on the server;
            was stopped; or runs with ``PYSPARK_PIN_THREAD=false``.
        ImportError: ``as_`` is ``"pandas"``, which is not installed.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 3.5, 3.9.

    Examples:
        >>> rates = spark.readStream.format("rate").load()      # doctest: +SKIP
        >>> for batch in from_stream(rates, checkpoint="/data/checkpoint").to_iterable():   # doctest: +SKIP
        ...     store(batch.batch_id, batch.data)
        ...     batch.ack()
    """
    checked_dataframe(sdf, streaming=True, function="from_stream")
    shape_and_encoding(sdf, as_)
    if acknowledge not in _ACKNOWLEDGE:
        raise ValueError(f"acknowledge must be one of {', '.join(map(repr, _ACKNOWLEDGE))}, not {acknowledge!r}")

    def data(df: Any) -> Any:
        shape, encoding = shape_and_encoding(df, as_)
        elements = from_dataframe(df, "arrow" if as_ == "pandas" else as_).collect()
        return shape.whole(elements, encoding.schema)

    call = f"from_stream({dataframe_name(sdf)}, as_={as_!r})"
    return batches(sdf, data, call, checkpoint, trigger, output_mode, acknowledge == "explicit")


def batches(
    sdf: Any,
    data: Callable[[Any], Any],
    call: str,
    checkpoint: str | PathLike[str] | None,
    trigger: Mapping[str, Any] | None,
    output_mode: str = "append",
    explicit: bool = False,
) -> Stream[Batch]:
    """Return a stream of the batches of a streaming DataFrame.

    ``call`` is the text that names the stream. ``sdf``, ``checkpoint``, ``trigger`` and ``output_mode`` are those of
    ``from_stream``. ``data`` is called with the DataFrame of each batch, on the query's thread, and returns the data of
    its ``Batch``. With ``explicit``, a batch is committed when the Subscriber acknowledges it.
    """
    if not isinstance(checkpoint, (str, PathLike, type(None))):
        raise TypeError(f"checkpoint must be the path of a folder, not {type(checkpoint).__name__}")
    if trigger is not None:
        if not isinstance(trigger, Mapping):
            raise TypeError(f"trigger must be a mapping, not {type(trigger).__name__}")
        if len(trigger) != 1 or not set(trigger) <= set(_TRIGGERS):
            raise ValueError(f"trigger must have one key of {', '.join(map(repr, _TRIGGERS))}, not {dict(trigger)!r}")

    def writer() -> Any:
        query_writer = sdf.writeStream.outputMode(output_mode)
        if checkpoint is not None:
            query_writer = query_writer.option("checkpointLocation", fspath(checkpoint))
        return query_writer if trigger is None else query_writer.trigger(**trigger)

    writer()  # Spark rejects unknown arguments now, and not at the first request
    return Stream(SparkOperator(call, _Query(sdf.sparkSession, writer, data, explicit), _QueryRun))


class _Query(NamedTuple):
    spark: Any
    writer: Callable[[], Any]
    data: Callable[[Any], Any]
    explicit: bool


class _QueryRun(Coordinator[Batch]):
    """The query of one Subscriber.

    Spark calls ``_take`` with each batch; ``_take`` waits for the acknowledgement. Spark cannot interrupt a thread that
    waits in Python. So the wait checks ten times a second whether the query is active. If it is not, the function
    raises, and Spark ends the query without a commit.
    """

    def __init__(self, subscriber: Subscriber[Batch], operator: SparkOperator[Batch]) -> None:
        super().__init__(subscriber, operator, drain_executor())
        self._arguments: _Query = operator.arguments
        self._changed = Condition()
        self._inherit = inherited(checked_session(self._arguments.spark), lambda: None)
        self._started = False
        self._query: Any = None
        self._offered: Batch | None = None
        self._acknowledged = -1  # the number of the last batch that was acknowledged explicitly
        self._reason: Exception | None = None  # why ``_take`` failed
        self._stopped = False  # whether ``_take`` failed because the query was stopped

    def _requested_more(self, n: int) -> None:
        super()._requested_more(n)
        self._notify()

    def _advance(self) -> None:
        if not self._demand():
            return
        if not self._started:
            self._started = True
            in_background(self._run_query)
        offered = self._offered
        if offered is not None:
            self._emit(offered)
            self._offered = None
            self._notify()

    def _run_query(self) -> None:
        """Start the query, and wait until it terminates. Called on a background thread."""
        try:
            self._inherit()
            query = self._arguments.writer().foreachBatch(self._take).start()
            with self._changed:
                self._query = query
                wanted = self._live
                self._changed.notify_all()
            if not wanted:
                self._stop(query)
            # Spark does not terminate a query that waits for data when its session stops.
            while not query.awaitTermination(_STOP_CHECK_SECONDS):
                checked_session(self._arguments.spark)
        except JvmUnavailable as unavailable:
            self.post_end(self._fail, unavailable)
        except Exception as error:
            if self._stopped:
                self.post(self._end_with)
            else:
                explained = unless_stopped(self._arguments.spark, error)
                explained.__cause__ = explained.__cause__ or self._reason
                self.post_end(self._fail, explained)
        else:
            self.post(self._end_with)

    def _take(self, df: Any, batch_id: int) -> None:
        """Offer a batch, and return when it was acknowledged.

        Called on the query's thread.

        Raises:
            _Stopped: the query was stopped. A return would commit the batch, also on an interrupted thread.
        """
        try:
            self._arguments.spark.sparkContext.setLocalProperty(*NO_INTERRUPTS)  # the query has set it to true
            self._wait_until(self._is_demanded)
            self._offer(batch_id, self._arguments.data(df))
            if self._arguments.explicit:
                self._wait_until(lambda: self._acknowledged == batch_id, batch_id)
            else:
                self._wait_until(self._is_demanded)
        except Exception as error:
            self._reason = error
            if isinstance(error, _Stopped) or not self._is_active():
                self._stopped = True  # a stop cancels the jobs, so the stop is the likely cause
                raise _Stopped from None
            raise

    def _is_demanded(self) -> bool:
        return self._live and self._offered is None and self._demand() > 0

    def _wait_until(self, ready: Callable[[], bool], unacknowledged: int | None = None) -> None:
        """Wait until ``ready`` returns True.

        Args:
            ready: returns whether the wait is over; called with the lock held, and without it.
            unacknowledged: the number of the batch that the wait is for, None if it is for demand.

        Raises:
            _Stopped: the query was stopped. A cancel alone does not raise, because the query would fail.
        """
        remind_at = monotonic() + _REMIND_SECONDS
        while True:
            with self._changed:
                if ready():
                    return
                self._changed.wait(_CHECK_SECONDS)
            if not ready() and not self._is_active():
                raise _Stopped
            if unacknowledged is not None and self._live and self._offered is None and monotonic() > remind_at:
                remind_at = inf
                _log.warning(
                    "from_stream: batch %d has waited %d s for batch.ack(); Spark computes the next batch after that",
                    unacknowledged,
                    _REMIND_SECONDS,
                )

    def _offer(self, batch_id: int, data: Any) -> None:
        batch = Batch(batch_id, data)
        if self._arguments.explicit:
            batch._query = self
        self._offered = batch
        del batch
        self.wake()

    def acknowledge(self, batch_id: int) -> None:
        """Let Spark commit the batch. Called on any thread."""
        self._acknowledged = batch_id
        self._notify()

    def batch_discarded(self, batch_id: int) -> None:
        """Fail the stream, because the batch can no longer be acknowledged."""
        # The garbage collector calls this, on any thread, so this takes no lock that the same thread may hold.
        if self._live:
            self.post_end(self._fail, BatchDiscarded(batch_id))

    def _is_active(self) -> bool:
        """Return whether the query is active.

        Raises:
            JvmUnavailable: the session was stopped, which the query notices only when ``_take`` returns.
        """
        checked_session(self._arguments.spark)
        return self._query is None or self._query.isActive

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _release(self) -> None:
        with self._changed:
            query = self._query
            self._changed.notify_all()
        if query is not None:
            in_background(lambda: self._stop(query))

    def _stop(self, query: Any) -> None:
        """Stop the query after the commit of an acknowledged batch.

        A stop interrupts a commit.
        """
        give_up = monotonic() + _COMMIT_SECONDS
        try:
            while query.isActive:
                if self._is_committed(query) or monotonic() > give_up:
                    query.stop()
                    return
                sleep(_CHECK_SECONDS)
        except Exception:
            if why_stopped(self._arguments.spark) is None:  # a session that stops ends its queries
                raise

    def _is_committed(self, query: Any) -> bool:
        """Return whether Spark has committed each acknowledged batch.

        Spark reports the progress of a batch after its commit. An idle query reports progress too, with the number
        of the next batch and without a duration of ``addBatch``.
        """
        if self._acknowledged < 0:
            return True
        try:
            progress = query.lastProgress
            if progress is None:
                return False
            ahead = progress["batchId"] - self._acknowledged
            return ahead > 0 or (ahead == 0 and "addBatch" in progress.get("durationMs", ()))
        except Exception:  # PySpark cannot parse the progress
            return True


exclude_from_log(_Stopped)
