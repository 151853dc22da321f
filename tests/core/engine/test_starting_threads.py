"""Threads are started with no lock held: the collector may run finalizers on them before they have begun."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyrs._core.executor import DaemonExecutor, ended
from pyrs.aio import loops
from pyrs.schedulers.delays import Timer
from pyrs.schedulers.threads import Single
from tests.waiting import DEADLINE

Do = Callable[[Callable[[], object]], object]


@contextmanager
def an_executor() -> Iterator[Do]:
    executor = DaemonExecutor("begun")
    yield executor.execute
    assert executor.shutdown(DEADLINE)


@contextmanager
def a_single() -> Iterator[Do]:
    single = Single("begun")
    yield single.execute
    assert single.close(DEADLINE)


@contextmanager
def a_timer() -> Iterator[Do]:
    timer = Timer()
    yield lambda task: timer.arm(task, 0.001, lambda due: due())


@contextmanager
def a_background_loop() -> Iterator[Do]:
    before, loops._loop = loops._loop, None
    yield lambda task: loops.background_loop().call_soon_threadsafe(task)
    loops._loop = before  # the other one is nobody's, and its thread a daemon


@pytest.mark.parametrize("make", [an_executor, a_single, a_timer, a_background_loop])
def test_what_a_finalizer_brings_on_a_thread_that_begins(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
    brought, finalized = threading.Event(), threading.Event()

    def finalizing(thread: threading.Thread) -> None:
        if thread.name.startswith("pyrs-") and not finalized.is_set():
            finalized.set()
            do(brought.set)
        begin(thread)

    with make() as do:
        monkeypatch.setattr(threading.Thread, "_bootstrap_inner", finalizing)
        done = threading.Event()
        threading.Thread(target=do, args=(done.set,), daemon=True).start()
        assert done.wait(DEADLINE), "the thread waited for its own beginning"
        assert brought.wait(DEADLINE)


def no_more_threads(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("make", [an_executor, a_single, a_timer])
def test_what_was_refused_for_want_of_a_thread_is_not_run_later(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    with make() as do:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_more_threads)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                do(lambda: ran.append("refused"))
        done = threading.Event()
        do(lambda: (ran.append("taken"), done.set()))
        assert done.wait(DEADLINE)
    assert ran == ["taken"]


def test_who_waits_for_the_end_of_a_thread_waits_for_its_beginning_too() -> None:
    run, leave = threading.Event(), threading.Event()
    late = threading.Thread(target=lambda: (run.set(), leave.wait(DEADLINE)), daemon=True)
    assert not ended(late, 0.0)
    seen: list[bool] = []
    waiting = threading.Thread(target=lambda: seen.append(ended(late, DEADLINE)), daemon=True)
    waiting.start()
    late.start()
    assert run.wait(DEADLINE)
    assert not ended(late, 0.0)
    leave.set()
    waiting.join(DEADLINE)
    assert seen == [True]


def test_the_loop_of_whoever_comes_first_is_everybodys() -> None:
    async def here() -> Any:
        return loops.background_loop()

    assert asyncio.run(here()) is loops.background_loop()
