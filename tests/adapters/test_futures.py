"""to_future, and the recipe that maps elements on an executor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

import pyrs
from pyrs.adapters.futures import to_future
from pyrs.testing import TestPublisher
from tests.core.conftest import Dropped
from tests.waiting import DEADLINE


class LatePublisher(pyrs.Publisher[int]):
    """Ignores ``cancel``, so that a test can signal after it."""

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        self.subscriber = subscriber

        class UncancellableSubscription(pyrs.Subscription):
            def request(self, n: int, /) -> None: ...
            def cancel(self) -> None: ...

        subscriber.on_subscribe(UncancellableSubscription())


def test_future_has_the_element_of_the_single() -> None:
    assert to_future(pyrs.range(4).to_list()).result(0) == [0, 1, 2, 3]


def test_future_has_the_error_of_the_single() -> None:
    future = to_future(pyrs.error(ValueError("no")).to_list())
    assert isinstance(future.exception(0), ValueError)


def test_future_completes_on_another_thread() -> None:
    release = threading.Event()

    def wait_and_return() -> int:
        assert release.wait(DEADLINE)
        return 7

    future = to_future(pyrs.from_callable(wait_and_return).subscribe_on(pyrs.schedulers.default()).first())
    assert not future.done()
    release.set()
    assert future.result(DEADLINE) == 7


def test_cancel_of_the_future_cancels_the_stream() -> None:
    source: TestPublisher[int] = TestPublisher()
    future = to_future(pyrs.Stream(source).first())
    assert future.cancel()
    assert future.cancel()
    source.assert_cancelled()
    with pytest.raises(CancelledError):
        future.result(0)
    assert wait([future], timeout=DEADLINE).done == {future}


def test_cancel_ends_a_concurrent_wait() -> None:
    future = to_future(pyrs.never().first())
    waiting = threading.Event()
    results: list[object] = []

    def wait_for_future() -> None:
        waiting.set()
        results.append(wait([future], timeout=DEADLINE).not_done)

    thread = threading.Thread(target=wait_for_future)
    thread.start()
    assert waiting.wait(DEADLINE)
    future.cancel()
    thread.join(DEADLINE)
    assert results == [set()]


def test_signals_after_the_cancel_are_dropped(dropped: Dropped) -> None:
    """A signal after a cancel (2.8) leaves the future cancelled and raises nothing."""
    source = LatePublisher()
    future = to_future(pyrs.Single(source))
    future.cancel()
    source.subscriber.on_next(1)
    source.subscriber.on_complete()
    assert (future.cancelled(), dropped.elements) == (True, 1)
    error = ValueError("late")
    source.subscriber.on_error(error)
    assert dropped.take() == [error]


def test_error_after_a_second_element_is_reported_with_the_failed_future(dropped: Dropped) -> None:
    reports: list[str] = []
    pyrs.set_error_hook(lambda error, where: reports.append(where))
    source = LatePublisher()
    future = to_future(pyrs.Single(source))
    source.subscriber.on_next(1)
    source.subscriber.on_next(2)
    source.subscriber.on_error(ValueError("late"))
    assert isinstance(future.exception(0), pyrs.TooManyElements)
    assert reports == ["to_future(): the future had failed before"]


def test_empty_single_fails_the_future_with_spec_violation() -> None:
    assert isinstance(to_future(pyrs.Single(pyrs.empty())).exception(0), pyrs.SpecViolation)


def test_second_element_fails_the_future_and_cancels() -> None:
    source: TestPublisher[int] = TestPublisher()
    future = to_future(pyrs.Maybe(source))
    source.next(1, 2)
    assert isinstance(future.exception(0), pyrs.TooManyElements)
    source.assert_cancelled()


def test_elements_after_the_failure_are_discarded(discarded: list[Any]) -> None:
    source = LatePublisher()
    future = to_future(pyrs.Single(source))
    for number in range(4):
        source.subscriber.on_next(number)
    assert isinstance(future.exception(0), pyrs.TooManyElements)
    assert discarded == [1, 0, 2, 3]


@pytest.mark.parametrize("end", [lambda source, future: future.cancel(), lambda source, _: source.error(ValueError())])
def test_element_of_a_future_without_a_result_is_discarded(
    end: Callable[[Any, Any], object], discarded: list[Any]
) -> None:
    source: TestPublisher[int] = TestPublisher()
    future = to_future(pyrs.Single(source))
    source.next(1)
    end(source, future)
    assert discarded == [1]


def test_result_of_a_future_is_not_discarded(discarded: list[Any]) -> None:
    assert to_future(pyrs.just(1)).result(DEADLINE) == 1
    assert discarded == []


def test_future_can_be_awaited_in_asyncio() -> None:
    async def main() -> int:
        return await asyncio.wrap_future(to_future(pyrs.range(9).count()))

    assert asyncio.run(main()) == 9


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="single must be a Single"):
        to_future(pyrs.range(3))  # type: ignore[arg-type]


class TestMapOverAnExecutor:
    """The recipe in docs/adapters.md."""

    def test_concurrency_is_limited(self) -> None:
        running = highest = 0
        lock = threading.Lock()
        together = threading.Barrier(3)

        def work(n: int) -> int:
            nonlocal running, highest
            with lock:
                running += 1
                highest = max(highest, running)
            together.wait(DEADLINE)
            with lock:
                running -= 1
            return n * n

        with ThreadPoolExecutor(8) as executor:
            results = (
                pyrs.range(12)
                .flat_map(lambda n: pyrs.from_future(executor.submit(work, n), cancel=True), concurrency=3)
                .collect(timeout=DEADLINE)
            )
        assert (sorted(results), highest) == ([n * n for n in range(12)], 3)

    def test_results_arrive_in_order(self) -> None:
        with ThreadPoolExecutor(4) as executor:
            results = (
                pyrs.range(50)
                .map(lambda n: executor.submit(str, n))
                .prefetch(4)
                .concat_map(lambda future: pyrs.from_future(future, cancel=True), prefetch=4)
                .collect(timeout=DEADLINE)
            )
        assert results == [str(n) for n in range(50)]

    def test_error_cancels_futures_that_wait_in_the_executor(self) -> None:
        release = threading.Event()
        futures: list[Future[int]] = []

        def submit(executor: ThreadPoolExecutor, n: int) -> pyrs.Single[int]:
            future = executor.submit(int, n)
            futures.append(future)
            return pyrs.from_future(future, cancel=True)

        with ThreadPoolExecutor(1) as executor:
            blocker = executor.submit(release.wait, DEADLINE)
            source: TestPublisher[int] = TestPublisher()
            failed = threading.Event()
            pyrs.Stream(source).flat_map(lambda n: submit(executor, n), concurrency=4).subscribe(
                on_error=lambda error: failed.set()
            )
            source.next(1, 2, 3)
            source.error(ValueError("upstream"))
            assert failed.is_set()
            assert [future.cancelled() for future in futures] == [True, True, True]
            release.set()
            blocker.result(DEADLINE)
