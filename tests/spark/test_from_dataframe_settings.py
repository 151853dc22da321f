"""from_dataframe under the settings of a session: each value must equal that of ``collect()``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrs import spark as ps
from pyrs.spark.read import execution, partitions
from tests.spark.jobs import JOB_DEADLINE
from tests.waiting import eventually

# A setting, its value, and an expression whose result the setting changes. The value "not" inverts the default. The
# queries read a range, because Spark computes an expression of constants in the driver.
PARTLY_BAD = """'{"a": {"b": "x", "c": ' || id || '}}'"""
DECIMAL = "cast(1.123456789012345678 as decimal(38,18))"
QUERIES = [
    ("spark.sql.legacy.timeParserPolicy", "LEGACY", "try_to_timestamp('2024-1-1 1:2' || id, 'yyyy-MM-dd HH:mm')"),
    ("spark.sql.legacy.timeParserPolicy", "LEGACY", "unix_timestamp('2024-1-1 1:2' || id, 'yyyy-MM-dd HH:mm')"),
    ("spark.sql.mapKeyDedupPolicy", "LAST_WIN", "map(id, 1, id, 2)"),
    ("spark.sql.mapKeyDedupPolicy", "LAST_WIN", "str_to_map('a:' || id || ',a:2')"),
    ("spark.sql.mapKeyDedupPolicy", "LAST_WIN", "map_concat(map('a', id), map('a', 2L))"),
    ("spark.sql.legacy.castComplexTypesToString.enabled", "true", "cast(struct(id, null) as string)"),
    ("spark.sql.legacy.castComplexTypesToString.enabled", "true", "cast(map(id, null) as string)"),
    ("spark.sql.legacy.castComplexTypesToString.enabled", "true", "cast(array(id, null) as string)"),
    ("spark.sql.ansi.enabled", "not", "cast('x' || id as int)"),
    ("spark.sql.ansi.enabled", "not", "array(1, 2)[cast(id as int) + 1]"),
    ("spark.sql.session.timeZone", "Asia/Tokyo", "date_format(timestamp_seconds(id), 'yyyy-MM-dd HH:mm')"),
    ("spark.sql.session.timeZone", "Asia/Tokyo", "cast('2024-01-01 0' || id as timestamp)"),
    ("spark.sql.session.timeZone", "Asia/Tokyo", "to_json(struct(timestamp_seconds(id)))"),
    ("spark.sql.jsonGenerator.ignoreNullFields", "false", "to_json(struct(id, cast(null as int) as n))"),
    ("spark.sql.json.enablePartialResults", "not", f"from_json({PARTLY_BAD}, 'a struct<b:int,c:int>')"),
    ("spark.sql.decimalOperations.allowPrecisionLoss", "false", f"{DECIMAL} * cast(id as decimal(38,18))"),
    ("spark.sql.function.concatBinaryAsString", "true", "X'41' || if(id < 0, X'41', X'42')"),
    ("spark.sql.function.eltOutputAsString", "true", "elt(if(id = 0, 1, 2), X'41', X'42')"),
    ("spark.sql.legacy.followThreeValuedLogicInArrayExists", "false", "exists(array(id, null), x -> x > 5)"),
    ("spark.sql.legacy.negativeIndexInArrayInsert", "true", "array_insert(array(1, 2, 3), cast(-2 - id as int), 9)"),
    ("spark.sql.legacy.javaCharsets", "true", "decode(X'41', if(id = 0, 'Windows-1252', 'Cp1252'))"),
    ("spark.sql.legacy.statisticalAggregate", "true", "stddev_samp(if(id = 0, 1, null))"),
    ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "true", "1e3 * id"),
    ("spark.sql.legacy.histogramNumericPropagateInputType", "false", "histogram_numeric(id, 2)"),
]
SLASHES = {"timestampFormat": "y/M/d"}
FILES = [
    ("spark.sql.legacy.timeParserPolicy", "LEGACY", "csv", "v timestamp", {"timestampFormat": "y-MM-dd HH:mm"}),
    ("spark.sql.legacy.csv.enableDateTimeParsingFallback", "true", "csv", "v timestamp", SLASHES),
    ("spark.sql.legacy.json.enableDateTimeParsingFallback", "true", "json", "t timestamp", SLASHES),
    ("spark.sql.columnNameOfCorruptRecord", "bad", "json", "a int, bad string", {}),
    ("spark.sql.caseSensitive", "true", "parquet", "A int", {}),
    ("spark.sql.files.ignoreCorruptFiles", "true", "corrupt", "id long", {}),
]


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("settings")
    (folder / "csv").write_text("2024-1-1 1:2\n2024-12-12 10:20\n")
    (folder / "json").write_text('{"t": "2024-1-1 1:2:3", "a": 1}\n{"a":\n')
    (folder / "corrupt").mkdir()
    (folder / "corrupt" / "x.parquet").write_text("nonsense")
    spark.sql("select 7 as a").write.parquet(str(folder / "parquet"))
    return folder


# The public functions of Spark read the settings themselves, so few cases with them run by default.
CAMPAIGN_READERS = [pytest.param(name, marks=pytest.mark.campaign) for name in ("public", "no execution")]


@pytest.fixture(params=["jvm", "public", pytest.param("no execution", marks=pytest.mark.campaign)])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "public":
        pytest.importorskip("pandas")
        monkeypatch.setattr(partitions, "has_fast_path", lambda df: False)
    elif request.param == "no execution":

        def missing(gateway: Any) -> Any:
            raise AttributeError("withNewExecutionId")

        monkeypatch.setattr(execution, "_executor", missing)
        execution._executors.clear()
        request.addfinalizer(execution._executors.clear)
    return str(request.param)


@pytest.fixture
def setting(spark: Any) -> Iterator[Callable[[str, str], None]]:
    before: dict[str, Any] = {}

    def put(key: str, value: str) -> None:
        try:
            before[key] = spark.conf.get(key)
        except Exception as error:
            pytest.skip(f"this Spark has no {key}: {error}")
        spark.conf.set(key, {"true": "false", "false": "true"}[before[key]] if value == "not" else value)

    yield put
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


def outcome(rows: Callable[[], list[Any]]) -> Any:
    """Return the rows as strings, which distinguish 0 from 0.0. All errors give one string: their types differ."""
    try:
        return [repr(tuple(row)) for row in rows()]
    except Exception:
        return "an error"


def check(make: Callable[[], Any], put: Callable[[], None]) -> None:
    default = outcome(lambda: make().collect())
    put()
    expected = outcome(lambda: make().collect())
    assert expected != default, "the setting does not change the result, so this tests nothing"
    assert outcome(lambda: ps.from_dataframe(make()).collect(timeout=JOB_DEADLINE)) == expected


@pytest.mark.parametrize("reader", ["jvm", *CAMPAIGN_READERS], indirect=True)
@pytest.mark.parametrize(("key", "value", "expression"), QUERIES)
def test_expressions_have_the_values_of_collect(
    spark: Any, setting: Any, reader: str, key: str, value: str, expression: str
) -> None:
    check(lambda: spark.sql(f"select {expression} as v from range(2)"), lambda: setting(key, value))


@pytest.mark.parametrize(("key", "value", "name", "schema", "options"), FILES)
def test_files_have_the_values_of_collect(
    spark: Any, setting: Any, reader: str, folder: Path, key: str, value: str, name: str, schema: str, options: Any
) -> None:
    kind = "parquet" if name == "corrupt" else name
    path = str(folder / name)
    check(lambda: spark.read.schema(schema).options(**options).format(kind).load(path), lambda: setting(key, value))


def test_a_new_session_uses_its_own_settings(spark: Any) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
    df = other.sql("select map(id, 1, id, 2) as v from range(2)")
    assert ps.from_dataframe(df).collect(timeout=JOB_DEADLINE) == df.collect()
    with pytest.raises(ps.PartitionFailed, match="DUPLICATED_MAP_KEY"):
        ps.from_dataframe(spark.sql("select map(id, 1, id, 2) as v from range(2)")).collect(timeout=JOB_DEADLINE)


LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


@pytest.mark.parametrize("large", ["true", "false"])
def test_large_types_may_change_before_the_query_is_planned(spark: Any, large: str) -> None:
    """Spark's batches have no schema, so a schema of the former setting would read wrong offsets."""
    other = spark.newSession()
    df = (
        other.range(0, 100, 1, 3).selectExpr("id", "'row ' || id as s").selectExpr("*", "array(cast(s as binary)) as a")
    )
    expected = df.collect()
    other.conf.set(LARGE, "false" if large == "true" else "true")
    stream = ps.from_dataframe(df)
    other.conf.set(LARGE, large)
    assert stream.collect(timeout=JOB_DEADLINE) == expected


POINT = "X'0101000000000000000000F03F0000000000000040'"


@pytest.mark.parametrize("value", ["parse_json('[' || id || ']')", f"st_geomfromwkb({POINT})"])
def test_binaries_of_variants_and_spatial_values_have_large_types(spark: Any, value: str) -> None:
    """The schema of PySpark has small types for them, with which pyarrow would read wrong offsets."""

    def parts(rows: list[Any]) -> list[Any]:
        values = [value for row in rows for value in (row.v, row.a[0], row.m[1])]
        return [str(value) if type(value).__name__ == "VariantVal" else value for value in values]

    other = spark.newSession()
    try:
        df = other.sql(f"select {value} as v, array({value}, null) as a, map(1, {value}) as m from range(0, 9, 1, 2)")
        expected = parts(df.collect())
    except Exception as error:
        pytest.skip(f"this Spark does not have the type: {error}")
    other.conf.set(LARGE, "true")
    assert parts(ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)) == expected
    assert parts(ps.apply(df, lambda batches: batches, df.schema, as_="arrow").collect()) == expected


def test_large_types_may_change_while_the_query_is_planned(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = spark.newSession()
    df = other.range(0, 100, 1, 3).selectExpr("'row ' || id as s")
    expected = df.collect()
    answers = iter([False, False])  # of the former setting: at the call, and before the query is planned

    def prefers_large(session: Any) -> bool:
        return next(answers, True)

    other.conf.set(LARGE, "true")
    monkeypatch.setattr("pyrs.spark.schema.arrow.prefers_large", prefers_large)
    monkeypatch.setattr(partitions, "prefers_large", prefers_large)
    assert ps.from_dataframe(df).collect(timeout=JOB_DEADLINE) == expected


def test_pandas_frames_have_the_zone_at_the_time_of_the_plan(spark: Any) -> None:
    pandas = pytest.importorskip("pandas")
    other = spark.newSession()
    stream = ps.from_dataframe(other.sql("select timestamp_seconds(0) as at from range(1)"), "pandas")
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    (frame,) = stream.collect(timeout=JOB_DEADLINE)
    assert frame["at"][0] == pandas.Timestamp(1970, 1, 1, 9)


@pytest.mark.parametrize("fast", [True, False])
def test_an_observation_gets_its_values(spark: Any, monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    if not fast:
        pytest.importorskip("pandas")
        monkeypatch.setattr(partitions, "has_fast_path", lambda df: False)
    observation = Observation("rows")
    df = spark.range(0, 100, 1, 7).observe(observation, f.count("*").alias("n"), f.max("id").alias("largest"))
    assert len(ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)) == 100
    assert observation.get == {"n": 100, "largest": 99}


def test_an_execution_works_on_a_connection_older_than_the_callback_server(spark: Any) -> None:
    """The first ``foreachBatch`` starts the server, and replaces the client that calls Python."""
    from py4j.java_gateway import JavaObject
    from pyspark.java_gateway import ensure_callback_server_started

    df, context, found = spark.range(1), spark.sparkContext, []
    gateway = context._gateway
    ensure_callback_server_started(gateway)
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway._callback_server.port)
    for _ in range(2):
        execution.in_sql_execution(
            df, "test", "test", lambda: found.append(context.getLocalProperty("spark.sql.execution.id"))
        )
    assert None not in found and len(set(found)) == 2
    with pytest.raises(ZeroDivisionError):
        execution.in_sql_execution(df, "test", "test", lambda: 1 // 0)


def test_a_read_is_one_entry_in_the_ui(spark: Any) -> None:
    """The entry is an SQL execution, which names the line that called from_dataframe, and ends."""
    store = spark._jsparkSession.sharedState().statusStore()

    def executions() -> list[Any]:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(30_000)
        found = store.executionsList()
        return [found.apply(i) for i in range(found.size())]

    before = len(executions())
    stream = ps.from_dataframe(spark.range(0, 10, 1, 5))
    assert len(stream.collect(timeout=JOB_DEADLINE)) == 10
    (entry,) = executions()[before:]
    assert entry.description().startswith("from_dataframe at ") and __file__ in entry.description()
    eventually(lambda: all(each.completionTime().isDefined() for each in executions()), "an execution was left running")
    assert executions()[before].jobs().size() == 5


def test_settings_given_at_the_start_of_the_session_apply(spark: Any) -> None:
    """The fixture ``spark`` gives the session a setting that only tasks read."""
    df = spark.sql("select to_csv(struct(id, cast(null as string))) as v from range(2)")
    assert [row.v for row in df.collect()] == ['0,""', '1,""'], "the session was started without the setting"
    assert ps.from_dataframe(df).collect(timeout=JOB_DEADLINE) == df.collect()
