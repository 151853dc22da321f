"""Validation of sessions, and the jobs of one subscription."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import count
from threading import Condition, Event
from typing import Any, TypeVar
from uuid import uuid4

import pyspark

from pyrs._core import hooks
from pyrs._core.context import bound_executor, capture
from pyrs._core.coordinator import Coordinator
from pyrs._core.executor import DaemonExecutor
from pyrs._core.operator import Operator, Startable
from pyrs.api import Publisher, Subscriber
from pyrs.errors import JvmUnavailable
from pyrs.spark.read.execution import ExecutionFailed

R = TypeVar("R")

# Since SPARK-54711, an interrupt of a task that waits for its Python worker to start ends every Python worker of the
# executor, also those of other jobs. A streaming query enables these interrupts for its thread, and a SQL execution
# does so if the property of its thread is not set.
NO_INTERRUPTS = ("spark.job.interruptOnCancel", "false")

_CHECK_SECONDS = 1.0
_CANCEL_AGAIN_SECONDS = 0.05
_CANCEL_FOR_SECONDS = 60.0
_NEED_JVM = {
    "attach": "run this program in the driver, with a classic session, or start a JVM here with pyrs.jvm.launch()",
    "from_stream": "use apply(sdf, stage, schema).writeStream, which runs the stage on the executors",
    "for_each_partition of a streaming DataFrame": "use apply(df, stage, schema).writeStream",
    "read_stream": "use for_each_frame",
}
"""The functions that need the JVM of the driver, and what to use without it."""
_NEED_VERSION = {
    "read_stream": ((4, 0), "the first with streaming Python Data Sources"),
    "stream_from_publishers": ((4, 0), "the first with streaming Python Data Sources"),
    "apply_by_key": ((4, 1), "the first with transformWithState of rows"),
    "on_restart as a function": ((4, 2), "the first that passes the start of a query"),
    "events on Spark Connect": ((4, 0), "the first whose listeners run in the client"),
}
"""The functions that need a later PySpark than 3.5, with the first version and its relevant feature."""
_numbers = count(1)
_process = uuid4().hex[:8]

# Subscribers and user functions may block, and a paused subscription can occupy a thread. No stream may wait for a
# thread that another stream occupies, so the limit only stops a program that subscribes endlessly.
_MAX_THREADS = 1 << 14
# Threads of the first executor signal Subscribers. They never carry the tag of a job, so a cancel spares the jobs that
# a Subscriber starts. Threads of the second run jobs, and the functions of for_each_frame.
_signals = DaemonExecutor("spark", max_threads=_MAX_THREADS)
_fetches = DaemonExecutor("spark-fetch", max_threads=_MAX_THREADS)
_cancels = DaemonExecutor("spark-cancel")  # runs no user code

in_background = DaemonExecutor("spark-query", max_threads=_MAX_THREADS).execute
"""Runs a task that may last as long as a subscription, on a thread that no other task needs."""


def drain_executor() -> Callable[[Callable[[], object]], None]:
    """Return an executor that drains on threads of pyrs, never on the caller's thread."""
    return bound_executor(_signals, capture())


def inherited(spark: Any, task: Callable[[], object]) -> Callable[[], object]:
    """Wrap the task to run with the present local properties of this thread.

    All runs share one properties object: a property that one of them sets, such as a tag, applies to all. A cancel of
    the jobs does not interrupt the threads of their tasks. A task ends at its next row, and Spark ends a Python worker
    that emits none after at most ``spark.python.task.killTimeout`` and two seconds.

    With Spark Connect there are no such properties: each run starts with the tags that the calling thread has now.
    """
    if is_connect(spark):
        tags = set(spark.getTags())

        def run_tagged() -> object:
            spark.clearTags()
            for tag in tags:
                spark.addTag(tag)
            return task()

        return run_tagged
    spark_context = spark.sparkContext._jsc.sc()
    properties = spark_context.getLocalProperties().clone()
    properties.setProperty(*NO_INTERRUPTS)

    def run() -> object:
        spark_context.setLocalProperties(properties)
        return task()

    return run


def checked_dataframe(df: Any, *, streaming: bool | None, function: str = "") -> Any:
    """Return the DataFrame if it belongs to a live session.

    ``streaming`` is None if it may be either. ``function`` names a function that needs the JVM of the driver.

    Raises:
        TypeError: ``df`` is not a DataFrame.
        ValueError: it is streaming and must not be, or the reverse.
        JvmUnavailable: its session is not supported, or was stopped.
    """
    from pyspark.sql import DataFrame

    parameter = "sdf" if streaming else "df"
    if not isinstance(df, DataFrame) and not is_connect(df):
        kind = type(df)  # pandas has a DataFrame, too
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"{parameter} must be a DataFrame, not {name}")
    checked_session(df.sparkSession, function)
    if streaming is not None and df.isStreaming is not streaming:
        raise ValueError(
            "sdf is not a streaming DataFrame: use from_dataframe"
            if streaming
            else "df is a streaming DataFrame: use from_stream"
        )
    return df


def checked_session(spark: Any, function: str = "") -> Any:
    """Return the session if it runs jobs and is supported.

    ``function`` names a function that needs the JVM of the driver.

    Raises:
        TypeError: ``spark`` is not a SparkSession.
        JvmUnavailable: it was stopped, pinned threads are off, or the function does not work with Spark Connect.
    """
    reason = why_not(spark, function)
    if reason is not None:
        raise JvmUnavailable(reason)
    return spark


def why_not(spark: Any, function: str = "") -> str | None:
    """Return the reason why a function does not work on this session, None if it does."""
    if is_connect(spark):
        if function in _NEED_JVM:
            return (
                f"{function} needs the JVM of the driver, which a client of Spark Connect cannot reach: "
                f"{_NEED_JVM[function]}"
            )
    elif "pyspark.sql.session.SparkSession" not in [f"{cls.__module__}.{cls.__name__}" for cls in type(spark).__mro__]:
        raise TypeError(f"spark must be a SparkSession, not {type(spark).__name__}")
    elif os.environ.get("PYSPARK_PIN_THREAD", "true").lower() != "true":
        return (
            "PYSPARK_PIN_THREAD is off, but a cancel finds jobs by their tag, which needs pinned threads: set it to "
            "true before the session starts"
        )
    return why_stopped(spark)


def why_too_old(spark: Any, function: str) -> str | None:
    """Return the reason why this PySpark is too old for a function, None if it is not."""
    found = pyspark.__version__
    for call in (function, f"{function} on Spark Connect") if is_connect(spark) else (function,):
        version, feature = _NEED_VERSION.get(call, ((3, 5), ""))
        if tuple(int(part) for part in found.split(".")[:2]) < version:
            return f"{call} needs PySpark {version[0]}.{version[1]}, {feature}, but this is PySpark {found}"
    return None


def check_pyspark(spark: Any, function: str) -> None:
    """Check that this PySpark is recent enough for a function."""
    reason = why_too_old(spark, function)
    if reason is not None:
        raise NotImplementedError(reason)


def is_connect(value: Any) -> bool:
    """Return whether a session or DataFrame belongs to Spark Connect."""
    return any(cls.__module__.startswith("pyspark.sql.connect.") for cls in type(value).__mro__)


def dataframe_name(df: Any) -> str:
    """Return the name of a DataFrame in the name of a stream: its first columns."""
    return f"DataFrame[{', '.join(df.columns[:4])}{', ...' if len(df.columns) > 4 else ''}]"


def loopback() -> str:
    """Return the loopback address of the IP version that Spark uses."""
    return "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"


def why_stopped(spark: Any) -> str | None:
    """Return why a session runs no more jobs, or None if it runs jobs."""
    try:
        if is_connect(spark):
            stopped = spark.is_stopped
        else:
            java = spark.sparkContext._jsc
            stopped = java is None or java.sc().isStopped()
    except Exception:
        return "the JVM of the SparkSession has ended"
    return "the SparkSession was stopped" if stopped else None


def wait_while_running(spark: Any, ended: Event, stopped: Callable[[JvmUnavailable], object]) -> None:
    """Wait until ``ended`` is set, or call ``stopped`` if the session stops before.

    Spark does not report that a session stops. A failed check may be transient, so two in a row are needed.
    """
    reasons = 0
    while not ended.wait(_CHECK_SECONDS):
        reason = why_stopped(spark)
        reasons = 0 if reason is None else reasons + 1
        if reason is not None and reasons > 1:
            stopped(JvmUnavailable(reason))
            return


def unless_stopped(spark: Any, error: BaseException) -> BaseException:
    """Return the error, or ``JvmUnavailable`` caused by it if the session was stopped."""
    reason = why_not(spark)
    if reason is None:
        return error
    unavailable = JvmUnavailable(reason)
    unavailable.__cause__ = error
    return unavailable


class Jobs:
    """The jobs of one subscription.

    All carry one tag, by which a cancel finds them. Create this object on the thread that subscribes: the jobs inherit
    the local properties of that thread, such as a scheduler pool.
    """

    def __init__(self, spark: Any) -> None:
        self._spark = checked_session(spark)
        self.tag = f"pyrs-{_process}-{next(_numbers)}"
        add_tag = spark.addTag if is_connect(spark) else spark.sparkContext.addJobTag
        self._tag_thread = inherited(spark, partial(add_tag, self.tag))
        self._idle = Condition()
        self._active = 0
        self._finished = False
        self.cancelled = False

    def submit(
        self, task: Callable[[], object], execute: Callable[[Callable[[], object]], object] = _fetches.execute
    ) -> None:
        """Run a task on a thread whose jobs carry the tag. Does nothing after a cancel."""
        with self._idle:
            if self.cancelled:
                return
            self._active += 1
        try:
            execute(partial(self._enter, task))
        except BaseException:
            self._leave()
            raise

    def inherit(self) -> None:
        """Run later tasks with the present properties of this thread, including its tag."""
        self._tag_thread = inherited(self._spark, lambda: None)

    def wait_until_finished(self) -> None:
        """Wait for ``finish``, without counting as a thread that runs a job.

        Raises:
            ExecutionFailed: the jobs were cancelled.
        """
        with self._idle:
            self._active -= 1
            self._idle.notify_all()
            self._idle.wait_for(lambda: self._finished or self.cancelled)
            self._active += 1
            if not self._finished:
                raise ExecutionFailed("the Subscriber cancelled, or a partition failed")

    def finish(self) -> None:
        """End the execution as successful: every partition was read."""
        with self._idle:
            self._finished = True
            self._idle.notify_all()

    def _enter(self, task: Callable[[], object]) -> None:
        try:
            if not self.cancelled:
                self._tag()
                task()
        except Exception as error:
            if not self.cancelled:
                hooks.on_error_dropped(error, f"on a thread of the jobs {self.tag}")
        finally:
            self._leave()

    def _tag(self) -> None:
        try:
            self._tag_thread()
        except Exception:
            if why_stopped(self._spark) is None:
                raise
            # The session has ended. The task fails for the same reason, and reports that to its Subscriber.

    def _leave(self) -> None:
        with self._idle:
            self._active -= 1
            self._idle.notify_all()

    def cancel(self) -> None:
        """Start no more jobs and cancel the running ones, on any thread, without blocking."""
        with self._idle:
            before, self.cancelled = self.cancelled, True
            self._idle.notify_all()
            if before or not self._active:
                return
        _cancels.execute(self._cancel)

    def _cancel(self) -> None:
        # The cancel is repeated, because a thread may be about to start a job when the first one arrives.
        spark, waited = self._spark, 0.0
        cancel = spark.interruptTag if is_connect(spark) else spark.sparkContext.cancelJobsWithTag
        while waited < _CANCEL_FOR_SECONDS:
            with self._idle:
                if not self._active:
                    return
            try:
                cancel(self.tag)
            except Exception:
                if why_stopped(spark) is not None:
                    return  # a session that stops ends its jobs
                raise
            with self._idle:
                if self._idle.wait_for(lambda: not self._active, _CANCEL_AGAIN_SECONDS):
                    return
            waited += _CANCEL_AGAIN_SECONDS


class SparkOperator(Operator[R]):
    """An operator with its arguments, and the class that serves a Subscriber."""

    def __init__(
        self,
        call: str,
        arguments: Any,
        run: Callable[[Subscriber[R], SparkOperator[R]], Startable],
        source: Publisher[Any] | None = None,
    ) -> None:
        super().__init__(source, call)
        self.arguments = arguments
        self._run = run

    def run(self, subscriber: Subscriber[R]) -> Startable:
        return self._run(subscriber, self)


class JobRun(Coordinator[R]):
    """Runs jobs for one Subscriber, from its first request to the end."""

    def __init__(self, subscriber: Subscriber[R], operator: SparkOperator[R], spark: Any) -> None:
        super().__init__(subscriber, operator, drain_executor())
        self._spark = spark
        self._jobs = Jobs(spark)

    def _job_raised(self, error: BaseException) -> None:
        """Fail the stream with the error of a job, on any thread."""
        if self._live:  # otherwise the cancel itself is the likely cause
            self.post(self._job_failed, unless_stopped(self._spark, error))

    def _job_failed(self, error: BaseException) -> None:
        """Fail the stream. Called in the drain loop."""
        self._fail(error)

    def _cancel_upstream(self) -> None:
        self._jobs.cancel()  # on_next may block, and the jobs would occupy cores until it returns

    def _release(self) -> None:
        self._jobs.cancel()
