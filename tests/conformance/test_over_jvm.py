"""The JVM's parties before the Python port, and ours before the Java kit: a part of the table, over what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyrs.jvm import Bridge
from pyrs.tck import verify
from tests.conformance.entry import Entry
from tests.conformance.jvm_parties import JVM_PARTIES
from tests.conformance.machine import opened
from tests.conformance.page import count_in, rows_of_page
from tests.conformance.registry import OURS
from tests.conformance.routes import ROUTES
from tests.conformance.running import TIMEOUT_SCALE, judge_entry
from tests.interop.harness import Java

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRS_TCK_TIMEOUT_SCALE", TIMEOUT_SCALE)


@pytest.mark.parametrize("entry", [entry for entry in JVM_PARTIES if entry.subset], ids=lambda entry: entry.name)
def test_a_party_of_the_jvm_is_as_the_page_says(entry: Entry, connected: tuple[Bridge, Java], carrier: str) -> None:
    with opened(*connected):
        result = judge_entry(entry, ROUTES[f"python-{carrier}"], verify)
    assert result.problems(entry) == []
    assert count_in(rows_of_page()[entry.name][carrier == "py4j"]) == sum(result.kit + result.beyond)


@pytest.mark.parametrize("family", ["rs", "flow"])
@pytest.mark.parametrize("name", ["range", "TestSubscriber"])
def test_a_row_of_ours_is_as_the_page_says(name: str, family: str, kit: Callable[[str], Any], carrier: str) -> None:
    entry = next(entry for entry in OURS if entry.name == name)
    route = ROUTES[f"{carrier}-{family}"]
    result = judge_entry(entry, route, kit(family).verify)
    assert result.problems(entry) == []
    column = 1 + [key for key in ROUTES if key.startswith(("jpype", "py4j"))].index(route.key)
    assert count_in(rows_of_page()[name][column]) == sum(result.kit + result.beyond)


@pytest.fixture
def kit(machine: Any, carrier: str) -> Callable[[str], Any]:
    from pyrs.tck._java import Family, JavaReferee

    families = {"rs": Family.REACTIVE_STREAMS, "flow": Family.FLOW}
    jvm = None if carrier == "jpype" else machine[0].args[0]  # the Spark session
    return lambda family: JavaReferee(jvm, families[family])
