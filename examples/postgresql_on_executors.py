"""Add up the orders of a PostgreSQL database with Spark: executors read and write the rows over R2DBC.

Run it: PGPASSWORD=... python examples/postgresql_on_executors.py --master spark://host:7077 --user me

Each task has a JVM in its Python worker, and a connection to the database. No order passes through the driver. A JVM in
this process creates the tables orders and totals, reads the sum of the totals, and drops the tables at the end.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

import pyrs
from pyrs import jvm
from pyrs import spark as ps

PACKAGES = ["org.postgresql:r2dbc-postgresql:1.1.1.RELEASE"]
CREATE = (
    "CREATE TABLE orders AS SELECT n AS id, n % 100 AS customer, n AS amount FROM generate_series(1, {rows}) n",
    "CREATE INDEX ON orders (id)",
    "CREATE TABLE totals (customer bigint PRIMARY KEY, total bigint)",
)
DROP = ("DROP TABLE IF EXISTS orders", "DROP TABLE IF EXISTS totals")
QUERY = "SELECT customer, amount FROM orders WHERE id >= $1 AND id < $2"
# Spark may run a task again: the key makes a repeated write harmless.
UPSERT = """INSERT INTO totals SELECT * FROM json_to_recordset($1::json) AS new(customer bigint, total bigint)
    ON CONFLICT (customer) DO UPDATE SET total = excluded.total"""
CHUNK = 1000


class Connection:
    """An R2DBC connection in the JVM of this process."""

    def __init__(self, bridge: jvm.Bridge, connection: Any) -> None:
        self._bridge, self._connection = bridge, connection

    def rows(self, sql: str, *values: object) -> pyrs.Stream[dict[str, Any]]:
        """Run a query; return its rows as dicts."""
        to_dict = self._bridge.value_function()  # in Java, because a row is valid inside its callback only
        return self._results(sql, values, lambda result: result.map(to_dict))

    def changed(self, sql: str, *values: object) -> pyrs.Stream[int]:
        """Run a statement; return the number of changed rows."""
        return self._results(sql, values, lambda result: result.getRowsUpdated())

    def _results(self, sql: str, values: tuple[object, ...], read: Callable[[Any], Any]) -> pyrs.Stream[Any]:
        statement = self._connection.createStatement(sql).fetchSize(256)
        for position, value in enumerate(values):
            statement.bind(position, value)
        results: pyrs.Stream[Any] = self._bridge.from_jvm(statement.execute())
        return results.concat_map(lambda result: self._bridge.from_jvm(read(result)))


def connected(database: dict[str, object], use: Callable[[Connection], pyrs.Stream[Any]]) -> pyrs.Stream[Any]:
    """Return the stream of ``use``, with a connection for each Subscriber."""

    @contextmanager
    def connection() -> Iterator[Connection]:
        with jvm.launch(packages=PACKAGES, jvm_options=["-Xmx256m"]) as bridge:
            option = bridge.java_class("io.r2dbc.spi.Option")
            options = bridge.java_class("io.r2dbc.spi.ConnectionFactoryOptions").builder()
            for name, value in {"driver": "postgresql", **database}.items():
                options.option(option.valueOf(name), value)
            factory = bridge.java_class("io.r2dbc.spi.ConnectionFactories").get(options.build())
            [opened] = bridge.from_jvm(factory.create()).collect(timeout=60)
            try:
                yield Connection(bridge, opened)
            finally:  # after completion, an error or a cancel
                bridge.from_jvm(opened.close()).collect(timeout=60)

    return pyrs.using(connection, use)


def add_up(spark: SparkSession, database: dict[str, object], ranges: list[tuple[int, int]]) -> int:
    """Add up the orders of each customer, with a task for each range of ids; return the number of written totals."""

    def read(ids: tuple[int, int]) -> pyrs.Stream[dict[str, Any]]:
        return connected(database, lambda connection: connection.rows(QUERY, *ids))

    def write(totals: pyrs.Stream[Any]) -> pyrs.Stream[tuple[int]]:
        chunks = totals.map(lambda row: row.asDict()).buffer(CHUNK).map(json.dumps)
        written = connected(database, lambda connection: chunks.concat_map(lambda it: connection.changed(UPSERT, it)))
        return written.map(lambda count: (count,))

    orders = ps.from_publishers(spark, ranges, read, "customer long, amount long")
    totals = orders.groupBy("customer").sum("amount").withColumnRenamed("sum(amount)", "total")
    return sum(row.written for row in ps.apply(totals, write, "written long").collect())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", default="local[2]", help="the Spark master (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="the database server (%(default)s)")
    parser.add_argument("--port", type=int, default=5432, help="its port (%(default)s)")
    parser.add_argument("--user", required=True, help="the user; the password is in the variable PGPASSWORD")
    parser.add_argument("--database", default="postgres", help="the database (%(default)s)")
    parser.add_argument("--rows", type=int, default=20_000, help="the number of orders (%(default)s)")
    parser.add_argument("--tasks", type=int, default=4, help="the number of tasks that read (%(default)s)")
    return parser.parse_args()


def main(options: argparse.Namespace) -> None:
    database: dict[str, object] = {name: getattr(options, name) for name in ("host", "port", "user", "database")}
    database["password"] = os.environ["PGPASSWORD"]

    def run(*statements: str) -> None:
        for sql in statements:
            connected(database, lambda connection, sql=sql: connection.changed(sql)).collect(timeout=60)

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    spark = SparkSession.builder.master(options.master).appName("postgresql").config(map=quiet).getOrCreate()
    try:
        ps.ship(spark)
        run(*DROP, *(sql.format(rows=options.rows) for sql in CREATE))
        size = -(-options.rows // options.tasks)
        ranges = [(first, first + size) for first in range(1, options.rows + 1, size)]
        print(f"{add_up(spark, database, ranges)} totals written")
        [row] = connected(
            database, lambda connection: connection.rows("SELECT count(*) AS n, sum(total)::bigint AS sum FROM totals")
        ).collect(timeout=60)
        print(f"{row['n']} totals in the database, of {row['sum']} in all")
        run(*DROP)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(arguments())
