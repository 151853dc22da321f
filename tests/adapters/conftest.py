"""What the tests of the adapters share."""

from __future__ import annotations

from tests.core.conftest import Dropped, dropped

__all__ = ["Dropped", "dropped"]
