"""Operators for time, errors, observation, threads and demand."""

from __future__ import annotations

import logging
from io import StringIO
from typing import Any

import pyrs
from pyrs import schedulers
from tests.conformance.options import MERGED
from tests.operator_registry.row import Conformance, Row, Sample, failing, nothing, some

__all__ = ["BACKPRESSURE", "OBSERVING", "RECOVERING", "SCHEDULING", "TIMING"]

REMAINING = "exact; the remaining demand goes to the next attempt"
SILENT = logging.Logger("conformance", logging.CRITICAL)
HOT = Conformance(hot=True)


def _other_error() -> pyrs.Stream[Any]:
    """Return a failed stream whose error is not a ValueError."""
    return pyrs.error(KeyError("failed from the start"))


TIMING = [
    Row(
        {"sample": Sample(lambda s: s.sample(0.001), conformance=HOT)},
        demand="everything",
        slow="drops all but the latest",
        holds="two",
    ),
    Row(
        {
            "throttle": Sample(
                lambda s: s.throttle(0.001), conformance=Conformance(lambda s: s.throttle(1e-9), hot=True)
            )
        },
        demand="exact, one more for each dropped element",
        slow="slows; drops by time only",
        holds="nothing",
    ),
    Row(
        {"throttle_latest": Sample(lambda s: s.throttle_latest(0.001), conformance=HOT)},
        demand="everything",
        slow="drops all but the latest",
        holds="two",
    ),
    Row(
        {"debounce": Sample(lambda s: s.debounce(0.001), conformance=HOT)},
        demand="everything",
        slow="drops elements that are followed too soon",
        holds="two",
    ),
    Row(
        {
            "timestamp": Sample(
                lambda s: s.timestamp(), conformance=Conformance(lambda s: s.timestamp().map(lambda pair: pair[1]))
            ),
            "elapsed": Sample(
                lambda s: s.elapsed(), conformance=Conformance(lambda s: s.elapsed().map(lambda pair: pair[1]))
            ),
        },
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {"delay": Sample(lambda s: s.delay(0.001))},
        demand="exact, at most `prefetch` (256) at a time",
        slow="slows",
        holds="`prefetch`",
    ),
    Row(
        {"delay_subscription": Sample(lambda s: s.delay_subscription(0.001))},
        demand="exact, after the delay",
        slow="slows",
        holds="nothing",
    ),
    Row({"timeout": Sample(lambda s: s.timeout(60))}, demand="exact", slow="slows; may time out", holds="nothing"),
]

RECOVERING = [
    Row(
        {
            "retry": Sample(
                lambda s: s.retry(2), over=failing, conformance=Conformance(covers=("Stream.retry", "Backoff"))
            ),
            "repeat": Sample(
                lambda s: s.repeat(2),
                conformance=Conformance(
                    lambda s: s.repeat(until=lambda: True), name="repeat until", covers=("Stream.repeat",)
                ),
            ),
        },
        demand=REMAINING,
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "retry_when": Sample(
                lambda s: s.retry_when(lambda errors: errors.take(2)),
                over=failing,
                conformance=Conformance(lambda s: s.retry_when(lambda errors: errors.flat_map(pyrs.error))),
            )
        },
        demand=REMAINING,
        slow="slows",
        holds="one error",
    ),
    Row(
        {
            "repeat_when": Sample(
                lambda s: s.repeat_when(lambda counts: counts.take(2)),
                conformance=Conformance(lambda s: s.repeat_when(lambda counts: pyrs.empty())),
            )
        },
        demand=REMAINING,
        slow="slows",
        holds="one number",
    ),
    Row(
        {
            "on_error_resume": Sample(
                lambda s: s.on_error_resume(lambda error: some()),
                over=failing,
                conformance=Conformance(
                    lambda s: s.on_error_resume(pyrs.just(0), kind=ValueError),
                    failed=lambda: _other_error().on_error_resume(pyrs.just(0), kind=ValueError),
                ),
            )
        },
        demand="exact; the remaining demand goes to the fallback",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {"on_error_map": Sample(lambda s: s.on_error_map(lambda error: RuntimeError("another")), over=failing)},
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "on_error_return": Sample(
                lambda s: s.on_error_return(0, kind=ValueError),
                over=failing,
                conformance=Conformance(failed=lambda: _other_error().on_error_return(0, kind=ValueError)),
            )
        },
        demand="exact",
        slow="slows; the value waits",
        holds="one value",
    ),
]

OBSERVING = [
    Row(
        {
            "do_on_subscribe": Sample(lambda s: s.do_on_subscribe(nothing)),
            "do_on_next": Sample(lambda s: s.do_on_next(nothing)),
            "do_on_error": Sample(lambda s: s.do_on_error(nothing), over=failing),
            "do_on_complete": Sample(lambda s: s.do_on_complete(nothing)),
            "do_on_terminate": Sample(lambda s: s.do_on_terminate(nothing)),
            "do_on_request": Sample(lambda s: s.do_on_request(nothing)),
            "do_on_cancel": Sample(lambda s: s.do_on_cancel(nothing)),
            "do_on_discard": Sample(lambda s: s.do_on_discard(nothing)),
            "finally_do": Sample(lambda s: s.finally_do(nothing)),
        },
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "checkpoint": Sample(lambda s: s.checkpoint("here")),
            "log": Sample(lambda s: s.log("every operator"), conformance=Conformance(lambda s: s.log(logger=SILENT))),
            "progress": Sample(lambda s: s.progress(file=StringIO())),
            "metrics": Sample(
                lambda s: s.metrics(pyrs.Metrics("here")), conformance=Conformance(covers=("Stream.metrics", "Metrics"))
            ),
        },
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
]

SCHEDULING = [
    Row(
        {"publish_on": Sample(lambda s: s.publish_on(schedulers.default()), conformance=Conformance(subset=True))},
        demand="ahead: `prefetch` (256)",
        slow="slows",
        holds="`prefetch`",
    ),
    Row(
        {
            "subscribe_on": Sample(
                lambda s: s.subscribe_on(schedulers.default()), demand=lambda s: s.subscribe_on(schedulers.inline())
            )
        },
        demand="exact",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "parallel": Sample(
                lambda s: s.parallel(3).sequential(),
                demand=lambda s: s.parallel(1).sequential(),
                conformance=Conformance(covers=("Stream.parallel", "ParallelStream"), skips=MERGED),
            )
        },
        demand="ahead: `prefetch` (32) of each rail",
        slow="slows",
        holds="`prefetch` of each rail",
    ),
]

BACKPRESSURE = [
    Row(
        {"limit_rate": Sample(lambda s: s.limit_rate(8)), "prefetch": Sample(lambda s: s.prefetch(8))},
        demand="ahead: the given number",
        slow="slows",
        holds="the given number",
    ),
    Row(
        {"on_backpressure_buffer": Sample(lambda s: s.on_backpressure_buffer(16), conformance=HOT)},
        demand="everything",
        slow="buffers; beyond the capacity fails or drops",
        holds="`capacity`",
    ),
    Row(
        {
            "on_backpressure_drop": Sample(
                lambda s: s.on_backpressure_drop(nothing), over=lambda: pyrs.interval(0.001), conformance=HOT
            )
        },
        demand="everything",
        slow="drops",
        holds="nothing",
    ),
    Row(
        {"on_backpressure_latest": Sample(lambda s: s.on_backpressure_latest(), conformance=HOT)},
        demand="everything",
        slow="drops all but the latest",
        holds="one",
    ),
    Row(
        {"on_backpressure_reduce": Sample(lambda s: s.on_backpressure_reduce(max), conformance=HOT)},
        demand="everything",
        slow="combines elements into one",
        holds="one",
    ),
    Row(
        {"on_backpressure_error": Sample(lambda s: s.on_backpressure_error(), over=pyrs.never, conformance=HOT)},
        demand="everything",
        slow="fails",
        holds="nothing",
    ),
]
