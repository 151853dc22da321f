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
    from pyrs.operators import (
        alarm as alarm,
    )
    from pyrs.operators import (
        backoff as backoff,
    )
    from pyrs.operators import (
        backpressure as backpressure,
    )
    from pyrs.operators import (
        buffering as buffering,
    )
    from pyrs.operators import (
        combining as combining,
    )
    from pyrs.operators import (
        coroutines as coroutines,
    )
    from pyrs.operators import (
        filtering as filtering,
    )
    from pyrs.operators import (
        flattening as flattening,
    )
    from pyrs.operators import (
        folding as folding,
    )
    from pyrs.operators import (
        grouping as grouping,
    )
    from pyrs.operators import (
        latest as latest,
    )
    from pyrs.operators import (
        merging as merging,
    )
    from pyrs.operators import (
        metrics as metrics,
    )
    from pyrs.operators import (
        notification as notification,
    )
    from pyrs.operators import (
        observing as observing,
    )
    from pyrs.operators import (
        progress as progress,
    )
    from pyrs.operators import (
        recovering as recovering,
    )
    from pyrs.operators import (
        retrying as retrying,
    )
    from pyrs.operators import (
        scheduling as scheduling,
    )
    from pyrs.operators import (
        sharing as sharing,
    )
    from pyrs.operators import (
        splitting as splitting,
    )
    from pyrs.operators import (
        terminal as terminal,
    )
    from pyrs.operators import (
        timing as timing,
    )
    from pyrs.operators import (
        transforming as transforming,
    )
    from pyrs.operators import (
        until as until,
    )
    from pyrs.operators import (
        windowing as windowing,
    )


if not TYPE_CHECKING:  # to a type checker it would say that there is every name

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
