#!/usr/bin/env python3
"""Write a class-data archive for Spark drivers, from which the drivers of the tests load their classes.

The first argument is the path of the archive. A driver that reads the archive uses 7 s of CPU time for its first query
instead of 12 s, and `make test` starts about thirty drivers. A JVM checks that the archive fits its own version and its
class path, and loads the classes from the jars otherwise.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def run_typical_queries(spark: Any, folder: Path) -> None:
    """Load the classes that most tests use: DataFrames, Arrow, Python workers and streaming queries."""
    frame = spark.createDataFrame([(number, str(number)) for number in range(4)], "number long, text string")
    frame.mapInArrow(lambda batches: batches, frame.schema).groupBy("text").count().orderBy("text").collect()
    frame.rdd.map(tuple).collect()
    frame.toArrow()
    frame.write.parquet(str(folder / "parquet"))
    query = (
        spark.readStream.schema(frame.schema)
        .parquet(str(folder / "parquet"))
        .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(lambda batch, _: batch.collect())
        .start()
    )
    query.awaitTermination()


def main(path: str) -> None:
    """Run the queries in a driver that writes the archive when it exits."""
    sys.path.insert(0, str(ROOT))
    from tests.project.scripts import script
    from tests.sessions import spark_session

    suites = script("test")
    # The driver of an interrupted run also writes an archive, after make has removed its target.
    unfinished = f"{path}.unfinished"
    archive = f"-XX:ArchiveClassesAtExit={shlex.quote(unfinished)}"
    os.environ["SPARK_SUBMIT_OPTS"] = f"{suites.WITHOUT_OPTIMIZING} {archive} {suites.WITHOUT_REPORTS}"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = spark_session("local[2]")
    gateway: Any = spark.sparkContext._gateway
    with tempfile.TemporaryDirectory() as folder:
        run_typical_queries(spark, Path(folder))
    spark.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    with suppress(FileNotFoundError):  # a JVM may not be able to write archives
        Path(unfinished).replace(path)


if __name__ == "__main__":
    main(sys.argv[1])
