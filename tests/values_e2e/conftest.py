from __future__ import annotations

import pytest

from tests.interop import fixtures


def pytest_configure(config: pytest.Config) -> None:
    # Two folders share these fixtures. A session fixture that both conftests define would be created twice.
    if not config.pluginmanager.hasplugin("interop-fixtures"):
        config.pluginmanager.register(fixtures, "interop-fixtures")
