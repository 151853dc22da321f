"""A Kafka broker in KRaft mode: one node that is its own controller, from Maven Central."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyrs.jvm import Bridge, JavaObject
from pyrs.jvm.packages import resolve
from tests.interop.harness import DEADLINE
from tests.interop.systems.servers import START_SECONDS, free_port, listening, logged, running, small_java

PACKAGES = ("org.apache.kafka:kafka_2.13:3.9.1", "org.slf4j:slf4j-simple:1.7.36")
TOPICS = itertools.count(1)

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
auto.create.topics.enable=false
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
"""


def install() -> list[Path]:
    """Fetch the jars of the broker unless they are present."""
    return resolve(PACKAGES)


@contextlib.contextmanager
def kafka_broker(folder: Path) -> Iterator[str]:
    """Start a broker and yield its address, as in ``bootstrap.servers``."""
    classpath = ":".join(map(str, install()))
    port = free_port()
    properties = folder / "server.properties"
    properties.write_text(PROPERTIES.format(port=port, controller=free_port(), folder=folder), encoding="utf-8")
    start = [*small_java("256m"), "-cp", classpath]
    identity = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formatting = [*start, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(properties)]
    done = subprocess.run(formatting, capture_output=True, text=True, timeout=START_SECONDS)
    if done.returncode:
        raise RuntimeError(f"the storage of the broker could not be formatted: {(done.stdout + done.stderr)[-2000:]}")
    log = folder / "output.log"
    with running(
        [*start, "kafka.Kafka", str(properties)],
        folder,
        lambda: logged(log, "Kafka Server started") and listening(port),
    ):
        yield f"127.0.0.1:{port}"


class Cluster:
    """The state of the broker, and topics with one partition."""

    def __init__(self, bridge: Bridge, servers: str) -> None:
        self._bridge = bridge
        self._admin = bridge.java_class("org.apache.kafka.clients.admin.Admin").create({"bootstrap.servers": servers})

    def close(self) -> None:
        self._admin.close()

    def done(self, future: JavaObject) -> Any:
        return self._bridge.from_jvm(future.toCompletionStage(), convert="references").result(DEADLINE)

    def topic(self, name: str = "") -> str:
        name = name or f"topic-{next(TOPICS)}"
        topic = self._bridge.java_class("org.apache.kafka.clients.admin.NewTopic")(name, 1, 1)
        self.done(self._admin.createTopics([topic]).all())
        return name

    def committed(self, group: str, topic: str) -> int | None:
        """Return the committed offset of a group."""
        offsets = self.done(self._admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
        offset = offsets.get(self.partition(topic))
        return None if offset is None else int(offset.offset())

    def end(self, topic: str) -> int:
        """Return the offset of the next record."""
        latest = self._bridge.java_class("org.apache.kafka.clients.admin.OffsetSpec").latest()
        partition = self.partition(topic)
        return int(self.done(self._admin.listOffsets({partition: latest}).partitionResult(partition)).offset())

    def members(self, group: str) -> int:
        description = self.done(self._admin.describeConsumerGroups([group]).describedGroups().get(group))
        return int(description.members().size())

    def partition(self, topic: str) -> JavaObject:
        partition: JavaObject = self._bridge.java_class("org.apache.kafka.common.TopicPartition")(topic, 0)
        return partition

    def deny(self, topic: str) -> None:
        """Deny all operations on the topic to all users."""
        acl = "org.apache.kafka.common.acl."
        resource = "org.apache.kafka.common.resource."
        find = self._bridge.java_class
        entry = find(acl + "AccessControlEntry")(
            "User:*", "*", find(acl + "AclOperation").ALL, find(acl + "AclPermissionType").DENY
        )
        pattern = find(resource + "ResourcePattern")(
            find(resource + "ResourceType").TOPIC, topic, find(resource + "PatternType").LITERAL
        )
        self.done(self._admin.createAcls([find(acl + "AclBinding")(pattern, entry)]).all())
