from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import fixtures


def pytest_configure(config: pytest.Config) -> None:
    # Two folders share them, and a session fixture that both conftests define would be made twice.
    if not config.pluginmanager.hasplugin("interop-fixtures"):
        config.pluginmanager.register(fixtures, "interop-fixtures")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The systems want a process each: they run where they are named, as `python -m tests.interop.systems` does."""
    if collection_path.name.startswith("test_") and collection_path.parent.name == "systems":
        named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
        return None if collection_path in [path.resolve() for path in named] else True
    return None
