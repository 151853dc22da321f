"""A driver that reads a Publisher into a folder, and may be killed at a step of its second or a later micro-batch.

``python -m tests.spark.killable FOLDER STEP AS KEPT [MASTER [PAUSE]]`` runs it in a separate process, with its JVM in
the same process group. With the step "none" it runs to completion. AS is "rows" or "arrow", the type of the elements.
With "journal" as KEPT, elements are stored in a journal. With PAUSE, the driver also runs a query of Publishers on the
executors, which waits at the step PAUSE of its second or a later micro-batch until the driver is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow

import pyrs
from pyrs import spark as ps
from pyrs.spark.source.buffer import ReplayBuffer
from tests.sessions import spark_session
from tests.spark.late_workers import repeat_if_late
from tests.waiting import eventually

TOTAL = 40
MAX_ROWS = 6
LATER = 2 * MAX_ROWS  # an element of the third batch at the earliest
PAUSES = ("planning", "read", "sink write")
STEPS = ("latest offset", "planning", "read", "sink write", "commit")


def numbers(first: int = 0) -> Any:
    return pyrs.range(first, TOTAL).map(lambda n: (n,))


def batches(first: int = 0) -> Any:
    """Return the same rows in Arrow batches of four, so that some elements are divided between micro-batches."""
    starts = pyrs.range(first, TOTAL, 4)
    return starts.map(lambda n: pyarrow.RecordBatch.from_pydict({"n": list(range(n, min(n + 4, TOTAL)))}))


def read(spark: Any, as_: str, journal: Path | None = None, on_restart: Any = None) -> Any:
    """Return a streaming DataFrame of ``numbers`` or ``batches``. ``on_restart=True`` continues after a restart."""
    source, capacity = {"rows": (numbers, 2 * MAX_ROWS), "arrow": (batches, 3)}[as_]
    on_restart = source if on_restart is True else on_restart or "fail"
    return ps.read_stream(spark, source(), "n long", MAX_ROWS, capacity, on_restart, journal, as_)


def read_published(spark: Any, pause: str = "", wait: Callable[[], object] = lambda: None) -> Any:
    """Return a streaming DataFrame of the same numbers, from Publishers on the executors that can wait at a step."""

    def limit(partition: str, start: int, end: int) -> int:
        if start and pause == "planning":
            wait()
        return min(start + MAX_ROWS, end)

    def numbers_of(partition: str, start: int, end: int) -> Any:
        waits = pause == "read" and start and partition == "odd"  # the other query needs the other core
        numbers = pyrs.range(start, end).do_on_next(lambda n: wait() if waits and n > start else None)
        return numbers.map(lambda n: (2 * n + (partition == "odd"),))

    return ps.stream_from_publishers(
        spark, ["even", "odd"], numbers_of, "n long", lambda partition: TOTAL // 2, limit=limit
    )


def at_call(name: str, number: int, action: Callable[[], object]) -> Callable[[], None]:
    """Run a function after a given call of a method of the buffer. Return a function that undoes this."""
    method = getattr(ReplayBuffer, name)
    calls = 0

    def replacement(self: ReplayBuffer, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        result = method(self, *arguments)
        if calls == number:
            action()
        return result

    setattr(ReplayBuffer, name, replacement)
    return lambda: setattr(ReplayBuffer, name, method)


def failing_at(step: str, action: Callable[[], object]) -> Callable[[], None]:
    """Run a function at a step in the driver. Return a function that undoes this."""
    names = {"latest offset": "_latest", "planning": "_plan", "commit": "_commit"}
    return at_call(names[step], 2, action) if step in names else lambda: None


def read_guarded(df: Any, step: str, in_task: Callable[[], object]) -> Any:
    """Return the DataFrame. At the step "read" a task runs a function when it reads the rows of a later batch."""
    if step != "read":
        return df

    def guard(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if any(n >= LATER for n in batch.column("n").to_pylist()):
                in_task()
            yield batch

    return df.mapInArrow(guard, df.schema)


def store(folder: Path, step: str, action: Callable[[], object]) -> Callable[[Any, int], None]:
    """Return an idempotent sink, which checks that a repeated batch is unchanged."""

    def write(df: Any, batch_id: int) -> None:
        rows = [row.n for row in df.collect()]
        path = folder / f"{batch_id:04}.json"
        if path.exists():
            assert json.loads(path.read_text()) == rows, f"batch {batch_id} was repeated with other rows"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(rows))
        part.rename(path)
        if step == "sink write" and batch_id == 2:
            action()

    return write


def start(df: Any, folder: Path, step: str = "", action: Callable[[], object] = lambda: None, **trigger: Any) -> Any:
    folder.mkdir(exist_ok=True)
    writer = df.writeStream.foreachBatch(store(folder, step, action)).trigger(**trigger or {"availableNow": True})
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def stored(folder: Path) -> list[int]:
    return [n for path in sorted(folder.glob("*.json")) for n in json.loads(path.read_text())]


def main(folder: Path, step: str, as_: str, kept: str, master: str = "local[1]", pause: str = "") -> None:
    spark = spark_session(master, {"spark.driver.memory": "512m"})
    group = os.getpgrp()

    def kill() -> None:
        os.killpg(group, signal.SIGKILL)

    paused = folder / "paused"

    def wait() -> None:
        paused.touch()
        Event().wait(600)  # longer than the test; a process that survives it must end

    def run_until_paused() -> None:
        query = start(read_published(spark, pause, wait), folder / "publishers", pause, wait)
        eventually(lambda: paused.exists() or not query.isActive, seconds=200)
        if not query.isActive:
            query.awaitTermination()  # raises its error

    if pause:
        repeat_if_late(run_until_paused)
    failing_at(step, kill)
    df = read(spark, as_, folder / "journal" if kept == "journal" else None, on_restart=step == "none")
    repeat_if_late(lambda: start(read_guarded(df, step, kill), folder, step, kill).awaitTermination())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
