"""Subscribe to a Publisher of the JDK in-process.

Run it: python examples/jpype_submission_publisher.py
"""

from __future__ import annotations

from threading import Event, Thread

import jpype

import pyrs
from pyrs import jvm


class Slow(pyrs.Subscriber[int]):
    """Request one element at a time, so that the JDK's publisher must wait."""

    def __init__(self) -> None:
        self.total = 0
        self.done = Event()

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: int) -> None:
        self.total += element
        self.done.wait(0.0005)  # simulates slow work
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        print("failed:", error)
        self.done.set()

    def on_complete(self) -> None:
        self.done.set()


with jvm.launch() as bridge:  # classpath=["your.jar"] adds your own Java code
    executor = jpype.JClass("java.util.concurrent.ForkJoinPool").commonPool()
    publisher = jpype.JClass("java.util.concurrent.SubmissionPublisher")(executor, 8)  # buffers 8, then submit() blocks
    slow = Slow()
    bridge.from_jvm(publisher, exact=True).subscribe(slow)  # nothing is requested ahead

    def submit_all() -> None:
        for number in range(1, 1001):
            publisher.submit(jpype.JLong(number))
        publisher.close()

    Thread(target=submit_all, daemon=True).start()
    slow.done.wait(60)
    print("the sum of 1 to 1000:", slow.total)
    largest = bridge.stats()["largest_in_flight"]
    print("back pressure held:", largest <= 1)
