"""Elasticsearch through the reactive client of Spring Data, against a node from Maven Central."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.elasticsearch_server import Node, elasticsearch, install
from tests.interop.systems.system import System
from tests.waiting import eventually

SYSTEM = System(
    name="Elasticsearch",
    packages=(
        "org.springframework.data:spring-data-elasticsearch:5.5.13",
        "io.projectreactor:reactor-core:3.7.12",
    ),
    component="Elasticsearch 8.18.8, one node from Maven Central",
    source="search hits: `SearchHit` as dict",
    sink="a bulk request for each batch: dicts",
    ordering="that of the index at a point in time; batches are stored sequentially",
    delivery="a hit once; a document with its own id at least once",
    cancel="closes the point in time",
    gateways=("jpype", "spark"),
    server_process="Elasticsearch",
    install=install,
    status="partial",
    reason="searches are Publishers. `save(Flux, ...)` of Spring Data does not complete for slow sources, so "
    "the recipe sends a bulk request for each batch.",
)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with elasticsearch(tmp_path_factory.mktemp("elasticsearch")) as started:
        yield started


@pytest.fixture
def template(bridge: Bridge, recipe: ModuleType, node: Node) -> Iterator[JavaObject]:
    with recipe.connected(bridge, node.address) as opened:
        yield opened


@pytest.fixture
def books(bridge: Bridge, recipe: ModuleType, template: JavaObject, request: pytest.FixtureRequest) -> str:
    """A new index with 2,000 documents."""
    index: str = request.node.originalname.replace("_", "-")
    documents = pyrs.range(0, 2000).map(lambda n: {"id": str(n), "number": n, "title": f"Volume {n}"})
    saved = recipe.save(bridge, template, index, documents)
    assert saved.collect(timeout=2 * DEADLINE) == [500] * 4
    refresh(bridge, template, index)
    return index


def refresh(bridge: Bridge, template: JavaObject, index: str) -> None:
    """Make stored documents visible to searches."""
    coordinates = bridge.java_class("org.springframework.data.elasticsearch.core.mapping.IndexCoordinates").of(index)
    bridge.from_jvm(template.indexOps(coordinates).refresh()).collect(timeout=DEADLINE)


class TestSearches:
    def test_program_on_the_page_runs(
        self, program: ModuleType, bridge: Bridge, template: JavaObject, node: Node
    ) -> None:
        written = pyrs.just({"title": "Solaris", "author": "Lem"}, {"title": "Emma", "author": "Austen"})
        program.save(bridge, template, "books", written).collect(timeout=DEADLINE)
        refresh(bridge, template, "books")
        assert program.titles(node.address) == ["Solaris"]
        assert node.searches()["open_contexts"] == 0, "the client was closed before the point in time"

    @pytest.mark.parametrize("function", ["search", "search_ahead"])
    def test_each_subscription_is_a_search(
        self, bridge: Bridge, recipe: ModuleType, template: JavaObject, books: str, node: Node, function: str
    ) -> None:
        query = {"range": {"number": {"gte": 500}}}
        found = getattr(recipe, function)(bridge, template, books, query, page_size=400)
        for _ in range(2):
            hits = found.collect(timeout=DEADLINE)
            assert sorted(hit["content"]["number"] for hit in hits) == list(range(500, 2000))
        assert hits[0]["index"] == books
        assert hits[0]["content"]["title"] == f"Volume {hits[0]['id']}"
        eventually(lambda: node.searches()["open_contexts"] == 0)

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, template: JavaObject, books: str, node: Node
    ) -> None:
        before = node.searches()["query_total"]
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.search(bridge, template, books, {"match_all": {}}, page_size=10).subscribe(received)
        received.await_count(3)
        received.request(20)
        assert len(received.await_count(23)) == 23
        assert node.searches()["open_contexts"] == 1
        received.cancel()
        eventually(lambda: node.searches()["open_contexts"] == 0)
        assert 3 <= node.searches()["query_total"] - before <= 5

    def test_client_prefetches_256_pages(
        self, bridge: Bridge, recipe: ModuleType, template: JavaObject, books: str, node: Node
    ) -> None:
        before = node.searches()["query_total"]
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.search_ahead(bridge, template, books, {"match_all": {}}, page_size=5).subscribe(received)
        eventually(lambda: node.searches()["query_total"] - before >= 256)
        # The query has 400 pages. During 50 calls the client could request more of them.
        counts = [node.searches()["query_total"] - before for _ in range(50)]
        assert counts[-1] <= 260
        received.cancel()
        eventually(lambda: node.searches()["open_contexts"] == 0)
        assert len(received.elements) == 1

    def test_server_error_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, template: JavaObject, books: str, node: Node
    ) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.search(bridge, template, books, {"matc": {}}).subscribe(received)
        error = received.await_error(JavaError)
        assert "[parsing_exception] unknown query [matc]" in str(error)
        eventually(lambda: node.searches()["open_contexts"] == 0)


class TestDocuments:
    def test_one_batch_is_requested_at_a_time(
        self, bridge: Bridge, recipe: ModuleType, template: JavaObject, node: Node
    ) -> None:
        watched = Watched(lambda: ({"id": str(n), "number": n} for n in range(100_000)))
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.save(bridge, template, "numbers", pyrs.Stream(watched), batch_size=50).subscribe(received)
        assert received.await_count(1) == [50]
        received.cancel()
        assert watched.cancelled.wait(DEADLINE)
        assert watched.requested <= 150
        refresh(bridge, template, "numbers")
        assert 50 <= node.get("numbers/_count")["count"] <= 100

    def test_rejected_document_fails_the_stream(
        self, bridge: Bridge, recipe: ModuleType, template: JavaObject, books: str, node: Node
    ) -> None:
        def documents() -> Iterator[dict[str, Any]]:
            yield {"id": "2000", "number": 2000}
            yield {"id": "2001", "number": "not one"}
            while True:
                yield {"id": "2002", "number": 2002}

        watched = Watched(documents)
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.save(bridge, template, books, pyrs.Stream(watched), batch_size=10).subscribe(received)
        error = received.await_error(JavaError)
        assert "failed to parse field [number] of type [long] in document with id '2001'" in str(error)
        assert watched.cancelled.wait(DEADLINE)
        refresh(bridge, template, books)
        assert node.get(f"{books}/_count")["count"] == 2002  # the other documents of the batch are stored

    def test_unreachable_server_fails_the_stream(self, bridge: Bridge, recipe: ModuleType) -> None:
        with (
            recipe.connected(bridge, "127.0.0.1:9") as template,
            pytest.raises(JavaError, match="Error executing bulk request"),
        ):
            recipe.save(bridge, template, "numbers", pyrs.just({"id": "1"})).collect(timeout=DEADLINE)
