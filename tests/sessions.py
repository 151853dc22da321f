"""Local Spark sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
}


def spark_session(master: str, options: Mapping[str, str] | None = None) -> Any:
    """Return the running Spark session, or a new one without output, whose driver is on the loopback interface."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.master(master).config(map={**QUIET, **(options or {})}).getOrCreate()
