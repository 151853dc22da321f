"""Local Spark sessions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.rounds import CAMPAIGN

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
}


SHORT_PYTHON = str(Path(__file__).with_name("spark_python"))


def python_of_workers() -> dict[str, str]:
    """Return the environment variables with which Spark runs its Python workers in the environment of the tests.

    ``tests/spark_python`` starts the workers, except with ``make test-all``.
    """
    if CAMPAIGN:
        return {"PYSPARK_PYTHON": sys.executable}
    return {"PYSPARK_PYTHON": SHORT_PYTHON, "PYRS_TEST_PYTHON": sys.executable}


def short_query_settings() -> dict[str, str]:
    """Return settings that save a fifth of the CPU time of short queries; none with ``make test-all``.

    Spark interprets expressions instead of compiling generated Java code, and ``tests.spark_daemon`` starts its Python
    workers.
    """
    if CAMPAIGN:
        return {}
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    if os.environ.get("PYSPARK_PYTHON") == SHORT_PYTHON:  # another interpreter may lack the tests
        settings["spark.python.daemon.module"] = "tests.spark_daemon"
    return settings


def spark_session(master: str, options: Mapping[str, str] | None = None) -> Any:
    """Return the running Spark session, or a new one without output, whose driver is on the loopback interface."""
    from pyspark.sql import SparkSession

    settings = {**QUIET, **short_query_settings(), **(options or {})}
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()
