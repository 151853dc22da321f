"""Functions that need a later PySpark than 3.5, and their errors with an older one."""

from __future__ import annotations

from typing import Any

import pyspark
import pytest

import pyrs
from pyrs import spark as ps
from tests.spark.versions import NEEDED, has_pyspark, needs_pyspark

pytest.importorskip("pandas")  # without it, ps.supports answers "no" for functions that run tasks

OLDER = {(4, 0): "3.5.8", (4, 1): "4.0.1", (4, 2): "4.1.1"}


def read_stream(spark: Any, **options: Any) -> Any:
    return ps.read_stream(spark, pyrs.empty(), "n long", **options)


def stream_from_publishers(spark: Any) -> Any:
    return ps.stream_from_publishers(spark, ["a"], lambda *_: pyrs.empty(), "n long", lambda partition: 1)


def apply_by_key(spark: Any) -> Any:
    df = spark.readStream.format("rate").load()
    return ps.apply_by_key(df, "value", lambda rows: rows.map(lambda row: (row.value,)), "n long")


@pytest.mark.parametrize("function", [read_stream, stream_from_publishers, apply_by_key])
def test_an_older_pyspark_is_refused_with_the_needed_version(
    rocksdb: Any, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = function.__name__
    needed = NEEDED[name]
    if has_pyspark(*needed):
        assert ps.supports(rocksdb)[name] == "ok"
        assert function(rocksdb).isStreaming
        monkeypatch.setattr(pyspark, "__version__", OLDER[needed])
    with pytest.raises(NotImplementedError) as refused:
        function(rocksdb)
    message = str(refused.value)
    assert message.startswith(f"{name} needs PySpark {needed[0]}.{needed[1]}, the first with ")
    assert message.endswith(f", but this is PySpark {pyspark.__version__}")
    assert ps.supports(rocksdb)[name] == f"no: {message}"


@needs_pyspark(4, 0, "read_stream")
def test_on_restart_as_a_function_needs_pyspark_4_2(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_pyspark(4, 2):
        assert read_stream(spark, on_restart=lambda number: pyrs.empty()).isStreaming
        monkeypatch.setattr(pyspark, "__version__", OLDER[4, 2])
    with pytest.raises(NotImplementedError, match=r"^on_restart as a function needs PySpark 4\.2, .* 4\.[01]\."):
        read_stream(spark, on_restart=lambda number: pyrs.empty())


def test_events_on_spark_connect_need_listeners_in_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session", "is_stopped": False})()
    monkeypatch.setattr(pyspark, "__version__", "3.5.8")
    with pytest.raises(NotImplementedError, match=r"^events on Spark Connect needs PySpark 4\.0, .* PySpark 3\.5\.8"):
        ps.events(session)
