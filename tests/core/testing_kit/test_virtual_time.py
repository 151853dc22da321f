"""VirtualTime: order of tasks, the clock during tasks, and advancing."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers


class Planned(NamedTuple):
    """A task that records its run, may cancel an earlier task, and schedules its children."""

    delay: int
    cancels: int | None
    children: tuple[Any, ...]


def planned_tasks(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        Planned, st.integers(0, 4), st.none() | st.integers(0, 8), st.tuples() | st.tuples(children, children)
    )


PLANS = st.lists(
    st.recursive(
        planned_tasks(st.nothing()) | st.builds(Planned, st.integers(0, 4), st.none(), st.just(())),
        planned_tasks,
        max_leaves=8,
    ),
    max_size=6,
)


class RealSchedule:
    def __init__(self) -> None:
        self.time = schedulers.VirtualTime()
        self.handles: list[schedulers.Cancellable] = []
        self.seen: list[tuple[int, float]] = []

    def schedule(self, plan: Planned) -> None:
        number = len(self.handles)

        def task() -> None:
            self.seen.append((number, self.time.now()))
            if plan.cancels is not None and plan.cancels < len(self.handles):
                self.handles[plan.cancels].cancel()
            for child in plan.children:
                self.schedule(child)

        self.handles.append(self.time.schedule(task, plan.delay))


class Model:
    """A model of VirtualTime that searches a list for the next task."""

    def __init__(self) -> None:
        self.now = 0
        self.count = 0
        self.waiting: list[tuple[int, int, Planned]] = []
        self.seen: list[tuple[int, float]] = []

    def schedule(self, plan: Planned) -> None:
        self.waiting.append((self.now + plan.delay, self.count, plan))
        self.count += 1

    def advance(self, seconds: int) -> None:
        end = self.now + seconds
        while due := [item for item in self.waiting if item[0] <= end]:
            first = min(due, key=lambda item: item[:2])
            self.waiting.remove(first)
            self.now, number, plan = first
            self.seen.append((number, float(self.now)))
            if plan.cancels is not None:
                self.waiting = [item for item in self.waiting if item[1] != plan.cancels]
            for child in plan.children:
                self.schedule(child)
        self.now = end


@given(PLANS, st.lists(st.integers(0, 5), max_size=5))
def test_virtual_time_matches_the_model(plans: list[Planned], steps: list[int]) -> None:
    real, model = RealSchedule(), Model()
    for plan in plans:
        real.schedule(plan)
        model.schedule(plan)
    for step in steps:
        real.time.advance_by(step)
        model.advance(step)
        assert real.seen == model.seen
        assert (real.time.now(), real.time.pending) == (model.now, len(model.waiting))


def test_tasks_run_only_when_the_clock_advances() -> None:
    time = schedulers.VirtualTime()
    seen: list[float] = []
    time.execute(lambda: seen.append(time.now()))
    time.schedule(lambda: seen.append(time.now()), 1)
    assert (seen, time.pending, repr(time)) == ([], 2, "<VirtualTime at 0.0: 2 pending>")
    time.run()
    assert (seen, time.now()) == ([0.0], 0.0)
    time.advance_to(2)
    assert (seen, time.now(), time.pending) == ([0.0, 1.0], 2.0, 0)


def test_task_that_reschedules_itself_runs_at_each_due_time() -> None:
    time = schedulers.VirtualTime()
    seen: list[float] = []

    def tick() -> None:
        seen.append(time.now())
        time.schedule(tick, 10)

    time.schedule(tick, 10)
    time.advance_by(35)
    assert seen == [10.0, 20.0, 30.0]
    assert time.now() == 35.0


def test_clock_never_goes_backwards() -> None:
    time = schedulers.VirtualTime()
    time.advance_by(5)
    time.advance_to(5)
    with pytest.raises(ValueError, match="time must not be in the past"):
        time.advance_to(4)
    with pytest.raises(ValueError, match="seconds must be finite and at least 0"):
        time.advance_by(-1)
    assert time.now() == 5.0


@pytest.mark.parametrize("period", [0.01, 0.1, 0.2, 0.3, 0.7, 1 / 3, 86_400.1])
@pytest.mark.parametrize("start", [0, 1_790_000_000])
def test_rounding_of_floats_delays_no_task(period: float, start: int) -> None:
    for number in range(1, 100):
        at_once, in_steps = schedulers.VirtualTime(), schedulers.VirtualTime()
        ticks: list[list[int]] = []
        for time in (at_once, in_steps):
            time.advance_to(start)
            ticks.append([])
            pyrs.interval(period, scheduler=time).subscribe(on_next=ticks[-1].append)
        end = float(Fraction(str(period)) * number + start)
        at_once.advance_to(end)
        at_once.advance_to(end)
        for _ in range(number):
            in_steps.advance_by(period)
        assert ticks == [[*range(number)]] * 2


def test_advancing_inside_a_task_raises(dropped: Any) -> None:
    time = schedulers.VirtualTime()
    time.execute(lambda: time.advance_by(1))
    time.run()
    assert [str(error) for error in dropped.take()] == ["the clock is already being advanced"]
    time.advance_by(1)
    assert time.now() == 1.0


def test_exception_of_a_task_is_dropped_and_an_interrupt_propagates(dropped: Any) -> None:
    time = schedulers.VirtualTime()
    seen: list[float] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    time.schedule(lambda: 1 / 0, 1)
    time.schedule(interrupt, 2)
    time.schedule(lambda: seen.append(time.now()), 3)
    with pytest.raises(KeyboardInterrupt):
        time.advance_by(5)
    assert [type(error) for error in dropped.take()] == [ZeroDivisionError]
    assert (time.now(), time.pending) == (2.0, 1)
    time.advance_by(1)
    assert seen == [3.0]


def test_schedule_is_thread_safe() -> None:
    time = schedulers.VirtualTime()
    counts = [0] * 4

    def schedule_and_cancel(index: int) -> None:
        def task() -> None:
            counts[index] += 1

        for n in range(1_000):
            handle = time.schedule(task, n % 7)
            if n % 2:
                handle.cancel()

    threads = [threading.Thread(target=schedule_and_cancel, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.run()
    time.advance_by(7)
    # A task without delay may run before its cancel.
    assert all(500 <= each <= 500 + 72 for each in counts)
    assert time.pending == 0


def test_closed_virtual_time_runs_pending_tasks_and_rejects_new_ones() -> None:
    time = schedulers.VirtualTime()
    seen: list[float] = []
    time.schedule(lambda: seen.append(time.now()), 1)
    assert not time.close()
    with pytest.raises(schedulers.SchedulerClosed):
        time.execute(int)
    time.advance_by(1)
    assert seen == [1.0]
    assert time.close()
    assert repr(time) == "<VirtualTime at 1.0: closed, 0 pending>"
