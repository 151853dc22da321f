"""What every library of operators is asked: endless numbers, of which a few are wanted."""

from __future__ import annotations

import threading
from typing import Any

import pyrs
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH
from tests.interop.harness import DEADLINE, Recorder

WINDOW = DEFAULT_MAX_PREFETCH
FIRST_WINDOW = 16
MANY = 3 * WINDOW
ENDLESS = 2**31 - 2


def check_demand_and_cancel(stream: pyrs.Stream[Any], requested: list[int], cancelled: threading.Event) -> None:
    """Of three that are asked for three come, little more is fetched, and a cancel reaches the source."""
    received = Recorder(initial=3)
    stream.subscribe(received)
    assert received.wait_elements(3) == [1, 2, 3]
    assert not cancelled.is_set()
    received.subscribed().cancel()
    assert cancelled.wait(DEADLINE)
    assert received.elements == [1, 2, 3]
    assert sum(requested) <= 2 * FIRST_WINDOW


def check_exact_demand(stream: pyrs.Stream[Any], requested: list[int], cancelled: threading.Event) -> None:
    """What is asked for with ``exact=True`` is what the source is asked for, and no more."""
    received = Recorder(initial=3)
    stream.subscribe(received)
    received.wait_elements(3)
    received.subscribed().request(2)
    assert received.wait_elements(5) == [1, 2, 3, 4, 5]
    received.subscribed().cancel()
    assert cancelled.wait(DEADLINE)
    assert requested == [3, 2]
