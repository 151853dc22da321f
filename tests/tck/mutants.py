"""Write docs/mutants.md: each faulty object, its rules, the tests that reject it.

Run ``python -m tests.tck.mutants``. tests/tck and tests/tck_java check every row.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pyrs.tck.advice import rule_of
from tests.tck import test_false_passes, test_processors, test_wrong_publishers, test_wrong_subscribers
from tests.tck.judging import Case
from tests.tck_java.table import NOT_SEEN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mutants.md"
CASES = {
    "Publishers": (*test_wrong_publishers.CASES, *test_false_passes.CASES),
    "Failed Publishers": (*test_wrong_publishers.FAILED_CASES, *test_false_passes.FAILED_CASES),
    "Subscribers, whitebox": (*test_wrong_subscribers.CASES,),
    "Subscribers, blackbox": (*test_wrong_subscribers.BLACKBOX_CASES,),
    "Processors": (*test_processors.CASES,),
}


# "yes" if the official TCK rejects an object that the port rejects by its additional tests only. The other such
# objects were not tried.
REJECTED_BY_THE_OFFICIAL_TCK = {
    "AnswersAfterTheEnd": "no",
    "BusyWithoutALock": "no",
    "CancelAwaitsTheSignal": "no",
    "CancelsSlowly": "no",
    "CancelsUnderALock": "no",
    "CompletesDuringOnNext": "yes",
    "CompletesOnATimer": "no",
    "CompletesOnCancel": "yes",
    "CompletesTheOthers": "no",
    "CompletesTwiceWhenCancelled": "yes",
    "CountsOneRequestInOnSubscribe": "no",
    "CountsTheLastRequestInOnSubscribe": "no",
    "DropsTheOthers": "no",
    "ExceedsAfterAThousand": "no",
    "ExceedsAfterAThousandRequests": "no",
}


class Mutant(NamedTuple):
    """A faulty class, and the tests that reject it."""

    name: str
    fault: str
    rules: tuple[str, ...]
    official: tuple[str, ...]
    additional: tuple[str, ...]

    def row(self) -> str:
        """Return the row of the table."""
        tests = [f"`{_shortened(test)}`" for test in (*self.official, *self.additional)]
        seen = any((test, self.name) not in NOT_SEEN for test in self.official)
        by = "yes" if seen else REJECTED_BY_THE_OFFICIAL_TCK.get(self.name, "not tried")
        return f"| `{self.name}` | {self.fault} | {', '.join(self.rules)} | {', '.join(tests)} | {by} |"


def mutants(cases: tuple[Case, ...]) -> list[Mutant]:
    """Return the faulty classes of the cases, sorted by name."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        if isinstance(case.make, type) and not case.make.__name__.startswith("Right"):
            found.setdefault(case.make.__name__, []).append(case)
    return [_mutant(name, found[name]) for name in sorted(found)]


def _mutant(name: str, cases: list[Case]) -> Mutant:
    rules = dict.fromkeys(rule_of(case.test, case.message) for case in cases)
    tests = dict.fromkeys(case.test for case in cases)
    return Mutant(
        name,
        _fault(cases[0].make),
        tuple(sorted(filter(None, rules), key=lambda rule: [int(part) for part in rule.split(".")])),
        tuple(test for test in tests if not test.startswith("beyond_")),
        tuple(test for test in tests if test.startswith("beyond_")),
    )


def _fault(make: type) -> str:
    """Return the docstring of the class or, without one, the words of its name."""
    own = vars(make).get("__doc__") or re.sub("(?<=[a-z])(?=[A-Z])", " ", make.__name__).lower().capitalize()
    return " ".join(own.split()).rstrip(".").replace("`", "").replace("|", "or")


def _shortened(test: str) -> str:
    return test if len(test) <= 48 else f"{test[:45]}..."


def page() -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION]
    for title, cases in CASES.items():
        rows = "\n".join(mutant.row() for mutant in mutants(cases))
        parts.append(f"## {title}\n\n{HEADING}\n{rows}\n")
    return "\n".join(parts)


HEADING = "| faulty object | fault | rules | rejected by the port's test | by the official TCK |\n|---|---|---|---|---|"
INTRODUCTION = """# Faulty implementations

Each object below has one fault, and the named tests of [the TCK in Python](referee.md) reject it: they fail or, if the
behaviour is optional, are skipped with the fault as the reason. `tests/tck` runs every row and compares the message;
`tests/tck_java` runs the rows of the official TCK in a JVM. The last column shows whether a test of the
official TCK rejects the object.

`python -m tests.tck.mutants` writes this page.
"""

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
