from __future__ import annotations

import pytest

from tests.interop import fixtures


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.hasplugin("interop-fixtures"):
        config.pluginmanager.register(fixtures, "interop-fixtures")
