"""Delayed tasks: order, cancellation until the task runs, and cleanup of timers."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core import hooks
from pyrs.schedulers import delays, threads
from pyrs.schedulers.base import OwnedTask
from pyrs.schedulers.threads import Pool, SingleThread
from pyrs.testing import TestSubscriber
from tests.core.support import frequent_collections, frequent_thread_switches
from tests.waiting import DEADLINE, collected


@pytest.fixture(params=[schedulers.single, schedulers.pool], ids=lambda make: make.__name__)
def scheduler(request: pytest.FixtureRequest) -> Iterator[schedulers.Scheduler]:
    scheduler: schedulers.Scheduler = request.param()
    yield scheduler
    assert scheduler.close(30)


class TestDelays:
    def test_tasks_run_in_order_of_time_and_never_early(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scheduler = schedulers.single()
        start = scheduler.now()
        monkeypatch.setattr(delays, "monotonic", lambda: start)  # stop the clock while the tasks are scheduled
        seen: list[tuple[float, bool]] = []
        done = threading.Event()
        for delay in (0.03, 0.01, 0.02):
            due = start + delay
            scheduler.schedule(
                lambda delay=delay, due=due: seen.append((delay, scheduler.now() >= due)),  # type: ignore[misc]
                delay,
            )
        scheduler.schedule(done.set, 0.04)
        monkeypatch.undo()
        assert done.wait(30)
        assert seen == [(0.01, True), (0.02, True), (0.03, True)]

    def test_cancelled_task_does_not_run(self, scheduler: schedulers.Scheduler) -> None:
        seen: list[str] = []
        done = threading.Event()
        with threads._timer._queue.lock:  # the timer cannot dispatch the task before the cancel
            handle = scheduler.schedule(lambda: seen.append("cancelled"), 0.001)
            scheduler.schedule(done.set, 0.01)
            handle.cancel()
            handle.cancel()
        assert done.wait(30)
        assert seen == []

    @pytest.mark.parametrize("delay", [0.0, 0.001])
    def test_cancel_of_a_task_that_waits_for_a_thread_prevents_its_run(self, delay: float) -> None:
        scheduler = schedulers.single()
        entered, leave = threading.Event(), threading.Event()
        scheduler.execute(lambda: (entered.set(), leave.wait(30)))
        assert entered.wait(30)
        seen: list[str] = []
        handle = scheduler.schedule(lambda: seen.append("ran"), delay)
        dispatched = threading.Event()
        schedulers.default().schedule(dispatched.set, 0.01)  # runs after the task's own timer
        assert dispatched.wait(30)
        handle.cancel()
        leave.set()
        assert scheduler.close(30)
        assert seen == []

    @pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.campaign)])
    def test_cancelled_timers_leave_no_entry(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        # The timers of other tests stay in the old timer thread.
        monkeypatch.setattr(threads, "_timer", delays.TimerThread(lambda task: task()))
        scheduler = schedulers.default()
        queue, largest = threads._timer._queue, 0
        for n in range(count):
            scheduler.schedule(int, 60.0).cancel()
            if n % 1024 == 0:
                largest = max(largest, len(queue._heap))
        assert largest < 1_000
        with queue.lock:  # the timer thread may be removing cancelled entries
            assert len(queue) == 0

    def test_number_of_cancelled_entries_is_bounded_by_the_live_entries(self) -> None:
        queue = delays.DelayQueue()
        entries: list[delays.Delayed] = []
        for n in range(50_000):
            entry = delays.Delayed(int, queue, print)
            with queue.lock:
                queue.add(float(n), entry)
            entries.append(entry)
            if n >= 1_000:
                entries[n - 1_000].cancel()
            assert len(queue._heap) <= 2_000 + 65
        assert len(queue) == 1_000
        for entry in entries:
            entry.cancel()
        assert (len(queue), queue.earliest()) == (0, None)

    def test_timer_thread_survives_if_no_thread_can_be_started(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def reject(task: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threads, "_timer", delays.TimerThread(reject))
        exhausted = schedulers.pool()
        monkeypatch.setattr(exhausted, "execute", reject)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.timer(0.001, scheduler=exhausted).subscribe(subscriber)
        assert "can't start" in str(subscriber.await_error(RuntimeError))
        assert pyrs.timer(0.001).block(DEADLINE) == 0

    @pytest.mark.parametrize("owned", [True, False])
    def test_timer_thread_survives_an_exit_of_the_owner_or_of_the_hook(
        self, owned: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def reject(task: object) -> None:
            raise RuntimeError("can't start new thread")

        def leave(error: BaseException, *where: str) -> None:
            places.append(where)
            left.set()
            raise SystemExit

        places: list[tuple[str, ...]] = []
        left = threading.Event()
        monkeypatch.setattr(threads, "_timer", delays.TimerThread(reject))
        monkeypatch.setattr(hooks, "_error_hook", leave)
        exhausted = schedulers.pool()
        monkeypatch.setattr(exhausted, "execute", reject)
        exhausted.schedule(OwnedTask(int, leave) if owned else int, 0.001)
        assert left.wait(DEADLINE)
        assert places[0] == (() if owned else ("a delayed task that its scheduler refused",))
        assert pyrs.timer(0.001).block(DEADLINE) == 0

    def test_cancel_releases_the_task(self) -> None:
        class Task:
            def __call__(self) -> None: ...

        every: list[Callable[[], schedulers.Scheduler]] = [schedulers.single, schedulers.pool, schedulers.VirtualTime]
        for make in every:
            task = Task()
            reference = weakref.ref(task)
            handle = make().schedule(task, 60)
            del task
            handle.cancel()
            assert reference() is None, make

    def test_idle_timer_thread_terminates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delays, "_IDLE_SECONDS", 0.01)
        timer = delays.TimerThread(lambda task: task())
        threads_used: list[threading.Thread] = []
        for _ in range(2):
            done = threading.Event()
            timer.arm(done.set, 0.001, lambda task: (threads_used.append(threading.current_thread()), task()))
            assert done.wait(30)
            threads_used[-1].join(30)
            assert not threads_used[-1].is_alive()
        assert threads_used[0] is not threads_used[1]
        assert (threads_used[0].name, threads_used[0].daemon) == ("pyrs-timer", True)

    def test_earlier_deadline_wakes_the_timer(self) -> None:
        late = schedulers.default().schedule(int, 3600)
        done = threading.Event()
        schedulers.default().schedule(done.set, 0.001)
        assert done.wait(30)
        late.cancel()

    @pytest.mark.parametrize("idle", [False, True])
    def test_timer_armed_by_a_finalizer_on_the_timer_thread_fires_in_time(
        self, idle: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The finalizer runs on the timer thread, which holds the lock and has already computed its wait."""
        done = threading.Event()

        class ArmingQueue(delays.DelayQueue):
            def earliest(self) -> float | None:
                found = super().earliest()
                if not armed and (found is None) == idle:
                    armed.append(timer.arm(done.set, 0.001, lambda task: task()))
                return found

        if idle:
            monkeypatch.setattr(delays, "_IDLE_SECONDS", 0.0)
        armed: list[delays.Delayed] = []
        timer = delays.TimerThread(lambda task: task())
        timer._queue = ArmingQueue()
        later = timer.arm(int, 0.0 if idle else 3600, lambda task: task())
        assert done.wait(30)
        later.cancel()

    def test_cancel_races_with_the_timer(self) -> None:
        scheduler = schedulers.pool(4, "race")
        runs = [0] * 2_000

        def run(n: int) -> None:
            runs[n] += 1

        canceller = schedulers.single("canceller")
        for n in range(len(runs)):
            handle = scheduler.schedule(lambda n=n: run(n), 0.0005)  # type: ignore[misc]
            if n % 2:
                canceller.schedule(handle.cancel, 0.0005)
        for each in (canceller, scheduler):
            last = threading.Event()
            each.schedule(last.set, 0.01)
            assert last.wait(30)
            assert each.close(30)
        assert set(runs) <= {0, 1}
        assert all(runs[0::2])


def test_scheduling_under_the_schedulers_own_locks_does_not_deadlock() -> None:
    """Finalizers and signal handlers run on the same thread, possibly while it holds these locks."""
    scheduler, many = SingleThread("held"), Pool(1, "held")
    done = threading.Event()

    def work() -> None:
        with scheduler._executor._lock, many._executor._lock, threads._timer._queue.lock:
            for each in (scheduler, many):
                each.execute(int)
                each.schedule(int, 60).cancel()
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(30), "a thread waited for a lock that it holds"
    assert scheduler.close(30)
    assert many.close(30)


def test_finalizer_can_schedule_at_any_allocation() -> None:
    scheduler, many = schedulers.single(), schedulers.pool(2)
    finalized: list[None] = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self
            self.handle = scheduler.schedule(int, 60)

        def __del__(self) -> None:
            self.handle.cancel()
            scheduler.execute(int)
            many.execute(int)
            scheduler.schedule(int, 60).cancel()
            finalized.append(None)

    done = threading.Event()

    def work() -> None:
        with frequent_collections(2):
            for _ in range(500):
                Cycle()
                scheduler.execute(int)
                many.execute(int)
                scheduler.schedule(int, 60).cancel()
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(60), "a thread waited for a lock that it holds"
    collected(lambda: len(finalized) == 500)
    assert scheduler.close(30)
    assert many.close(30)


def test_two_wake_ups_in_a_row_do_not_stop_the_timer_thread() -> None:
    timer = delays.TimerThread(lambda task: task())
    with frequent_thread_switches():
        for _ in range(3000):
            done = threading.Event()
            for delay in (0.0003, 0.0002, 0.0001):  # each one wakes the thread
                timer.arm(done.set, delay, lambda task: task())
            assert done.wait(30)
