"""Define the routes: how a TCK verifies an entry, and over which gateway.

The TCK is the Python port or the official one, which runs over each gateway and each family of interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from pyrs.tck import Report, verify
from pyrs.tck.verification import Verification

__all__ = [
    "IN_SPARK",
    "JAVA_OF_MIRRORS",
    "JAVA_ROUTES",
    "LONGEST_FIRST",
    "PYTHON",
    "PYTHON_OVER",
    "ROUTES",
    "SLOTS",
    "Route",
    "Verify",
]

Verify = Callable[[type[Verification]], Report]

SLOTS = 28
"""The maximum sum of the slots of routes that run at the same time. A verification mostly waits: two cores suffice."""


class Route(NamedTuple):
    """A way to verify entries: a TCK, and the JVM that it needs, if any.

    Attributes:
        key: the name on the command line.
        title: the column of the table.
        opens: creates a context manager. Its value is the function that runs the TCK.
        processes: the number of worker processes that run at the same time.
        weight: the CPU time that one process of the route needs, relative to a process of the Python port.
    """

    key: str
    title: str
    opens: Callable[[], Any]
    processes: int
    weight: int = 1

    @property
    def slots(self) -> int:
        """The part of ``SLOTS`` that the route occupies."""
        return self.processes * self.weight


@contextmanager
def _port() -> Iterator[Verify]:
    yield verify


@contextmanager
def _port_over_jpype() -> Iterator[Verify]:
    from tests.conformance.machine import over_jpype

    with over_jpype():
        yield verify


@contextmanager
def _port_over_py4j() -> Iterator[Verify]:
    from tests.conformance.machine import over_py4j

    with over_py4j():
        yield verify


def _tck(family: str, *, in_spark: bool) -> Callable[[], Any]:
    @contextmanager
    def opens() -> Iterator[Verify]:
        from pyrs.tck._java import Family, JavaReferee
        from tests.interop.harness import spark_driver

        with ExitStack() as stack:
            jvm = stack.enter_context(spark_driver([])) if in_spark else None
            yield JavaReferee(jvm, Family(family)).verify

    return opens


def _tck_of_mirrors(family: str, *, in_spark: bool) -> Callable[[], Any]:
    @contextmanager
    def opens() -> Iterator[Verify]:
        from pyrs.tck import Family
        from tests.conformance.machine import over_jpype, over_py4j
        from tests.conformance.mirrors import MirrorReferee

        with over_py4j() if in_spark else over_jpype() as jvm:
            yield MirrorReferee(jvm, Family(family)).verify

    return opens


PYTHON = Route("python", "Python port", _port, 10)
JAVA_ROUTES = (
    Route("jpype-rs", "Official TCK, JPype, org.reactivestreams", _tck("reactive-streams", in_spark=False), 20),
    Route("jpype-flow", "Official TCK, JPype, Flow", _tck("flow", in_spark=False), 8),
    Route("py4j-rs", "Official TCK, Spark's Py4J, org.reactivestreams", _tck("reactive-streams", in_spark=True), 2, 3),
    Route("py4j-flow", "Official TCK, Spark's Py4J, Flow", _tck("flow", in_spark=True), 2, 3),
)
PYTHON_OVER = (
    Route("python-jpype", "Python port, JPype", _port_over_jpype, 6),
    Route("python-py4j", "Python port, Spark's Py4J", _port_over_py4j, 3, 3),
)


@contextmanager
def _port_in_spark() -> Iterator[Verify]:
    from tests.conformance.spark_streams import over_spark

    with over_spark():
        yield verify


@contextmanager
def _tck_in_spark() -> Iterator[Verify]:
    from pyrs.tck import JavaReferee
    from tests.conformance.spark_streams import over_spark

    with over_spark() as session:
        yield JavaReferee(session).verify


IN_SPARK = (
    Route("spark-python", PYTHON.title, _port_in_spark, 1, 6),
    Route("spark-py4j-rs", JAVA_ROUTES[2].title, _tck_in_spark, 1, 6),
)
JAVA_OF_MIRRORS = (
    Route("mirror-jpype-rs", JAVA_ROUTES[0].title, _tck_of_mirrors("reactive-streams", in_spark=False), 4),
    Route("mirror-jpype-flow", JAVA_ROUTES[1].title, _tck_of_mirrors("flow", in_spark=False), 4),
    Route("mirror-py4j-rs", JAVA_ROUTES[2].title, _tck_of_mirrors("reactive-streams", in_spark=True), 2, 3),
    Route("mirror-py4j-flow", JAVA_ROUTES[3].title, _tck_of_mirrors("flow", in_spark=True), 2, 3),
)
ROUTES = {route.key: route for route in (PYTHON, *JAVA_ROUTES, *IN_SPARK, *PYTHON_OVER, *JAVA_OF_MIRRORS)}
LONGEST_FIRST = (*IN_SPARK, JAVA_ROUTES[0], PYTHON, *PYTHON_OVER, *JAVA_ROUTES[1:], *JAVA_OF_MIRRORS)
"""The order in which the routes start."""
