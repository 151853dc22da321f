"""An Elasticsearch node from Maven Central: the server, and HTTP as a module."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyrs.jvm.packages import resolve
from tests.interop.systems.servers import free_port, running, small_java

VERSION = "8.18.8"
MODULE = f"""
name=transport-netty4
description=HTTP and transport
version={VERSION}
elasticsearch.version={VERSION}
java.version=17
classname=org.elasticsearch.transport.netty4.Netty4Plugin
"""
SOURCE = Path(__file__).parent / "java" / "elasticsearch_server" / "ElasticsearchNode.java"


class Node:
    """A running node, and a client of its REST API."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"

    def get(self, path: str) -> Any:
        """Send a GET request, and return the decoded JSON of the response."""
        with urllib.request.urlopen(f"http://{self.address}/{path}", timeout=30) as answer:
            return json.load(answer)

    def searches(self) -> dict[str, int]:
        """Return the counters of searches, such as ``query_total`` and ``open_contexts``."""
        [node] = self.get("_nodes/stats/indices/search")["nodes"].values()
        counted: dict[str, int] = node["indices"]["search"]
        return counted

    def ready(self) -> bool:
        """Return whether the node answers."""
        try:
            return bool(self.get("_cluster/health")["number_of_nodes"])
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def install() -> tuple[list[Path], list[Path]]:
    """Fetch the jars of the server and of the module unless they are present."""
    server = resolve([f"org.elasticsearch:elasticsearch:{VERSION}"])
    known = {jar.name for jar in server}
    module = resolve([f"org.elasticsearch.plugin:transport-netty4:{VERSION}"])
    return server, [jar for jar in module if jar.name not in known]


@contextlib.contextmanager
def elasticsearch(folder: Path) -> Iterator[Node]:
    """Start a node with its data in the folder, and stop it at the end."""
    server, of_the_module = install()
    module = folder / "modules" / "transport-netty4"
    module.mkdir(parents=True)
    (module / "plugin-descriptor.properties").write_text(MODULE, encoding="utf-8")
    for jar in of_the_module:
        (module / jar.name).symlink_to(jar)
    node = Node(port := free_port())
    classpath = ":".join(map(str, server))
    with running([*small_java("512m"), "-cp", classpath, str(SOURCE), str(folder), str(port)], folder, node.ready):
        yield node
