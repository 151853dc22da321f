"""Endings on the calling thread: what they take for a timeout."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher

ENDINGS: list[Any] = [
    pytest.param(lambda stream, timeout: stream.collect(timeout=timeout), id="collect"),
    pytest.param(lambda stream, timeout: stream.for_each(print, timeout=timeout), id="for_each"),
    pytest.param(lambda stream, timeout: stream.to_iterable(timeout=timeout), id="to_iterable"),
    pytest.param(lambda stream, timeout: stream.first().block(timeout), id="block"),
]


@pytest.mark.parametrize("end", ENDINGS)
@pytest.mark.parametrize(
    ("timeout", "error"), [("1", TypeError), (nan, ValueError), (-1, ValueError), (inf, ValueError)]
)
def test_a_wrong_timeout_is_refused_before_anything_is_subscribed_to(
    end: Callable[[Any, Any], Any], timeout: Any, error: type[Exception]
) -> None:
    source = TestPublisher[int](cold=True).emit(1)
    with pytest.raises(error, match="timeout must be"):
        end(source.stream(), timeout)
    source.assert_was_not_subscribed()


def test_a_timeout_may_be_longer_than_a_lock_can_wait() -> None:
    assert pyrs.timer(0.001).collect(timeout=1e10) == [0]
    assert list(pyrs.timer(0.001).to_iterable(timeout=1e10)) == [0]
    assert pyrs.timer(0.001).block(1e10) == 0
