"""The package itself: docstring examples run, imports stay light, and the public names are listed."""

from __future__ import annotations

import builtins
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import pyrs
from pyrs.testing import BlockedLoop

ROOT = Path(pyrs.__file__).parent.parent


def _modules() -> list[str]:
    """List the modules whose examples need no JVM and no third-party package, except ``pyrs.tck`` (tests/tck)."""
    package = Path(pyrs.__file__).parent
    names = (".".join(path.relative_to(package.parent).with_suffix("").parts) for path in package.rglob("*.py"))
    excluded = ("pyrs.jvm", "pyrs.spark", "pyrs._demo", "pyrs.tck", "pyrs.adapters", "pyrs.__main__", "pyrs._doctor")
    excluded += ("pyrs.telemetry",)
    return sorted(name.removesuffix(".__init__") for name in names if not name.startswith(excluded))


@pytest.mark.parametrize("name", _modules())
def test_docstring_examples_run(name: str, no_blocked_loop: list[BlockedLoop]) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
    if name == "pyrs.testing.blocking":
        no_blocked_loop.clear()  # its example blocks a loop


def test_import_loads_few_modules_of_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules); import pyrs; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    )
    names = set(loaded.stdout.split())
    assert names - {"pyrs"} <= set(sys.stdlib_module_names)
    assert names.isdisjoint({"asyncio", "logging", "socket", "inspect", "dataclasses", "queue", "heapq"})


def test_star_import_does_not_shadow_built_in_functions() -> None:
    names: dict[str, object] = {}
    exec("from pyrs import *", names)
    assert "just" in names
    assert [name for name in names if hasattr(builtins, name) and name != "__builtins__"] == []
    assert pyrs.zip(pyrs.range(2), pyrs.just("a", "b")).collect() == [(0, "a"), (1, "b")]


def test_dir_lists_the_public_names_only() -> None:
    listed = set(dir(pyrs))
    assert {*pyrs.__all__, "range", "zip", "sinks", "schedulers", "adapters"} <= listed
    assert listed & {"Any", "TYPE_CHECKING", "annotations"} == set()
    assert all(hasattr(pyrs, name) for name in listed)


def test_missing_subpackage_names_the_import_statement() -> None:
    code = "import pyrs\ntry:\n    pyrs.testing\nexcept AttributeError as error:\n    print(error)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    )
    assert result.stdout.strip() == "module 'pyrs' has no attribute 'testing': import pyrs.testing first"


def test_abstract_methods_are_enforced() -> None:
    class IncompleteSubscriber(pyrs.Subscriber[int]):
        def on_next(self, element: int, /) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        IncompleteSubscriber()  # type: ignore[abstract]
    assert isinstance(pyrs.range(3), pyrs.Publisher)
    assert not isinstance(object(), pyrs.Publisher)
