"""Every test that the pages on reliability, clusters and security name exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("docs/reliability.md", "docs/spark-cluster.md", "SECURITY.md")
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
TESTS = sorted({found for page in PAGES.values() for found in re.findall(r"`(tests/[\w/]+\.py::\w+)`", page)})
JAVA_TESTS = sorted({found for page in PAGES.values() for found in re.findall(r"`(\w+Test\.\w+)`", page)})


@pytest.mark.parametrize("name", NAMES)
def test_each_page_names_tests(name: str) -> None:
    assert [test for test in TESTS if test in PAGES[name]] != []


def functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name


@pytest.mark.parametrize("name", TESTS)
def test_a_documented_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert function in functions(ROOT / path)


@pytest.mark.parametrize("name", JAVA_TESTS)
def test_a_documented_java_test_exists(name: str) -> None:
    kind, _, method = name.partition(".")
    (path,) = (ROOT / "jvm" / "src" / "test").rglob(f"{kind}.java")
    assert f"void {method}(" in path.read_text(encoding="utf-8")
