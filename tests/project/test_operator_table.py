"""The tables in docs/operators/index.md are complete, and the demand column of the operators is measured."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.testing import TestSubscriber
from tests.operator_registry import FAMILIES, ROWS
from tests.operator_registry.page import PAGE, updated
from tests.operator_registry.row import Apply
from tests.project.scripts import script

TEXT = PAGE.read_text(encoding="utf-8")
OPERATORS, TERMINALS, SOURCES = (
    [re.split(r" *\| *", row.strip("| ")) for row in re.findall(r"^(\| `.*)$", table, re.MULTILINE)]
    for table in re.split(
        r"^\| (?:terminal operation|source) \|.*", TEXT[TEXT.index("| operator |") :], flags=re.MULTILINE
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


def test_every_operator_and_source_has_a_page_on_the_site() -> None:
    assert set(script("operator_pages").operators()) | {"block"} == names(OPERATORS) | names(TERMINALS) | names(SOURCES)


def test_the_page_is_rendered_from_the_registry() -> None:
    assert updated(TEXT, FAMILIES) == TEXT, "run python -m tests.operator_registry"


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


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row[0])
def test_demand_equals_the_claim_of_the_table(row: list[str]) -> None:
    for name, sample in ROWS[row[0]].samples.items():
        try:
            check_demand(sample.demand or sample.apply, row[1])
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def check_demand(apply: Apply, claim: str) -> None:
    source, subscriber = DemandRecorder(), TestSubscriber[Any](0)
    with schedulers.use(schedulers.VirtualTime()) as time:
        apply(pyrs.Stream(source)).subscribe(subscriber)
    time.advance_by(1)
    ahead, source.requests[:] = list(source.requests), []
    subscriber.request(1)
    if claim.startswith("exact"):
        more = 2 if "`count` more" in claim else 0
        assert (ahead, source.requests) == ([], [1 + more])
    elif claim.startswith("everything"):
        assert (ahead or source.requests) == [ALL]
        assert ("with the first demand" in claim) == (not ahead)
    elif claim.startswith("ahead"):
        shown = re.search(r"\((\d+)\)", claim)
        assert (ahead, source.requests) == ([int(shown[1]) if shown else 8], [])
    else:
        assert not ahead
        assert 1 < source.requests[0] < ALL
    subscriber.cancel()
