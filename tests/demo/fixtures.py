"""The fixtures of the tests that run Spark programs, shared by tests/demo and tests/project."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.demo.driver import Driver, OwnDriver, SharedDriver
from tests.interop.harness import library_jars


@pytest.fixture(scope="session")
def _shared_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedDriver]:
    driver = SharedDriver(library_jars(), tmp_path_factory.mktemp("driver"))
    yield driver
    driver.close()


@pytest.fixture(params=["shared", pytest.param("own", marks=pytest.mark.campaign)])
def driver(request: pytest.FixtureRequest) -> Driver:
    """Return a driver with the jars of tests/interop, shared by all programs; in campaigns also a new one for each."""
    shared: Driver = request.getfixturevalue("_shared_driver") if request.param == "shared" else OwnDriver()
    return shared
