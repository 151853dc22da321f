"""Delays: order, cancels that count until the task runs, and timers that leave nothing behind."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

from pyrs import schedulers
from pyrs.schedulers import delays, threads
from pyrs.schedulers.threads import Pool, Single
from tests.waiting import collected


@pytest.fixture(params=[schedulers.single, schedulers.pool], ids=lambda make: make.__name__)
def scheduler(request: pytest.FixtureRequest) -> Iterator[schedulers.Scheduler]:
    scheduler: schedulers.Scheduler = request.param()
    yield scheduler
    assert scheduler.close(30)


class TestDelays:
    def test_in_order_of_time_and_never_early(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scheduler = schedulers.single()
        start = scheduler.now()
        monkeypatch.setattr(delays, "monotonic", lambda: start)  # no time passes while they are armed
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

    def test_cancelled_ones_do_not_run(self, scheduler: schedulers.Scheduler) -> None:
        seen: list[str] = []
        done = threading.Event()
        with threads._timer._queue.lock:  # so that it cannot be handed over before the cancel
            handle = scheduler.schedule(lambda: seen.append("cancelled"), 0.001)
            scheduler.schedule(done.set, 0.01)
            handle.cancel()
            handle.cancel()
        assert done.wait(30)
        assert seen == []

    @pytest.mark.parametrize("delay", [0.0, 0.001])
    def test_a_cancel_still_counts_when_the_task_waits_for_a_thread(self, delay: float) -> None:
        scheduler = schedulers.single()
        entered, leave = threading.Event(), threading.Event()
        scheduler.execute(lambda: (entered.set(), leave.wait(30)))
        assert entered.wait(30)
        seen: list[str] = []
        handle = scheduler.schedule(lambda: seen.append("ran"), delay)
        handed = threading.Event()
        schedulers.default().schedule(handed.set, 0.01)  # behind it in the timer
        assert handed.wait(30)
        handle.cancel()
        leave.set()
        assert scheduler.close(30)
        assert seen == []

    def test_a_million_armed_and_cancelled_leave_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "_timer", delays.Timer())  # what other tests have armed may go off meanwhile
        scheduler = schedulers.default()
        queue, most = threads._timer._queue, 0
        for n in range(1_000_000):
            scheduler.schedule(int, 60.0).cancel()
            if n % 1024 == 0:
                most = max(most, len(queue._heap))
        assert most < 1_000
        with queue.lock:  # the timer's thread may be taking out what was cancelled
            assert len(queue) == 0

    def test_a_window_of_live_ones_bounds_the_dead(self) -> None:
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

    def test_a_cancelled_task_is_let_go_at_once(self) -> None:
        class Task:
            def __call__(self) -> None: ...

        every: list[Callable[[], schedulers.Scheduler]] = [schedulers.single, schedulers.pool, schedulers.VirtualTime]
        for make in every:
            task = Task()
            alive = weakref.ref(task)
            handle = make().schedule(task, 60)
            del task
            handle.cancel()
            assert alive() is None, make

    def test_the_timer_s_thread_ends_when_it_is_idle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delays, "_IDLE_SECONDS", 0.01)
        timer = delays.Timer()
        on: list[threading.Thread] = []
        for _ in range(2):
            done = threading.Event()
            timer.arm(done.set, 0.001, lambda task: (on.append(threading.current_thread()), task()))
            assert done.wait(30)
            on[-1].join(30)
            assert not on[-1].is_alive()
        assert on[0] is not on[1]
        assert (on[0].name, on[0].daemon) == ("pyrs-timer", True)

    def test_an_earlier_one_wakes_the_timer(self) -> None:
        late = schedulers.default().schedule(int, 3600)
        done = threading.Event()
        schedulers.default().schedule(done.set, 0.001)
        assert done.wait(30)
        late.cancel()

    @pytest.mark.parametrize("idle", [False, True])
    def test_what_a_finalizer_arms_while_the_timer_looks_comes_in_time(
        self, idle: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The collector may run it on the timer's own thread, which holds the lock and has made up its mind."""
        done = threading.Event()

        class Interrupted(delays.DelayQueue):
            def earliest(self) -> float | None:
                found = super().earliest()
                if not armed and (found is None) == idle:
                    armed.append(timer.arm(done.set, 0.001, lambda task: task()))
                return found

        if idle:
            monkeypatch.setattr(delays, "_IDLE_SECONDS", 0.0)
        armed: list[delays.Delayed] = []
        timer = delays.Timer()
        timer._queue = Interrupted()
        later = timer.arm(int, 0.0 if idle else 3600, lambda task: task())
        assert done.wait(30)
        later.cancel()

    def test_a_cancel_races_with_the_time(self) -> None:
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


def test_who_holds_a_lock_may_schedule() -> None:
    """The collector and signal handlers run in the middle of anything, on the same thread."""
    scheduler, many = Single("held"), Pool(1, "held")
    done = threading.Event()

    def work() -> None:
        with scheduler._lock, many._executor._lock, threads._timer._queue.lock:
            for each in (scheduler, many):
                each.execute(int)
                each.schedule(int, 60).cancel()
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(30), "a lock was waited for by the thread that holds it"
    assert scheduler.close(30)
    assert many.close(30)


def test_a_finalizer_may_schedule_whatever_the_collector_interrupts() -> None:
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
        before = gc.get_threshold()
        gc.set_threshold(2, 2, 2)
        try:
            for _ in range(500):
                Cycle()
                scheduler.execute(int)
                many.execute(int)
                scheduler.schedule(int, 60).cancel()
        finally:
            gc.set_threshold(*before)
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(60), "a lock was waited for by the thread that holds it"
    collected(lambda: len(finalized) == 500)
    assert scheduler.close(30)
    assert many.close(30)
