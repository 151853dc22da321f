"""The number of running jobs, and the deadline of a job."""

from __future__ import annotations

from typing import Any

from tests.waiting import DEADLINE

JOB_DEADLINE = 100.0
"""Seconds; a job may need new Python workers, each of which imports pandas and pyarrow."""


def active_jobs(spark: Any) -> int:
    """Returns how many jobs of the session run.

    Spark's tracker hears of a job by a bus, and on a busy machine its task may be at work before that. So what is on
    the bus comes first: a job is on it before any of its tasks begins, and its end before anybody has its result.
    """
    context = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty(int(DEADLINE * 1000))
    return len(context.statusTracker().getActiveJobsIds())
