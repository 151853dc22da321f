"""to_future, and mapping over an executor."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait

import pytest

import pyrs
from pyrs.adapters.futures import to_future
from pyrs.testing import TestPublisher
from tests.core.conftest import Dropped

DEADLINE = 20.0


def test_the_element_of_a_single() -> None:
    assert to_future(pyrs.range(4).to_list()).result(0) == [0, 1, 2, 3]


def test_an_error() -> None:
    future = to_future(pyrs.error(ValueError("no")).to_list())
    assert isinstance(future.exception(0), ValueError)


def test_from_another_thread() -> None:
    release = threading.Event()

    def wait_for_it() -> int:
        assert release.wait(DEADLINE)
        return 7

    future = to_future(pyrs.from_callable(wait_for_it).subscribe_on(pyrs.schedulers.default()).first())
    assert not future.done()
    release.set()
    assert future.result(DEADLINE) == 7


def test_cancelling_the_future_cancels_the_stream() -> None:
    source: TestPublisher[int] = TestPublisher()
    future = to_future(pyrs.Stream(source).first())
    assert future.cancel()
    assert future.cancel()  # idempotent
    source.assert_cancelled()
    with pytest.raises(CancelledError):
        future.result(0)
    assert wait([future], timeout=DEADLINE).done == {future}


def test_a_wait_that_has_begun_hears_of_the_cancel() -> None:
    future = to_future(pyrs.never().first())
    waiting = threading.Event()
    found: list[object] = []

    def await_it() -> None:
        waiting.set()
        found.append(wait([future], timeout=DEADLINE).not_done)

    thread = threading.Thread(target=await_it)
    thread.start()
    assert waiting.wait(DEADLINE)
    future.cancel()
    thread.join(DEADLINE)
    assert found == [set()]


def test_what_comes_after_the_cancel_goes_to_the_hooks(dropped: Dropped) -> None:
    """A Publisher may signal once more after a cancel (2.8): the future stays cancelled, and nothing is raised."""

    class Late(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            self.subscriber = subscriber

            class Deaf(pyrs.Subscription):
                def request(self, n: int, /) -> None: ...
                def cancel(self) -> None: ...

            subscriber.on_subscribe(Deaf())

    source = Late()
    future = to_future(pyrs.Single(source))
    future.cancel()
    source.subscriber.on_next(1)
    source.subscriber.on_complete()
    assert (future.cancelled(), dropped.elements) == (True, 1)
    error = ValueError("late")
    source.subscriber.on_error(error)
    assert dropped.take() == [error]


def test_a_single_that_gives_nothing() -> None:
    assert isinstance(to_future(pyrs.Single(pyrs.empty())).exception(0), pyrs.SpecViolation)


def test_in_asyncio() -> None:
    async def main() -> int:
        return await asyncio.wrap_future(to_future(pyrs.range(9).count()))

    assert asyncio.run(main()) == 9


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="single must be a Single"):
        to_future(pyrs.range(3))  # type: ignore[arg-type]


class TestMapOverAnExecutor:
    """The recipe of docs/adapters.md."""

    def test_so_many_at_a_time(self) -> None:
        running = most = 0
        lock = threading.Lock()
        together = threading.Barrier(3)

        def work(n: int) -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
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
        assert (sorted(results), most) == ([n * n for n in range(12)], 3)

    def test_in_order(self) -> None:
        with ThreadPoolExecutor(4) as executor:
            found = (
                pyrs.range(50)
                .map(lambda n: executor.submit(str, n))
                .prefetch(4)
                .concat_map(lambda future: pyrs.from_future(future, cancel=True), prefetch=4)
                .collect(timeout=DEADLINE)
            )
        assert found == [str(n) for n in range(50)]

    def test_an_error_cancels_what_waits_in_the_executor(self) -> None:
        release = threading.Event()
        futures: list[Future[int]] = []

        def work(n: int) -> int:
            if n == 0:
                raise ValueError("zero")
            assert release.wait(DEADLINE)
            return n

        def submit(executor: ThreadPoolExecutor, n: int) -> pyrs.Single[int]:
            future = executor.submit(work, n)
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
