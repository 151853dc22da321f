"""The tests that docs/reliability.md names exist, and its limits are those of both halves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "jvm" / "src" / "main" / "java" / "io" / "pyrs"
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("docs/reliability.md", "SECURITY.md")}
TESTS = sorted({found for page in PAGES.values() for found in re.findall(r"`(tests/[\w/]+\.py::\w+)`", page)})
JAVA_TESTS = sorted({found for page in PAGES.values() for found in re.findall(r"`(\w+Test\.\w+)`", page)})
LIMIT = re.compile(r"\| [^|]+ \| (\d+)[^|]*\| (?:`([\w/.]+)::(\w+)`)? ?\| (?:`([\w/.]+)::(\w+)`)? ?\|")


def functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name


@pytest.mark.parametrize("name", TESTS)
def test_a_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert function in functions(ROOT / path)


@pytest.mark.parametrize("name", JAVA_TESTS)
def test_a_named_java_test_exists(name: str) -> None:
    kind, _, method = name.partition(".")
    (path,) = (ROOT / "jvm" / "src" / "test").rglob(f"{kind}.java")
    assert f"void {method}(" in path.read_text(encoding="utf-8")


def constant(path: Path, name: str) -> float:
    found = re.search(rf"\b{name}\b(?:: \w+)? = (.+?);?(?:\s*//.*)?$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{path} has no {name}"
    return float(eval(found[1].replace("_", "")))


def test_the_limits_are_those_of_the_code() -> None:
    rows = [found.groups() for found in map(LIMIT.fullmatch, PAGES["docs/reliability.md"].splitlines()) if found]
    assert len(rows) > 15
    for value, python_path, python_name, java_path, java_name in rows:
        if python_path:
            assert constant(ROOT / python_path, python_name) == float(value), python_name
        if java_path:
            assert constant(JAVA / java_path, java_name) == float(value), java_name
