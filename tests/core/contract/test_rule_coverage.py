"""The core keeps its promises about itself: a place and a test for every rule, types, a light import."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyrs
from pyrs.rules import RULES, as_markdown

ROOT = Path(pyrs.__file__).parent.parent
TESTS = Path(__file__).parent


def test_all_forty_three() -> None:
    counts = {"Publisher": 11, "Subscriber": 13, "Subscription": 17, "Processor": 2}
    assert {party: sum(rule.party == party for rule in RULES.values()) for party in counts} == counts


def _resolve(name: str) -> object:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise LookupError(name)


@pytest.mark.parametrize("number", list(RULES))
def test_every_rule_is_kept_somewhere_that_says_so(number: str) -> None:
    rule = RULES[number]
    assert rule.enforced_by or rule.note
    for name in rule.enforced_by:
        source = inspect.getsource(_resolve(name))  # type: ignore[arg-type]
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", source), f"{name} does not name rule {number}"


def test_every_rule_that_is_kept_has_a_test() -> None:
    tested: set[str] = set()
    for path in TESTS.glob("test_*_rules.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_rule_"):
                tested.update(
                    f"{part}.{number}" for part, number in re.findall(r"(?:rule_|and_)(\d)_(\d+)(?=_|$)", node.name)
                )
    kept = {number for number, rule in RULES.items() if rule.enforced_by}
    assert kept - tested == set()


def test_the_page_of_rules_is_the_data() -> None:
    page = ROOT / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == as_markdown()


def _modules() -> list[str]:
    """Every module of the core: what is in front of the bridge."""
    package = Path(pyrs.__file__).parent
    names = (".".join(path.relative_to(package.parent).with_suffix("").parts) for path in package.rglob("*.py"))
    later = ("pyrs.jvm", "pyrs.spark", "pyrs._demo", "pyrs.tck", "pyrs.adapters", "pyrs.__main__")
    return sorted(name.removesuffix(".__init__") for name in names if not name.startswith(later))


@pytest.mark.parametrize("name", _modules())
def test_the_examples_in_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_importing_pyrs_loads_the_standard_library_only_and_little_of_it() -> None:
    code = (
        "import sys; before = set(sys.modules); import pyrs; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    )
    names = set(loaded.stdout.split())
    assert names - {"pyrs"} <= set(sys.stdlib_module_names)
    assert names.isdisjoint({"asyncio", "logging", "socket", "inspect", "dataclasses"})


def test_a_star_import_leaves_the_built_in_functions_alone() -> None:
    names: dict[str, object] = {}
    exec("from pyrs import *", names)
    assert "just" in names
    assert [name for name in names if hasattr(builtins, name) and name != "__builtins__"] == []
    assert pyrs.zip(pyrs.range(2), pyrs.just("a", "b")).collect() == [(0, "a"), (1, "b")]


def test_what_is_there_is_listed_and_nothing_else() -> None:
    listed = set(dir(pyrs))
    assert {*pyrs.__all__, "range", "zip", "sinks", "schedulers", "adapters"} <= listed
    assert listed & {"Any", "TYPE_CHECKING", "annotations"} == set()
    assert all(hasattr(pyrs, name) for name in listed)


def test_a_room_that_was_not_imported_says_so() -> None:
    code = "import pyrs\ntry:\n    pyrs.testing\nexcept AttributeError as error:\n    print(error)"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    )
    assert told.stdout.strip() == "module 'pyrs' has no attribute 'testing': import pyrs.testing first"


TYPED = """
import pyrs
from typing_extensions import assert_type
from collections.abc import Iterator

assert_type(pyrs.from_iterable([1]).map(str), pyrs.Stream[str])
assert_type(pyrs.from_iterable([1]).map(str).filter(bool).take(2), pyrs.Stream[str])
assert_type(pyrs.just(1, 2).collect(), list[int])
assert_type(pyrs.range(3).to_iterable(), Iterator[int])
assert_type(pyrs.range(3).subscribe(on_next=print), pyrs.Subscription)

async def main() -> None:
    async for number in pyrs.range(3):
        assert_type(number, int)
    async with pyrs.just("a").iterate() as words:
        async for word in words:
            assert_type(word, str)

class Numbers(pyrs.Subscriber[int]):
    def on_subscribe(self, subscription: pyrs.Subscription) -> None: ...
    def on_next(self, element: int) -> None: ...
    def on_error(self, error: BaseException) -> None: ...
    def on_complete(self) -> None: ...

pyrs.range(3).subscribe(Numbers())
publisher: pyrs.Publisher[object] = pyrs.range(3)  # covariant
pyrs.just("a").subscribe(Numbers())  # error
"""


def test_types_are_seen(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    # In a process of its own: mypy has the collector of the one that it runs in come ever so rarely.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", f"--cache-dir={tmp_path / 'cache'}"]
    told = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, timeout=100)
    report = told.stdout
    assert told.stderr == ""
    lines = [line for line in report.splitlines() if ": error:" in line]
    wrong = TYPED.splitlines().index('pyrs.just("a").subscribe(Numbers())  # error') + 1
    assert len(lines) == 1, report
    assert f"typed.py:{wrong}: error:" in lines[0]


def test_abstract_methods_are_enforced() -> None:
    class Half(pyrs.Subscriber[int]):
        def on_next(self, element: int, /) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
    assert isinstance(pyrs.range(3), pyrs.Publisher)
    assert not isinstance(object(), pyrs.Publisher)
