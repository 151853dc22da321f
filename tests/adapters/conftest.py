"""Fixtures of the adapters' tests."""

from __future__ import annotations

from tests.core.conftest import Dropped, dropped

__all__ = ["Dropped", "dropped"]
