from __future__ import annotations

import os
import sys

import pytest

# Spark's Python workers must run the Python of the tests.
os.environ["PYSPARK_PYTHON"] = sys.executable


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.interop.fixtures")  # several folders share one copy of the fixtures
