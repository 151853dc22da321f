"""PostgreSQL over R2DBC, against the Debian server in a temporary folder."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.postgresql_server import Server, install, postgresql
from tests.interop.systems.system import System

SYSTEM = System(
    name="PostgreSQL",
    packages=("org.postgresql:r2dbc-postgresql:1.1.1.RELEASE",),
    component="PostgreSQL 15 of Debian 12",
    source="query results, `Row` as dict; `LISTEN`: `Notification` as dict",
    sink="`COPY ... FROM STDIN`: bytes as `ByteBuf`",
    ordering="that of the result; that of the chunks",
    delivery="a result once; `COPY` all or nothing; a notification at most once",
    cancel="closes the cursor, rolls back the `COPY`; the connection is free again",
    gateways=("jpype", "spark"),
    server_process="PostgreSQL",
    install=install,
)

COPY = "COPY readings FROM STDIN WITH (FORMAT csv)"
WAITS_FOR = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1"
LAST_STATEMENT = "SELECT query FROM pg_stat_activity WHERE pid = $1 AND state = 'idle'"
STATE = "SELECT state FROM pg_stat_activity WHERE pid = $1"
CHUNK = b"1," + b"x" * 65_000 + b"\n"


class Endless(Watched):
    """Emits chunks forever; sets ``many`` before the sixtieth one, when some have reached the driver."""

    def __init__(self) -> None:
        super().__init__(self._chunks)
        self.many = threading.Event()

    def _chunks(self) -> Iterator[bytes]:
        for number in itertools.count(1):
            if number == 60:
                self.many.set()
            yield CHUNK


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgresql() as started:
        yield started


def address(server: Server, **other: str) -> dict[str, object]:
    """Return the options of a connection."""
    login = {"user": server.user, "password": server.password}
    return {"host": "127.0.0.1", "port": server.port, "database": "postgres", **login, **other}


@pytest.fixture
def connect(bridge: Bridge, recipe: ModuleType, server: Server) -> Iterator[Callable[[], JavaObject]]:
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(recipe.connected(bridge, **address(server)))


class Database:
    """A second connection, which observes the first."""

    def __init__(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        self._bridge, self._recipe, self._connection = bridge, recipe, connection

    def changed(self, sql: str) -> None:
        self._recipe.changed(self._bridge, self._connection, sql).collect(timeout=DEADLINE)

    def value(self, sql: str, *values: object) -> Any:
        [row] = self._recipe.rows(self._bridge, self._connection, sql, *values).collect(timeout=DEADLINE)
        return next(iter(row.values()))

    def until(self, expected: object, sql: str, *values: object) -> None:
        """Query until the result is the expected one."""
        end = time.monotonic() + DEADLINE
        while (found := self.value(sql, *values)) != expected:
            assert time.monotonic() < end, f"{sql}: {found!r}, not {expected!r}"


@pytest.fixture
def other(bridge: Bridge, recipe: ModuleType, connect: Callable[[], JavaObject]) -> Database:
    database = Database(bridge, recipe, connect())
    database.changed("DROP TABLE IF EXISTS readings")
    database.changed("CREATE TABLE readings (id int, name text)")
    return database


@pytest.fixture
def locked(bridge: Bridge, recipe: ModuleType, connect: Callable[[], JavaObject], other: Database) -> Database:
    """Lock the table on a third connection.

    ``other`` must not be inside a transaction, in which it would see only one snapshot of ``pg_stat_activity``.
    """
    database = Database(bridge, recipe, connect())
    database.changed("BEGIN")
    database.changed("LOCK TABLE readings IN ACCESS EXCLUSIVE MODE")
    return database


@pytest.fixture
def connection(connect: Callable[[], JavaObject]) -> JavaObject:
    return connect()


@pytest.fixture
def pid(bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> int:
    """Return the id of the server process of ``connection``."""
    return int(Database(bridge, recipe, connection).value("SELECT pg_backend_pid()"))


def accepts_statements(bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> bool:
    """Return True if the connection accepts the next statement."""
    return bool(Database(bridge, recipe, connection).value("SELECT true"))


class TestQueries:
    def test_program_on_the_page_runs(self, program: ModuleType, server: Server, other: Database) -> None:
        other.changed("CREATE TABLE customers AS SELECT n AS id, 'name ' || n AS name FROM generate_series(99, 102) n")
        assert program.names(**address(server)) == ["name 101", "name 102"]

    def test_values_are_converted(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        sql = """SELECT 7 AS whole, $1 || '!' AS text, 1.50::numeric AS exact, true AS yes, NULL AS nothing,
            '\\x00ff'::bytea AS bytes, DATE '2024-02-29' AS day, ARRAY[1, 2] AS several,
            TIMESTAMPTZ '2024-02-29 12:00+00' AS moment"""
        [row] = recipe.rows(bridge, connection, sql, "hello").collect(timeout=DEADLINE)
        assert row == {
            "whole": 7,
            "text": "hello!",
            "exact": decimal.Decimal("1.50"),
            "yes": True,
            "nothing": None,
            "bytes": b"\x00\xff",
            "day": datetime.date(2024, 2, 29),
            "several": [1, 2],
            "moment": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc),
        }

    def test_none_becomes_null_in_columns_of_any_type(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database
    ) -> None:
        other.changed("DROP TABLE IF EXISTS anything")
        other.changed(
            "CREATE TABLE anything (n int, t text, b bytea, at timestamptz, d numeric, j jsonb, several int[])"
        )
        insert = "INSERT INTO anything VALUES ($1, $2, $3, $4, $5, $6, $7)"
        nothing = dict.fromkeys(("n", "t", "b", "at", "d", "j", "several"))
        assert recipe.changed(bridge, connection, insert, *nothing.values()).collect(timeout=DEADLINE) == [1]
        insert = "INSERT INTO anything (n, j, several) VALUES ($1, $2::jsonb, $3::int[])"
        assert recipe.changed(bridge, connection, insert, 1, "[1]", "{1,2}").collect(timeout=DEADLINE) == [1]
        same = "SELECT * FROM anything WHERE n IS NOT DISTINCT FROM $1"
        assert recipe.rows(bridge, connection, same, None).collect(timeout=DEADLINE) == [nothing]
        found = recipe.rows(bridge, connection, same, 1).collect(timeout=DEADLINE)
        assert found == [{**nothing, "n": 1, "j": "[1]", "several": [1, 2]}]

    def test_each_subscription_is_a_query(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        numbers = recipe.rows(bridge, connection, "SELECT n FROM generate_series(1, 5000) n", fetch_size=100)
        for _ in range(2):
            assert numbers.map(lambda row: row["n"]).collect(timeout=DEADLINE) == list(range(1, 5001))

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database, pid: int
    ) -> None:
        other.changed("DROP SEQUENCE IF EXISTS computed")
        other.changed("CREATE SEQUENCE computed")
        received = TestSubscriber(3, timeout=DEADLINE)
        sql = "SELECT nextval('computed') AS n FROM generate_series(1, 1000000)"
        recipe.rows(bridge, connection, sql, fetch_size=50).subscribe(received)
        assert received.await_count(3) == [{"n": 1}, {"n": 2}, {"n": 3}]
        received.request(100)
        received.await_count(103)
        other.until("active", STATE, pid)
        received.cancel()
        other.until("idle", STATE, pid)
        assert accepts_statements(bridge, recipe, connection)
        # The bound is the sum of the demand, the window of the link, 256 messages in the driver, a fetch in flight and
        # one on the server; a third fetch is a margin.
        assert other.value("SELECT last_value FROM computed") < 103 + 256 + 256 + 3 * 50
        assert len(received.elements) == 103

    def test_server_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        received = TestSubscriber(2**63 - 1, timeout=DEADLINE)
        sql = "SELECT 1 / (n - 900) AS n FROM generate_series(1, 1000) n"
        recipe.rows(bridge, connection, sql, fetch_size=100).subscribe(received)
        error = received.await_error(JavaError)
        assert "[22012] division by zero" in str(error)
        assert len(received.elements) <= 899
        with pytest.raises(JavaError, match='syntax error at or near "SELEC"'):
            recipe.rows(bridge, connection, "SELEC 1").collect(timeout=DEADLINE)
        assert accepts_statements(bridge, recipe, connection)

    def test_cancelled_statement_is_stopped(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database, pid: int
    ) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.rows(bridge, connection, "SELECT pg_sleep(600)").subscribe(received)
        other.until("PgSleep", "SELECT wait_event FROM pg_stat_activity WHERE pid = $1", pid)
        bridge.from_jvm(connection.cancelRequest()).collect(timeout=DEADLINE)
        assert "canceling statement due to user request" in str(received.await_error())
        assert accepts_statements(bridge, recipe, connection)

    def test_rejected_connection_raises_java_error(self, bridge: Bridge, recipe: ModuleType, server: Server) -> None:
        with (
            pytest.raises(JavaError, match="password authentication failed"),
            recipe.connected(bridge, **address(server, password="wrong")),
        ):
            pass


class TestCopy:
    def test_rows_are_copied(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database) -> None:
        lines = pyrs.range(0, 5000).map(lambda n: f"{n},name {n}\n".encode())
        chunks = lines.buffer(100).map(b"".join)
        assert recipe.copy_in(bridge, connection, COPY, chunks).collect(timeout=DEADLINE) == [5000]
        assert other.value("SELECT sum(id) FROM readings WHERE name = 'name ' || id") == sum(range(5000))

    def test_publisher_waits_for_the_server(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database, locked: Database, pid: int
    ) -> None:
        exhausted = threading.Event()

        def chunks() -> Iterator[bytes]:
            yield from (CHUNK for _ in range(1500))
            exhausted.set()

        watched = Watched(chunks)
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.copy_in(bridge, connection, COPY, watched).subscribe(received)
        other.until("Lock", WAITS_FOR, pid)
        assert not exhausted.wait(2)
        assert 0 < watched.emitted < 1000
        locked.changed("ROLLBACK")
        assert received.await_complete() == [1500]
        assert exhausted.is_set()

    def test_cancel_rolls_the_copy_back(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database
    ) -> None:
        watched = Endless()
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.copy_in(bridge, connection, COPY, watched).subscribe(received)
        assert watched.many.wait(DEADLINE)
        received.cancel()
        assert watched.cancelled.wait(DEADLINE)
        assert accepts_statements(bridge, recipe, connection)
        assert other.value("SELECT count(*) FROM readings") == 0
        assert not received.ended

    def test_cancel_ends_a_copy_that_waits_for_the_server(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database, locked: Database, pid: int
    ) -> None:
        watched = Endless()
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.copy_in(bridge, connection, COPY, watched).subscribe(received)
        other.until("Lock", WAITS_FOR, pid)
        assert watched.many.wait(DEADLINE)
        received.cancel()
        assert watched.cancelled.wait(DEADLINE)
        locked.changed("ROLLBACK")
        assert accepts_statements(bridge, recipe, connection)
        assert other.value("SELECT count(*) FROM readings") == 0

    def test_publisher_error_rolls_the_copy_back(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database
    ) -> None:
        watched = Watched(lambda: iter([b"1,one\n", b"2,two\n"]), ValueError("no more paper"))
        with pytest.raises(JavaError, match=r"COPY from stdin failed: .*no more paper"):
            recipe.copy_in(bridge, connection, COPY, watched).collect(timeout=DEADLINE)
        assert other.value("SELECT count(*) FROM readings") == 0
        assert accepts_statements(bridge, recipe, connection)

    def test_server_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        chunks = pyrs.just(b"1,one\n", b"two,two\n", b"3,three\n")
        recipe.copy_in(bridge, connection, COPY, chunks).subscribe(received)
        assert 'invalid input syntax for type integer: "two"' in str(received.await_error())
        assert accepts_statements(bridge, recipe, connection)


class TestNotifications:
    def test_notifications_arrive_in_order_on_demand(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database, pid: int
    ) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.notifications(bridge, connection, "news").subscribe(received)
        other.until("LISTEN news", LAST_STATEMENT, pid)
        for number in range(20):
            other.changed(f"NOTIFY news, 'number {number}'")
        assert len(received.await_count(1)) == 1
        received.request(19)
        assert [each["parameter"] for each in received.await_count(20)] == [f"number {n}" for n in range(20)]
        assert received.elements[0]["name"] == "news"
        received.cancel()
        assert accepts_statements(bridge, recipe, connection)

    def test_overflow_of_notifications_fails_the_stream(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject, other: Database, pid: int
    ) -> None:
        received = TestSubscriber(timeout=DEADLINE)
        recipe.notifications(bridge, connection, "news", max_buffered=2).subscribe(received)
        other.until("LISTEN news", LAST_STATEMENT, pid)
        notify = "SELECT count(pg_notify('news', 'number ' || n)) FROM generate_series(0, 999) n"
        assert other.value(notify) == 1000
        received.request(1000)
        assert "overrun" in str(received.await_error())
        parameters = [each["parameter"] for each in received.elements]
        assert parameters == [f"number {n}" for n in range(len(parameters))]
        assert accepts_statements(bridge, recipe, connection)
