"""The site in Chromium: ``make docs-test`` runs these tests, which need Playwright and a browser.

They use the browser of the system, because Playwright downloads its own browser from a server other than PyPI.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.project.chromium import NARROW, WIDE, ObservedPage, browser
from tests.serving import serving

__all__ = ["browser"]

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

SCHEME = "document.body.dataset.mdColorScheme"
# Returns the defects of a page: pictures and diagrams without a size, links to missing anchors of the same page,
# content that is wider than the window, and more or fewer than one h1.
DEFECTS = """() => {
    const wrong = [];
    for (const image of document.querySelectorAll("article img"))
        if (!image.complete || image.naturalWidth === 0) wrong.push("not shown: " + image.src);
    for (const drawn of document.querySelectorAll("svg.marble"))
        if (!drawn.closest("details") && drawn.getBoundingClientRect().width === 0)
            wrong.push("not shown: " + drawn.getAttribute("aria-label"));
    for (const link of document.querySelectorAll("article a[href^='#']"))
        if (!document.getElementById(decodeURIComponent(link.hash.slice(1)))) wrong.push("no anchor: " + link.hash);
    const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    if (over > 0) wrong.push("wider than the window by " + over + " pixels");
    if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
    return wrong;
}"""
CONTENT = """() => [
    [...document.querySelectorAll("[id]")].map(each => each.id),
    [...document.querySelectorAll("a[href]")].map(each => each.href),
]"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=str(site))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture
def observed(browser: Any, address: str) -> Iterator[ObservedPage]:
    page = browser.new_page(viewport=WIDE)
    page.set_default_timeout(30_000)
    yield ObservedPage(page, address)
    page.close()


def test_every_page_opens_and_links_to_existing_pages(observed: ObservedPage, site: Path) -> None:
    """No page has a console error, an external request, a missing picture or anchor, or overflow on a telephone."""
    pages = sorted(file.relative_to(site).as_posix().removesuffix("index.html") for file in site.rglob("index.html"))
    assert len(pages) > 100
    observed.page.set_viewport_size(NARROW)
    wrong: list[str] = []
    anchors: dict[str, list[str]] = {}
    links: dict[str, list[str]] = {}
    for path in pages:
        observed.open(path)
        wrong += [f"{path or 'home'}: {each}" for each in observed.page.evaluate(DEFECTS) + observed.problems]
        observed.problems.clear()
        anchors[path], links[path] = observed.page.evaluate(CONTENT)
    for path, targets in links.items():
        for target in targets:
            if target.startswith(observed.address):
                page, _, anchor = target.removeprefix(f"{observed.address}/").partition("#")
                known = page in anchors or (site / page).is_file()
                if not known or (anchor and anchor not in ("__skip", *anchors.get(page, ()))):
                    wrong.append(f"{path or 'home'}: no target for {target}")
    assert wrong == []


def test_theme_toggle_changes_and_remembers_the_theme(observed: ObservedPage) -> None:
    observed.open("quickstart/")
    before = observed.page.evaluate(SCHEME)
    observed.page.locator("label.md-header__button[for^=__palette]:visible").click()
    after = observed.page.evaluate(SCHEME)
    assert {before, after} == {"default", "slate"}
    observed.open("concepts/")
    assert observed.page.evaluate(SCHEME) == after
    assert observed.problems == []


@pytest.mark.parametrize("name", ["flat_map", "debounce", "TestSubscriber"])
def test_search_finds_a_name(observed: ObservedPage, name: str) -> None:
    observed.open("")
    field = observed.page.locator("input.md-search__input")
    field.click()
    field.press_sequentially(name)
    results = observed.page.locator(".md-search-result__link")
    results.first.wait_for()
    assert any(name in link.inner_text() for link in results.all()[:5])
    results.first.click()
    observed.page.wait_for_url(lambda url: url != f"{observed.address}/")
    assert observed.problems == []


def test_navigation_leads_from_the_index_to_a_class_and_the_next_page(observed: ObservedPage) -> None:
    observed.open("api/")
    observed.page.locator("article td a", has_text="GroupedStream").click()
    observed.page.wait_for_url(f"{observed.address}/api/GroupedStream/**")
    following = observed.page.locator(".md-footer__link--next")
    following.click()
    observed.page.wait_for_url(lambda url: "GroupedStream" not in url)
    assert observed.page.locator("h1").is_visible()
    assert observed.problems == []
