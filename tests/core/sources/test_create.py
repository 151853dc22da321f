"""create: what is pushed, by whom, and what becomes of what nobody demanded."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pyrs
from pyrs.errors import BufferOverflow
from pyrs.testing import TestSubscriber
from tests.core.conftest import Dropped

DEADLINE = 20.0
STRATEGIES = ["buffer", "error", "drop", "drop_oldest", "drop_latest", "latest"]


def kept(**arguments: Any) -> tuple[pyrs.Stream[Any], list[pyrs.Emitter[Any]]]:
    """Return a stream that pushes nothing by itself, and the emitters that it makes."""
    emitters: list[pyrs.Emitter[Any]] = []
    return pyrs.create(emitters.append, **arguments), emitters


def subscribed(request: int | None = 0, **arguments: Any) -> tuple[TestSubscriber[Any], pyrs.Emitter[Any]]:
    stream, emitters = kept(**arguments)
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    stream.subscribe(subscriber)
    return subscriber, emitters[0]


@pytest.mark.parametrize("overflow", STRATEGIES)
def test_what_is_demanded_passes_at_once(overflow: str) -> None:
    subscriber, emitter = subscribed(None, overflow=overflow)
    for n in range(3):
        emitter.next(n)
        assert subscriber.elements == list(range(n + 1))
    emitter.complete()
    subscriber.assert_elements(0, 1, 2).assert_complete()


def test_each_subscriber_has_an_emitter_of_its_own() -> None:
    stream, emitters = kept()
    first: TestSubscriber[int] = TestSubscriber(None)
    second: TestSubscriber[int] = TestSubscriber(None)
    stream.subscribe(first)
    stream.subscribe(second)
    emitters[0].next(1)
    emitters[1].next(2)
    first.assert_elements(1)
    second.assert_elements(2)


# What is pushed beyond the demand.


def push_five(subscriber: TestSubscriber[Any], emitter: pyrs.Emitter[Any]) -> None:
    """One is demanded, five are pushed, the end too; then everything is demanded."""
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
def test_beyond_the_demand(overflow: str, expected: list[int], lost: int, dropped: Dropped) -> None:
    subscriber, emitter = subscribed(1, overflow=overflow, capacity=2)
    if overflow == "drop":
        for n in range(5):
            emitter.next(n)
        emitter.complete()  # nothing is held, so the end needs no demand
    else:
        push_five(subscriber, emitter)
    subscriber.assert_elements(*expected).assert_complete()
    assert dropped.elements == lost


def test_error_comes_after_what_is_held() -> None:
    over: list[str] = []
    subscriber, emitter = subscribed(1, overflow="error", capacity=2)
    emitter.on_cancel(lambda: over.append("over"))
    for n in range(3):
        emitter.next(n)
    assert over == []
    emitter.next(3)
    assert over == ["over"]
    assert emitter.cancelled
    subscriber.assert_elements(0).assert_live()
    subscriber.request(5)
    subscriber.assert_elements(0, 1, 2)
    error = subscriber.assert_error(BufferOverflow)
    assert "test_create.py" in error.__notes__[0]


def test_what_is_demanded_is_not_dropped_while_the_lane_is_busy(dropped: Dropped) -> None:
    """Pushed from inside on_next, with demand: it is neither signalled now nor dropped."""
    stream, emitters = kept(overflow="drop")

    def push_on(subscriber: TestSubscriber[Any], element: int) -> None:
        if element < 3:
            emitters[0].next(element + 1)

    subscriber: TestSubscriber[Any] = TestSubscriber(3, on_element=push_on)
    stream.subscribe(subscriber)
    emitters[0].next(1)
    subscriber.assert_elements(1, 2, 3)
    emitters[0].next(9)
    assert dropped.elements == 1


def test_a_million_drops_are_told_of_by_their_number() -> None:
    told: list[int] = []
    before = pyrs.set_element_hook(lambda count, where: told.append(count))
    try:
        subscriber, emitter = subscribed(1, overflow="drop_latest", capacity=1)
        for n in range(1_000):
            emitter.next(n)
        subscriber.request(1)
        subscriber.request(1)
        emitter.next(-1)
        assert (told, subscriber.elements) == ([1, 997], [0, 1, -1])
    finally:
        pyrs.set_element_hook(before)


# The ends.


@pytest.mark.parametrize("signal", ["complete", "error", "cancel"])
def test_after_the_end_nothing_passes_and_the_hooks_are_told(signal: str, dropped: Dropped) -> None:
    subscriber, emitter = subscribed(None)
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


def test_an_end_comes_after_what_is_held() -> None:
    subscriber, emitter = subscribed()
    emitter.next(1)
    emitter.error(ValueError("end"))
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_elements(1).assert_error(ValueError)


def test_what_the_function_raises_is_the_error() -> None:
    def fail(emitter: pyrs.Emitter[int]) -> None:
        emitter.next(1)
        raise ValueError("here")

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    pyrs.create(fail).subscribe(subscriber)
    error = subscriber.assert_elements(1).assert_error(ValueError)
    assert "in create(" in error.__notes__[0]


def test_what_the_function_raises_after_the_end_goes_to_the_hook(dropped: Dropped) -> None:
    late = ValueError("late")

    def fail(emitter: pyrs.Emitter[int]) -> None:
        emitter.complete()
        raise late

    assert pyrs.create(fail).collect() == []
    assert dropped.take() == [late]


def test_an_interrupt_in_the_function_travels_on() -> None:
    def interrupted(emitter: pyrs.Emitter[int]) -> None:
        raise KeyboardInterrupt

    subscriber: TestSubscriber[int] = TestSubscriber(None)
    with pytest.raises(KeyboardInterrupt):
        pyrs.create(interrupted).subscribe(subscriber)
    subscriber.assert_error(KeyboardInterrupt)


def test_an_illegal_request() -> None:
    subscriber, emitter = subscribed()
    assert subscriber.subscription is not None
    subscriber.subscription.request(0)
    subscriber.assert_error(pyrs.NonPositiveRequest)
    assert emitter.cancelled


# What the emitter knows.


def test_on_cancel_is_called_once_and_in_order_or_at_once() -> None:
    calls: list[str] = []
    subscriber, emitter = subscribed(overflow="buffer")
    emitter.on_cancel(lambda: calls.append("first"))
    emitter.on_cancel(lambda: calls.append("second"))
    subscriber.cancel()
    subscriber.cancel()
    assert calls == ["first", "second"]
    emitter.on_cancel(lambda: calls.append("third"))
    assert calls == ["first", "second", "third"]


def test_on_cancel_is_not_called_after_an_end_that_was_pushed() -> None:
    calls: list[str] = []
    subscriber, emitter = subscribed()
    emitter.on_cancel(lambda: calls.append("before"))
    emitter.next(1)
    emitter.complete()
    emitter.on_cancel(lambda: calls.append("after"))
    subscriber.cancel()
    assert calls == []


def test_what_on_cancel_raises_goes_to_the_hook_and_the_next_is_called(dropped: Dropped) -> None:
    wrong, calls = ValueError("wrong"), []

    def fail() -> None:
        raise wrong

    subscriber, emitter = subscribed()
    emitter.on_cancel(fail)
    emitter.on_cancel(lambda: calls.append("next"))
    subscriber.cancel()
    assert (dropped.take(), calls) == ([wrong], ["next"])


def test_requested_is_what_may_still_be_pushed() -> None:
    subscriber, emitter = subscribed()
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


def test_on_request_pulls_exactly_what_is_demanded() -> None:
    asked: list[int] = []

    def pulled(emitter: pyrs.Emitter[int]) -> None:
        numbers = iter(range(5))

        def more(n: int) -> None:
            asked.append(n)
            for _ in range(n):
                number = next(numbers, None)
                if number is None:
                    emitter.complete()
                    return
                emitter.next(number)

        emitter.on_request(more)

    subscriber: TestSubscriber[int] = TestSubscriber(2)
    pyrs.create(pulled, overflow="error", capacity=1).subscribe(subscriber)
    subscriber.assert_elements(0, 1)
    subscriber.request(1)
    subscriber.request(5)
    subscriber.assert_elements(0, 1, 2, 3, 4).assert_complete()
    assert asked == [2, 1, 5]


def test_on_request_is_not_called_inside_itself() -> None:
    """3.3: requested one by one in on_next, a hundred thousand elements need no deeper stack than one."""
    depth = most = 0

    def pulled(emitter: pyrs.Emitter[int]) -> None:
        numbers = iter(range(100_000))

        def more(n: int) -> None:
            nonlocal depth, most
            depth += 1
            most = max(most, depth)
            for _ in range(n):
                number = next(numbers, None)
                if number is None:
                    emitter.complete()
                else:
                    emitter.next(number)
            depth -= 1

        emitter.on_request(more)

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

    pyrs.create(pulled).subscribe(OneByOne())
    assert ended.is_set()
    assert (count, most) == (100_000, 1)


def test_what_on_request_raises_fails_the_stream() -> None:
    subscriber, emitter = subscribed()

    def fail(n: int) -> None:
        raise ValueError("no more")

    emitter.on_request(fail)
    subscriber.assert_live()
    subscriber.request(1)
    subscriber.assert_error(ValueError)


def test_on_request_is_silent_after_a_cancel() -> None:
    asked: list[int] = []
    subscriber, emitter = subscribed(4)
    subscriber.cancel()
    emitter.on_request(asked.append)
    assert asked == []


def test_context_variables_of_the_subscriber() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []
    stream, emitters = kept()
    token = variable.set("mine")
    try:
        stream.subscribe(on_next=lambda _: seen.append(variable.get()), request=1)
    finally:
        variable.reset(token)
    emitters[0].on_request(lambda n: seen.append(variable.get()))
    emitters[0].on_cancel(lambda: seen.append(variable.get()))
    thread = threading.Thread(target=emitters[0].next, args=(1,))
    thread.start()
    thread.join(DEADLINE)
    assert seen == ["mine", "mine"]


# Threads and loops.


def test_pushed_by_many_threads_one_at_a_time_and_none_lost() -> None:
    threads, each = 4, 5_000

    def listen(emitter: pyrs.Emitter[tuple[int, int]]) -> None:
        barrier = threading.Barrier(threads)
        left = [threads]
        lock = threading.Lock()

        def push(name: int) -> None:
            barrier.wait(DEADLINE)
            for n in range(each):
                emitter.next((name, n))
            with lock:
                left[0] -= 1
                if not left[0]:
                    emitter.complete()

        for name in range(threads):
            threading.Thread(target=push, args=(name,), daemon=True).start()

    subscriber: TestSubscriber[tuple[int, int]] = TestSubscriber(None, timeout=60)
    pyrs.create(listen).subscribe(subscriber)
    elements = subscriber.await_complete()
    subscriber.assert_rules()
    for name in range(threads):
        assert [n for who, n in elements if who == name] == list(range(each))


@pytest.mark.parametrize("overflow", ["drop", "latest", "drop_oldest", "drop_latest"])
def test_races_of_push_request_and_cancel(overflow: str, dropped: Dropped) -> None:
    """Never more than was demanded, in order, and every element either signalled, held or told of."""
    for round_number in range(300):
        dropped.counts.clear()
        subscriber, emitter = subscribed(overflow=overflow, capacity=3)
        barrier = threading.Barrier(3)

        def request(subscriber: TestSubscriber[Any] = subscriber, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(DEADLINE)
            for _ in range(20):
                subscriber.request(1)

        def push(emitter: pyrs.Emitter[int] = emitter, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(DEADLINE)
            for n in range(40):
                emitter.next(n)

        both = [threading.Thread(target=request), threading.Thread(target=push)]
        for thread in both:
            thread.start()
        barrier.wait(DEADLINE)
        for thread in both:
            thread.join(DEADLINE)
        subscriber.assert_rules()
        held = len(emitter._run._elements)
        most = {"drop": 0, "latest": 1}.get(overflow, 3)
        assert held <= most, round_number
        assert subscriber.elements == sorted(set(subscriber.elements))
        subscriber.cancel()
        assert len(subscriber.elements) + held + dropped.elements == 40, round_number


async def until(condition: Callable[[], object]) -> None:
    async def turn() -> None:
        while not condition():
            await asyncio.sleep(0)

    await asyncio.wait_for(turn(), DEADLINE)


def test_a_coroutine_function_runs_on_the_loop_and_may_wait() -> None:
    async def listen(emitter: pyrs.Emitter[int]) -> None:
        for n in range(3):
            await asyncio.sleep(0)
            emitter.next(n)
        emitter.complete()

    async def main() -> list[int]:
        return await pyrs.create(listen).to_list()

    assert asyncio.run(main()) == [0, 1, 2]
    assert pyrs.create(listen).collect(timeout=DEADLINE) == [0, 1, 2]  # in the background


def test_a_coroutine_function_is_cancelled_with_the_stream() -> None:
    async def main() -> None:
        state: list[str] = []

        async def listen(emitter: pyrs.Emitter[int]) -> None:
            state.append("started")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                state.append("cancelled")
                raise

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.create(listen).subscribe(subscriber)
        await until(lambda: state)
        subscriber.cancel()
        await until(lambda: len(state) == 2)
        subscriber.assert_elements().assert_live()
        early: TestSubscriber[int] = TestSubscriber(None)
        pyrs.create(listen).subscribe(early)
        early.cancel()  # before the task was made: it never is
        for _ in range(10):
            await asyncio.sleep(0)
        assert state == ["started", "cancelled"]

    asyncio.run(main())


def test_what_a_coroutine_function_raises_is_the_error() -> None:
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
def emitter() -> Iterator[pyrs.Emitter[Any]]:
    yield subscribed()[1]


def test_bad_arguments(emitter: pyrs.Emitter[Any]) -> None:
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


def test_repr() -> None:
    assert repr(pyrs.create(print)) == "create(print, overflow='buffer')"
    assert repr(pyrs.create(print, overflow="error", capacity=3)) == "create(print, overflow='error', capacity=3)"
    _, emitter = subscribed(2, overflow="drop")
    assert repr(emitter) == "<Emitter of <create(list.append, overflow='drop') live, demand 2>>"
