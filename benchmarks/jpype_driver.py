"""A JVM in this process, its bridge, and naive JPype proxies."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import jpype

from benchmarks.consumer import Consumer
from benchmarks.drivers import NaiveSubscription
from benchmarks.java import BenchmarkJar
from pyrs import jvm


class JPypeDriver:
    """The JVM of the process, started by the bridge and shared with the naive proxies."""

    def __init__(self) -> None:
        self._resources = ExitStack()
        jar = BenchmarkJar()
        self._resources.callback(jar.close)
        self._bridge = self._resources.enter_context(jvm.launch(jar.class_path, ["-Xms512m", "-Xmx512m"]))
        self._subscriber, self._publisher = _proxies()

    @property
    def bridge(self) -> Any:
        return self._bridge

    def java(self, name: str) -> Any:
        return jpype.JClass(f"io.pyrs.benchmarks.{name}")

    def naive_subscriber(self, consumer: Consumer) -> Any:
        return self._subscriber(consumer)

    def naive_publisher(self, count: int) -> Any:
        return self._publisher(count)

    def close(self) -> None:
        self._resources.close()


def _proxies() -> tuple[type[Any], type[Any]]:
    # JImplements needs a running JVM to find the interfaces.
    @jpype.JImplements("org.reactivestreams.Subscriber")
    class JPypeSubscriber:
        def __init__(self, consumer: Consumer) -> None:
            self._consumer = consumer

        @jpype.JOverride
        def onSubscribe(self, subscription: Any) -> None:
            self._consumer.on_subscribe(subscription)

        @jpype.JOverride
        def onNext(self, element: Any) -> None:
            self._consumer.on_next(element)

        @jpype.JOverride
        def onError(self, error: Any) -> None:
            self._consumer.on_error(RuntimeError(str(error)))

        @jpype.JOverride
        def onComplete(self) -> None:
            self._consumer.on_complete()

    @jpype.JImplements("org.reactivestreams.Subscription")
    class JPypeSubscription(NaiveSubscription):
        @jpype.JOverride
        def request(self, n: int) -> None:
            super().request(n)

        @jpype.JOverride
        def cancel(self) -> None:
            super().cancel()

    @jpype.JImplements("org.reactivestreams.Publisher")
    class JPypePublisher:
        def __init__(self, count: int) -> None:
            self._count = count

        @jpype.JOverride
        def subscribe(self, subscriber: Any) -> None:
            subscriber.onSubscribe(JPypeSubscription(subscriber, self._count))

    return JPypeSubscriber, JPypePublisher
