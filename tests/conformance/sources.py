"""The factories of streams, and the hot sources: sinks, SubmissionPublisher and ``create``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from itertools import count, islice
from typing import Any

import pyrs
from pyrs import sinks
from tests.conformance.entry import LONG_MAX, Entry, failed_stream, numbers, publisher, pushed
from tests.conformance.feeding import fed, submitted, turnstile
from tests.conformance.options import EMPTY, MERGED, MULTICAST, ONE_ELEMENT, SLOWEST

__all__ = ["SOURCES"]

ONE_SUBSCRIBER = {MULTICAST: "it supports one Subscriber; others receive on_error"}
LATE = {MULTICAST: "a Subscriber receives the elements after its subscription only"}


class _Numbers:
    """An iterable of the given number of integers, which are not stored."""

    def __init__(self, elements: int) -> None:
        self.elements = elements

    def __iter__(self) -> Iterator[int]:
        yield from islice(count(), self.elements)


class _AsyncNumbers:
    def __init__(self, elements: int) -> None:
        self.elements = elements

    async def __aiter__(self) -> AsyncIterator[int]:
        for number in islice(count(), self.elements):
            yield number


def _emits(elements: int) -> Any:
    """Return a function for ``create`` that emits on request."""

    def function(emitter: pyrs.Emitter[int]) -> None:
        sent = 0

        def push(n: int) -> None:
            nonlocal sent
            for _ in range(min(n, elements - sent)):
                if emitter.cancelled:
                    return
                sent += 1
                emitter.next(sent)
            if sent == elements:
                emitter.complete()

        if elements == 0:
            emitter.complete()
        emitter.on_request(push)

    return function


def _counts(elements: int) -> pyrs.Stream[int]:
    return pyrs.generate(lambda: 0, lambda n: (n, n + 1) if n < elements else None)


def _future(outcome: int | BaseException) -> Future[int]:
    future: Future[int] = Future()
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return future


async def _seven() -> int:
    return 7


def _raises() -> int:
    raise ValueError("failed from the start")


def _replayed(elements: int) -> pyrs.Stream[int]:
    sink: Any = sinks.replay()
    for number in range(elements):
        sink.emit(number)
    sink.emit_complete()
    return sink.stream


def _failed(sink: Any) -> Any:
    sink.emit_error(ValueError("failed from the start"))
    return sink.stream


def _failed_submission() -> Any:
    failed: sinks.SubmissionPublisher[int] = sinks.SubmissionPublisher()
    failed.close_exceptionally(ValueError("failed from the start"))
    return failed


COLD: list[Entry] = [
    publisher("range", numbers, covers=("range",), subset=True, all_routes=True),
    publisher(
        "from_iterable of a list",
        lambda n: pyrs.from_iterable(list(range(n))),
        max_elements=100_000,
        covers=("from_iterable",),
    ),
    publisher("from_iterable of a generator", lambda n: pyrs.from_iterable(_Numbers(n)), covers=("from_iterable",)),
    publisher("just", lambda n: pyrs.just(*range(n)), max_elements=1_000, covers=("just",)),
    publisher("empty", lambda n: pyrs.empty(), max_elements=0, covers=("empty",)),
    publisher("error", lambda n: failed_stream(), max_elements=0, covers=("error",), skips={EMPTY: "it fails"}),
    publisher(
        "never",
        lambda n: pyrs.never(),
        max_elements=0,
        failed=None,
        covers=("never",),
        skips={EMPTY: "it never completes"},
    ),
    publisher("defer", lambda n: pyrs.defer(lambda: numbers(n)), failed=lambda: pyrs.defer(_raises), covers=("defer",)),
    publisher("generate", _counts, failed=None, covers=("generate",)),
    publisher(
        "create that emits on request",
        lambda n: pyrs.create(_emits(n)),
        failed=lambda: pyrs.create(lambda emitter: emitter.error(ValueError("failed"))),
        covers=("create", "Emitter", "Overflow"),
        subset=True,
    ),
    publisher(
        "using",
        lambda n: pyrs.using(lambda: nullcontext(n), numbers),
        failed=lambda: pyrs.using(lambda: nullcontext(0), lambda _: failed_stream()),
        covers=("using",),
    ),
    publisher(
        "using_when",
        lambda n: pyrs.using_when(lambda: nullcontext(n), numbers),
        failed=lambda: pyrs.using_when(lambda: nullcontext(0), lambda _: failed_stream()),
        covers=("using_when",),
    ),
    publisher(
        "from_callable",
        lambda n: pyrs.from_callable(lambda: 7),
        failed=None,
        max_elements=1,
        covers=("from_callable", "Single", "Maybe"),
        skips=ONE_ELEMENT,
    ),
    publisher(
        "from_future",
        lambda n: pyrs.from_future(_future(7)),
        failed=lambda: pyrs.from_future(_future(ValueError("failed"))),
        max_elements=1,
        covers=("from_future",),
        skips=ONE_ELEMENT,
    ),
    publisher(
        "from_awaitable",
        lambda n: pyrs.from_awaitable(_seven),
        failed=None,
        max_elements=1,
        covers=("from_awaitable",),
        skips=ONE_ELEMENT,
    ),
    publisher(
        "from_async_iterable",
        lambda n: pyrs.from_async_iterable(_AsyncNumbers(n)),
        failed=None,
        covers=("from_async_iterable",),
        subset=True,
    ),
    publisher("timer", lambda n: pyrs.timer(0.001), failed=None, max_elements=1, covers=("timer",), skips=ONE_ELEMENT),
    publisher(
        "interval",
        lambda n: pyrs.interval(0.001, overflow="drop"),
        failed=None,
        max_elements=LONG_MAX,
        covers=("interval",),
        skips={MULTICAST: "it never completes, and each Subscriber has its own clock"},
    ),
    publisher(
        "concat",
        lambda n: pyrs.concat(numbers(n // 2), pushed(n - n // 2)),
        failed=lambda: pyrs.concat(failed_stream(), pyrs.never()),
        covers=("concat",),
    ),
    publisher(
        "merge",
        lambda n: pyrs.merge(numbers(n // 2), pushed(n - n // 2)),
        failed=lambda: pyrs.merge(failed_stream(), pyrs.never()),
        covers=("merge",),
        skips=MERGED,
        subset=True,
    ),
    publisher(
        "zip",
        lambda n: pyrs.zip(numbers(n), pushed(n)),
        failed=lambda: pyrs.zip(pyrs.never(), failed_stream()),
        covers=("zip",),
    ),
    publisher(
        "combine_latest",
        lambda n: pyrs.combine_latest(pyrs.just(0), pushed(n)) if n else pyrs.empty(),
        failed=lambda: pyrs.combine_latest(pyrs.never(), failed_stream()),
        covers=("combine_latest",),
    ),
    publisher(
        "strict",
        lambda n: pyrs.strict(pushed(n)),
        failed=lambda: pyrs.strict(failed_stream()),
        covers=("strict",),
        subset=True,
    ),
]

HOT: list[Entry] = [
    publisher(
        "sinks.unicast",
        lambda n: fed(sinks.unicast(16), n),
        failed=lambda: _failed(sinks.unicast()),
        covers=("sinks.unicast", "sinks.Sink"),
        skips=ONE_SUBSCRIBER,
        subset=True,
        all_routes=True,
    ),
    publisher(
        "sinks.multicast",
        lambda n: fed(sinks.multicast(16), n),
        failed=lambda: _failed(sinks.multicast()),
        covers=("sinks.multicast", "sinks.Sink"),
        skips=SLOWEST,
        subset=True,
    ),
    publisher(
        "sinks.multicast_all_or_nothing",
        lambda n: fed(sinks.multicast_all_or_nothing(), n),
        failed=lambda: _failed(sinks.multicast_all_or_nothing()),
        covers=("sinks.multicast_all_or_nothing", "sinks.Sink"),
        skips=SLOWEST,
    ),
    publisher(
        "sinks.multicast_best_effort",
        lambda n: fed(sinks.multicast_best_effort(), n),
        failed=lambda: _failed(sinks.multicast_best_effort()),
        covers=("sinks.multicast_best_effort", "sinks.Sink"),
        skips={MULTICAST: "a Subscriber without demand loses elements that others have requested"},
    ),
    publisher(
        "sinks.replay",
        _replayed,
        failed=lambda: _failed(sinks.replay()),
        max_elements=1_000,
        covers=("sinks.replay", "sinks.Sink"),
    ),
    publisher(
        "SubmissionPublisher",
        submitted,
        failed=_failed_submission,
        covers=("sinks.SubmissionPublisher",),
        subset=True,
        all_routes=True,
    ),
    publisher(
        "create that emits outside of on_request",
        lambda n: turnstile(n, lambda stream: stream),
        covers=("create", "Emitter"),
    ),
]

SOURCES = COLD + HOT
