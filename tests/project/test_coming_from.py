"""The pages for users of RxPY and Reactor map every operator of the library to existing names of pyrs."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.stream.stream import ConnectableStream

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "tests" / "interop" / "jars" / "lib"
METHODS = Path(__file__).with_name("reactor_methods.txt")
SUBJECTS = {"Subject", "ReplaySubject", "BehaviorSubject", "AsyncSubject"}
# Names in these modules that are not operators: types and submodules.
RXPY_OTHERS = {"abc", "typing", "Notification", "Observable", "Observer", "ConnectableObservable", "GroupedObservable"}


class Row(NamedTuple):
    theirs: list[str]
    ours: list[str]
    same: bool
    none: bool
    notes: str


def rows_of(page: str) -> list[Row]:
    """Return the rows of the tables from "Sources" on."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = []
    for line in re.findall(r"^\| `.*\|$", text[text.index("## Sources") :], re.MULTILINE):
        theirs, ours, notes = (cell.strip() for cell in line.strip("|").split(" | "))
        names = [re.findall(r"`([A-Za-z_.]+)", cell) for cell in (theirs, ours)]
        rows.append(Row(*names, same=ours == "the same", none=ours == "none", notes=notes.strip()))
    return rows


RXPY = rows_of("from-rxpy.md")
REACTOR = rows_of("from-reactor.md")


def named(rows: list[Row]) -> set[str]:
    return {name for row in rows for name in row.theirs}


def reactor_methods() -> dict[str, set[str]]:
    parts = re.split(r"^(\w+):$", METHODS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: set(methods.split()) for name, methods in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("row", RXPY + REACTOR, ids=lambda row: row.theirs[0])
def test_right_column_names_exist_in_pyrs(row: Row) -> None:
    places: tuple[Any, ...] = (pyrs, pyrs.Stream, pyrs.Maybe, ConnectableStream, sinks, schedulers)
    for name in row.theirs if row.same else row.ours:
        if name.startswith("adapters."):
            module, _, function = name.rpartition(".")
            assert hasattr(importlib.import_module(f"pyrs.{module}"), function), name
        elif name != "lambda":
            assert any(hasattr(place, name.rpartition(".")[2]) for place in places), name


@pytest.mark.parametrize("row", RXPY + REACTOR, ids=lambda row: row.theirs[0])
def test_each_row_names_a_counterpart_or_a_reason(row: Row) -> None:
    assert row.same or row.none or row.ours
    assert not row.none or len(row.notes) > 10


def test_page_maps_every_operator_of_rxpy() -> None:
    reactivex = pytest.importorskip("reactivex", reason="RxPY 6 needs Python 3.11")
    from reactivex import operators, subject

    public = (set(operators.__all__) | set(reactivex.__all__)) - RXPY_OTHERS - {"__version__"}
    assert public - named(RXPY) == set()
    assert set(subject.__all__) == SUBJECTS
    unknown = [name for name in named(RXPY) if not any(hasattr(at, name) for at in (reactivex, operators, subject))]
    assert unknown == []


def test_page_maps_every_method_of_flux_and_mono() -> None:
    methods = reactor_methods()
    assert len(methods["Flux"]) > 150
    assert len(methods["Mono"]) > 100
    assert named(REACTOR) == methods["Flux"] | methods["Mono"]


@pytest.mark.parametrize("kind", ["Flux", "Mono"])
def test_list_of_methods_agrees_with_the_jar(kind: str) -> None:
    jars = sorted(LIBRARIES.glob("reactor-core-*.jar"))
    javap = shutil.which("javap")
    if not jars or javap is None:
        pytest.skip("needs javap and `gradle -p tests/interop/jars`")
    path = ":".join(map(str, [jars[-1], *LIBRARIES.glob("reactive-streams-1*.jar")]))
    shown = subprocess.run(
        [javap, "-public", "-cp", path, f"reactor.core.publisher.{kind}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    in_jar = set(re.findall(r"(\w+)\(", shown)) - {kind, "toString"}
    assert len(in_jar) > 100
    assert in_jar - reactor_methods()[kind] == set()
