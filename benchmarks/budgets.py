"""Budgets of the rows, and verdicts on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.measure import Measurement


@dataclass(frozen=True)
class Verdict:
    """One line of the table.

    Attributes:
        row: the name of the row.
        ours: the measurement of pyrs, with its unit.
        rival: the measurement of the contender with which the budget compares pyrs; empty without one.
        ratio: the ratio of the two, or that of the measured value to the budget.
        budget: the required ratio or value.
        passed: True if the budget is met.
        of_limit: the time of pyrs divided by that of the limit, or of plain iterators for the core; None if the row
            has neither.
        note: additional information.
        times: microseconds per element of each contender of the row; empty if the row measures something else.
        fastest_of_limit: ``of_limit``, computed from the fastest repetition of each contender. Other processes only
            add time to a repetition, so the fastest one varies less than the median.
    """

    row: str
    ours: str
    rival: str
    ratio: str
    budget: str
    passed: bool
    of_limit: float | None = None
    note: str = ""
    times: Mapping[str, float] = field(default_factory=dict)
    fastest_of_limit: float | None = None


class Budget(Protocol):
    """Judges the measurements of one row."""

    def judge(self, row: str, measured: Mapping[str, Measurement]) -> Verdict:
        """Compare "ours" with the contenders or the value of the budget."""


@dataclass(frozen=True)
class Faster:
    """Require at least ``times`` the rival's rate."""

    rival: str
    times: float

    def judge(self, row: str, measured: Mapping[str, Measurement]) -> Verdict:
        ratio = measured["ours"].rate / measured[self.rival].rate
        return _verdict(row, measured, self.rival, ratio, f">= {self.times:g} x rate", ratio >= self.times)


@dataclass(frozen=True)
class Within:
    """Require at most ``times`` the rival's time."""

    rival: str
    times: float

    def judge(self, row: str, measured: Mapping[str, Measurement]) -> Verdict:
        ratio = measured["ours"].time / measured[self.rival].time
        return _verdict(row, measured, self.rival, ratio, f"<= {self.times:g} x time", ratio <= self.times)


@dataclass(frozen=True)
class WithinSum:
    """Require at most ``times`` the sum of the rivals' times."""

    rivals: tuple[str, ...]
    times: float

    def judge(self, row: str, measured: Mapping[str, Measurement]) -> Verdict:
        both = Measurement((sum(measured[rival].time for rival in self.rivals),))
        name = " + ".join(self.rivals)
        return Within(name, self.times).judge(row, {**measured, name: both})


@dataclass(frozen=True)
class AtMostMore:
    """Require at most ``microseconds`` more per element than the rival."""

    rival: str
    microseconds: float

    def judge(self, row: str, measured: Mapping[str, Measurement]) -> Verdict:
        more = measured["ours"].time - measured[self.rival].time
        budget = f"<= {self.microseconds / 1000:g} ms more"
        return _verdict(row, measured, self.rival, more / self.microseconds, budget, more <= self.microseconds)


@dataclass(frozen=True)
class AtLeast:
    """Require at least ``rate`` elements a second, independent of other contenders."""

    rate: float

    def judge(self, row: str, measured: Mapping[str, Measurement]) -> Verdict:
        rate = measured["ours"].rate
        return _verdict(row, measured, "", rate / self.rate, f">= {self.rate:,.0f} /s", rate >= self.rate)


def memory_verdict(row: str, growth: float, megabytes: float, note: str = "") -> Verdict:
    """Require a growth of at most ``megabytes``."""
    return Verdict(
        row,
        f"{growth:+.1f} MB",
        "",
        f"{growth / megabytes:.2f}",
        f"<= {megabytes:g} MB",
        growth <= megabytes,
        None,
        note,
    )


def failed_verdict(row: str, error: BaseException) -> Verdict:
    """Return a missed budget for a row that could not be measured."""
    cause = f" from {error.__cause__!r}" if error.__cause__ is not None else ""
    return Verdict(row, "failed", "", "", "", False, None, f"{error!r}{cause}")


def _verdict(
    row: str, measured: Mapping[str, Measurement], rival: str, ratio: float, budget: str, passed: bool
) -> Verdict:
    ours = measured["ours"]
    limit = measured.get("limit") or measured.get("iterators")
    return Verdict(
        row,
        _describe(ours),
        f"{rival} {_describe(measured[rival])}" if rival else "",
        f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}",
        budget,
        passed,
        None if limit is None else ours.time / limit.time,
        f"repetitions within {ours.spread:.2f} x",
        {name: measurement.time for name, measurement in measured.items()},
        None if limit is None else min(ours.repetitions) / min(limit.repetitions),
    )


def _describe(measurement: Measurement) -> str:
    time = measurement.time
    return f"{time:.3f} us" if time < 10 else f"{time:.1f} us"
