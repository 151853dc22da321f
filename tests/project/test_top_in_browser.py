"""The page of ``python -m pyrs top --http`` in Chromium: ``make docs-test`` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrs import UNBOUNDED
from pyrs._core.sites import Site
from pyrs._top.page import PageServer
from pyrs.jvm.status import StatusServer
from pyrs.jvm.streams import StreamStatus
from tests.project.chromium import NARROW, WIDE, ObservedPage, browser
from tests.serving import serving
from tests.waiting import eventually

__all__ = ["browser"]

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

INTERVAL = 0.1
MARKUP = "<img src=x onerror=document.title='run'>"
LONG = "from_iterable(rows).map(parse).filter(valid).buffer(100).map(store)"
SITE = Site(f"/{'long/' * 20}ingest.py", 42)
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
OVERFLOW = """() => [document.documentElement, ...document.querySelectorAll("section")]
    .some(each => each.scrollWidth > each.clientWidth)"""


class Process:
    """A process that serves the status of one bridge."""

    def __init__(self) -> None:
        self.streams = [
            StreamStatus(1, "to Python", MARKUP, "live", UNBOUNDED, 12, 4, 1_000, 0.0, 0, 1.0, SITE),
            StreamStatus(2, "to JVM", LONG, "cancelled", 256, 18, 18, 20, 0.0, 7, 1.0, None),
        ]
        self.server = StatusServer("ratings", self.status)

    def status(self) -> dict[str, Any]:
        streams = [each._asdict() for each in self.streams]
        return {"name": "ratings", "state": "open", "streams_live": len(streams), "dropped": 7, "streams": streams}


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    started = Process()
    yield started
    started.server.close()


@pytest.fixture
def server(process: Process) -> Iterator[PageServer]:
    with serving(PageServer(interval=INTERVAL)) as started:
        yield started


@pytest.fixture
def observed(browser: Any, server: PageServer) -> Iterator[ObservedPage]:
    page = browser.new_page(viewport=WIDE, color_scheme="light")
    page.set_default_timeout(60_000)
    yield ObservedPage(page, server.address.removesuffix("/"))
    page.close()


def test_page_shows_every_stream_and_refreshes(observed: ObservedPage, process: Process) -> None:
    observed.open("")
    page = observed.page
    rows = page.locator("tbody tr")
    rows.nth(1).wait_for()
    first = rows.nth(0).locator("td").all_inner_texts()
    assert first[:7] == ["1 to Python", MARKUP, "live", "unbounded", "12", "4", "1,000"]
    assert first[9].endswith("ingest.py:42")
    assert rows.nth(1).locator("td.drops").inner_text() == "7"
    assert page.locator("#summary").inner_text() == "2 live streams"
    assert page.title() == "pyrs top", "the browser ran the markup in a name"

    process.streams[0] = process.streams[0]._replace(elements=5_000_000)
    page.locator("tbody td:nth-child(7)", has_text="5,000,000").wait_for()
    curve = page.locator("polyline").first
    eventually(lambda: len(curve.get_attribute("points").split()) > 3, "the rate has no curve")
    process.streams.clear()
    page.get_by_text("No live stream.").wait_for()
    process.server.close()
    page.get_by_text("bridge.serve_status()").wait_for()
    assert page.locator("section").count() == 0
    assert observed.problems == []


@pytest.mark.parametrize("width", [NARROW["width"], 700, 1_100, WIDE["width"]])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_the_window_in_both_themes(observed: ObservedPage, width: int, scheme: str) -> None:
    page = observed.page
    page.set_viewport_size({**NARROW, "width": width})
    page.emulate_media(color_scheme=scheme)
    observed.open("")
    page.locator("tbody tr").nth(1).wait_for()
    assert not page.evaluate(OVERFLOW)
    red, green, blue = page.evaluate(f"{BACKGROUND}.match(/\\d+/g).map(Number)")
    assert (red + green + blue < 3 * 60) if scheme == "dark" else (red + green + blue > 3 * 220)
    assert page.locator("td >> visible=true").count() == 20
    assert observed.problems == []


def test_page_reports_the_end_of_the_command(observed: ObservedPage, server: PageServer) -> None:
    observed.open("")
    observed.page.locator("tbody tr").nth(1).wait_for()
    server.shutdown()
    server.socket.close()
    observed.page.get_by_text("python -m pyrs top has ended").wait_for()
    assert observed.page.locator("tbody tr").count() == 2, "the last state stays"
