"""Check that an assertion of the testing kit fails with a helpful message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

__all__ = ["fails"]


def fails(check: Callable[[], object], *words: str) -> AssertionError:
    """Return the AssertionError of the check; its message must contain all words."""
    with pytest.raises(AssertionError) as caught:
        check()
    for word in words:
        assert word in str(caught.value)
    return caught.value
