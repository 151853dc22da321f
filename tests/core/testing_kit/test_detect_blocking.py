"""``detect_blocking`` reports callbacks that wait on the thread of an asyncio loop."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import pyrs
from pyrs.testing import BlockedLoop, blocking, detect_blocking
from tests.waiting import DEADLINE

SECONDS = 0.5
MOST_WAITS = 12


@pytest.fixture(autouse=True)
def no_blocked_loop() -> None:
    """Replace the fixture of the other tests: these tests block loops."""


def on_loop(function: Callable[[], Any]) -> None:
    async def call() -> None:
        function()

    asyncio.run(call())


def block(reports: list[BlockedLoop], wait: Callable[[float], object] = time.sleep) -> None:
    """Block a loop until ``detect_blocking`` reports its callback.

    On a busy machine only a share of each wait counts, so each wait is longer than the one before.
    """

    def block_loop() -> None:
        for number in range(1, MOST_WAITS + 1):
            if reports:
                return
            wait(number * SECONDS)

    on_loop(block_loop)


def wait_for_lock(seconds: float) -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=seconds)


@pytest.mark.parametrize(
    "wait",
    [time.sleep, wait_for_lock, lambda seconds: threading.Event().wait(seconds)],
    ids=["sleep", "lock", "event"],
)
def test_waiting_call_is_reported_with_its_stack(wait: Callable[[float], object]) -> None:
    with (
        pytest.raises(AssertionError, match="1 callback blocked an asyncio loop") as failure,
        detect_blocking() as reports,
    ):
        block(reports, wait)
    assert "test_detect_blocking.py" in str(failure.value)
    assert "asyncio/events.py" not in str(failure.value)


def test_operator_that_waits_is_reported() -> None:
    async def slow() -> None:
        for number in count(1):  # longer and longer, as in ``block``
            if reports:
                return
            await pyrs.just(number).do_on_next(lambda number: time.sleep(number * SECONDS))

    with detect_blocking() as reports:
        asyncio.run(asyncio.wait_for(slow(), DEADLINE))
        assert [report.computed for report in reports] == [False]
        assert reports.pop().seconds >= 0.05


def test_callback_of_another_thread_is_reported() -> None:
    with detect_blocking() as reports:
        thread = threading.Thread(target=block, args=(reports,))
        thread.start()
        thread.join(DEADLINE)
        assert len(reports) == 1
        reports.clear()


def test_waiting_on_the_loop_is_not_reported() -> None:
    async def waits() -> None:
        await asyncio.sleep(0.2)
        assert await pyrs.just(1).delay(0.1) == 1

    with detect_blocking():
        asyncio.run(waits())


def compute(seconds: float) -> None:
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


def test_waiting_for_the_interpreter_lock_is_not_reported() -> None:
    threads = [threading.Thread(target=compute, args=(0.3,)) for _ in range(4)]
    with detect_blocking():
        for thread in threads:
            thread.start()
        on_loop(lambda: compute(0.1))
        for thread in threads:
            thread.join(DEADLINE)


def test_computing_is_reported_on_request() -> None:
    with detect_blocking():
        on_loop(lambda: compute(0.15))
    with detect_blocking(computing=0.1) as reports:
        on_loop(lambda: compute(0.15))
        assert [report.computed for report in reports] == [True]
        assert "computed for" in str(reports.pop())


def test_end_of_the_block_waits_for_a_thread_that_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog = blocking._Watchdog(0.05, None)
    start, starting = watchdog._thread.start, threading.Event()

    def late_start() -> None:
        starting.set()
        assert watchdog._stopped.wait(DEADLINE)
        start()

    monkeypatch.setattr(watchdog._thread, "start", late_start)
    watchdog.start()
    other = threading.Thread(target=on_loop, args=(lambda: None,))
    other.start()
    assert starting.wait(DEADLINE)
    watchdog.stop()
    other.join(DEADLINE)
    assert not watchdog._thread.is_alive() and watchdog._thread.ident is not None


def test_exception_of_the_block_propagates() -> None:
    with pytest.raises(ValueError, match="planned"), detect_blocking() as reports:
        block(reports)
        raise ValueError("planned")


def test_asyncio_is_restored() -> None:
    before = asyncio.Handle._run
    with detect_blocking(), detect_blocking():
        assert asyncio.Handle._run is not before
    assert asyncio.Handle._run is before


def test_unchanged_stack_counts_as_waiting_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*arguments: Any, **options: Any) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr(blocking, "open", no_file, raising=False)
    with detect_blocking() as reports:
        block(reports)
        assert len(reports) == 1
        reports.clear()


@pytest.mark.parametrize("text", ["0.1 0.1 0.1 1000001/1000002 7", "0.1 0.1 0.1 1/2 7", "unknown"])
def test_wait_on_a_busy_machine_is_not_reported(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A wait is ignored with a million runnable threads, and reported with one or an unknown number."""
    original = open

    def opened(path: Any, *arguments: Any, **options: Any) -> Any:
        return io.StringIO(text) if path == "/proc/loadavg" else original(path, *arguments, **options)

    monkeypatch.setattr(blocking, "open", opened, raising=False)
    with detect_blocking() as reports:
        if "1000001" in text:
            on_loop(lambda: time.sleep(SECONDS))
            assert reports == []
        else:
            block(reports)
            assert len(reports) == 1
            reports.clear()


def test_no_thread_is_started_before_the_first_callback() -> None:
    with detect_blocking() as reports:
        assert not [each for each in threading.enumerate() if each.name == "pyrs-detect-blocking"]
        block(reports)
        reports.clear()
    assert not [each for each in threading.enumerate() if each.name == "pyrs-detect-blocking"]


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), "1"])
def test_illegal_times_are_rejected(seconds: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="seconds"), detect_blocking(seconds):
        pass
