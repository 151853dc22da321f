"""AWS SDK for Java 2: the recipe of docs/recipes/aws.md.

Run it: python examples/recipes/aws.py

It needs a server, which the page describes.
"""

from __future__ import annotations

from typing import Any

import pyrs
from pyrs import jvm
from pyrs.jvm import Bridge, JavaFuture, JavaObject

PACKAGES = ["software.amazon.awssdk:s3:2.42.0"]  # includes netty-nio-client, the HTTP client

SDK = "software.amazon.awssdk"


def size_of(bucket: str, key: str) -> int:
    with jvm.launch(packages=PACKAGES) as bridge:
        client = s3_client(bridge, "eu-central-1")
        try:
            return sum(len(part) for part in read_object(bridge, client, bucket, key).to_iterable(timeout=30))
        finally:
            client.close()


def s3_client(bridge: Bridge, region: str, endpoint: str | None = None) -> JavaObject:
    """Create a client, which the caller closes; ``endpoint`` is for servers other than Amazon's."""
    builder = bridge.java_class(f"{SDK}.services.s3.S3AsyncClient").builder()
    builder = builder.region(bridge.java_class(f"{SDK}.regions.Region").of(region)).multipartEnabled(True)
    if endpoint is not None:
        builder = builder.endpointOverride(bridge.java_class("java.net.URI").create(endpoint)).forcePathStyle(True)
    client: JavaObject = builder.build()
    return client


MODEL = f"{SDK}.services.s3.model"


def read_object(bridge: Bridge, client: JavaObject, bucket: str, key: str) -> pyrs.Stream[bytes]:
    """Return the content of an object; each Subscriber makes its own request."""

    def request() -> pyrs.Stream[bytes]:
        object_request = bridge.java_class(f"{MODEL}.GetObjectRequest").builder().bucket(bucket).key(key).build()
        as_publisher = bridge.java_class(f"{SDK}.core.async.AsyncResponseTransformer").toPublisher()
        future = client.getObject(object_request, as_publisher)
        response: JavaFuture = bridge.from_jvm(future)
        content: pyrs.Stream[bytes] = response.concat_map(lambda publisher: publisher, prefetch=1)
        return content.do_on_cancel(lambda: future.cancel(True))

    return pyrs.defer(request)


def write_object(
    bridge: Bridge, client: JavaObject, bucket: str, key: str, content: pyrs.Publisher[bytes]
) -> JavaFuture:
    """Store content of any length; the result is the PutObjectResponse."""
    publisher = bridge.to_jvm(content, element_type="java.nio.ByteBuffer")
    body = bridge.java_class(f"{SDK}.core.async.AsyncRequestBody").fromPublisher(publisher)
    target = bridge.java_class(f"{MODEL}.PutObjectRequest").builder().bucket(bucket).key(key).build()
    stored: JavaFuture = bridge.from_jvm(client.putObject(target, body))
    return stored


def objects(bridge: Bridge, client: JavaObject, bucket: str, page_size: int = 1000) -> pyrs.Stream[dict[str, Any]]:
    """List the objects of a bucket by key, as dicts with ``Key``, ``Size`` ..."""
    list_request = (
        bridge.java_class(f"{MODEL}.ListObjectsV2Request").builder().bucket(bucket).maxKeys(page_size).build()
    )
    listing = client.listObjectsV2Paginator(list_request).contents()
    found: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(listing, convert="values", exact=True)
    return found


print(size_of("my-bucket", "my/key"))
