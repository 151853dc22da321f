"""A JVM inside this process, and a Publisher of the JDK. Run it: python examples/jpype_submission_publisher.py"""

from __future__ import annotations

from threading import Event, Thread

import jpype

import pyrs
from pyrs import jvm


class Slow(pyrs.Subscriber[int]):
    """Asks for one at a time, so the JDK's publisher has to wait for it."""

    def __init__(self) -> None:
        self.total = 0
        self.over = Event()

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: int) -> None:
        self.total += element
        self.over.wait(0.0005)  # the work that makes it slow
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        print("failed:", error)
        self.over.set()

    def on_complete(self) -> None:
        self.over.set()


with jvm.launch() as bridge:  # classpath=["your.jar"] brings your own Java code
    executor = jpype.JClass("java.util.concurrent.ForkJoinPool").commonPool()
    publisher = jpype.JClass("java.util.concurrent.SubmissionPublisher")(executor, 8)  # holds 8, then submit() waits
    slow = Slow()
    bridge.from_jvm(publisher, exact=True).subscribe(slow)  # not a window ahead: Java is asked for what Slow asks for

    def submit_all() -> None:
        for number in range(1, 1001):
            publisher.submit(jpype.JLong(number))
        publisher.close()

    Thread(target=submit_all, daemon=True).start()
    slow.over.wait(60)
    print("the sum of 1 to 1000:", slow.total)
    largest = bridge.stats()["largest_in_flight"]
    print("back pressure held:", largest <= 1)
