from __future__ import annotations

import pytest

from tests.demo import fixtures


def pytest_configure(config: pytest.Config) -> None:
    # Two folders share these fixtures. A session fixture that both conftests define would be created twice.
    if not config.pluginmanager.hasplugin("demo-fixtures"):
        config.pluginmanager.register(fixtures, "demo-fixtures")
