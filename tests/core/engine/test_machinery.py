"""The machinery by itself: demand, lane, executor, guard, hooks, errors, the transition table."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import errors
from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, add_demand
from pyrs._core.drain import DrainLoop
from pyrs._core.executor import DaemonExecutor
from pyrs._core.guard import GuardedPublisher, GuardedSubscriber
from pyrs._core.states import TRANSITIONS, Signal, State
from pyrs.testing import TestSubscriber
from tests.waiting import collected, eventually


def test_demand_saturates() -> None:
    assert add_demand(2, 3) == 5
    assert add_demand(UNBOUNDED, 1) == UNBOUNDED == add_demand(UNBOUNDED, UNBOUNDED) == 2**63 - 1


class BodyLane(DrainLoop):
    def __init__(self, execute: Callable[[Callable[[], None]], object] | None, body: Callable[[], object]) -> None:
        super().__init__(execute)
        self.body = body
        self.again = False

    def _has_work(self) -> bool:
        return self.again

    def _work(self) -> None:
        self.again = False
        self.body()

    def schedule(self) -> None:
        self.again = True
        super().schedule()


class TestLane:
    def test_a_call_inside_the_body_runs_it_once_more_and_does_not_nest(self) -> None:
        depth = runs = deepest = 0

        def body() -> None:
            nonlocal depth, runs, deepest
            depth, runs = depth + 1, runs + 1
            deepest = max(deepest, depth)
            if runs < 1_000:
                lane.schedule()
                lane.schedule()
            depth -= 1

        lane = BodyLane(None, body)
        lane.schedule()
        assert (runs, deepest) == (1_000, 1)

    def test_never_two_bodies_at_once_and_none_is_lost(self) -> None:
        executor = DaemonExecutor("lane-test")
        inside = threading.Lock()
        pending: list[int] = []
        seen: list[int] = []
        overlaps = 0

        def body() -> None:
            nonlocal overlaps
            if not inside.acquire(blocking=False):
                overlaps += 1
                return
            while pending:
                seen.append(pending.pop())
            inside.release()

        lane = BodyLane(executor.execute, body)

        def work() -> None:
            for n in range(500):
                pending.append(n)
                lane.schedule()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert executor.shutdown(30)
        assert (len(seen), overlaps) == (2_000, 0)

    def test_a_body_that_raises_leaves_the_lane_usable(self) -> None:
        runs: list[int] = []

        def body() -> None:
            runs.append(1)
            if len(runs) == 1:
                lane.schedule()  # must not be lost either
                raise KeyboardInterrupt

        lane = BodyLane(None, body)
        with pytest.raises(KeyboardInterrupt):
            lane.schedule()
        lane.schedule()
        assert len(runs) == 3

    def test_a_refused_task_leaves_the_lane_usable(self) -> None:
        refuse = True
        runs: list[int] = []

        def execute(task: Callable[[], None]) -> None:
            if refuse:
                raise RuntimeError("no more tasks")
            task()

        lane = BodyLane(execute, lambda: runs.append(1))
        with pytest.raises(RuntimeError):
            lane.schedule()
        refuse = False
        lane.schedule()
        assert runs == [1]


class TestExecutor:
    def test_blocked_tasks_hold_up_nobody(self) -> None:
        executor = DaemonExecutor("grow", idle_seconds=60)
        release = threading.Event()
        for _ in range(64):
            executor.execute(lambda: release.wait(30) and None)
        done = threading.Event()
        executor.execute(done.set)
        assert done.wait(30)
        assert executor.threads == 65
        release.set()
        assert executor.shutdown(30)
        assert executor.threads == 0

    def test_an_idle_thread_is_used_again(self) -> None:
        executor = DaemonExecutor("idle", idle_seconds=60)
        threads: list[threading.Thread] = []
        for _ in range(20):
            executor.execute(lambda: threads.append(threading.current_thread()))
            eventually(lambda: "1 idle" in repr(executor))
        assert [(thread.name, thread.daemon) for thread in threads] == [("pyrs-idle-1", True)] * 20
        assert executor.shutdown(30)

    def test_a_task_that_is_done_is_let_go_while_its_thread_is_idle(self) -> None:
        executor = DaemonExecutor("idle", idle_seconds=600)
        for _ in range(2):  # the one that the thread began with, and the one that it was handed
            task = self.Task()
            done, gone = task.done, weakref.ref(task)
            executor.execute(task)
            del task
            assert done.wait(30)
            collected(lambda gone=gone: gone() is None)  # type: ignore[misc]
            eventually(lambda: "1 idle" in repr(executor))
        assert executor.shutdown(30)

    class Task:
        def __init__(self) -> None:
            self.done = threading.Event()

        def __call__(self) -> None:
            self.done.set()

    def test_a_thread_that_was_idle_for_long_ends(self) -> None:
        executor = DaemonExecutor("idle", idle_seconds=0.01)
        threads: list[threading.Thread] = []
        executor.execute(lambda: threads.append(threading.current_thread()))
        eventually(lambda: threads)
        threads[0].join(30)
        assert executor.threads == 0

    def test_at_the_bound_it_warns_once_and_queues(self) -> None:
        executor = DaemonExecutor("bound", max_threads=2)
        release = threading.Event()
        order: list[int] = []
        warned = threading.Event()
        levels: list[str] = []

        class Noticing(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if "threads of bound are busy" in record.getMessage():
                    levels.append(record.levelname)
                    warned.set()

        handler = Noticing()
        logging.getLogger("pyrs").addHandler(handler)
        for _ in range(2):
            executor.execute(lambda: release.wait(30) and None)
        for n in range(10):
            executor.execute(lambda n=n: order.append(n))  # type: ignore[misc]
        assert warned.wait(30)
        logging.getLogger("pyrs").removeHandler(handler)
        assert (executor.threads, executor.backlog) == (2, 10)
        assert levels == ["WARNING"]
        release.set()
        assert executor.shutdown(30)
        assert sorted(order) == list(range(10))

    def test_what_a_task_raises_is_reported_and_its_thread_goes_on(self, dropped: Any) -> None:
        executor = DaemonExecutor("raise", max_threads=1)

        def fail() -> None:
            raise SystemExit("mine")

        executor.execute(fail)
        done = threading.Event()
        executor.execute(done.set)
        assert done.wait(30)
        assert executor.shutdown(30)
        assert [str(error) for error in dropped.take()] == ["mine"]
        with pytest.raises(RuntimeError, match="was shut down"):
            executor.execute(fail)

    def test_many_hands(self) -> None:
        executor = DaemonExecutor("many", max_threads=8, idle_seconds=0.001)
        lock, count = threading.Lock(), 0

        def task() -> None:
            nonlocal count
            with lock:
                count += 1

        threads = [threading.Thread(target=lambda: [executor.execute(task) for _ in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert executor.shutdown(30)
        assert (count, executor.threads, executor.backlog) == (2_000, 0, 0)


class Wire(pyrs.Subscription):
    """The upstream end of a guard."""

    def __init__(self) -> None:
        self.requested: list[int] = []
        self.cancelled = 0

    def request(self, n: int, /) -> None:
        self.requested.append(n)

    def cancel(self) -> None:
        self.cancelled += 1


class TestGuard:
    def guarded(self, request: int = 5) -> tuple[GuardedSubscriber[Any], TestSubscriber[Any], Wire]:
        subscriber: TestSubscriber[Any] = TestSubscriber(request)
        guard: GuardedSubscriber[Any] = GuardedSubscriber(subscriber)
        return guard, subscriber, Wire()

    def test_more_than_requested(self) -> None:
        guard, subscriber, wire = self.guarded(request=1)
        guard.on_subscribe(wire)
        guard.on_next(1)
        guard.on_next(2)
        error = subscriber.assert_elements(1).assert_error(errors.DemandExceeded)
        assert isinstance(error, errors.SpecViolation)
        assert (error.rule, error.party, wire.cancelled) == ("1.1", "Publisher", 1)

    def test_signals_after_the_end(self, dropped: Any) -> None:
        guard, subscriber, wire = self.guarded()
        guard.on_subscribe(wire)
        guard.on_complete()
        guard.on_complete()
        guard.on_next(1)
        subscriber.assert_elements().assert_complete()
        assert [type(error) for error in dropped.take()] == [errors.SignalAfterTerminal] * 2

    @pytest.mark.parametrize("signal", ["on_next", "on_error", "on_complete"])
    def test_a_signal_before_on_subscribe(self, signal: str) -> None:
        guard, subscriber, _ = self.guarded(request=0)
        if signal == "on_complete":
            guard.on_complete()
        else:
            getattr(guard, signal)(ValueError())
        error = subscriber.assert_elements().assert_error(errors.SpecViolation)
        assert isinstance(error, errors.SpecViolation)
        assert error.rule == "1.9"
        assert subscriber.subscription is not None

    def test_none(self) -> None:
        guard, subscriber, wire = self.guarded()
        guard.on_subscribe(wire)
        with pytest.raises(errors.NullSignal):
            guard.on_next(None)
        subscriber.assert_error(errors.NullSignal)
        assert wire.cancelled == 1

    def test_two_threads_at_once(self) -> None:
        entered, leave = threading.Event(), threading.Event()

        def slow(subscriber: TestSubscriber[int], element: int) -> None:
            entered.set()
            leave.wait(30)

        subscriber: TestSubscriber[int] = TestSubscriber(9, on_element=slow)
        guard: GuardedSubscriber[int] = GuardedSubscriber(subscriber)
        wire = Wire()
        guard.on_subscribe(wire)
        first = threading.Thread(target=guard.on_next, args=(1,))
        first.start()
        assert entered.wait(30)
        guard.on_next(2)
        assert wire.cancelled == 1
        subscriber.assert_live()  # the error has to wait until the first signal is through (1.3)
        leave.set()
        first.join(30)
        subscriber.assert_elements(1).assert_error(errors.ConcurrentSignals)

    def test_request_that_is_not_positive_is_answered_here(self) -> None:
        guard, subscriber, wire = self.guarded()
        guard.on_subscribe(wire)
        subscriber.request(0)
        subscriber.assert_error(errors.NonPositiveRequest)
        assert (wire.requested, wire.cancelled) == ([5], 1)

    def test_a_publisher_that_raises_or_whose_subscription_raises(self) -> None:
        class Raises(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                raise OSError("no")

        subscriber: TestSubscriber[int] = TestSubscriber()
        GuardedPublisher(Raises()).subscribe(subscriber)
        raised = subscriber.assert_error(errors.SpecViolation)
        assert (raised.rule, type(raised.__cause__)) == ("1.9", OSError)  # type: ignore[attr-defined]

        class Faulty(Wire):
            def request(self, n: int, /) -> None:
                raise OSError("no")

        guard, other, _ = self.guarded()
        guard.on_subscribe(Faulty())
        error = other.assert_error(errors.SpecViolation)
        assert isinstance(error, errors.SpecViolation)
        assert error.rule == "3.16"


def test_the_table_is_complete_and_the_core_agrees_with_it() -> None:
    assert set(TRANSITIONS) == {(state, signal) for state in State for signal in Signal}
    end: dict[State, Callable[[TestSubscriber[int]], object]] = {
        State.CANCELLED: TestSubscriber.cancel,
        State.ENDED: lambda subscriber: subscriber.request(100),
    }
    for state, bring in end.items():
        for signal in (Signal.REQUEST, Signal.CANCEL):
            step = TRANSITIONS[state, signal]
            assert (step.state, step.passes, step.violation) == (state, False, False)
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            pyrs.range(5).subscribe(subscriber)
            bring(subscriber)
            seen = len(subscriber.elements)
            subscription = subscriber.await_subscription()
            subscription.request(1) if signal is Signal.REQUEST else subscription.cancel()
            assert len(subscriber.elements) == seen


class TestHooks:
    def test_dropped_things_are_logged_by_default(self, caplog: pytest.LogCaptureFixture) -> None:
        before = pyrs.set_error_hook(None), pyrs.set_element_hook(None)
        try:
            with caplog.at_level(logging.WARNING, logger="pyrs"):
                hooks.on_error_dropped(ValueError("lost"), "here")
                hooks.on_next_dropped(3, "here, too")
                hooks.on_next_dropped(0, "here, nothing")
        finally:
            pyrs.set_error_hook(before[0])
            pyrs.set_element_hook(before[1])
        assert [record.getMessage() for record in caplog.records if "(here" in record.getMessage()] == [
            "dropped error (here): ValueError('lost')",
            "dropped 3 element(s) (here, too)",
        ]

    def test_a_hook_that_raises_loses_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("broken hook")

        before = pyrs.set_error_hook(broken)
        with caplog.at_level(logging.ERROR, logger="pyrs"):
            hooks.on_error_dropped(ValueError("lost"))
        pyrs.set_error_hook(before)
        assert "broken hook" in caplog.text
        assert "lost" in caplog.text


def test_errors_survive_copies() -> None:
    violation = errors.DemandExceeded("too many")
    for twin in (copy.copy(violation), pickle.loads(pickle.dumps(violation))):
        assert (str(twin), twin.rule, twin.party) == ("too many (rule 1.1)", "1.1", "Publisher")
    java = errors.JavaError("java.io.IOException", "gone", (("A", "b", None, 3),))
    assert str(java) == "java.io.IOException: gone"
    assert pickle.loads(pickle.dumps(java)).java_stack == java.java_stack


def test_the_tree_is_drawn_as_it_is() -> None:
    for name in errors.__all__:
        assert f" {name}" in f" {errors.__doc__}", name
    for error in (errors.NonPositiveRequest, errors.NullSignal, errors.CallTimeout, errors.ConversionError):
        assert len(error.__bases__) == 2
