"""Every Python example of the documentation runs as it stands, and prints what the page shows.

What it prints is shown in one of two ways: in a `text` block that follows, or in the comment behind the statement that
prints it, several lines with commas between them. A comment may go on after `: `. An example that cannot run here has
`<!-- needs ... -->` above it. The referee's page, the debugging page and docs/recipes have tests of their own:
tests/tck, tests/core, tests/interop/systems.
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
    """One block of a page."""

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
    """A line of output, and the lines of the example that were on the stack."""

    text: str
    lines: frozenset[int]


class Recorder(io.TextIOBase):
    """Standard output that knows which statement of the example prints."""

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
    """The first line of the simple statement that each line belongs to."""
    first = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            first.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno))
    return first


def comments_of(code: str) -> dict[int, str]:
    """What is said behind each simple statement, or right below it, by the statement's first line."""
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


def shown(code: str, printed: list[Printed]) -> list[str]:
    """What the comments of an example have wrong."""
    first, said = statements_of(code), comments_of(code)
    left = dict(said)
    wrong = []
    for text, lines in printed:
        where = sorted({first.get(line, line) for line in lines} & said.keys()) if lines else sorted(said)
        claims = [line for line in where if left[line].startswith(text)]
        if claims:
            left[claims[0]] = left[claims[0]][len(text) :].removeprefix(", ")
        elif where:
            wrong.append(f"{text!r} was printed, and line {where[0]} says {said[where[0]]!r}")
    for line, rest in left.items():
        if rest and not rest.startswith(":") and rest != said[line]:
            wrong.append(f"line {line} says {rest!r} too, which was not printed")
        elif rest == said[line] and code.splitlines()[line - 1].lstrip().startswith("print("):
            wrong.append(f"line {line} says {rest!r}, and printed something else")
    return wrong


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 40
    assert {example.page for example in EXAMPLES} > {"README.md", "docs/core.md", "docs/quickstart.md"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page}:{example.line}")
def test_it_prints_what_the_page_shows(example: Example) -> None:
    name = f"{example.page}:{example.line}"
    recorder = Recorder(name)
    with redirect_stdout(recorder):
        exec(compile(example.code, name, "exec"), {"__name__": "__main__"})
    if example.output is not None:
        assert [each.text for each in recorder.printed] == example.output.splitlines()
    assert shown(example.code, recorder.printed) == []


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
def test_what_is_wrong_is_found(code: str, wrong: int) -> None:
    recorder = Recorder("here")
    with redirect_stdout(recorder):
        exec(compile(code, "here", "exec"), {})
    assert len(shown(code, recorder.printed)) == wrong
