"""The table in docs/java-referee.md: the verdicts of the official TCK on wrong Python objects, for each test.

``python -m tests.tck_java.table`` writes it into the page. test_wrong.py checks every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyrs.tck import Status, Verdict
from tests.tck import judging, test_processors, test_wrong_publishers, test_wrong_subscribers
from tests.tck.judging import Case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "java-referee.md"
BEGIN, END = "<!-- written by python -m tests.tck_java.table -->\n", "<!-- until here -->\n"
# The official TCK checks fewer signals here than the port; another wrong object fails the same test.
NOT_SEEN = {
    ("required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest", "RaisesOnNext"),
    (test_wrong_publishers.EMPTY, "Silent"),
    ("optional_spec111_maySupportMultiSubscribe", "FailsOnCancel"),
    (test_wrong_publishers.REGISTERED, "HidesTheOverflow"),
    (test_wrong_publishers.SAME + "OneByOne", "ForgetsToComplete"),
    (test_wrong_publishers.SAME + "ManyUpfront", "HidesTheOverflow"),
    (test_wrong_publishers.SAME + "ManyUpfrontAndCompleteAsExpected", "ForgetsToComplete"),
}


class Row(NamedTuple):
    """A wrong object, the test, and the verdict of the official TCK."""

    case: Case
    judged: Callable[..., Verdict]
    status: Status

    @property
    def wrong(self) -> str:
        return getattr(self.case.make, "__name__", "").replace("<lambda>", "None")

    def __str__(self) -> str:
        return str(self.case)


def rows() -> Iterator[Row]:
    groups: tuple[tuple[list[Case], Any], ...] = (
        (test_wrong_publishers.CASES, judging.judge_publisher),
        (test_wrong_publishers.FAILED_CASES, judging.judge_failed_publisher),
        (test_wrong_subscribers.CASES, judging.judge_whitebox),
        (test_wrong_subscribers.BLACKBOX_CASES, judging.judge_blackbox),
        (test_processors.CASES, test_processors.judged),
    )
    for cases, judged in groups:
        for case in cases:
            if not case.test.startswith("beyond_"):
                unseen = (case.test, getattr(case.make, "__name__", "")) in NOT_SEEN
                yield Row(case, judged, Status.PASSED if unseen else case.status)


def table() -> str:
    """Return the table as Markdown."""
    found: dict[str, dict[str, None]] = {}
    for row in rows():
        remark = {Status.FAILED: "", Status.SKIPPED: " (skipped)", Status.PASSED: " (passes: not seen)"}[row.status]
        hooks = "".join(f", `{name}` = {value}" for name, value in row.case.hooks.items())
        found.setdefault(row.case.test, {})[f"`{row.wrong}`{hooks}{remark}"] = None
    lines = [f"| `{test}` | {'; '.join(wrong)} |" for test, wrong in found.items()]
    return "\n".join(["| test | faulty objects |", "|---|---|", *lines, ""])


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")
