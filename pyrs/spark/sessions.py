"""Validation of sessions, and the jobs of one subscription."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import Context
from functools import partial
from itertools import count
from threading import Condition
from typing import Any
from uuid import uuid4

from pyrs._core import hooks
from pyrs._core.context import bound_executor
from pyrs._core.executor import DaemonExecutor
from pyrs.errors import JvmUnavailable
from pyrs.spark.read.execution import ExecutionFailed

__all__ = [
    "Jobs",
    "checked_dataframe",
    "drain_executor",
    "in_background",
    "inherited",
    "is_stopped",
    "live_context",
    "loopback",
    "why_not_classic",
]

_CANCEL_AGAIN_SECONDS = 0.05
_CANCEL_FOR_SECONDS = 60.0
_numbers = count(1)
_process = uuid4().hex[:8]

# Threads of the first executor signal Subscribers. They never carry the tag of a job, so a cancel spares the jobs that
# a Subscriber starts. Threads of the second start jobs, and run no user code.
_signals = DaemonExecutor("spark")
_fetches = DaemonExecutor("spark-fetch")
_queries = DaemonExecutor("spark-query", max_threads=4096)  # each task lasts as long as a subscription


def drain_executor(context: Context | None) -> Callable[[Callable[[], object]], None]:
    """Return the executor of a drain loop: neither an asyncio loop nor a listener's thread signals."""
    return bound_executor(_signals, context)


def in_background(task: Callable[[], object]) -> None:
    """Run a task that waits for Spark, on a thread that runs no user code."""
    _fetches.execute(task)


def inherited(context: Any, task: Callable[[], object]) -> Callable[[], object]:
    """Wrap the task to run with the local properties that the calling thread has now.

    All runs share one properties object: a property that one of them sets, such as a tag, applies to all.
    """
    spark_context = context._jsc.sc()
    properties = spark_context.getLocalProperties().clone()

    def run() -> object:
        spark_context.setLocalProperties(properties)
        return task()

    return run


def checked_dataframe(df: Any, *, streaming: bool | None) -> Any:
    """Return the DataFrame if it belongs to a live classic session.

    Args:
        df: the DataFrame.
        streaming: whether it must be streaming or must not be; None for either.

    Raises:
        TypeError: ``df`` is not a DataFrame.
        ValueError: it is streaming and must not be, or the reverse.
        JvmUnavailable: its session is not supported, or was stopped.
    """
    from pyspark.sql import DataFrame

    parameter = "sdf" if streaming else "df"
    names = [f"{cls.__module__}.{cls.__name__}" for cls in type(df).__mro__]
    if not isinstance(df, DataFrame) and "pyspark.sql.connect.dataframe.DataFrame" not in names:
        raise TypeError(f"{parameter} must be a DataFrame, not {type(df).__name__}")
    live_context(df.sparkSession)
    if streaming is not None and df.isStreaming is not streaming:
        raise ValueError(
            "sdf is not a streaming DataFrame: use from_dataframe"
            if streaming
            else "df is a streaming DataFrame: use from_stream"
        )
    return df


def live_context(spark: Any) -> Any:
    """Return the SparkContext of a session whose jobs can be tagged.

    Raises:
        TypeError: ``spark`` is not a SparkSession.
        JvmUnavailable: it is a session of Spark Connect, pinned threads are off, or it was stopped.
    """
    reason = why_not_classic(spark)
    if reason is not None:
        raise JvmUnavailable(reason)
    return spark.sparkContext


def why_not_classic(spark: Any) -> str | None:
    """Return the reason why jobs cannot run on this session, None if they can.

    Raises:
        TypeError: ``spark`` is not a SparkSession.
    """
    names = [f"{cls.__module__}.{cls.__name__}" for cls in type(spark).__mro__]
    if any(name.startswith("pyspark.sql.connect.") for name in names):
        return "this is a Spark Connect session, and pyrs.spark supports classic sessions only"
    if "pyspark.sql.session.SparkSession" not in names:
        raise TypeError(f"spark must be a SparkSession, not {type(spark).__name__}")
    if os.environ.get("PYSPARK_PIN_THREAD", "true").lower() != "true":
        return "PYSPARK_PIN_THREAD is off: a cancel finds jobs by their tag, which needs pinned threads"
    if is_stopped(spark.sparkContext):
        return "the SparkSession was stopped"
    return None


def loopback() -> str:
    """Return the address of this machine's loopback, of the IP version that Spark uses."""
    return "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"


def is_stopped(context: Any) -> bool:
    """Return whether a SparkContext was stopped, or its JVM has ended."""
    java = context._jsc
    try:
        return java is None or bool(java.sc().isStopped())
    except Exception:
        return True


class Jobs:
    """The jobs of one subscription. All carry one tag, by which a cancel finds them.

    Create it on the thread that subscribes: the jobs inherit its local properties, such as a scheduler pool.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self.tag = f"pyrs-{_process}-{next(_numbers)}"
        self._tag_thread = inherited(context, lambda: context.addJobTag(self.tag))
        self._idle = Condition()
        self._active = 0
        self._over = False
        self.cancelled = False

    def submit(self, task: Callable[[], object]) -> None:
        """Run a task on a thread whose jobs carry the tag. Do nothing after a cancel."""
        self._submit(task, _fetches)

    def submit_query(self, task: Callable[[], object]) -> None:
        """Like ``submit``, but for a task that calls ``wait_until_over``: it delays no other task."""
        self._submit(task, _queries)

    def inherit(self) -> None:
        """Run later tasks with the local properties that the calling thread, which carries the tag, has now."""
        self._tag_thread = inherited(self._context, lambda: None)

    def wait_until_over(self) -> None:
        """Return after ``finish``. This thread does not count as one that runs a job.

        Raises:
            ExecutionFailed: the jobs were cancelled.
        """
        with self._idle:
            self._active -= 1
            self._idle.notify_all()
            self._idle.wait_for(lambda: self._over or self.cancelled)
            self._active += 1
            if not self._over:
                raise ExecutionFailed("the Subscriber cancelled, or a partition failed")

    def finish(self) -> None:
        """End the execution as successful: every partition was read."""
        with self._idle:
            self._over = True
            self._idle.notify_all()

    def _submit(self, task: Callable[[], object], executor: DaemonExecutor) -> None:
        with self._idle:
            if self.cancelled:
                return
            self._active += 1
        try:
            executor.execute(partial(self._enter, task))
        except BaseException:
            self._leave()
            raise

    def _enter(self, task: Callable[[], object]) -> None:
        try:
            if not self.cancelled:
                self._tag_thread()
                task()
        except Exception as error:
            if not self.cancelled:
                hooks.on_error_dropped(error, f"on a thread of the jobs {self.tag}")
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._idle:
            self._active -= 1
            self._idle.notify_all()

    def cancel(self) -> None:
        """Start no more jobs, and cancel the running ones. Does not block; from any thread."""
        with self._idle:
            before, self.cancelled = self.cancelled, True
            self._idle.notify_all()
            if before or not self._active:
                return
        _signals.execute(self._cancel)

    def _cancel(self) -> None:
        # Repeated, because a thread may be about to start a job when the first cancel arrives.
        waited = 0.0
        while waited < _CANCEL_FOR_SECONDS:
            with self._idle:
                if not self._active:
                    return
            try:
                self._context.cancelJobsWithTag(self.tag)
            except Exception:
                if is_stopped(self._context):
                    return  # a session that stops ends its jobs
                raise
            with self._idle:
                if self._idle.wait_for(lambda: not self._active, _CANCEL_AGAIN_SECONDS):
                    return
            waited += _CANCEL_AGAIN_SECONDS
