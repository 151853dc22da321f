"""Local Spark sessions."""

from __future__ import annotations

import os
import sys
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
    """Return the running Spark session, or a new one without output, whose driver is on the loopback interface.

    Except with ``make test-all``, ``tests.spark_daemon`` starts its Python workers.
    """
    from pyspark.sql import SparkSession

    settings = {**QUIET, **(options or {})}
    if os.environ.get("PYSPARK_PYTHON") == sys.executable and "PYRS_CAMPAIGN" not in os.environ:
        settings["spark.python.daemon.module"] = "tests.spark_daemon"
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()
