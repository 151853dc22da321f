"""RabbitMQ through Reactor RabbitMQ, against the Debian server."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import pytest

import pyrs
from pyrs.errors import JavaError
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Watched
from tests.interop.systems.brokers import EndObserver, first_batch, refuse, sent
from tests.interop.systems.rabbitmq_broker import Broker, Node, install, rabbitmq_broker
from tests.interop.systems.system import System
from tests.waiting import eventually

SYSTEM = System(
    name="RabbitMQ",
    packages=("io.projectreactor.rabbitmq:reactor-rabbitmq:1.5.6", "io.projectreactor:reactor-core:3.7.12"),
    component="rabbitmq-server 3.10.8 of Debian 12",
    source="`Receiver.consumeManualAck`: `AcknowledgableDelivery`, which Python acknowledges, or dicts",
    sink="`Sender.sendWithPublishConfirms`: dicts or `OutboundMessage` in, `OutboundMessageResult` or dicts back",
    ordering="kept within a queue; redelivered messages keep their position; confirms in any order",
    delivery="at least once: a message leaves the queue when Python has acknowledged it",
    cancel="closes the channel; unacknowledged messages are requeued",
    gateways=("jpype", "spark"),
    server_process="rabbitmq-server of Debian",
    install=install,
)
QUEUES = itertools.count(1)
MESSAGES = 100
QOS = 10
IN_FLIGHT = 64


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with rabbitmq_broker(tmp_path_factory.mktemp("rabbitmq")) as node:
        yield node


@pytest.fixture
def factory(bridge: Bridge, recipe: ModuleType, node: Node) -> JavaObject:
    factory: JavaObject = recipe.connections(bridge, node.port)
    factory.setNetworkRecoveryInterval(100)
    return factory


@pytest.fixture
def sender(bridge: Bridge, recipe: ModuleType, factory: JavaObject) -> Iterator[JavaObject]:
    with recipe.open_sender(bridge, factory) as sender:
        yield sender


@pytest.fixture
def receiver(bridge: Bridge, recipe: ModuleType, factory: JavaObject) -> Iterator[JavaObject]:
    with recipe.open_receiver(bridge, factory) as receiver:
        yield receiver


@pytest.fixture
def broker(bridge: Bridge, sender: JavaObject) -> Broker:
    return Broker(bridge, sender)


@pytest.fixture
def queue(bridge: Bridge, recipe: ModuleType, sender: JavaObject) -> str:
    name = f"queue-{next(QUEUES)}"
    recipe.declare_queue(bridge, sender, name)
    return name


@pytest.fixture
def full(bridge: Bridge, recipe: ModuleType, sender: JavaObject, queue: str) -> str:
    """A queue with MESSAGES messages."""
    confirms = recipe.send(bridge, sender, messages(queue, BODIES)).collect(timeout=DEADLINE)
    assert [confirm["ack"] for confirm in confirms] == [True] * MESSAGES
    assert sorted(confirm["message"]["body"] for confirm in confirms) == sorted(BODIES)
    return queue


BODIES = [b"%d" % number for number in range(MESSAGES)]


def messages(queue: str, bodies: Iterable[bytes]) -> pyrs.Stream[dict[str, Any]]:
    return pyrs.from_iterable(bodies).map(lambda body: {"exchange": "", "routing_key": queue, "body": body})


class TestAQueueIntoPython:
    def test_program_on_the_page_runs(
        self,
        program: ModuleType,
        bridge: Bridge,
        sender: JavaObject,
        broker: Broker,
        node: Node,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        program.declare_queue(bridge, sender, "orders")
        program.send(bridge, sender, messages("orders", BODIES[:3])).collect(timeout=DEADLINE)
        deliveries, count = first_batch(program, lambda: program.print_orders(node.port), monkeypatch)
        assert [delivery["body"] for delivery in deliveries] == BODIES[:count]
        eventually(lambda: broker.ready("orders") == 3 - count)

    def test_all_elements_arrive(
        self, bridge: Bridge, recipe: ModuleType, receiver: JavaObject, full: str, broker: Broker
    ) -> None:
        seen: list[dict[str, Any]] = []
        counts: list[int] = []
        for count in recipe.handled(bridge, receiver, full, seen.extend, QOS).to_iterable(timeout=DEADLINE):
            counts.append(count)
            if sum(counts) == MESSAGES:
                break
        assert max(counts) <= QOS
        assert [delivery["body"] for delivery in seen] == BODIES
        assert {(delivery["routing_key"], delivery["redelivered"]) for delivery in seen} == {(full, False)}
        eventually(lambda: broker.consumers(full) == 0)
        assert broker.ready(full) == 0

    def test_demand_is_bounded(
        self, bridge: Bridge, recipe: ModuleType, receiver: JavaObject, full: str, broker: Broker
    ) -> None:
        """The broker sends QOS unacknowledged messages, although three are requested."""
        received = TestSubscriber(3, timeout=DEADLINE)
        recipe.deliveries(bridge, receiver, full, QOS).subscribe(received)
        assert [delivery.getBody() for delivery in received.await_count(3)] == BODIES[:3]
        eventually(lambda: broker.ready(full) == MESSAGES - QOS)
        received.elements[0].ack(False)
        eventually(lambda: broker.ready(full) == MESSAGES - QOS - 1)
        assert len(received.elements) == 3
        received.cancel()
        eventually(lambda: broker.ready(full) == MESSAGES - 1)

    def test_unacknowledged_elements_are_redelivered_after_a_cancel(
        self, bridge: Bridge, recipe: ModuleType, receiver: JavaObject, full: str, broker: Broker
    ) -> None:
        """The next consumer receives all but the five acknowledged messages, in order."""
        before = sent(bridge)
        received = TestSubscriber(7, timeout=DEADLINE)
        recipe.deliveries(bridge, receiver, full, QOS).subscribe(received)
        for delivery in received.await_count(7)[:5]:
            delivery.ack(False)
        assert sent(bridge) - before == 7
        assert broker.consumers(full) == 1
        received.cancel()
        eventually(lambda: broker.consumers(full) == 0)
        eventually(lambda: broker.ready(full) == MESSAGES - 5)
        again = TestSubscriber(MESSAGES - 5, timeout=DEADLINE, on_element=lambda _, delivery: delivery.ack(False))
        recipe.deliveries(bridge, receiver, full, QOS).subscribe(again)
        assert [delivery.getBody() for delivery in again.await_count(MESSAGES - 5)] == BODIES[5:]
        redelivered = [delivery.getEnvelope().isRedeliver() for delivery in again.elements]
        assert 2 <= sum(redelivered) <= QOS
        assert redelivered == sorted(redelivered, reverse=True)
        again.cancel()
        eventually(lambda: broker.consumers(full) == 0)
        assert broker.ready(full) == 0

    def test_failing_handler_acknowledges_nothing(
        self, bridge: Bridge, recipe: ModuleType, receiver: JavaObject, full: str, broker: Broker
    ) -> None:
        """The batch of the handler is requeued."""
        with pytest.raises(LookupError, match="no such account"):
            recipe.handled(bridge, receiver, full, refuse, QOS).collect(timeout=DEADLINE)
        eventually(lambda: broker.consumers(full) == 0)
        eventually(lambda: broker.ready(full) == MESSAGES)

    def test_stream_resumes_after_a_broken_connection(
        self, bridge: Bridge, recipe: ModuleType, receiver: JavaObject, full: str, node: Node
    ) -> None:
        """The next connection redelivers the unacknowledged messages."""
        received = TestSubscriber(MESSAGES, timeout=DEADLINE)
        recipe.deliveries(bridge, receiver, full, QOS).subscribe(received)
        for delivery in received.await_count(QOS)[:5]:
            delivery.ack(False)
        before = len(received.await_count(QOS + 5))
        node.close_connections()
        received.await_count(before + QOS)
        again = [delivery.getBody() for delivery in received.elements[before:]]
        assert again[:QOS] == BODIES[5 : 5 + QOS]
        assert not received.ended
        received.cancel()

    def test_missing_queue_fails_the_stream(self, bridge: Bridge, recipe: ModuleType, receiver: JavaObject) -> None:
        received = TestSubscriber(10, timeout=DEADLINE)
        recipe.deliveries(bridge, receiver, "nowhere", QOS).subscribe(received)
        assert "NOT_FOUND - no queue 'nowhere'" in messages_of(received.await_error())
        assert received.elements == []

    def test_wrong_password_fails_the_stream(self, bridge: Bridge, recipe: ModuleType, node: Node) -> None:
        with recipe.open_receiver(bridge, recipe.connections(bridge, node.port, password="wrong")) as receiver:
            received = TestSubscriber(10, timeout=DEADLINE)
            recipe.deliveries(bridge, receiver, "nowhere", QOS).subscribe(received)
            assert "ACCESS_REFUSED" in messages_of(received.await_error())


class TestPythonIntoAQueue:
    def test_message_properties_are_sent(
        self, bridge: Bridge, recipe: ModuleType, sender: JavaObject, receiver: JavaObject, queue: str
    ) -> None:
        properties = {
            "content_type": "text/plain",
            "headers": {"tries": 3, "by": "Python"},
            "delivery_mode": 2,
            "message_id": "m-1",
            "timestamp": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc),
        }
        sent = messages(queue, [b"x"]).map(lambda message: {**message, "properties": properties})
        [confirm] = recipe.send(bridge, sender, sent).collect(timeout=DEADLINE)
        assert confirm["ack"]
        seen: list[dict[str, Any]] = []
        recipe.handled(bridge, receiver, queue, seen.extend).first().block(DEADLINE)
        assert seen[0]["properties"] == properties

    def test_sending_is_bounded_without_demand_for_confirms(
        self, bridge: Bridge, recipe: ModuleType, sender: JavaObject, queue: str, broker: Broker
    ) -> None:
        source = Watched(lambda: itertools.repeat({"exchange": "", "routing_key": queue, "body": b"again"}))
        confirms = TestSubscriber(timeout=DEADLINE)
        recipe.send(bridge, sender, source).subscribe(confirms)
        eventually(lambda: broker.ready(queue) == IN_FLIGHT)
        confirms.request(1)
        confirms.await_count(1)
        assert broker.ready(queue) == source.requested == IN_FLIGHT
        confirms.cancel()
        assert source.cancelled.wait(DEADLINE)

    def test_demand_is_bounded_and_cancel_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, sender: JavaObject, queue: str, broker: Broker
    ) -> None:
        source = Watched(lambda: itertools.repeat({"exchange": "", "routing_key": queue, "body": b"again"}))
        confirms = TestSubscriber(5, timeout=DEADLINE)
        recipe.send(bridge, sender, source).subscribe(confirms)
        confirms.await_count(5)
        confirms.cancel()
        assert source.cancelled.wait(DEADLINE)
        assert [confirm["ack"] for confirm in confirms.elements] == [True] * 5
        assert source.requested <= 2 * IN_FLIGHT
        assert 5 <= broker.ready(queue) <= source.emitted

    def test_completion_waits_for_all_confirms(
        self, bridge: Bridge, recipe: ModuleType, sender: JavaObject, queue: str, broker: Broker
    ) -> None:
        """Reactor RabbitMQ may lose confirms that arrive after its source has completed."""
        observed = EndObserver(bridge, sender, "sendWithPublishConfirms")
        confirms = TestSubscriber(2, timeout=DEADLINE)
        recipe.send(bridge, observed, messages(queue, BODIES[:3])).subscribe(confirms)
        confirms.await_count(2)
        eventually(lambda: broker.ready(queue) == 3)
        assert not observed.end.is_set()
        confirms.request(1)
        assert observed.end.wait(DEADLINE)
        assert [confirm["ack"] for confirm in confirms.await_complete()] == [True] * 3

    def test_empty_stream_completes(self, bridge: Bridge, recipe: ModuleType, sender: JavaObject) -> None:
        assert recipe.send(bridge, sender, pyrs.empty()).collect(timeout=DEADLINE) == []

    def test_publisher_error_is_forwarded(
        self, bridge: Bridge, recipe: ModuleType, sender: JavaObject, queue: str, broker: Broker
    ) -> None:
        first = {"exchange": "", "routing_key": queue, "body": b"first"}
        failing = Watched(lambda: iter([first]), LookupError("no second"))
        confirms = TestSubscriber(10, timeout=DEADLINE)
        recipe.send(bridge, sender, failing).subscribe(confirms)
        error = confirms.await_error()
        assert isinstance(error, LookupError)
        assert str(error) == "no second"
        eventually(lambda: broker.ready(queue) == 1)

    def test_missing_exchange_fails_the_stream(
        self, bridge: Bridge, recipe: ModuleType, sender: JavaObject, queue: str
    ) -> None:
        source = Watched(lambda: itertools.repeat({"exchange": "nowhere", "routing_key": queue, "body": b"lost"}))
        confirms = TestSubscriber(10, timeout=DEADLINE)
        recipe.send(bridge, sender, source).subscribe(confirms)
        assert "NOT_FOUND - no exchange 'nowhere'" in messages_of(confirms.await_error())
        assert not any(confirm["ack"] for confirm in confirms.elements)
        assert source.cancelled.wait(DEADLINE)


def messages_of(error: BaseException) -> str:
    """Return the messages of a JavaError and its causes."""
    assert isinstance(error, JavaError)
    words = [str(error)]
    cause = error.__cause__
    while cause is not None:
        words.append(str(cause))
        cause = cause.__cause__
    return "\n".join(words)
