"""Nothing public is left out of the table, and what it says of each is fit to be judged."""

from __future__ import annotations

import pyrs
from pyrs import sinks
from tests.conformance.entry import Entry
from tests.conformance.jvm_parties import JVM_PARTIES
from tests.conformance.registry import EVERY_ENTRY, EXEMPT, FAMILIES, OURS
from tests.conformance.routes import JAVA_ROUTES, PYTHON
from tests.conformance.strangers import STRANGERS


def public_names() -> set[str]:
    methods = {f"Stream.{name}" for name in dir(pyrs.Stream) if not name.startswith("_")}
    return {*pyrs.__all__, "range", "zip"} | {f"sinks.{name}" for name in sinks.__all__} | methods


def test_every_public_name_is_judged_or_exempt_with_a_reason() -> None:
    judged = {name for entry in OURS for name in entry.covers}
    assert public_names() - judged - set(EXEMPT) == set()
    assert all(reason.strip() for reason in EXEMPT.values())


def test_nothing_is_exempt_that_is_judged_or_that_is_not_there() -> None:
    judged = {name for entry in OURS for name in entry.covers}
    assert set(EXEMPT) & judged == set()
    assert set(EXEMPT) - public_names() == set()


def test_what_is_judged_is_there() -> None:
    elsewhere = {"testing.TestSubscriber"}
    assert {name for entry in OURS for name in entry.covers} - public_names() == elsewhere


def test_each_row_has_a_name_of_its_own() -> None:
    assert len(EVERY_ENTRY) == len(OURS) + len(JVM_PARTIES) + len(STRANGERS)


def test_explanations_name_tests_that_are_there() -> None:
    def unknown(entry: Entry) -> list[str]:
        names = entry.verification.test_names()
        explained = [*entry.skips, *entry.faults]
        return [each for each in explained if not any(name.startswith(each) for name in names)]

    assert {entry.name: unknown(entry) for entry in EVERY_ENTRY.values() if unknown(entry)} == {}


def test_faults_are_others() -> None:
    assert [entry.name for entry in OURS if entry.faults] == []


def test_each_family_is_judged_by_all_routes_once_at_least() -> None:
    assert [title for title, entries in FAMILIES.items() if not any(entry.all_routes for entry in entries)] == []
    assert len({route.title for route in (PYTHON, *JAVA_ROUTES)}) == 5
