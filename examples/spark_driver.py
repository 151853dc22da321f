"""Exchange streams between Python and a Spark driver's JVM.

Run it: python examples/spark_driver.py
"""

from __future__ import annotations

from queue import SimpleQueue

from pyspark.sql import SparkSession

import pyrs
from pyrs import jvm

# Any running session works. connect() loads the jar of pyrs into its JVM.
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
java = spark._jvm.java


class Printer(pyrs.Subscriber[int]):
    """Print one element at a time, then report the terminal signal."""

    def __init__(self) -> None:
        self.done: SimpleQueue[str] = SimpleQueue()

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: int) -> None:
        print("Python got", element)
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        self.done.put(f"failed: {error}")

    def on_complete(self) -> None:
        self.done.put("complete")


with jvm.connect(spark) as bridge:
    # From the JVM: a Publisher of Reactive Streams or of java.util.concurrent.Flow becomes a pyrs.Stream.
    java_publisher = java.util.concurrent.SubmissionPublisher()
    squares = bridge.from_jvm(java_publisher).map(lambda n: n * n)
    printer = Printer()
    squares.subscribe(printer)
    for number in (1, 2, 3):
        java_publisher.submit(number)
    java_publisher.close()
    print(printer.done.get(timeout=30))

    # To the JVM: a Python Publisher becomes a Java object that implements both Publisher interfaces.
    java_numbers = bridge.to_jvm(pyrs.range(1, 4))
    # A Subscriber or a Processor is converted in the same way. Here Java connects the two.
    last = Printer()
    java_numbers.subscribe(bridge.to_jvm(last))
    print(last.done.get(timeout=30))

spark.stop()
