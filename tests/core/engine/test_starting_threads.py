"""Threads are started with no lock held, because a new thread may run finalizers before its start is complete."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyrs._core.executor import DaemonExecutor, ended
from pyrs.aio import loops
from pyrs.schedulers.delays import TimerThread
from pyrs.schedulers.threads import SingleThread
from tests.waiting import DEADLINE

Execute = Callable[[Callable[[], object]], object]


@contextmanager
def open_executor() -> Iterator[Execute]:
    executor = DaemonExecutor("started")
    yield executor.execute
    assert executor.shutdown(DEADLINE)


@contextmanager
def open_single() -> Iterator[Execute]:
    single = SingleThread("started")
    yield single.execute
    assert single.close(DEADLINE)


@contextmanager
def open_timer() -> Iterator[Execute]:
    timer = TimerThread(lambda task: task())
    yield lambda task: timer.arm(task, 0.001, lambda due: due())


@contextmanager
def open_background_loop() -> Iterator[Execute]:
    before, loops._loop = loops._loop, None
    yield lambda task: loops.background_loop().call_soon_threadsafe(task)
    loops._loop = before  # the new loop is no longer referenced, and its thread is a daemon


@pytest.mark.parametrize("make", [open_executor, open_single, open_timer, open_background_loop])
def test_finalizer_on_a_starting_thread_can_schedule_a_task(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
    scheduled, finalized = threading.Event(), threading.Event()

    def bootstrap_with_finalizer(thread: threading.Thread) -> None:
        if thread.name.startswith("pyrs-") and not finalized.is_set():
            finalized.set()
            execute(scheduled.set)
        bootstrap(thread)

    with make() as execute:
        monkeypatch.setattr(threading.Thread, "_bootstrap_inner", bootstrap_with_finalizer)
        done = threading.Event()
        threading.Thread(target=execute, args=(done.set,), daemon=True).start()
        assert done.wait(DEADLINE), "the thread waited for its own start"
        assert scheduled.wait(DEADLINE)


def fail_to_start(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("make", [open_executor, open_single, open_timer])
def test_task_rejected_for_lack_of_threads_never_runs(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    with make() as execute:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", fail_to_start)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                execute(lambda: ran.append("rejected"))
        done = threading.Event()
        execute(lambda: (ran.append("accepted"), done.set()))
        assert done.wait(DEADLINE)
    assert ran == ["accepted"]


@pytest.mark.parametrize("make", [open_executor, open_single])
def test_tasks_submitted_before_a_failed_start_run_first(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    done = threading.Event()
    with make() as execute:

        def fail_after_another_task(thread: threading.Thread) -> None:
            monkeypatch.undo()
            with monkeypatch.context() as patch:
                patch.setattr("pyrs._core.executor._EAGER_THREADS", 1)
                execute(lambda: ran.append("another"))
            fail_to_start(thread)

        monkeypatch.setattr(threading.Thread, "start", fail_after_another_task)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            execute(lambda: ran.append("rejected"))
        execute(lambda: (ran.append("last"), done.set()))
        assert done.wait(DEADLINE)
    assert ran == ["another", "last"]


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), KeyboardInterrupt()])
def test_executor_adds_threads_although_its_watching_thread_failed_to_start(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def fail_once(thread: threading.Thread) -> None:
        if thread.name.endswith("-watch"):
            monkeypatch.undo()
            raise error
        start(thread)

    executor = DaemonExecutor("blocked")
    ran: list[str] = []
    blocked, release, accepted = threading.Semaphore(0), threading.Event(), threading.Event()
    for _ in range(4):
        executor.execute(lambda: (blocked.release(), release.wait(DEADLINE)))
    for _ in range(4):
        assert blocked.acquire(timeout=DEADLINE)
    monkeypatch.setattr(threading.Thread, "start", fail_once)
    with pytest.raises(type(error)):
        executor.execute(lambda: ran.append("rejected"))
    executor.execute(accepted.set)
    assert accepted.wait(DEADLINE), "no thread was added while four were blocked"
    release.set()
    assert executor.shutdown(DEADLINE)
    assert ran == []


def test_interrupt_before_the_start_does_not_count_as_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(executor: DaemonExecutor, thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    executor = DaemonExecutor("interrupted", max_threads=1)
    with monkeypatch.context() as patch:
        patch.setattr(DaemonExecutor, "_start", interrupt)
        with pytest.raises(KeyboardInterrupt):
            executor.execute(lambda: None)
    done = threading.Event()
    executor.execute(done.set)
    assert done.wait(DEADLINE)
    assert executor.shutdown(DEADLINE)


def test_wait_for_a_thread_that_has_not_started_lasts_until_its_end() -> None:
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


def test_background_loop_is_shared() -> None:
    async def here() -> Any:
        return loops.background_loop()

    assert asyncio.run(here()) is loops.background_loop()


def test_background_loop_starts_after_the_system_had_no_thread_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(loops, "_loop", None)
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            loops.background_loop()
    runs = threading.Event()
    loops.background_loop().call_soon_threadsafe(runs.set)
    assert runs.wait(DEADLINE)
