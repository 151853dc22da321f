"""Every rule of the specification names the code that enforces it, or has a note; every enforced rule has a test."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import pyrs
from pyrs.rules import RULES, as_markdown

ROOT = Path(pyrs.__file__).parent.parent
TESTS = Path(__file__).parent


def test_there_are_43_rules() -> None:
    counts = {"Publisher": 11, "Subscriber": 13, "Subscription": 17, "Processor": 2}
    assert {party: sum(rule.party == party for rule in RULES.values()) for party in counts} == counts


def _resolve(name: str) -> object:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise LookupError(name)


@pytest.mark.parametrize("number", list(RULES))
def test_code_that_enforces_a_rule_names_its_number(number: str) -> None:
    rule = RULES[number]
    assert rule.enforced_by or rule.note
    for name in rule.enforced_by:
        source = inspect.getsource(_resolve(name))  # type: ignore[arg-type]
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", source), f"{name} does not name rule {number}"


def test_every_enforced_rule_has_a_test() -> None:
    tested: set[str] = set()
    for path in TESTS.glob("test_*_rules.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_rule_"):
                tested.update(
                    f"{part}.{number}" for part, number in re.findall(r"(?:rule_|and_)(\d)_(\d+)(?=_|$)", node.name)
                )
    enforced = {number for number, rule in RULES.items() if rule.enforced_by}
    assert enforced - tested == set()


def test_rules_page_matches_the_data() -> None:
    page = ROOT / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == as_markdown()
