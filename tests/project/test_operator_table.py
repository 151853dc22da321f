"""The operator table in docs/operators/index.md is complete, and its demand column is measured."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.testing import TestSubscriber

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operators" / "index.md").read_text(encoding="utf-8")
OPERATORS, TERMINALS, SOURCES = (
    [re.split(r" *\| *", row.strip("| ")) for row in re.findall(r"^(\| `.*)$", table, re.MULTILINE)]
    for table in re.split(
        r"^\| (?:terminal operation|source) \|.*", PAGE[PAGE.index("| operator |") :], flags=re.MULTILINE
    )
)
ALL = pyrs.UNBOUNDED


def names(rows: list[list[str]]) -> set[str]:
    """Return the names in the first cells: one code word, or several separated by commas."""
    named = set()
    for row in rows:
        listed = re.match(r"(`\w+`(, )?)+", row[0])
        assert listed, row
        named |= set(re.findall(r"`(\w+)`", listed[0]))
    return named


def test_every_method_of_stream_is_listed() -> None:
    methods = {name for name, value in inspect.getmembers(pyrs.Stream, inspect.isfunction) if not name.startswith("_")}
    assert names(OPERATORS) | names(TERMINALS) - {"block"} == methods
    assert names(OPERATORS) & names(TERMINALS) == set()


def test_every_source_is_listed() -> None:
    exported = {name: getattr(pyrs, name) for name in dir(pyrs)}
    sources = {
        name
        for name, value in exported.items()
        if inspect.isfunction(value) and value.__module__.startswith("pyrs.publishers")
    }
    assert names(SOURCES) == sources


def test_every_row_has_five_cells() -> None:
    assert all(len(row) == 5 for row in OPERATORS + TERMINALS + SOURCES)


class DemandRecorder(pyrs.Publisher[Any]):
    """Emits nothing and records the requests."""

    def __init__(self) -> None:
        self.requests: list[int] = []

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        subscriber.on_subscribe(_RecordingSubscription(self.requests))


class _RecordingSubscription(pyrs.Subscription):
    def __init__(self, requests: list[int]) -> None:
        self._requests = requests

    def request(self, n: int, /) -> None:
        self._requests.append(min(n, ALL))

    def cancel(self) -> None:
        pass


async def coroutine(element: Any) -> Any:
    return element


Apply = Callable[[pyrs.Stream[Any]], pyrs.Publisher[Any]]
# Calls of the operators that need arguments or have other names than their rows.
CALLS: dict[str, Apply] = {
    "`map`": lambda s: s.map(str),
    "`map` of a coroutine function": lambda s: s.map(coroutine),
    "`scan`": lambda s: s.scan(max),
    "`transform`": lambda s: s.transform(lambda stream: stream.map(str)),
    "`filter`, `of_type`": lambda s: s.filter(bool),
    "`skip`": lambda s: s.skip(5),
    "`skip_while`": lambda s: s.skip_while(bool),
    "`take`": lambda s: s.take(2),
    "`take_while`": lambda s: s.take_while(bool),
    "`take_last`": lambda s: s.take_last(2),
    "`reduce`, `last`": lambda s: s.last(),
    "`count`, `any`, `all`": lambda s: s.any(bool),
    "`element_at`": lambda s: s.element_at(4),
    "`default_if_empty`": lambda s: s.default_if_empty(0),
    "`merge`": lambda s: s.merge(pyrs.never()),
    "`zip`": lambda s: s.zip(pyrs.never()),
    "`combine_latest`": lambda s: s.combine_latest(pyrs.never()),
    "`with_latest_from`": lambda s: s.with_latest_from(pyrs.never()),
    "`take_until`": lambda s: s.take_until(pyrs.never()),
    "`skip_until`": lambda s: s.skip_until(pyrs.never()),
    "`flat_map`": lambda s: s.flat_map(pyrs.just),
    "`concat_map`": lambda s: s.concat_map(pyrs.just),
    "`switch_map`": lambda s: s.switch_map(pyrs.just),
    "`buffer` by count": lambda s: s.buffer(5),
    "`buffer` by time": lambda s: s.buffer(seconds=1),
    "`window` by count": lambda s: s.window(5),
    "`window` by time": lambda s: s.window(seconds=1),
    "`group_by`": lambda s: s.group_by(str),
    "`sample`": lambda s: s.sample(1),
    "`throttle`": lambda s: s.throttle(1),
    "`debounce`": lambda s: s.debounce(1),
    "`delay`": lambda s: s.delay(1),
    "`delay_subscription`": lambda s: s.delay_subscription(0.5),
    "`timeout`": lambda s: s.timeout(9),
    "`retry`, `repeat`": lambda s: s.repeat(1),
    "`retry_when`": lambda s: s.retry_when(lambda errors: errors),
    "`on_error_resume`": lambda s: s.on_error_resume(pyrs.empty()),
    "`on_error_map`": lambda s: s.on_error_map(lambda error: error),
    "`on_error_return`": lambda s: s.on_error_return(0),
    "`publish_on`": lambda s: s.publish_on(schedulers.inline()),
    "`subscribe_on`": lambda s: s.subscribe_on(schedulers.inline()),
    "`limit_rate`, `prefetch`": lambda s: s.limit_rate(8),
    "`on_backpressure_buffer`": lambda s: s.on_backpressure_buffer(8),
    "`publish`, `share`": lambda s: s.share(),
    "`replay`, `cache` without a limit": lambda s: s.cache(),
    "`replay`, `cache` with a limit": lambda s: s.cache(5),
    "`start_with`": lambda s: s.start_with(),
    "`concat`, `switch_if_empty`": lambda s: s.switch_if_empty(pyrs.empty()),
    "`checkpoint`, `log`, `progress`, `metrics`": lambda s: s.checkpoint("here"),
}


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row[0])
def test_demand_is_as_the_table_says(row: list[str]) -> None:
    name, claim = row[0], row[1]
    first = name.split("`")[1]
    apply = CALLS.get(name) or (
        lambda s: getattr(s, first)(*(() if not first.startswith(("do_", "final")) else (str,)))
    )
    source, subscriber = DemandRecorder(), TestSubscriber[Any](0)
    with schedulers.use(schedulers.VirtualTime()) as time:
        apply(pyrs.Stream(source)).subscribe(subscriber)
    time.advance_by(1)
    ahead, source.requests[:] = list(source.requests), []
    subscriber.request(1)
    for ends in ("exact", "everything", "ahead"):
        if claim.startswith(ends):
            break
    else:
        ends = "so many"
    if ends == "exact":
        more = 5 if "`count` more" in claim else 0
        assert (ahead, source.requests) == ([], [1 + more])
    elif ends == "everything":
        assert (ahead or source.requests) == [ALL]
        assert ("with the first demand" in claim) == (not ahead)
    elif ends == "ahead":
        shown = re.search(r"\((\d+)\)", claim)
        assert (ahead, source.requests) == ([int(shown[1]) if shown else 8], [])
    else:
        assert not ahead
        assert 1 < source.requests[0] < ALL
    subscriber.cancel()
