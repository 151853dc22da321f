"""RabbitMQ: the recipe of docs/recipes/rabbitmq.md.

Run it: python examples/recipes/rabbitmq.py

It needs a server, which the page describes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pyrs
from pyrs import jvm, sinks
from pyrs.jvm import Bridge, JavaObject

PACKAGES = ["io.projectreactor.rabbitmq:reactor-rabbitmq:1.5.6", "io.projectreactor:reactor-core:3.7.12"]


def print_orders(port: int) -> None:
    with jvm.launch(packages=PACKAGES) as bridge, open_receiver(bridge, connections(bridge, port)) as receiver:
        for count in handled(bridge, receiver, "orders", print).to_iterable(prefetch=1):
            print("handled", count)


def connections(bridge: Bridge, port: int, user: str = "guest", password: str = "guest") -> JavaObject:
    """Create a ConnectionFactory for loopback."""
    factory: JavaObject = bridge.java_class("com.rabbitmq.client.ConnectionFactory")()
    factory.setHost("127.0.0.1")
    factory.setPort(port)
    factory.setUsername(user)
    factory.setPassword(password)
    return factory


@contextlib.contextmanager
def open_receiver(bridge: Bridge, factory: JavaObject) -> Iterator[JavaObject]:
    """Open one connection, with a channel for each subscribed stream."""
    options = bridge.java_class("reactor.rabbitmq.ReceiverOptions")().connectionFactory(factory)
    receiver = bridge.java_class("reactor.rabbitmq.RabbitFlux").createReceiver(options)
    try:
        yield receiver
    finally:
        receiver.close()


def deliveries(bridge: Bridge, receiver: JavaObject, queue: str, prefetch: int) -> pyrs.Stream[JavaObject]:
    """Return deliveries: ``ack(False)`` acknowledges one, ``nack(True)`` requeues it."""
    options = bridge.java_class("reactor.rabbitmq.ConsumeOptions")().qos(prefetch)
    delivered: pyrs.Stream[JavaObject] = bridge.from_jvm(
        receiver.consumeManualAck(queue, options), exact=True, convert="references"
    )
    return delivered


def handled(
    bridge: Bridge,
    receiver: JavaObject,
    queue: str,
    handle: Callable[[list[dict[str, Any]]], object],
    at_a_time: int = 100,
) -> pyrs.Stream[int]:
    """Handle each batch, then acknowledge it and emit its size."""

    def batch(taken: list[JavaObject]) -> int:
        handle(bridge.value_of(taken))
        taken[-1].ack(True)
        return len(taken)

    messages = deliveries(bridge, receiver, queue, prefetch=at_a_time)
    return messages.buffer(at_a_time, seconds=0.2, prefetch=at_a_time).map(batch)


@contextlib.contextmanager
def open_sender(bridge: Bridge, factory: JavaObject) -> Iterator[JavaObject]:
    """Open one connection, with a channel for each sent stream."""
    options = bridge.java_class("reactor.rabbitmq.SenderOptions")().connectionFactory(factory)
    sender = bridge.java_class("reactor.rabbitmq.RabbitFlux").createSender(options)
    try:
        yield sender
    finally:
        sender.close()


def declare_queue(bridge: Bridge, sender: JavaObject, queue: str) -> None:
    specification = bridge.java_class("reactor.rabbitmq.QueueSpecification").queue(queue)
    bridge.from_jvm(sender.declareQueue(specification), convert="references").collect(timeout=30)


class DelayedCompletion:
    """Delay the completion of messages until each is confirmed."""

    def __init__(self, sent: pyrs.Publisher[dict[str, Any]]) -> None:
        self._sent = self._confirms = 0
        self._all_sent = False
        self._end = sinks.unicast()
        counted = pyrs.Stream(sent).do_on_next(self._one_sent).do_on_complete(self._last_sent)
        self.messages = counted.concat(pyrs.never()).take_until(self._end.stream)

    def _one_sent(self, message: object) -> None:
        self._sent += 1

    def _last_sent(self) -> None:
        self._all_sent = True
        self._end_if_all()

    def one_confirm(self, confirm: object) -> None:
        self._confirms += 1
        self._end_if_all()

    def _end_if_all(self) -> None:
        if self._all_sent and self._confirms == self._sent:
            self._end.try_emit_complete()

    def failed(self, error: BaseException) -> None:
        """Complete after the broker closed the channel, which does not cancel the input."""
        self._end.try_emit_complete()


def send(bridge: Bridge, sender: JavaObject, sent: pyrs.Publisher[dict[str, Any]]) -> pyrs.Stream[dict[str, Any]]:
    """Return the confirm of each message: ``ack``, and the ``message``."""

    def sending() -> pyrs.Publisher[dict[str, Any]]:
        delayed = DelayedCompletion(sent)
        options = bridge.java_class("reactor.rabbitmq.SendOptions")().maxInFlight(64)
        messages = bridge.to_jvm(delayed.messages, element_type="reactor.rabbitmq.OutboundMessage", exact=True)
        confirms: pyrs.Stream[dict[str, Any]] = bridge.from_jvm(
            sender.sendWithPublishConfirms(messages, options), convert="values"
        )
        return confirms.do_on_next(delayed.one_confirm).do_on_error(delayed.failed)

    return pyrs.defer(sending)


print_orders(5672)
