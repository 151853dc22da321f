"""Arrow as Spark uses it: the schemas, the batches, and their decoding."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from inspect import signature
from itertools import islice, pairwise, repeat
from typing import Any, NamedTuple

import pyarrow
from pyspark.sql import Row
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.pandas.utils import require_minimum_pandas_version

from pyrs.spark.schema.zones import naive

_SCHEMA_OPTIONS = frozenset(signature(to_arrow_schema).parameters)
VARIANT: Any = getattr(spark_types, "VariantType", ())
SPATIAL: dict[Any, Any] = {
    getattr(spark_types, f"{name}Type"): getattr(spark_types, name)
    for name in ("Geometry", "Geography")
    if hasattr(spark_types, f"{name}Type") and hasattr(spark_types, name)
}

_EXPRESSION = re.compile(r"[.`*]")
"""The characters that make Spark parse the name of a column as an expression."""

ROW_SHAPES = ("rows", "tuples", "dicts")
SHAPES = (*ROW_SHAPES, "arrow", "pandas")


class Shape(NamedTuple):
    """The type of the elements that a batch is decoded into.

    Attributes:
        name: one of ``SHAPES``.
        of_batch: returns an iterator over the elements of a batch, and their number.
        whole: joins the elements of all batches in one value; for ``pandas``, joins the batches themselves. The second
            argument is the schema of the batches.
    """

    name: str
    of_batch: Callable[[Any], tuple[Iterator[Any], int]]
    whole: Callable[[list[Any], pyarrow.Schema], Any]


class Encoding(NamedTuple):
    """The Arrow encoding of a DataFrame.

    Attributes:
        schema: the schema of the batches.
        large: whether strings and binaries have Arrow's large types.
    """

    schema: pyarrow.Schema
    large: bool


def checked_shape(as_: str, schema: Any, zone: str) -> Shape:
    """Return the shape ``as_`` for a Spark schema; pandas shows times in the zone."""
    if not isinstance(as_, str):
        raise TypeError(f"as_ must be a string, not {type(as_).__name__}")
    names = tuple(schema.names)
    if as_ == "arrow":
        return Shape(as_, _one, _table)
    if as_ == "pandas":
        require_minimum_pandas_version()
        return Shape(as_, partial(_frame, zone=zone), partial(_joined, zone=zone))
    if as_ in ROW_SHAPES:
        if as_ == "dicts" and len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"as_='dicts' needs distinct names: df has more than one column {twice!r}")
        return Shape(as_, partial(_elements, schema=schema, as_=as_), _listed)
    raise ValueError(f"as_ must be one of {', '.join(map(repr, SHAPES))}, not {as_!r}")


def arrow_schema(schema: Any, large: bool) -> pyarrow.Schema:
    """Return Spark's Arrow schema for a Spark schema, with times in UTC."""
    # Up to Spark 4.1 there is no timezone parameter, and 3.5 has no large types.
    wanted = {"timezone": "UTC", "prefers_large_types": large}
    options = {name: wish for name, wish in wanted.items() if name in _SCHEMA_OPTIONS}
    fields = []
    for field in schema:
        only = spark_types.StructType([field])
        try:
            if rebuilt(field.dataType, _with_distinct_names) != field.dataType:
                raise ValueError("a struct has two fields with the same name, which Spark rejects only in a task")
            fields += to_arrow_schema(only, **options)
        except Exception as error:
            raise TypeError(
                f"column {field.name!r} is of type {field.dataType.simpleString()}, which Arrow cannot carry: "
                "cast it, or leave it out"
            ) from error
    schema = pyarrow.schema(fields)
    return pyarrow.schema(map(_enlarged, schema)) if large and "prefers_large_types" in _SCHEMA_OPTIONS else schema


def _enlarged(field: pyarrow.Field) -> pyarrow.Field:
    """Return the field with the large types of strings and binaries, on every level.

    PySpark leaves out the binaries of variants and of spatial values, which the JVM encodes with large types, too.
    """
    kind = field.type
    if pyarrow.types.is_binary(kind):
        kind = pyarrow.large_binary()
    elif pyarrow.types.is_struct(kind):
        kind = pyarrow.struct(map(_enlarged, kind))
    elif pyarrow.types.is_map(kind):
        kind = pyarrow.map_(_enlarged(kind.key_field), _enlarged(kind.item_field))
    elif pyarrow.types.is_list(kind):
        kind = pyarrow.list_(_enlarged(kind.value_field))
    return field.with_type(kind)


def rebuilt(kind: Any, change: Callable[[Any], Any]) -> Any:
    """Return a Spark type, changed by a function on every level, the innermost first."""
    if isinstance(kind, spark_types.StructType):
        fields = [(field.name, rebuilt(field.dataType, change), field.nullable, field.metadata) for field in kind]
        kind = spark_types.StructType([spark_types.StructField(*field) for field in fields])
    elif isinstance(kind, spark_types.ArrayType):
        kind = spark_types.ArrayType(rebuilt(kind.elementType, change), kind.containsNull)
    elif isinstance(kind, spark_types.MapType):
        key, value = rebuilt(kind.keyType, change), rebuilt(kind.valueType, change)
        kind = spark_types.MapType(key, value, kind.valueContainsNull)
    return change(kind)


def _with_distinct_names(kind: Any) -> Any:
    """Number the fields of a struct in which two have the same name."""
    if not isinstance(kind, spark_types.StructType) or len(set(kind.names)) == len(kind.names):
        return kind
    fields = [(f"_{i}", field.dataType, field.nullable, field.metadata) for i, field in enumerate(kind)]
    return spark_types.StructType([spark_types.StructField(*field) for field in fields])


def distinct_fields(df: Any) -> Any:
    """Return the DataFrame with distinct field names in each struct.

    The names change only if a struct has two fields with the same name. Spark does not encode such a struct.
    """
    kinds = [rebuilt(field.dataType, _with_distinct_names) for field in df.schema]
    if all(kind == field.dataType for kind, field in zip(kinds, df.schema, strict=True)):
        return df
    plain = numbered(df)  # columns may have the same name, too
    return plain.select([plain[f"_{i}"].cast(kind).alias(f"_{i}") for i, kind in enumerate(kinds)])


def for_map_in_arrow(df: Any, shape: Shape) -> tuple[Any, Shape]:
    """Return a DataFrame for ``mapInArrow``, and the shape of its batches.

    ``mapInArrow`` takes the name of each column as an expression: it fails for two columns with the same name, and for
    a column ``a.b`` it takes the field ``b`` of a column ``a``. The columns of such a DataFrame are renamed to ``_0``,
    ``_1`` and so on.
    """
    names = tuple(df.columns)
    if len({name.lower() for name in names}) == len(names) and not any(map(_EXPRESSION.search, names)):
        return df, shape
    return numbered(df), shape._replace(of_batch=partial(_of_renamed, of_batch=shape.of_batch, names=names))


def numbered(df: Any) -> Any:
    """Return the DataFrame with numbers as the names of its columns."""
    return df.toDF(*(f"_{i}" for i in range(len(df.columns))))


def renamed(batch: Any, names: Sequence[str]) -> Any:
    """Return a batch with other names of its columns."""
    fields = [field.with_name(name) for field, name in zip(batch.schema, names, strict=True)]
    return pyarrow.RecordBatch.from_arrays(batch.columns, schema=pyarrow.schema(fields))


def _of_renamed(batch: Any, of_batch: Callable[[Any], tuple[Iterator[Any], int]], names: Sequence[str]) -> Any:
    return of_batch(renamed(batch, names))


def shape_and_encoding(df: Any, as_: str) -> tuple[Shape, Encoding]:
    """Return the shape and the encoding of a DataFrame of a live session.

    Both follow the present settings of the session.

    Raises:
        TypeError, ValueError, ImportError: see ``checked_shape`` and ``arrow_schema``.
    """
    spark, distinct = df.sparkSession, distinct_fields(df)
    shape = checked_shape(as_, df.schema, session_zone(spark))
    if distinct is not df and as_ not in ("rows", "tuples"):
        raise ValueError(
            f"as_ must be 'rows' or 'tuples', not {as_!r}: a struct of df has two fields with the same name"
        )
    large = prefers_large(spark)
    return shape, Encoding(arrow_schema(distinct.schema, large), large)


def size_of(data: Any) -> int:
    """Return the size in bytes of the whole buffers of a batch, table or slice.

    ``nbytes`` would crash: it reads the first offset of each list column, and an empty column of Spark 4.0 has none.
    """
    return data.get_total_buffer_size()  # type: ignore[no-any-return]


def session_zone(spark: Any) -> str:
    """Return the time zone of a session, in which pandas shows times."""
    zone: str = spark.conf.get("spark.sql.session.timeZone")
    return zone


def prefers_large(spark: Any) -> bool:
    """Return whether a session encodes strings and binaries with Arrow's large types."""
    return bool(spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false").lower() == "true")


def _one(batch: Any) -> tuple[Iterator[Any], int]:
    return iter((batch,)), 1


def _elements(batch: Any, schema: Any, as_: str) -> tuple[Iterator[Any], int]:
    columns = [_converted(batch.column(i), field, as_) for i, field in enumerate(schema)]
    count = batch.num_rows
    plain: Iterator[tuple[Any, ...]] = zip(*columns, strict=True) if columns else repeat((), count)
    return (plain if as_ == "tuples" else _structs(tuple(schema.names), plain, as_)), count


def _converted(column: Any, field: Any, as_: str) -> list[Any]:
    """Return the Python values of a column of a batch.

    Raises:
        ValueError: Python cannot represent a value, such as a date after the year 9999, or a user-defined type raised.
    """
    try:
        return _values(column, field.dataType, as_)
    except Exception as error:
        raise _without_form(field.name, field.dataType.simpleString(), error) from error


def _without_form(name: str, kind: str, error: Exception) -> ValueError:
    what = f"column {name!r} of type {kind} has a value without a Python form"
    return ValueError(f"{what} ({type(error).__name__}: {error}): cast it, or read it with as_='arrow'")


def _structs(names: tuple[str, ...], plain: Iterator[tuple[Any, ...]], as_: str) -> Iterator[Any]:
    """Return structs as dicts or as Rows.

    A struct in a tuple is a Row, as in Spark's own rows.
    """
    if as_ == "dicts":
        return map(dict, map(zip, repeat(names), plain))
    return map(tuple.__new__, repeat(row_class(names)), plain)


@lru_cache(maxsize=256)
def row_class(names: tuple[str, ...]) -> Any:
    """Return a subclass of Row with these fields.

    C code creates its instances, six times as fast as Python code creates a Row. They are pickled as Row.
    """
    return type("Row", (Row,), {"__fields__": list(names), "__slots__": (), "__module__": Row.__module__})


def _values(column: Any, kind: Any, as_: str) -> list[Any]:
    """Return the Python values of a column, equal to those of ``collect``."""
    if _is_plain(kind):
        return column.to_pylist()  # type: ignore[no-any-return]
    if isinstance(kind, spark_types.TimestampType):
        # Naive, in the local time of the process, as in Spark's own rows.
        return [None if n is None else kind.fromInternal(n) for n in column.cast("int64").to_pylist()]
    if isinstance(kind, spark_types.StructType):
        fields = [_values(child, field.dataType, as_) for child, field in zip(column.flatten(), kind, strict=True)]
        plain: Iterator[tuple[Any, ...]] = zip(*fields, strict=True) if fields else repeat((), len(column))
        return _with_nulls(column, list(_structs(tuple(kind.names), plain, as_)))
    if isinstance(kind, spark_types.MapType):
        # A dict cannot be a key of a dict, so structs in keys are always Rows.
        keys = _values(column.keys, kind.keyType, "rows" if as_ == "dicts" else as_)
        values = _values(column.items, kind.valueType, as_)
        ends = column.offsets.to_pylist()
        return _with_nulls(column, [dict(zip(keys[i:j], values[i:j], strict=True)) for i, j in pairwise(ends)])
    if isinstance(kind, spark_types.ArrayType):
        flat = iter(_values(column.flatten(), kind.elementType, as_))
        return [None if n is None else list(islice(flat, n)) for n in column.value_lengths().to_pylist()]
    if isinstance(kind, spark_types.UserDefinedType):
        stored = _values(column, kind.sqlType(), "rows")
        return [None if value is None else kind.deserialize(value) for value in stored]
    spatial = SPATIAL.get(type(kind))
    if spatial is not None:
        stored = column.to_pylist()
        return [None if value is None else spatial.fromWKB(value["wkb"], value["srid"]) for value in stored]
    # The remaining type is a variant: a struct of two binaries.
    parts = zip(*(child.to_pylist() for child in column.flatten()), strict=True)
    return _with_nulls(
        column, [None if value is None else spark_types.VariantVal(value, data) for value, data in parts]
    )


def _with_nulls(column: Any, values: list[Any]) -> list[Any]:
    if not column.null_count:
        return values
    return [value if valid else None for value, valid in zip(values, column.is_valid().to_pylist(), strict=True)]


def _is_plain(kind: Any) -> bool:
    """Return whether pyarrow and Spark return equal Python values for this type."""
    if isinstance(kind, spark_types.ArrayType):
        return _is_plain(kind.elementType)
    composed = (spark_types.StructType, spark_types.MapType, spark_types.UserDefinedType)
    return not isinstance(kind, (*composed, spark_types.TimestampType, VARIANT, *SPATIAL))


def _frame(batch: Any, zone: str) -> tuple[Iterator[Any], int]:
    return iter((_pandas_of(batch, zone, frozenset()),)), 1


def _pandas_of(batch: Any, zone: str, exact: Collection[int]) -> Any:
    """Return a batch as pandas, without doubles for integers in the columns ``exact``."""
    if any(map(_has_empty_lists, batch.columns)):
        # Spark 3.5 and 4.0 send no offsets for them, without which the conversion of nested lists would crash.
        batch = batch.take(pyarrow.array(range(batch.num_rows), pyarrow.int64()))
    batch = naive(batch, zone)
    try:
        frame = batch.to_pandas(date_as_object=True)
    except Exception:
        for field, column in zip(batch.schema, batch.columns, strict=True):
            try:
                column.to_pandas(date_as_object=True)
            except Exception as error:  # such as a date after the year 9999
                raise _without_form(field.name, str(field.type), error) from error
        raise
    for i, column in enumerate(batch.columns):
        if i in exact or _changes_integers(column):
            frame.isetitem(i, column.to_pandas(date_as_object=True, integer_object_nulls=True))
    return frame


def _has_empty_lists(column: Any) -> bool:
    """Return whether a list array or map array in a column is empty."""
    kind = column.type
    if pyarrow.types.is_struct(kind):
        return any(_has_empty_lists(column.field(i)) for i in range(kind.num_fields))
    if pyarrow.types.is_map(kind):
        return not len(column) or _has_empty_lists(column.keys) or _has_empty_lists(column.items)
    return pyarrow.types.is_list(kind) and (not len(column) or _has_empty_lists(column.values))


def _changes_integers(column: Any) -> bool:
    """Return whether pandas would change an integer of the column.

    pandas has doubles for integers with nulls, also within lists.
    """
    if not _has_int64(column.type):
        return False
    if pyarrow.types.is_int64(column.type):
        return bool(column.null_count) and not _fits_double(column)
    parts = (column.keys, column.items) if pyarrow.types.is_map(column.type) else column.flatten()
    return any(map(_changes_integers, parts if isinstance(parts, (tuple, list)) else (parts,)))


def _has_int64(kind: pyarrow.DataType) -> bool:
    return pyarrow.types.is_int64(kind) or any(_has_int64(kind.field(i).type) for i in range(kind.num_fields))


def _fits_double(column: Any) -> bool:
    """Return whether all integers are exact as doubles."""
    try:
        column.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return False
    return True


def _listed(elements: list[Any], schema: pyarrow.Schema) -> list[Any]:
    return elements


def _table(batches: list[Any], schema: pyarrow.Schema) -> Any:
    return pyarrow.Table.from_batches(batches, None if batches else schema)


def _joined(batches: list[Any], schema: pyarrow.Schema, zone: str) -> Any:
    """Return one pandas.DataFrame of all batches.

    A batch of small integers and nulls has doubles, and pandas would convert the integers of other batches to doubles.
    """
    import pandas

    if not batches:
        batches = [pyarrow.RecordBatch.from_arrays([pyarrow.array([], field.type) for field in schema], schema=schema)]
    table = _table(batches, schema)
    integers = [i for i, field in enumerate(table.schema) if pyarrow.types.is_int64(field.type)]
    exact = {i for i in integers if _changes_integers(table.column(i))}
    frames = [_pandas_of(batch, zone, exact) for batch in batches]
    return frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
