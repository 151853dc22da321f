"""Block the tasks of a Spark job until the test releases them."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Gates:
    """Blocks each partition at a gate until the test opens it.

    A task creates a file when it starts and waits for the file that opens its gate.
    """

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
            end = time.monotonic() + 120  # ends the task of a test that failed before it opened the gate
            while not os.path.exists(f"{folder}/open-{number}") and not os.path.exists(f"{folder}/open-all"):
                if time.monotonic() > end:
                    raise TimeoutError(f"gate {number} was not opened within 120 seconds")
                time.sleep(0.01)
            yield from batches

        return df.rdd.mapPartitions(wait).toDF(df.schema)

    def began(self) -> set[int]:
        return {int(file.name.partition("-")[2]) for file in self.folder.glob("began-*")}

    def open(self, number: int | None = None) -> None:
        (self.folder / f"open-{'all' if number is None else number}").touch()
