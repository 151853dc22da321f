from __future__ import annotations

import os
import sys

import pytest

from tests.interop import fixtures

# Spark's Python workers must run the Python of the tests.
os.environ["PYSPARK_PYTHON"] = sys.executable


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.hasplugin("interop-fixtures"):
        config.pluginmanager.register(fixtures, "interop-fixtures")
