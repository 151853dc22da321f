"""The operators, a file per family. ``Stream`` has a thin method for each; what it does is here.

transforming  map, scan, with_index, materialize, dematerialize; notification holds what the last two speak of
coroutines    map with a coroutine function
filtering     filter, take, skip, distinct, ...
folding       to_list, reduce, first, last, ...: one element of all, or one of them
combining     concat, start_with, switch_if_empty, zip; latest: combine_latest, with_latest_from; until: take_until ...
merging       merge and flat_map; flattening: concat_map and switch_map
buffering     buffer; windowing and grouping, which stand on splitting, make streams of streams
timing        sample, throttle, debounce, delay, timeout; alarm is their clock
recovering    on_error_*; retrying: retry, retry_when, repeat; backoff: the pauses between
observing     do_on_*, finally_do, log, checkpoint; metrics and progress
scheduling    publish_on, subscribe_on
backpressure  limit_rate, on_backpressure_*
sharing       publish, replay, ref_count, auto_connect
terminal      for_each, collect, to_iterable

A module is imported when its first operator is used: ``operators.timing`` is enough.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Sorted by hand, for isort gives each name a statement of its own.
    # isort: off
    from pyrs.operators import (
        backoff as backoff,
        backpressure as backpressure,
        buffering as buffering,
        combining as combining,
        coroutines as coroutines,
        filtering as filtering,
        flattening as flattening,
        folding as folding,
        grouping as grouping,
        latest as latest,
        merging as merging,
        metrics as metrics,
        notification as notification,
        observing as observing,
        progress as progress,
        recovering as recovering,
        retrying as retrying,
        scheduling as scheduling,
        sharing as sharing,
        splitting as splitting,
        terminal as terminal,
        timing as timing,
        transforming as transforming,
        until as until,
        windowing as windowing,
    )
    # isort: on


if not TYPE_CHECKING:  # to a type checker it would say that there is every name

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
