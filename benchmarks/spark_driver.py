"""A local Spark driver, its bridge, and naive Py4J proxies."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from benchmarks.consumer import Consumer
from benchmarks.drivers import NaiveSubscription
from benchmarks.java import BenchmarkJar
from pyrs import jvm


class Py4JSubscriber:
    """A naive proxy: one callback per signal."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def onSubscribe(self, subscription: Any) -> None:
        self._consumer.on_subscribe(subscription)

    def onNext(self, element: Any) -> None:
        self._consumer.on_next(element)

    def onError(self, error: Any) -> None:
        self._consumer.on_error(RuntimeError(str(error)))

    def onComplete(self) -> None:
        self._consumer.on_complete()

    class Java:
        implements = ("org.reactivestreams.Subscriber",)


class Py4JSubscription(NaiveSubscription):
    class Java:
        implements = ("org.reactivestreams.Subscription",)


class Py4JPublisher:
    """A naive proxy: one call per signal."""

    def __init__(self, count: int) -> None:
        self._count = count

    def subscribe(self, subscriber: Any) -> None:
        subscriber.onSubscribe(Py4JSubscription(subscriber, self._count))

    class Java:
        implements = ("org.reactivestreams.Publisher",)


class SparkDriver:
    """A dedicated driver, because the naive proxies need a callback server."""

    def __init__(self) -> None:
        self._resources = ExitStack()
        jar = BenchmarkJar()
        self._resources.callback(jar.close)
        builder = SparkSession.builder.master("local[1]").appName("pyrs-benchmarks")
        options = {
            "spark.driver.extraClassPath": ":".join(jar.class_path),
            "spark.driver.memory": "1g",
            # The JVM touches its heap at the start, so that a later first use does not count as growth of its memory.
            "spark.driver.extraJavaOptions": "-Xms1g -XX:+AlwaysPreTouch",
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
        }
        for key, value in options.items():
            builder = builder.config(key, value)
        self._spark = builder.getOrCreate()
        self._resources.callback(self._spark.stop)
        self._callbacks = False
        self._classes: dict[str, Any] = {}
        self._bridge: Any = None

    @property
    def bridge(self) -> Any:
        if self._bridge is None:
            self._bridge = self._resources.enter_context(jvm.connect(self._spark))
        return self._bridge

    def java(self, name: str) -> Any:
        if name not in self._classes:
            self._classes[name] = getattr(self._spark._jvm.io.pyrs.benchmarks, name)
        return self._classes[name]

    def naive_subscriber(self, consumer: Consumer) -> Any:
        self._start_callbacks()
        return Py4JSubscriber(consumer)

    def naive_publisher(self, count: int) -> Any:
        self._start_callbacks()
        return Py4JPublisher(count)

    def close(self) -> None:
        self._resources.close()

    def _start_callbacks(self) -> None:
        if not self._callbacks:
            logging.getLogger("py4j").setLevel(logging.ERROR)
            ensure_callback_server_started(self._spark.sparkContext._gateway)
            self._callbacks = True
