"""What the hub of read_stream answers where a query begins again, and where batches are small: asked as Spark asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pyarrow
import pytest
from pyspark.sql.types import LongType, StructType

import pyrs
from pyrs.spark.schemas import RowEncoder

pytest.importorskip("pyspark.sql.datasource")

from pyrs.spark.source_hub import Hub

SCHEMA = StructType().add("n", LongType())
EARLIER = "0" * 32


def batch_of(*numbers: int) -> Any:
    return pyarrow.RecordBatch.from_pydict({"n": pyarrow.array(numbers, pyarrow.int64())})


def rows_from(first: int) -> pyrs.Stream[tuple[int]]:
    return pyrs.range(first, 20).map(lambda n: (n,))


def small_batches_from(first: int) -> pyrs.Stream[Any]:
    return pyrs.range(first, 20).map(batch_of)


def one_batch_from(first: int) -> pyrs.Stream[Any]:
    return pyrs.just(batch_of(*range(first, 20)))


def hub(source: Any, **options: Any) -> Hub:
    usual = {"max_rows": 5, "capacity": 8, "on_restart": "fail", "whole": False} | options
    return Hub(
        source, RowEncoder(SCHEMA), usual["max_rows"], usual["capacity"], usual["on_restart"], None, 1, usual["whole"]
    )


def ask(of: Hub, what: str, **more: Any) -> list[Any]:
    return list(of.answer({"what": what, **more}, lambda: True))


def planned(of: Hub, start: dict[str, Any], end: dict[str, Any]) -> Iterator[int]:
    for part in ask(of, "plan", start=start, end=end):
        with pyarrow.ipc.open_stream(part) as reader:
            for batch in reader:
                yield from batch.column("n").to_pylist()


def test_a_batch_of_no_rows_does_not_end_a_query_that_reads_what_is_available() -> None:
    with closing(hub(pyrs.just(*[batch_of()] * 5, batch_of(1, 2, 3)), capacity=2, whole=True)) as asked:
        start = json.loads(ask(asked, "initial")[0])
        assert json.loads(ask(asked, "latest", start=start, finish=True)[0])["sequence"] == 3


@pytest.mark.parametrize(
    ("source", "whole", "capacity"),
    [(rows_from, False, 30), (small_batches_from, True, 2), (one_batch_from, True, 8)],
    ids=["max_rows lowered", "smaller batches", "a larger batch"],
)
def test_a_batch_of_before_is_planned_whatever_the_sizes_are_now(
    source: Callable[[int], Any], whole: bool, capacity: int
) -> None:
    limits = {"max_rows": 20 if source is small_batches_from else 5, "capacity": capacity, "whole": whole}
    with closing(hub(source(0), on_restart=source, **limits)) as asked:
        start, end = ({"epoch": EARLIER, "sequence": at} for at in (0, 20))
        assert list(planned(asked, start, end)) == list(range(20))


def test_a_query_goes_on_where_its_first_batch_was_not_committed() -> None:
    """The checkpoint has no start for the first batch, so Spark asks this process for one, of its own epoch."""
    with closing(hub(rows_from(0), on_restart=rows_from, capacity=10)) as asked:
        start = json.loads(ask(asked, "initial")[0])
        end = {"epoch": EARLIER, "sequence": 5}
        assert list(planned(asked, start, end)) == list(range(5))
        assert json.loads(ask(asked, "latest", start=end, finish=True)[0])["sequence"] == 10
