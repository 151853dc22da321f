"""The marble diagrams of the site: each text diagram of a docstring becomes a well-formed SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import pyrs
from tests.project.scripts import script

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def marbles() -> ModuleType:
    return script("marbles")


def classes_of(svg: str) -> list[str]:
    return re.findall(r'class="(\w+)"', svg)


def test_every_diagram_is_well_formed(marbles: ModuleType) -> None:
    found = marbles.diagrams()
    assert len(found) > 75
    assert all(hasattr(pyrs.Stream, name) or hasattr(pyrs, name) for name in found)
    for name, texts in found.items():
        for text in texts:
            svg = marbles.svg(text)
            assert ElementTree.fromstring(svg).attrib["aria-label"], name
            assert "fill" not in svg, "colours are in the style sheet, for both themes"


def test_signals_become_shapes(marbles: ModuleType) -> None:
    shapes = classes_of(marbles.svg("---1---2---X\nmap(str)\n--(0,a)--o--|    why"))
    assert shapes.count("value") == 3
    assert [shapes.count(name) for name in ("error", "end", "stream", "operator", "note", "arrow")] == [1] * 5 + [0]
    assert classes_of(marbles.svg("---1---")).count("arrow") == 1


def test_values_with_spaces_are_one_signal(marbles: ModuleType) -> None:
    assert ">{1: &quot;a&quot;, 2: &quot;bc&quot;}</text>" in marbles.svg('----------------{1: "a", 2: "bc"}|')


@pytest.mark.parametrize(
    "text", [">>> list(stream)\n[1]", "pyrs.api    the four interfaces", "pip install --upgrade x y"]
)
def test_other_blocks_are_not_diagrams(marbles: ModuleType, text: str) -> None:
    assert not marbles.is_marble(text)


def test_operator_pages_show_the_diagrams_of_their_tables(marbles: ModuleType) -> None:
    known = marbles.diagrams()
    shown: set[str] = set()
    for page in (ROOT / "docs" / "operators").glob("*.md"):
        text = marbles.with_diagrams(page.read_text(encoding="utf-8"), known)
        shown.update(re.findall(r"^### \w+ \{ #(\w+) \}$", text, re.MULTILINE))
    assert known.keys() - shown == set()


def page_at(uri: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=uri))


DIAGRAM = "<pre><code>---1---|\nmap(str)\n--&quot;1&quot;--|\n</code></pre>\n"
EXAMPLE = "<pre><code>&gt;&gt;&gt; 1\n1\n</code></pre>\n"
SIGNATURE = """\
<div class="doc-signature highlight"><pre><span></span><code><span class="nf">map</span>(
    f: F | G
) -&gt; A | B |
</code></pre></div>
"""


def test_diagrams_in_rendered_docstrings_are_drawn(marbles: ModuleType) -> None:
    drawn = marbles.on_page_content(SIGNATURE + DIAGRAM + EXAMPLE, page=page_at("api/Stream.md"))
    assert drawn.startswith(f"{SIGNATURE}<svg")
    assert drawn.endswith(f"</svg>\n{EXAMPLE}")
    assert drawn.count("<svg") == 1


def test_code_of_other_pages_is_not_drawn(marbles: ModuleType) -> None:
    assert marbles.on_page_content(DIAGRAM, page=page_at("recipes/kafka.md")) == DIAGRAM
