"""Docstrings have one markup, which the documentation renders unchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "pyrs"
MARKUP = {
    "a block is introduced by an indent alone, without `::`": re.compile(r"::$", re.MULTILINE),
    "a table is a list": re.compile(r"^ *=+(?: +=+)+$", re.MULTILINE),
    "code is in double backticks, without a Sphinx role": re.compile(
        r"(?<!^See ):(?:class|func|meth|mod|attr|data|exc):`"
    ),
    "the section is called Examples": re.compile(r"^ *Example:$", re.MULTILINE),
}


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, including those of attributes."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


@pytest.mark.parametrize("why", MARKUP)
def test_docstrings_use_one_markup(why: str) -> None:
    wrong = [
        f"{file.relative_to(PACKAGE.parent)}:{line + text.count(chr(10), 0, found.start())}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, text in docstrings(file)
        for found in MARKUP[why].finditer(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("A diagram::\n\n    ---1---|", 1),
        ("== ==\na  b\n== ==", 2),
        ("Return a :class:`Stream`.", 1),
        ("Do it.\n\nExample:\n    >>> 1", 1),
        ("Do it.\n\n    ---1---|\n\n- ``a``: b.\n\nExamples:\n    >>> 1", 0),
    ],
)
def test_other_markup_is_found(text: str, faults: int) -> None:
    assert sum(len(pattern.findall(text)) for pattern in MARKUP.values()) == faults
