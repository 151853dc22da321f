"""A JVM in this process, its bridge, and naive JPype proxies."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import jpype

from benchmarks.consumer import Consumer
from benchmarks.drivers import NaiveSubscription
from benchmarks.java import BenchmarkJar


class JPypeDriver:
    """One JVM for the whole process: started by the bridge where there is one, and shared with the proxies."""

    def __init__(self) -> None:
        self._resources = ExitStack()
        jar = BenchmarkJar()
        self._resources.callback(jar.close)
        self._class_path = jar.class_path
        self._bridge: Any = None
        jpype.startJVM("-Xms512m", "-Xmx512m", classpath=self._class_path)
        self._subscriber, self._publisher = _proxies()

    @property
    def bridge(self) -> Any:
        if self._bridge is None:
            from pyrs import jvm

            self._bridge = self._resources.enter_context(jvm.connect())
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
    # JImplements looks the interfaces up, which takes a running JVM.
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
