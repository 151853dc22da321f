"""The parts of the engine in isolation: demand, drain loop, executor, guard, hooks, errors, transition table."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
import weakref
from asyncio import CancelledError
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
from pyrs._core.sites import add_note
from pyrs._core.states import TRANSITIONS, Signal, State
from pyrs.testing import TestSubscriber
from tests.core.support import RecordingSubscription
from tests.waiting import collected, eventually, run_on_threads


def test_demand_saturates_at_unbounded() -> None:
    assert add_demand(2, 3) == 5
    assert add_demand(UNBOUNDED, 1) == UNBOUNDED == add_demand(UNBOUNDED, UNBOUNDED) == 2**63 - 1


class FunctionDrainLoop(DrainLoop):
    def __init__(self, execute: Callable[[Callable[[], None]], object] | None, body: Callable[[], object]) -> None:
        super().__init__(execute)
        self.body = body
        self.pending_work = False

    def _has_work(self) -> bool:
        return self.pending_work

    def _work(self) -> None:
        self.pending_work = False
        self.body()

    def schedule(self) -> None:
        self.pending_work = True
        super().schedule()


class TestDrainLoop:
    def test_schedule_during_work_runs_again_without_recursion(self) -> None:
        depth = runs = deepest = 0

        def body() -> None:
            nonlocal depth, runs, deepest
            depth, runs = depth + 1, runs + 1
            deepest = max(deepest, depth)
            if runs < 1_000:
                drain.schedule()
                drain.schedule()
            depth -= 1

        drain = FunctionDrainLoop(None, body)
        drain.schedule()
        assert (runs, deepest) == (1_000, 1)

    def test_work_runs_on_one_thread_at_a_time_and_no_call_is_lost(self) -> None:
        executor = DaemonExecutor("drain-test")
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

        drain = FunctionDrainLoop(executor.execute, body)

        def work() -> None:
            for n in range(500):
                pending.append(n)
                drain.schedule()

        run_on_threads(*[work] * 4)
        assert executor.shutdown(30)
        assert (len(seen), overlaps) == (2_000, 0)

    def test_exception_in_work_does_not_block_the_drain_loop(self) -> None:
        runs: list[int] = []

        def body() -> None:
            runs.append(1)
            if len(runs) == 1:
                drain.schedule()  # the exception must not lose this call
                raise KeyboardInterrupt

        drain = FunctionDrainLoop(None, body)
        with pytest.raises(KeyboardInterrupt):
            drain.schedule()
        drain.schedule()
        assert len(runs) == 3

    def test_rejected_task_does_not_block_the_drain_loop(self) -> None:
        refuse = True
        runs: list[int] = []

        def execute(task: Callable[[], None]) -> None:
            if refuse:
                raise RuntimeError("no more tasks")
            task()

        drain = FunctionDrainLoop(execute, lambda: runs.append(1))
        with pytest.raises(RuntimeError):
            drain.schedule()
        refuse = False
        drain.schedule()
        assert runs == [1]

    def test_interrupt_after_the_task_was_accepted_does_not_run_the_work_twice(self) -> None:
        tasks: list[Callable[[], None]] = []

        def execute(task: Callable[[], None]) -> None:
            tasks.append(task)
            if len(tasks) == 1:
                raise KeyboardInterrupt

        drain = FunctionDrainLoop(execute, lambda: runs.append(drain.is_running()))
        runs: list[bool] = []
        with pytest.raises(KeyboardInterrupt):
            drain.schedule()
        drain.schedule()
        drain.schedule()
        for task in tasks:
            task()
        assert runs == [True]
        assert not drain.is_running()
        drain.run_here()
        assert runs == [True, True]

    def test_interrupt_after_the_task_has_run_releases_the_drain_loop_once(self) -> None:
        def execute(task: Callable[[], None]) -> None:
            task()
            raise KeyboardInterrupt

        drain = FunctionDrainLoop(execute, lambda: None)
        with pytest.raises(KeyboardInterrupt):
            drain.schedule()
        assert drain._turn == [True]


class TestExecutor:
    def test_blocked_tasks_do_not_delay_other_tasks(self) -> None:
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

    def test_idle_thread_is_reused(self) -> None:
        executor = DaemonExecutor("idle", idle_seconds=60)
        threads: list[threading.Thread] = []
        for _ in range(20):
            executor.execute(lambda: threads.append(threading.current_thread()))
            eventually(lambda: "1 idle" in repr(executor))
        assert [(thread.name, thread.daemon) for thread in threads] == [("pyrs-idle-1", True)] * 20
        assert executor.shutdown(30)

    def test_idle_thread_releases_its_finished_task(self) -> None:
        executor = DaemonExecutor("idle", idle_seconds=600)
        for _ in range(2):  # the task that started the thread, then a task that an idle thread received
            task = self.Task()
            done, reference = task.done, weakref.ref(task)
            executor.execute(task)
            del task
            assert done.wait(30)
            collected(lambda reference=reference: reference() is None)  # type: ignore[misc]
            eventually(lambda: "1 idle" in repr(executor))
        assert executor.shutdown(30)

    class Task:
        def __init__(self) -> None:
            self.done = threading.Event()

        def __call__(self) -> None:
            self.done.set()

    def test_idle_thread_terminates_after_idle_seconds(self) -> None:
        executor = DaemonExecutor("idle", idle_seconds=0.01)
        threads: list[threading.Thread] = []
        executor.execute(lambda: threads.append(threading.current_thread()))
        eventually(lambda: threads)
        threads[0].join(30)
        assert executor.threads == 0

    def test_executor_at_its_thread_limit_warns_once_and_queues(self) -> None:
        executor = DaemonExecutor("bound", max_threads=2)
        release = threading.Event()
        order: list[int] = []
        warned = threading.Event()
        levels: list[str] = []

        class WarningHandler(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if "threads of bound are busy" in record.getMessage():
                    levels.append(record.levelname)
                    warned.set()

        handler = WarningHandler()
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

    def test_exception_of_a_task_is_reported_and_the_thread_continues(self, dropped: Any) -> None:
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

    def test_tasks_from_several_threads_all_run(self) -> None:
        executor = DaemonExecutor("many", max_threads=8, idle_seconds=0.001)
        lock, count = threading.Lock(), 0

        def task() -> None:
            nonlocal count
            with lock:
                count += 1

        run_on_threads(*[lambda: [executor.execute(task) for _ in range(500)]] * 4)
        assert executor.shutdown(30)
        assert (count, executor.threads, executor.backlog) == (2_000, 0, 0)


class TestGuard:
    def guarded(self, request: int = 5) -> tuple[GuardedSubscriber[Any], TestSubscriber[Any], RecordingSubscription]:
        subscriber: TestSubscriber[Any] = TestSubscriber(request)
        guard: GuardedSubscriber[Any] = GuardedSubscriber(subscriber)
        return guard, subscriber, RecordingSubscription()

    def test_element_without_demand_signals_demand_exceeded(self) -> None:
        guard, subscriber, subscription = self.guarded(request=1)
        guard.on_subscribe(subscription)
        guard.on_next(1)
        guard.on_next(2)
        error = subscriber.assert_elements(1).assert_error(errors.DemandExceeded)
        assert isinstance(error, errors.SpecViolation)
        assert (error.rule, error.party, subscription.cancelled) == ("1.1", "Publisher", 1)

    def test_signals_after_on_complete_are_dropped(self, dropped: Any) -> None:
        guard, subscriber, subscription = self.guarded()
        guard.on_subscribe(subscription)
        guard.on_complete()
        guard.on_complete()
        guard.on_next(1)
        subscriber.assert_elements().assert_complete()
        assert [type(error) for error in dropped.take()] == [errors.SignalAfterTerminal] * 2

    @pytest.mark.parametrize("signal", ["on_next", "on_error", "on_complete"])
    def test_signal_before_on_subscribe_violates_1_9(self, signal: str) -> None:
        guard, subscriber, _ = self.guarded(request=0)
        if signal == "on_complete":
            guard.on_complete()
        else:
            getattr(guard, signal)(ValueError())
        error = subscriber.assert_elements().assert_error(errors.SpecViolation)
        assert isinstance(error, errors.SpecViolation)
        assert error.rule == "1.9"
        assert subscriber.subscription is not None

    def test_none_raises_and_signals_null_signal(self) -> None:
        guard, subscriber, subscription = self.guarded()
        guard.on_subscribe(subscription)
        with pytest.raises(errors.NullSignal):
            guard.on_next(None)
        subscriber.assert_error(errors.NullSignal)
        assert subscription.cancelled == 1

    def test_concurrent_signals_are_reported_after_the_current_signal(self) -> None:
        entered, leave = threading.Event(), threading.Event()

        def slow(subscriber: TestSubscriber[int], element: int) -> None:
            entered.set()
            leave.wait(30)

        subscriber: TestSubscriber[int] = TestSubscriber(9, on_element=slow)
        guard: GuardedSubscriber[int] = GuardedSubscriber(subscriber)
        subscription = RecordingSubscription()
        guard.on_subscribe(subscription)
        first = threading.Thread(target=guard.on_next, args=(1,))
        first.start()
        assert entered.wait(30)
        guard.on_next(2)
        assert subscription.cancelled == 1
        subscriber.assert_live()  # the error waits until the first signal returns (1.3)
        leave.set()
        first.join(30)
        subscriber.assert_elements(1).assert_error(errors.ConcurrentSignals)

    def test_guard_answers_a_non_positive_request(self) -> None:
        guard, subscriber, subscription = self.guarded()
        guard.on_subscribe(subscription)
        subscriber.request(0)
        subscriber.assert_error(errors.NonPositiveRequest)
        assert (subscription.requested, subscription.cancelled) == ([5], 1)

    def test_exceptions_of_publisher_and_subscription_signal_violations(self) -> None:
        class RaisingPublisher(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                raise OSError("no")

        subscriber: TestSubscriber[int] = TestSubscriber()
        GuardedPublisher(RaisingPublisher()).subscribe(subscriber)
        raised = subscriber.assert_error(errors.SpecViolation)
        assert (raised.rule, type(raised.__cause__)) == ("1.9", OSError)  # type: ignore[attr-defined]

        class RaisingSubscription(RecordingSubscription):
            def request(self, n: int, /) -> None:
                raise OSError("no")

        guard, other, _ = self.guarded()
        guard.on_subscribe(RaisingSubscription())
        error = other.assert_error(errors.SpecViolation)
        assert isinstance(error, errors.SpecViolation)
        assert error.rule == "3.16"


def test_transition_table_is_complete_and_calls_after_termination_have_no_effect() -> None:
    assert set(TRANSITIONS) == {(state, signal) for state in State for signal in Signal}
    end: dict[State, Callable[[TestSubscriber[int]], object]] = {
        State.CANCELLED: TestSubscriber.cancel,
        State.ENDED: lambda subscriber: subscriber.request(100),
    }
    for state, terminate in end.items():
        for signal in (Signal.REQUEST, Signal.CANCEL):
            step = TRANSITIONS[state, signal]
            assert (step.state, step.passes, step.violation) == (state, False, False)
            subscriber: TestSubscriber[int] = TestSubscriber(1)
            pyrs.range(5).subscribe(subscriber)
            terminate(subscriber)
            seen = len(subscriber.elements)
            subscription = subscriber.await_subscription()
            subscription.request(1) if signal is Signal.REQUEST else subscription.cancel()
            assert len(subscriber.elements) == seen


class TestHooks:
    def test_drops_are_logged_by_default(self, caplog: pytest.LogCaptureFixture) -> None:
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

    @pytest.mark.parametrize("error", [RuntimeError, CancelledError])
    def test_exception_of_a_hook_is_logged_with_the_dropped_error(
        self, error: type[BaseException], caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: object) -> None:
            raise error("broken hook")

        before = pyrs.set_error_hook(broken), pyrs.set_element_hook(broken)
        try:
            with caplog.at_level(logging.WARNING, logger="pyrs"):
                hooks.on_error_dropped(ValueError("lost"))
                hooks.on_next_dropped(3)
        finally:
            pyrs.set_error_hook(before[0])
            pyrs.set_element_hook(before[1])
        assert "broken hook" in caplog.text
        assert "lost" in caplog.text
        assert "dropped 3 element(s)" in caplog.text


def test_errors_survive_copy_and_pickle() -> None:
    violation = errors.DemandExceeded("too many")
    add_note(violation, "in map(f)")
    for twin in (copy.copy(violation), pickle.loads(pickle.dumps(violation))):
        assert (str(twin), twin.rule, twin.party) == ("too many (rule 1.1)", "1.1", "Publisher")
        assert getattr(twin, "__notes__", None) == ["in map(f)"]
    java = errors.JavaError("java.io.IOException", "gone", (("A", "b", None, 3),))
    assert str(java) == "java.io.IOException: gone"
    assert pickle.loads(pickle.dumps(java)).java_stack == java.java_stack


def test_docstring_shows_every_error_class() -> None:
    for name in errors.__all__:
        assert f" {name}" in f" {errors.__doc__}", name


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.NonPositiveRequest, ValueError),
        (errors.NullSignal, TypeError),
        (errors.CallTimeout, TimeoutError),
        (errors.ConversionError, TypeError),
        (errors.NoElement, LookupError),
        (errors.StreamTimeout, TimeoutError),
    ],
)
def test_error_can_be_caught_as_its_builtin_counterpart(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, builtin)
    assert issubclass(error, errors.PyrsError)
