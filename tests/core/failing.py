"""An assertion of the kit that has to fail, with words that help."""

from __future__ import annotations

from collections.abc import Callable

import pytest

__all__ = ["fails"]


def fails(check: Callable[[], object], *words: str) -> AssertionError:
    with pytest.raises(AssertionError) as caught:
        check()
    for word in words:
        assert word in str(caught.value)
    return caught.value
