"""The implementations of the operators, in one module per family.

``Stream`` has a method for each operator. The modules:

    transforming  map, scan, handle, with_index, materialize, dematerialize
    decoding      decode, split_lines
    notification  Notification, the element of materialize
    coroutines    map with a coroutine function
    filtering     filter, take, skip, distinct, ...
    folding       to_list, reduce, first, last, ...
    combining     concat, then, start_with, switch_if_empty, zip, sequence_equal, merge_comparing, first_with_*
    latest        combine_latest, with_latest_from, take_until, skip_until
    switching     switch_on_first
    merging       merge, flat_map, flat_map_sequential
    flattening    concat_map, switch_map, filter_when, delay_until, expand
    buffering     buffer, by count, by time or by value
    toggling      buffer_when, window_when
    splitting     the base classes of windows, groups and rails
    windowing     window, by count, by time or by value
    grouping      group_by
    timing        sample, throttle, debounce, delay, timeout, timestamp, ...
    recovering    on_error_*, repeat
    retrying      retry, retry_when, repeat_when, and Backoff, the delays of retry
    observing     do_on_*, finally_do, log, checkpoint
    metrics       Metrics, counters of the signals of a stream
    progress      progress
    scheduling    publish_on, subscribe_on
    parallel      parallel, sequential
    backpressure  limit_rate, on_backpressure_*
    sharing       publish, replay, ref_count, auto_connect
    terminal      for_each, collect, block, to_iterable

A module is imported on first access: ``operators.timing`` imports ``pyrs.operators.timing``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # isort would write one import statement per name, so the names are sorted by hand.
    # isort: off
    from pyrs.operators import (
        backpressure as backpressure,
        buffering as buffering,
        combining as combining,
        coroutines as coroutines,
        decoding as decoding,
        filtering as filtering,
        flattening as flattening,
        folding as folding,
        grouping as grouping,
        latest as latest,
        merging as merging,
        metrics as metrics,
        notification as notification,
        observing as observing,
        parallel as parallel,
        progress as progress,
        recovering as recovering,
        retrying as retrying,
        scheduling as scheduling,
        sharing as sharing,
        splitting as splitting,
        switching as switching,
        terminal as terminal,
        timing as timing,
        toggling as toggling,
        transforming as transforming,
        windowing as windowing,
    )
    # isort: on


if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every attribute

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            advice = "operators are methods of a Stream, such as stream.map(function)"
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {advice}") from error
