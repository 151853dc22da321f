"""The Java driver of Cassandra, against a Cassandra node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.cassandra_server import DATACENTER, VERSION, cassandra_server, install
from tests.interop.systems.demand import FIRST_WINDOW
from tests.interop.systems.system import System

SYSTEM = System(
    name="Apache Cassandra",
    packages=("com.datastax.oss:java-driver-core:4.17.0",),
    component=f"Cassandra {VERSION}, one node from Maven Central",
    source='`executeReactive`: `ReactiveRow` as dict, by `convert="values"`',
    sink="a statement for each element, up to `concurrency` at a time: the driver takes no Publisher",
    ordering="that of the query; concurrent inserts may overtake one another",
    delivery="each row once; after a failed insert repeat the rows that were not emitted: some may have been written",
    cancel="no further page is fetched; the server keeps no cursor",
    gateways=("jpype", "spark"),
    server_process=f"Cassandra {VERSION}",
    install=install,
    status="partial",
    reason="queries are Publishers. The driver takes no Publisher, so the recipe sends a statement for each element.",
)

MANY = 1000
PAGES_AHEAD = 5  # four in the queue and one in flight
UNBOUNDED = 2**62
PEOPLE = (
    "id uuid, born date, seen timestamp, height double, fee decimal, photo blob, tags list<text>, sizes map<text, int>"
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with cassandra_server(tmp_path_factory.mktemp("cassandra")) as port:
        yield port


@pytest.fixture(scope="module")
def session(connected: tuple[Bridge, object], recipe: ModuleType, port: int) -> Iterator[JavaObject]:
    opened = recipe.connect(connected[0], "127.0.0.1", port, DATACENTER, request_seconds=30)
    try:
        opened.execute("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        for table in ("numbers", "gone"):
            columns = "part int, number int, tens bigint, PRIMARY KEY (part, number)"
            opened.execute(f"CREATE TABLE shop.{table} ({columns})")
        opened.execute(f"CREATE TABLE shop.people (name text PRIMARY KEY, {PEOPLE})")
        opened.execute("CREATE TABLE shop.customers (country text, name text, PRIMARY KEY (country, name))")
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="module")
def numbers(connected: tuple[Bridge, object], session: JavaObject, recipe: ModuleType) -> str:
    """The query for MANY rows of one partition."""
    rows = pyrs.range(0, MANY).map(row)
    assert recipe.insert(connected[0], session, "shop.numbers", rows).count().collect(timeout=DEADLINE) == [MANY]
    return "SELECT number, tens FROM shop.numbers WHERE part = 0"


def row(number: int, part: int = 0) -> dict[str, int]:
    return {"part": part, "number": number, "tens": number // 10}


class Paged:
    """A query with one row per page: its rows, and each page that the server sent."""

    def __init__(self, bridge: Bridge, session: JavaObject, query: str, *, exact: bool = False) -> None:
        statement = bridge.java_class("com.datastax.oss.driver.api.core.cql.SimpleStatement").newInstance(query)
        result = session.executeReactive(statement.setPageSize(1))
        self.rows: pyrs.Stream[Any] = bridge.from_jvm(result, exact=exact)
        self.pages = TestSubscriber(None, timeout=DEADLINE)
        bridge.from_jvm(result.getExecutionInfos()).subscribe(self.pages)


class TestQueries:
    def test_program_on_the_page_runs(
        self, program: ModuleType, bridge: Bridge, session: JavaObject, port: int
    ) -> None:
        customers = pyrs.just({"country": "NL", "name": "Bob"}, {"country": "UK", "name": "Ada"})
        program.insert(bridge, session, "shop.customers", customers).collect(timeout=DEADLINE)
        assert program.names("127.0.0.1", port) == ["Bob"]

    def test_elements_arrive_in_order(
        self, bridge: Bridge, session: JavaObject, numbers: str, recipe: ModuleType
    ) -> None:
        found = recipe.rows(bridge, session, numbers, page_size=100)
        expected = [{"number": number, "tens": number // 10} for number in range(MANY)]
        assert found.collect(timeout=DEADLINE) == expected
        assert found.collect(timeout=DEADLINE) == expected, "each Subscriber must run its own query"

    def test_parameters_are_bound(self, bridge: Bridge, session: JavaObject, numbers: str, recipe: ModuleType) -> None:
        integer = bridge.java_class("java.lang.Integer")
        found = recipe.rows(bridge, session, f"{numbers} AND number < ?", integer(3))
        assert found.collect(timeout=DEADLINE) == [{"number": number, "tens": 0} for number in range(3)]

    def test_values_are_converted(self, bridge: Bridge, session: JavaObject, recipe: ModuleType) -> None:
        ada = {"name": "Ada", "height": 1.5, "tags": ["one", "two"], "sizes": {"shoe": 38}}
        born, seen = date(1815, 12, 10), datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)
        other = {
            "id": str(UUID(int=5)),
            "born": born.isoformat(),
            "seen": seen.isoformat(timespec="milliseconds"),
            "fee": str(Decimal("2.50")),
            "photo": "0xff",
        }
        recipe.insert(bridge, session, "shop.people", pyrs.just({**ada, **other})).collect(timeout=DEADLINE)
        [found] = recipe.rows(bridge, session, "SELECT * FROM shop.people WHERE name = ?", "Ada").collect(
            timeout=DEADLINE
        )
        assert found == {
            **ada,
            "id": UUID(int=5),
            "born": born,
            "seen": seen,
            "fee": Decimal("2.50"),
            "photo": b"\xff",
        }

    @pytest.mark.parametrize("exact", [False, True])
    def test_demand_is_bounded(self, bridge: Bridge, session: JavaObject, numbers: str, exact: bool) -> None:
        query = Paged(bridge, session, numbers, exact=exact)
        received = TestSubscriber(3, timeout=DEADLINE)
        query.rows.subscribe(received)
        received.await_count(3)
        window = 0 if exact else FIRST_WINDOW
        assert Paged(bridge, session, numbers).rows.count().collect(timeout=DEADLINE) == [
            MANY
        ]  # gives the first query time to run ahead
        assert len(received.elements) == 3
        assert 3 <= len(query.pages.elements) <= 3 + window + PAGES_AHEAD
        received.request(MANY)
        assert len(received.await_complete()) == MANY
        assert len(query.pages.await_complete()) >= MANY

    def test_cancel_is_forwarded(self, bridge: Bridge, session: JavaObject, numbers: str) -> None:
        query = Paged(bridge, session, numbers, exact=True)
        received = TestSubscriber(None, timeout=DEADLINE, on_element=lambda subscriber, _: subscriber.cancel())
        query.rows.subscribe(received)
        received.await_count(1)
        assert Paged(bridge, session, numbers).rows.count().collect(timeout=DEADLINE) == [
            MANY
        ]  # gives the first query time to run ahead
        assert len(query.pages.elements) < MANY / 2
        assert len(received.elements) == 1

    def test_error_is_forwarded(self, bridge: Bridge, session: JavaObject, recipe: ModuleType) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.rows(bridge, session, "SELECT * FROM shop.nowhere").subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "com.datastax.oss.driver.api.core.servererrors.InvalidQueryException"
        assert "table nowhere does not exist" in str(error)

    def test_error_at_a_later_page_is_forwarded(self, bridge: Bridge, session: JavaObject, recipe: ModuleType) -> None:
        numbered = pyrs.range(0, 50).map(row)
        recipe.insert(bridge, session, "shop.gone", numbered).collect(timeout=DEADLINE)
        query = Paged(bridge, session, "SELECT number FROM shop.gone", exact=True)
        received = TestSubscriber(3, timeout=DEADLINE)
        query.rows.subscribe(received)
        received.await_count(3)
        session.execute("DROP TABLE shop.gone")
        received.request(50)
        error = received.await_error(JavaError)
        assert "table gone does not exist" in str(error)
        assert 3 <= len(received.elements) <= 3 + PAGES_AHEAD


class TestInserts:
    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, session: JavaObject, recipe: ModuleType
    ) -> None:
        source = Watched(lambda: (row(number, part=1) for number in range(10**9)))
        received = TestSubscriber(100, timeout=DEADLINE)
        recipe.insert(bridge, session, "shop.numbers", pyrs.Stream(source), concurrency=8).subscribe(received)
        received.await_count(100)
        received.cancel()
        assert source.cancelled.wait(DEADLINE)
        assert 100 <= source.emitted <= 100 + 2 * 8
        written = session.execute("SELECT count(*) FROM shop.numbers WHERE part = 1").one().getLong(0)
        assert 100 <= written <= source.emitted

    def test_error_is_forwarded(self, bridge: Bridge, session: JavaObject, recipe: ModuleType) -> None:
        rows = [{"part": 2, "number": number} for number in [*range(20), "twenty", *range(21, 1000)]]
        source = Watched(lambda: iter(rows))
        received = TestSubscriber(1000, timeout=DEADLINE)
        recipe.insert(bridge, session, "shop.numbers", pyrs.Stream(source), concurrency=1).subscribe(received)
        error = received.await_error(JavaError)
        assert "Unable to make int from 'twenty'" in str(error)
        assert received.elements == rows[:20]
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= 22
