"""Apache Kafka through Reactor Kafka, against a broker in KRaft mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.brokers import EndObserver, first_batch, refuse, sent
from tests.interop.systems.kafka_broker import Cluster, install, kafka_broker
from tests.interop.systems.system import System
from tests.project.tutorial import blocks, constant, ended_within, rows_of, started, top
from tests.waiting import eventually

SYSTEM = System(
    name="Apache Kafka",
    packages=("io.projectreactor.kafka:reactor-kafka:1.3.25",),
    component="Kafka 3.9.1, a broker in KRaft mode",
    source="`KafkaReceiver.receive()`: `ReceiverRecord`, which Python acknowledges, or dicts",
    sink="`KafkaSender.send`, `sendTransactionally`: dicts or `SenderRecord` in, `SenderResult` or dicts back",
    ordering="kept within a partition",
    delivery="at least once: a record is committed after Python acknowledges it; a transaction is written completely "
    "or not at all",
    cancel="commits the acknowledged records, leaves the group, closes the consumer",
    gateways=("jpype", "spark"),
    server_process="a Kafka broker from Maven Central",
    install=install,
)
BATCH = 10
RECORDS = 200
IN_FLIGHT = 64
SENT_AHEAD = 512  # Reactor's queue of 256 before the producer, the results in flight, and a refill
ORDERS = 5_000
FRAME = 500
READ_AHEAD = 5 * BATCH  # Reactor Kafka may have polled one delivered batch and a few more


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def cluster(bridge: Bridge, servers: str) -> Iterator[Cluster]:
    cluster = Cluster(bridge, servers)
    yield cluster
    cluster.close()


Options = Callable[..., Any]


@pytest.fixture
def options(bridge: Bridge, recipe: ModuleType, servers: str) -> Callable[..., JavaObject]:
    """Return a function that creates the options of a receiver."""

    def create(topic: str, group: str, **more: str) -> Any:
        properties = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
        more = {name.replace("_", "."): value for name, value in more.items()}
        return recipe.receiver_options(bridge, {"max.poll.records": str(BATCH), **properties, **more}, topic)

    return create


@pytest.fixture
def sender(bridge: Bridge, recipe: ModuleType, servers: str) -> Iterator[JavaObject]:
    with recipe.open_sender(bridge, {"bootstrap.servers": servers, "acks": "all"}) as sender:
        yield sender


@pytest.fixture
def full(bridge: Bridge, recipe: ModuleType, cluster: Cluster, sender: JavaObject) -> str:
    """A topic with RECORDS records."""
    topic = cluster.topic()
    results = recipe.send(bridge, sender, dicts(topic, range(RECORDS))).collect(timeout=DEADLINE)
    assert [(result["offset"], result["correlation"]) for result in results] == [(n, n) for n in range(RECORDS)]
    return topic


def dicts(topic: str, numbers: Iterable[int]) -> pyrs.Stream[dict[str, Any]]:
    """Return a record for each number."""
    return pyrs.from_iterable(numbers).map(
        lambda number: {"topic": topic, "key": f"key-{number}", "value": f"value-{number}", "correlation": number}
    )


class TestRecordsIntoPython:
    def test_program_on_the_page_runs(
        self,
        program: ModuleType,
        bridge: Bridge,
        cluster: Cluster,
        sender: JavaObject,
        servers: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        program.send(bridge, sender, dicts(cluster.topic("orders"), range(3))).collect(timeout=DEADLINE)
        records, count = first_batch(program, lambda: program.print_orders(servers), monkeypatch)
        assert [record["value"] for record in records] == [f"value-{number}" for number in range(count)]
        eventually(lambda: cluster.committed("printing", "orders") == count)

    def test_all_elements_arrive(
        self, bridge: Bridge, recipe: ModuleType, full: str, options: Options, cluster: Cluster
    ) -> None:
        seen: list[dict[str, Any]] = []
        counts: list[int] = []
        for count in recipe.handled(bridge, options(full, "all"), seen.extend, 16).to_iterable(timeout=DEADLINE):
            counts.append(count)
            if sum(counts) == RECORDS:
                break
        assert max(counts) <= 16
        assert [(record["offset"], record["key"], record["value"]) for record in seen] == [
            (number, f"key-{number}", f"value-{number}") for number in range(RECORDS)
        ]
        eventually(lambda: cluster.committed("all", full) == RECORDS)

    def test_demand_is_bounded(self, bridge: Bridge, full: str, options: Options, cluster: Cluster) -> None:
        """With seven elements requested, the consumer reads only a few batches ahead."""
        requested: list[int] = []
        receiver = bridge.java_class("reactor.kafka.receiver.KafkaReceiver").create(options(full, "demand"))
        flux = receiver.receive().doOnRequest(
            bridge.to_jvm_callable(requested.append, "java.util.function.LongConsumer")
        )
        received = TestSubscriber(7, timeout=DEADLINE)
        bridge.from_jvm(flux, exact=True, convert="references").subscribe(received)
        received.await_count(7)
        position = bridge.to_jvm_callable(
            lambda consumer: consumer.position(cluster.partition(full)), "java.util.function.Function"
        )
        for _ in range(3):
            assert bridge.from_jvm(receiver.doOnConsumer(position).toFuture()).result(DEADLINE) <= READ_AHEAD
        assert requested == [7]
        assert len(received.elements) == 7
        received.cancel()
        eventually(lambda: cluster.members("demand") == 0)

    def test_unacknowledged_elements_are_redelivered_after_a_cancel(
        self, bridge: Bridge, recipe: ModuleType, full: str, options: Options, cluster: Cluster
    ) -> None:
        """Seven arrived and five were acknowledged, so the next consumer starts with the sixth."""
        before = sent(bridge)
        received = TestSubscriber(7, timeout=DEADLINE)
        recipe.records(bridge, options(full, "again")).subscribe(received)
        first = received.await_count(7)
        for record in first[:5]:
            record.receiverOffset().acknowledge()
        assert sent(bridge) - before == 7
        assert cluster.members("again") == 1
        received.cancel()
        eventually(lambda: cluster.members("again") == 0)
        assert cluster.committed("again", full) == 5
        assert [record.offset() for record in received.elements] == list(range(7))
        rest = recipe.records(bridge, options(full, "again")).take(RECORDS - 5).collect(timeout=DEADLINE)
        assert [record.offset() for record in rest] == list(range(5, RECORDS))

    def test_failing_handler_acknowledges_nothing(
        self, bridge: Bridge, recipe: ModuleType, full: str, options: Options, cluster: Cluster
    ) -> None:
        """The batch of the handler is not acknowledged, and the consumer is closed."""
        with pytest.raises(LookupError, match="no such account"):
            recipe.handled(bridge, options(full, "raising"), refuse, 16).collect(timeout=DEADLINE)
        eventually(lambda: cluster.members("raising") == 0)
        assert cluster.committed("raising", full) is None

    def test_sequential_receivers_lose_no_record(
        self, bridge: Bridge, recipe: ModuleType, full: str, options: Options
    ) -> None:
        """Each receiver starts while the previous one is closing, in the middle of a batch."""
        offsets: list[int] = []
        for _ in range(4):
            seen: list[dict[str, Any]] = []
            recipe.handled(bridge, options(full, "turns"), seen.extend, 25).take(1).collect(timeout=DEADLINE)
            offsets += [record["offset"] for record in seen]
        assert offsets == list(range(len(offsets)))
        assert len(offsets) > 4

    def test_forbidden_topic_is_a_read_error(
        self, bridge: Bridge, recipe: ModuleType, options: Options, cluster: Cluster
    ) -> None:
        topic = cluster.topic()
        cluster.deny(topic)
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.records(bridge, options(topic, "denied")).subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class == "org.apache.kafka.common.errors.TopicAuthorizationException"
        assert str(error).endswith(f"Not authorized to access topics: [{topic}]")
        assert received.elements == []

    def test_undeserializable_value_fails_the_stream(
        self, bridge: Bridge, recipe: ModuleType, full: str, options: Options, cluster: Cluster
    ) -> None:
        whole = bridge.java_class("org.apache.kafka.common.serialization.IntegerDeserializer")
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.records(bridge, options(full, "integers").withValueDeserializer(whole())).subscribe(received)
        error = received.await_error(JavaError)
        assert error.java_class.endswith("RecordDeserializationException")
        assert "at offset 0" in str(error)
        eventually(lambda: cluster.members("integers") == 0)


class TestPythonIntoATopic:
    def test_sending_before_a_result_is_requested_is_bounded(
        self, bridge: Bridge, recipe: ModuleType, cluster: Cluster, sender: JavaObject
    ) -> None:
        topic = cluster.topic()
        source = Watched(lambda: ({"topic": topic, "value": f"{number}"} for number in itertools.count()))
        results = TestSubscriber(timeout=DEADLINE)
        recipe.send(bridge, sender, source).subscribe(results)
        eventually(lambda: cluster.end(topic) == IN_FLIGHT)
        results.request(1)
        results.await_count(1)
        assert cluster.end(topic) == IN_FLIGHT
        assert source.requested == 256
        results.cancel()
        assert source.cancelled.wait(DEADLINE)

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, cluster: Cluster, sender: JavaObject
    ) -> None:
        topic = cluster.topic()
        source = Watched(lambda: ({"topic": topic, "value": f"{number}"} for number in itertools.count()))
        results = TestSubscriber(5, timeout=DEADLINE)
        recipe.send(bridge, sender, source).subscribe(results)
        assert [result["offset"] for result in results.await_count(5)] == list(range(5))
        results.cancel()
        assert source.cancelled.wait(DEADLINE)
        assert len(results.elements) == 5
        assert source.requested <= SENT_AHEAD

    def test_completion_waits_for_all_results(
        self, bridge: Bridge, recipe: ModuleType, cluster: Cluster, sender: JavaObject
    ) -> None:
        """Reactor Kafka may lose results that arrive after its source has completed."""
        topic = cluster.topic()
        observer = EndObserver(bridge, sender, "send")
        results = TestSubscriber(2, timeout=DEADLINE)
        recipe.send(bridge, observer, dicts(topic, range(3))).subscribe(results)
        results.await_count(2)
        eventually(lambda: cluster.end(topic) == 3)
        assert not observer.end.is_set()
        results.request(1)
        assert observer.end.wait(DEADLINE)
        assert [result["offset"] for result in results.await_complete()] == [0, 1, 2]

    def test_empty_stream_completes(self, bridge: Bridge, recipe: ModuleType, sender: JavaObject) -> None:
        assert recipe.send(bridge, sender, pyrs.empty()).collect(timeout=DEADLINE) == []

    def test_publisher_error_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, options: Options, cluster: Cluster, sender: JavaObject
    ) -> None:
        """Earlier records are in the topic, although the error overtakes their results."""
        topic = cluster.topic()
        failing = Watched(lambda: iter([{"topic": topic, "value": "first"}]), LookupError("no second"))
        results = TestSubscriber(10, timeout=DEADLINE)
        recipe.send(bridge, sender, failing).subscribe(results)
        error = results.await_error()
        assert isinstance(error, LookupError)
        assert str(error) == "no second"
        assert values(recipe.records(bridge, options(topic, "failed")), 1) == ["first"]

    def test_forbidden_topic_is_a_write_error(
        self, bridge: Bridge, recipe: ModuleType, cluster: Cluster, sender: JavaObject
    ) -> None:
        topic = cluster.topic()
        cluster.deny(topic)
        source = Watched(lambda: itertools.repeat({"topic": topic, "value": "lost"}))
        results = TestSubscriber(10, timeout=DEADLINE)
        recipe.send(bridge, sender, source).subscribe(results)
        error = results.await_error(JavaError)
        assert error.java_class == "org.apache.kafka.common.errors.TopicAuthorizationException"
        assert results.elements == []
        assert source.cancelled.wait(DEADLINE)


class TestTransactions:
    def test_transactions_commit_and_abort(
        self, bridge: Bridge, recipe: ModuleType, servers: str, options: Options, cluster: Cluster
    ) -> None:
        topic = cluster.topic()
        with recipe.open_sender(bridge, {"bootstrap.servers": servers, "transactional.id": topic}) as sender:

            def transaction(*texts: str) -> pyrs.Stream[dict[str, Any]]:
                return pyrs.from_iterable([{"topic": topic, "value": text} for text in texts])

            recipe.send_in_transactions(bridge, sender, pyrs.just(transaction("a", "b"), transaction("c")))
            broken = transaction("d").concat(pyrs.error(LookupError("no e")))
            with pytest.raises(LookupError, match="no e"):
                recipe.send_in_transactions(bridge, sender, pyrs.just(broken))
            recipe.send_in_transactions(bridge, sender, pyrs.just(transaction("f")))
        committed = recipe.records(bridge, options(topic, "committed", isolation_level="read_committed"))
        assert values(committed, 4) == ["a", "b", "c", "f"]


class TestTutorial:
    @pytest.mark.timeout(600, func_only=True)
    def test_slow_spark_slows_kafka(
        self, bridge: Bridge, recipe: ModuleType, cluster: Cluster, sender: JavaObject, servers: str, tmp_path: Path
    ) -> None:
        """The program of docs/tutorial.md runs as a user starts it, with a separate Spark driver."""
        [code], [last_lines] = blocks("needs a server"), blocks("last lines")
        shown = rows_of(blocks("top")[1])[0]
        topic = cluster.topic()
        orders = pyrs.range(1, ORDERS + 1).map(lambda number: {"topic": topic, "value": f"order {number}"})
        recipe.send(bridge, sender, orders).collect(timeout=DEADLINE)
        code = code.replace("127.0.0.1:9092", servers).replace('["orders"]', f'["{topic}"]')
        rows: list[dict[str, str]] = []
        with started(code, tmp_path / "orders.py") as process:
            while not ended_within(process, 0.5):
                rows += [row for row in rows_of(top(tmp_path)) if row["state"] == "live"]
        output = (tmp_path / "output.log").read_text(encoding="utf-8")
        assert process.returncode == 0, (tmp_path / "errors.log").read_text(encoding="utf-8")
        assert last_lines in output
        assert rows, "the stream ended before its status was read"
        for row in rows:
            assert constant(row) == constant(shown)
            assert int(row["demand"]) <= FRAME
            assert int(row["in flight"]) <= FRAME


def values(records: pyrs.Stream[JavaObject], count: int) -> list[str]:
    return [record.value() for record in records.take(count).collect(timeout=DEADLINE)]
