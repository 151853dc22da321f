"""Fixtures of a session without a connection."""

from __future__ import annotations

from typing import Any

import pytest
from plain_session import LinkSession

from pyrs.testing import TestSubscriber
from tests.waiting import recording


@pytest.fixture
def session() -> LinkSession:
    return LinkSession()


@pytest.fixture
def other(session: LinkSession) -> TestSubscriber[Any]:
    """Open another stream, with id 1, which must not be affected."""
    recorder = recording(1_000)
    session.subscribe(7, recorder)
    session.sent.clear()
    return recorder
