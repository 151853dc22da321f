"""Every Python example of the documentation runs unchanged and prints the output on the page.

The page shows the output in the ``text`` block after the example, or in the comment after the printing statement, with
lines separated by commas. A comment may continue after ``: ``. An example that needs a JVM or a server has
``<!-- needs ... -->`` above it. Other tests cover the TCK page (tests/tck), the debugging page (tests/core) and
docs/recipes (tests/interop/systems).
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {"docs/debugging.md", "docs/referee.md"}
BLOCK = re.compile(
    r"^(?P<above><!--[^\n]*-->\n)?```python\n(?P<code>.*?)^```\n(?:\s*(?:<!--[^\n]*-->\n)?```text\n(?P<output>.*?)^```)?",
    re.DOTALL | re.MULTILINE,
)


class Example(NamedTuple):
    """One code block of a page."""

    page: str
    line: int
    code: str
    output: str | None


def examples() -> Iterator[Example]:
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page, text = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
        if page in ELSEWHERE or page.startswith("docs/recipes/"):
            continue
        for found in BLOCK.finditer(text):
            if not re.match(r"<!-- needs |<!-- example ", found["above"] or ""):
                yield Example(page, text.count("\n", 0, found.start("code")) + 1, found["code"], found["output"])


EXAMPLES = list(examples())


class Printed(NamedTuple):
    """A line of output, with the example's lines that were on the stack."""

    text: str
    lines: frozenset[int]


class Recorder(io.TextIOBase):
    """Standard output that records which statement of the example prints."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.printed: list[Printed] = []
        self._begun = ""

    def write(self, text: str, /) -> int:
        whole, newline, self._begun = (self._begun + text).rpartition("\n")
        if newline:
            lines = frozenset(self._lines())
            self.printed += [Printed(line, lines) for line in whole.split("\n")]
        return len(text)

    def _lines(self) -> Iterator[int]:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename == self.name:
                yield frame.f_lineno
            frame = frame.f_back


def statements_of(code: str) -> dict[int, int]:
    """Map each line to the first line of its simple statement."""
    first = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            first.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno))
    return first


def comments_of(code: str) -> dict[int, str]:
    """Map each simple statement's first line to the comments after or below it."""
    first, lines = statements_of(code), code.splitlines()
    said: dict[int, list[str]] = {}
    at = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        line = token.start[0]
        alone = token.type == tokenize.COMMENT and lines[line - 1].lstrip().startswith("#")
        at = first.get(line, at if alone or not token.string.strip() else 0)
        if token.type == tokenize.COMMENT and at:
            said.setdefault(at, []).append(token.string.lstrip("# "))
    return {line: ", ".join(texts) for line, texts in said.items()}


def differences(code: str, printed: list[Printed]) -> list[str]:
    """Return the differences between an example's comments and its output."""
    first, said = statements_of(code), comments_of(code)
    left = dict(said)
    wrong = []
    for text, lines in printed:
        where = sorted({first.get(line, line) for line in lines} & said.keys()) if lines else sorted(said)
        claims = [line for line in where if left[line].startswith(text)]
        if claims:
            left[claims[0]] = left[claims[0]][len(text) :].removeprefix(", ")
        elif where:
            wrong.append(f"{text!r} was printed, but line {where[0]} shows {said[where[0]]!r}")
    for line, rest in left.items():
        if rest and not rest.startswith(":") and rest != said[line]:
            wrong.append(f"line {line} also shows {rest!r}, which was not printed")
        elif rest == said[line] and code.splitlines()[line - 1].lstrip().startswith("print("):
            wrong.append(f"line {line} shows {rest!r}, which was not printed")
    return wrong


def test_examples_are_found() -> None:
    assert len(EXAMPLES) > 40
    assert {example.page for example in EXAMPLES} > {"README.md", "docs/core.md", "docs/quickstart.md"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page}:{example.line}")
def test_example_prints_the_output_on_the_page(example: Example) -> None:
    name = f"{example.page}:{example.line}"
    recorder = Recorder(name)
    with redirect_stdout(recorder):
        exec(compile(example.code, name, "exec"), {"__name__": "__main__"})
    if example.output is not None:
        assert [each.text for each in recorder.printed] == example.output.splitlines()
    assert differences(example.code, recorder.printed) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("print(1)    # 1", 0),
        ("print(1)    # 2", 2),
        ("print(1)    # 1, 2", 1),
        ("print(1)    # 1: the first", 0),
        ("for n in (1, 2):\n    print(n)    # 1, 2", 0),
        ("for n in (1, 2):\n    print(n)    # 1", 1),
        ("def f():\n    print(1)\nf()    # 1", 0),
        ("x = 1    # why", 0),
        ("print(1)", 0),
    ],
)
def test_wrong_comments_are_detected(code: str, wrong: int) -> None:
    recorder = Recorder("here")
    with redirect_stdout(recorder):
        exec(compile(code, "here", "exec"), {})
    assert len(differences(code, recorder.printed)) == wrong
