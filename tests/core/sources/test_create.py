"""create: callbacks, threads, coroutines, overflow strategies and termination."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs.aio.loops import run_on
from pyrs.errors import BufferOverflow
from pyrs.publishers import creating
from pyrs.testing import TestSubscriber
from tests.campaigns.pairs import interleave
from tests.core.conftest import Dropped
from tests.rounds import rounds
from tests.waiting import DEADLINE, eventually_on_loop, on_threads, run_on_threads

STRATEGIES = ["buffer", "error", "drop", "drop_oldest", "drop_latest", "latest"]


def create_stream(**arguments: Any) -> tuple[pyrs.Stream[Any], list[pyrs.Emitter[Any]]]:
    """Return a stream whose function emits nothing, and the list that collects its emitters."""
    emitters: list[pyrs.Emitter[Any]] = []
    return pyrs.create(emitters.append, **arguments), emitters


def create_and_subscribe(request: int | None = 0, **arguments: Any) -> tuple[TestSubscriber[Any], pyrs.Emitter[Any]]:
    stream, emitters = create_stream(**arguments)
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    stream.subscribe(subscriber)
    return subscriber, emitters[0]


@pytest.mark.parametrize("overflow", STRATEGIES)
def test_elements_with_demand_are_emitted_immediately(overflow: str) -> None:
    subscriber, emitter = create_and_subscribe(None, overflow=overflow)
    for n in range(3):
        emitter.next(n)
        assert subscriber.elements == list(range(n + 1))
    emitter.complete()
    subscriber.assert_elements(0, 1, 2).assert_complete()


def test_each_subscriber_has_its_own_emitter() -> None:
    stream, emitters = create_stream()
    first: TestSubscriber[int] = TestSubscriber(None)
    second: TestSubscriber[int] = TestSubscriber(None)
    stream.subscribe(first)
    stream.subscribe(second)
    emitters[0].next(1)
    emitters[1].next(2)
    first.assert_elements(1)
    second.assert_elements(2)


# Elements without demand.


def emit_five(subscriber: TestSubscriber[Any], emitter: pyrs.Emitter[Any]) -> None:
    """Emit five elements and on_complete for a demand of one, then request more."""
    for n in range(5):
        emitter.next(n)
    emitter.complete()
    subscriber.assert_elements(0).assert_live()
    subscriber.request(10)


@pytest.mark.parametrize(
    ("overflow", "expected", "lost"),
    [
        ("buffer", [0, 1, 2, 3, 4], 0),
        ("drop", [0], 4),
        ("drop_oldest", [0, 3, 4], 2),
        ("drop_latest", [0, 1, 2], 2),
        ("latest", [0, 4], 3),
        (pyrs.Overflow.LATEST, [0, 4], 3),
    ],
)
def test_overflow_strategy_keeps_the_documented_elements(
    overflow: str, expected: list[int], lost: int, dropped: Dropped
) -> None:
    subscriber, emitter = create_and_subscribe(1, overflow=overflow, capacity=2)
    if overflow == "drop":
        for n in range(5):
            emitter.next(n)
        emitter.complete()  # nothing is buffered, so on_complete needs no demand
    else:
        emit_five(subscriber, emitter)
    subscriber.assert_elements(*expected).assert_complete()
    assert dropped.elements == lost


def test_overflow_error_follows_the_buffered_elements() -> None:
    cancelled: list[str] = []
    subscriber, emitter = create_and_subscribe(1, overflow="error", capacity=2)
    emitter.on_cancel(lambda: cancelled.append("cancelled"))
    for n in range(3):
        emitter.next(n)
    assert cancelled == []
    emitter.next(3)
    assert cancelled == ["cancelled"]
    assert emitter.cancelled
    subscriber.assert_elements(0).assert_live()
    subscriber.request(5)
    subscriber.assert_elements(0, 1, 2)
    error = subscriber.assert_error(BufferOverflow)
    assert "test_create.py" in error.__notes__[0]


def test_overflow_error_is_emitted_if_another_thread_requests_the_buffered_elements() -> None:
    """Another thread requests them at each line of the push that exceeds the capacity."""

    class Overflowing:
        def __init__(self) -> None:
            self.subscriber: TestSubscriber[int] = TestSubscriber()
            pyrs.create(self.store, overflow="error", capacity=1).subscribe(self.subscriber)
            self.emitter.next(1)

        def store(self, emitter: pyrs.Emitter[int]) -> None:
            self.emitter = emitter

    def verify(overflowing: Overflowing) -> None:
        subscriber = overflowing.subscriber
        assert not subscriber.completed
        assert isinstance(subscriber.error, BufferOverflow) or subscriber.elements == [1, 2]

    def push(overflowing: Overflowing) -> None:
        overflowing.emitter.next(2)

    assert interleave([creating], Overflowing, push, lambda overflowing: overflowing.subscriber.request(9), verify) > 10


def test_element_with_demand_is_not_dropped_during_on_next(dropped: Dropped) -> None:
    """A demanded element that is emitted inside on_next is delivered after on_next returns."""
    stream, emitters = create_stream(overflow="drop")

    def emit_next(subscriber: TestSubscriber[Any], element: int) -> None:
        if element < 3:
            emitters[0].next(element + 1)

    subscriber: TestSubscriber[Any] = TestSubscriber(3, on_element=emit_next)
    stream.subscribe(subscriber)
    emitters[0].next(1)
    subscriber.assert_elements(1, 2, 3)
    emitters[0].next(9)
    assert dropped.elements == 1


def test_element_hook_receives_the_number_of_drops() -> None:
    counts: list[int] = []
    before = pyrs.set_element_hook(lambda count, where: counts.append(count))
    try:
        subscriber, emitter = create_and_subscribe(1, overflow="drop_latest", capacity=1)
        for n in range(1_000):
            emitter.next(n)
        subscriber.request(1)
        subscriber.request(1)
        emitter.next(-1)
        assert (counts, subscriber.elements) == ([1, 997], [0, 1, -1])
    finally:
        pyrs.set_element_hook(before)


# Termination.


@pytest.mark.parametrize("signal", ["complete", "error", "cancel"])
def test_signals_after_termination_are_dropped(signal: str, dropped: Dropped) -> None:
    subscriber, emitter = create_and_subscribe(None)
    assert not emitter.cancelled
    if signal == "complete":
        emitter.complete()
    elif signal == "error":
        emitter.error(ValueError("end"))
    else:
        subscriber.cancel()
    assert emitter.cancelled
    emitter.next(1)
    emitter.next(2)
    emitter.complete()
    assert (dropped.elements, subscriber.elements) == (2, [])
    late = ValueError("late")
    emitter.error(late)
    assert dropped.take() == [late]
    subscriber.assert_rules()


def test_error_follows_the_buffered_elements() -> None:
    subscriber, emitter = create_and_subscribe()
    emitter.next(1)
    emitter.error(ValueError("end"))
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(1).assert_error(ValueError)


def test_exception_of_the_function_signals_on_error() -> None:
    def fail(emitter: pyrs.Emitter[int]) -> None:
        emitter.next(1)
        raise ValueError("here")

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.create(fail).subscribe(subscriber)
    error = subscriber.assert_elements(1).assert_error(ValueError)
    assert "in create(" in error.__notes__[0]


def test_exception_of_the_function_after_on_complete_is_dropped(dropped: Dropped) -> None:
    late = ValueError("late")

    def fail(emitter: pyrs.Emitter[int]) -> None:
        emitter.complete()
        raise late

    assert pyrs.create(fail).collect() == []
    assert dropped.take() == [late]


def test_interrupt_in_the_function_propagates() -> None:
    def interrupt(emitter: pyrs.Emitter[int]) -> None:
        raise KeyboardInterrupt

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    with pytest.raises(KeyboardInterrupt):
        pyrs.create(interrupt).subscribe(subscriber)
    subscriber.assert_error(KeyboardInterrupt)


def test_illegal_request_signals_on_error() -> None:
    subscriber, emitter = create_and_subscribe()
    assert subscriber.subscription is not None
    subscriber.subscription.request(0)
    subscriber.assert_error(pyrs.NonPositiveRequest)
    assert emitter.cancelled


# The emitter's view of cancellation and demand.


def test_on_cancel_callbacks_run_once_in_order() -> None:
    calls: list[str] = []
    subscriber, emitter = create_and_subscribe(overflow="buffer")
    emitter.on_cancel(lambda: calls.append("first"))
    emitter.on_cancel(lambda: calls.append("second"))
    subscriber.cancel()
    subscriber.cancel()
    assert calls == ["first", "second"]
    emitter.on_cancel(lambda: calls.append("third"))
    assert calls == ["first", "second", "third"]


def test_on_cancel_is_not_called_after_complete() -> None:
    calls: list[str] = []
    subscriber, emitter = create_and_subscribe()
    emitter.on_cancel(lambda: calls.append("before"))
    emitter.next(1)
    emitter.complete()
    emitter.on_cancel(lambda: calls.append("after"))
    subscriber.cancel()
    assert calls == []


def test_exception_of_an_on_cancel_callback_is_dropped_and_the_next_runs(dropped: Dropped) -> None:
    wrong, calls = ValueError("wrong"), []

    def fail() -> None:
        raise wrong

    subscriber, emitter = create_and_subscribe()
    emitter.on_cancel(fail)
    emitter.on_cancel(lambda: calls.append("next"))
    subscriber.cancel()
    assert (dropped.take(), calls) == ([wrong], ["next"])


def test_requested_is_the_outstanding_demand() -> None:
    subscriber, emitter = create_and_subscribe()
    assert emitter.requested == 0
    subscriber.request(3)
    emitter.next(1)
    assert emitter.requested == 2
    for n in range(4):
        emitter.next(n)
    assert emitter.requested == 0
    subscriber.request(5)
    assert emitter.requested == 3
    subscriber.cancel()
    assert emitter.requested == 0


def test_on_request_receives_exact_demand() -> None:
    requests: list[int] = []

    def pull_numbers(emitter: pyrs.Emitter[int]) -> None:
        numbers = iter(range(5))

        def emit(n: int) -> None:
            requests.append(n)
            for _ in range(n):
                number = next(numbers, None)
                if number is None:
                    emitter.complete()
                    return
                emitter.next(number)

        emitter.on_request(emit)

    subscriber: TestSubscriber[int] = TestSubscriber(2)
    pyrs.create(pull_numbers, overflow="error", capacity=1).subscribe(subscriber)
    subscriber.assert_elements(0, 1)
    subscriber.request(1)
    subscriber.request(5)
    subscriber.assert_elements(0, 1, 2, 3, 4).assert_complete()
    assert requests == [2, 1, 5]


def test_rule_3_3_on_request_is_not_reentrant() -> None:
    """Single requests inside on_next use constant stack depth for 100,000 elements."""
    depth = deepest = 0

    def pull_numbers(emitter: pyrs.Emitter[int]) -> None:
        numbers = iter(range(100_000))

        def emit(n: int) -> None:
            nonlocal depth, deepest
            depth += 1
            deepest = max(deepest, depth)
            for _ in range(n):
                number = next(numbers, None)
                if number is None:
                    emitter.complete()
                else:
                    emitter.next(number)
            depth -= 1

        emitter.on_request(emit)

    count = 0
    ended = threading.Event()

    class OneByOne(pyrs.Subscriber[int]):
        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            self.subscription = subscription
            subscription.request(1)

        def on_next(self, element: int, /) -> None:
            nonlocal count
            count += 1
            self.subscription.request(1)

        def on_error(self, error: BaseException, /) -> None:
            raise error

        def on_complete(self) -> None:
            ended.set()

    pyrs.create(pull_numbers).subscribe(OneByOne())
    assert ended.is_set()
    assert (count, deepest) == (100_000, 1)


def test_exception_of_on_request_signals_on_error() -> None:
    subscriber, emitter = create_and_subscribe()

    def fail(n: int) -> None:
        raise ValueError("no more")

    emitter.on_request(fail)
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_error(ValueError)


def test_on_request_is_not_called_after_cancel() -> None:
    requests: list[int] = []
    subscriber, emitter = create_and_subscribe(4)
    subscriber.cancel()
    emitter.on_request(requests.append)
    assert requests == []


def test_functions_run_in_the_subscribers_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []
    stream, emitters = create_stream()
    token = variable.set("mine")
    try:
        stream.subscribe(on_next=lambda _: seen.append(variable.get()), request=1)
    finally:
        variable.reset(token)
    emitters[0].on_request(lambda n: seen.append(variable.get()))
    emitters[0].on_cancel(lambda: seen.append(variable.get()))
    run_on_threads(partial(emitters[0].next, 1))
    assert seen == ["mine", "mine"]


# Threads and event loops.


def test_concurrent_emits_are_serialized_and_lose_no_element() -> None:
    threads, each = 4, 5_000

    def start_producers(emitter: pyrs.Emitter[tuple[int, int]]) -> None:
        barrier = threading.Barrier(threads)
        remaining = [threads]
        lock = threading.Lock()

        def push(name: int) -> None:
            barrier.wait(DEADLINE)
            for n in range(each):
                emitter.next((name, n))
            with lock:
                remaining[0] -= 1
                if not remaining[0]:
                    emitter.complete()

        for name in range(threads):
            threading.Thread(target=push, args=(name,), daemon=True).start()

    subscriber: TestSubscriber[tuple[int, int]] = TestSubscriber(None, timeout=60)
    pyrs.create(start_producers).subscribe(subscriber)
    elements = subscriber.await_complete()
    subscriber.assert_rules()
    for name in range(threads):
        assert [n for producer, n in elements if producer == name] == list(range(each))


@pytest.mark.parametrize("overflow", ["drop", "latest", "drop_oldest", "drop_latest"])
def test_concurrent_emit_request_and_cancel_account_for_every_element(overflow: str, dropped: Dropped) -> None:
    """Each element is delivered in order, buffered or counted as dropped."""
    for round_number in range(rounds(300)):
        dropped.counts.clear()
        subscriber, emitter = create_and_subscribe(overflow=overflow, capacity=3)
        barrier = threading.Barrier(3)

        def request(subscriber: TestSubscriber[Any] = subscriber, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(DEADLINE)
            for _ in range(20):
                subscriber.request(1)

        def push(emitter: pyrs.Emitter[int] = emitter, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(DEADLINE)
            for n in range(40):
                emitter.next(n)

        with on_threads(request, push):
            barrier.wait(DEADLINE)
        subscriber.assert_rules()
        buffered = len(emitter._run._elements)
        most = {"drop": 0, "latest": 1}.get(overflow, 3)
        assert buffered <= most, round_number
        assert subscriber.elements == sorted(set(subscriber.elements))
        subscriber.cancel()
        assert len(subscriber.elements) + buffered + dropped.elements == 40, round_number


def test_coroutine_function_runs_on_the_loop() -> None:
    async def produce(emitter: pyrs.Emitter[int]) -> None:
        for n in range(3):
            await asyncio.sleep(0)
            emitter.next(n)
        emitter.complete()

    async def main() -> list[int]:
        return await pyrs.create(produce).to_list()

    assert asyncio.run(main()) == [0, 1, 2]
    assert pyrs.create(produce).collect(timeout=DEADLINE) == [0, 1, 2]  # on the background loop


def test_cancel_cancels_the_task_of_a_coroutine_function() -> None:
    async def main() -> None:
        state: list[str] = []

        async def produce(emitter: pyrs.Emitter[int]) -> None:
            state.append("started")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                state.append("cancelled")
                raise

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.create(produce).subscribe(subscriber)
        await eventually_on_loop(lambda: state)
        subscriber.cancel()
        await eventually_on_loop(lambda: len(state) == 2)
        subscriber.assert_elements().assert_live()
        early: TestSubscriber[int] = TestSubscriber(None)
        pyrs.create(produce).subscribe(early)
        early.cancel()  # the task has not been created yet, and is not created after this
        for _ in range(10):
            await asyncio.sleep(0)
        assert state == ["started", "cancelled"]

    asyncio.run(main())


@pytest.mark.parametrize("demanded", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_coroutine_function_that_terminates_the_stream_is_not_cancelled(
    fails: bool, demanded: bool, dropped: Any
) -> None:
    async def main() -> None:
        ended, cleaned = asyncio.Event(), asyncio.Event()

        async def produce(emitter: pyrs.Emitter[int]) -> None:
            emitter.next(1)
            emitter.error(ValueError("here")) if fails else emitter.complete()
            ended.set()
            await asyncio.sleep(0)
            cleaned.set()

        subscriber: TestSubscriber[int] = TestSubscriber(1 if demanded else 0)
        pyrs.create(produce).subscribe(subscriber)
        await asyncio.wait_for(ended.wait(), DEADLINE)
        subscriber.cancel()  # discards a buffered element, and reports the error after it
        await asyncio.wait_for(cleaned.wait(), DEADLINE)

    asyncio.run(main())
    undelivered = ["here"] if fails and not demanded else []  # the error behind the buffered element
    assert [str(error) for error in dropped.take()] == undelivered


def test_cancel_while_the_task_is_started_cancels_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background loop emits, and the Subscriber cancels, before ``subscribe`` has stored the task."""
    cancelled, stopped = threading.Event(), threading.Event()

    def run_on_and_wait(loop: Any, context: Any, function: Any, *arguments: Any) -> None:
        run_on(loop, context, function, *arguments)
        if function.__name__ == "launch":
            assert cancelled.wait(DEADLINE)

    async def produce(emitter: pyrs.Emitter[int]) -> None:
        try:
            emitter.next(1)
            await asyncio.Event().wait()
        finally:
            stopped.set()

    def cancel(subscriber: TestSubscriber[int], element: int) -> None:
        subscriber.cancel()
        cancelled.set()

    monkeypatch.setattr("pyrs.aio.tasks.run_on", run_on_and_wait)
    pyrs.create(produce).subscribe(TestSubscriber(1, on_element=cancel))
    assert stopped.wait(DEADLINE), "the task runs although the stream was cancelled"


def test_exception_of_a_coroutine_function_signals_on_error() -> None:
    async def fail(emitter: pyrs.Emitter[int]) -> None:
        emitter.next(1)
        raise ValueError("here")

    async def give_up(emitter: pyrs.Emitter[int]) -> None:
        raise asyncio.CancelledError

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.create(fail).subscribe(subscriber)
    assert "in create(" in subscriber.await_error(ValueError).__notes__[0]
    subscriber.assert_elements(1)
    with pytest.raises(RuntimeError, match="cancelled externally"):
        pyrs.create(give_up).collect(timeout=DEADLINE)


# Arguments.


@pytest.fixture
def emitter() -> pyrs.Emitter[Any]:
    return create_and_subscribe()[1]


def test_wrong_arguments_raise(emitter: pyrs.Emitter[Any]) -> None:
    with pytest.raises(TypeError, match="function must be callable"):
        pyrs.create(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="overflow must be one of"):
        pyrs.create(print, overflow="spill")
    with pytest.raises(ValueError, match="capacity must be at least 1"):
        pyrs.create(print, capacity=0)
    with pytest.raises(pyrs.NullSignal, match="None is not an element"):
        emitter.next(None)
    with pytest.raises(TypeError, match="exception must be an exception"):
        emitter.error("no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callback must be callable"):
        emitter.on_cancel(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callback must be callable"):
        emitter.on_request(None)  # type: ignore[arg-type]


def test_repr_shows_the_call() -> None:
    assert repr(pyrs.create(print)) == "create(print, overflow='buffer')"
    assert repr(pyrs.create(print, overflow="error", capacity=3)) == "create(print, overflow='error', capacity=3)"
    _, emitter = create_and_subscribe(2, overflow="drop")
    assert repr(emitter) == "<Emitter of <create(list.append, overflow='drop') live, demand 2>>"
