"""The fixture with which tests run under ``detect_blocking``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyrs.testing import BlockedLoop, detect_blocking


@pytest.fixture(autouse=True)
def no_blocked_loop() -> Iterator[list[BlockedLoop]]:
    """Fail a test that blocks a running asyncio loop. A test that does so on purpose removes the reports."""
    with detect_blocking() as reports:
        yield reports
