from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.interop.fixtures")  # several folders share one copy of the fixtures
