from __future__ import annotations

from pathlib import Path

import pytest

from tests.blocking import no_blocked_loop
from tests.interop import fixtures

__all__ = ["no_blocked_loop"]


def pytest_configure(config: pytest.Config) -> None:
    # Several folders share the fixtures; defined in each conftest, a session fixture would be created repeatedly.
    if not config.pluginmanager.hasplugin("interop-fixtures"):
        config.pluginmanager.register(fixtures, "interop-fixtures")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect a test of a system only if its file is named: each system needs its own process."""
    if collection_path.name.startswith("test_") and collection_path.parent.name == "systems":
        named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
        return None if collection_path in [path.resolve() for path in named] else True
    return None
