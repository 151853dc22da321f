"""Read growing log files with a streaming query, each file by a Publisher on the executors.

The offset of a partition is a position in its file. The second query continues where the first one ended.

Run it: python examples/logs_on_executors.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

import pyrs
from pyrs import spark as ps


def latest(path: str) -> int:
    """Return the position after the last complete line. Spark calls it on the driver's host."""
    return Path(path).read_bytes().rfind(b"\n") + 1


def lines(path: str, start: int, end: int) -> pyrs.Stream[tuple[str, str]]:
    """Return the lines of a range. Spark calls it on an executor."""

    def read() -> Iterator[tuple[str, str]]:
        with open(path, "rb") as file:
            file.seek(start)
            while file.tell() < end:
                yield Path(path).stem, file.readline().decode().rstrip()

    return pyrs.from_iterable(read())


def show(batch: DataFrame, batch_id: int) -> None:
    for row in batch.orderBy("host", "line").collect():
        print(f"batch {batch_id}  {row.host}: {row.line}")


os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
with TemporaryDirectory() as folder:
    files = [Path(folder, "oslo.log"), Path(folder, "rome.log")]
    df = ps.stream_from_publishers(spark, [str(file) for file in files], lines, "host string, line string", latest)
    writer = df.writeStream.foreachBatch(show).option("checkpointLocation", f"{folder}/checkpoint")

    files[0].write_text("start\nready\nfirst req")  # the last line is incomplete
    files[1].write_text("start\n")
    writer.trigger(availableNow=True).start().awaitTermination()

    with open(files[0], "a") as file:
        file.write("uest\n")
    writer.trigger(availableNow=True).start().awaitTermination()
spark.stop()
