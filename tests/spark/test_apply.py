"""apply: a stage for each partition on the executors, its output, its demand and its errors."""

from __future__ import annotations

import asyncio
import datetime
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import format_exception
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow
import pytest
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructType, TimestampType

import pyrs
from pyrs import spark as ps
from pyrs.spark.executors.tasks import Output, StageTask
from pyrs.spark.read.partitions import partition_failed, reason_of
from pyrs.spark.schema.arrow import checked_shape
from pyrs.spark.schema.rows import RowEncoder
from tests.spark.jobs import JOB_DEADLINE

pandas = pytest.importorskip("pandas")  # mapInArrow needs it


def test_apply_with_a_function_transforms_each_partition(spark: Any) -> None:
    df = spark.range(0, 10, 1, 3)

    def odd(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        return rows.filter(lambda row: row.id % 2).map(lambda row: (row.id * 10, str(row.id)))

    result = ps.apply(df, odd, "ten long, text string")
    assert [tuple(row) for row in result.collect()] == [(n * 10, str(n)) for n in (1, 3, 5, 7, 9)]
    assert result.schema.simpleString() == "struct<ten:bigint,text:string>"


def test_the_same_stage_runs_in_the_driver(spark: Any) -> None:
    def doubled(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        return rows.map(lambda row: {"twice": row.id * 2})

    df = spark.range(5)
    here = doubled(ps.from_dataframe(df)).collect(timeout=JOB_DEADLINE)
    assert [row.asDict() for row in ps.apply(df, doubled, "twice long").collect()] == here


ODD_NAMES = ["named_struct('b', -1L) as a", "id as `a.b`", "id + 1 as x", "id + 2 as X", "id + 3 as x", "id + 4 as `*`"]


@pytest.mark.parametrize("as_", ["rows", "arrow", "pandas"])
def test_columns_with_special_or_repeated_names_keep_their_values(spark: Any, as_: str) -> None:
    """Spark's ``mapInArrow`` interprets the name of a column as an expression."""
    df = spark.range(3).selectExpr(*ODD_NAMES)

    def values(elements: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        if as_ == "rows":
            return elements.map(lambda row: (row["a.b"], row["*"], len(row), sum(row[2:5])))
        if as_ == "arrow":
            elements = elements.map(lambda batch: batch.to_pandas())
        rows = elements.map(
            lambda frame: frame[["a.b", "*"]].assign(n=frame.shape[1], sum=frame.iloc[:, 2:5].sum(axis=1))
        )
        return rows.map(lambda frame: frame.set_axis(["id", "four", "n", "sum"], axis=1))

    result = ps.apply(df, values, "id long, four long, n long, sum long", as_)
    assert [tuple(row) for row in result.collect()] == [(n, n + 4, 6, 3 * n + 6) for n in range(3)]


def test_each_partition_is_a_separate_stream(spark: Any) -> None:
    df = spark.range(0, 9, 1, 3)
    counted = ps.apply(df, lambda rows: rows.count().map(lambda n: (n,)), "n long")
    assert [row.n for row in counted.collect()] == [3, 3, 3]
    two_are_empty = ps.apply(df.filter("id < 3"), lambda rows: rows.count().map(lambda n: (n,)), "n long")
    assert [row.n for row in two_are_empty.collect()] == [3, 0, 0]


def test_stages_may_use_threads_and_coroutines(spark: Any) -> None:
    def asynchronous(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        import asyncio

        from pyrs import schedulers

        async def later(row: Any) -> Any:
            await asyncio.sleep(0)
            return (row.id + 1,)

        return rows.publish_on(schedulers.default(), prefetch=2).map(later)

    assert [row.n for row in ps.apply(spark.range(0, 5, 1, 2), asynchronous, "n long").collect()] == [1, 2, 3, 4, 5]


def make_processor() -> Any:
    """Return a class that is pickled by value, since executors cannot import it."""

    class Halves(pyrs.Processor[Any, Any]):
        """Forwards the rows with even numbers, with back pressure."""

        def __init__(self, by: int = 2) -> None:
            self.by = by
            self.upstream: Any = None
            self.downstream: Any = None

        def on_subscribe(self, subscription: Any, /) -> None:
            self.upstream = subscription

        def subscribe(self, subscriber: Any, /) -> None:
            self.downstream = subscriber
            subscriber.on_subscribe(self.upstream)

        def on_next(self, row: Any, /) -> None:
            if row.id % self.by:
                self.upstream.request(1)
            else:
                self.downstream.on_next((row.id // self.by,))

        def on_error(self, error: BaseException, /) -> None:
            self.downstream.on_error(error)

        def on_complete(self) -> None:
            self.downstream.on_complete()

    return Halves


def test_a_processor_class_is_a_stage(spark: Any) -> None:
    halves = make_processor()
    df = spark.range(0, 8, 1, 2)
    for stage in (halves, lambda: halves(2)):
        assert [row.n for row in ps.apply(df, stage, "n long").collect()] == [0, 1, 2, 3]


@pytest.mark.parametrize("as_", ["rows", "tuples", "dicts", "arrow", "pandas"])
def test_a_stage_may_emit_its_input_unchanged(spark: Any, as_: str) -> None:
    df = spark.sql("select id, timestamp'2024-05-06 07:08:09' as at, 'x' as s from range(0, 6, 1, 2)")
    assert ps.apply(df, lambda elements: elements, df.schema, as_=as_).collect() == df.collect()


def test_nested_pandas_columns_take_their_type_from_the_schema(spark: Any) -> None:
    df = spark.sql(
        "select map('k', timestamp '2024-01-01 00:00:00') m, array(map(1, struct('x' as s))) n, array(1, null) a "
        "union all select null, null, null"
    )
    assert ps.apply(df, lambda frames: frames, df.schema, "pandas").collect() == df.collect()


def test_pandas_times_are_in_the_session_zone(spark: Any) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        df = spark.sql("select timestamp'2024-05-06 07:08:09' as at")
        (hour,) = ps.apply(df, lambda f: f.map(lambda frame: (int(frame["at"][0].hour),)), "h int", "pandas").collect()
        assert hour.h == 7
        for as_ in ("rows", "arrow", "pandas"):
            same = ps.apply(df, lambda elements: elements, df.schema, as_=as_)
            assert same.selectExpr("cast(at as string)").first() == ("2024-05-06 07:08:09",)
            assert same.collect() == df.collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_a_pandas_stage_may_emit_a_time_that_occurs_twice() -> None:
    """As in Spark, a local time that occurs twice means the later instant, and one that clocks skip is an error."""
    kind = StructType().add("at", "timestamp")
    encoder, shape = RowEncoder(kind), checked_shape("pandas", kind, "Europe/Berlin")
    seconds = pyarrow.array([1729989000, 1729992600], pyarrow.timestamp("s", "UTC")).cast(
        encoder.arrow.field("at").type
    )

    def run(stage: Any) -> list[Any]:
        staged = StageTask(stage, False, shape, Output(encoder, "Europe/Berlin", 10))
        (batch,) = staged.run(0, [pyarrow.RecordBatch.from_arrays([seconds], ["at"])])
        return [value // 1_000_000 for value in batch.column(0).cast("int64").to_pylist()]

    assert run(lambda frames: frames) == [1729992600, 1729992600]
    with pytest.raises(ps.PartitionFailed, match="ValueError: column 'at' of a DataFrame: Timestamp doesn't exist"):
        run(lambda frames: frames.map(lambda frame: frame.assign(at=pandas.Timestamp("2024-03-31 02:30"))))


IN_STRUCT = StructType().add("at", "timestamp").add("local", "timestamp_ntz")
NESTED_TIMES = (
    StructType()
    .add("local", "timestamp_ntz")
    .add("list", ArrayType(TimestampType()))
    .add("struct", IN_STRUCT)
    .add("map", MapType(StringType(), ArrayType(TimestampType())))
)
AT = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
LOCAL = datetime.datetime(2024, 1, 1)


def test_times_of_pandas_frames_are_local_at_every_nesting_level() -> None:
    """A ``timestamp_ntz`` keeps its value in both directions."""
    encoder, shape = RowEncoder(NESTED_TIMES), checked_shape("pandas", NESTED_TIMES, "Asia/Tokyo")
    batch = encoder.batch([(LOCAL, [AT, None], (AT, LOCAL), {"k": [AT]}), (None, None, None, None)])
    (frame,), _ = shape.of_batch(batch)
    tokyo = datetime.datetime(2024, 1, 1, 9)
    assert (frame["local"][0], frame["struct"][0]) == (LOCAL, {"at": tokyo, "local": LOCAL})
    assert (frame["list"][0][0], frame["map"][0][0][1][0]) == (tokyo, tokyo)
    staged = StageTask(lambda frames: frames, False, shape, Output(encoder, "Asia/Tokyo", 10))
    assert list(staged.run(0, [batch])) == [batch]


def test_nested_times_of_pandas_frames_may_have_their_own_zone() -> None:
    encoder, shape = RowEncoder(NESTED_TIMES), checked_shape("pandas", NESTED_TIMES, "Asia/Tokyo")
    row = {"local": LOCAL, "list": [AT, pandas.NaT], "struct": {"at": AT, "local": LOCAL}, "map": {"k": [AT]}}
    frames = pandas.DataFrame([row, {}]), pandas.DataFrame([{**row, "struct": (AT, LOCAL)}])
    staged = StageTask(lambda _: pyrs.just(*frames), False, shape, Output(encoder, "Asia/Tokyo", 10))
    expected = {**row, "list": [AT, None]}
    assert list(staged.run(0, [])) == [encoder.batch([expected, {}]), encoder.batch([expected])]


def test_integers_of_pandas_frames_are_exact() -> None:
    """pandas stores integers with nulls as doubles by default, which would change large values."""
    kind = StructType().add("n", "long").add("small", "long")
    encoder, shape = RowEncoder(kind), checked_shape("pandas", kind, "UTC")
    batch = encoder.batch([(2**53 + 1, 1), (None, None)])
    (frame,), _ = shape.of_batch(batch)
    assert (frame["n"][0], frame["n"][1], frame["small"].dtype) == (2**53 + 1, None, "float64")
    staged = StageTask(lambda frames: frames, False, shape, Output(encoder, "UTC", 10))
    assert list(staged.run(0, [batch])) == [batch]


def test_nested_integers_of_pandas_frames_are_exact() -> None:
    numbers, struct = ArrayType(LongType()), StructType().add("n", "long")
    kind = StructType().add("list", numbers).add("small", numbers).add("map", MapType(StringType(), LongType()))
    kind = kind.add("struct", StructType().add("n", numbers)).add("structs", ArrayType(struct))
    encoder, shape = RowEncoder(kind), checked_shape("pandas", kind, "UTC")
    large = 2**53 + 1
    batch = encoder.batch([([large, None], [1, None], {"a": large, "b": None}, ([large, None],), [(large,), (None,)])])
    (frame,), _ = shape.of_batch(batch)
    row = frame.iloc[0]
    assert [list(row["list"]), list(row["struct"]["n"])] == [[large, None]] * 2
    assert (row["map"], list(row["structs"])) == ([("a", large), ("b", None)], [{"n": large}, {"n": None}])
    assert row["small"].dtype == "float64"
    staged = StageTask(lambda frames: frames, False, shape, Output(encoder, "UTC", 10))
    assert list(staged.run(0, [batch])) == [batch]


def test_an_unconvertible_value_of_pandas_names_the_column() -> None:
    kind = StructType().add("n", "long")
    wrong = pandas.DataFrame({"n": [1, "x"]})
    output = Output(RowEncoder(kind), "UTC", 10)
    task = StageTask(
        lambda frames: frames.map(lambda frame: wrong), False, checked_shape("pandas", kind, "UTC"), output
    )
    with pytest.raises(ps.PartitionFailed, match="ValueError: column 'n' of a DataFrame: Could not convert 'x'"):
        list(task.run(0, [RowEncoder(kind).batch([(1,)])]))


def test_frames_may_have_columns_of_several_chunks() -> None:
    """``pandas.concat`` makes a chunk for each frame, if a column has an Arrow type of pandas."""
    kind = StructType().add("n", "long").add("s", "string").add("list", ArrayType(StringType()))
    types = {"n": pyarrow.int64(), "s": pyarrow.string(), "list": pyarrow.list_(pyarrow.string())}
    values = {"n": [1], "s": ["a"], "list": [["b"]]}
    part = pandas.DataFrame({name: pandas.Series(values[name], dtype=pandas.ArrowDtype(types[name])) for name in types})
    frame = pandas.concat([part, part], ignore_index=True)
    task = StageTask(
        lambda frames: frames.map(lambda _: frame),
        False,
        checked_shape("pandas", kind, "UTC"),
        Output(RowEncoder(kind), "UTC", 10),
    )
    (batch,) = task.run(0, [RowEncoder(kind).batch([(1, "", [])])])
    assert batch.to_pylist() == [{"n": 1, "s": "a", "list": ["b"]}] * 2


def test_a_stage_may_emit_frames_of_a_subclass() -> None:
    """The name of their module differs, such as that of a GeoDataFrame; it also differs between versions of pandas."""

    class Frame(pandas.DataFrame):  # type: ignore[misc, name-defined]
        pass

    frame = Frame({"n": [1, 2]})
    assert [batch.to_pylist() for batch in staged(lambda _: pyrs.just(frame)).run(0, [])] == [[{"n": 1}, {"n": 2}]]


def test_a_stage_may_emit_rows_while_another_thread_imports_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))  # its DataFrame is not defined yet
    assert [batch.to_pylist() for batch in staged(lambda _: pyrs.just((1,))).run(0, [])] == [[{"n": 1}]]


def test_a_stop_iteration_of_a_stage_fails_the_partition() -> None:
    kind = StructType().add("n", "long")
    output = Output(RowEncoder(kind), "UTC", 10)
    task = StageTask(lambda rows: next(iter(())), False, checked_shape("tuples", kind, "UTC"), output)
    with pytest.raises(ps.PartitionFailed, match="partition 2: StopIteration"):
        list(task.run(2, []))


def test_apply_accepts_a_streaming_dataframe(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    spark.range(0, 6, 1, 1).write.json(str(source))
    sdf = spark.readStream.schema("id long").json(str(source))
    result = ps.apply(sdf, lambda rows: rows.map(lambda row: (row.id * 2,)), "twice long")
    assert result.isStreaming
    stream = ps.from_stream(result, as_="tuples", trigger={"availableNow": True}, acknowledge="request")
    (batch,) = stream.collect(timeout=JOB_DEADLINE)
    assert batch.data == [(0,), (2,), (4,), (6,), (8,), (10,)]


def staged(stage: Any, rows: int = 10, as_: str = "tuples") -> StageTask:
    schema = StructType().add("n", "long")
    return StageTask(stage, False, checked_shape(as_, schema, "UTC"), Output(RowEncoder(schema), "UTC", rows))


def test_input_is_pulled_on_demand_and_full_batches_are_sent() -> None:
    """Run the task of an executor in this process."""
    encoder = RowEncoder(StructType().add("n", "long"))
    pulled: list[int] = []

    def batches() -> Iterator[Any]:
        for i in range(9):
            pulled.append(i)
            yield encoder.batch([(100 * i + j,) for j in range(100)])

    closed: list[str] = []
    emitted = staged(lambda rows: rows.finally_do(lambda: closed.append("closed")), 150).run(0, batches())
    assert pulled == []
    assert next(emitted).num_rows == 150
    assert pulled == [0, 1]
    assert next(emitted).num_rows == 150
    assert pulled == [0, 1, 2, 3]  # a stage that is not an iterator chain requests a few elements ahead
    emitted.close()  # type: ignore[attr-defined]
    assert closed == ["closed"]
    assert pulled == [0, 1, 2, 3]


def test_rows_that_exceed_a_batch_are_sent_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow divides a column of strings that exceeds 2 GiB, such as 3,000 rows with a document of 1 MB."""

    def array(values: Any, kind: Any = None) -> Any:
        made = pyarrow.array(values, kind)
        return pyarrow.chunked_array([made]) if kind == pyarrow.string() and len(made) > 2 else made

    monkeypatch.setattr("pyrs.spark.schema.columns.pyarrow", SimpleNamespace(**{**vars(pyarrow), "array": array}))
    numbers, texts = StructType().add("n", "long"), StructType().add("s", "string")
    encoder, given = RowEncoder(texts), RowEncoder(numbers).batch([(n,) for n in range(7)])
    output = Output(encoder, "UTC", 5)
    emitted = StageTask(
        lambda rows: rows.map(lambda row: (str(row.n),)), False, checked_shape("rows", numbers, "UTC"), output
    )
    batches = [batch.column("s").to_pylist() for batch in emitted.run(0, [given])]
    assert batches == [["0", "1"], ["2"], ["3", "4"], ["5", "6"]]
    with pytest.raises(ValueError, match=r"3 values of type string have more than 2 GiB.*max_rows"):
        encoder.batch([("0",), ("1",), ("2",)])


def test_batches_are_not_prefetched() -> None:
    encoder = staged(None).output.encoder
    pulled: list[int] = []

    def batches() -> Iterator[Any]:
        for i in range(9):
            pulled.append(i)
            yield encoder.batch([(i,)])

    whole = staged(lambda batches: batches.finally_do(lambda: None), as_="arrow")
    emitted = whole.run(0, batches())
    for i in range(3):
        assert next(emitted).to_pydict() == {"n": [i]}
        assert pulled == list(range(i + 1))


def test_a_second_subscription_to_a_partition_fails() -> None:
    encoder = staged(None).output.encoder
    twice = staged(lambda rows: rows.concat(rows)).run(4, [encoder.batch([(1,)])])
    message = r"partition 4: RuntimeError: a partition can be subscribed to once: use publish\(\).ref_count\(n\) for"
    with pytest.raises(ps.PartitionFailed, match=message):
        list(twice)


def test_several_subscribers_of_a_partition_receive_each_row_as_its_error_advises() -> None:
    def split(rows: pyrs.Stream[Any]) -> Any:
        shared = rows.publish().ref_count(2)
        return pyrs.merge(shared.filter(lambda row: row[0] % 2), shared.filter(lambda row: not row[0] % 2))

    task = staged(split, rows=10_000)
    (batch,) = task.run(0, [task.output.encoder.batch([(n,) for n in range(1000)])])
    assert sorted(batch.to_pydict()["n"]) == list(range(1000))


def test_the_exit_of_a_worker_is_the_reason(spark: Any) -> None:
    df = ps.apply(spark.range(0, 1, 1, 1), lambda rows: rows.map(lambda row: os._exit(3)), "n long")
    with pytest.raises(ps.PartitionFailed, match=r"^partition 0: .*Python worker exited unexpectedly"):
        ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)


def test_errors_name_the_partition(spark: Any) -> None:
    def failing(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        def check(row: Any) -> Any:
            if row.id == 25:
                raise ArithmeticError("twenty-five")
            return row

        return rows.map(check)

    df = ps.apply(spark.range(0, 40, 1, 4), failing, "id long")
    with pytest.raises(Exception, match=r"PartitionFailed: partition 2: ArithmeticError: twenty-five"):
        df.collect()
    with pytest.raises(ps.PartitionFailed) as caught:
        ps.from_dataframe(df).collect(timeout=JOB_DEADLINE)
    assert str(caught.value) == "partition 2: ArithmeticError: twenty-five"
    assert caught.value.partition == 2


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_an_exit_in_a_stage_is_an_error_with_its_partition(kind: type[BaseException]) -> None:
    def raises(row: Any) -> Any:
        raise kind("three")

    emitted = staged(lambda rows: rows.map(raises)).run(3, [staged(None).output.encoder.batch([(1,)])])
    with pytest.raises(ps.PartitionFailed, match=rf"^partition 3: {kind.__name__}: three$"):
        list(emitted)


def test_an_error_whose_str_raises_is_named_by_its_type() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def fails(row: Any) -> Any:
        raise Silent

    emitted = staged(lambda rows: rows.map(fails)).run(3, [staged(None).output.encoder.batch([(1,)])])
    with pytest.raises(ps.PartitionFailed, match=r"^partition 3: Silent \(its __str__ raised RuntimeError\)$"):
        list(emitted)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups are part of Python 3.11")
def test_the_reason_of_an_exception_group_has_its_errors() -> None:
    """An asyncio.TaskGroup raises one, and its own message does not say what failed."""

    async def fails(row: Any) -> Any:
        async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined, unused-ignore]
            group.create_task(asyncio.wait_for(asyncio.sleep(100), 0))
            group.create_task(asyncio.sleep(100))

    emitted = staged(lambda rows: rows.concat_map(fails)).run(3, [staged(None).output.encoder.batch([(1,)])])
    reason = r"ExceptionGroup: unhandled errors in a TaskGroup \(1 sub-exception\): TimeoutError:"
    with pytest.raises(ps.PartitionFailed, match=rf"^partition 3: {reason}"):
        list(emitted)


def test_the_traceback_of_a_message_that_utf_8_cannot_encode_is_sent_with_escapes() -> None:
    def fails(row: Any) -> Any:
        raise ValueError("no such file: caf\udce9")  # a name whose bytes are not UTF-8, as os.listdir returns it

    emitted = staged(lambda rows: rows.map(fails)).run(3, [staged(None).output.encoder.batch([(1,)])])
    with pytest.raises(ps.PartitionFailed, match=r"^partition 3: ValueError: no such file: caf\\udce9$") as caught:
        list(emitted)
    assert b"caf\\udce9" in "".join(format_exception(caught.value)).encode()


def test_the_reason_of_a_message_that_begins_with_empty_lines_has_its_text() -> None:
    def fails(row: Any) -> Any:
        raise ValueError("\n\nno such day")

    made = staged(lambda rows: rows.map(fails)).run(3, [staged(None).output.encoder.batch([(1,)])])
    with pytest.raises(ps.PartitionFailed, match=r"^partition 3: ValueError: no such day$"):
        list(made)


def test_the_reason_is_the_first_line_of_a_message_of_several_lines() -> None:
    """Spark's error contains the traceback of the worker, and that of the cause if tracebacks are not simplified."""
    frames = 'Traceback (most recent call last):\n  File "worker.py", line 1, in main\n    run()\n    ^^^^^\n'
    cause = (
        f"{frames}ValidationError: 1 error\nage\n  must be positive\n\nThe above exception was the direct cause of:\n\n"
    )
    error = f"{frames}ValidationError: 1 error\nage\n  must be positive"
    ours = f"{frames}pyrs.spark.read.partitions.PartitionFailed: partition 2: ValidationError: 1 error\nage\n  must be"
    for text, reason in [
        (f"PythonException: {error}", "ValidationError: 1 error"),
        (f"PythonException: {cause}{error}", "ValidationError: 1 error"),
        (f"PythonException: {cause}{ours}", "partition 2: ValidationError: 1 error"),
        (f"PythonException: {ours}", "partition 2: ValidationError: 1 error"),
        ("first\nsecond", "Exception: first"),
    ]:
        assert reason_of(Exception(text)).endswith(reason)
        failed = partition_failed(Exception(text), 2)
        assert str(failed) == f"partition 2: {reason.removeprefix('partition 2: ')}"


@pytest.mark.parametrize("text", ["", " \n", None, "java.io.EOFException"])
def test_a_java_error_without_a_text_has_the_reason_of_the_error_around_it(text: str | None) -> None:
    """A stream whose error has no reason would not fail, and wait forever."""
    cause = SimpleNamespace(toString=lambda: text, getCause=lambda: None)
    error = ValueError("job failed")
    error.java_exception = SimpleNamespace(toString=lambda: "worker exited", getCause=lambda: cause)  # type: ignore[attr-defined]
    assert str(partition_failed(error, 2)) == "partition 2: worker exited"
    error.java_exception = cause  # type: ignore[attr-defined]
    reason = text if text == "java.io.EOFException" else "ValueError: job failed"
    assert str(partition_failed(error, 2)) == f"partition 2: {reason}"


def test_a_misfit_names_the_element_and_field(spark: Any) -> None:
    df = ps.apply(spark.range(0, 4, 1, 2), lambda rows: rows.map(lambda row: (row.id, 7)), "id long, name string")
    with pytest.raises(
        Exception,
        match=r"partition \d: SchemaMisfit: element 0, \(\d, 7\): field 'name' is of type string, but 7 is of type int",
    ):
        df.collect()


def test_a_stage_must_return_a_publisher(spark: Any) -> None:
    with pytest.raises(Exception, match="TypeError: the result of stage must be a Publisher"):
        ps.apply(spark.range(1), lambda rows: 3, "id long").collect()  # type: ignore[arg-type]
    with pytest.raises(Exception, match="TypeError: stage must return a Processor, not int"):
        ps.apply(spark.range(1), lambda: 3, "id long").collect()


def test_limit_ends_an_endless_stage(spark: Any) -> None:
    def endless(rows: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        return rows.flat_map(lambda row: pyrs.generate(lambda: 0, lambda n: (n, n + 1)).map(lambda n: (n,)))

    assert len(ps.apply(spark.range(0, 2, 1, 2), endless, "n int").limit(5).collect()) == 5


def test_wrong_arguments_raise(spark: Any) -> None:
    df = spark.range(1)
    with pytest.raises(TypeError, match="df must be a DataFrame, not list"):
        ps.apply([1], lambda rows: rows, "id long")
    with pytest.raises(TypeError, match="stage must be callable"):
        ps.apply(df, 3, "id long")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stage must take a Stream, or take no argument and return a Processor"):
        ps.apply(df, lambda one, two: one, "id long")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="schema must be a StructType or a string"):
        ps.apply(df, lambda rows: rows, 3)
    with pytest.raises(ValueError, match="as_ must be one of"):
        ps.apply(df, lambda rows: rows, "id long", as_="lists")
    with pytest.raises(ValueError, match="df has no column, so Spark does not send its rows to tasks"):
        ps.apply(df.select(), lambda rows: rows, "id long")
    months = df.selectExpr("id", "array(make_ym_interval(1, 2)) as term")
    with pytest.raises(TypeError, match=r"'term' is of type array<interval year to month>, which pyarrow cannot read"):
        ps.apply(months, lambda rows: rows, "id long")


def test_naive_times_in_rows_are_local(spark: Any) -> None:
    at = datetime.datetime(2020, 2, 3, 4, 5, 6, 7)
    df = spark.createDataFrame([(at,)], "at timestamp")
    assert ps.apply(df, lambda rows: rows, "at timestamp").collect() == [(at,)]
