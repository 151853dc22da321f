"""Check that an assertion of the testing kit fails with a helpful message."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from pyrs.api import Publisher
from tests.core.support import RecordingSubscription

__all__ = ["FailsWithText", "fails"]


def fails(check: Callable[[], object], *words: str) -> AssertionError:
    """Return the AssertionError of the check; its message must contain all words."""
    with pytest.raises(AssertionError) as caught:
        check()
    for word in words:
        assert word in str(caught.value)
    return caught.value


class FailsWithText(Publisher[int]):
    """Calls ``on_error`` with a string, and suppresses the exceptions of its Subscriber."""

    def subscribe(self, subscriber: Any, /) -> None:
        subscriber.on_subscribe(RecordingSubscription())
        with suppress(Exception):
            subscriber.on_error("down")
