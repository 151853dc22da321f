"""Context variables of whoever subscribed are seen in every callback, whichever thread calls."""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import Context, ContextVar, copy_context
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core.context import bound, bound_executor, capture, in_context
from pyrs._core.fusion import IteratorConsumer
from tests.waiting import DEADLINE

variable = ContextVar("variable", default="nothing")


@pytest.fixture
def context() -> Context:
    def make() -> Context:
        variable.set("mine")
        context = capture()
        assert context is not None
        return context

    return Context().run(make)


def test_an_empty_context_is_none_and_costs_nothing() -> None:
    assert Context().run(capture) is None
    scheduler = schedulers.inline()
    assert bound(print, None) is print
    assert bound_executor(scheduler, None) == scheduler.execute
    subscriber = Recorder()
    assert Context().run(in_context, subscriber) is subscriber


def test_a_bound_task_sees_it_again_and_again_and_inside_itself(context: Context) -> None:
    seen: list[str] = []

    def task() -> None:
        seen.append(variable.get())
        variable.set("changed")
        if len(seen) < 3:
            again()

    again = bound(task, context)
    again()
    again()
    assert seen == ["mine"] * 4
    assert variable.get() == "nothing"


def test_bound_tasks_run_at_the_same_time(context: Context) -> None:
    barrier = threading.Barrier(3)
    seen: list[str] = []
    task = bound(lambda: (barrier.wait(DEADLINE), seen.append(variable.get())), context)
    threads = [threading.Thread(target=task) for _ in range(2)]
    for thread in threads:
        thread.start()
    barrier.wait(DEADLINE)
    for thread in threads:
        thread.join(DEADLINE)
    assert seen == ["mine", "mine"]


@pytest.mark.parametrize("make", [schedulers.inline, schedulers.single, schedulers.pool, schedulers.default])
def test_a_bound_executor_takes_it_to_the_scheduler_s_thread(
    make: Callable[[], schedulers.Scheduler], context: Context
) -> None:
    execute = bound_executor(make(), context)
    seen: list[str] = []
    done = threading.Semaphore(0)

    def task() -> None:
        seen.append(variable.get())
        variable.set("changed")
        done.release()

    # Whoever brings the task, here a thread that has another context, does not matter.
    threading.Thread(target=lambda: (variable.set("theirs"), execute(task), execute(task))).start()
    assert done.acquire(timeout=DEADLINE)
    assert done.acquire(timeout=DEADLINE)
    assert seen == ["mine", "mine"]


def test_a_bound_executor_takes_it_to_a_loop(context: Context) -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        done = asyncio.Event()
        execute = bound_executor(schedulers.asyncio(), context)
        thread = threading.Thread(target=execute, args=(lambda: (seen.append(variable.get()), done.set()),))
        thread.start()
        await asyncio.wait_for(done.wait(), DEADLINE)
        thread.join(DEADLINE)
        return seen

    assert asyncio.run(main()) == ["mine"]


def test_the_scheduler_of_use_is_carried_too() -> None:
    seen: list[schedulers.Scheduler] = []
    done = threading.Event()
    with schedulers.use(schedulers.VirtualTime()) as time:
        schedulers.default().execute(bound(lambda: (seen.append(schedulers.current()), done.set()), capture()))
    assert done.wait(DEADLINE)
    assert seen == [time]


class Recorder(pyrs.Subscriber[Any]):
    """Notes each signal with what it sees in the variable; requests one element after the other."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.subscription: pyrs.Subscription | None = None
        self.over = threading.Event()

    def note(self, signal: str) -> None:
        self.seen.append((signal, variable.get()))
        variable.set("changed")

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.note("on_subscribe")
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        self.note(f"on_next {element}")
        assert self.subscription is not None
        self.subscription.request(1)

    def on_error(self, error: BaseException, /) -> None:
        self.note("on_error")
        self.over.set()

    def on_complete(self) -> None:
        self.note("on_complete")
        self.over.set()


class Consumer(Recorder, IteratorConsumer[Any]):
    steady_only = True

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        self.note("consume")
        taken = 0
        for element in iterator:
            self.note(f"on_next {element}")
            taken += 1
            if taken == limit:
                break
        if taken:
            assert self.subscription is not None
            self.subscription.request(1)
        return taken


def subscribed(source: pyrs.Publisher[Any], subscriber: Recorder) -> None:
    def subscribe() -> None:
        variable.set("mine")
        source.subscribe(in_context(subscriber))

    Context().run(subscribe)
    assert subscriber.over.wait(DEADLINE)


@pytest.mark.parametrize("far", [False, True])
def test_each_signal_sees_it(far: bool, elsewhere: Callable[[pyrs.Publisher[Any]], pyrs.Stream[Any]]) -> None:
    class Plain(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            pyrs.range(2).subscribe(subscriber)

    source: pyrs.Publisher[int] = elsewhere(Plain()) if far else Plain()
    subscriber = Recorder()
    subscribed(source, subscriber)
    assert subscriber.seen == [(signal, "mine") for signal in ("on_subscribe", "on_next 0", "on_next 1", "on_complete")]
    failed = Recorder()
    subscribed(pyrs.error(ValueError()), failed)
    assert failed.seen[-1] == ("on_error", "mine")


def test_signals_that_nest_can_each_enter() -> None:
    class Nesting(pyrs.Publisher[int], pyrs.Subscription):
        """Signals inside of request, as deep as asked: legal (3.3), if not nice."""

        left = 3

        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            self.subscriber = subscriber
            subscriber.on_subscribe(self)

        def request(self, n: int, /) -> None:
            self.left -= 1
            if self.left:
                self.subscriber.on_next(self.left)
            else:
                self.subscriber.on_complete()

        def cancel(self) -> None: ...

    subscriber = Recorder()
    publisher = Nesting()
    subscribed(publisher, subscriber)
    assert [signal for signal, _ in subscriber.seen] == ["on_subscribe", "on_next 2", "on_next 1", "on_complete"]
    assert subscriber.subscription is publisher  # the one that came, not one of ours


def test_the_seam_for_many_at_a_time_is_kept() -> None:
    consumer = Consumer()
    wrapped = copy_context().run(lambda: (variable.set("mine"), in_context(consumer))[1])
    assert wrapped is not consumer
    assert isinstance(wrapped, IteratorConsumer)
    assert wrapped.steady_only is True
    assert not isinstance(
        copy_context().run(lambda: (variable.set("mine"), in_context(Recorder()))[1]), IteratorConsumer
    )

    functions: list[str] = []
    subscriber = Consumer()
    subscriber.steady_only = False
    subscribed(pyrs.range(2).map(lambda n: (functions.append(variable.get()), n)[1]), subscriber)
    assert subscriber.seen[:3] == [("on_subscribe", "mine"), ("consume", "mine"), ("on_next 0", "changed")]
    assert subscriber.seen[-1] == ("on_complete", "mine")
    assert functions[0] == "changed"  # inside of consume, so in its copy


def test_what_the_subscriber_raises_goes_through() -> None:
    class Raises(Recorder):
        def on_next(self, element: Any, /) -> None:
            raise LookupError

    wrapped = copy_context().run(lambda: (variable.set("mine"), in_context(Raises()))[1])
    with pytest.raises(LookupError):
        wrapped.on_next(1)


class Elsewhere(pyrs.Publisher[int]):
    """A stranger's Publisher that signals on a thread of its own, which knows no context."""

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        def signal() -> None:
            pyrs.range(3).subscribe(subscriber)

        thread = threading.Thread(target=lambda: Context().run(signal))
        thread.start()
        thread.join(DEADLINE)


@pytest.mark.parametrize(
    "through",
    [
        lambda stream: stream,
        lambda stream: stream.filter(lambda n: True),
        lambda stream: stream.concat(pyrs.empty()),
        lambda stream: stream.merge(pyrs.empty()),
        lambda stream: stream.publish_on(pyrs.schedulers.default()),
        lambda stream: pyrs.just(1).flat_map(lambda _: Elsewhere()),
    ],
    ids=["stream", "staged", "relay", "coordinator", "publish_on", "inner"],
)
def test_a_strangers_publisher_signals_in_the_context_of_whoever_subscribed(through: Any) -> None:
    seen: list[str] = []
    token = variable.set("mine")
    try:
        through(pyrs.Stream(Elsewhere())).map(lambda n: seen.append(variable.get()) or n).collect(timeout=DEADLINE)
    finally:
        variable.reset(token)
    assert seen == ["mine"] * 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: pyrs.range(3),
        lambda: pyrs.range(3).concat(pyrs.empty()),
        lambda: pyrs.range(3).to_list().map(len),
        lambda: pyrs.create(lambda emitter: (emitter.next(1), emitter.complete())),
        lambda: pyrs.timer(0),
        lambda: pyrs.range(3).on_backpressure_buffer(10),
        lambda: pyrs.range(3).merge(pyrs.empty()),
    ],
    ids=["range", "relay", "fold", "create", "timer", "buffer", "merge"],
)
def test_a_request_from_elsewhere_signals_in_the_context_of_whoever_subscribed(make: Any) -> None:
    seen: list[str] = []
    ended = threading.Event()
    token = variable.set("mine")
    try:
        subscription = (
            make()
            .map(lambda n: seen.append(variable.get()) or n)
            .subscribe(on_next=lambda n: seen.append(variable.get()), on_complete=ended.set, request=0)
        )
    finally:
        variable.reset(token)
    thread = threading.Thread(target=lambda: Context().run(subscription.request, 10))
    thread.start()
    thread.join(DEADLINE)
    assert ended.wait(DEADLINE)
    assert set(seen) == {"mine"}


def test_whoever_completes_a_future_elsewhere_signals_in_the_context_of_whoever_subscribed() -> None:
    future: Future[int] = Future()
    seen: list[str] = []
    token = variable.set("mine")
    try:
        pyrs.from_future(future).subscribe(on_next=lambda n: seen.append(variable.get()))
    finally:
        variable.reset(token)
    thread = threading.Thread(target=lambda: Context().run(future.set_result, 1))
    thread.start()
    thread.join(DEADLINE)
    assert seen == ["mine"]


@pytest.mark.parametrize(
    "build",
    [
        lambda stream: stream.map(str),
        lambda stream: stream.merge(pyrs.never()),
        lambda stream: stream.concat(pyrs.just(1)),
        lambda stream: stream.delay_subscription(3_600),
        lambda stream: pyrs.error(OSError("planned")).retry(backoff=pyrs.Backoff(first=3_600, most=3_600)),
    ],
    ids=["map", "merge", "concat", "delay_subscription", "retry"],
)
def test_the_answer_to_a_wrong_request_is_seen_in_it_too(build: Callable[[Any], pyrs.Stream[Any]]) -> None:
    seen: list[str] = []
    with schedulers.use(schedulers.VirtualTime()):
        subscription = Context().run(
            lambda: (
                variable.set("mine"),
                build(pyrs.never()).subscribe(request=0, on_error=lambda error: seen.append(variable.get())),
            )
        )[1]
    Context().run(lambda: (variable.set("another's"), subscription.request(0)))
    assert seen == ["mine"]
