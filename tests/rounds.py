"""Scale the number of rounds of randomized tests."""

from __future__ import annotations

import os

__all__ = ["CAMPAIGN", "rounds"]

CAMPAIGN = bool(os.environ.get("PYRS_CAMPAIGN"))
"""`make test-all` runs; it sets this variable."""


def rounds(number: int) -> int:
    """Return how often a test repeats a race or a random example: a quarter of ``number``, all in a campaign."""
    return number if CAMPAIGN else max(1, number // 4)
