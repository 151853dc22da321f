"""Copy a database over R2DBC through a Python stage into Spark.

Run it: python examples/r2dbc_to_spark.py

The database driver (H2, in the JVM of the Spark driver) publishes rows, Python converts them, and Spark receives small
DataFrames sequentially. Demand propagates back to the database: while Spark is busy, no more rows are requested.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import pyrs
from pyrs import jvm
from pyrs import spark as ps
from pyrs.errors import JavaError

SCHEMA = "id long, sensor string, celsius double"
FILL = """CREATE TABLE readings AS SELECT x AS id, 'sensor-' || MOD(x, 3) AS sensor,
    CASE WHEN MOD(x, 10) = 0 THEN NULL ELSE 50.0 + MOD(x, 3) * 9 END AS fahrenheit FROM SYSTEM_RANGE(1, {rows}) """


def to_celsius(readings: pyrs.Stream[dict[str, Any]]) -> pyrs.Stream[tuple[int, str, float]]:
    """Drop readings without a value, and convert the others to degrees Celsius."""
    rows = readings.map(lambda reading: tuple(reading.values()))
    return rows.filter(lambda row: row[2] is not None).map(lambda row: (row[0], row[1], float(row[2] - 32) / 1.8))


class Database:
    """R2DBC from Python. Each Subscriber of ``execute`` or ``rows`` has its own connection."""

    def __init__(self, bridge: jvm.Bridge, url: str) -> None:
        self.bridge = bridge
        self.flux = bridge.java_class("reactor.core.publisher.Flux")
        self.to_dict = bridge.value_function()  # a row is valid in the callback only: Java converts it there
        factories = bridge.java_class("io.r2dbc.spi.ConnectionFactories")
        self.connections = bridge.from_jvm(factories.get(url).create())

    def execute(self, sql: str) -> pyrs.Stream[int]:
        return self._results(sql, lambda result: self.bridge.from_jvm(result.getRowsUpdated()))

    def rows(self, sql: str, on_request: Any) -> pyrs.Stream[dict[str, Any]]:
        # One round trip per request is affordable, because requests are few.
        watch = self.bridge.to_jvm_callable(on_request, "java.util.function.LongConsumer")

        def read(result: Any) -> pyrs.Stream[dict[str, Any]]:
            return self.bridge.from_jvm(self.flux.from_(result.map(self.to_dict)).doOnRequest(watch))

        return self._results(sql, read)

    def _results(self, sql: str, read: Any) -> pyrs.Stream[Any]:
        @contextmanager
        def opened(connection: Any) -> Iterator[Any]:
            try:
                yield connection
            finally:  # after completion, an error or a cancel
                self.bridge.from_jvm(connection.close()).collect(timeout=10)

        def run(connection: Any) -> pyrs.Stream[Any]:
            return self.bridge.from_jvm(connection.createStatement(sql).execute()).concat_map(read)

        return self.connections.concat_map(lambda connection: pyrs.using(lambda: opened(connection), run))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--url", default="r2dbc:h2:mem:///example;DB_CLOSE_DELAY=-1", help="the R2DBC URL (%(default)s)"
    )
    parser.add_argument(
        "--rows", type=int, default=10_000, help="create a table with this many rows first; 0: use an existing one"
    )
    parser.add_argument(
        "--query",
        default="SELECT id, sensor, fahrenheit FROM readings",
        help="a query for an id, a name and a number (%(default)s)",
    )
    parser.add_argument("--out", type=Path, help="the folder for Parquet files, by default a temporary one")
    parser.add_argument(
        "--frame", type=int, default=1000, help="the maximum number of rows of a DataFrame (%(default)s)"
    )
    parser.add_argument(
        "--window", type=int, default=256, help="the maximum number of rows on the bridge (%(default)s)"
    )
    parser.add_argument(
        "--packages", default="io.r2dbc:r2dbc-h2:1.0.0.RELEASE", help="Maven coordinates of the driver (%(default)s)"
    )
    parser.add_argument("--master", default="local[2]", help="the Spark master (%(default)s)")
    parser.add_argument("--jars", type=Path, help="a folder of jars that replaces --packages; nothing is downloaded")
    options = parser.parse_args()
    if options.jars is not None and not list(options.jars.glob("*.jar")):
        parser.error(f"--jars: there is no jar in {options.jars}")
    return options


def session(options: argparse.Namespace) -> SparkSession:
    builder = SparkSession.builder.master(options.master).appName("r2dbc_to_spark")
    if options.jars is None:
        builder = builder.config("spark.jars.packages", options.packages)
    else:
        builder = builder.config("spark.jars", ",".join(map(str, sorted(options.jars.glob("*.jar")))))
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    return builder.config(map=quiet).getOrCreate()


def main(options: argparse.Namespace, out: str) -> None:
    spark = session(options)
    try:
        with jvm.connect(spark, max_prefetch=options.window) as bridge:
            copy(spark, bridge, options, out)
    except JavaError as error:  # the database reports it
        sys.exit(f"r2dbc_to_spark: {error}")
    finally:
        spark.stop()


def copy(spark: SparkSession, bridge: jvm.Bridge, options: argparse.Namespace, out: str) -> None:
    try:
        database = Database(bridge, options.url)
    except JavaError as error:
        if error.java_class == "java.lang.ClassNotFoundException":
            sys.exit(f"r2dbc_to_spark: no R2DBC in this driver: pass --packages {options.packages}")
        sys.exit(f"r2dbc_to_spark: {error.java_message}")  # R2DBC is loaded, but has no driver for this URL
    if options.rows:
        database.execute(FILL.format(rows=options.rows)).collect()

    read, converted = pyrs.Metrics("read"), pyrs.Metrics("converted")
    requested, ahead, sizes = 0, 0, [0]

    def note_request(rows: int) -> None:
        nonlocal requested, ahead
        requested += rows
        # Requested rows that were not read, and converted rows that were not stored.
        ahead = max(ahead, requested - read.elements + converted.elements - sum(sizes))

    def store(df: Any) -> None:
        df.write.mode("append").parquet(out)
        sizes.append(df.count())

    rows = database.rows(options.query, on_request=note_request).metrics(read)
    copied = ps.for_each_frame(
        to_celsius(rows).metrics(converted), SCHEMA, store, max_rows=options.frame, max_wait=0.2
    ).block()
    print(f"{copied} rows in {len(sizes) - 1} DataFrames of at most {max(sizes)} rows")
    print(f"at most {ahead} requested rows were not yet in Spark")
    if copied:
        means = spark.read.parquet(out).groupBy("sensor").avg("celsius").orderBy("sensor").collect()
        print(*(f"{sensor}: {mean:.1f} degrees Celsius" for sensor, mean in means), sep="\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        given = arguments()
        main(given, str(given.out or Path(folder) / "readings"))
