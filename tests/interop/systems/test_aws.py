"""The AWS SDK for Java 2: S3 objects to and from Python, and listings, against a moto server."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.moto_server import install, moto_server
from tests.interop.systems.proxy import TcpProxy, proxy_to
from tests.interop.systems.system import System
from tests.waiting import eventually

SYSTEM = System(
    name="AWS SDK for Java 2",
    packages=("software.amazon.awssdk:s3:2.42.0",),
    component="moto 5.1.22, a server with the S3 protocol",
    server_process="a moto server (PyPI, in a separate virtual environment)",
    install=install,
    source="`AsyncResponseTransformer.toPublisher` (`ByteBuffer` as `bytes`), paginators (`SdkResponse`, `S3Object`: "
    "references or `dict`)",
    sink="`AsyncRequestBody.fromPublisher` (`bytes` as `ByteBuffer`)",
    ordering="kept",
    delivery="each byte once, or an error; an object is stored whole or not at all",
    cancel="closes the connection; a listing requests no further page",
    gateways=("jpype", "spark"),
    status="wire-compatible",
    reason="moto answers instead of Amazon S3. The permissions, limits and throttling of S3 are not tested.",
)

BUCKET = "bucket"
CHUNK = bytes(range(256)) * 64  # 16 KiB
LARGE = 2048  # chunks: 32 MiB
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of the server and the folder of its log."""
    folder = tmp_path_factory.mktemp("moto")
    with moto_server(folder) as port:
        yield port, folder / "output.log"


@pytest.fixture(scope="module")
def proxy(server: tuple[int, Path]) -> Iterator[TcpProxy]:
    with proxy_to(server[0]) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def client(connected: tuple[Bridge, Any], recipe: ModuleType, proxy: TcpProxy) -> Iterator[Any]:
    bridge = connected[0]
    # System properties of the SDK: an environment variable set now does not reach a running JVM.
    system = bridge.java_class("java.lang.System")
    system.setProperty("aws.accessKeyId", "key")
    system.setProperty("aws.secretAccessKey", "secret")
    client = recipe.s3_client(bridge, "us-east-1", f"http://127.0.0.1:{proxy.port}")
    wanted = bridge.java_class("software.amazon.awssdk.services.s3.model.CreateBucketRequest")
    bridge.from_jvm(client.createBucket(wanted.builder().bucket(BUCKET).build())).result(DEADLINE)
    yield client
    client.close()


def test_program_on_the_page_runs(program: ModuleType, bridge: Bridge, client: JavaObject, proxy: TcpProxy) -> None:
    program.write_object(bridge, client, BUCKET, "known", pyrs.just(CHUNK, CHUNK)).result(DEADLINE)
    system = bridge.java_class("java.lang.System")
    system.setProperty("aws.endpointUrlS3", f"http://127.0.0.1:{proxy.port}")
    try:
        assert program.size_of(BUCKET, "known") == 2 * len(CHUNK)
    finally:
        system.clearProperty("aws.endpointUrlS3")


@pytest.mark.parametrize("chunks", [0, 1, LARGE])
def test_bytes_return_unchanged(bridge: Bridge, recipe: ModuleType, client: JavaObject, chunks: int) -> None:
    sent = [number.to_bytes(8, "big") * 2048 for number in range(chunks)]  # distinct parts reveal a wrong order
    content = Watched(lambda: iter(sent))
    response = recipe.write_object(bridge, client, BUCKET, "there", content).result(3 * DEADLINE)
    assert response.eTag()
    stored = recipe.read_object(bridge, client, BUCKET, "there")
    parts = stored.collect(timeout=3 * DEADLINE)
    assert all(type(part) is bytes for part in parts)
    assert b"".join(parts) == b"".join(sent)
    assert content.subscribers == 1


def test_upload_requests_at_most_its_buffer_size(
    bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
) -> None:
    before = proxy.upstream
    ahead: list[int] = []

    def parts() -> Iterator[bytes]:
        for number in range(6 * LARGE):
            ahead.append(number * len(CHUNK) - (proxy.upstream - before))
            yield CHUNK

    recipe.write_object(bridge, client, BUCKET, "large", Watched(parts)).result(4 * DEADLINE)
    assert max(ahead) < 96 * MEBIBYTE  # measured: 50 MiB of 192


def test_demand_and_cancel_reach_the_server(
    bridge: Bridge, recipe: ModuleType, client: JavaObject, proxy: TcpProxy
) -> None:
    recipe.write_object(bridge, client, BUCKET, "watched", pyrs.from_iterable([CHUNK] * LARGE)).result(3 * DEADLINE)
    before = proxy.downstream
    proxy.stalled.clear()
    received = TestSubscriber(3, timeout=DEADLINE)
    recipe.read_object(bridge, client, BUCKET, "watched").subscribe(received)
    received.await_count(3)
    assert proxy.stalled.wait(DEADLINE)
    assert proxy.downstream - before < 8 * MEBIBYTE  # measured: 0.3 MiB of 32
    proxy.client_gone.clear()
    received.cancel()
    assert proxy.client_gone.wait(DEADLINE)
    assert len(received.elements) == 3
    assert not received.ended


def test_cancel_before_the_response_closes_the_connection(bridge: Bridge, recipe: ModuleType) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(DEADLINE)
        waiting = recipe.s3_client(bridge, "us-east-1", f"http://127.0.0.1:{silent.getsockname()[1]}")
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.read_object(bridge, waiting, BUCKET, "key").subscribe(received)
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(DEADLINE)
            assert connection.recv(1 << 16).startswith(b"GET /bucket/key")
            received.cancel()
            assert connection.recv(1 << 16) == b"", "the connection is still open"
        waiting.close()


def test_missing_key_fails_the_stream(bridge: Bridge, recipe: ModuleType, client: JavaObject) -> None:
    received = TestSubscriber(1, timeout=DEADLINE)
    recipe.read_object(bridge, client, BUCKET, "none").subscribe(received)
    error = received.await_error(JavaError)
    assert error.java_class == "software.amazon.awssdk.services.s3.model.NoSuchKeyException"
    assert "does not exist" in str(error)


def test_missing_bucket_cancels_the_python_publisher(bridge: Bridge, recipe: ModuleType, client: JavaObject) -> None:
    content = Watched(lambda: itertools.repeat(CHUNK))
    answer = recipe.write_object(bridge, client, "nowhere", "key", content)
    with pytest.raises(JavaError, match="bucket does not exist"):
        answer.result(DEADLINE)
    assert content.cancelled.wait(DEADLINE)


@pytest.mark.parametrize("chunks", [512, 2 * LARGE])
def test_error_of_the_python_publisher_stores_nothing(
    bridge: Bridge, recipe: ModuleType, client: JavaObject, server: tuple[int, Path], chunks: int
) -> None:
    """An upload larger than the buffer of the SDK has started, and is aborted."""
    error = ValueError("no more bytes")
    content = Watched(lambda: iter([CHUNK] * chunks), error)
    with pytest.raises(JavaError, match="no more bytes") as caught:
        recipe.write_object(bridge, client, BUCKET, "failed", content).result(DEADLINE)
    assert caught.value.__cause__ is error
    with pytest.raises(JavaError, match="does not exist"):
        recipe.read_object(bridge, client, BUCKET, "failed").collect(timeout=DEADLINE)
    if chunks > LARGE:
        aborted = f"DELETE /{BUCKET}/failed?uploadId="
        eventually(lambda: aborted in server[1].read_text(encoding="utf-8"), "the upload was started and not aborted")


@pytest.fixture(scope="module")
def keys(connected: tuple[Bridge, Any], recipe: ModuleType, client: Any) -> list[str]:
    keys = [f"listed/{number:02}" for number in range(10)]
    for key in keys:
        recipe.write_object(connected[0], client, BUCKET, key, pyrs.just(b"x")).result(DEADLINE)
    return keys


class TestListing:
    def test_all_elements_arrive(self, bridge: Bridge, recipe: ModuleType, client: JavaObject, keys: list[str]) -> None:
        found = recipe.objects(bridge, client, BUCKET, page_size=3).collect(timeout=DEADLINE)
        listed = [entry for entry in found if entry["Key"] in keys]
        assert [entry["Key"] for entry in listed] == keys
        assert {entry["Size"] for entry in listed} == {1}
        assert all(type(entry["LastModified"]) is datetime for entry in listed)

    def test_pages_are_requested_on_demand(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, keys: list[str], server: tuple[int, Path]
    ) -> None:
        def pages() -> int:
            return server[1].read_text(encoding="utf-8").count("list-type=2")

        def list_all() -> int:
            before = pages()
            recipe.objects(bridge, client, BUCKET, page_size=3).collect(timeout=DEADLINE)
            return pages() - before

        full = list_all()
        assert full >= 4
        before = pages()
        received = TestSubscriber(2, timeout=DEADLINE)
        recipe.objects(bridge, client, BUCKET, page_size=3).subscribe(received)
        received.await_count(2)
        list_all()  # gives a prefetching client the time to fetch ahead
        assert pages() - before == full + 1
        received.request(2)
        received.await_count(4)
        received.cancel()
        list_all()
        assert pages() - before == 2 * full + 2
        assert not received.ended

    def test_elements_are_values_or_references(
        self, bridge: Bridge, recipe: ModuleType, client: JavaObject, keys: list[str]
    ) -> None:
        wanted = bridge.java_class(f"{recipe.MODEL}.ListObjectsV2Request").builder()
        pages = client.listObjectsV2Paginator(wanted.bucket(BUCKET).prefix("listed/").maxKeys(3).build())
        assert [page.keyCount() for page in bridge.from_jvm(pages).collect(timeout=DEADLINE)] == [3, 3, 3, 1]
        assert [entry.key() for entry in bridge.from_jvm(pages.contents()).collect(timeout=DEADLINE)] == keys
        first, *_ = bridge.from_jvm(pages, convert="values").collect(timeout=DEADLINE)
        assert [entry["Key"] for entry in first["Contents"]] == keys[:3]

    def test_error_is_forwarded(self, bridge: Bridge, recipe: ModuleType, client: JavaObject) -> None:
        received = TestSubscriber(1, timeout=DEADLINE)
        recipe.objects(bridge, client, "nowhere").subscribe(received)
        error = received.await_error(JavaError)
        assert "NoSuchBucketException: The specified bucket does not exist" in str(error)
