"""Apache Kafka: the recipe of docs/recipes/kafka.md.

Run it: python examples/recipes/kafka.py

It needs a server, which the page describes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pyrs
from pyrs import jvm, sinks
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.projectreactor.kafka:reactor-kafka:1.3.25"]


def print_orders(servers: str) -> None:
    properties = {"bootstrap.servers": servers, "group.id": "printing", "auto.offset.reset": "earliest"}
    with jvm.launch(packages=PACKAGES) as bridge:
        options = receiver_options(bridge, properties, "orders")
        for count in handled(bridge, options, print).to_iterable(prefetch=1):
            print("handled", count)


def receiver_options(bridge: Bridge, properties: dict[str, str], topic: str) -> JavaObject:
    """Create options with strings as keys and values.

    For bytes use ByteArrayDeserializer.
    """
    deserializer = bridge.java_class("org.apache.kafka.common.serialization.StringDeserializer")
    options = bridge.java_class("reactor.kafka.receiver.ReceiverOptions").create(properties)
    options = options.withKeyDeserializer(deserializer()).withValueDeserializer(deserializer())
    subscribed: JavaObject = options.subscription([topic])
    return subscribed


def records(bridge: Bridge, options: JavaObject) -> pyrs.Stream[JavaObject]:
    """Return ReceiverRecords: ``value()``, ``receiverOffset().acknowledge()`` ..."""
    receiver = bridge.java_class("reactor.kafka.receiver.KafkaReceiver").create(options)
    received: pyrs.Stream[JavaObject] = bridge.from_jvm(receiver.receive(), exact=True, convert="references")
    return received


def handled(
    bridge: Bridge, options: JavaObject, handle: Callable[[list[dict[str, Any]]], object], at_a_time: int = 100
) -> pyrs.Stream[int]:
    """Handle each batch, then acknowledge it and emit its size."""

    def batch(taken: list[JavaObject]) -> int:
        values = bridge.value_of(taken)
        handle(values)
        last = {value["partition"]: record for value, record in zip(values, taken, strict=True)}
        for record in last.values():
            record.receiverOffset().acknowledge()
        return len(taken)

    return records(bridge, options).buffer(at_a_time, seconds=0.2, prefetch=at_a_time).map(batch)


@contextlib.contextmanager
def open_sender(bridge: Bridge, properties: dict[str, str]) -> Iterator[JavaObject]:
    """Open a KafkaSender: a producer that sends the elements of Publishers."""
    serializer = bridge.java_class("org.apache.kafka.common.serialization.StringSerializer")
    options = bridge.java_class("reactor.kafka.sender.SenderOptions").create(properties).maxInFlight(64)
    options = options.withKeySerializer(serializer()).withValueSerializer(serializer())
    sender = bridge.java_class("reactor.kafka.sender.KafkaSender").create(options)
    try:
        yield sender
    finally:
        sender.close()


class DelayedCompletion:
    """Delay the completion of records until each has a result."""

    def __init__(self, sent: pyrs.Publisher[dict[str, Any]]) -> None:
        self._sent = self._results = 0
        self._all_sent = False
        self._end = sinks.unicast()
        counted = pyrs.Stream(sent).do_on_next(self._one_sent).do_on_complete(self._last_sent)
        self.records = counted.concat(pyrs.never()).take_until(self._end.stream)

    def _one_sent(self, record: object) -> None:
        self._sent += 1

    def _last_sent(self) -> None:
        self._all_sent = True
        self._end_if_all()

    def one_result(self, result: object) -> None:
        self._results += 1
        self._end_if_all()

    def _end_if_all(self) -> None:
        if self._all_sent and self._results == self._sent:
            self._end.try_emit_complete()

    def failed(self, error: BaseException) -> None:
        """Complete the records after a failed send. Reactor Kafka does not cancel their Publisher."""
        self._end.try_emit_complete()


def send(bridge: Bridge, sender: JavaObject, sent: pyrs.Publisher[dict[str, Any]]) -> pyrs.Stream[dict[str, Any]]:
    """Send records, and return a dict for each: topic, partition, offset, correlation."""

    def sending() -> pyrs.Publisher[dict[str, Any]]:
        delayed = DelayedCompletion(sent)
        records = bridge.to_jvm(delayed.records, element_type="reactor.kafka.sender.SenderRecord", exact=True)
        results: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(sender.send(records), convert="values")
        return results.do_on_next(delayed.one_result).do_on_error(delayed.failed)

    return pyrs.defer(sending)


def send_in_transactions(
    bridge: Bridge, sender: JavaObject, transactions: pyrs.Publisher[pyrs.Publisher[dict[str, Any]]]
) -> None:
    """Send each inner Publisher in a transaction, and wait for all commits.

    The sender needs a ``transactional.id``.
    """
    record = "org.apache.kafka.clients.producer.ProducerRecord"
    each = pyrs.Stream(transactions).map(lambda inner: bridge.to_jvm(inner, element_type=record, exact=True))
    committed = sender.createOutbound().sendTransactionally(bridge.to_jvm(each, exact=True)).then()
    bridge.from_jvm(committed).collect(timeout=60)


print_orders("127.0.0.1:9092")
