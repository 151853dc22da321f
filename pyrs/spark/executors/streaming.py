"""A streaming DataFrame of Publishers on the executors, resumed at offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from pyrs._core.validation import checked_callable, checked_natural
from pyrs.api import Publisher
from pyrs.spark.executors.offsets import checked_offset, named_partitions
from pyrs.spark.executors.operators import checked_partitions, output_of, task_of
from pyrs.spark.executors.pickling import packed, pickled
from pyrs.spark.executors.shipping import requirement
from pyrs.spark.executors.tasks import AHEAD, RangeTask
from pyrs.spark.sessions import check_pyspark, checked_session
from pyrs.spark.source.reader import streaming_source

_PLANNER = "Spark's planner"
_numbers = count(1)


def stream_from_publishers(
    spark: Any,
    partitions: Iterable[Any],
    factory: Callable[[Any, Any, Any], Publisher[Any]],
    schema: Any,
    latest: Callable[[Any], Any],
    start: Any = 0,
    limit: float | Callable[[Any, Any, Any], Any] | None = None,
    prefetch: int = AHEAD,
) -> Any:
    """Return a streaming DataFrame of Publishers that run on the executors.

        latest                             3             5
        factory("a", 0, 3)  ---1---2---3---|
        factory("a", 3, 5)                    ---4---5---|
        batches of a query                 [1,2,3]       [4,5]

    This is the streaming form of ``from_publishers``, for sources that can be read from an offset. In each micro-batch
    Spark calls ``latest`` for each partition. A task for each partition with new elements subscribes to
    ``factory(partition, start, end)``. The rows do not pass through the driver.

    The offsets are in the checkpoint of the query, and are stored before the tasks run. So a task, and a micro-batch
    that is repeated after a failure or a restart, reads the same range. Each element is in exactly one micro-batch if
    the Publishers of one range emit the same elements each time.

    Demand is that of ``from_publishers``: a task requests ``prefetch`` elements, and more when Spark takes rows. Its
    Publisher must complete at the end of the range. No Publisher is kept between micro-batches, because the next task
    of a partition may run on another executor.

    An offset is a number, a string, or another JSON value. As in ``range`` and in Kafka, a range includes its start and
    excludes its end. Spark calls ``latest``, ``start`` and ``limit`` in its planner, a process of the driver's host
    that needs pyrs like an executor. It calls ``latest`` again as soon as a micro-batch has ended, and 100 times a
    second if there is nothing new: set an interval with ``trigger(processingTime=...)``.

    ``trigger(availableNow=True)`` reads up to the ends that the first calls of ``latest`` return, in micro-batches of
    at most ``limit`` (before PySpark 4.2, in one micro-batch). Before 4.2, Spark does not pass the position of the
    query after a restart, so the first micro-batch has no limit.

    The query fails, with an error that names the partition, if a function fails, or if an offset is None, is not a JSON
    value, or is a number less than the previous one. An error within a range is ``PartitionFailed``.

    The executors need pyrs, pyarrow and pandas: call ``ship`` before this function.

    Args:
        spark: a session, classic or of Spark Connect.
        partitions: distinct strings or other JSON values, which identify the partitions in the checkpoint. A query that
            continues from a checkpoint may add partitions, or omit some, which are then no longer read.
        factory: called on the executor with a partition, a start and an end; returns a Publisher of rows, as in
            ``from_publishers``.
        schema: the schema of the DataFrame: a ``StructType``, or text such as ``"id long, name string"``.
        latest: called with a partition; returns the offset after its last element. The offset must not decrease.
        start: the first offset of each partition, or a function of a partition. With ``start=latest`` the query reads
            only the elements that are added after its start.
        limit: the maximum advance of an offset in a micro-batch, if offsets are numbers; or a function of a partition,
            a start and an end that returns an offset after the start, at most the end. ``trigger(once=True)`` ignores
            the limit.
        prefetch: the number of elements that are requested ahead.

    Raises:
        TypeError: ``spark`` is not a SparkSession, a partition or start is not a JSON value, a function is not callable
            or cannot be pickled, ``schema`` is not a schema or has a type that Arrow cannot carry, or another argument
            has a wrong type.
        ValueError: two partitions are equal, the schema has no column or two columns with the same name, ``limit`` is
            not positive, or ``prefetch`` is less than 1.
        NotImplementedError: PySpark is older than 4.0.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.

    Rules: 1.1, 3.5, 3.9, 3.17.

    Examples:
        >>> def orders(shop, start, end):                                               # doctest: +SKIP
        ...     return query(shop, "select id, amount from orders where id >= $1 and id < $2", start, end)
        >>> def latest(shop):                                                           # doctest: +SKIP
        ...     return query(shop, "select coalesce(max(id) + 1, 0) from orders").block()
        >>> schema = "id long, amount double"
        >>> df = stream_from_publishers(spark, ["oslo", "rome"], orders, schema, latest)    # doctest: +SKIP
    """
    checked_session(spark)
    check_pyspark(spark, "stream_from_publishers")
    checked_callable(factory, "factory")
    checked_callable(latest, "latest")
    if not callable(start):
        start = checked_offset(start, "start")
    named = named_partitions(checked_partitions(partitions))
    output = output_of(spark, schema, may_be_large=False)  # a Python Data Source must not return large types
    published = RangeTask(factory, output, checked_natural(prefetch, "prefetch", 1))
    functions = {"latest": latest, "start": start, "limit": _checked_limit(limit)}
    sent = {name: pickled(function, name, _PLANNER) for name, function in functions.items()}
    name = f"pyrs_publishers_{next(_numbers)}"
    task = task_of(packed(published, factory, "factory", spark))
    spark.dataSource.register(streaming_source(name, output.encoder.schema, _planner(named, sent), task))
    return spark.readStream.format(name).load()


def _checked_limit(limit: Any) -> Any:
    if limit is None or callable(limit):
        return limit
    if not isinstance(limit, (int, float)) or isinstance(limit, bool):
        raise TypeError(f"limit must be a number, a function or None, not {type(limit).__name__}")
    if not limit > 0:
        raise ValueError(f"limit must be greater than 0, not {limit!r}")
    return limit


def _planner(partitions: Mapping[str, Any], functions: Mapping[str, bytes]) -> Callable[[], Any]:
    """Return a function that opens the ``Offsets`` in Spark's planner.

    The function first checks that pyrs can be imported. ``functions`` has the pickled functions, keyed by parameter
    name.
    """
    check = requirement("pyrs")

    def opened() -> Any:
        from pickle import loads

        check()
        from pyrs.spark.executors.offsets import Offsets

        return Offsets(partitions, **{parameter: loads(function) for parameter, function in functions.items()})

    return opened
