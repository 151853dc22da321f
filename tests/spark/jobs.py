"""The number of running jobs, their local properties, and the deadline of a job."""

from __future__ import annotations

from typing import Any

from tests.waiting import DEADLINE

JOB_DEADLINE = 100.0
"""Seconds; a job may need new Python workers, each of which imports pandas and pyarrow."""


def active_jobs(spark: Any) -> int:
    """Return the number of running jobs of the session.

    Spark's status tracker receives the start and the end of a job from the listener bus, which lags behind the tasks
    on a busy machine. This function therefore first waits until the bus is empty. Spark posts the start of a job before
    its first task runs, and the end before it returns the result.
    """
    context = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty(int(DEADLINE * 1000))
    return len(context.statusTracker().getActiveJobsIds())


def local_property(df: Any, name: str) -> Any:
    """Return a DataFrame with the value of a local property in the task of each row."""

    def read(rows: Any) -> Any:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        yield from ((context.getLocalProperty(name),) for _ in rows)

    return df.rdd.mapPartitions(read).toDF("value string")
