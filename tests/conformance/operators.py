"""The operators, each over an iterable and over a foreign Publisher."""

from __future__ import annotations

import io
import logging
from itertools import chain
from typing import Any

import pyrs
from pyrs import schedulers
from tests.conformance.entry import Entry, failed_stream, no_failed_stream, operator, publisher
from tests.conformance.feeding import turnstile
from tests.conformance.sources import EMPTY, MERGED, ONE_ELEMENT, SLOWEST

__all__ = ["OPERATORS"]

_SILENT = logging.Logger("conformance", logging.CRITICAL)


def _nothing(*arguments: object) -> None:
    pass


async def _same(element: Any) -> Any:
    return element


def _failed_beyond() -> pyrs.Stream[Any]:
    """Return a failed stream whose error the operators of RECOVERY do not handle."""
    return pyrs.error(KeyError("failed from the start"))


ELEMENTWISE = [
    operator("map", lambda s: s.map(str), subset=True, all_routes=True),
    operator("map with a coroutine function", lambda s: s.map(_same, concurrency=4), covers=("Stream.map",)),
    operator("filter", lambda s: s.filter(lambda n: n % 2), elements=lambda n: min(2 * n, 2**62)),
    operator(
        "filter, map and take in a row",
        lambda s: s.filter(lambda n: n % 2).map(str).take(2**62),
        elements=lambda n: min(2 * n, 2**62),
        covers=("Stream.filter", "Stream.map", "Stream.take"),
        subset=True,
    ),
    operator("take", lambda s: s.take(1_000), most=1_000, elements=lambda n: n),
    operator("take_while", lambda s: s.take_while(lambda n: True)),
    operator("skip", lambda s: s.skip(2), elements=lambda n: n + 2),
    operator("skip_while", lambda s: s.skip_while(lambda n: False)),
    operator("distinct", lambda s: s.distinct()),
    operator("distinct_until_changed", lambda s: s.distinct_until_changed()),
    operator("of_type", lambda s: s.of_type(int)),
    operator("scan", lambda s: s.scan(lambda a, b: b)),
    operator("with_index", lambda s: s.with_index()),
    operator("default_if_empty", lambda s: s.default_if_empty(0), skips={EMPTY: "it is never empty"}),
    operator(
        "start_with",
        lambda s: s.start_with(0),
        elements=lambda n: max(0, n - 1),
        failed=no_failed_stream,
        skips={EMPTY: "it is never empty"},
    ),
    operator(
        "materialize",
        lambda s: s.materialize(),
        elements=lambda n: max(0, n - 1),
        failed=no_failed_stream,
        skips={EMPTY: "on_complete is an element"},
        covers=("Stream.materialize", "Notification"),
    ),
    operator(
        "dematerialize", lambda s: s.materialize().dematerialize(), failed=lambda: failed_stream().dematerialize()
    ),
    operator("do_on_next", lambda s: s.do_on_next(_nothing)),
    operator("do_on_request", lambda s: s.do_on_request(_nothing)),
    operator("do_on_subscribe", lambda s: s.do_on_subscribe(_nothing)),
    operator("do_on_cancel", lambda s: s.do_on_cancel(_nothing)),
    operator("do_on_error", lambda s: s.do_on_error(_nothing)),
    operator("do_on_complete", lambda s: s.do_on_complete(_nothing)),
    operator("do_on_terminate", lambda s: s.do_on_terminate(_nothing)),
    operator("finally_do", lambda s: s.finally_do(_nothing)),
    operator("checkpoint", lambda s: s.checkpoint("here")),
    operator("log", lambda s: s.log(logger=_SILENT)),
    operator("metrics", lambda s: s.metrics(pyrs.Metrics("conformance")), covers=("Stream.metrics", "Metrics")),
    operator("progress", lambda s: s.progress(file=io.StringIO())),
    operator("limit_rate", lambda s: s.limit_rate(8)),
]

FOLDS = [
    operator(name, apply, most=1, elements=lambda n: 3 * n, skips=ONE_ELEMENT)
    for name, apply in (
        ("all", lambda s: s.all(lambda n: True)),
        ("any", lambda s: s.any(lambda n: False)),
        ("count", lambda s: s.count()),
        ("to_list", lambda s: s.to_list()),
        ("to_set", lambda s: s.to_set()),
        ("to_dict", lambda s: s.to_dict(str)),
        ("first", lambda s: s.first(default=0)),
        ("last", lambda s: s.last(default=0)),
        ("element_at", lambda s: s.element_at(1, default=0)),
        ("reduce", lambda s: s.reduce(lambda a, b: a + b, 0)),
    )
] + [
    operator("ignore_elements", lambda s: s.ignore_elements(), most=0, elements=lambda n: 3),
    operator("take_last", lambda s: s.take_last(1_000), most=1_000),
]

SEVERAL = [
    operator("flat_map", lambda s: s.flat_map(pyrs.just), subset=True),
    operator("flat_map of one long stream", lambda s: pyrs.just(0).flat_map(lambda _: s), covers=("Stream.flat_map",)),
    operator("concat_map", lambda s: s.concat_map(pyrs.just)),
    operator("switch_map", lambda s: pyrs.just(0).switch_map(lambda _: s)),
    operator(
        "concat", lambda s: s.concat(pyrs.just(0)), elements=lambda n: max(0, n - 1), skips={EMPTY: "it is never empty"}
    ),
    operator("merge", lambda s: s.merge(pyrs.empty())),
    operator("zip", lambda s: s.zip(s)),
    operator(
        "combine_latest",
        lambda s: pyrs.just(0).combine_latest(s),
        failed=lambda: pyrs.never().combine_latest(failed_stream()),
    ),
    operator("with_latest_from", lambda s: s.with_latest_from(pyrs.just(0))),
    operator("switch_if_empty", lambda s: pyrs.empty().switch_if_empty(s)),
    operator(
        "take_until",
        lambda s: s.take_until(pyrs.never()),
        failed=lambda: pyrs.never().take_until(failed_stream()),
    ),
    operator("skip_until", lambda s: s.skip_until(pyrs.just(0))),
    operator("buffer(1)", lambda s: s.buffer(1)),
    operator("buffer(1, seconds)", lambda s: s.buffer(1, seconds=60)),
    operator("window(1)", lambda s: s.window(1).concat_map(lambda window: window)),
    operator("window(1, seconds)", lambda s: s.window(1, seconds=60).concat_map(lambda window: window)),
    operator(
        "group_by",
        lambda s: s.group_by(lambda n: n % 3).flat_map(lambda group: group),
        covers=("Stream.group_by", "GroupedStream"),
        skips=MERGED,
    ),
]

RECOVERY = [
    operator("on_error_map", lambda s: s.on_error_map(lambda error: RuntimeError("another"))),
    operator(
        "on_error_resume", lambda s: s.on_error_resume(pyrs.just(0), kind=ValueError), failed=lambda: _resumed_error()
    ),
    operator(
        "on_error_return",
        lambda s: s.on_error_return(0, kind=ValueError),
        failed=lambda: _failed_beyond().on_error_return(0, kind=ValueError),
    ),
    operator("retry", lambda s: s.retry(2), covers=("Stream.retry", "Backoff")),
    operator("retry_when", lambda s: s.retry_when(lambda errors: errors.flat_map(pyrs.error))),
    operator("repeat until", lambda s: s.repeat(until=lambda: True), covers=("Stream.repeat",)),
    [
        publisher(
            "repeat of one element",
            lambda n: pyrs.just(0).repeat(n - 1) if n else pyrs.empty(),
            failed=lambda: failed_stream().repeat(),
            covers=("Stream.repeat",),
        )
    ],
]


def _resumed_error() -> Any:
    return _failed_beyond().on_error_resume(pyrs.just(0), kind=ValueError)


THREADS = [
    operator("publish_on", lambda s: s.publish_on(schedulers.default()), subset=True),
    operator("publish_on inline", lambda s: s.publish_on(schedulers.inline()), covers=("Stream.publish_on",)),
    operator("subscribe_on", lambda s: s.subscribe_on(schedulers.default())),
    operator("prefetch", lambda s: s.prefetch(8)),
    operator("delay", lambda s: s.delay(0.001)),
    operator("delay_subscription", lambda s: s.delay_subscription(0.001)),
    operator("timeout", lambda s: s.timeout(60)),
]

SHARING = [
    operator("share", lambda s: s.share(), skips=SLOWEST),
    operator(
        "publish", lambda s: s.publish().auto_connect(), covers=("Stream.publish", "ConnectableStream"), skips=SLOWEST
    ),
    operator("replay", lambda s: s.replay().auto_connect(), most=1_000, covers=("Stream.replay", "ConnectableStream")),
    operator("cache", lambda s: s.cache(), most=1_000),
]


def _hot(name: str, apply: Any, **options: Any) -> Entry:
    """Return an entry for an operator with unbounded demand, over a source that emits one element at a time."""
    word = name.partition("(")[0]
    return publisher(
        f"{name} over a hot stream",
        lambda n: turnstile(n, apply),
        failed=lambda: apply(failed_stream()),
        covers=(f"Stream.{word}",),
        **options,
    )


HOT = [
    _hot("on_backpressure_buffer", lambda s: s.on_backpressure_buffer(16)),
    _hot("on_backpressure_drop", lambda s: s.on_backpressure_drop()),
    _hot("on_backpressure_latest", lambda s: s.on_backpressure_latest()),
    _hot("on_backpressure_error", lambda s: s.on_backpressure_error()),
    _hot("debounce", lambda s: s.debounce(0.001)),
    _hot("throttle", lambda s: s.throttle(1e-9)),
    _hot("sample", lambda s: s.sample(0.001)),
    _hot("buffer(seconds)", lambda s: s.buffer(seconds=0.001)),
    _hot("window(seconds)", lambda s: s.window(seconds=0.001).concat_map(lambda window: window)),
]

OPERATORS: list[Entry] = [
    *chain.from_iterable(ELEMENTWISE + FOLDS + SEVERAL + RECOVERY + THREADS + SHARING),
    *HOT,
]
