"""H2: the recipe of docs/recipes/h2.md.

Run it: python examples/recipes/h2.py
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.r2dbc:r2dbc-h2:1.1.0.RELEASE"]


def warmest(readings: pyrs.Stream[tuple[int, float]]) -> float:
    with jvm.launch(packages=PACKAGES) as bridge, connected(bridge, "r2dbc:h2:mem:///weather") as connection:
        changed(bridge, connection, "CREATE TABLE readings (id INT, celsius DOUBLE PRECISION)").collect(timeout=60)
        insert(bridge, connection, "INSERT INTO readings VALUES (?, ?)", readings).collect(timeout=60)
        [row] = rows(bridge, connection, "SELECT max(celsius) AS warmest FROM readings").collect(timeout=60)
        return float(row["WARMEST"])


@contextlib.contextmanager
def connected(bridge: Bridge, url: str) -> Iterator[JavaObject]:
    """Open a connection and close it on exit.

    A database in memory is dropped with its last connection.
    """
    factory = bridge.java_class("io.r2dbc.spi.ConnectionFactories").get(url)
    [connection] = bridge.from_jvm(factory.create()).collect(timeout=60)
    try:
        yield connection
    finally:
        bridge.from_jvm(connection.close()).collect(timeout=60)


def rows(bridge: Bridge, connection: JavaObject, sql: str, *values: object) -> pyrs.Stream[dict[str, Any]]:
    """Return the rows as dicts by H2's column names: in capitals unless quoted."""
    to_dict = bridge.value_function()  # in Java, because a row is valid inside its callback only

    def run() -> pyrs.Stream[dict[str, Any]]:
        statement = _bound(bridge, connection.createStatement(sql), values)
        results: pyrs.Stream[JavaObject] = bridge.from_jvm(statement.execute())
        return results.concat_map(lambda result: bridge.from_jvm(result.map(to_dict)))

    return pyrs.defer(run)


def changed(bridge: Bridge, connection: JavaObject, sql: str, *values: object) -> pyrs.Stream[int]:
    """Run a statement; return the number of changed rows."""
    return pyrs.defer(lambda: _counts(bridge, _bound(bridge, connection.createStatement(sql), values)))


def _counts(bridge: Bridge, statement: JavaObject) -> pyrs.Stream[int]:
    results: pyrs.Stream[JavaObject] = bridge.from_jvm(statement.execute())
    return results.concat_map(lambda result: bridge.from_jvm(result.getRowsUpdated()))


def _bound(bridge: Bridge, statement: JavaObject, values: Sequence[object]) -> JavaObject:
    for position, value in enumerate(values):
        if value is None:
            statement.bindNull(position, bridge.java_class("java.lang.String"))  # H2 ignores the type
        else:
            statement.bind(position, value)
    return statement


def insert(
    bridge: Bridge,
    connection: JavaObject,
    sql: str,
    records: pyrs.Stream[Sequence[object]],
    *,
    batch_size: int = 100,
) -> pyrs.Stream[int]:
    """Run the statement for each record, in batches.

    Emit the number of rows of each batch.
    """

    def insert_batch(batch: list[Sequence[object]]) -> pyrs.Stream[int]:
        statement = connection.createStatement(sql)
        for number, record in enumerate(batch):
            _bound(bridge, statement.add() if number else statement, record)
        return _counts(bridge, statement).to_list().map(sum)

    return records.buffer(batch_size).concat_map(insert_batch, prefetch=1)


def blob(bridge: Bridge, chunks: pyrs.Publisher[bytes]) -> JavaObject:
    """Return a value for a ``BLOB`` column, to pass to ``changed`` and ``insert``.

    ``rows`` returns such a column as bytes.
    """
    content = bridge.to_jvm(chunks, element_type="java.nio.ByteBuffer")
    value: JavaObject = bridge.java_class("io.r2dbc.spi.Blob").from_(content)
    return value


print(warmest(pyrs.just((1, 20.5), (2, 23.0))))
