"""The Python examples of the documentation, and the comparison of their comments with their output."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TESTED_ELSEWHERE = {"docs/debugging.md", "docs/referee.md"}
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


def plain_examples() -> Iterator[Example]:
    """Yield the examples that need neither a JVM nor a server."""
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page, text = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
        if page in TESTED_ELSEWHERE or page.startswith("docs/recipes/"):
            continue
        for found in BLOCK.finditer(text):
            if not re.match(r"<!-- needs |<!-- example ", found["above"] or ""):
                yield _example(page, text, found)


def jvm_examples(page: str) -> Iterator[Example]:
    """Yield the examples of a page that need a JVM."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if (found["above"] or "").startswith("<!-- needs a JVM"):
            yield _example(page, text, found)


def _example(page: str, text: str, found: re.Match[str]) -> Example:
    return Example(page, text.count("\n", 0, found.start("code")) + 1, found["code"], found["output"])


class Printed(NamedTuple):
    """A line of output, with the example's lines that were on the stack."""

    text: str
    lines: frozenset[int]


class Recorder(io.TextIOBase):
    """Replaces standard output, and records which statement of the example prints."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.printed: list[Printed] = []
        self._incomplete_line = ""

    def write(self, text: str, /) -> int:
        whole, newline, self._incomplete_line = (self._incomplete_line + text).rpartition("\n")
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
    comments: dict[int, list[str]] = {}
    at = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        line = token.start[0]
        alone = token.type == tokenize.COMMENT and lines[line - 1].lstrip().startswith("#")
        at = first.get(line, at if alone or not token.string.strip() else 0)
        if token.type == tokenize.COMMENT and at:
            comments.setdefault(at, []).append(token.string.lstrip("# "))
    return {line: ", ".join(texts) for line, texts in comments.items()}


def differences(code: str, printed: list[Printed]) -> list[str]:
    """Return the differences between an example's comments and its output."""
    first, comments = statements_of(code), comments_of(code)
    left = dict(comments)
    wrong = []
    for text, lines in printed:
        where = sorted({first.get(line, line) for line in lines} & comments.keys()) if lines else sorted(comments)
        claims = [line for line in where if left[line].startswith(text)]
        if claims:
            left[claims[0]] = left[claims[0]][len(text) :].removeprefix(", ")
        elif where:
            wrong.append(f"{text!r} was printed, but line {where[0]} shows {comments[where[0]]!r}")
    for line, rest in left.items():
        # A comment that begins with the output may continue with ":" and an explanation.
        if rest and not rest.startswith(":") and rest != comments[line]:
            wrong.append(f"line {line} also shows {rest!r}, which was not printed")
        elif rest == comments[line] and code.splitlines()[line - 1].lstrip().startswith("print("):
            wrong.append(f"line {line} shows {rest!r}, which was not printed")
    return wrong
