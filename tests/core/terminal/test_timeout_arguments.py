"""Blocking terminal operations validate their timeout before they subscribe."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher

TERMINAL_OPERATIONS: list[Any] = [
    pytest.param(lambda stream, timeout: stream.collect(timeout=timeout), id="collect"),
    pytest.param(lambda stream, timeout: stream.for_each(print, timeout=timeout), id="for_each"),
    pytest.param(lambda stream, timeout: stream.to_iterable(timeout=timeout), id="to_iterable"),
    pytest.param(lambda stream, timeout: stream.first().block(timeout), id="block"),
]


@pytest.mark.parametrize("run", TERMINAL_OPERATIONS)
@pytest.mark.parametrize(
    ("timeout", "error"), [("1", TypeError), (nan, ValueError), (-1, ValueError), (inf, ValueError)]
)
def test_wrong_timeout_raises_before_subscribing(
    run: Callable[[Any, Any], Any], timeout: Any, error: type[Exception]
) -> None:
    source = TestPublisher[int](cold=True).emit(1)
    with pytest.raises(error, match="timeout must be"):
        run(source.stream(), timeout)
    source.assert_was_not_subscribed()


def test_timeout_may_exceed_threading_timeout_max() -> None:
    assert pyrs.timer(0.001).collect(timeout=1e10) == [0]
    assert list(pyrs.timer(0.001).to_iterable(timeout=1e10)) == [0]
    assert pyrs.timer(0.001).block(1e10) == 0
