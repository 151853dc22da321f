"""Contenders of the core: pyrs, plain iterators, RxPY and aioreactive."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import chain
from typing import Any

import aioreactive
import reactivex
from expression import pipe
from reactivex import operators as rx
from reactivex.scheduler import NewThreadScheduler
from reactivex.subject import Subject

import pyrs
from benchmarks.consumer import DEADLINE_SECONDS
from benchmarks.measure import Contender
from pyrs import schedulers, sinks

INNER = 1_000


def successor(number: int) -> int:
    return number + 1


def is_even(number: int) -> bool:
    return not number & 1


def ignore(element: object) -> None:
    """Do nothing with an element."""


class Failed(RuntimeError):
    """A contender did not process all elements."""


def timed(work: Callable[[], int], expected: int) -> float:
    start = time.perf_counter()
    processed = work()
    seconds = time.perf_counter() - start
    if processed != expected:
        raise Failed(f"{processed} elements of {expected}")
    return seconds


class Count:
    """Count elements; every contender makes the same call."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, element: object) -> None:
        self.count += 1


class _OneByOne(pyrs.Subscriber[Any]):
    """Request the next element when the previous one has arrived."""

    def __init__(self) -> None:
        self.count = 0
        self.subscription: pyrs.Subscription | None = None

    def on_subscribe(self, subscription: pyrs.Subscription) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: object) -> None:
        self.count += 1
        assert self.subscription is not None
        self.subscription.request(1)

    def on_error(self, error: BaseException) -> None:
        raise error

    def on_complete(self) -> None:
        pass


# A map and a filter over an iterable.


def map_filter(elements: int) -> Contender:
    def run(count: int) -> float:
        numbers = range(count)
        stream = pyrs.from_iterable(numbers).map(successor).filter(is_even)
        counted = Count()

        def work() -> int:
            stream.subscribe(on_next=counted)
            return counted.count

        return timed(work, count // 2)

    return Contender("ours", elements, run)


def map_filter_one_by_one(elements: int) -> Contender:
    def run(count: int) -> float:
        subscriber = _OneByOne()

        def work() -> int:
            pyrs.from_iterable(range(count)).map(successor).filter(is_even).subscribe(subscriber)
            return subscriber.count

        return timed(work, count // 2)

    return Contender("ours", elements, run)


def iterators(elements: int) -> Contender:
    """Run the same functions and consumer in a loop over built-in iterators."""

    def run(count: int) -> float:
        counted = Count()

        def work() -> int:
            for element in filter(is_even, map(successor, range(count))):
                counted(element)
            return counted.count

        return timed(work, count // 2)

    return Contender("iterators", elements, run)


def rx_map_filter(elements: int) -> Contender:
    def run(count: int) -> float:
        counted = Count()

        def work() -> int:
            source = reactivex.from_iterable(range(count))
            source.pipe(rx.map(successor), rx.filter(is_even)).subscribe(counted)
            return counted.count

        return timed(work, count // 2)

    return Contender("RxPY", elements, run)


def ten_maps(elements: int) -> Contender:
    def run(count: int) -> float:
        stream: pyrs.Stream[int] = pyrs.from_iterable(range(count))
        for _ in range(10):
            stream = stream.map(successor)
        counted = Count()

        def work() -> int:
            stream.subscribe(on_next=counted)
            return counted.count

        return timed(work, count)

    return Contender("ours", elements, run)


def ten_maps_of_iterators(elements: int) -> Contender:
    def run(count: int) -> float:
        counted = Count()

        def work() -> int:
            iterator: Iterable[int] = range(count)
            for _ in range(10):
                iterator = map(successor, iterator)
            for element in iterator:
                counted(element)
            return counted.count

        return timed(work, count)

    return Contender("iterators", elements, run)


# Hot sources.


def multicast(elements: int) -> Contender:
    def run(count: int) -> float:
        sink: Any = sinks.multicast()
        counters = [Count(), Count()]
        for counted in counters:
            sink.stream.map(successor).filter(is_even).subscribe(on_next=counted)

        def work() -> int:
            emit = sink.try_emit
            for number in range(count):
                emit(number)
            sink.try_emit_complete()
            return sum(counted.count for counted in counters)

        return timed(work, count // 2 * 2)

    return Contender("ours", elements, run)


def rx_subject(elements: int) -> Contender:
    def run(count: int) -> float:
        subject: Subject[int] = Subject()
        counters = [Count(), Count()]
        for counted in counters:
            subject.pipe(rx.map(successor), rx.filter(is_even)).subscribe(counted)

        def work() -> int:
            emit = subject.on_next
            for number in range(count):
                emit(number)
            subject.on_completed()
            return sum(counted.count for counted in counters)

        return timed(work, count // 2 * 2)

    return Contender("RxPY", elements, run)


def loops_over_counters(elements: int) -> Contender:
    """Run the same functions for each counter in a loop."""

    def run(count: int) -> float:
        counters = [Count(), Count()]

        def work() -> int:
            for number in range(count):
                for counted in counters:
                    element = successor(number)
                    if is_even(element):
                        counted(element)
            return sum(counted.count for counted in counters)

        return timed(work, count // 2 * 2)

    return Contender("iterators", elements, run)


# Streams of streams.


def flat_map(elements: int) -> Contender:
    def run(count: int) -> float:
        outer = count // INNER
        counted = Count()

        def work() -> int:
            pyrs.range(outer).flat_map(lambda _: pyrs.from_iterable(range(INNER))).subscribe(on_next=counted)
            return counted.count

        return timed(work, outer * INNER)

    return Contender("ours", elements, run)


def chained_iterators(elements: int) -> Contender:
    """Iterate over the same inner iterables."""

    def run(count: int) -> float:
        outer = count // INNER
        counted = Count()

        def work() -> int:
            for element in chain.from_iterable(range(INNER) for _ in range(outer)):
                counted(element)
            return counted.count

        return timed(work, outer * INNER)

    return Contender("iterators", elements, run)


def rx_flat_map(elements: int) -> Contender:
    def run(count: int) -> float:
        outer = count // INNER
        counted = Count()

        def work() -> int:
            source = reactivex.from_iterable(range(outer))
            source.pipe(rx.flat_map(lambda _: reactivex.from_iterable(range(INNER)))).subscribe(counted)
            return counted.count

        return timed(work, outer * INNER)

    return Contender("RxPY", elements, run)


# Another thread.


def publish_on(elements: int) -> Contender:
    def run(count: int) -> float:
        counted, completed = Count(), threading.Event()
        scheduler = schedulers.single()
        try:

            def work() -> int:
                stream = pyrs.from_iterable(range(count)).publish_on(scheduler)
                stream.subscribe(on_next=counted, on_complete=completed.set)
                _await(completed)
                return counted.count

            return timed(work, count)
        finally:
            scheduler.close()

    return Contender("ours", elements, run)


def rx_observe_on(elements: int) -> Contender:
    def run(count: int) -> float:
        counted, completed = Count(), threading.Event()

        def work() -> int:
            source = reactivex.from_iterable(range(count)).pipe(rx.observe_on(NewThreadScheduler()))
            source.subscribe(counted, on_completed=completed.set)
            _await(completed)
            return counted.count

        return timed(work, count)

    return Contender("RxPY", elements, run)


# asyncio.


def async_for(elements: int) -> Contender:
    async def consume(count: int) -> int:
        seen = 0
        async for _ in pyrs.from_iterable(range(count)):
            seen += 1
        return seen

    return Contender("ours", elements, lambda count: timed(lambda: asyncio.run(consume(count)), count))


def async_generator(elements: int) -> Contender:
    async def generate(count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield number

    async def consume(count: int) -> int:
        seen = 0
        async for _ in generate(count):
            seen += 1
        return seen

    return Contender("generator", elements, lambda count: timed(lambda: asyncio.run(consume(count)), count))


def aioreactive_map_filter(elements: int) -> Contender:
    async def consume(count: int) -> int:
        source = aioreactive.from_iterable(range(count))
        counted, completed = Count(), asyncio.Event()

        async def send(element: int) -> None:
            counted(element)

        async def close() -> None:
            completed.set()

        stream = pipe(source, aioreactive.map(successor), aioreactive.filter(is_even))
        await stream.subscribe_async(aioreactive.AsyncAnonymousObserver(send, None, close))
        await asyncio.wait_for(completed.wait(), DEADLINE_SECONDS)
        return counted.count

    return Contender("aioreactive", elements, lambda count: timed(lambda: asyncio.run(consume(count)), count // 2))


# A bare interpreter.

_BYTECODE = tempfile.TemporaryDirectory(prefix="pyrs-benchmarks-")


def interpreter(name: str, code: str) -> Contender:
    """Run the code in a new interpreter for each element.

    The interpreters share a bytecode cache, which the untimed rounds fill, because an installed package has bytecode.
    PYTHONDONTWRITEBYTECODE of the caller must not prevent this.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": _BYTECODE.name, "PYTHONDONTWRITEBYTECODE": ""}

    def run(count: int) -> float:
        command = [sys.executable, "-c", code]
        start = time.perf_counter()
        for _ in range(count):
            subprocess.run(command, check=True, timeout=DEADLINE_SECONDS, env=environment)
        return time.perf_counter() - start

    return Contender(name, 10, run)


def _await(event: threading.Event) -> None:
    if not event.wait(DEADLINE_SECONDS):
        raise Failed("the stream did not complete")
