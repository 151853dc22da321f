"""Recognize the arguments of ``connect`` without importing their packages."""

from __future__ import annotations

from typing import Any

from pyrs.errors import JvmUnavailable

CONNECT_ACCEPTS = (
    "connect takes a SparkSession, a SparkContext, a py4j JavaGateway or ClientServer, "
    "or nothing if a JVM was started with JPype in this process"
)
_NO_CLASSIC = (
    "pyrs must reach the JVM of a driver on this machine: run this in the driver with a classic session "
    "(no remote(), no SPARK_REMOTE), or start a separate JVM with jvm.launch()"
)


def py4j_gateway_of(source: Any) -> object | None:
    """Return the Py4J gateway that ``source`` is or has, None for anything else.

    The names of its classes decide: ``hasattr`` is true for every Py4J object, and pyspark may not be installed.

    Raises:
        JvmUnavailable: A Spark session without a driver JVM.
    """
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(source).__mro__]
    if "py4j.java_gateway.JavaGateway" in names:  # also its subclass ClientServer
        return source  # type: ignore[no-any-return]
    if any(name.startswith("pyspark.sql.connect.") for name in names):
        raise JvmUnavailable(f"this is a Spark Connect session: it has no driver JVM. {_NO_CLASSIC}")
    if not any(name.startswith("pyspark.") and name.endswith((".SparkSession", ".SparkContext")) for name in names):
        return None
    try:
        context = source.sparkContext if any(name.endswith(".SparkSession") for name in names) else source
        gateway: object | None = context._gateway
    except Exception as error:  # a session without a gateway may raise any exception
        reason = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0].rstrip()
        raise JvmUnavailable(f"this Spark session gives no access to a driver JVM ({reason}). {_NO_CLASSIC}") from error
    if gateway is None:
        raise JvmUnavailable(f"this Spark session has no gateway to a driver JVM. {_NO_CLASSIC}")
    return gateway
