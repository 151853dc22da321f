"""A Cassandra node from Maven Central, with the JVM flags of its jvm17-server.options."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pyrs.jvm.packages import resolve
from tests.interop.systems.servers import free_port, listening, logged, running, small_java

VERSION = "5.0.6"
PACKAGES = (f"org.apache.cassandra:cassandra-all:{VERSION}",)
DATACENTER = "datacenter1"

EXPORTS = (
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.attach/sun.tools.attach",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.unsupported/sun.misc",
)
OPENS = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.util",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
)
ALONE = ("skip_wait_for_gossip_to_settle=0", "ring_delay_ms=1", "superuser_setup_delay_ms=0")
"""A single node need not wait for others."""

CONFIGURATION = """
cluster_name: pyrs
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
commitlog_sync: periodic
commitlog_sync_period: 10s
listen_address: 127.0.0.1
storage_port: {storage}
rpc_address: 127.0.0.1
native_transport_port: {port}
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "127.0.0.1:{storage}"}}]
"""
LOGGING = """
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %d{HH:mm:ss.SSS} %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="console"/></root>
</configuration>
"""


def install() -> list[Path]:
    """Fetch the jars of the node unless they are present."""
    return resolve(PACKAGES)


@contextlib.contextmanager
def cassandra_server(folder: Path) -> Iterator[int]:
    """Start a node and yield its CQL port."""
    jars = install()
    [agent] = [jar for jar in jars if jar.name.startswith("jamm-")]
    port = free_port()
    configuration = folder / "cassandra.yaml"
    configuration.write_text(CONFIGURATION.format(port=port, storage=free_port()), encoding="utf-8")
    logging = folder / "logback.xml"
    logging.write_text(LOGGING, encoding="utf-8")
    properties = {
        "cassandra.config": configuration.as_uri(),
        "cassandra.storagedir": folder,
        "cassandra-foreground": "yes",
        "logback.configurationFile": logging,
        "jdk.attach.allowAttachSelf": "true",
        "io.netty.tryReflectionSetAccessible": "true",
    }
    command = [*small_java("512m"), f"-javaagent:{agent}"]
    command += [f"--add-exports={each}=ALL-UNNAMED" for each in EXPORTS]
    command += [f"--add-opens={each}=ALL-UNNAMED" for each in OPENS]
    command += [f"-D{key}={value}" for key, value in properties.items()]
    command += [f"-Dcassandra.{each}" for each in ALONE]
    command += ["-cp", ":".join(map(str, jars)), "org.apache.cassandra.service.CassandraDaemon"]
    log = folder / "output.log"
    with running(
        command,
        folder,
        lambda: logged(log, "Startup complete") and listening(port),
    ):
        yield port
