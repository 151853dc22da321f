"""PostgreSQL: the recipe of docs/recipes/postgresql.md.

Run it: python examples/recipes/postgresql.py

It needs a server, which the page describes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pyrs
from pyrs import jvm, sinks
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["org.postgresql:r2dbc-postgresql:1.1.1.RELEASE"]


def names(**database: object) -> list[str]:
    """Return names of customers: ``names(host="127.0.0.1", port=5432, user="me", database="shop")``."""
    with jvm.launch(packages=PACKAGES) as bridge, connected(bridge, **database) as connection:
        customers = rows(bridge, connection, "SELECT name FROM customers WHERE id > $1", 100)
        return customers.map(lambda row: row["name"]).collect(timeout=60)


@contextlib.contextmanager
def connected(bridge: Bridge, **database: object) -> Iterator[JavaObject]:
    """Open a connection and close it on exit.

    The connection runs one statement at a time; a second statement waits for the first.
    """
    option = bridge.java_class("io.r2dbc.spi.Option")
    options = bridge.java_class("io.r2dbc.spi.ConnectionFactoryOptions").builder()
    for name, value in {"driver": "postgresql", **database}.items():
        options.option(option.valueOf(name), value)
    factory = bridge.java_class("io.r2dbc.spi.ConnectionFactories").get(options.build())
    [connection] = bridge.from_jvm(factory.create()).collect(timeout=60)
    try:
        yield connection
    finally:
        bridge.from_jvm(connection.close()).collect(timeout=60)


def rows(
    bridge: Bridge, connection: JavaObject, sql: str, *values: object, fetch_size: int = 256
) -> pyrs.Stream[dict[str, Any]]:
    """Return the rows of a query as dicts.

    ``values`` are the values of ``$1``, ``$2`` and so on.
    """
    to_dict = bridge.value_function()  # in Java, because a row is valid inside its callback only

    def run() -> pyrs.Stream[dict[str, Any]]:
        statement = _bound(bridge, connection.createStatement(sql).fetchSize(fetch_size), values)
        results: pyrs.Stream[JavaObject] = bridge.from_jvm(statement.execute())
        return results.concat_map(lambda result: bridge.from_jvm(result.map(to_dict)))

    return pyrs.defer(run)


def changed(bridge: Bridge, connection: JavaObject, sql: str, *values: object) -> pyrs.Stream[int]:
    """Run a statement; return the number of changed rows."""

    def run() -> pyrs.Stream[int]:
        statement = _bound(bridge, connection.createStatement(sql), values)
        results: pyrs.Stream[JavaObject] = bridge.from_jvm(statement.execute())
        return results.concat_map(lambda result: bridge.from_jvm(result.getRowsUpdated()))

    return pyrs.defer(run)


def _bound(bridge: Bridge, statement: JavaObject, values: tuple[object, ...]) -> JavaObject:
    for position, value in enumerate(values):
        if value is None:
            statement.bindNull(position, bridge.java_class("java.lang.Object"))  # the server infers the type
        else:
            statement.bind(position, value)
    return statement


def copy_in(bridge: Bridge, connection: JavaObject, sql: str, chunks: pyrs.Publisher[bytes]) -> pyrs.Stream[int]:
    """Run ``COPY ... FROM STDIN`` with the chunks; return the number of rows."""
    flux = bridge.java_class("reactor.core.publisher.Flux")

    def run() -> pyrs.Stream[int]:
        stop = sinks.unicast()
        source = pyrs.Stream(chunks).take_until(stop.stream)
        buffers = flux.from_(bridge.to_jvm(source, element_type="io.netty.buffer.ByteBuf"))
        copied = connection.copyIn(sql).fromMany(buffers.window(1)).build().cache()
        count: pyrs.Stream[int] = bridge.from_jvm(copied)
        return count.do_on_cancel(lambda: stop.try_emit_error(InterruptedError("cancelled")))

    return pyrs.defer(run)


def notifications(
    bridge: Bridge, connection: JavaObject, channel: str, *, max_buffered: int = 1000
) -> pyrs.Stream[dict[str, Any]]:
    """Return a channel's notifications: dicts of ``name``, ``parameter``, ``processId``.

    Args:
        channel: an SQL identifier: never pass untrusted input.
        max_buffered: the capacity of the buffer for a slow Subscriber; the stream fails if it overflows.
    """
    received = bridge.from_jvm(
        connection.getNotifications().onBackpressureBuffer(max_buffered), hot=True, convert="values"
    )
    listen = pyrs.defer(lambda: changed(bridge, connection, f"LISTEN {channel}").ignore_elements())
    return pyrs.merge(received, listen)


UPSERT = """INSERT INTO totals SELECT * FROM json_to_recordset($1::json) AS new(customer bigint, total bigint)
    ON CONFLICT (customer) DO UPDATE SET total = excluded.total"""


def add_up(spark: Any, ranges: list[tuple[int, int]], **database: object) -> int:
    """Write the total of each customer's orders; return the number of written totals.

    A task reads each range of ids.
    """
    from pyrs import spark as ps

    def read(ids: tuple[int, int]) -> pyrs.Stream[dict[str, Any]]:
        query = "SELECT customer, amount FROM orders WHERE id >= $1 AND id < $2"
        return connected_task(lambda bridge, connection: rows(bridge, connection, query, *ids), **database)

    def write(totals: pyrs.Stream[Any]) -> pyrs.Stream[tuple[int]]:
        chunks = totals.map(lambda row: row.asDict()).buffer(1000).map(json.dumps)
        return connected_task(
            lambda bridge, connection: chunks.concat_map(lambda chunk: changed(bridge, connection, UPSERT, chunk)),
            **database,
        ).map(lambda count: (count,))

    orders = ps.from_publishers(spark, ranges, read, "customer long, amount long")
    totals = orders.groupBy("customer").sum("amount").withColumnRenamed("sum(amount)", "total")
    return sum(row.written for row in ps.apply(totals, write, "written long").collect())


def connected_task(use: Callable[[Bridge, JavaObject], pyrs.Stream[Any]], **database: object) -> pyrs.Stream[Any]:
    """Return the stream of ``use``; each Subscriber has a connection in the JVM of this process."""

    def connect(bridge: Bridge) -> pyrs.Stream[Any]:
        return pyrs.using(lambda: connected(bridge, **database), lambda connection: use(bridge, connection))

    return pyrs.using(lambda: jvm.launch(packages=PACKAGES, jvm_options=["-Xmx256m"]), connect)


print(names(host="127.0.0.1", port=5432, user="me", password="secret", database="shop"))
