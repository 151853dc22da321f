"""Results on disk: what was measured with the code as it is now need not be measured again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance.running import LOGS, Result
from tests.conformance.sources_hash import sources_hash, spark_hash
from tests.conformance.spark_streams import SPARK

__all__ = ["Results"]


class Results:
    """What is known of the code as it is now, by route and entry.

    Attributes:
        sources: the hash of the sources for the rows of Spark (True), and for the others (False).
    """

    def __init__(self, file: Path = LOGS / "results.json") -> None:
        self._file = file
        self.sources = {False: sources_hash(), True: spark_hash()}
        self._known: dict[tuple[str, str], Result] = {}
        if file.exists():
            kept = json.loads(file.read_text(encoding="utf-8"))
            results = [_result(*fields) for fields in kept["results"]]
            spark = {entry.name for entry in SPARK}
            for of_spark, sources in self.sources.items():
                if sources in kept["sources"]:
                    self.add(result for result in results if (result.entry in spark) is of_spark)

    def get(self, route: str, entry: str) -> Result | None:
        return self._known.get((route, entry))

    def __iter__(self) -> Iterator[Result]:
        return iter(self._known.values())

    def add(self, results: Iterable[Result]) -> None:
        for result in results:
            self._known[result.route, result.entry] = result

    def save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        kept = {"sources": [*self.sources.values()], "results": list(self._known.values())}
        self._file.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def _result(
    entry: str, route: str, kit: list[int], beyond: list[int], untested: int, notes: list[list[str]], seconds: float
) -> Result:
    one, two = ((numbers[0], numbers[1], numbers[2]) for numbers in (kit, beyond))
    return Result(entry, route, one, two, untested, tuple((a, b, c) for a, b, c in notes), seconds)
