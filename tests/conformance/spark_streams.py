"""The streams of ``pyrs.spark``, which only ``make conformance`` verifies, in the process of a local Spark driver.

Each Subscriber starts a Spark job or a streaming query. Therefore the streams have few elements, and the
timeouts are long. A test does not wait for the whole timeout if the signal arrives earlier.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyrs.api import Publisher, Subscriber
from pyrs.tck import TestEnvironment
from tests.conformance.entry import LONG_MAX, Entry, after_each_test, blackbox, numbers, publisher
from tests.conformance.options import MULTICAST, ONE_ELEMENT

__all__ = ["SPARK", "over_spark"]

MOST_ROWS = 1_000  # a partition is computed as a whole
MOST_BATCHES = 10  # each is a micro-batch of a query
TOO_LONG = "it needs a thousand micro-batches"
A_THOUSAND = {"stochastic_spec103_mustSignalOnMethodsSequentially": TOO_LONG}
FEEDING = "conformance-feeding"

_session: Any = None


@contextmanager
def over_spark() -> Iterator[Any]:
    """Start a driver, and run a first job and a first query, which are slower than all later ones."""
    global _session
    from pyrs.spark import from_dataframe
    from tests.interop.harness import spark_driver

    with spark_driver([]) as _session:
        from_dataframe(_session.range(3)).collect(timeout=60)
        _batches(1).collect(timeout=60)
        try:
            yield _session
        finally:
            _stop_queries(all_of_them=True)


def _rows(elements: int) -> Any:
    from pyrs.spark import from_dataframe

    return from_dataframe(_session.range(0, elements, 1, 2))


def _batches(elements: int) -> Any:
    """Return the stream of a query over the given number of files, one for each batch."""
    from pyrs.spark import from_stream

    folder = Path(tempfile.mkdtemp(prefix="pyrs-conformance-"))
    for number in range(elements):
        (folder / f"{number}.txt").write_text(f"{number}\n", encoding="utf-8")
    after_each_test(lambda: shutil.rmtree(folder, ignore_errors=True))
    after_each_test(_stop_queries)
    lines = _session.readStream.option("maxFilesPerTrigger", 1).text(str(folder))
    return from_stream(lines, trigger={"availableNow": True}, acknowledge="request")


def _query_events(elements: int) -> Any:
    """Return the events of a query that runs empty batches continuously."""
    from pyrs.spark import events

    if not any(query.name == FEEDING for query in _session.streams.active):
        rate = _session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        rate.writeStream.format("noop").queryName(FEEDING).trigger(processingTime="0 seconds").start()
    after_each_test(_stop_listening)
    return events(_session)


def _stop_listening() -> None:
    """Remove the listeners of a test, which would slow down the following tests."""
    streams = _session._jsparkSession.streams()
    for listener in streams.listListeners():
        streams.removeListener(listener)


def _stop_queries(*, all_of_them: bool = False) -> None:
    for query in _session.streams.active:
        if all_of_them or query.name != FEEDING:
            query.stop()


def _frames(elements: int) -> Any:
    from pyrs.spark import for_each_frame

    return for_each_frame(numbers(3).map(lambda n: (n,)), "id long", lambda df: df.count(), spark=_session)


def _taken_in() -> Any:
    """Return the Subscriber of read_stream; the TCK is its Publisher."""
    from pyrs.spark.source.intake import Intake

    intake = Intake(_Silent())
    after_each_test(lambda: intake.end(None))
    return intake


class _Silent(Publisher[Any]):
    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        pass


def _patient(entry: Entry) -> Entry:
    entry.verification.environment = TestEnvironment(timeout=5.0, no_signals_timeout=0.2, deadline=60.0)
    entry.verification.skip_tests = {name: why for name, why in entry.skips.items() if why == TOO_LONG}
    return entry


SPARK: list[Entry] = [
    _patient(entry)
    for entry in (
        publisher("spark.from_dataframe", _rows, failed=None, max_elements=MOST_ROWS, covers=("spark.from_dataframe",)),
        publisher(
            "spark.from_stream",
            _batches,
            failed=None,
            max_elements=MOST_BATCHES,
            covers=("spark.from_stream",),
            skips=A_THOUSAND,
        ),
        publisher(
            "spark.events",
            _query_events,
            failed=None,
            max_elements=LONG_MAX,
            covers=("spark.events",),
            skips={
                MULTICAST: "each Subscriber receives the events after its subscription",
                "beyond_spec101_mustNotExceedALargeDemand": TOO_LONG,
                **A_THOUSAND,
            },
        ),
        publisher(
            "spark.for_each_frame",
            _frames,
            failed=None,
            max_elements=1,
            covers=("spark.for_each_frame",),
            skips=ONE_ELEMENT,
        ),
        blackbox("spark.read_stream", _taken_in, trigger=lambda intake: intake.allow(1), covers=("spark.read_stream",)),
    )
]
