"""The site: it builds strictly, needs no network to be read, and its links and diagrams are in the pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", ".mkdocs.yml", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=350, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_load_nothing_from_the_network(site: Path) -> None:
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|<link[^>]* rel="stylesheet"[^>]*//|class="mermaid"'
    )
    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text(encoding="utf-8"))] == []


def test_operator_pages_and_api_have_diagrams(site: Path) -> None:
    for name in ("operators/filtering", "operators/flattening", "operators/timing", "api"):
        page = (site / name / "index.html").read_text(encoding="utf-8")
        assert page.count('<svg class="marble"') >= 3, name


def test_pages_have_a_theme_toggle_and_links_to_their_neighbours(site: Path) -> None:
    page = (site / "quickstart" / "index.html").read_text(encoding="utf-8")
    assert page.count("data-md-color-scheme=") >= 3  # the page and two inputs of the toggle
    assert "md-footer__link--prev" in page
    assert "md-footer__link--next" in page
