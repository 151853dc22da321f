"""``apply_by_key``: apply a stage to each key, with state in Spark's state store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import pyarrow

from pyrs._core.validation import checked_callable
from pyrs.api import Publisher
from pyrs.spark.executors.pickling import packed
from pyrs.spark.executors.shipping import requirement
from pyrs.spark.keyed.stage import KeyedStage
from pyrs.spark.keyed.tasks import KeyedWork
from pyrs.spark.schema.arrow import ROW_SHAPES, arrow_schema, checked_shape, session_zone
from pyrs.spark.schema.rows import RowEncoder, checked_schema
from pyrs.spark.schema.zones import has_zone
from pyrs.spark.sessions import check_pyspark, checked_dataframe
from pyrs.stream.stream import Stream

PROTOBUF = "google.protobuf"
"""Spark's worker imports this package for messages to the state store, but PySpark does not require it."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")  # the form of a name in Avro: the state store refuses others
_EXACT = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"  # to_json omits microseconds by default
_IN_UTC = f"map('timeZone', 'UTC', 'timestampFormat', {_EXACT}, 'timestampNTZFormat', {_EXACT})"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def apply_by_key(
    df: Any,
    key: str | Sequence[str],
    stage: Callable[[Stream[Any]], Publisher[Any]],
    schema: Any,
    as_: str = "rows",
) -> Any:
    """Apply a stage with state to the rows of each key of a streaming DataFrame.

    The state lasts across micro-batches.

        batch 0      (a,1) (b,5) (a,2)          batch 1      (a,3) (b,6)
        stage of a   --1-----------2-----------------------------3------
        stage of b   ----------5------------------------------------6---

    Each key is one stream, which continues in the next micro-batch, and after a restart from the checkpoint. Spark's
    state store holds the state of the stage's operators between micro-batches. The result equals that of the same stage
    in the driver, if all rows of a micro-batch arrived there at the time of that micro-batch.

    The stage is a chain of operators over its stream, with any of ``map``, ``filter``, ``of_type``, ``handle``,
    ``do_on_next``, ``take``, ``take_while``, ``skip``, ``skip_while``, ``distinct``, ``distinct_until_changed``,
    ``scan``, ``with_index``, ``buffer``, ``window``, ``debounce``, ``throttle``, ``timestamp``, ``elapsed``,
    ``flat_map``, ``flat_map_sequential``, ``concat_map``, ``filter_when`` and ``delay_until``. For any other operator,
    ``apply_by_key`` raises a ``TypeError`` that names the operator. A stream that the function of an operator returns
    must complete at once, such as ``pyrs.from_iterable(list)``. A window is emitted when it closes.

    The stage is called once in the driver and once in each task, not for each key: state belongs in operators such as
    ``scan``, and not in variables of the stage. When the stream of a key completes, for example by ``take``, later rows
    of that key are ignored.

    The state of a key is JSON. It may contain None, booleans, numbers, strings, bytes, UUIDs, dates, times, and lists,
    tuples, dicts, sets and Rows of these. It is read and written as a whole in each micro-batch with rows of that key,
    and kept until the checkpoint is deleted. If the operators with state or their arguments, as ``repr`` shows them,
    change, the query fails with both lists of operators. A new function with the same name is not detected as a change.

    Time is that of the micro-batches: ``debounce``, ``buffer(seconds=...)`` and ``window(seconds=...)`` emit in the
    first micro-batch after their time. Spark runs micro-batches without rows for them.

    Spark's shuffle does not keep the order of the rows of a micro-batch that come from different partitions.

    Args:
        df: the streaming DataFrame.
        key: the column, or columns, whose values are the key.
        stage: a function from a ``Stream`` of the rows of a key to a Publisher of rows.
        schema: the schema of the result: a ``StructType``, or text such as ``"id long, name string"``.
        as_: the type of the stage's elements: ``"rows"``, ``"tuples"`` or ``"dicts"``.

    Returns:
        A streaming DataFrame. The output mode of its query is ``append``.

    Raises:
        TypeError: ``df`` is not a DataFrame, ``key`` is neither a column name nor a list of them, ``stage`` is not
            callable, cannot be pickled or has an operator whose state cannot be saved, or ``schema`` is not a schema or
            has a type that Arrow cannot carry.
        ValueError: ``df`` is not streaming, has no such column or has a column name with a dot, ``key`` has no column
            or a column twice, the schema has no column or two columns with the same name, ``as_`` has another value, or
            the session does not use the RocksDB state store.
        ImportError: protobuf is not installed, or is older than PySpark's messages.
        NotImplementedError: PySpark is older than 4.1, the first with ``transformWithState`` of rows.
        JvmUnavailable: the session was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.

    An error of a stage fails the task and the query. Spark's error then contains a ``PartitionFailed``, which names the
    key.

    Examples:
        >>> def totals(orders):                                                     # doctest: +SKIP
        ...     return orders.scan(lambda total, order: total + order.amount, 0).map(lambda total: (total,))
        >>> apply_by_key(orders, "customer", totals, "total double").writeStream    # doctest: +SKIP
    """
    checked_dataframe(df, streaming=None)
    check_pyspark(df, "apply_by_key")
    keys = _checked_keys(df, key)
    chain = KeyedStage(checked_callable(stage, "stage"))
    if as_ not in ROW_SHAPES:
        raise ValueError(f"as_ must be one of {', '.join(map(repr, ROW_SHAPES))}, not {as_!r}")
    if not df.isStreaming:
        raise ValueError("df is not streaming, so it has no state to keep: use df.groupBy(key).applyInArrow, or apply")
    spark = df.sparkSession
    reason = why_no_state(spark)
    if reason is not None:
        raise reason
    struct = checked_schema(spark, schema)
    shape = checked_shape(as_, df.schema, session_zone(spark))
    arrow = arrow_schema(df.schema, False)
    work = KeyedWork(stage, shape, arrow, RowEncoder(struct))
    processor = _processor(packed(work, stage, "stage", spark))
    mode = "ProcessingTime" if chain.is_timed else "None"
    return _grouped(df, keys, arrow).transformWithState(processor, struct, "Append", mode)


def why_no_state(spark: Any) -> Exception | None:
    """Return the error of a session that cannot keep the state of keys, or None."""
    try:
        import_module("pyspark.sql.streaming.proto.StateMessage_pb2")
    except Exception as error:  # also protobuf's VersionError, if it is too old
        needs = "apply_by_key needs protobuf, in version 6.33.5 or later, in the driver and on the executors"
        return ImportError(f"{needs}: {error}")
    if "HDFSBacked" in spark.conf.get(_PROVIDER):
        needs = "apply_by_key needs Spark's RocksDB state store"
        return ValueError(f'{needs}: spark.conf.set("{_PROVIDER}", "{_ROCKSDB}")')
    return None


def _checked_keys(df: Any, key: Any) -> list[str]:
    keys = [key] if isinstance(key, str) else key
    if not isinstance(keys, Iterable):
        raise TypeError(f"key must be the name of a column, or a list of names, not {type(key).__name__}")
    keys = list(keys)
    for each in keys:
        if not isinstance(each, str):
            raise TypeError(f"key must contain names of columns, not {type(each).__name__}")
        if each not in df.columns:
            raise ValueError(f"df has no column {each!r}: its columns are {', '.join(df.columns)}")
    if not keys:
        raise ValueError("key must name at least one column")
    dotted = next((name for name in df.columns if "." in name), None)
    if dotted is not None:
        raise ValueError(f"df has a column {dotted!r}, which Spark's transformWithState takes for a field: rename it")
    if len(set(keys)) < len(keys):
        twice = next(each for each in keys if keys.count(each) > 1)
        raise ValueError(f"key must have distinct columns, but has {twice!r} more than once")
    return keys


def _grouped(df: Any, keys: list[str], arrow: pyarrow.Schema) -> Any:
    """Group a DataFrame by its keys, those with timestamps by their text in UTC.

    Spark's worker compares the keys of consecutive rows in Python, as local times. When clocks are set back, a local
    time occurs twice, so the rows of two keys would be taken for those of one. A key column is copied under another
    name if the state store refuses its name.
    """
    names, added = [], []
    for i, key in enumerate(keys):
        column = "`" + key.replace("`", "``") + "`"
        if has_zone(arrow.field(df.columns.index(key)).type):
            column = f"to_json(struct({column}), {_IN_UTC})"
        elif _NAME.fullmatch(key):
            names.append(key)
            continue
        names.append(f"_pyrs_key_{i}")
        added.append(f"{column} AS {names[-1]}")
    return (df.selectExpr("*", *added) if added else df).groupBy(*names)


def _processor(work: bytes) -> Any:
    """Return Spark's processor of the work.

    Its class is pickled by value and holds the work as bytes, so that an executor without pyrs can report that pyrs is
    missing.
    """
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    from pyspark.sql.types import LongType, StringType, StructType

    check_protobuf, check = requirement(PROTOBUF), requirement("pyrs")
    state = StructType().add("state", StringType()).add("timer", LongType())

    class KeyedProcessor(StatefulProcessor):  # type: ignore[misc]
        def init(self, handle: Any) -> None:
            check_protobuf()  # the methods of the handle import protobuf
            self.handle = handle
            self.state = handle.getValueState("pyrs", state)
            self.task: Any = None

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803 - Spark's names
            return self.opened().run(key, rows, timerValues.getCurrentProcessingTimeInMs())

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N802, N803
            fired = expiredTimerInfo.getExpiryTimeInMs()
            return self.opened().run(key, iter(()), timerValues.getCurrentProcessingTimeInMs(), fired)

        def opened(self) -> Any:
            if self.task is None:
                check()
                from pyrs.spark.keyed.tasks import KeyedTask

                self.task = KeyedTask(work, self.handle, self.state)
            return self.task

        def close(self) -> None:
            if self.task is not None:
                self.task.close()

    return KeyedProcessor()
