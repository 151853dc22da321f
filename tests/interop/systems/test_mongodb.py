"""The reactive driver of MongoDB, against a server of its wire protocol."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from types import ModuleType

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, MILLISECONDS, Watched
from tests.interop.systems.demand import FIRST_WINDOW
from tests.interop.systems.system import System

SYSTEM = System(
    name="MongoDB",
    packages=("org.mongodb:mongodb-driver-reactivestreams:5.8.0", "io.projectreactor:reactor-core:3.7.12"),
    test_packages=("de.bwaldvogel:mongo-java-server:1.47.0",),
    component="mongo-java-server 1.47, a server with the wire protocol of MongoDB 5.0, over TCP",
    source="cursors and change streams: `Map`, `Document` as dict; GridFS downloads: `ByteBuffer` as bytes",
    sink="`insertMany` for each batch; GridFS uploads: bytes as `ByteBuffer`",
    ordering="that of the cursor; batches are inserted sequentially",
    delivery="a cursor gives each document once; a change stream resumed after the last `_id`: at least once",
    cancel="`killCursors`: the server drops the cursor",
    gateways=("jpype", "spark"),
    status="wire-compatible",
    reason="mongo-java-server answers instead of MongoDB. Replica sets, sharding and authentication are not tested.",
)

MANY = 2000
CHUNK = 255 * 1024
STORED_AT_ONCE = 256
"""The number of chunks of a file that the driver stores concurrently."""


@pytest.fixture(scope="module")
def linked(connected: tuple[Bridge, object]) -> Bridge:
    return connected[0]


@pytest.fixture(scope="module")
def server(linked: Bridge) -> Iterator[JavaObject]:
    """An in-memory server in this JVM, on a loopback port, with the log for change streams."""
    started = start(linked)
    yield started
    started.shutdownNow()


def start(bridge: Bridge) -> JavaObject:
    version = bridge.java_class("de.bwaldvogel.mongo.ServerVersion").MONGO_5_0
    backend = bridge.java_class("de.bwaldvogel.mongo.backend.memory.MemoryBackend")().version(version)
    server: JavaObject = bridge.java_class("de.bwaldvogel.mongo.MongoServer")(backend)
    server.enableOplog()
    server.bindAndGetConnectionString()
    return server


def uri(server: JavaObject) -> str:
    # The driver checks the server only at the start, so that a query detects the loss of the server.
    return f"{server.getConnectionString()}/?heartbeatFrequencyMS=600000"


@pytest.fixture(scope="module")
def listener(linked: Bridge) -> JavaObject:
    created: JavaObject = linked.java_class("mongodb.Commands")()
    return created


@pytest.fixture(scope="module")
def client(linked: Bridge, server: JavaObject, listener: JavaObject) -> Iterator[JavaObject]:
    """The client from ``connect`` of the recipe, with a listener for its commands."""
    address = linked.java_class("com.mongodb.ConnectionString")(uri(server))
    builder = linked.java_class("com.mongodb.MongoClientSettings").builder().applyConnectionString(address)
    clients = linked.java_class("com.mongodb.reactivestreams.client.MongoClients")
    created = clients.create(builder.addCommandListener(listener).build())
    yield created
    created.close()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """A new database name."""
    name: str = request.node.name
    return name


@pytest.fixture
def commands(listener: JavaObject, database: str) -> JavaObject:
    """The commands to the server."""
    created: JavaObject = listener.of(database)
    return created


@pytest.fixture
def orders(bridge: Bridge, client: JavaObject, commands: JavaObject, recipe: ModuleType, database: str) -> JavaObject:
    """A collection with MANY documents."""
    collection: JavaObject = recipe.collection(bridge, client, database, "orders")
    numbered = pyrs.range(0, MANY).map(lambda number: {"_id": number, "tens": number // 10})
    assert recipe.insert(bridge, collection, numbered, batch_size=500).collect(timeout=DEADLINE) == [500] * 4
    commands.take()
    return collection


def taken(commands: JavaObject) -> list[str]:
    return str(commands.take()).splitlines()


class TestQueries:
    def test_program_on_the_page_runs(
        self, program: ModuleType, bridge: Bridge, client: JavaObject, server: JavaObject
    ) -> None:
        customers = pyrs.just({"name": "Ada", "active": True}, {"name": "Bob", "active": False})
        collection = program.collection(bridge, client, "shop", "customers")
        program.insert(bridge, collection, customers).collect(timeout=DEADLINE)
        assert program.names(uri(server)) == ["Ada"]

    def test_300_sequential_queries_return_their_first_document(
        self, bridge: Bridge, orders: JavaObject, recipe: ModuleType
    ) -> None:
        first = recipe.find(bridge, orders, {}).take(1)
        assert [first.collect(timeout=DEADLINE) for _ in range(300)] == [[{"_id": 0, "tens": 0}]] * 300

    def test_elements_arrive_in_order(self, bridge: Bridge, orders: JavaObject, recipe: ModuleType) -> None:
        found = recipe.find(bridge, orders, {"tens": {"$gte": 10}}).collect(timeout=DEADLINE)
        assert found == [{"_id": number, "tens": number // 10} for number in range(100, MANY)]

    @pytest.mark.usefixtures("orders")
    def test_documents_are_dicts_or_references(self, bridge: Bridge, client: JavaObject, database: str) -> None:
        """Without a document class the driver returns Documents, which become dicts or references."""
        found = client.getDatabase(database).getCollection("orders").find().limit(2)
        expected = [{"_id": 0, "tens": 0}, {"_id": 1, "tens": 0}]
        assert bridge.from_jvm(found, convert="values").collect(timeout=DEADLINE) == expected
        kept = bridge.from_jvm(found, convert="references").collect(timeout=DEADLINE)
        assert [(document.getClass().getName(), document.get("_id")) for document in kept] == [
            ("org.bson.Document", 0),
            ("org.bson.Document", 1),
        ]

    def test_each_subscription_is_a_query(self, bridge: Bridge, orders: JavaObject, recipe: ModuleType) -> None:
        found = recipe.find(bridge, orders, {"_id": {"$lt": 3}})
        assert found.collect(timeout=DEADLINE) == found.collect(timeout=DEADLINE) != []

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, orders: JavaObject, commands: JavaObject, recipe: ModuleType
    ) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.find(bridge, orders, {}).subscribe(received)
        assert [each["_id"] for each in received.await_count(3)] == [0, 1, 2]
        received.cancel()
        assert commands.awaits("killCursors", 1, MILLISECONDS)
        assert taken(commands) == [f"find {FIRST_WINDOW}", "killCursors"]

    def test_exact_demand_is_forwarded_unchanged(
        self, bridge: Bridge, orders: JavaObject, commands: JavaObject
    ) -> None:
        received = TestSubscriber(3, timeout=DEADLINE)
        bridge.from_jvm(orders.find(), exact=True).subscribe(received)
        received.await_count(3)
        received.request(5)
        assert len(received.await_count(8)) == 8
        received.cancel()
        assert commands.awaits("killCursors", 1, MILLISECONDS)
        assert taken(commands) == ["find 3", "getMore 5", "killCursors"]

    def test_fast_reader_receives_larger_batches(
        self, bridge: Bridge, orders: JavaObject, commands: JavaObject, recipe: ModuleType
    ) -> None:
        assert len(recipe.find(bridge, orders, {}).collect(timeout=DEADLINE)) == MANY
        sizes = [int(each.split()[1]) for each in taken(commands)]
        assert sizes[0] == FIRST_WINDOW
        assert max(sizes) <= DEFAULT_MAX_PREFETCH

    def test_error_is_forwarded(self, bridge: Bridge, orders: JavaObject, recipe: ModuleType) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.find(bridge, orders, {"$nonsense": 1}).subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "com.mongodb.MongoQueryException"
        assert "unknown top level operator: $nonsense" in str(error)

    def test_lost_server_fails_the_stream(self, bridge: Bridge, recipe: ModuleType) -> None:
        other = start(bridge)
        client = recipe.connect(bridge, uri(other))
        try:
            collection = recipe.collection(bridge, client, "shop", "goods")
            recipe.insert(bridge, collection, pyrs.range(0, 100).map(lambda n: {"_id": n})).collect(timeout=DEADLINE)
            received = TestSubscriber(3, timeout=DEADLINE)
            bridge.from_jvm(collection.find(), exact=True).subscribe(received)
            received.await_count(3)
            other.shutdownNow()
            received.request(50)
            assert "com.mongodb.MongoSocket" in str(received.await_error())
        finally:
            client.close()
            other.shutdownNow()


class TestInserts:
    def test_elements_arrive_in_order(
        self, bridge: Bridge, client: JavaObject, recipe: ModuleType, database: str
    ) -> None:
        collection = recipe.collection(bridge, client, database, "people")
        ada = {"name": "Ada", "in": {"city": "London"}, "tags": ["one", 2, 3.5, True, None, b"four", Decimal("5.5")]}
        born = datetime(1815, 12, 10, 9, 30)
        assert recipe.insert(bridge, collection, pyrs.just({**ada, "born": born})).collect(timeout=DEADLINE) == [1]
        [found] = recipe.find(bridge, collection, {"name": "Ada"}).collect(timeout=DEADLINE)
        assert recipe.by_id(bridge, collection, found["_id"]).collect(timeout=DEADLINE) == [found]
        assert len(found.pop("_id")) == 24
        assert found == {**ada, "born": born.replace(tzinfo=timezone.utc)}

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, client: JavaObject, recipe: ModuleType, database: str
    ) -> None:
        source = Watched(lambda: iter({"_id": number} for number in range(10**9)))
        received = TestSubscriber(2, timeout=DEADLINE)
        collection = recipe.collection(bridge, client, database, "endless")
        recipe.insert(bridge, collection, pyrs.Stream(source), batch_size=10).subscribe(received)
        assert received.await_count(2)[:2] == [10, 10]
        received.cancel()
        assert source.cancelled.wait(DEADLINE)
        assert source.emitted <= 4 * 10

    def test_error_is_forwarded(self, bridge: Bridge, client: JavaObject, recipe: ModuleType, database: str) -> None:
        collection = recipe.collection(bridge, client, database, "twice")
        source = Watched(lambda: iter({"_id": number % 25} for number in range(10**9)))
        received = TestSubscriber(100, timeout=DEADLINE)
        recipe.insert(bridge, collection, pyrs.Stream(source), batch_size=10).subscribe(received)
        error = received.await_error(JavaError)
        assert "E11000 duplicate key error" in str(error)
        assert received.elements == [10, 10]
        assert source.cancelled.wait(DEADLINE)


class TestFiles:
    def test_bytes_arrive_unchanged_in_both_directions(
        self, bridge: Bridge, client: JavaObject, recipe: ModuleType
    ) -> None:
        chunks = [bytes([number]) * 100_000 for number in range(40)]
        source = pyrs.from_iterable(chunks)
        recipe.upload(bridge, client, "files", "numbers", source).collect(timeout=DEADLINE)
        stored = recipe.download(bridge, client, "files", "numbers").collect(timeout=DEADLINE)
        assert b"".join(stored) == b"".join(chunks)
        assert {type(each) for each in stored} == {bytes}

    def test_upload_is_bounded_and_cancel_removes_its_chunks(
        self, bridge: Bridge, client: JavaObject, commands: JavaObject, recipe: ModuleType, database: str
    ) -> None:
        source = Watched(lambda: iter(lambda: bytes(CHUNK), b""))
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.upload(bridge, client, database, "zeros", source).subscribe(received)
        assert commands.awaits("insert", 10, MILLISECONDS)
        received.cancel()
        assert source.cancelled.wait(DEADLINE)
        assert commands.awaits("delete", 1, MILLISECONDS), "the driver did not remove the stored chunks"
        assert source.emitted <= taken(commands).count("insert") + STORED_AT_ONCE + 2 * FIRST_WINDOW

    def test_download_is_bounded_and_can_be_cancelled(
        self, bridge: Bridge, client: JavaObject, commands: JavaObject, recipe: ModuleType, database: str
    ) -> None:
        source = pyrs.range(0, 50).map(lambda number: bytes(CHUNK))
        recipe.upload(bridge, client, database, "zeros", source).collect(timeout=DEADLINE)
        commands.take()
        received = TestSubscriber(2, timeout=DEADLINE)
        recipe.download(bridge, client, database, "zeros").subscribe(received)
        received.await_count(2)
        received.cancel()
        assert commands.awaits("killCursors", 1, MILLISECONDS)
        assert taken(commands)[1:] == ["find 16", "killCursors"]

    def test_download_error_is_forwarded(self, bridge: Bridge, client: JavaObject, recipe: ModuleType) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.download(bridge, client, "files", "nowhere").subscribe(received)
        error = received.await_error(JavaError)
        assert str(error).startswith("com.mongodb.MongoGridFSException: File not found")

    def test_publisher_error_removes_the_upload(
        self, bridge: Bridge, client: JavaObject, commands: JavaObject, recipe: ModuleType, database: str
    ) -> None:
        broken = pyrs.concat(pyrs.just(bytes(3 * CHUNK)), pyrs.error(ValueError("the disk is gone")))
        with pytest.raises(ValueError, match="the disk is gone"):
            recipe.upload(bridge, client, database, "half", broken).collect(timeout=DEADLINE)
        assert commands.awaits("delete", 1, MILLISECONDS), "the driver did not remove the stored chunks"
        with pytest.raises(JavaError, match="File not found"):
            recipe.download(bridge, client, database, "half").collect(timeout=DEADLINE)


class TestChanges:
    def test_changes_arrive_on_demand(
        self, bridge: Bridge, client: JavaObject, commands: JavaObject, recipe: ModuleType, database: str
    ) -> None:
        collection = recipe.collection(bridge, client, database, "news")
        received = TestSubscriber(2, timeout=DEADLINE)
        recipe.changes(bridge, collection).subscribe(received)
        assert commands.awaits("aggregate", 1, MILLISECONDS)
        numbered = pyrs.range(0, 10).map(lambda number: {"_id": number})
        recipe.insert(bridge, collection, numbered).collect(timeout=DEADLINE)
        received.await_count(2)
        received.request(3)
        received.await_count(5)
        received.cancel()
        assert commands.awaits("killCursors", 1, MILLISECONDS)
        requested = [int(each.split()[1]) for each in taken(commands) if each.startswith("getMore")]
        assert max(requested) == 3, "the driver requested more elements than Python"
        assert {each["operationType"] for each in received.elements} == {"insert"}
        assert [each["fullDocument"]["_id"] for each in received.elements] == [0, 1, 2, 3, 4]
        later = recipe.changes(bridge, collection, after=received.elements[-1]["_id"]).take(5)
        assert [each["fullDocument"]["_id"] for each in later.collect(timeout=DEADLINE)] == [5, 6, 7, 8, 9]
