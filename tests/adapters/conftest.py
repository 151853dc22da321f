"""Fixtures of the adapters' tests, which run under ``detect_blocking``."""

from __future__ import annotations

from tests.blocking import no_blocked_loop
from tests.core.conftest import Dropped, discarded, dropped

__all__ = ["Dropped", "discarded", "dropped", "no_blocked_loop"]
