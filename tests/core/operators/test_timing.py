"""Time-based operators and sources: exact results in virtual time, and races between timers and elements."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs.errors import BufferOverflow, NonPositiveRequest, SchedulerClosed, StreamTimeout
from pyrs.schedulers import delays, threads
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import WAYS
from tests.core.support import RunningTime
from tests.rounds import rounds

Operator = Callable[[pyrs.Stream[Any]], pyrs.Stream[Any]]

BY_CALL: dict[str, Operator] = {
    "sample(4)": lambda stream: stream.sample(4),
    "throttle(4)": lambda stream: stream.throttle(4),
    "throttle_latest(4)": lambda stream: stream.throttle_latest(4),
    "debounce(4)": lambda stream: stream.debounce(4),
    "delay(4)": lambda stream: stream.delay(4),
    "delay_subscription(4)": lambda stream: stream.delay_subscription(4),
    "timeout(4)": lambda stream: stream.timeout(4),
}


@pytest.fixture
def time() -> Iterator[schedulers.VirtualTime]:
    with schedulers.use(schedulers.VirtualTime()) as time:
        yield time


@pytest.fixture(params=list(BY_CALL))
def operator(request: pytest.FixtureRequest) -> Operator:
    return BY_CALL[request.param]


def run_marbles(
    time: schedulers.VirtualTime, operate: Operator, marbles: str, request: int | None = None
) -> tuple[str, TestSubscriber[str], TestPublisher[str]]:
    """Run a marble diagram, one character per second, and return the output as a marble diagram.

    A bar is on_complete and X is an error.
    """
    publisher: TestPublisher[str] = TestPublisher()
    subscriber: TestSubscriber[str] = TestSubscriber(request)
    with schedulers.use(time):
        operate(publisher.stream()).subscribe(subscriber)
    out, seen, ended = "", 0, False
    for marble in marbles:
        if not publisher.cancel_count:
            if marble == "|":
                publisher.complete()
            elif marble == "X":
                publisher.error(KeyError("X"))
            elif marble.isalnum():
                publisher.next(marble)
        new = "".join(subscriber.elements[seen:])
        seen = len(subscriber.elements)
        if subscriber.ended and not ended:
            ended = True
            new += "|" if subscriber.completed else "X"
        out += f"({new})" if len(new) > 1 else new or "-"
        time.advance_by(0.5)
        late = subscriber.elements[seen:]
        assert not late, "an element arrived between two characters of the diagram"
        time.advance_by(0.5)
    return out, subscriber, publisher


class TestMarbles:
    @pytest.mark.parametrize(
        ("call", "marbles", "expected"),
        [
            ("sample(4)", "a-b--cd------e-|", "----b---d------(e|)"),
            ("sample(4)", "a-bX----", "---X----"),
            ("throttle(4)", "ab--c-d--ef---|", "a---c----e----|"),
            ("throttle(4)", "ab-X", "a--X"),
            ("throttle_latest(4)", "abc---d----e---f-g|", "a---c---d---e---f-(g|)"),
            ("throttle_latest(4)", "ab-X", "a--X"),
            ("debounce(4)", "a-b-----c---d-----e|", "------b-----c---d--(e|)"),
            ("debounce(4)", "a-b-X-", "----X-"),
            ("delay(4)", "a-b|------", "----a-b|--"),
            ("delay(4)", "ab--X-----", "----ab--X-"),
            ("timeout(4)", "a--b--c-----", "a--b--c---X-"),
            ("timeout(4)", "--------", "----X---"),
            ("timeout(4)", "a--|-----", "a--|-----"),
            ("timeout(4)", "a-X------", "a-X------"),
        ],
    )
    def test_output_matches_the_marble_diagram(
        self, time: schedulers.VirtualTime, call: str, marbles: str, expected: str
    ) -> None:
        # A timer that is due in the same second as an input fires before the input.
        out, subscriber, _ = run_marbles(time, BY_CALL[call], marbles)
        assert out == expected
        assert time.pending == 0 or subscriber.assert_live()


class TestAllTimeOperators:
    def test_cancel_cancels_upstream_and_the_timer(self, time: schedulers.VirtualTime, operator: Operator) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        operator(publisher.stream()).subscribe(subscriber)
        if publisher.subscribe_count:
            publisher.next(1, 2)
        subscriber.cancel()
        assert publisher.cancel_count == publisher.subscribe_count
        assert time.pending == 0
        time.advance_by(100)
        publisher.assert_subscribers(0)

    def test_termination_cancels_the_timer(self, time: schedulers.VirtualTime, operator: Operator) -> None:
        for end in (pyrs.empty(), pyrs.error(KeyError())):
            subscriber: TestSubscriber[int] = TestSubscriber(5)
            operator(pyrs.just(1).concat(end)).subscribe(subscriber)
            time.advance_by(9)
            assert subscriber.ended
            assert time.pending == 0

    def test_zero_request_signals_on_error(self, time: schedulers.VirtualTime, operator: Operator) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        operator(pyrs.never()).subscribe(subscriber)
        time.advance_by(1)
        assert subscriber.subscription is not None
        subscriber.subscription.request(0)
        time.advance_by(3.5)
        subscriber.assert_error(NonPositiveRequest)

    def test_none_element_signals_null_signal(self, time: schedulers.VirtualTime, operator: Operator) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(5)
        operator(pyrs.from_iterable([None])).subscribe(subscriber)
        time.advance_by(9)
        subscriber.assert_error(pyrs.NullSignal)

    def test_closed_scheduler_signals_on_error(self, operator: Operator) -> None:
        with schedulers.use(schedulers.VirtualTime()) as time:
            time.close()
            subscriber: TestSubscriber[int] = TestSubscriber(5)
            operator(pyrs.just(1).concat(pyrs.never())).subscribe(subscriber)
        if operator is BY_CALL["throttle(4)"]:  # throttle only reads the clock
            subscriber.assert_elements(1).assert_live()
        else:
            subscriber.assert_error(SchedulerClosed)

    def test_elements_arrive_in_the_subscribers_context(self, time: schedulers.VirtualTime, operator: Operator) -> None:
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
        seen: list[str] = []

        def subscribe() -> None:
            variable.set("mine")
            source = pyrs.just(1).concat(pyrs.never() if operator is BY_CALL["debounce(4)"] else pyrs.empty())
            operator(source).subscribe(on_next=lambda _: seen.append(variable.get()))

        contextvars.copy_context().run(subscribe)
        time.advance_by(9)
        assert seen == ["mine"]

    def test_time_operators_complete_with_the_real_clock(self) -> None:
        stream = pyrs.range(100)
        assert stream.sample(0.001).collect(timeout=30)[-1] == 99
        assert stream.debounce(0.001).collect(timeout=30)[-1] == 99
        assert stream.delay(0.001).collect(timeout=30) == list(range(100))
        assert stream.delay_subscription(timedelta(milliseconds=1)).collect(timeout=30) == list(range(100))
        assert stream.timeout(10).collect(timeout=30) == list(range(100))
        assert stream.delay(0).collect(timeout=30) == list(range(100))

    def test_repr_shows_the_call(self, operator: Operator) -> None:
        (call,) = (call for call, each in BY_CALL.items() if each is operator)
        assert repr(operator(pyrs.just(1))) == f"just(1).{call}"

    def test_wrong_arguments_raise(self, operator: Operator) -> None:
        (call,) = (call for call, each in BY_CALL.items() if each is operator)
        method = getattr(pyrs.just(1), call.partition("(")[0])
        for wrong in ("4", None):
            with pytest.raises(TypeError, match="seconds"):
                method(wrong)
        for wrong in (-1, float("inf"), float("nan")):
            with pytest.raises(ValueError, match="seconds"):
                method(wrong)
        with pytest.raises(TypeError, match="scheduler"):
            method(1, scheduler="pool")
        if "delay" not in call:
            with pytest.raises(ValueError, match="seconds"):
                method(0)


class TestDemand:
    @pytest.mark.parametrize("call", ["sample(4)", "debounce(4)"])
    def test_latest_element_waits_for_demand(self, time: schedulers.VirtualTime, call: str) -> None:
        out, subscriber, publisher = run_marbles(time, BY_CALL[call], "a-----b-----c", request=0)
        assert publisher.requests == [pyrs.UNBOUNDED]
        assert out == "-" * 13
        subscriber.request(1)
        subscriber.assert_elements("b")
        subscriber.request(1)
        publisher.complete()
        subscriber.assert_elements("b", "c").assert_complete()

    @pytest.mark.parametrize("call", ["sample(4)", "debounce(4)"])
    def test_error_without_demand_discards_the_pending_element(self, time: schedulers.VirtualTime, call: str) -> None:
        _, subscriber, publisher = run_marbles(time, BY_CALL[call], "a-----b-----", request=1)
        subscriber.assert_elements("a").assert_live()
        publisher.error(OSError("planned"))
        subscriber.assert_elements("a").assert_error(OSError)
        assert time.pending == 0

    def test_throttle_requests_a_replacement_for_each_discarded_element(self, time: schedulers.VirtualTime) -> None:
        _, subscriber, publisher = run_marbles(time, BY_CALL["throttle(4)"], "abcd-e", request=2)
        assert publisher.requests == [2, 1, 1, 1]
        subscriber.assert_elements("a", "e")

    def test_throttle_latest_keeps_the_latest_element_until_it_is_demanded(self, time: schedulers.VirtualTime) -> None:
        _, subscriber, publisher = run_marbles(time, BY_CALL["throttle_latest(4)"], "abcd-----e", request=1)
        assert publisher.requests == [pyrs.UNBOUNDED]
        subscriber.assert_elements("a")
        subscriber.request(1)
        subscriber.assert_elements("a", "e")

    @pytest.mark.parametrize("way", WAYS)
    def test_timestamp_and_elapsed_use_the_clock_at_subscribe_time(self, way: str) -> None:
        time = schedulers.VirtualTime()
        time.advance_by(3)
        expected: list[tuple[Operator, list[tuple[float, str]]]] = [
            (lambda stream: stream.timestamp(), [(5, "a"), (6, "b"), (7, "c")]),
            (lambda stream: stream.elapsed(), [(2, "a"), (1, "b"), (1, "c")]),
        ]
        for operate, pairs in expected:
            subscriber: TestSubscriber[Any] = TestSubscriber(0, on_element=lambda *_: time.advance_by(1))
            begin = time.now()
            with schedulers.use(time):
                operate(WAYS[way]("abc")).subscribe(subscriber)
            time.advance_by(2)
            subscriber.request(3)
            shift = begin - 3 if pairs[0][0] == 5 else 0
            assert [(seconds - shift, element) for seconds, element in subscriber.elements] == pairs

    def test_throttle_uses_the_scheduler_at_subscribe_time(self) -> None:
        time = schedulers.VirtualTime()
        for stream in (pyrs.range(9), pyrs.range(9).concat(pyrs.empty())):
            subscriber: TestSubscriber[int] = TestSubscriber(on_element=lambda *_: time.advance_by(2))
            with schedulers.use(time):
                stream.throttle(4).subscribe(subscriber)
            subscriber.request(2)
            subscriber.assert_elements(0).assert_complete()
            subscriber = TestSubscriber(on_element=lambda *_: time.advance_by(4))
            with schedulers.use(time):
                stream.throttle(4).subscribe(subscriber)
            subscriber.request(9)
            subscriber.assert_elements(*range(9))

    @pytest.mark.parametrize("call", ["delay(4)", "timeout(4)", "delay_subscription(4)"])
    def test_demand_is_forwarded_unchanged(self, time: schedulers.VirtualTime, call: str) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        BY_CALL[call](publisher.stream()).subscribe(subscriber)
        time.advance_by(0 if call == "timeout(4)" else 4)
        subscriber.request(3)
        assert sum(publisher.requests) == 5
        publisher.next(1, 2)
        time.advance_by(4 if call == "delay(4)" else 0)
        subscriber.assert_elements(1, 2)

    def test_each_element_restarts_the_timeout(self, time: schedulers.VirtualTime) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        publisher.stream().timeout(4).subscribe(subscriber)
        time.advance_by(3)
        publisher.next(1)
        time.advance_by(3.5)
        publisher.next(2)
        subscriber.assert_elements(1, 2).assert_live()
        assert time.pending == 1


@pytest.mark.parametrize("name", ["sample(4)", "debounce(4)", "delay(4)"])
def test_element_survives_a_scheduler_that_runs_tasks_early(name: str) -> None:
    class Early(schedulers.VirtualTime):
        """Run tasks early, as an asyncio loop may do by up to the resolution of its clock."""

        def schedule(self, task: Any, delay: float = 0.0) -> schedulers.Cancellable:
            return super().schedule(task, delay * 0.75 if delay > 0.001 else delay)

    source, subscriber = TestPublisher[int](), TestSubscriber[int](None)
    with schedulers.use(Early()) as time:
        BY_CALL[name](source.stream()).subscribe(subscriber)
    source.next(1)
    time.advance_by(9)
    subscriber.assert_elements(1)


def test_debounce_emits_an_element_that_became_due_during_on_next() -> None:
    def emit_more(_: Any, element: int) -> None:
        if element == 1:
            source.next(2, 3)
            time.ahead = 5.0
            source.next(4)

    time, source = RunningTime(), TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=emit_more)
    source.stream().debounce(4, scheduler=time).subscribe(subscriber)
    source.next(1)
    time.advance_by(4)
    subscriber.assert_elements(1, 3)


class TestTimeout:
    def test_scheduler_closed_before_the_first_element_signals_on_error(self, time: schedulers.VirtualTime) -> None:
        source, subscriber = TestPublisher[int](), TestSubscriber[int](None)
        source.stream().timeout(2, first=60).subscribe(subscriber)
        time.close()
        source.next(1)
        subscriber.assert_elements(1).assert_error(SchedulerClosed)
        source.assert_cancelled(1)

    def test_first_element_may_have_its_own_timeout(self, time: schedulers.VirtualTime) -> None:
        def run(marbles: str, seconds: float, first: float) -> str:
            return run_marbles(time, lambda stream: stream.timeout(seconds, first=first), marbles)[0]

        assert run("-----ab-----", 2, first=6) == "-----ab-X---"
        assert run("---------", 2, first=6) == "------X--"
        assert run("--a-----", 2, first=60) == "--a-X---"
        assert run("-a---------", 6, first=2) == "-a-----X---"
        assert run("-----", 6, first=2) == "--X--"

    def test_timeout_signals_stream_timeout(self, time: schedulers.VirtualTime) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(1)
        publisher: TestPublisher[Any] = TestPublisher()
        publisher.stream().timeout(2).subscribe(subscriber)
        time.advance_by(2)
        publisher.assert_cancelled(1)
        error = subscriber.assert_error(StreamTimeout)
        assert isinstance(error, TimeoutError)
        assert str(error) == "no element arrived within 2 seconds"
        assert error.__notes__[0].startswith("in timeout(2), assembled at ")  # type: ignore[attr-defined]

    def test_fallback_receives_the_outstanding_demand(self, time: schedulers.VirtualTime) -> None:
        first: TestPublisher[int] = TestPublisher()
        second: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        first.stream().timeout(2, fallback=second).subscribe(subscriber)
        first.next(1, 2)
        time.advance_by(2)
        first.assert_cancelled(1)
        assert second.requests == [3]
        subscriber.request(4)
        assert second.requests == [3, 4]
        time.advance_by(100)
        second.next(3).complete()
        subscriber.assert_elements(1, 2, 3).assert_complete()
        assert time.pending == 0

    def test_long_fallback_uses_constant_stack_depth(self, time: schedulers.VirtualTime) -> None:
        seen = 0

        def count(_: int) -> None:
            nonlocal seen
            seen += 1

        done = threading.Event()
        pyrs.never().timeout(2, fallback=pyrs.range(5000)).subscribe(on_next=count, on_complete=done.set)
        time.advance_by(2)
        assert seen == 5000
        assert done.is_set()

    def test_cancel_reaches_the_fallback(self, time: schedulers.VirtualTime) -> None:
        second: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        pyrs.never().timeout(2, fallback=second).subscribe(subscriber)
        time.advance_by(2)
        subscriber.cancel()
        second.assert_cancelled(1)

    def test_timeout_rejects_wrong_arguments(self) -> None:
        with pytest.raises(TypeError, match="fallback"):
            pyrs.just(1).timeout(1, fallback=[1])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="first"):
            pyrs.just(1).timeout(1, first=0)

    def test_many_elements_arm_one_timer(self, time: schedulers.VirtualTime) -> None:
        armed: list[float] = []
        schedule = time.schedule

        def counting_schedule(task: Callable[[], object], delay: float = 0.0) -> schedulers.Cancellable:
            armed.append(delay)
            return schedule(task, delay)

        time.schedule = counting_schedule  # type: ignore[method-assign]
        pyrs.range(50_000).timeout(4).subscribe(on_next=lambda _: None)
        pyrs.range(50_000).debounce(4).subscribe(on_next=lambda _: None)
        assert len(armed) == 2
        assert time.pending == 0

    def test_either_element_or_timeout_wins_the_race(self) -> None:
        """The timer fires on one thread while an element arrives on another."""
        pool = schedulers.pool(2)
        for round_ in range(rounds(3_000)):
            time = schedulers.VirtualTime()
            publisher: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(5)
            fallback = pyrs.just(7) if round_ % 2 else None
            publisher.stream().timeout(1, fallback=fallback, scheduler=time).subscribe(subscriber)
            barrier = threading.Barrier(2)

            def advance(barrier: threading.Barrier = barrier, time: schedulers.VirtualTime = time) -> None:
                barrier.wait(30)
                time.advance_by(1)

            pool.execute(advance)
            barrier.wait(30)
            if not publisher.cancel_count:
                try:
                    publisher.next(1)
                    publisher.complete()
                except AssertionError:  # cancelled concurrently: there is no demand
                    pass
            subscriber.await_end()
            if subscriber.completed and not fallback:
                assert subscriber.elements == [1]
            elif fallback:
                assert subscriber.elements in ([1], [7], [1, 7])
            else:
                assert isinstance(subscriber.error, StreamTimeout)
            subscriber.assert_rules()
        assert pool.close(30)

    def test_debounce_and_sample_deliver_the_last_element_under_a_race(self) -> None:
        pool = schedulers.pool(2)
        for round_ in range(1500):
            time = schedulers.VirtualTime()
            publisher: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            stream = publisher.stream()
            (stream.sample(1, scheduler=time) if round_ % 2 else stream.debounce(1, scheduler=time)).subscribe(
                subscriber
            )
            publisher.next(0)
            barrier = threading.Barrier(2)

            def advance(barrier: threading.Barrier = barrier, time: schedulers.VirtualTime = time) -> None:
                barrier.wait(30)
                time.advance_by(1)

            pool.execute(advance)
            barrier.wait(30)
            publisher.next(1, 2, 3).complete()
            assert subscriber.await_complete()[-1] == 3
            assert subscriber.elements == sorted(set(subscriber.elements))
            subscriber.assert_rules()
        assert pool.close(30)


class TestInterval:
    def test_interval_ticks_at_its_period(self, time: schedulers.VirtualTime) -> None:
        ticks: list[tuple[float, int]] = []
        pyrs.interval(0.1, initial=3).take(4).subscribe(on_next=lambda n: ticks.append((round(time.now(), 6), n)))
        time.advance_by(10)
        assert ticks == [(3, 0), (3.1, 1), (3.2, 2), (3.3, 3)]
        assert time.pending == 0

    def test_first_tick_is_emitted_after_one_period(self, time: schedulers.VirtualTime) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.interval(timedelta(seconds=2)).subscribe(subscriber)
        time.advance_by(1.5)
        subscriber.assert_elements()
        time.advance_by(3)
        subscriber.assert_elements(0, 1)
        subscriber.cancel()
        assert time.pending == 0

    @pytest.mark.parametrize(("overflow", "expected"), [("drop", [0, 4]), (pyrs.Overflow.LATEST, [0, 3])])
    def test_overflow_strategy_applies_to_ticks_without_demand(
        self, time: schedulers.VirtualTime, overflow: pyrs.Overflow, expected: list[int]
    ) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.interval(1, overflow=overflow).subscribe(subscriber)
        time.advance_by(4)
        subscriber.assert_elements(0)
        subscriber.request(1)
        time.advance_by(1)
        subscriber.assert_elements(*expected).assert_live()
        subscriber.cancel()

    def test_tick_without_demand_signals_buffer_overflow_by_default(self, time: schedulers.VirtualTime) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.interval(1).subscribe(subscriber)
        time.advance_by(4)
        subscriber.assert_elements(0).assert_error(BufferOverflow)
        assert time.pending == 0

    def test_repr_shows_the_call(self) -> None:
        assert repr(pyrs.interval(0.5)) == "interval(0.5)"

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(ValueError, match="period"):
            pyrs.interval(0)
        with pytest.raises(ValueError, match="initial"):
            pyrs.interval(1, initial=-1)
        with pytest.raises(ValueError, match="overflow"):
            pyrs.interval(1, overflow="drop_oldest")
        with pytest.raises(TypeError, match="scheduler"):
            pyrs.interval(1, scheduler="pool")  # type: ignore[arg-type]


class TestTimer:
    def test_timer_emits_one_element_after_its_delay(self, time: schedulers.VirtualTime) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.timer(2).subscribe(subscriber)
        time.advance_by(1.75)
        subscriber.assert_elements().assert_live()
        time.advance_by(0.25)
        subscriber.assert_elements(0).assert_complete()

    def test_timer_element_waits_for_demand(self, time: schedulers.VirtualTime) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.timer(2).subscribe(subscriber)
        time.advance_by(9)
        subscriber.assert_elements().assert_live()
        subscriber.request(1)
        subscriber.assert_elements(0).assert_complete()

    def test_cancel_cancels_the_timer(self, time: schedulers.VirtualTime) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        pyrs.timer(2).subscribe(subscriber)
        subscriber.cancel()
        assert time.pending == 0

    def test_repr_shows_the_call(self) -> None:
        assert repr(pyrs.timer(2)) == "timer(2)"

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(ValueError, match="seconds"):
            pyrs.timer(-1)
        with pytest.raises(TypeError, match="seconds"):
            pyrs.timer("1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "operator",
    [
        lambda stream, scheduler: stream.debounce(0.01, scheduler=scheduler),
        lambda stream, scheduler: stream.sample(0.01, scheduler=scheduler),
        lambda stream, scheduler: stream.timeout(0.01, scheduler=scheduler),
        lambda stream, scheduler: stream.delay(0.01, scheduler=scheduler),
        lambda stream, scheduler: stream.delay_subscription(0.01, scheduler=scheduler),
        lambda stream, scheduler: stream.buffer(seconds=0.01, scheduler=scheduler),
        lambda stream, scheduler: stream.window(seconds=0.01, scheduler=scheduler).flat_map(lambda window: window),
        lambda stream, scheduler: pyrs.error(OSError()).retry(
            1, backoff=pyrs.Backoff(first=0.01, jitter=0), scheduler=scheduler
        ),
    ],
    ids=["debounce", "sample", "timeout", "delay", "delay_subscription", "buffer", "window", "retry"],
)
def test_scheduler_closed_during_a_timer_signals_on_error(
    operator: Any, dropped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = schedulers.single()
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    start, later_task_ran = scheduler.now(), threading.Event()
    for clock in (delays, threads):
        monkeypatch.setattr(clock, "monotonic", lambda: start)  # stop the clock while the timer is pending
    operator(pyrs.merge(pyrs.just(1), source), scheduler).subscribe(subscriber)
    assert scheduler.close(30)
    schedulers.default().schedule(later_task_ran.set, 0.01)  # runs after all tasks of the closed scheduler
    monkeypatch.undo()
    subscriber.await_error(SchedulerClosed)
    assert later_task_ran.wait(30)
    dropped.take()


def test_delay_buffers_at_most_prefetch_elements(time: schedulers.VirtualTime) -> None:
    pulled = 0

    def endless() -> Iterator[int]:
        nonlocal pulled
        while True:
            pulled += 1
            yield pulled

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.from_iterable(endless()).delay(1, prefetch=8).subscribe(subscriber)
    assert (pulled, subscriber.elements) == (8, [])
    time.advance_by(1)
    assert subscriber.elements == [*range(1, 9)]
    assert pulled == 16
    subscriber.cancel()
