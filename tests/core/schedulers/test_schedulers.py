"""Schedulers: which thread, which order, what becomes of errors, closes, forks and cancelled timers."""

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
from pyrs.schedulers.threads import Pool, Single

Make = Callable[[], schedulers.Scheduler]
ROOT = Path(__file__).resolve().parents[3]
ON_THREADS: list[Make] = [schedulers.single, schedulers.pool]
EVERY: list[Make] = [schedulers.inline, schedulers.single, schedulers.pool, schedulers.default, schedulers.VirtualTime]


def run_python(program: str) -> str:
    """Run a program in a process of its own, and return what it printed. It must end by itself."""
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
    def test_ten_thousand_tasks_run_in_their_order_on_one_thread(self) -> None:
        scheduler = schedulers.single("orderly")
        seen: list[int] = []
        on: set[threading.Thread] = set()
        for n in range(10_000):
            scheduler.execute(lambda n=n: (seen.append(n), on.add(threading.current_thread())))  # type: ignore[misc]
        assert scheduler.close(30)
        assert seen == list(range(10_000))
        (thread,) = on
        assert thread.daemon
        assert thread.name.startswith("pyrs-orderly-")

    def test_no_thread_before_the_first_task_and_none_after_an_idle_time(self) -> None:
        scheduler = Single("brief", idle_seconds=0.01)
        on: list[threading.Thread] = []
        for _ in range(2):
            assert scheduler._thread is None
            done = threading.Event()
            scheduler.execute(lambda done=done: (on.append(threading.current_thread()), done.set()))  # type: ignore[misc]
            assert done.wait(30)
            on[-1].join(30)
        assert on[0] is not on[1]

    def test_nothing_is_lost_where_idle_ends_and_new_tasks_meet(self) -> None:
        scheduler = Single("meeting", idle_seconds=0.0001)
        for _ in range(500):
            done = threading.Event()
            scheduler.execute(done.set)
            assert done.wait(30)
        assert scheduler.close(30)

    def test_a_task_that_comes_after_the_idle_time_and_before_the_end_is_run(self) -> None:
        scheduler, done = Single("late"), threading.Event()
        brought: list[bool] = []

        class Late(SimpleQueue[Any]):
            def get(self, block: bool = True, timeout: float | None = None) -> Any:
                if self.empty() and not brought:
                    brought.append(True)
                    scheduler.execute(done.set)
                    raise Empty
                return super().get(block, timeout)

        scheduler._tasks = Late()
        scheduler.execute(int)
        assert done.wait(30)
        assert scheduler.close(30)

    def test_a_task_that_a_finalizer_brings_while_the_idle_thread_leaves_is_run(self) -> None:
        scheduler, done = Single("left", idle_seconds=0.001), threading.Event()
        brought: list[threading.Thread] = []

        class Collecting(SimpleQueue[Any]):
            """As if the collector ran a finalizer when the thread has seen that nothing is left to do."""

            def empty(self) -> bool:
                empty = super().empty()
                if empty and not brought:
                    brought.append(threading.current_thread())
                    scheduler.execute(done.set)
                return empty

        scheduler._tasks = Collecting()
        scheduler.execute(int)
        assert done.wait(30)
        assert scheduler.close(30)

    def test_a_task_may_schedule_and_close(self) -> None:
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


def test_tasks_of_a_pool_run_at_the_same_time() -> None:
    scheduler = schedulers.pool(2, "meet")
    barrier = threading.Barrier(3)
    names: list[str] = []
    for _ in range(2):
        scheduler.execute(lambda: (barrier.wait(30), names.append(threading.current_thread().name)))
    barrier.wait(30)
    assert scheduler.close(30)
    assert len(set(names)) == 2
    assert all(name.startswith("pyrs-meet-") for name in names)


def test_a_task_that_comes_while_the_last_thread_of_an_executor_leaves_is_run() -> None:
    class Leaving(DaemonExecutor):
        decided, go = threading.Event(), threading.Event()

        def _next_task(self) -> Any:
            task = super()._next_task()
            if task is None:
                self.decided.set()
                assert self.go.wait(30)
            return task

    executor = Leaving("leaving", max_threads=1, idle_seconds=0.001)
    executor.execute(lambda: None)
    assert executor.decided.wait(30)
    done = threading.Event()
    executor.execute(done.set)
    executor.go.set()
    assert done.wait(30)
    assert executor.shutdown(30)


def test_a_task_that_a_finalizer_brings_while_an_idle_thread_of_an_executor_leaves_is_run() -> None:
    executor, done = DaemonExecutor("left", idle_seconds=0.001), threading.Event()
    brought: list[bool] = []

    class Collecting(SimpleQueue[Any]):
        """As if the collector ran a finalizer when the thread has seen that nothing is left to do."""

        def get_nowait(self) -> Any:
            try:
                return super().get_nowait()
            except Empty:
                if not brought:
                    brought.append(True)
                    executor.execute(done.set)
                raise

    executor._handed = Collecting()
    executor.execute(int)
    assert done.wait(30)
    assert executor.shutdown(30)
    assert executor._idle == 0


class TestInline:
    def test_runs_here_and_at_once(self) -> None:
        seen: list[threading.Thread] = []
        scheduler = schedulers.inline()
        scheduler.execute(lambda: seen.append(threading.current_thread()))
        scheduler.schedule(lambda: seen.append(threading.current_thread()))
        assert seen == [threading.current_thread()] * 2

    def test_with_a_delay_runs_on_the_default_pool(self) -> None:
        names: list[str] = []
        done = threading.Event()
        schedulers.inline().schedule(lambda: (names.append(threading.current_thread().name), done.set()), 0.001)
        assert done.wait(30)
        assert names[0].startswith("pyrs-default-")

    def test_errors_go_to_the_hook_and_interrupts_travel_on(self, dropped: Any) -> None:
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
    def test_go_to_the_hook_and_the_thread_goes_on(self, error: BaseException, delay: float, dropped: Any) -> None:
        scheduler = schedulers.single()
        on: list[threading.Thread] = []
        done = threading.Event()

        def fail() -> None:
            on.append(threading.current_thread())
            raise error

        scheduler.schedule(fail, delay)
        scheduler.schedule(lambda: (on.append(threading.current_thread()), done.set()), delay)
        assert done.wait(30)
        assert dropped.take() == [error]
        assert on[0] is on[1]
        assert scheduler.close()

    def test_of_a_pool_too(self, dropped: Any) -> None:
        scheduler = schedulers.pool(1)

        def leave() -> None:
            raise SystemExit(3)

        done = threading.Event()
        scheduler.execute(leave)
        scheduler.execute(done.set)
        assert done.wait(30)
        assert [type(error) for error in dropped.take()] == [SystemExit]
        assert scheduler.close()


class TestClose:
    def test_lets_queued_tasks_finish_and_then_refuses(self, scheduler: schedulers.Scheduler) -> None:
        entered, leave = threading.Semaphore(0), threading.Event()
        seen: list[int] = []
        for n in range(40):
            scheduler.execute(lambda n=n: (entered.release(), leave.wait(30), seen.append(n)))  # type: ignore[misc]
        assert entered.acquire(timeout=30)
        assert not scheduler.close(0)
        leave.set()
        assert scheduler.close(30)
        assert sorted(seen) == list(range(40))
        for refused in (scheduler.execute, scheduler.schedule, lambda task: scheduler.schedule(task, 1)):
            with pytest.raises(schedulers.SchedulerClosed, match="takes no more tasks"):
                refused(lambda: None)
        assert "closed" in repr(scheduler)
        assert scheduler.close()

    @pytest.mark.parametrize("make", [*ON_THREADS, schedulers.inline], ids=lambda make: make.__name__)
    def test_a_delay_that_ends_after_it_is_reported(self, make: Make, dropped: Any) -> None:
        scheduler = make()
        seen: list[int] = []
        with threads._timer._queue.lock:  # so that it cannot be handed over before the close
            scheduler.schedule(lambda: seen.append(1), 0.001)
            assert scheduler.close()
            later = threading.Event()
            schedulers.default().schedule(later.set, 0.01)
        assert later.wait(30)
        assert [type(error) for error in dropped.take()] == [schedulers.SchedulerClosed]
        assert seen == []

    def test_the_default_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "_default", Pool(256, "default"))  # what other tests have left keeps theirs
        before = schedulers.default()
        assert schedulers.default() is before
        assert before.close()
        after = schedulers.default()
        assert after is not before
        done = threading.Event()
        after.execute(done.set)
        assert done.wait(30)

    def test_closed_inline_refuses(self) -> None:
        scheduler = schedulers.inline()
        assert scheduler.close()
        with pytest.raises(schedulers.SchedulerClosed):
            scheduler.execute(lambda: None)
        schedulers.inline().execute(lambda: None)


class TestUse:
    def test_the_given_one_then_that_of_use_then_the_default(self) -> None:
        assert schedulers.current() is schedulers.default()
        given = schedulers.inline()
        with schedulers.use(schedulers.VirtualTime()) as outer:
            assert schedulers.current() is outer
            assert schedulers.current(given) is given
            with schedulers.use(schedulers.VirtualTime()) as inner:
                assert schedulers.current() is inner
            assert schedulers.current() is outer
        assert schedulers.current() is schedulers.default()

    def test_other_threads_are_not_concerned(self) -> None:
        seen: list[schedulers.Scheduler] = []
        with schedulers.use(schedulers.inline()):
            thread = threading.Thread(
                target=contextvars.Context().run, args=(lambda: seen.append(schedulers.current()),)
            )
            thread.start()
            thread.join(30)
        assert seen == [schedulers.default()]

    def test_only_schedulers(self) -> None:
        with pytest.raises(TypeError, match="scheduler must be a Scheduler, not int"):
            schedulers.current(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="scheduler must be a Scheduler, not NoneType"), schedulers.use(None):  # type: ignore[type-var]
            pass
        with pytest.raises(TypeError, match="on must be a Scheduler, not str"):
            schedulers.checked_scheduler("pool", "on")  # type: ignore[arg-type]
        assert schedulers.checked_scheduler(None) is None


class TestArguments:
    @pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
    def test_are_checked_where_they_enter(self, make: Make) -> None:
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

    def test_of_the_functions(self) -> None:
        for make in (schedulers.single, lambda name: schedulers.pool(1, name)):
            with pytest.raises(TypeError, match="name must be a string"):
                make(3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="max_threads must be at least 1"):
            schedulers.pool(0)
        with pytest.raises(TypeError, match="max_threads must be an integer"):
            schedulers.pool("2")  # type: ignore[arg-type]

    def test_seconds(self) -> None:
        assert checked_seconds(timedelta(milliseconds=1500), "period") == 1.5
        assert [checked_seconds(value, "period") for value in (0, 2, 0.25)] == [0.0, 2.0, 0.25]
        for value in (0, 0.0, timedelta(0), -1, timedelta(-1), float("nan"), float("inf"), 10**400):
            with pytest.raises(ValueError, match="period must be finite and greater than 0 seconds"):
                checked_seconds(value, "period", positive=True)
        for wrong in (None, "1", [1], 1j):
            with pytest.raises(TypeError, match="period must be a number of seconds or a timedelta"):
                checked_seconds(wrong, "period")  # type: ignore[arg-type]

    @pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
    def test_a_repr_tells_what_it_is(self, make: Make) -> None:
        assert make.__name__ in repr(make())


class TestProcess:
    def test_importing_it_loads_neither_asyncio_nor_logging(self) -> None:
        loaded = run_python(
            "import sys; before = set(sys.modules); import pyrs.schedulers; print(*set(sys.modules) - before)"
        ).split()
        assert not {"asyncio", "logging", "datetime", "inspect", "concurrent.futures"} & set(loaded)

    def test_nothing_keeps_the_interpreter_from_exiting(self) -> None:
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

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_forked_child_has_threads_of_its_own(self) -> None:
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
inherited = []
entered, leave = threading.Event(), threading.Event()

def hold():
    with threads._timer._queue.lock, every[0]._lock, every[1]._executor._lock:
        every[0].schedule(lambda: inherited.append(1), 0.2)  # it cannot go off before the fork
        entered.set()
        leave.wait(30)

threading.Thread(target=hold).start()
entered.wait(30)
child = os.fork()
if not child:
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


def test_a_pool_s_threads_carry_nothing_of_whoever_came_first(scheduler: schedulers.Scheduler) -> None:
    variable = contextvars.ContextVar[str]("variable")
    sizes: list[int] = []
    done = threading.Event()
    token = variable.set("mine")
    scheduler.execute(lambda: (sizes.append(len(contextvars.copy_context())), done.set()))
    variable.reset(token)
    assert done.wait(30)
    assert sizes == [0]


def test_a_pool_shows_its_state() -> None:
    scheduler = Pool(2, "shown")
    assert repr(scheduler) == "<pool(2, 'shown'): 0 threads, 0 queued>"
    assert scheduler.close()
    assert scheduler.closed
