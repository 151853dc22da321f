"""H2 over R2DBC, embedded."""

from __future__ import annotations

import datetime
import decimal
import threading
from collections.abc import Iterator
from itertools import chain
from types import ModuleType
from typing import Any, cast

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.system import System

SYSTEM = System(
    name="H2",
    packages=("io.r2dbc:r2dbc-h2:1.1.0.RELEASE",),
    component="H2 2.4.240 from the same package, in memory",
    source="query results, `Row` as dict",
    sink="a statement for each batch; `Blob` of a Publisher: bytes as `ByteBuffer`",
    ordering="that of the result; batches are inserted sequentially",
    delivery="a result once; records before a rejected one remain in the table, unless in a transaction",
    cancel="closes the result",
    gateways=("jpype", "spark"),
)


@pytest.fixture
def connection(bridge: Bridge, recipe: ModuleType) -> Iterator[JavaObject]:
    with recipe.connected(bridge, "r2dbc:h2:mem:///tests") as opened:
        create = "CREATE TABLE readings (id INT, name VARCHAR, content BLOB)"
        assert recipe.changed(bridge, opened, create).collect(timeout=DEADLINE) == [0]
        yield opened


class ObservingBridge:
    """A bridge that records the requests to the Publishers it converts."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._flux = bridge.java_class("reactor.core.publisher.Flux")
        self._requested = bridge.to_jvm_callable(self._on_request, "java.util.function.LongConsumer")
        self._cancelled = bridge.to_jvm_callable(self._on_cancel, "java.lang.Runnable")
        self.requests: list[int] = []
        self.cancelled = threading.Event()

    def _on_request(self, count: int) -> None:
        self.requests.append(count)

    def _on_cancel(self) -> None:
        self.cancelled.set()

    def from_jvm(self, publisher: Any, **options: Any) -> pyrs.Stream[Any]:
        flux = self._flux.from_(publisher).doOnRequest(self._requested).doOnCancel(self._cancelled)
        return cast("pyrs.Stream[Any]", self._bridge.from_jvm(flux, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bridge, name)


def count(bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> int:
    [row] = recipe.rows(bridge, connection, "SELECT count(*) AS n FROM readings").collect(timeout=DEADLINE)
    return int(row["N"])


class TestQueries:
    def test_program_on_the_page_runs(self, program: ModuleType) -> None:
        assert program.warmest(pyrs.just((1, 20.5), (2, 23.0), (3, 21.0))) == 23.0

    def test_values_are_converted(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        sql = """SELECT 7 AS whole, ? || '!' AS text, 1.50 AS exact, TRUE AS yes, NULL AS nothing, X'00ff' AS bytes,
            DATE '2024-02-29' AS "day", ARRAY[1, 2] AS several, TIMESTAMP '2024-02-29 12:00:00' AS "moment" """
        [row] = recipe.rows(bridge, connection, sql, "hello").collect(timeout=DEADLINE)
        assert row == {
            "WHOLE": 7,
            "TEXT": "hello!",
            "EXACT": decimal.Decimal("1.50"),
            "YES": True,
            "NOTHING": None,
            "BYTES": b"\x00\xff",
            "day": datetime.date(2024, 2, 29),
            "SEVERAL": [1, 2],
            "moment": datetime.datetime(2024, 2, 29, 12),
        }

    def test_each_subscription_runs_a_query(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        numbers = recipe.rows(bridge, connection, "SELECT x FROM SYSTEM_RANGE(1, 5000)")
        for _ in range(2):
            assert numbers.map(lambda row: row["X"]).collect(timeout=DEADLINE) == list(range(1, 5001))

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject
    ) -> None:
        observing = ObservingBridge(bridge)
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.rows(observing, connection, "SELECT x FROM SYSTEM_RANGE(1, 1000000)").subscribe(received)
        assert received.await_count(3) == [{"X": 1}, {"X": 2}, {"X": 3}]
        received.request(100)
        assert len(received.await_count(103)) == 103
        received.cancel()
        assert observing.cancelled.wait(DEADLINE)
        assert 103 <= sum(observing.requests) < 103 + 2 * 256
        assert count(bridge, recipe, connection) == 0

    def test_database_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.rows(bridge, connection, "SELECT 1 / (x - 5) AS n FROM SYSTEM_RANGE(1, 10)").subscribe(received)
        error = received.await_error(JavaError)
        assert "Division by zero" in str(error)
        with pytest.raises(JavaError, match='Table "NOWHERE" not found'):
            recipe.rows(bridge, connection, "SELECT * FROM nowhere").collect(timeout=DEADLINE)
        assert count(bridge, recipe, connection) == 0


class TestInserts:
    def test_elements_are_stored_in_batches(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        records = pyrs.range(0, 250).map(lambda n: (n, f"name {n}"))
        inserted = recipe.insert(bridge, connection, "INSERT INTO readings (id, name) VALUES (?, ?)", records)
        assert inserted.collect(timeout=DEADLINE) == [100, 100, 50]
        sql = "SELECT sum(id) AS n FROM readings WHERE name = 'name ' || id"
        assert recipe.rows(bridge, connection, sql).collect(timeout=DEADLINE) == [{"N": sum(range(250))}]

    def test_none_becomes_null(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        records = [(1, None, b"x"), (None, "two", None), (None, None, None), (4, "four", b"y")]
        sql = "INSERT INTO readings VALUES (?, ?, ?)"
        assert recipe.insert(bridge, connection, sql, pyrs.from_iterable(records)).collect(timeout=DEADLINE) == [4]
        found = recipe.rows(bridge, connection, "SELECT * FROM readings").collect(timeout=DEADLINE)
        assert [(row["ID"], row["NAME"], row["CONTENT"]) for row in found] == records
        sql = "SELECT name FROM readings WHERE id IS NOT DISTINCT FROM ? AND name IS NOT NULL"
        assert recipe.rows(bridge, connection, sql, None).collect(timeout=DEADLINE) == [{"NAME": "two"}]

    def test_one_batch_is_requested_at_a_time(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        watched = Watched(lambda: ((n, "name") for n in range(10_000)))
        received = TestSubscriber(1, timeout=DEADLINE)
        sql = "INSERT INTO readings (id, name) VALUES (?, ?)"
        recipe.insert(bridge, connection, sql, pyrs.Stream(watched), batch_size=10).subscribe(received)
        assert received.await_count(1) == [10]
        received.cancel()
        assert watched.cancelled.wait(DEADLINE)
        assert watched.requested <= 30
        assert count(bridge, recipe, connection) <= 20

    def test_database_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        """The statements before the failed one keep their effects, including those of the same batch."""
        watched = Watched(lambda: chain([(1,), (2,), (3,), ("four",)], ((n,) for n in range(5, 10_000))))
        with pytest.raises(JavaError, match="Data conversion error"):
            recipe.insert(
                bridge, connection, "INSERT INTO readings (id) VALUES (?)", pyrs.Stream(watched), batch_size=2
            ).collect(timeout=DEADLINE)
        assert watched.cancelled.wait(DEADLINE)
        assert count(bridge, recipe, connection) == 3

    def test_publisher_of_bytes_is_bound_as_a_blob(
        self, bridge: Bridge, recipe: ModuleType, connection: JavaObject
    ) -> None:
        ahead: list[int] = []

        def chunks() -> Iterator[bytes]:
            for number in range(256):
                ahead.append(watched.requested - number)
                yield bytes([number]) * 65_536

        watched = Watched(chunks)
        content = recipe.blob(bridge, watched)
        insert = recipe.changed(bridge, connection, "INSERT INTO readings (content) VALUES (?)", content)
        assert insert.collect(timeout=DEADLINE) == [1]
        assert max(ahead) <= 64
        expected = b"".join(bytes([number]) * 65_536 for number in range(256))
        [row] = recipe.rows(bridge, connection, "SELECT content FROM readings").collect(timeout=DEADLINE)
        assert row == {"CONTENT": expected}

    def test_publisher_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, connection: JavaObject) -> None:
        content = recipe.blob(bridge, Watched(lambda: iter([b"first"]), ValueError("no more paper")))
        with pytest.raises(Exception, match="no more paper"):
            recipe.changed(bridge, connection, "INSERT INTO readings (content) VALUES (?)", content).collect(
                timeout=DEADLINE
            )
        assert count(bridge, recipe, connection) == 0
