"""Operators that combine, split and share streams."""

from __future__ import annotations

import pyrs
from tests.conformance.options import EMPTY, MERGED, ONE_ELEMENT, SLOWEST, failed_stream, no_failed_stream
from tests.operator_registry.row import Conformance, Row, Sample, some

__all__ = ["COMBINING", "FLATTENING", "GROUPING", "SHARING"]

NEVER_EMPTY = {EMPTY: "it is never empty"}

COMBINING = [
    Row(
        {"merge": Sample(lambda s: s.merge(some()), conformance=Conformance(lambda s: s.merge(pyrs.empty())))},
        demand="ahead: `prefetch` (256) of each; an iterable exact",
        slow="slows all",
        holds="`prefetch` of each",
    ),
    Row(
        {
            "merge_comparing": Sample(
                lambda s: s.merge_comparing(some()), conformance=Conformance(lambda s: s.merge_comparing(pyrs.empty()))
            )
        },
        demand="ahead: `prefetch` (32) of each",
        slow="slows all",
        holds="`prefetch` of each",
    ),
    Row(
        {
            "first_with_signal": Sample(
                lambda s: s.first_with_signal(pyrs.never()),
                conformance=Conformance(failed=lambda: pyrs.never().first_with_signal(failed_stream())),
            ),
            "first_with_value": Sample(
                lambda s: s.first_with_value(pyrs.never()),
                conformance=Conformance(
                    lambda s: pyrs.empty().first_with_value(s),
                    failed=lambda: pyrs.empty().first_with_value(failed_stream()),
                    skips={EMPTY: "an empty stream does not win"},
                ),
            ),
        },
        demand="exact, of each until one has won",
        slow="slows; drops elements of the others",
        holds="nothing",
    ),
    Row(
        {
            "concat": Sample(
                lambda s: s.concat(some()),
                conformance=Conformance(
                    lambda s: s.concat(pyrs.just(0)), elements=lambda n: max(0, n - 1), skips=NEVER_EMPTY
                ),
            ),
            "switch_if_empty": Sample(lambda s: pyrs.empty().switch_if_empty(s)),
        },
        demand="exact; the remaining demand goes to the next source",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {
            "then": Sample(
                lambda s: s.then(some()),
                conformance=Conformance(lambda s: pyrs.empty().then(s), failed=lambda: failed_stream().then(some())),
            )
        },
        demand="everything, with the first demand; exact of the other",
        slow="slows the other",
        holds="nothing",
    ),
    Row(
        {
            "start_with": Sample(
                lambda s: s.start_with(0),
                demand=lambda s: s.start_with(),
                conformance=Conformance(elements=lambda n: max(0, n - 1), failed=no_failed_stream, skips=NEVER_EMPTY),
            )
        },
        demand="exact, once its own elements are consumed",
        slow="slows",
        holds="its own elements",
    ),
    Row(
        {"zip": Sample(lambda s: s.zip(some()), conformance=Conformance(lambda s: s.zip(s)))},
        demand="ahead: `prefetch` (32) of each",
        slow="slows all",
        holds="`prefetch` of each",
    ),
    Row(
        {
            "sequence_equal": Sample(
                lambda s: s.sequence_equal(some()),
                conformance=Conformance(
                    lambda s: s.sequence_equal(pyrs.empty()), max_elements=1, elements=lambda n: 3, skips=ONE_ELEMENT
                ),
            )
        },
        demand="ahead: `prefetch` (32) of each",
        slow="waits",
        holds="`prefetch` of each",
    ),
    Row(
        {
            "combine_latest": Sample(
                lambda s: s.combine_latest(some()),
                conformance=Conformance(
                    lambda s: pyrs.just(0).combine_latest(s),
                    failed=lambda: pyrs.never().combine_latest(failed_stream()),
                ),
            )
        },
        demand="ahead: `prefetch` (32) of each",
        slow="slows all; drops superseded elements until each source has emitted",
        holds="`prefetch` of each, and the latest",
    ),
    Row(
        {
            "with_latest_from": Sample(
                lambda s: s.with_latest_from(some()),
                conformance=Conformance(lambda s: s.with_latest_from(pyrs.just(0))),
            )
        },
        demand="exact, one more for each dropped element; everything of the other",
        slow="slows; of the other drops all but the latest",
        holds="one of the other",
    ),
    Row(
        {
            "take_until": Sample(
                lambda s: s.take_until(pyrs.never()),
                conformance=Conformance(failed=lambda: pyrs.never().take_until(failed_stream())),
            )
        },
        demand="exact; one of the other",
        slow="slows",
        holds="nothing",
    ),
    Row(
        {"skip_until": Sample(lambda s: s.skip_until(pyrs.just(0)), demand=lambda s: s.skip_until(pyrs.never()))},
        demand="exact, one more for each dropped element; one of the other",
        slow="slows; drops until the trigger",
        holds="nothing",
    ),
]

FLATTENING = [
    Row(
        {
            "flat_map": Sample(
                lambda s: s.flat_map(lambda n: some()),
                conformance=Conformance(lambda s: s.flat_map(pyrs.just), subset=True),
            )
        },
        demand="ahead: `concurrency` (256), and `prefetch` (32) of each inner stream; an inner iterable exact",
        slow="slows all",
        holds="`concurrency * prefetch`",
    ),
    Row(
        {
            "flat_map_sequential": Sample(
                lambda s: s.flat_map_sequential(lambda n: some()),
                conformance=Conformance(lambda s: s.flat_map_sequential(pyrs.just)),
            )
        },
        demand="ahead: `concurrency` (256), and `prefetch` (32) of each inner stream; an inner iterable exact",
        slow="slows all",
        holds="`concurrency * prefetch`",
    ),
    Row(
        {
            "concat_map": Sample(
                lambda s: s.concat_map(lambda n: some()), conformance=Conformance(lambda s: s.concat_map(pyrs.just))
            )
        },
        demand="ahead: `prefetch` (32); exact of the inner stream",
        slow="slows both",
        holds="`prefetch`",
    ),
    Row(
        {
            "expand": Sample(
                lambda s: s.expand(lambda n: pyrs.empty()),
            )
        },
        demand="ahead: `prefetch` (32) of one stream at a time",
        slow="slows",
        holds="`prefetch`; **grows**: elements to expand; depth-first: `prefetch` of each level",
    ),
    Row(
        {
            "filter_when": Sample(
                lambda s: s.filter_when(lambda n: pyrs.just(True)),
            ),
            "delay_until": Sample(lambda s: s.delay_until(lambda n: some())),
        },
        demand="ahead: `prefetch` (32)",
        slow="slows both",
        holds="`prefetch`",
    ),
    Row(
        {"switch_on_first": Sample(lambda s: s.switch_on_first(lambda signal, stream: stream))},
        demand="ahead: one element (1); then as the returned Publisher",
        slow="slows",
        holds="one element",
    ),
    Row(
        {
            "switch_map": Sample(
                lambda s: s.switch_map(lambda n: some()),
                conformance=Conformance(lambda s: pyrs.just(0).switch_map(lambda _: s)),
            )
        },
        demand="everything; `prefetch` (32) of the inner stream",
        slow="slows the inner stream; drops superseded elements",
        holds="one, and `prefetch` of the inner stream",
    ),
]

GROUPING = [
    Row(
        {"buffer": Sample(lambda s: s.buffer(3), conformance=Conformance(lambda s: s.buffer(1), name="buffer(1)"))},
        demand="`count` for each list",
        slow="slows",
        holds="one list; `skip < count`: the overlapping ones",
        variant="by count",
    ),
    Row(
        {"buffer(seconds)": Sample(lambda s: s.buffer(seconds=0.001), None, conformance=Conformance(hot=True))},
        demand="ahead: `prefetch` (256), or `count` if that is less",
        slow="slows; a due list receives elements until it is requested",
        holds="a list and the prefetched elements",
        variant="by time",
    ),
    Row(
        {
            "buffer_until": Sample(lambda s: s.buffer_until(lambda n: True)),
            "buffer_while": Sample(
                lambda s: s.buffer_while(lambda n: n % 2),
                conformance=Conformance(elements=lambda n: min(2 * n, 2**62)),
            ),
            "buffer_until_changed": Sample(lambda s: s.buffer_until_changed()),
        },
        demand="exact, one more for each element that ends no list",
        slow="slows",
        holds="**grows**: one list",
    ),
    Row(
        {
            "buffer_when": Sample(
                lambda s: pyrs.never().buffer_when(s, lambda n: pyrs.empty()),
                demand=lambda s: s.buffer_when(pyrs.never(), lambda n: pyrs.never()),
            )
        },
        demand="ahead: `prefetch` (256); one opening for each list",
        slow="opens no list, and drops elements outside of lists",
        holds="**grows**: the open lists",
    ),
    Row(
        {
            "window": Sample(
                lambda s: s.window(3),
                conformance=Conformance(lambda s: s.window(1).concat_map(lambda window: window), name="window(1)"),
            )
        },
        demand="`count` for each window",
        slow="slows",
        holds="`count` for each unread window",
        variant="by count",
    ),
    Row(
        {
            "window(seconds)": Sample(
                lambda s: s.window(seconds=1),
                None,
                conformance=Conformance(lambda s: s.window(seconds=0.001).concat_map(lambda window: window), hot=True),
            )
        },
        demand="the remaining capacity of the open window: `prefetch` (256), or `count`",
        slow="slows",
        holds="`prefetch`, or `count`, for each unread window",
        variant="by time",
    ),
    Row(
        {
            "window_until": Sample(
                lambda s: s.window_until(lambda n: True),
                conformance=Conformance(lambda s: s.window_until(lambda n: True).concat_map(lambda window: window)),
            ),
            "window_while": Sample(
                lambda s: s.window_while(lambda n: True),
                conformance=Conformance(lambda s: s.window_while(lambda n: True).concat_map(lambda window: window)),
            ),
            "window_until_changed": Sample(
                lambda s: s.window_until_changed(),
                conformance=Conformance(lambda s: s.window_until_changed().concat_map(lambda window: window)),
            ),
        },
        demand="ahead: `prefetch` (256)",
        slow="slows, **all windows together**",
        holds="`prefetch`, in all windows together",
    ),
    Row(
        {
            "window_when": Sample(
                lambda s: pyrs.never().window_when(s, lambda n: pyrs.empty()),
                demand=lambda s: s.window_when(pyrs.never(), lambda n: pyrs.never()),
                conformance=Conformance(
                    lambda s: pyrs.never().window_when(s, lambda n: pyrs.empty()).map(lambda window: 0)
                ),
            )
        },
        demand="ahead: `prefetch` (256); one opening for each window",
        slow="opens no window, and drops elements outside of windows; an unread open window slows all",
        holds="`prefetch` in each window",
    ),
    Row(
        {
            "group_by": Sample(
                lambda s: s.group_by(lambda n: n % 2),
                conformance=Conformance(
                    lambda s: s.group_by(lambda n: n % 3).flat_map(lambda group: group),
                    covers=("Stream.group_by", "GroupedStream"),
                    skips=MERGED,
                ),
            )
        },
        demand="ahead: `prefetch` (256)",
        slow="slows, **all groups together**; too many groups fail",
        holds="`prefetch`, in all groups together",
    ),
]

SHARING = [
    Row(
        {
            "publish": Sample(
                lambda s: s.publish().auto_connect(),
                conformance=Conformance(covers=("Stream.publish", "ConnectableStream"), skips=SLOWEST),
            ),
            "share": Sample(lambda s: s.share(), conformance=Conformance(skips=SLOWEST)),
        },
        demand="ahead: `prefetch` (256)",
        slow="the slowest slows all",
        holds="`prefetch`",
    ),
    Row(
        {
            "replay": Sample(
                lambda s: s.replay().ref_count(),
                conformance=Conformance(
                    lambda s: s.replay().auto_connect(),
                    max_elements=1_000,
                    covers=("Stream.replay", "ConnectableStream"),
                ),
            ),
            "cache": Sample(lambda s: s.cache(), conformance=Conformance(max_elements=1_000)),
        },
        demand="everything",
        slow="waits, at its own pace",
        holds="**grows**: all elements",
        variant="without a limit",
    ),
    Row(
        {
            "replay(limit)": Sample(lambda s: s.replay(5).ref_count(), None, conformance=None),
            "cache(limit)": Sample(lambda s: s.cache(5), None, conformance=None),
        },
        demand="ahead: `prefetch` (256) of the slowest",
        slow="the slowest slows all",
        holds="`limit` or `prefetch`, the larger",
        variant="with a limit",
    ),
]
