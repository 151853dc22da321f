"""One JVM for all tests: JPype's in this process if faulthandler is disabled, a Spark driver's otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from pyrs.tck import Family, JavaReferee
from tests.interop.harness import spark_driver


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plugins = metafunc.config.pluginmanager  # the interop fixtures do the same if they are registered
    if "carrier" in metafunc.fixturenames and not plugins.hasplugin("tests.interop.fixtures"):
        in_process = not plugins.hasplugin("faulthandler")
        metafunc.parametrize("carrier", ["jpype" if in_process else "py4j"], scope="session")


@pytest.fixture(scope="session")
def referees(carrier: str) -> Iterator[Callable[[Family], JavaReferee]]:
    if carrier == "jpype":
        yield cache(lambda family: JavaReferee(family=family))
        return
    with spark_driver([]) as spark:
        yield cache(lambda family: JavaReferee(spark, family))


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that judge several tests at a time in one JVM, because a test mostly waits."""
    with ThreadPoolExecutor(6, "judging") as pool:
        yield pool


@pytest.fixture
def referee(referees: Callable[[Family], JavaReferee]) -> Any:
    return referees(Family.REACTIVE_STREAMS)
