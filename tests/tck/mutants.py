"""Write docs/mutants.md: each faulty object, its rules, and the tests that reject it.

Run ``python -m tests.tck.mutants``. tests/tck and tests/tck_java check every row.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pyrs.tck import Status
from pyrs.tck.advice import rule_of
from tests.tck import test_false_passes, test_processors, test_wrong_publishers, test_wrong_subscribers
from tests.tck.judging import Case
from tests.tck.unusual import BLACKBOX as UNUSUAL_BLACKBOX
from tests.tck.unusual import PUBLISHERS as UNUSUAL_PUBLISHERS
from tests.tck.unusual import WHITEBOX as UNUSUAL_WHITEBOX
from tests.tck.wrong_counting import COUNTING
from tests.tck.wrong_for_long import FOR_LONG, FOR_LONG_WHITEBOX
from tests.tck.wrong_later import LATER, LATER_BLACKBOX, LATER_FAILED, LATER_WHITEBOX
from tests.tck.wrong_processors import PROCESSORS
from tests.tck.wrong_states import STATES
from tests.tck.wrong_subscriber_families import BLACKBOX, WHITEBOX
from tests.tck.wrong_subscribing import FAILED, SUBSCRIBING
from tests.tck_java.table import rows

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "mutants.md"
MEASURED = ROOT / "tests" / "tck_java" / "measured.json"
CASES = {
    "Publishers": (
        *test_wrong_publishers.CASES,
        *test_false_passes.CASES,
        *COUNTING,
        *STATES,
        *SUBSCRIBING,
        *LATER,
        *FOR_LONG,
    ),
    "Failed Publishers": (*test_wrong_publishers.FAILED_CASES, *test_false_passes.FAILED_CASES, *FAILED, *LATER_FAILED),
    "Subscribers, whitebox": (*test_wrong_subscribers.CASES, *WHITEBOX, *LATER_WHITEBOX, *FOR_LONG_WHITEBOX),
    "Subscribers, blackbox": (*test_wrong_subscribers.BLACKBOX_CASES, *BLACKBOX, *LATER_BLACKBOX),
    "Processors": (*test_processors.CASES, *PROCESSORS),
}

UNUSUAL = {
    "Publishers": UNUSUAL_PUBLISHERS,
    "Subscribers, whitebox": UNUSUAL_WHITEBOX,
    "Subscribers, blackbox": UNUSUAL_BLACKBOX,
}


@cache
def measured() -> dict[str, Any]:
    """Return the result of ``tests.tck_java.campaign``."""
    content: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return content


@cache
def rejected_in_the_test_suite() -> set[str]:
    """Return the names of the classes that the official TCK rejects in tests/tck_java."""
    return {row.wrong for row in rows() if row.status is not Status.PASSED}


class Mutant(NamedTuple):
    """A faulty class, and the tests that reject it."""

    kind: str
    name: str
    fault: str
    rules: tuple[str, ...]
    official: tuple[str, ...]
    additional: tuple[str, ...]

    def row(self) -> str:
        """Return the row of the table."""
        tests = [f"`{_shortened(test)}`" for test in (*self.official, *self.additional)]
        by = "yes" if self.seen else "no"
        return f"| `{self.name}` | {self.fault} | {', '.join(self.rules)} | {', '.join(tests)} | {by} |"

    @property
    def seen(self) -> bool | None:
        """True if the official TCK rejects the object; None if it was not tried."""
        by = measured()["rejected_by"].get(f"{self.kind}/{self.name}")
        if by is not None:
            return bool(by)
        return self.name in rejected_in_the_test_suite() or None


def mutants(kind: str, cases: tuple[Case, ...]) -> list[Mutant]:
    """Return the faulty classes of the cases, sorted by name."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        if isinstance(case.make, type) and not case.make.__name__.startswith("Right"):
            found.setdefault(case.make.__name__, []).append(case)
    return [_mutant(kind, name, found[name]) for name in sorted(found)]


def _mutant(kind: str, name: str, cases: list[Case]) -> Mutant:
    rules = dict.fromkeys(rule_of(case.test, case.message) for case in cases)
    tests = dict.fromkeys(case.test for case in cases)
    return Mutant(
        kind,
        name,
        _fault(cases[0].make),
        tuple(sorted(filter(None, rules), key=lambda rule: [int(part) for part in rule.split(".")])),
        tuple(test for test in tests if not test.startswith("beyond_")),
        tuple(test for test in tests if test.startswith("beyond_")),
    )


def _fault(make: type) -> str:
    """Return the docstring of the class."""
    own = vars(make).get("__doc__")
    assert own, f"{make.__name__} needs a docstring that describes its fault"
    return " ".join(own.split()).rstrip(".").replace("`", "").replace("|", "or")


def _shortened(test: str) -> str:
    return test if len(test) <= 48 else f"{test[:45]}..."


def page() -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION]
    for title, cases in CASES.items():
        rows = "\n".join(mutant.row() for mutant in mutants(title, cases))
        parts.append(f"## {title}\n\n{HEADING}\n{rows}\n")
    parts.append(CORRECT)
    for title, unusual in UNUSUAL.items():
        rows = "\n".join(f"| `{each.__name__}` | {_fault(each)} |" for each in unusual)
        parts.append(f"### {title}, unusual\n\n| object | property |\n|---|---|\n{rows}\n")
    parts[0] = parts[0].format(**_numbers())
    return "\n".join(parts)


def _numbers() -> dict[str, object]:
    every = [mutant for title, cases in CASES.items() for mutant in mutants(title, cases)]
    seen = [mutant.seen for mutant in every]
    return {
        "total": len(every),
        "unusual": sum(map(len, UNUSUAL.values())),
        "yes": seen.count(True),
        "no": seen.count(False),
        "commit": measured()["commit"],
    }


HEADING = "| faulty object | fault | rules | rejected by the port's test | by the official TCK |\n|---|---|---|---|---|"
INTRODUCTION = """# Faulty implementations

Each of these {total} objects has one fault, and the named tests of [the TCK in Python](referee.md) reject it: they fail
or, if the behaviour is optional, are skipped with the fault as the reason. `tests/tck` runs every row and also checks
the message. `tests/tck_java` also runs one test of the official TCK on some of the objects.

The last column shows whether the official TCK rejects the object: {yes} are rejected and {no} are accepted.
`python -m tests.tck_java.campaign` runs all tests of the official TCK on an object until one rejects it twice. The
last run was at commit `{commit}`.

None of the tests fails for [{unusual} correct but unusual objects](#correct-implementations).

`python -m tests.tck.mutants` writes this page.
"""
CORRECT = """## Correct implementations

Each object conforms to the specification in an unusual way. No test of the port may fail for it.
"""

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
