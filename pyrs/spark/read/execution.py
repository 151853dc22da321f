"""SQL executions, which give jobs their settings, metrics and entry in the UI."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

_PARAMETERS = ("org.apache.spark.sql.execution.QueryExecution", "scala.Option", "scala.Function0")
_log = logging.getLogger("pyrs.spark")
_CALL_SITE = "callSite.short"
_executors: WeakKeyDictionary[Any, Callable[[Any, str, Callable[[], object]], object] | None] = WeakKeyDictionary()
"""The results of ``_executor`` by gateway; None if it failed."""


class ExecutionFailed(Exception):
    """Ends a SQL execution as failed. The Spark UI shows its text."""


def in_sql_execution(df: Any, name: str, site: str, body: Callable[[], object]) -> None:
    """Run the body as one SQL execution of the DataFrame's query, on this thread.

    Spark's own actions do the same. Tasks read ``spark.sql.*`` settings from the local properties of their job, and an
    execution sets these on its thread; a job that another thread starts needs a copy of them. An ``Observation`` gets
    its values when the body returns.

    If the driver's JVM lacks ``SQLExecution.withNewExecutionId`` or forbids reflection, the settings are set on this
    thread, and there is no execution.

    Args:
        df: the DataFrame whose plan the body runs.
        name: the action, as query execution listeners see it.
        site: the description of the execution and its jobs in the Spark UI, unless the thread has one already.
        body: starts the jobs, and returns when the last one has ended.

    Raises:
        BaseException: the exception of the body. The execution then counts as failed.
    """
    context = df.sparkSession.sparkContext
    context.setLocalProperty(_CALL_SITE, site)
    gateway = context._gateway
    if gateway not in _executors:
        try:
            _executors[gateway] = _executor(gateway)
        except Exception as error:  # the method is missing, or a vendor's driver forbids reflection
            _log.warning("from_dataframe runs outside a SQL execution, so an Observation gets no values: %s", error)
            _executors[gateway] = None
    execute = _executors[gateway]
    if execute is None:
        _set_session(df.sparkSession)
        body()
    else:
        execute(df._jdf.queryExecution(), name, body)


def _set_session(spark: Any) -> None:
    """Apply a session's settings to this thread, its jobs and their tasks."""
    java_session = spark._jsparkSession
    getattr(spark._jvm, java_session.getClass().getName()).setActiveSession(java_session)
    for key, value in spark.sql("SET").collect():
        spark.sparkContext.setLocalProperty(key, value)


class _Function0:
    """A ``scala.Function0`` that calls a Python function.

    Py4J usually calls a proxy on the Python thread that made the enclosing call, over the same connection, so no
    callback server is needed. It uses another Python thread if the first ``foreachBatch`` of the process has started
    the callback server after the connection was opened: Spark then replaces Py4J's callback client.
    """

    def __init__(self) -> None:
        self.function: Callable[[], object] | None = None
        self.error: BaseException | None = None

    def apply(self) -> None:
        function, self.function = self.function, None
        assert function is not None
        try:
            function()
        except BaseException as error:
            self.error = error
            raise ExecutionFailed(f"{type(error).__name__}: {error}") from None

    class Java:
        implements = ("scala.Function0",)


def java_method(gateway: Any, owner: Any, name: str, *parameters: str) -> Any:
    """Return a public method of a Java class, by the names of its parameters' classes.

    Raises:
        Exception: the class has no such method, or a vendor's driver forbids reflection.
    """
    classes = gateway.new_array(gateway.jvm.java.lang.Class, len(parameters))
    for i, parameter in enumerate(parameters):
        classes[i] = gateway.jvm.java.lang.Class.forName(parameter)
    return owner.getMethod(name, classes)


def _executor(gateway: Any) -> Callable[[Any, str, Callable[[], object]], object]:
    """Return a function that runs a body as an execution of a Java ``QueryExecution``."""
    jvm = gateway.jvm
    owner = jvm.java.lang.Class.forName("org.apache.spark.sql.execution.SQLExecution$")
    method = java_method(gateway, owner, "withNewExecutionId", *_PARAMETERS)
    module = owner.getField("MODULE$").get(None)
    idle: deque[tuple[_Function0, Any]] = deque()  # each proxy with a Java list of arguments that ends with it

    def execute(query: Any, name: str, body: Callable[[], object]) -> None:
        try:
            # A proxy serves one execution at a time. Later executions reuse it, because Py4J never releases a proxy
            # without a callback server.
            function, template = idle.popleft()
        except IndexError:
            function = _Function0()
            template = jvm.java.util.ArrayList()  # a list, because Py4J cannot set an element of an array to a proxy
            for argument in (None, None, function):
                template.add(argument)
        function.function = body
        arguments = jvm.java.util.ArrayList(template)
        arguments.set(0, query)
        arguments.set(1, jvm.scala.Option.apply(name))
        try:
            method.invoke(module, arguments.toArray())
        except Exception as failed:
            if function.error is None:
                raise _unwrapped(failed) from None
        finally:
            error, function.error, function.function = function.error, None, None
        idle.append((function, template))
        if error is not None:
            raise error

    return execute


def _unwrapped(error: Exception) -> Exception:
    """Return Spark's error in place of that of the reflective call that raised it.

    PySpark converts Spark's exceptions, but not the ``InvocationTargetException`` around one.
    """
    from pyspark.errors.exceptions.captured import UnknownException, convert_exception

    try:
        cause = error.java_exception.getCause()  # type: ignore[attr-defined]
        converted = None if cause is None else convert_exception(cause)
    except Exception:  # not an error of the JVM, or the JVM has ended
        return error
    return error if converted is None or isinstance(converted, UnknownException) else converted


def exclude_from_log(kind: type[BaseException]) -> None:
    """Exclude an expected exception of a proxy from the errors that Py4J logs."""
    logging.getLogger("py4j.clientserver").addFilter(
        lambda record: not (record.exc_info and isinstance(record.exc_info[1], kind))
    )


exclude_from_log(ExecutionFailed)
