from __future__ import annotations

from pathlib import Path

import pytest

from tests.blocking import no_blocked_loop

__all__ = ["no_blocked_loop"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.interop.fixtures")  # several folders share one copy of the fixtures


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect a test of a system only if its file is named: each system needs its own process."""
    if collection_path.name.startswith("test_") and collection_path.parent.name == "systems":
        named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
        return None if collection_path in [path.resolve() for path in named] else True
    return None
