"""The fixtures of the end-to-end tests: one bridge, over either gateway.

The tests run in two processes. The one without faulthandler uses a JVM that JPype starts in the process. The other one
uses the Py4J gateway of a Spark driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyrs import jvm
from tests.interop.harness import DEADLINE, Java, JPypeJava, Py4JJava, compile_helpers, library_jars, spark_driver


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "carrier" in metafunc.fixturenames:
        in_process = not metafunc.config.pluginmanager.hasplugin("faulthandler")
        on_request = not in_process and metafunc.definition.get_closest_marker("one_gateway")
        py4j = pytest.param("py4j", marks=pytest.mark.campaign) if on_request else "py4j"
        metafunc.parametrize("carrier", ["jpype" if in_process else py4j], scope="session")


@pytest.fixture(scope="session")
def interop_jars(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [compile_helpers(tmp_path_factory.mktemp("interop")), *library_jars()]


@pytest.fixture(scope="session")
def machine(carrier: str, interop_jars: list[Path]) -> Iterator[tuple[Callable[..., jvm.Bridge], Java]]:
    """Yield a function that opens a bridge to the JVM, and an object that calls Java without the bridge."""
    if carrier == "jpype":
        with jvm.launch(classpath=interop_jars):
            yield jvm.launch, JPypeJava()
        return
    with spark_driver(interop_jars) as spark:
        yield partial(jvm.connect, spark), Py4JJava(spark.sparkContext._gateway)


@pytest.fixture(scope="session")
def connected(machine: tuple[Callable[..., jvm.Bridge], Java]) -> Iterator[tuple[jvm.Bridge, Java]]:
    connect, java = machine
    with connect() as bridge:
        # subscribe() to a hot Publisher waits some seconds for Java; a slow machine needs more.
        bridge._session._confirm_seconds = DEADLINE
        yield bridge, java


@pytest.fixture
def bridge(connected: tuple[jvm.Bridge, Java]) -> jvm.Bridge:
    assert not connected[0].closed, "an earlier test closed the link"
    return connected[0]


@pytest.fixture
def java(connected: tuple[jvm.Bridge, Java]) -> Java:
    return connected[1]


@pytest.fixture
def recorder(java: Java) -> Any:
    """A Java Subscriber of both families with unbounded demand."""
    return java.new("interop.Recorder", 2**63 - 1)
