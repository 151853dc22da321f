"""The site: it builds strictly, needs no network to be read, and its links and diagrams are in the pages."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.project.scripts import script

ROOT = Path(__file__).resolve().parents[2]

# The build takes a minute, so `make test` leaves it to `make docs-test` and `make test-all`.
pytestmark = [pytest.mark.campaign, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def api_pages() -> ModuleType:
    return script("api_pages")


@pytest.fixture(scope="module")
def operator_pages() -> ModuleType:
    return script("operator_pages")


def text_of(site: Path, page: str) -> str:
    return (site / page / "index.html").read_text(encoding="utf-8")


def test_pages_load_nothing_from_the_network(site: Path) -> None:
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|<link[^>]* rel="stylesheet"[^>]*//|class="mermaid"'
    )
    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text(encoding="utf-8"))] == []


def test_operator_pages_and_api_have_diagrams(site: Path) -> None:
    for name in ("operators/filtering", "operators/flattening", "operators/timing", "api/Stream"):
        assert text_of(site, name).count('<svg class="marble"') >= 3, name


def test_every_operator_has_a_page_with_its_diagram(site: Path, operator_pages: ModuleType) -> None:
    """The page has the docstring of the operator, with its marble diagram drawn instead of shown as text."""
    diagrams = script("marbles").diagrams()
    names = operator_pages.operators()
    assert set(diagrams) <= set(names)
    for name, paths in names.items():
        text = text_of(site, f"operators/{name}")
        assert all(f'id="{path}"' in text for path in paths), name
        assert ('<svg class="marble"' in text) == (name in diagrams), name


def test_tables_link_operators_to_their_pages(site: Path, operator_pages: ModuleType) -> None:
    linked: set[str] = set()
    for page in [path.stem for path in (ROOT / "docs" / "operators").glob("*.md")]:
        place = "operators" if page == "index" else f"operators/{page}"
        linked.update(re.findall(r'<a href="(?:\.\./)?(\w+)/"><code>', text_of(site, place)))
    assert set(operator_pages.operators()) - linked == set()


def test_code_is_not_drawn_as_a_diagram(site: Path) -> None:
    """Diagrams belong to operators and docstrings, and the signatures of the reference are code."""
    folders = ("operators", "api")
    pages = {page.relative_to(site): page.read_text(encoding="utf-8") for page in site.rglob("index.html")}
    assert [page for page, text in pages.items() if '"marble"' in text and page.parts[0] not in folders] == []
    signatures = re.findall(r'<div class="doc-signature highlight">\s*<(\w+)', "".join(pages.values()))
    assert len(signatures) > 300
    assert set(signatures) == {"pre"}


def test_home_page_shows_demand_in_motion(site: Path) -> None:
    """CSS animates the picture, because a browser runs no script in an image."""
    assert '<img alt="Elements travel' in text_of(site, ".")
    picture = (site / "images" / "demand.svg").read_text(encoding="utf-8")
    assert picture.count("@keyframes") == 2
    assert "<script" not in picture


def test_pages_have_a_theme_toggle_and_links_to_their_neighbours(site: Path) -> None:
    page = text_of(site, "quickstart")
    assert page.count("data-md-color-scheme=") >= 3  # the page and two inputs of the toggle
    assert "md-footer__link--prev" in page
    assert "md-footer__link--next" in page


def test_every_class_has_an_api_page(site: Path, api_pages: ModuleType) -> None:
    reference = api_pages.reference()
    classes = [page.title for page in reference.pages.values() if "heading_level: 1" in page.directives[0]]
    assert {"Stream", "Single", "Publisher", "Bridge", "JavaObject", "TestSubscriber", "Emitter"} <= set(classes)
    for name in classes:
        heading = re.search(r"<h1[^>]*>(.*?)</h1>", text_of(site, f"api/{name}"), re.DOTALL)
        assert heading, name
        assert re.sub(r"<[^>]+>|&para;|\s", "", heading[1]).rpartition(".")[2] == name


def test_index_links_every_name_to_its_page(site: Path, api_pages: ModuleType) -> None:
    index = text_of(site, "api")
    paths = re.findall(r"\| \[`\w+`\]\[([\w.]+)\] \|", api_pages.reference().index)
    assert len(paths) > 100
    linked = {target.partition("#")[2] for target in re.findall(r'href="([^"]+#pyrs[\w.]*)"', index)}
    assert set(paths) - linked == set()
    assert ":::" not in index


def test_page_of_stream_lists_its_methods_alphabetically(site: Path) -> None:
    """The methods are inherited from private classes, which the page does not show."""
    page = text_of(site, "api/Stream")
    methods = re.findall(r'<h2 id="pyrs\.Stream\.(\w+)"', page)
    assert {"map", "flat_map", "collect"} <= set(methods)
    assert methods == sorted(methods)
    assert "Transforming[" not in re.sub(r"<[^>]+>", "", page)
