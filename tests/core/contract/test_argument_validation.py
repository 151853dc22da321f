"""Argument validation: a wrong argument raises at the call, with the parameter's name and a hint where possible."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from operator import add
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.adapters.queues import to_queue
from pyrs.aio import background_loop
from pyrs.testing import StepVerifier, TestPublisher, TestSubscriber
from tests.waiting import DEADLINE

numbers = pyrs.range(3)


async def asynchronous() -> AsyncIterator[int]:
    yield 1


async def awaited() -> int:
    return 1


class NotIterable:
    __iter__ = None

    def __getitem__(self, index: int) -> int:
        return index


REFUSED: dict[str, tuple[Callable[[], object], type[BaseException], str]] = {
    "a class as the Subscriber": (
        lambda: numbers.subscribe(TestSubscriber),  # type: ignore[call-overload]
        TypeError,
        "subscriber must be a Subscriber, not the class TestSubscriber",
    ),
    "a class as the source": (
        lambda: pyrs.Stream(pyrs.Stream),  # type: ignore[arg-type]
        TypeError,
        "source must be a Publisher, not the class Stream",
    ),
    "a function that returns a class": (
        lambda: numbers.flat_map(lambda _: pyrs.Stream).collect(),  # type: ignore[arg-type,return-value]
        TypeError,
        "the function must return a Publisher, not the class Stream",
    ),
    "filter_when": (lambda: numbers.filter_when(5), TypeError, "predicate must be callable, not int"),  # type: ignore[arg-type]
    "decode": (lambda: pyrs.just(b"").decode(5), TypeError, "encoding must be a string, not int"),  # type: ignore[arg-type]
    "errors of decode": (
        lambda: pyrs.just(b"").decode(errors=5),  # type: ignore[arg-type]
        TypeError,
        "errors must be a string, not int",
    ),
    "merge": (lambda: numbers.merge(numbers, 5), TypeError, r"others\[1\] must be a Publisher: int"),  # type: ignore[arg-type]
    "concat": (lambda: numbers.concat(5), TypeError, r"others\[0\] must be"),  # type: ignore[arg-type]
    "zip": (lambda: numbers.zip(5), TypeError, r"others\[0\] must be"),  # type: ignore[call-overload]
    "combine_latest": (lambda: numbers.combine_latest(5), TypeError, r"others\[0\] must be"),  # type: ignore[call-overload]
    "pyrs.concat of a concat": (
        lambda: pyrs.concat(numbers.concat(numbers).source, 5),  # type: ignore[arg-type]
        TypeError,
        r"sources\[1\] must be",
    ),
    "a hook for errors": (lambda: pyrs.set_error_hook(5), TypeError, "hook must be callable, not int"),  # type: ignore[arg-type]
    "a hook for discarded elements": (lambda: pyrs.set_discard_hook(5), TypeError, "hook must be callable, not int"),  # type: ignore[arg-type]
    "a hook for elements": (lambda: pyrs.set_element_hook("x"), TypeError, "hook must be callable, not str"),  # type: ignore[arg-type]
    "TestSubscriber's request": (lambda: TestSubscriber("x"), TypeError, "request must be an integer"),  # type: ignore[arg-type]
    "TestSubscriber's timeout": (lambda: TestSubscriber(timeout="x"), TypeError, "timeout must be"),  # type: ignore[arg-type]
    "TestSubscriber's callback": (lambda: TestSubscriber(on_element=5), TypeError, "on_element must be"),  # type: ignore[arg-type]
    "TestPublisher's timeout": (lambda: TestPublisher(timeout=-1), ValueError, "timeout must be"),
    "then_request": (
        lambda: StepVerifier.create(numbers).then_request("x"),  # type: ignore[arg-type]
        TypeError,
        "n must be an integer, not str",
    ),
    "expect_error": (
        lambda: StepVerifier.create(numbers).expect_error(matching=5),  # type: ignore[arg-type]
        TypeError,
        "matching must be a regular expression as a string, not int",
    ),
    "a factor that is infinite": (
        lambda: pyrs.Backoff(factor=10**400),
        ValueError,
        "factor must be finite and at least 1",
    ),
    "a factor as a string": (lambda: pyrs.Backoff(factor="2"), TypeError, "factor must be a number, not str"),  # type: ignore[arg-type]
    "an object whose __iter__ is None": (
        lambda: pyrs.from_iterable(NotIterable()),
        TypeError,
        "must be an iterable, not NotIterable",
    ),  # type: ignore[arg-type]
    "reduce from None": (lambda: numbers.reduce(add, None), pyrs.NullSignal, "initial must not be None"),
    "asyncio() without a running loop": (
        schedulers.asyncio,
        RuntimeError,
        r"no asyncio loop runs on this thread.*asyncio\(loop\)",
    ),
    "seconds as a string": (lambda: pyrs.timer("1"), TypeError, "seconds must be a number of seconds or a timedelta"),  # type: ignore[arg-type]
    "a Publisher as an iterable": (
        lambda: pyrs.from_iterable(sinks.multicast()),  # type: ignore[arg-type]
        TypeError,
        r"which is a Publisher: use Stream\(publisher\)",
    ),
    "a Stream as an iterable": (
        lambda: pyrs.from_iterable(numbers),  # type: ignore[arg-type]
        TypeError,
        "not Stream, which is a Publisher",
    ),
    "an asynchronous iterable as an iterable": (
        lambda: pyrs.from_iterable(asynchronous()),  # type: ignore[arg-type]
        TypeError,
        "not async_generator: use from_async_iterable",
    ),
    "iterating a Stream": (lambda: list(numbers), TypeError, r"for x in stream\.to_iterable\(\)"),  # type: ignore[call-overload]
    "an element of a Stream": (
        lambda: numbers.first()[0],  # type: ignore[index]
        TypeError,
        r"a Single is neither iterable nor a sequence.*element_at",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_wrong_argument_raises_error_that_names_the_parameter(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


def test_from_iterable_rejects_a_coroutine() -> None:
    coroutine = awaited()
    with pytest.raises(TypeError, match="not coroutine: use from_awaitable"):
        pyrs.from_iterable(coroutine)  # type: ignore[arg-type]
    coroutine.close()


def test_rejected_hook_does_not_replace_the_previous_hook() -> None:
    def hook(error: BaseException, where: str) -> None: ...

    before = pyrs.set_error_hook(hook)
    try:
        with pytest.raises(TypeError):
            pyrs.set_error_hook(5)  # type: ignore[arg-type]
        assert pyrs.set_error_hook(None) is hook
    finally:
        pyrs.set_error_hook(before)


@pytest.mark.parametrize("seconds", [Decimal("0.5"), Fraction(1, 2)])
def test_seconds_accept_decimal_and_fraction(seconds: Any) -> None:
    with schedulers.use(schedulers.VirtualTime()) as clock:
        subscriber = TestSubscriber[int](1)
        pyrs.timer(seconds).subscribe(subscriber)
        clock.advance_by(0.49)
        subscriber.assert_live()
        clock.advance_by(0.02)
        subscriber.await_complete()


def test_seconds_accept_numpy_numbers_and_reject_numpy_durations() -> None:
    numpy = pytest.importorskip("numpy")
    for seconds in (numpy.float32(0.5), numpy.int64(3)):
        pyrs.timer(seconds)
    with pytest.raises(TypeError, match="seconds must be a number of seconds or a timedelta, not timedelta64"):
        pyrs.timer(numpy.timedelta64(5, "ns"))


def test_from_iterable_accepts_an_object_with_getitem() -> None:
    class WithGetItem:
        def __getitem__(self, index: int) -> int:
            return [7, 8][index]

    assert pyrs.from_iterable(WithGetItem()).collect() == [7, 8]  # type: ignore[arg-type]


def delayed() -> pyrs.Stream[int]:
    return pyrs.just(1).delay(0.05)


def offered(timeout: Any) -> None:
    """Offer to a full buffer, whose Subscriber takes the elements later."""
    with sinks.SubmissionPublisher(max_buffer_capacity=1) as publisher:
        done = publisher.consume(lambda element: time.sleep(0.01))
        for n in range(4):
            assert publisher.offer(n, timeout=timeout) > 0
    done.result(DEADLINE)


def filled(timeout: Any) -> None:
    """Fill a queue whose reader is late."""
    elements: queue.Queue[int] = queue.Queue(1)
    reader = threading.Timer(0.05, lambda: [elements.get() for _ in range(3)])
    reader.start()
    to_queue(numbers, elements, timeout=timeout)
    reader.join(DEADLINE)


def closed(timeout: Any) -> None:
    """Close schedulers that run a task."""
    for scheduler in (schedulers.single(), schedulers.asyncio(background_loop())):
        scheduler.execute(lambda: time.sleep(0.05))
        assert scheduler.close(timeout)


def awaited_by_the_test_kit(timeout: Any) -> None:
    subscriber = TestSubscriber[int](1, timeout=timeout)
    delayed().subscribe(subscriber)
    subscriber.await_end()
    publisher = TestPublisher[int](timeout=timeout)
    threading.Timer(0.05, publisher.subscribe, (TestSubscriber[int](),)).start()
    publisher.await_subscribers()
    StepVerifier.create(delayed()).expect_next(1).verify_complete(timeout)


@pytest.mark.parametrize("timeout", [1e300, timedelta.max])
@pytest.mark.parametrize(
    "wait", [lambda timeout: delayed().collect(timeout=timeout), offered, filled, closed, awaited_by_the_test_kit]
)
def test_timeout_longer_than_a_lock_can_wait_is_limited(wait: Callable[[Any], object], timeout: Any) -> None:
    wait(timeout)
