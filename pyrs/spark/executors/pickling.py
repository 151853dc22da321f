"""Pickle values for tasks.

A ``Metrics`` within a value returns its counts to the driver.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from pickle import Unpickler, loads
from types import CodeType
from typing import Any

from pyspark import cloudpickle
from pyspark.accumulators import AccumulatorParam

from pyrs.operators.metrics import Metrics
from pyrs.spark.sessions import is_connect


def packed(value: Any, function: Any, parameter: str, spark: Any) -> bytes:
    """Return a value as bytes for the executors.

    The bytes contain an accumulator for each ``Metrics`` in the value.

    Args:
        value: the value to pickle.
        function: the user's function within the value.
        parameter: the name of the parameter to which the user passed the function.
        spark: the session.

    Raises:
        TypeError: the value cannot be pickled, or has a ``Metrics`` and the session is one of Spark Connect. The
            message names the variable that cannot be pickled.
    """
    file = BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(value)
    except Exception as error:
        raise TypeError(_why_not_pickled(function, parameter, "the executors", error)) from error
    if pickler.metrics and is_connect(spark):
        raise TypeError(f"{parameter} has a Metrics, whose counts cannot return to a client of Spark Connect")
    counts = [(each.name, spark.sparkContext.accumulator({}, _Counts(each))) for each in pickler.metrics]
    data: bytes = cloudpickle.dumps((file.getvalue(), counts))
    return data


def unpacked(data: bytes, use: Callable[[Any], Iterator[Any]]) -> Generator[Any, None, None]:
    """Unpickle a value in a task, yield from ``use(value)``, then report the counts."""
    pickled, counts = loads(data)
    unpickler = _Unpickler(BytesIO(pickled))
    unpickler.metrics = [Metrics(name) for name, _ in counts]
    try:
        yield from use(unpickler.load())
    finally:
        for metrics, (_, accumulator) in zip(unpickler.metrics, counts, strict=True):
            accumulator.add(metrics._counts)


def pickled(function: Any, parameter: str, receiver: str) -> bytes:
    """Return a function as bytes for a process that runs it."""
    try:
        data: bytes = cloudpickle.dumps(function)
    except Exception as error:
        raise TypeError(_why_not_pickled(function, parameter, receiver, error)) from error
    return data


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self.metrics: list[Metrics] = []

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, Metrics):
            return None
        if value not in self.metrics:
            self.metrics.append(value)
        return self.metrics.index(value)


class _Unpickler(Unpickler):
    metrics: list[Metrics]

    def persistent_load(self, number: int) -> Metrics:
        return self.metrics[number]


class _Counts(AccumulatorParam[Any]):  # type: ignore[misc]
    """Adds the counts of tasks; in the driver, also to the user's ``Metrics``."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics

    def __reduce__(self) -> tuple[Any, ...]:
        return _Counts, ()

    def zero(self, value: Any) -> dict[str, int]:
        return {}

    def addInPlace(self, value1: Any, value2: Any) -> dict[str, int]:  # noqa: N802 - the name of Spark's method
        for name, count in value2.items():
            value1[name] = value1.get(name, 0) + count
            if self._metrics is not None and count:
                self._metrics._add(name, count)
        return value1  # type: ignore[no-any-return]


def _why_not_pickled(function: Any, parameter: str, receiver: str, error: Exception) -> str:
    """Return a message that names the variables of a function that cannot be pickled."""
    inner = inspect.unwrap(function)
    captured: dict[str, Any] = {}
    if isinstance(inner, partial):
        with suppress(ValueError):  # a builtin without a signature
            captured |= inspect.signature(inner.func).bind_partial(*inner.args, **inner.keywords).arguments
        inner = inspect.unwrap(inner.func)
    if inspect.ismethod(inner):
        captured["self"] = inner.__self__
        inner = inner.__func__
    if inspect.isfunction(inner):
        captured |= {name: inner.__globals__[name] for name in _names(inner.__code__) if name in inner.__globals__}
        captured |= inspect.getclosurevars(inner).nonlocals
        parameters = inspect.signature(inner).parameters.values()
        captured = {each.name: each.default for each in parameters if each.default is not each.empty} | captured
    refused = []
    for name, value in captured.items():
        try:
            _Pickler(BytesIO()).dump(value)
        except Exception:
            refused.append(f"{name!r}, a {type(value).__name__}")
    what = f"it captures {' and '.join(refused)}" if refused else "it, or a value that it captures, cannot be pickled"
    return (
        f"{parameter} cannot be sent to {receiver}: {what} ({error}). Create such objects inside the function, or "
        "pass plain values"
    )


def _names(code: CodeType) -> set[str]:
    """Return the global and attribute names in a function and its inner functions."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))
