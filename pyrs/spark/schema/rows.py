"""Encode stream elements as Arrow batches of a Spark schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow
from pyspark.sql import types as spark_types

from pyrs._core.display import listed
from pyrs.errors import PyrsError
from pyrs.spark.schema.arrow import arrow_schema
from pyrs.spark.schema.casting import cast
from pyrs.spark.schema.columns import Misfit, columns, in_line, named

_LENGTHS = re.compile(r"\b(?:var)?char\(\d+\)")


class SchemaMisfit(PyrsError, TypeError):
    """An element does not fit the schema of its row.

    Attributes:
        element: the number of the element, counted from 0.
        field: the path of the field: in structs ``outer.inner``, in lists ``field.element``, in maps ``field.key`` and
            ``field.value``. Empty if the element as a whole does not fit.
    """

    def __init__(self, element: int, field: str, message: str) -> None:
        super().__init__(element, field, message)
        self.element = element
        self.field = field

    def __str__(self) -> str:
        return f"element {self.element}, {self.args[2]}"


def checked_schema(spark: Any, schema: Any) -> Any:
    """Return the ``StructType`` of a schema, which may be text: ``"id long"``.

    Raises:
        TypeError: the schema is neither a ``StructType`` nor text, or a column has a type that Arrow cannot carry, or
            is of type ``char`` or ``varchar``.
        ValueError: the schema has no column, or two columns with the same name. Case matters if
            ``spark.sql.caseSensitive`` is true.
        pyspark.errors.ParseException: the text is not a schema.
    """
    if isinstance(schema, str):
        parsed = spark_types._parse_datatype_string(schema)
        schema = parsed if isinstance(parsed, spark_types.StructType) else spark_types.StructType().add("value", parsed)
    if not isinstance(schema, spark_types.StructType):
        raise TypeError(f"schema must be a StructType or a string, not {type(schema).__name__}")
    names = schema.names
    if not names:
        raise ValueError("schema must have a column")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"schema must have distinct names, but has more than one column {repeated!r}")
    folded = {name.lower(): name for name in names}
    if len(folded) < len(names) and spark.conf.get("spark.sql.caseSensitive", "false").lower() != "true":
        one = next(name for name in names if folded[name.lower()] != name)
        raise ValueError(
            f"schema must have distinct names, but {one!r} and {folded[one.lower()]!r} are the same name "
            "for Spark, because spark.sql.caseSensitive is false"
        )
    for field in schema:
        text = field.dataType.simpleString()
        if _LENGTHS.search(text):
            raise TypeError(f"column {field.name!r} is of type {text}, which only table columns can have: use string")
    arrow_schema(schema, False)
    return schema


class RowEncoder:
    """Encodes rows as Arrow batches.

    A row is a ``Row``, a tuple or list with the values in the order of the schema, or a mapping by name. A ``Row`` or a
    named tuple with another order of names is matched by name. A missing name is null; an unknown name is an error, and
    so is a value of another type: nothing is truncated or parsed, and numbers are rounded in ``float`` columns only.
    Naive times are in the local time of the process, as in Spark's own rows; their ``fold`` selects one of two
    occurrences.

    Args:
        large: whether the session has ``spark.sql.execution.arrow.useLargeVarTypes``.

    Attributes:
        schema: the Spark schema.
        arrow: the Arrow schema of the batches.

    Examples:
        >>> from pyspark.sql.types import LongType, StructType
        >>> RowEncoder(StructType().add("id", LongType())).batch([(1,), {"id": 2}]).to_pydict()
        {'id': [1, 2]}
    """

    def __init__(self, schema: Any, large: bool = False) -> None:
        self.schema = schema
        self.arrow = arrow_schema(schema, large)

    def batch(self, elements: Iterable[Any], first: int = 0) -> pyarrow.RecordBatch:
        """Encode rows as one batch.

        Without rows the batch is empty. ``first`` is the number of the first row, for error messages.

        Raises:
            SchemaMisfit: a row does not fit. The message names the element, the field and both types.
        """
        rows = list(elements)
        try:
            arrays = columns(rows, self.schema, self.arrow)
        except Misfit as misfit:
            field = ".".join(misfit.path)
            message = f"field {field!r} {misfit.message}" if field else misfit.message
            text = f"{in_line(rows[misfit.index])}: {message}"
            raise SchemaMisfit(first + misfit.index, field, text) from misfit.__cause__
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self.arrow)

    def fitted(self, batch: Any, number: int = 0) -> pyarrow.RecordBatch:
        """Return a batch with the columns of the schema.

        Columns are matched by name, and cast if that is lossless; other columns are left out. The fields of structs are
        matched in the same way, but a struct must not have other fields.

        ``number`` is the number of the batch, for error messages.

        Raises:
            SchemaMisfit: ``batch`` is not a RecordBatch, or a column is missing, has a wrong type, or is null where
                nulls are not allowed.
        """
        if not isinstance(batch, pyarrow.RecordBatch):
            raise SchemaMisfit(number, "", f"{in_line(batch)}: must be a RecordBatch, not {type(batch).__name__}")
        fitted = []
        names = batch.schema.names
        counts, by_name = Counter(names), dict(zip(names, batch.columns, strict=True))
        for field, into in zip(self.schema, self.arrow, strict=True):
            if counts[field.name] != 1:
                where = f"a batch: field {field.name!r} is of type {field.dataType.simpleString()}"
                message = f"{where}, but the batch has the columns {listed(names)}"
                raise SchemaMisfit(number, field.name, message)
            try:
                fitted.append(named(field.name, cast, by_name[field.name], field.dataType, field.nullable, into.type))
            except Misfit as misfit:
                path = ".".join(misfit.path)
                raise SchemaMisfit(number, path, f"a batch: field {path!r} {misfit.message}") from misfit.__cause__
        return pyarrow.RecordBatch.from_arrays(fitted, schema=self.arrow)
