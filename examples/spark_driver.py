"""Streams between Python and a Spark driver's JVM. Run it: python examples/spark_driver.py"""

from __future__ import annotations

from queue import SimpleQueue

from pyspark.sql import SparkSession

import pyrs
from pyrs import jvm

# Any session that is already running will do. It was started without our jar.
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
java = spark._jvm.java


class Printer(pyrs.Subscriber[int]):
    """Takes one at a time, and says when it is over."""

    def __init__(self) -> None:
        self.over: SimpleQueue[str] = SimpleQueue()

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: int) -> None:
        print("Python got", element)
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        self.over.put(f"failed: {error}")

    def on_complete(self) -> None:
        self.over.put("complete")


with jvm.connect(spark) as bridge:
    # From the JVM: a Publisher of either family becomes a pyrs.Stream. Back pressure is kept.
    java_publisher = java.util.concurrent.SubmissionPublisher()
    squares = bridge.from_jvm(java_publisher).map(lambda n: n * n)
    printer = Printer()
    squares.subscribe(printer)
    for number in (1, 2, 3):
        java_publisher.submit(number)
    java_publisher.close()
    print(printer.over.get(timeout=30))

    # To the JVM: a Python Publisher becomes a Java one, org.reactivestreams.Publisher and Flow.Publisher both ...
    java_numbers = bridge.to_jvm(pyrs.range(1, 4))
    # ... and so does a Python Subscriber, or a Processor. Here Java subscribes the one to the other.
    last = Printer()
    java_numbers.subscribe(bridge.to_jvm(last))
    print(last.over.get(timeout=30))

spark.stop()
