"""Elasticsearch: the recipe of docs/recipes/elasticsearch.md.

Run it: python examples/recipes/elasticsearch.py

It needs a server, which the page describes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = [
    "org.springframework.data:spring-data-elasticsearch:5.5.13",
    "io.projectreactor:reactor-core:3.7.12",
]


def titles(address: str) -> list[str]:
    with jvm.launch(packages=PACKAGES) as bridge, connected(bridge, address) as template:
        hits = search(bridge, template, "books", {"match": {"author": "Lem"}})
        return hits.map(lambda hit: hit["content"]["title"]).collect(timeout=60)


SPRING = "org.springframework.data.elasticsearch"


@contextlib.contextmanager
def connected(bridge: Bridge, address: str) -> Iterator[JavaObject]:
    """Open a ReactiveElasticsearchTemplate for a server such as ``"127.0.0.1:9200"``.

    Close its connections on exit.
    """
    builder = bridge.java_class(f"{SPRING}.client.ClientConfiguration").builder()
    configuration = builder.connectedTo(address).withSocketTimeout(60_000).build()
    client = bridge.java_class(f"{SPRING}.client.elc.ElasticsearchClients").createReactive(configuration)
    try:
        mapping = bridge.java_class(f"{SPRING}.core.mapping.SimpleElasticsearchMappingContext")()
        converter = bridge.java_class(f"{SPRING}.core.convert.MappingElasticsearchConverter")(mapping)
        converter.afterPropertiesSet()
        yield bridge.java_class(f"{SPRING}.client.elc.ReactiveElasticsearchTemplate")(client, converter)
    finally:
        client.close()


def save(
    bridge: Bridge, template: JavaObject, index: str, documents: pyrs.Stream[dict[str, Any]], *, batch_size: int = 500
) -> pyrs.Stream[int]:
    """Store documents by sequential bulk requests.

    Emit the number of documents of each request. An entry ``id`` is the document's id.
    """
    place = bridge.java_class(f"{SPRING}.core.mapping.IndexCoordinates").of(index)

    def save_batch(batch: list[dict[str, Any]]) -> pyrs.Stream[int]:
        saved: pyrs.Stream[Any] = bridge.from_jvm(template.saveAll(batch, place))
        return saved.count()

    return documents.buffer(batch_size).concat_map(save_batch, prefetch=1)


def search(
    bridge: Bridge, template: JavaObject, index: str, query: Mapping[str, Any], *, page_size: int = 500
) -> pyrs.Stream[dict[str, Any]]:
    """Return all matches, in index order: dicts with ``id``, ``content``, ``score`` ..."""
    place = bridge.java_class(f"{SPRING}.core.mapping.IndexCoordinates").of(index)
    document = bridge.java_class("java.util.Map")
    string_query = bridge.java_class(f"{SPRING}.core.query.StringQuery")
    point_in_time = bridge.java_class(f"{SPRING}.core.query.Query$PointInTime")
    first_page = bridge.java_class("org.springframework.data.domain.PageRequest").of(0, page_size)
    by_place = bridge.java_class("org.springframework.data.domain.Sort").by("_shard_doc")
    kept = bridge.java_class("java.time.Duration").ofMinutes(5)

    async def all_of(publisher: JavaObject) -> list[Any]:
        values: pyrs.Stream[Any] = bridge.from_jvm(publisher, convert="values")
        return await values.to_list()

    async def pages() -> AsyncIterator[list[dict[str, Any]]]:
        [point] = await all_of(template.openPointInTime(place, kept))
        try:
            page: list[dict[str, Any]] = []
            while True:
                search_query = string_query(json.dumps(query), first_page)
                search_query.addSort(by_place)
                search_query.setPointInTime(point_in_time(point, kept))
                if page:
                    search_query.setSearchAfter(page[-1]["sortValues"])
                page = await all_of(template.search(search_query, document, place))
                if not page:
                    return
                yield page
        finally:
            await all_of(template.closePointInTime(point))

    return pyrs.defer(lambda: pyrs.from_async_iterable(pages()).concat_map(pyrs.from_iterable, prefetch=1))


def search_ahead(
    bridge: Bridge, template: JavaObject, index: str, query: Mapping[str, Any], *, page_size: int = 100
) -> pyrs.Stream[dict[str, Any]]:
    """Like ``search``, but with up to 256 prefetched pages in the JVM."""
    place = bridge.java_class(f"{SPRING}.core.mapping.IndexCoordinates").of(index)

    def run() -> pyrs.Stream[dict[str, Any]]:
        search_query = bridge.java_class(f"{SPRING}.core.query.StringQuery")(json.dumps(query))
        search_query.setPageable(bridge.java_class("org.springframework.data.domain.Pageable").unpaged())
        search_query.setReactiveBatchSize(page_size)
        found = template.search(search_query, bridge.java_class("java.util.Map"), place)
        hits: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(found, convert="values")
        return hits

    return pyrs.defer(run)


print(titles("127.0.0.1:9200"))
