"""The page for users of RxPY names existing operators of both libraries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("reactivex")  # RxPY 6 needs Python 3.11

import reactivex
from reactivex import operators, subject

import pyrs
from pyrs import adapters, schedulers, sinks
from pyrs.stream.stream import ConnectableStream

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "from-rxpy.md").read_text(encoding="utf-8")
ROWS = [
    [re.findall(r"`([A-Za-z_.]+)", cell) for cell in row.split("|")[1:3]]
    for row in re.findall(r"^\| `.*\|$", PAGE[PAGE.index("## Sources") :], re.MULTILINE)
]


def test_left_column_names_exist_in_rxpy() -> None:
    assert len(ROWS) > 30
    for theirs, _ in ROWS:
        assert [name for name in theirs if not any(hasattr(at, name) for at in (reactivex, operators, subject))] == []


def test_right_column_names_exist_in_pyrs() -> None:
    places = (pyrs, pyrs.Stream, ConnectableStream, sinks, schedulers, adapters)
    for theirs, ours in ROWS:
        named = [name.rpartition(".")[2] for name in ours if name not in ("lambda", "adapters.futures.to_future")]
        assert [name for name in named or theirs if not any(hasattr(at, name) for at in places)] == []
