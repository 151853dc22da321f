"""Fixtures of the adapters' tests, which run under ``detect_blocking``."""

from __future__ import annotations

from tests.blocking import no_blocked_loop
from tests.core.conftest import Dropped, dropped

__all__ = ["Dropped", "dropped", "no_blocked_loop"]
