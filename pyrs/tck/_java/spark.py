"""The local Spark driver for ``--jvm spark``."""

from __future__ import annotations

from typing import Any

from pyrs.errors import JvmUnavailable


def local_session() -> Any:
    """Return the active Spark session, or start a local one."""
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
