"""A Spark driver, for those who name one on the command line and have none."""

from __future__ import annotations

from typing import Any

from pyrs.errors import JvmUnavailable

__all__ = ["local_session"]


def local_session() -> Any:
    """Return the Spark session that there is, or start a small one on this machine.

    Raises:
        JvmUnavailable: PySpark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise JvmUnavailable(
            f"PySpark cannot be imported ({error}): pip install 'pyrs-streams[spark]', or choose another JVM"
        ) from error
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = SparkSession.builder.master("local[1]").appName("pyrs tck")
    return builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
