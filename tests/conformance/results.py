"""Measured results on disk, so that an interrupted measurement continues where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance.running import LOGS, Result
from tests.conformance.sources_hash import current_commit, sources_hash, spark_hash
from tests.conformance.spark_streams import SPARK

__all__ = ["Results"]


class Results:
    """The results that hold for the current code, by route and entry.

    Results that were measured with other code are not loaded: a hash identifies the code, see ``sources_hash``.

    Attributes:
        sources: the hash of the sources for Spark's rows (key True) and for the others (key False).
        commits: the commit at which the rows of each hash were measured, with the same keys.
    """

    def __init__(self, file: Path = LOGS / "results.json") -> None:
        self._file = file
        self.sources = {False: sources_hash(), True: spark_hash()}
        self.commits = dict.fromkeys(self.sources, current_commit())
        self._known: dict[tuple[str, str], Result] = {}
        if file.exists():
            self._load(json.loads(file.read_text(encoding="utf-8")))

    def _load(self, kept: dict[str, object]) -> None:
        measured: dict[str, str] = dict(kept["commits"])  # type: ignore[call-overload]
        results = [_result(*fields) for fields in kept["results"]]  # type: ignore[attr-defined]
        spark = {entry.name for entry in SPARK}
        for of_spark, sources in self.sources.items():
            if sources in measured:
                self.commits[of_spark] = measured[sources]
                self.add(result for result in results if (result.entry in spark) is of_spark)

    @property
    def commit(self) -> str:
        """The commit to show on the page; two if Spark's rows were measured at another one."""
        return " and ".join(dict.fromkeys(self.commits.values()))

    def get(self, route: str, entry: str) -> Result | None:
        return self._known.get((route, entry))

    def __iter__(self) -> Iterator[Result]:
        return iter(self._known.values())

    def add(self, results: Iterable[Result]) -> None:
        for result in results:
            self._known[result.route, result.entry] = result

    def save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        commits = {sources: self.commits[of_spark] for of_spark, sources in self.sources.items()}
        kept = {"commits": commits, "results": list(self._known.values())}
        self._file.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def _result(
    entry: str, route: str, tck: list[int], beyond: list[int], untested: int, notes: list[list[str]], seconds: float
) -> Result:
    one, two = ((numbers[0], numbers[1], numbers[2]) for numbers in (tck, beyond))
    return Result(entry, route, one, two, untested, tuple((a, b, c) for a, b, c in notes), seconds)
