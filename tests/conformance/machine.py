"""The JVM of a worker process, for the entries that need one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pyrs.jvm import Bridge
from tests.interop.harness import Java

__all__ = ["Machine", "machine", "opened", "over_jpype", "over_py4j"]


class Machine(NamedTuple):
    """A bridge, and direct access to Java without it."""

    bridge: Bridge
    java: Java


_machine: Machine | None = None


def machine() -> Machine:
    """Return the JVM that this process has opened."""
    assert _machine is not None, "this entry needs a JVM"
    return _machine


@contextmanager
def over_jpype() -> Iterator[None]:
    """Open a JVM in this process, which must not use faulthandler."""
    from pyrs import jvm
    from tests.interop.harness import JPypeJava

    with _jars() as jars, jvm.launch(classpath=jars) as bridge, opened(bridge, JPypeJava()):
        yield


@contextmanager
def over_py4j() -> Iterator[Any]:
    """Open the JVM of a Spark driver, and yield the session."""
    from pyrs import jvm
    from tests.interop.harness import Py4JJava, spark_driver

    with (
        _jars() as jars,
        spark_driver(jars) as spark,
        jvm.connect(spark) as bridge,
        opened(bridge, Py4JJava(spark.sparkContext._gateway)),
    ):
        yield spark


@contextmanager
def opened(bridge: Bridge, java: Java) -> Iterator[None]:
    """Provide a machine to the entries that are verified inside the context."""
    global _machine
    _machine = Machine(bridge, java)
    try:
        yield
    finally:
        _machine = None


@contextmanager
def _jars() -> Iterator[list[Path]]:
    from tests.interop.harness import compile_helpers, library_jars

    with tempfile.TemporaryDirectory(prefix="pyrs-conformance-") as folder:
        yield [compile_helpers(Path(folder)), *library_jars()]
