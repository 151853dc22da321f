"""Draw the text marble diagrams of the docstrings as SVG, on the operator pages and in the API reference.

MkDocs loads this file as a hook. ``python .ci/marbles.py NAME`` prints the SVG of one operator. A diagram uses the
colours of the page, so that it fits the light and the dark theme.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyrs/stream", "pyrs/publishers", "pyrs/sinks")
WIDTH, LETTER, ROW, MIDDLE, RADIUS, BASELINE = 12, 8.6, 32, 16, 11, 21
COLOURS = 6
OPENING, CLOSING = "([{", ")]}"
LITERAL_BLOCK = re.compile(r"(?<=\n\n)((?:    .*\n)+)(?=\n|\Z)")
# Matches an indented block only: signatures and fenced blocks begin with `<pre><span></span><code>`.
BLOCK = re.compile(r"<pre><code>(.*?)</code></pre>", re.DOTALL)
NAME = re.compile(r"^(?:\| )?((?:`(?:pyrs\.)?\w+\([^`]*\)`(?:, )?)+)(?: \||(?= returns))", re.MULTILINE)
CALL = re.compile(r"`(?:pyrs\.)?(\w+)\([^`]*\)`")


class Token(NamedTuple):
    """A word of a diagram, and the column where it begins."""

    column: int
    text: str

    @property
    def is_timeline(self) -> bool:
        """Return True for a sequence of signals: ``---1---2--|``."""
        return (
            "--" in self.text or bool(re.fullmatch(r"[^\s(]+\||X", self.text)) or bool(re.match(r"\.\.\.\S", self.text))
        )


def tokens_of(line: str) -> list[Token]:
    """Split a line at spaces that are not inside brackets."""
    found, depth, start = [], 0, None
    for column, character in enumerate([*line, " "]):
        depth += (character in OPENING) - (character in CLOSING)
        if character == " " and depth <= 0:
            if start is not None:
                found.append(Token(start, line[start:column]))
            start = None
        elif start is None:
            start = column
    return found


def is_marble(text: str) -> bool:
    """Return True if a block of a docstring is a marble diagram, which has at least two lines."""
    lines = text.rstrip().splitlines()
    tokens = (token for line in lines for token in tokens_of(line))
    return len(lines) > 1 and ">>>" not in text and any(token.is_timeline and token.text != "X" for token in tokens)


def signals_of(timeline: str) -> Iterator[Token]:
    """Yield the signals of a timeline; dashes and dots represent time."""
    depth, start = 0, None
    for column, character in enumerate([*timeline, "-"]):
        depth += (character in OPENING) - (character in CLOSING)
        separates = character in "-|" and depth <= 0
        if separates and start is not None:
            yield Token(start, timeline[start:column])
            start = None
        if character == "|" and depth <= 0:
            yield Token(column, "|")
        elif not separates and start is None and character != ".":
            start = column


def draw_timeline(token: Token, top: float) -> Iterator[str]:
    """Yield the shapes of one timeline."""
    y = top + MIDDLE
    signals = list(signals_of(token.text))
    ended = bool(signals) and signals[-1].text in ("|", "X")
    left, right = token.column * WIDTH, float((token.column + len(token.text)) * WIDTH)
    if len(token.text) > 1:
        right += -WIDTH / 2 if ended else WIDTH
        yield f'<line class="time" x1="{left:.1f}" y1="{y}" x2="{right:.1f}" y2="{y}"/>'
        if not ended:
            yield f'<path class="arrow" d="M{right - 6:.1f},{y - 4} l6,4 l-6,4"/>'
    for signal in signals:
        x = (token.column + signal.column + len(signal.text) / 2) * WIDTH
        if signal.text == "|":
            yield f'<line class="end" x1="{x:.1f}" y1="{y - RADIUS}" x2="{x:.1f}" y2="{y + RADIUS}"/>'
        elif signal.text == "X":
            yield f'<path class="error" d="M{x - 7:.1f},{y - 7} l14,14 m0,-14 l-14,14"/>'
        elif signal.text == "o":  # an inner stream
            yield f'<circle class="stream" cx="{x:.1f}" cy="{y}" r="{RADIUS - 2}"/>'
        else:
            half = max(RADIUS, len(signal.text) * LETTER / 2 + 4)
            colour = sum(map(ord, signal.text)) % COLOURS
            yield (
                f'<rect class="c{colour}" x="{x - half:.1f}" y="{y - RADIUS}" width="{2 * half:.1f}" '
                f'height="{2 * RADIUS}" rx="{RADIUS}"/>'
                f'<text class="value" x="{x:.1f}" y="{top + BASELINE}">{html.escape(signal.text)}</text>'
            )


def draw_line(line: str, top: float, columns: int) -> Iterator[str]:
    """Yield the shapes of one line: an operator in a box that is ``columns`` wide, or timelines and notes."""
    tokens = tokens_of(line)
    if re.match(r"\w+\(", line) and not any(token.is_timeline for token in tokens):
        call = html.escape(line.strip())
        width = max(columns * WIDTH, len(line) * LETTER + 16)
        yield f'<rect class="operator" x="1" y="{top + 3}" width="{width - 2:.1f}" height="{ROW - 6}" rx="3"/>'
        yield f'<text class="call" x="{width / 2:.1f}" y="{top + BASELINE}">{call}</text>'
        return
    note: list[Token] = []
    for token in [*tokens, None]:
        if token is not None and not token.is_timeline and token.text != "|":
            note.append(token)
            continue
        if note:
            words, left = html.escape(" ".join(each.text for each in note)), note[0].column * WIDTH
            yield f'<text class="note" x="{left:.1f}" y="{top + BASELINE}">{words}</text>'
            note = []
        if token is not None and token.text == "|":
            x = (token.column + 0.5) * WIDTH
            yield f'<line class="inner" x1="{x:.1f}" y1="{top - 5}" x2="{x:.1f}" y2="{top + ROW}"/>'
        elif token is not None:
            yield from draw_timeline(token, top)


def _right(line: str) -> float:
    """Return the right edge of a line's call, or of the note after its last timeline; 0 without either."""
    tokens = tokens_of(line)
    last = next((token for token in reversed(tokens) if token.is_timeline), None)
    rest = [token for token in tokens if last is None or token.column > last.column]
    return rest[0].column * WIDTH + (len(line) - rest[0].column) * LETTER if rest else 0.0


def svg(text: str) -> str:
    """Return a marble diagram as an inline SVG, with its text as the alternative text."""
    lines = inspect.cleandoc("\n" + text).splitlines() if text.startswith(" ") else text.rstrip().splitlines()
    timelines = [token for line in lines for token in tokens_of(line) if token.is_timeline]
    columns = max(token.column + len(token.text) for token in timelines) + 1
    shapes = [shape for number, line in enumerate(lines) for shape in draw_line(line, number * ROW, columns)]
    label = html.escape("; ".join(line.strip() for line in lines), quote=True)
    texts = [line for line in lines if re.search(r"\w{2}", line)]
    width = max(columns * WIDTH, *(16 + _right(line) for line in texts)) if texts else columns * WIDTH
    height = len(lines) * ROW
    return (
        f'<svg class="marble" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )


@cache
def diagrams() -> dict[str, list[str]]:
    """Return the text diagrams in the docstrings of operators and sources, by the name of the function."""
    found: dict[str, list[str]] = {}
    for folder in SOURCES:
        for file in sorted((ROOT / folder).glob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    blocks = LITERAL_BLOCK.findall((ast.get_docstring(node) or "") + "\n")
                    marbles = [inspect.cleandoc("\n" + block) for block in blocks if is_marble(block)]
                    if marbles:
                        found.setdefault(node.name, marbles)
    return found


def with_diagrams(markdown: str, known: dict[str, list[str]]) -> str:
    """Append the diagrams of the operators that begin a row or a paragraph."""
    names = [name for row in NAME.finditer(markdown) for name in CALL.findall(row[1]) if name in known]
    shown = [
        f"### {name} {{ #{name} }}\n\n" + "\n\n".join(svg(diagram) for diagram in known[name])
        for name in dict.fromkeys(names)
    ]
    return "\n\n".join([markdown.rstrip(), "## Diagrams", *shown]) + "\n" if shown else markdown


def on_config(config: Any) -> Any:
    """Read the address of the repository from pyproject.toml, which enables the edit links."""
    diagrams.cache_clear()  # ``mkdocs serve`` calls this function before each build, after docstrings have changed
    found = re.search(r'^repository = "(https://.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    if found:
        config.repo_url = found[1]
        config.edit_uri = "edit/main/docs/"
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add the diagrams to the pages of operators."""
    return with_diagrams(markdown, diagrams()) if page.file.src_uri.startswith("operators/") else markdown


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Replace the text diagrams in rendered docstrings, on the API pages and the operator pages."""

    def drawn(block: re.Match[str]) -> str:
        text = html.unescape(re.sub(r"<[^>]+>", "", block[1]))
        return svg(text) if is_marble(text) else block[0]

    return BLOCK.sub(drawn, content) if page.file.src_uri.startswith(("api/", "operators/")) else content


if __name__ == "__main__":
    print("\n".join(map(svg, diagrams()[sys.argv[1]])))
