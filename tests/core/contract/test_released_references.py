"""A terminated stream references neither its Subscriber nor its source, even before a garbage collection (§3.13)."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import pyrs
from pyrs._core.pushed_chain import PushedChainSubscriber
from tests.operator_registry import SAMPLES
from tests.waiting import eventually, uncollected

CONNECTED = ("cache", "cache(limit)", "publish")
"""They stay connected to the source when their Subscriber cancels."""


class Source(pyrs.Publisher[int]):
    """Emits ten numbers on demand, then completes, fails or emits no more.

    ``served`` has weak references to its Subscriptions and to the chains that subscribed.
    """

    carries_context = True  # its Subscriber is that of the operator, not a wrapper

    def __init__(self, end: str) -> None:
        self.end = end
        self.served: list[weakref.ref[Any]] = []

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        emission = Emission(self.end, subscriber)
        self.served.append(weakref.ref(emission))
        if isinstance(subscriber, PushedChainSubscriber):
            self.served.append(weakref.ref(subscriber))
        subscriber.on_subscribe(emission)


class Emission(pyrs.Subscription):
    def __init__(self, end: str, subscriber: pyrs.Subscriber[int]) -> None:
        self.end = end
        self.subscriber: pyrs.Subscriber[int] | None = subscriber
        self.emitted = self.demand = 0
        self.emitting = False

    def request(self, n: int, /) -> None:
        self.demand += n
        if self.emitting:
            return
        self.emitting = True
        while self.demand > self.emitted and self.emitted < 10 and self.subscriber is not None:
            self.emitted += 1
            self.subscriber.on_next(self.emitted)
        self.emitting = False
        if self.emitted == 10 and self.end != "cancel" and self.subscriber is not None:
            subscriber, self.subscriber = self.subscriber, None
            if self.end == "error":
                subscriber.on_error(ValueError("planned"))
            else:
                subscriber.on_complete()

    def cancel(self) -> None:
        self.subscriber = None


class Receiver(pyrs.Subscriber[Any]):
    """Requests all elements, also of inner streams, and releases its Subscription at the terminal signal or cancel."""

    def __init__(self) -> None:
        self.subscription: Any = None
        self.parts: list[Receiver] = []
        self.ended = False

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.subscription = subscription
        subscription.request(1_000)

    def on_next(self, element: Any, /) -> None:
        if isinstance(element, pyrs.Publisher):
            self.parts.append(Receiver())
            element.subscribe(self.parts[-1])

    def on_error(self, error: BaseException, /) -> None:
        # The error's frames reference the Subscriber. The operator is not responsible for these references.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        self.end()

    def on_complete(self) -> None:
        self.end()

    def end(self) -> None:
        self.subscription = None
        self.ended = True

    def cancel(self) -> None:
        subscription, self.subscription = self.subscription, None
        if subscription is not None:
            subscription.cancel()
        for part in self.parts:
            part.cancel()


def references_after(name: str, end: str) -> list[weakref.ref[Any]]:
    """Run an operator until ``end``; return weak references to the objects that it must have released."""
    source, receiver = Source(end), Receiver()
    SAMPLES[name].apply(pyrs.Stream(source)).subscribe(receiver)
    if end != "cancel":
        eventually(lambda: receiver.ended, f"no {end}")
    receiver.cancel()
    return [weakref.ref(receiver), *source.served]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_rule_3_13_subscriber_and_source_are_released_without_a_collection(name: str, dropped: Any) -> None:
    with uncollected():
        for end in ("complete", "error") if name in CONNECTED else ("complete", "error", "cancel"):
            references = references_after(name, end)

            def released(references: list[weakref.ref[Any]] = references) -> bool:
                return all(each() is None for each in references)

            eventually(released, f"after {end}, a Subscriber, a Subscription or a chain is still referenced")
    dropped.take()


@pytest.mark.parametrize("how", ["filter_when", "delay_until", "flat_map"])
def test_inner_stream_leaves_no_cycle_for_the_garbage_collector(how: str) -> None:
    served: list[weakref.ref[Any]] = []

    class Inner(pyrs.Publisher[bool]):
        carries_context = True

        def subscribe(self, subscriber: pyrs.Subscriber[bool], /) -> None:
            served.append(weakref.ref(subscriber))
            pyrs.just(True).subscribe(subscriber)

    inner = pyrs.Stream(Inner()).map(bool) if how == "flat_map" else Inner()
    with uncollected():
        stream: Any = getattr(pyrs.range(3), how)(lambda n: inner)
        assert len(stream.collect()) == 3
        assert [each() for each in served] == [None] * 3
