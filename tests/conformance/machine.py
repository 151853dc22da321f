"""The JVM that a process has, for entries that need one."""

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
    """A bridge, and how to call Java beside it."""

    bridge: Bridge
    java: Java


_machine: Machine | None = None


def machine() -> Machine:
    """Return the one that this process has opened."""
    assert _machine is not None, "this entry is judged over a JVM"
    return _machine


@contextmanager
def over_jpype() -> Iterator[None]:
    """A JVM in this process, which must not use faulthandler."""
    from pyrs import jvm
    from tests.interop.harness import JPypeJava

    with _jars() as jars, jvm.launch(classpath=jars) as bridge, opened(bridge, JPypeJava()):
        yield


@contextmanager
def over_py4j() -> Iterator[Any]:
    """The JVM of a Spark driver; gives the session."""
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
    """What is judged inside of this has this one."""
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
