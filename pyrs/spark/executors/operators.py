"""Run a stage, a Subscriber or a Publisher on the executors for each partition."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

from pyspark import cloudpickle

from pyrs._core.display import name_of
from pyrs._core.validation import checked_callable, checked_natural
from pyrs.api import Processor, Publisher, Subscriber
from pyrs.spark.executors.pickling import packed
from pyrs.spark.executors.shipping import requirement
from pyrs.spark.executors.tasks import AHEAD, Output, PublisherTask, RangeTask, StageTask, SubscriberTask
from pyrs.spark.executors.tracing import current_trace
from pyrs.spark.read.partitions import partition_failed
from pyrs.spark.read.queries import batches
from pyrs.spark.schema.arrow import checked_shape, for_map_in_arrow, prefers_large, session_zone
from pyrs.spark.schema.rows import RowEncoder, checked_schema
from pyrs.spark.sessions import JobRun, SparkOperator, checked_dataframe, checked_session
from pyrs.stream.stream import Single, Stream

_ROWS = 10_000
_MONTHS = re.compile(r"\binterval (?:year|month)\b")


def apply(
    df: Any, stage: Callable[[Stream[Any]], Publisher[Any]] | Callable[[], Any], schema: Any, as_: str = "rows"
) -> Any:
    """Apply a stage to each partition of a DataFrame, on the executors.

        partition 0  ---1---2---|  stage  ---10---20---|
        partition 1  ---3---|      stage  ---30---|
        apply(df, stage, schema)   a DataFrame of 10, 20, 30

    The same stage runs in the driver (``stage(stream)``), in a Reactor chain (``to_jvm_stage``) and here, for batch and
    streaming DataFrames. The partitions of a streaming DataFrame are those of each micro-batch. Nothing runs until
    Spark runs the result.

    Each partition is a stream, so the state of a stage covers one partition. Rows are pulled from Spark on the demand
    of the stage, one Arrow batch at a time. The rows of the stage are sent in batches: after
    ``spark.sql.execution.arrow.maxRecordsPerBatch`` rows (10,000), when a row arrives 0.2 seconds after the first of
    its batch, or after 0.2 seconds without an element. A chain of operators without a queue, such as ``map`` and
    ``filter``, pulls a row when one is needed; while it blocks, no rows are sent. Other stages prefetch 32 elements, or
    1 if elements are batches. The stage must release its resources when its partition ends, because the task ends too.

    A stage may start a JVM in its worker process with ``jvm.launch``; later tasks of the process use the same JVM.

    The executors need pyrs, pyarrow and pandas: see ``ship``. Spark pickles the stage like any function, and may run a
    task again, and the stage with it. A ``Metrics`` in the stage counts the elements of the tasks that succeed.

    Args:
        df: the DataFrame, batch or streaming.
        stage: called on the executor with a ``Stream`` of the elements of a partition; returns a Publisher of rows. Or
            a class of Processors, or another callable without arguments that returns one for each partition.
        schema: the schema of the result: a ``StructType``, or text such as ``"id long, name string"``.
        as_: the type of the stage's elements, as in ``from_dataframe``. Independently of this type, the stage may emit
            a ``Row``, a tuple, a dict, a ``pyarrow.RecordBatch`` or a ``pandas.DataFrame``.

    Raises:
        TypeError: ``df`` is not a DataFrame or has an interval of months, ``stage`` has other parameters or cannot be
            pickled, or ``schema`` is not a schema or has a type that Arrow cannot carry.
        ValueError: ``as_`` has another value or does not fit the columns, ``df`` or the schema has no column, or two
            columns of the schema have the same name.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.

    An error within a partition fails the task, and the query, with ``PartitionFailed`` in Spark's error. It has the
    partition, the reason and the traceback. If an element does not fit the schema, the reason is a ``SchemaMisfit``.

    Examples:
        >>> def large(orders):                                                      # doctest: +SKIP
        ...     return orders.filter(lambda order: order.amount > 100).map(lambda order: (order.id,))
        >>> apply(df, large, "id long").write.parquet("/data/large")                # doctest: +SKIP
    """
    _checked_columns(checked_dataframe(df, streaming=None))
    makes_processor = _makes_processor(stage)
    spark = df.sparkSession
    output = output_of(spark, schema)
    sent, shape = for_map_in_arrow(df, checked_shape(as_, df.schema, output.zone))
    staged = StageTask(stage, makes_processor, shape, output)
    return sent.mapInArrow(task_of(packed(staged, stage, "stage", spark)), output.encoder.schema)


def for_each_partition(
    df: Any,
    subscriber_factory: Callable[[], Any],
    as_: str = "rows",
    checkpoint: str | PathLike[str] | None = None,
    trigger: Mapping[str, Any] | None = None,
) -> Single[int]:
    """Subscribe a Subscriber to each partition on the executors; count the elements.

        partition 0  ---1---2---|  a Subscriber
        partition 1  ---3---|      another Subscriber
        for_each_partition(df, ...)                    --3--|

    Cold: each subscription runs the job. Call ``block()``, or ``await`` it on an asyncio loop. An interrupt of either,
    or a cancel, cancels the job.

    For a streaming DataFrame each partition of each micro-batch has a Subscriber. There is one query, which a cancel
    stops. Spark commits a batch when all of its Subscribers have ended. The count is emitted when the query ends: with
    ``trigger={"availableNow": True}``, or by ``query.stop()``.

    Rows are pulled from Spark on the demand of the Subscriber, so a slow Subscriber slows its own task only. The task
    lasts until the terminal signal or the cancel: a Subscriber that neither requests nor cancels blocks it forever. Its
    methods may be coroutine functions.

    Delivery is at least once: Spark may run a task again, with a new Subscriber that receives the whole partition.

    Args:
        df: the DataFrame, batch or streaming.
        subscriber_factory: called on the executor without arguments, once for each partition. ``TaskContext.get()``
            identifies the partition.
        as_: the type of the elements, as in ``from_dataframe``.
        checkpoint: the checkpoint folder of the query, if ``df`` is streaming. Without it no progress is kept.
        trigger: the trigger of that query, as in ``from_stream``.

    Returns:
        The number of elements that were signalled.

    Raises:
        TypeError: ``df`` is not a DataFrame or has an interval of months, ``subscriber_factory`` is not callable or
            cannot be pickled, or another argument has a wrong type.
        ValueError: ``as_`` has another value or does not fit the columns, ``df`` has no column, the trigger is not
            supported, or ``df`` is not streaming and there is a checkpoint or a trigger.
        JvmUnavailable: the session was stopped, runs with ``PYSPARK_PIN_THREAD=false``, or is one of Spark Connect and
            ``df`` is streaming.

    A Subscriber that raises fails its task. If Spark does not retry it, the error is ``PartitionFailed``, which is the
    ``__cause__`` of Spark's ``StreamingQueryException`` if ``df`` is streaming.

    Rules: 1.1, 1.3, 2.13, 3.5, 3.9.

    Examples:
        >>> for_each_partition(df, lambda: Uploader("s3://bucket"), as_="dicts").block()    # doctest: +SKIP
        1000000
    """
    _checked_columns(checked_dataframe(df, streaming=None))
    if not df.isStreaming and (checkpoint, trigger) != (None, None):
        raise ValueError("checkpoint and trigger need a streaming DataFrame, but df is not streaming")
    checked_callable(subscriber_factory, "subscriber_factory")
    sent, shape = for_map_in_arrow(df, checked_shape(as_, df.schema, session_zone(df.sparkSession)))
    work = packed(SubscriberTask(subscriber_factory, shape), subscriber_factory, "subscriber_factory", df.sparkSession)
    call = f"for_each_partition({name_of(subscriber_factory)}, as_={as_!r})"
    if df.isStreaming:
        checked_session(df.sparkSession, "for_each_partition of a streaming DataFrame")
        mapped = sent.mapInArrow(task_of(work), "elements long")
        return batches(mapped, _counted, call, checkpoint, trigger).reduce(lambda sum, batch: sum + batch.data, 0)
    return Single(SparkOperator(call, lambda: sent.mapInArrow(task_of(work), "elements long"), _CountRun))


def from_publishers(
    spark: Any, partitions: Iterable[Any], factory: Callable[[Any], Publisher[Any]], schema: Any, prefetch: int = AHEAD
) -> Any:
    """Return a DataFrame whose partitions are Publishers that run on the executors.

        factory("a")  ---1---2---|  partition 0
        factory("b")  ---3---|      partition 1
        from_publishers(spark, ["a", "b"], factory, schema)   a DataFrame of 1, 2, 3

    Use it for a source that can be divided, such as a query for each range of keys, the pages of a service or the files
    of a folder. The rows do not pass through the driver. Nothing runs until Spark runs the DataFrame. Each Spark job
    creates the Publishers again, unless the DataFrame is cached.

    A task subscribes to the Publisher of its partition, requests ``prefetch`` elements, and requests more when Spark
    takes rows. So the Publisher emits at most ``prefetch`` elements and one batch in advance. The rows are sent in
    batches, as with ``apply``.

    If Spark needs no more rows, as for a ``limit``, the subscription is cancelled within a second. If the job is
    cancelled, Spark kills the process: connections are closed, but the Publisher receives no ``cancel``.

    Spark may repeat a task, which then subscribes to a new Publisher. For the same rows in each run, all Publishers
    that the factory returns for a value must emit the same elements. For a streaming query, use
    ``stream_from_publishers``.

    The factory may call ``jvm.launch``, as a stage of ``apply`` may.

    The executors need pyrs, pyarrow and pandas: see ``ship``. A ``Metrics`` in the factory counts the elements of the
    tasks that succeed.

    Args:
        spark: a session, classic or of Spark Connect.
        partitions: a value for each partition. The values are pickled.
        factory: called on the executor with the value of a partition; returns a Publisher of rows. An element is a
            ``Row``, a tuple, a dict, a ``pyarrow.RecordBatch`` or a ``pandas.DataFrame``.
        schema: the schema of the DataFrame: a ``StructType``, or text such as ``"id long, name string"``.
        prefetch: the number of elements that are requested ahead.

    Raises:
        TypeError: ``spark`` is not a SparkSession, ``partitions`` is not iterable or has a value that cannot be
            pickled, ``factory`` is not callable or cannot be pickled, ``schema`` is not a schema or has a type that
            Arrow cannot carry, or ``prefetch`` is not an integer.
        ValueError: the schema has no column or two columns with the same name, or ``prefetch`` is less than 1.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.

    A factory that raises, a Publisher that fails and an element that does not fit the schema fail the task, and the
    query, with ``PartitionFailed`` in Spark's error.

    Rules: 1.1, 3.5, 3.9, 3.17.

    Examples:
        >>> def pages(first):                                                           # doctest: +SKIP
        ...     return pyrs.range(first, first + 100).concat_map(fetch_page)
        >>> from_publishers(spark, range(0, 1000, 100), pages, "id long").count()       # doctest: +SKIP
        25000
    """
    checked_session(spark)
    checked_callable(factory, "factory")
    values = []
    for i, value in enumerate(checked_partitions(partitions)):
        try:
            values.append(cloudpickle.dumps(value))
        except Exception as error:
            raise TypeError(f"the value {i} of partitions cannot be sent to the executors: {error}") from error
    output = output_of(spark, schema)
    source = RangeTask(factory, output, checked_natural(prefetch, "prefetch", 1))
    numbers = spark.range(0, len(values), 1, max(len(values), 1))
    task = task_of(packed(PublisherTask(source, tuple(values)), factory, "factory", spark))
    return numbers.mapInArrow(task, output.encoder.schema)


def checked_partitions(partitions: Any) -> Iterable[Any]:
    """Return the argument ``partitions`` if it is an iterable other than a str."""
    if isinstance(partitions, str) or not isinstance(partitions, Iterable):
        kind = type(partitions).__name__
        raise TypeError(f"partitions must be an iterable with a value for each partition, not {kind}")
    return partitions


def output_of(spark: Any, schema: Any, *, may_be_large: bool = True) -> Output:
    """Return the ``Output`` of the tasks of a session, under its present settings."""
    encoder = RowEncoder(checked_schema(spark, schema), may_be_large and prefers_large(spark))
    rows = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))
    return Output(encoder, session_zone(spark), rows if rows > 0 else _ROWS)


def _checked_columns(df: Any) -> None:
    """Check that Spark can send the rows of a DataFrame to tasks."""
    if not df.columns:
        raise ValueError("df has no column, so Spark does not send its rows to tasks: select a column")
    for field in df.schema:
        text = field.dataType.simpleString()
        if _MONTHS.search(text):
            what = f"column {field.name!r} is of type {text}, which pyarrow cannot read"
            raise TypeError(f"{what}: cast it, or leave it out")


def _makes_processor(stage: Any) -> bool:
    """Return whether a stage is called without arguments and returns a Processor."""
    if isinstance(stage, type) and issubclass(stage, Processor):
        return True
    checked_callable(stage, "stage")
    try:
        signature = inspect.signature(stage)
    except ValueError:  # a builtin without a signature
        return False
    for arguments, makes_processor in (((None,), False), ((), True)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return makes_processor
    raise TypeError(
        f"stage must take a Stream, or take no argument and return a Processor: {name_of(stage)}{signature}"
    )


def task_of(data: bytes) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return the function that Spark runs for a partition.

    The function is pickled by value and holds the work as bytes, so that an executor without pyrs can report that pyrs
    is missing.
    """
    check, entries = requirement("pyrs"), current_trace()

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        check()
        from pyrs.spark.executors.pickling import unpacked

        partition = TaskContext.get().partitionId()
        output = unpacked(data, lambda work: work.run(partition, batches))
        if not entries:
            return output
        from pyrs.spark.executors.tracing import in_trace

        return in_trace(entries, output)

    return task


def _counted(mapped: Any) -> int:
    """Run the job, and return the number of elements."""
    try:
        return sum(row.elements for row in mapped.collect())
    except Exception as error:
        failed = partition_failed(error)
        raise failed from failed.__cause__  # an error without a partition must not become its own cause


class _CountRun(JobRun[int]):
    """The job of one Subscriber, on a background thread."""

    def __init__(self, subscriber: Subscriber[int], operator: SparkOperator[int]) -> None:
        self._mapped = operator.arguments()  # called here, so that the tasks continue the trace of this subscription
        super().__init__(subscriber, operator, self._mapped.sparkSession)
        self._started = False

    def _advance(self) -> None:
        if not self._started and self._demand():
            self._started = True
            self._jobs.submit(self._run_job)

    def _run_job(self) -> None:
        try:
            # The job has a separate plan, because a cancel would end the stages of a shared plan for all its users.
            count = _counted(self._mapped.alias("pyrs"))
        except Exception as error:
            self._job_raised(error)
        else:
            self.post(self._job_done, count)

    def _job_done(self, count: int) -> None:
        self._emit(count)
        self._complete()
