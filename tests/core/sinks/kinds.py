"""The kinds of sinks that the tests of this folder are parametrized with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs import sinks
from pyrs.sinks import Sink

__all__ = ["ALL", "BUFFERING", "UNBUFFERED"]

ALL: dict[str, Callable[[], Sink[Any]]] = {
    "unicast": sinks.unicast,
    "multicast": sinks.multicast,
    "best_effort": sinks.multicast_best_effort,
    "all_or_nothing": sinks.multicast_all_or_nothing,
    "replay": sinks.replay,
}
BUFFERING = ("unicast", "multicast", "replay")
UNBUFFERED = ("best_effort", "all_or_nothing")
