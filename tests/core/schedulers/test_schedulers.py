"""Schedulers: threads, order, errors, closing, the current scheduler, arguments, fork and process exit."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from pyrs import schedulers
from pyrs._core.executor import DaemonExecutor
from pyrs._core.validation import checked_seconds
from pyrs.schedulers import threads
from pyrs.schedulers.threads import Pool, SingleThread

Make = Callable[[], schedulers.Scheduler]
ROOT = Path(__file__).resolve().parents[3]
ON_THREADS: list[Make] = [schedulers.single, schedulers.pool]
FACTORIES: list[Make] = [
    schedulers.inline,
    schedulers.single,
    schedulers.pool,
    schedulers.default,
    schedulers.VirtualTime,
]


def run_python(program: str) -> str:
    """Run a program in a separate process, which must exit by itself, and return its output."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(params=ON_THREADS, ids=lambda make: make.__name__)
def scheduler(request: pytest.FixtureRequest) -> Iterator[schedulers.Scheduler]:
    scheduler: schedulers.Scheduler = request.param()
    yield scheduler
    assert scheduler.close(30)


class TestSingle:
    def test_10000_tasks_run_in_order_on_one_thread(self) -> None:
        scheduler = schedulers.single("orderly")
        seen: list[int] = []
        threads_used: set[threading.Thread] = set()
        for n in range(10_000):
            scheduler.execute(lambda n=n: (seen.append(n), threads_used.add(threading.current_thread())))  # type: ignore[misc]
        assert scheduler.close(30)
        assert seen == list(range(10_000))
        (thread,) = threads_used
        assert thread.daemon
        assert thread.name.startswith("pyrs-orderly-")

    def test_thread_starts_with_the_first_task_and_terminates_when_idle(self) -> None:
        scheduler = SingleThread("brief", idle_seconds=0.01)
        threads_used: list[threading.Thread] = []
        for _ in range(2):
            assert scheduler._executor.threads == 0
            done = threading.Event()
            scheduler.execute(lambda done=done: (threads_used.append(threading.current_thread()), done.set()))  # type: ignore[misc]
            assert done.wait(30)
            threads_used[-1].join(30)
        assert threads_used[0] is not threads_used[1]

    def test_task_submitted_at_the_idle_timeout_is_run(self) -> None:
        scheduler = SingleThread("meeting", idle_seconds=0.0001)
        for _ in range(500):
            done = threading.Event()
            scheduler.execute(done.set)
            assert done.wait(30)
        assert scheduler.close(30)

    def test_task_submitted_after_the_idle_timeout_is_run(self) -> None:
        scheduler, done = SingleThread("late"), threading.Event()
        submitted: list[bool] = []

        class LateSubmission(SimpleQueue[Any]):
            def get(self, block: bool = True, timeout: float | None = None) -> Any:
                if self.empty() and not submitted:
                    submitted.append(True)
                    scheduler.execute(done.set)
                    raise Empty
                return super().get(block, timeout)

        scheduler._executor._handoff = LateSubmission()
        scheduler.execute(int)
        assert done.wait(30)
        assert scheduler.close(30)

    def test_task_can_schedule_and_close(self) -> None:
        scheduler = schedulers.single()
        seen: list[str] = []
        done = threading.Event()

        def first() -> None:
            scheduler.execute(lambda: seen.append("second"))
            seen.append("first")
            scheduler.schedule(lambda: (seen.append(str(scheduler.close())), done.set()), 0.001)

        scheduler.execute(first)
        assert done.wait(30)
        assert seen == ["first", "second", "True"]


def test_tasks_of_a_pool_run_concurrently() -> None:
    scheduler = schedulers.pool(2, "meet")
    barrier = threading.Barrier(3)
    names: list[str] = []
    for _ in range(2):
        scheduler.execute(lambda: (barrier.wait(30), names.append(threading.current_thread().name)))
    barrier.wait(30)
    assert scheduler.close(30)
    assert len(set(names)) == 2
    assert all(name.startswith("pyrs-meet-") for name in names)


def test_task_submitted_while_the_last_thread_terminates_is_run() -> None:
    class TerminatingExecutor(DaemonExecutor):
        decided, go = threading.Event(), threading.Event()

        def _next_task(self) -> Any:
            task = super()._next_task()
            if task is None:
                self.decided.set()
                assert self.go.wait(30)
            return task

    executor = TerminatingExecutor("leaving", max_threads=1, idle_seconds=0.001)
    executor.execute(lambda: None)
    assert executor.decided.wait(30)
    done = threading.Event()
    executor.execute(done.set)
    executor.go.set()
    assert done.wait(30)
    assert executor.shutdown(30)


def test_task_submitted_by_a_finalizer_on_a_terminating_executor_thread_is_run() -> None:
    executor, done = DaemonExecutor("left", idle_seconds=0.001), threading.Event()
    submitted: list[bool] = []

    class FinalizingQueue(SimpleQueue[Any]):
        """Simulate a finalizer that runs after the thread found the queue empty."""

        def get_nowait(self) -> Any:
            try:
                return super().get_nowait()
            except Empty:
                if not submitted:
                    submitted.append(True)
                    executor.execute(done.set)
                raise

    executor._handoff = FinalizingQueue()
    executor.execute(int)
    assert done.wait(30)
    assert executor.shutdown(30)
    assert executor._idle == 0


class TestInline:
    def test_inline_runs_immediately_on_the_calling_thread(self) -> None:
        seen: list[threading.Thread] = []
        scheduler = schedulers.inline()
        scheduler.execute(lambda: seen.append(threading.current_thread()))
        scheduler.schedule(lambda: seen.append(threading.current_thread()))
        assert seen == [threading.current_thread()] * 2

    def test_inline_runs_delayed_tasks_on_the_default_pool(self) -> None:
        names: list[str] = []
        done = threading.Event()
        schedulers.inline().schedule(lambda: (names.append(threading.current_thread().name), done.set()), 0.001)
        assert done.wait(30)
        assert names[0].startswith("pyrs-default-")

    def test_inline_drops_errors_and_propagates_interrupts(self, dropped: Any) -> None:
        scheduler = schedulers.inline()
        scheduler.execute(lambda: 1 / 0)
        assert [type(error) for error in dropped.take()] == [ZeroDivisionError]

        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            scheduler.execute(interrupt)


class TestErrors:
    @pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
    @pytest.mark.parametrize("delay", [0.0, 0.001])
    def test_exception_of_a_task_is_dropped_and_the_thread_continues(
        self, error: BaseException, delay: float, dropped: Any
    ) -> None:
        scheduler = schedulers.single()
        threads_used: list[threading.Thread] = []
        done = threading.Event()

        def fail() -> None:
            threads_used.append(threading.current_thread())
            raise error

        scheduler.schedule(fail, delay)
        scheduler.schedule(lambda: (threads_used.append(threading.current_thread()), done.set()), delay)
        assert done.wait(30)
        assert dropped.take() == [error]
        assert threads_used[0] is threads_used[1]
        assert scheduler.close()

    def test_exception_of_a_pool_task_is_dropped(self, dropped: Any) -> None:
        scheduler = schedulers.pool(1)

        def exit_process() -> None:
            raise SystemExit(3)

        done = threading.Event()
        scheduler.execute(exit_process)
        scheduler.execute(done.set)
        assert done.wait(30)
        assert [type(error) for error in dropped.take()] == [SystemExit]
        assert scheduler.close()


class TestClose:
    def test_close_waits_for_queued_tasks_and_rejects_new_ones(self, scheduler: schedulers.Scheduler) -> None:
        entered, leave = threading.Semaphore(0), threading.Event()
        seen: list[int] = []
        for n in range(40):
            scheduler.execute(lambda n=n: (entered.release(), leave.wait(30), seen.append(n)))  # type: ignore[misc]
        assert entered.acquire(timeout=30)
        assert not scheduler.close(0)
        leave.set()
        assert scheduler.close(30)
        assert sorted(seen) == list(range(40))
        for schedule in (scheduler.execute, scheduler.schedule, lambda task: scheduler.schedule(task, 1)):
            with pytest.raises(schedulers.SchedulerClosed, match="takes no more tasks"):
                schedule(lambda: None)
        assert "closed" in repr(scheduler)
        assert scheduler.close()

    @pytest.mark.parametrize("make", [*ON_THREADS, schedulers.inline], ids=lambda make: make.__name__)
    def test_delayed_task_due_after_close_is_dropped(self, make: Make, dropped: Any) -> None:
        scheduler = make()
        seen: list[int] = []
        with threads._timer._queue.lock:  # the timer cannot dispatch the task before the close
            scheduler.schedule(lambda: seen.append(1), 0.001)
            assert scheduler.close()
            later = threading.Event()
            schedulers.default().schedule(later.set, 0.01)
        assert later.wait(30)
        assert [type(error) for error in dropped.take()] == [schedulers.SchedulerClosed]
        assert seen == []

    def test_closed_default_scheduler_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "_default", Pool(256, "default"))  # other tests keep the old one
        before = schedulers.default()
        assert schedulers.default() is before
        assert before.close()
        after = schedulers.default()
        assert after is not before
        done = threading.Event()
        after.execute(done.set)
        assert done.wait(30)

    def test_closed_inline_scheduler_rejects_tasks(self) -> None:
        scheduler = schedulers.inline()
        assert scheduler.close()
        with pytest.raises(schedulers.SchedulerClosed):
            scheduler.execute(lambda: None)
        schedulers.inline().execute(lambda: None)


class TestUse:
    def test_current_prefers_the_argument_then_use_then_the_default(self) -> None:
        assert schedulers.current() is schedulers.default()
        given = schedulers.inline()
        with schedulers.use(schedulers.VirtualTime()) as outer:
            assert schedulers.current() is outer
            assert schedulers.current(given) is given
            with schedulers.use(schedulers.VirtualTime()) as inner:
                assert schedulers.current() is inner
            assert schedulers.current() is outer
        assert schedulers.current() is schedulers.default()

    def test_use_does_not_affect_other_threads(self) -> None:
        seen: list[schedulers.Scheduler] = []
        with schedulers.use(schedulers.inline()):
            thread = threading.Thread(
                target=contextvars.Context().run, args=(lambda: seen.append(schedulers.current()),)
            )
            thread.start()
            thread.join(30)
        assert seen == [schedulers.default()]

    def test_non_schedulers_raise_type_error(self) -> None:
        with pytest.raises(TypeError, match="scheduler must be a Scheduler, not int"):
            schedulers.current(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="scheduler must be a Scheduler, not NoneType"), schedulers.use(None):  # type: ignore[type-var]
            pass
        with pytest.raises(TypeError, match="on must be a Scheduler, not str"):
            schedulers.checked_scheduler("pool", "on")  # type: ignore[arg-type]
        assert schedulers.checked_scheduler(None) is None


class TestArguments:
    @pytest.mark.parametrize("make", FACTORIES, ids=lambda make: make.__name__)
    def test_schedule_and_close_reject_wrong_arguments(self, make: Make) -> None:
        scheduler = make()
        for delay in (-1, float("nan"), float("inf"), 10**400):
            with pytest.raises(ValueError, match="delay must be finite and at least 0 seconds"):
                scheduler.schedule(int, delay)
        with pytest.raises(TypeError, match="delay must be a number of seconds or a timedelta, not str"):
            scheduler.schedule(int, "1")  # type: ignore[arg-type]
        for call in (scheduler.execute, scheduler.schedule):
            with pytest.raises(TypeError, match="task must be callable, not int"):
                call(3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="timeout"):
            scheduler.close(-1)

    def test_factories_reject_wrong_arguments(self) -> None:
        for make in (schedulers.single, lambda name: schedulers.pool(1, name)):
            with pytest.raises(TypeError, match="name must be a string"):
                make(3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="max_threads must be at least 1"):
            schedulers.pool(0)
        with pytest.raises(TypeError, match="max_threads must be an integer"):
            schedulers.pool("2")  # type: ignore[arg-type]

    def test_checked_seconds_accepts_finite_numbers_and_timedeltas(self) -> None:
        assert checked_seconds(timedelta(milliseconds=1500), "period") == 1.5
        assert [checked_seconds(value, "period") for value in (0, 2, 0.25)] == [0.0, 2.0, 0.25]
        for value in (0, 0.0, timedelta(0), -1, timedelta(-1), float("nan"), float("inf"), 10**400):
            with pytest.raises(ValueError, match="period must be finite and greater than 0 seconds"):
                checked_seconds(value, "period", positive=True)
        for wrong in (None, "1", [1], 1j):
            with pytest.raises(TypeError, match="period must be a number of seconds or a timedelta"):
                checked_seconds(wrong, "period")  # type: ignore[arg-type]

    @pytest.mark.parametrize("make", FACTORIES, ids=lambda make: make.__name__)
    def test_repr_contains_the_factory_name(self, make: Make) -> None:
        assert make.__name__ in repr(make())


class TestProcess:
    def test_import_loads_neither_asyncio_nor_logging(self) -> None:
        loaded = run_python(
            "import sys; before = set(sys.modules); import pyrs.schedulers; print(*set(sys.modules) - before)"
        ).split()
        assert not {"asyncio", "logging", "datetime", "inspect", "concurrent.futures"} & set(loaded)

    def test_busy_schedulers_do_not_block_interpreter_exit(self) -> None:
        program = """
import threading
from pyrs import schedulers
for scheduler in (schedulers.single(), schedulers.pool(), schedulers.default()):
    entered = threading.Event()
    scheduler.execute(lambda: (entered.set(), threading.Event().wait(3600)))
    scheduler.schedule(print, 3600)
    assert entered.wait(30)
print("end")
"""
        assert run_python(program) == "end\n"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_forked_child_starts_its_own_threads(self) -> None:
        program = """
import os, threading
from pyrs import schedulers
from pyrs.schedulers import threads
every = [schedulers.single(), schedulers.pool(2), schedulers.default()]

def use():
    for scheduler in every:
        for delay in (0, 0.001):
            done = threading.Event()
            scheduler.schedule(done.set, delay)
            assert done.wait(30), (scheduler, delay)

use()
inherited, inherited_handles = [], []
entered, leave = threading.Event(), threading.Event()

def hold():
    with threads._timer._queue.lock, every[0]._executor._lock, every[1]._executor._lock:
        every[0].schedule(lambda: inherited.append(1), 0.2)  # cannot fire before the fork
        inherited_handles.append(every[0].schedule(print, 3600))
        entered.set()
        leave.wait(30)

threading.Thread(target=hold).start()
entered.wait(30)
child = os.fork()
if not child:
    inherited_handles[0].cancel()
    use()
    done = threading.Event()
    every[0].schedule(done.set, 0.3)
    os._exit(0 if done.wait(30) and not inherited else 1)
leave.set()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
use()
print("both")
"""
        assert run_python(program) == "both\n"


def test_scheduler_threads_start_with_an_empty_context(scheduler: schedulers.Scheduler) -> None:
    variable = contextvars.ContextVar[str]("variable")
    sizes: list[int] = []
    done = threading.Event()
    token = variable.set("mine")
    scheduler.execute(lambda: (sizes.append(len(contextvars.copy_context())), done.set()))
    variable.reset(token)
    assert done.wait(30)
    assert sizes == [0]


def test_repr_of_a_pool_shows_its_state() -> None:
    scheduler = Pool(2, "shown")
    assert repr(scheduler) == "<pool(2, 'shown'): 0 threads, 0 queued>"
    assert scheduler.close()
    assert scheduler.closed
