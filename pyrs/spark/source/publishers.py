"""Publishers as sources of streaming queries, whose commits request elements."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from pyrs._core.validation import checked_natural, checked_publisher
from pyrs.api import Publisher
from pyrs.spark.schema.rows import RowEncoder, checked_schema
from pyrs.spark.sessions import check_pyspark, checked_session, why_stopped
from pyrs.spark.source.buffer import ReplayBuffer
from pyrs.spark.source.journal import Journal
from pyrs.spark.source.reader import reader_source
from pyrs.spark.source.server import Server

_BATCHES = 8
_PLANNER_SECONDS = 2.0
_numbers = count(1)
_servers: WeakValueDictionary[Path, Server] = WeakValueDictionary()
"""The servers by the folder of their journal. The thread of a server keeps it alive."""


def read_stream(
    spark: Any,
    publisher: Publisher[Any],
    schema: Any,
    max_rows: int = 20_000,
    capacity: int | None = None,
    on_restart: str | Callable[[int], Publisher[Any]] = "fail",
    journal: str | PathLike[str] | None = None,
    as_: str = "rows",
) -> Any:
    """Return a streaming DataFrame of the elements of a Publisher.

        publisher            --a--b--c--d--e--f--|
        read_stream(max_rows=2)
        batches of a query     [a]   [b,c]   [d,e]   [f]
                             a commit requests as many again

    Lazy: the first query subscribes to the publisher, once, and requests ``capacity`` elements. After that, it requests
    as many as Spark commits, so at most ``capacity`` elements are buffered. A batch has the elements that arrived while
    Spark processed the previous one, at most ``max_rows``.

    Elements are rows: tuples, lists, ``Row``, or mappings by name. An element that does not fit the schema fails the
    query, after the rows before it, with an error that names the element, the field and both types. An error of the
    publisher, and on a cluster a row that exceeds ``spark.rpc.message.maxSize`` (128 MiB), fail the query in the same
    way. When the publisher completes, the query waits without new batches; with ``trigger(availableNow=True)`` the
    query ends then. With ``trigger(once=True)``, and before PySpark 4.2 with ``availableNow`` as well, the query reads
    one batch, and waits at most a second for the first element.

    With ``as_="arrow"`` each element is a ``pyarrow.RecordBatch`` with the columns of the schema: matched by name, and
    cast if that is lossless, also within structs, lists and maps. Offsets, ``max_rows`` and the function of
    ``on_restart`` still count rows, and an element that is larger than a batch is divided. ``capacity`` counts
    elements, 8 by default: each is replaced when Spark has committed its last row.

    An offset consists of the number of an element and an epoch, which identifies the numbering. Elements are buffered
    until Spark has committed them. A failed batch is read again, unchanged, by the next query over the checkpoint, so
    each element is in exactly one batch. One query reads at a time: a second one replaces it, and a query that joins
    the stream with itself fails. The subscription lasts until the session stops.

    When the driver's process ends, the elements that it buffered in memory are lost. ``on_restart`` and ``journal``
    select how a query with its checkpoint continues:

    - ``"fail"``: the query fails, and the buffered elements are lost.
    - ``"new-epoch"``: the buffered elements are lost, which is logged as an error. The publisher's elements
      follow with new numbers.
    - a function: it is called with the number of the first missing element, and returns a publisher of the elements
      from that number on. Nothing is lost (PySpark 4.2, or a journal).
    - ``journal``: Spark receives an offset when the elements before it are on the disk. Elements that Spark has not
      committed are read from the journal. The publisher's elements, or those of the function, follow.

    The journal lacks the elements of the last tenth of a second, or up to ``capacity`` elements while no query reads.
    After a restart, the elements of the journal count as buffered. If Spark has computed ``capacity`` elements and
    committed none, one more is requested, since Spark commits a batch when it plans the next one.

    Args:
        spark: a classic session.
        publisher: any Publisher, also one of the JVM from ``attach(spark).from_jvm``.
        schema: a ``StructType``, or text such as ``"id long, name string"``.
        max_rows: the maximum number of rows in a batch. The rows travel within the tasks, in memory.
        capacity: the maximum number of buffered elements, twice ``max_rows`` by default. Spark commits a batch when it
            plans the next one, so ``capacity`` must be greater than ``max_rows``, or at least 2 if elements are
            batches.
        on_restart: ``"fail"``, ``"new-epoch"``, or a function of a number that returns a Publisher.
        journal: a folder on a local disk, used by this stream only.
        as_: the type of the elements: ``"rows"`` or ``"arrow"``.

    Raises:
        TypeError: ``spark`` is not a SparkSession, ``publisher`` is not a Publisher, or another argument has a wrong
            type.
        ValueError: ``max_rows`` is less than 1, ``capacity`` is too small, ``on_restart`` or ``as_`` has another value,
            or the schema has no column or two columns with the same name.
        NotImplementedError: PySpark is older than 4.0, or older than 4.2 and ``on_restart`` is a function without a
            journal.
        JvmUnavailable: the session is one of Spark Connect, was stopped, or runs with ``PYSPARK_PIN_THREAD=false``.
        JournalDamaged: a file of the journal is corrupt, its rows have another schema, or another process or an active
            query uses it.
        OSError: the folder of the journal cannot be read or written.

    Rules: 2.1, 2.2, 2.4, 2.5, 2.7, 2.8, 2.10, 2.13.

    Examples:
        >>> prices = read_stream(spark, publisher, "symbol string, price double")   # doctest: +SKIP
        >>> query = prices.writeStream.format("parquet").option("checkpointLocation", "/data/c").start("/data/prices")
        ... # doctest: +SKIP
    """
    context = checked_session(spark, "read_stream").sparkContext
    check_pyspark(spark, "read_stream")
    checked_publisher(publisher, "publisher")
    rows = checked_natural(max_rows, "max_rows", 1)
    if as_ not in ("rows", "arrow"):
        raise ValueError(f"as_ must be 'rows' or 'arrow', not {as_!r}")
    whole = as_ == "arrow"
    default, minimum = (_BATCHES, 2) if whole else (2 * rows, 1)
    buffered = default if capacity is None else checked_natural(capacity, "capacity", minimum)
    if buffered <= rows and not whole:
        raise ValueError(
            f"capacity must be greater than max_rows, {rows}, not {buffered}: Spark commits a batch when it plans the "
            "next one, so a batch that fills the capacity would never be followed by another"
        )
    if not callable(on_restart):
        if on_restart not in ("fail", "new-epoch"):
            raise ValueError(f"on_restart must be 'fail', 'new-epoch' or a function, not {on_restart!r}")
    elif journal is None:
        check_pyspark(spark, "on_restart as a function")
    if not isinstance(journal, (str, PathLike, type(None))):
        raise TypeError(f"journal must be the path of a folder, not {type(journal).__name__}")
    schema = checked_schema(spark, schema)
    encoder = RowEncoder(schema)  # without large types, because sessions of either kind read a journal
    opened = None if journal is None else _opened(fspath(journal))
    try:
        tasks, most_bytes = context.defaultParallelism, _most_bytes(context)
        buffer = ReplayBuffer(publisher, encoder, rows, buffered, on_restart, opened, tasks, whole, most_bytes)
        server = Server(buffer.answer, buffer.ahead, lambda: why_stopped(spark) is None, buffer.close)
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    if opened is not None:
        _servers[opened.folder] = server
    name = f"pyrs_{next(_numbers)}"
    try:
        spark.dataSource.register(reader_source(name, schema, server.host, server.port, server.token))
        return spark.readStream.format(name).load()
    except BaseException:
        server.close()
        raise


def _most_bytes(context: Any) -> float:
    """Return the largest size of a row in a task; infinite in local mode."""
    if re.fullmatch(r"local(\[[^]]*\])?", context.master):
        return inf
    return (int(context.getConf().get("spark.rpc.message.maxSize", "128")) - 1) << 20  # 1 MiB for the rest of the task


def _opened(folder: str) -> Journal:
    """Open a journal that an earlier call of ``read_stream`` may have open.

    The server of that call is closed if it has no query. This happens when a notebook cell is run again, or a query
    starts again with other arguments. The planner of a query ends shortly after ``query.stop()`` returns.
    """
    path = Path(folder).resolve()
    before = _servers.get(path)
    if before is not None and before.wait_until_idle(_PLANNER_SECONDS):
        before.close()
    return Journal(path)
