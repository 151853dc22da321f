"""MongoDB: the recipe of docs/recipes/mongodb.md.

Run it: python examples/recipes/mongodb.py

It needs a server, which the page describes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["org.mongodb:mongodb-driver-reactivestreams:5.8.0", "io.projectreactor:reactor-core:3.7.12"]


def names(uri: str) -> list[str]:
    with jvm.launch(packages=PACKAGES) as bridge:
        client = connect(bridge, uri)
        try:
            found = find(bridge, collection(bridge, client, "shop", "customers"), {"active": True})
            return found.map(lambda customer: customer["name"]).collect(timeout=60)
        finally:
            client.close()


def connect(bridge: Bridge, uri: str) -> JavaObject:
    """Open a client, which owns connections and must be closed.

    Use one for each process and cluster.
    """
    client: JavaObject = bridge.java_class("com.mongodb.reactivestreams.client.MongoClients").create(uri)
    return client


def collection(bridge: Bridge, client: JavaObject, database: str, name: str) -> JavaObject:
    """Return a collection of Java maps, which are dicts in Python."""
    result: JavaObject = client.getDatabase(database).getCollection(name, bridge.java_class("java.util.Map"))
    return result


def find(bridge: Bridge, collection: JavaObject, filter: Mapping[str, Any]) -> pyrs.Stream[dict[str, Any]]:
    """Return the matching documents, in the order of the cursor."""
    query = bridge.java_class("org.bson.Document")(dict(filter))
    found: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(collection.find(query), convert="values")
    return found


def by_id(bridge: Bridge, collection: JavaObject, text: str) -> pyrs.Stream[dict[str, Any]]:
    return find(bridge, collection, {"_id": bridge.java_class("org.bson.types.ObjectId")(text)})


def insert(
    bridge: Bridge, collection: JavaObject, documents: pyrs.Stream[dict[str, Any]], *, batch_size: int = 100
) -> pyrs.Stream[int]:
    """Insert documents in sequential batches; emit the count of each."""

    def insert_batch(batch: list[dict[str, Any]]) -> pyrs.Stream[int]:
        stored: pyrs.Stream[JavaObject] = bridge.from_jvm(collection.insertMany(batch))
        return stored.map(lambda result: len(batch))

    return documents.buffer(batch_size).concat_map(insert_batch, prefetch=1)


def upload(
    bridge: Bridge, client: JavaObject, database: str, name: str, chunks: pyrs.Publisher[bytes]
) -> pyrs.Stream[JavaObject]:
    """Store the chunks as a file on subscription; emit the file's ObjectId."""
    content = bridge.to_jvm(chunks, element_type="java.nio.ByteBuffer")
    stored: pyrs.Stream[JavaObject] = bridge.from_jvm(
        _files(bridge, client, database).uploadFromPublisher(name, content)
    )
    return stored


def download(bridge: Bridge, client: JavaObject, database: str, name: str) -> pyrs.Stream[bytes]:
    content: pyrs.Stream[bytes] = bridge.from_jvm(_files(bridge, client, database).downloadToPublisher(name))
    return content


def _files(bridge: Bridge, client: JavaObject, database: str) -> JavaObject:
    buckets = bridge.java_class("com.mongodb.reactivestreams.client.gridfs.GridFSBuckets")
    bucket: JavaObject = buckets.create(client.getDatabase(database))
    return bucket


def changes(
    bridge: Bridge, collection: JavaObject, after: Mapping[str, Any] | None = None
) -> pyrs.Stream[dict[str, Any]]:
    """Return the endless stream of changes of the collection.

    Args:
        after: the ``_id`` of the last handled change; the stream continues with the next one.
    """
    watch = collection.watch()
    if after is not None:
        watch = watch.resumeAfter(bridge.java_class("org.bson.BsonDocument").parse(json.dumps(after)))
    as_maps = watch.withDocumentClass(bridge.java_class("java.util.Map"))
    changed: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(as_maps, exact=True, convert="values")
    return changed


print(names("mongodb://127.0.0.1"))
