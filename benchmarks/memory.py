"""Rows about memory: the memory of both processes while a stream runs or stalls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import pyrs
from benchmarks.budgets import Verdict, memory_verdict
from benchmarks.consumer import DEADLINE_SECONDS, FOREVER, Consumer, Stalled
from benchmarks.drivers import DEMAND, Driver

_MEGABYTE = float(1 << 20)
_PAGE = os.sysconf("SC_PAGE_SIZE")
FLAT_MEGABYTES = 16.0
STALLED_ELEMENTS = 10_000_000
IDLE_STREAMS = 10_000
IDLE_KIBIBYTES = 4


@dataclass(frozen=True)
class MemoryUse:
    """The memory of both processes in megabytes, or its growth between two samples."""

    python: float
    jvm: float
    heap: float

    def __sub__(self, earlier: MemoryUse) -> MemoryUse:
        return MemoryUse(self.python - earlier.python, self.jvm - earlier.jvm, self.heap - earlier.heap)

    @property
    def largest(self) -> float:
        return max(self.python, self.jvm, self.heap)

    def __str__(self) -> str:
        return f"python {self.python:+.1f}, jvm {self.jvm:+.1f}, live heap {self.heap:+.1f} MB"


class Watch:
    """Samples the resident memory of both processes, and the live heap of the JVM."""

    def __init__(self, driver: Driver) -> None:
        self._memory = driver.java("Memory")
        self._jvm = int(self._memory.process())

    def sample(self) -> MemoryUse:
        heap = int(self._memory.live()) / _MEGABYTE
        return MemoryUse(_resident(os.getpid()), _resident(self._jvm), heap)

    def samples(self, seconds: float) -> list[MemoryUse]:
        """Sample about four times a second, for a number of seconds."""
        end = time.monotonic() + seconds
        seen = [self.sample()]
        while time.monotonic() < end:
            time.sleep(0.25)
            seen.append(self.sample())
        return seen


def references_stay_flat(driver: Driver, scale: float) -> list[Verdict]:
    """Send 1,000,000 references, which Python releases as soon as it has received them.

    Compare the memory in the last quarter of the samples with that in the first quarter.
    """
    count = int(1_000_000 * scale)
    _drain(driver, driver.java("Sources").objects(count // 5), count // 5)
    watch = Watch(driver)
    consumer = Consumer(DEMAND)
    seen: list[tuple[int, MemoryUse]] = []
    driver.bridge.from_jvm(driver.java("Sources").objects(count)).subscribe(consumer)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while consumer.count < count and time.monotonic() < deadline:
        seen.append((consumer.count, watch.sample()))
        time.sleep(0.05)
    consumer.wait(count)
    quarter = max(1, len(seen) // 4)
    growth = _middle([used for _, used in seen[-quarter:]]) - _middle([used for _, used in seen[:quarter]])
    return [memory_verdict("references, memory", growth.largest, FLAT_MEGABYTES, f"{growth}; {len(seen)} samples")]


def idle_streams(driver: Driver, scale: float) -> list[Verdict]:
    """Open 10,000 streams that have demand and no elements; measure the growth of each side."""
    count = int(IDLE_STREAMS * scale)
    publisher = driver.java("SilentPublisher")()
    stream = driver.bridge.from_jvm(publisher)
    _open(stream, publisher, 100)
    watch = Watch(driver)
    before = watch.sample()
    subscribers = _open(stream, publisher, count)
    growth = watch.sample() - before
    for subscriber in subscribers:
        subscriber.subscription.cancel()
    used = max(growth.python, growth.heap)
    return [memory_verdict("idle streams", used, IDLE_KIBIBYTES * count / 1024, f"{growth}; {count} streams")]


class _Idle:
    """A Subscriber that uses almost no memory and receives only ``on_subscribe``."""

    __slots__ = ("subscription",)

    def on_subscribe(self, subscription: Any) -> None:
        self.subscription = subscription
        subscription.request(DEMAND)

    def on_next(self, element: object) -> None: ...

    def on_error(self, error: BaseException) -> None: ...

    def on_complete(self) -> None: ...


def _open(stream: Any, publisher: Any, count: int) -> list[_Idle]:
    expected = int(publisher.requests()) + count
    subscribers = [_Idle() for _ in range(count)]
    for subscriber in subscribers:
        stream.subscribe(subscriber)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (requests := int(publisher.requests())) < expected:
        if time.monotonic() > deadline:
            raise Stalled(f"{requests} of {expected} requests arrived")
        time.sleep(0.01)
    return subscribers


def stalled_to_python(driver: Driver, scale: float) -> list[Verdict]:
    """Stop requesting in Python after 1,000 of the 10,000,000 longs of a Java Publisher."""
    _drain(driver, driver.java("Sources").longs(200_000), 200_000)
    publisher = driver.java("Sources").longs(STALLED_ELEMENTS)
    growth, note = _stall_in_python(driver, publisher, Consumer(1_000, 1), 1_000, 3.0 * scale)
    return [memory_verdict("stalled, to Python", growth.largest, FLAT_MEGABYTES, f"{growth}; {note}")]


def stalled_with_megabytes(driver: Driver, scale: float) -> list[Verdict]:
    """Like ``stalled_to_python``, with elements of 1 MB. The verdict is on the sum of all growths above 0."""
    _drain(driver, driver.java("Sources").chunks(64, 1 << 20), 64)
    publisher = driver.java("Sources").chunks(STALLED_ELEMENTS, 1 << 20)
    growth, note = _stall_in_python(driver, publisher, Consumer(4, 1), 4, 3.0 * scale)
    used = max(growth.python, 0) + max(growth.jvm, 0) + max(growth.heap, 0)
    return [memory_verdict("stalled, elements of 1 MB", used, 32.0, f"{growth}; {note}")]


def stalled_to_jvm(driver: Driver, scale: float) -> list[Verdict]:
    """Stop requesting in Java after 1,000 of the 10,000,000 integers of a Python Publisher."""
    bridge, subscribers = driver.bridge, driver.java("CountingSubscriber")
    warm = subscribers(DEMAND, FOREVER)
    bridge.to_jvm(pyrs.range(200_000)).subscribe(warm)
    warm.awaitCount(int(DEADLINE_SECONDS))
    watch = Watch(driver)
    publisher = bridge.to_jvm(pyrs.range(STALLED_ELEMENTS))
    subscriber = subscribers(1_000, 1)
    growth = _stall(watch, lambda: publisher.subscribe(subscriber), subscriber.count, 1_000, 3.0 * scale)
    subscriber.cancel()
    return [memory_verdict("stalled, to the JVM", growth.largest, FLAT_MEGABYTES, str(growth))]


def _stall_in_python(
    driver: Driver, publisher: Any, consumer: Consumer, expected: int, seconds: float
) -> tuple[MemoryUse, str]:
    watch = Watch(driver)
    stream = driver.bridge.from_jvm(publisher)
    growth = _stall(watch, lambda: stream.subscribe(consumer), lambda: consumer.count, expected, seconds)
    ahead = int(publisher.produced()) - consumer.count
    consumer.cancel()
    return growth, f"{ahead} elements ahead of the Subscriber"


def _stall(
    watch: Watch, subscribe: Callable[[], object], count: Callable[[], int], expected: int, seconds: float
) -> MemoryUse:
    before = watch.sample()
    subscribe()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while count() < expected:
        if time.monotonic() > deadline:
            raise Stalled(f"{count()} of {expected} elements arrived")
        time.sleep(0.01)
    growths = [used - before for used in watch.samples(seconds)]
    if count() != expected:
        raise Stalled(f"{count()} elements arrived, {expected} were requested")
    return max(growths, key=lambda growth: growth.largest)


def _drain(driver: Driver, publisher: Any, count: int) -> None:
    """Receive all elements, so that buffers, compiled code and pools exist before the first sample."""
    consumer = Consumer(DEMAND)
    driver.bridge.from_jvm(publisher).subscribe(consumer)
    consumer.wait(count)


def _middle(seen: Sequence[MemoryUse]) -> MemoryUse:
    return MemoryUse(
        median(used.python for used in seen), median(used.jvm for used in seen), median(used.heap for used in seen)
    )


def _resident(process: int) -> float:
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE / _MEGABYTE
