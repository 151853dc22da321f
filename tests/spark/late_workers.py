"""Repeat a case of a driver process if a Python worker of Spark started too late.

Spark gives a Python process of the driver 10 s to start, which no setting changes; a busy machine needs longer at
times. ``pyproject.toml`` lets pytest repeat a test that fails for this reason, but pytest cannot repeat a part of a
process whose results several tests share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
LATE = "Python worker failed to connect back"
REPEATS = 2


def repeat_if_late(function: Callable[..., T], *arguments: Any) -> T:
    """Return the result of the function; call it again, at most twice, if a worker was late."""
    for _ in range(REPEATS):
        try:
            return function(*arguments)
        except Exception as error:
            if LATE not in str(error):
                raise
    return function(*arguments)
