"""Tasks that wait for the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Gates:
    """Partitions that report their start and wait until they are opened, by files that tasks can see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def guard(self, df: Any) -> Any:
        """Return the DataFrame with a gate before each partition."""
        folder = str(self.folder)

        def wait(batches: Any) -> Any:
            import os
            import time

            from pyspark import TaskContext

            number = TaskContext.get().partitionId()
            open(f"{folder}/began-{number}", "w").close()
            end = time.monotonic() + 120  # as long as a test may take
            while not os.path.exists(f"{folder}/open-{number}") and not os.path.exists(f"{folder}/open-all"):
                if time.monotonic() > end:
                    raise TimeoutError("the gate was never opened")
                time.sleep(0.01)
            yield from batches

        return df.rdd.mapPartitions(wait).toDF(df.schema)

    def began(self) -> set[int]:
        return {int(file.name.partition("-")[2]) for file in self.folder.glob("began-*")}

    def open(self, number: int | None = None) -> None:
        (self.folder / f"open-{'all' if number is None else number}").touch()
