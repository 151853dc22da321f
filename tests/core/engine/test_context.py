"""Every callback runs in the subscriber's context (context variables), on any thread."""

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
from pyrs.errors import SchedulerClosed
from pyrs.testing import TestPublisher
from tests.waiting import DEADLINE, on_threads, run_on_threads

variable = ContextVar("variable", default="nothing")


@pytest.fixture
def context() -> Context:
    def make() -> Context:
        variable.set("mine")
        context = capture()
        assert context is not None
        return context

    return Context().run(make)


def test_empty_context_adds_no_wrapper() -> None:
    assert Context().run(capture) is None
    scheduler = schedulers.inline()
    assert bound(print, None) is print
    assert bound_executor(scheduler, None) == scheduler.execute
    subscriber = Recorder()
    assert Context().run(in_context, subscriber) is subscriber


@pytest.mark.parametrize("make", [pyrs.Stream, lambda source: pyrs.just(source).flat_map(lambda each: each)])
def test_publisher_whose_getattr_raises_is_subscribed_to(make: Callable[[Any], pyrs.Stream[int]]) -> None:
    class Foreign:
        def subscribe(self, subscriber: Any) -> None:
            pyrs.just(1, 2).subscribe(subscriber)

        def __getattr__(self, name: str) -> Any:
            return {}[name]

    seen: list[Any] = []
    stream = make(Foreign()).map(lambda n: (n, variable.get()))
    copy_context().run(lambda: (variable.set("mine"), stream.subscribe(on_next=seen.append)))
    assert seen == [(1, "mine"), (2, "mine")]


def test_bound_task_sees_the_context_on_every_call_and_when_nested(context: Context) -> None:
    seen: list[str] = []

    def task() -> None:
        seen.append(variable.get())
        variable.set("changed")
        if len(seen) < 3:
            bound_task()

    bound_task = bound(task, context)
    bound_task()
    bound_task()
    assert seen == ["mine"] * 4
    assert variable.get() == "nothing"


def test_bound_task_can_run_on_several_threads_concurrently(context: Context) -> None:
    barrier = threading.Barrier(3)
    seen: list[str] = []
    task = bound(lambda: (barrier.wait(DEADLINE), seen.append(variable.get())), context)
    with on_threads(task, task):
        barrier.wait(DEADLINE)
    assert seen == ["mine", "mine"]


@pytest.mark.parametrize("make", [schedulers.inline, schedulers.single, schedulers.pool, schedulers.default])
def test_bound_executor_runs_tasks_in_the_context_on_the_scheduler(
    make: Callable[[], schedulers.Scheduler], context: Context
) -> None:
    execute = bound_executor(make(), context)
    seen: list[str] = []
    done = threading.Semaphore(0)

    def task() -> None:
        seen.append(variable.get())
        variable.set("changed")
        done.release()

    # The context of the submitting thread must not matter.
    threading.Thread(target=lambda: (variable.set("theirs"), execute(task), execute(task))).start()
    assert done.acquire(timeout=DEADLINE)
    assert done.acquire(timeout=DEADLINE)
    assert seen == ["mine", "mine"]


def test_bound_executor_runs_tasks_in_the_context_on_a_loop(context: Context) -> None:
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


def test_context_contains_the_scheduler_set_by_use() -> None:
    seen: list[schedulers.Scheduler] = []
    done = threading.Event()
    with schedulers.use(schedulers.VirtualTime()) as time:
        schedulers.default().execute(bound(lambda: (seen.append(schedulers.current()), done.set()), capture()))
    assert done.wait(DEADLINE)
    assert seen == [time]


class Recorder(pyrs.Subscriber[Any]):
    """Record each signal with the value of the context variable, and request elements one at a time."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.subscription: pyrs.Subscription | None = None
        self.terminated = threading.Event()

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
        self.terminated.set()

    def on_complete(self) -> None:
        self.note("on_complete")
        self.terminated.set()


class ConsumingRecorder(Recorder, IteratorConsumer[Any]):
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


def subscribe_in_context(source: pyrs.Publisher[Any], subscriber: Recorder) -> None:
    def subscribe() -> None:
        variable.set("mine")
        source.subscribe(in_context(subscriber))

    Context().run(subscribe)
    assert subscriber.terminated.wait(DEADLINE)


@pytest.mark.parametrize("other_thread", [False, True])
def test_each_signal_sees_the_context(
    other_thread: bool, threaded: Callable[[pyrs.Publisher[Any]], pyrs.Stream[Any]]
) -> None:
    class PlainPublisher(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            pyrs.range(2).subscribe(subscriber)

    source: pyrs.Publisher[int] = threaded(PlainPublisher()) if other_thread else PlainPublisher()
    subscriber = Recorder()
    subscribe_in_context(source, subscriber)
    assert subscriber.seen == [(signal, "mine") for signal in ("on_subscribe", "on_next 0", "on_next 1", "on_complete")]
    failed = Recorder()
    subscribe_in_context(pyrs.error(ValueError()), failed)
    assert failed.seen[-1] == ("on_error", "mine")


def test_nested_signals_each_enter_the_context() -> None:
    class RecursivePublisher(pyrs.Publisher[int], pyrs.Subscription):
        """Signals recursively inside ``request``, three calls deep, which 3.3 allows."""

        remaining = 3

        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            self.subscriber = subscriber
            subscriber.on_subscribe(self)

        def request(self, n: int, /) -> None:
            self.remaining -= 1
            if self.remaining:
                self.subscriber.on_next(self.remaining)
            else:
                self.subscriber.on_complete()

        def cancel(self) -> None: ...

    subscriber = Recorder()
    publisher = RecursivePublisher()
    subscribe_in_context(publisher, subscriber)
    signals = ("on_subscribe", "on_next 2", "on_next 1", "on_complete")
    assert subscriber.seen == [(signal, "mine") for signal in signals]
    assert subscriber.subscription is publisher  # not wrapped


def test_context_wrapper_keeps_the_iterator_consumer_interface() -> None:
    consumer = ConsumingRecorder()
    wrapped = copy_context().run(lambda: (variable.set("mine"), in_context(consumer))[1])
    assert wrapped is not consumer
    assert isinstance(wrapped, IteratorConsumer)
    assert wrapped.steady_only is True
    assert not isinstance(
        copy_context().run(lambda: (variable.set("mine"), in_context(Recorder()))[1]), IteratorConsumer
    )

    functions: list[str] = []
    subscriber = ConsumingRecorder()
    subscriber.steady_only = False
    subscribe_in_context(pyrs.range(2).map(lambda n: (functions.append(variable.get()), n)[1]), subscriber)
    assert subscriber.seen[:3] == [("on_subscribe", "mine"), ("consume", "mine"), ("on_next 0", "changed")]
    assert subscriber.seen[-1] == ("on_complete", "mine")
    assert functions[0] == "changed"  # runs inside consume, in the same copy of the context


@pytest.mark.parametrize(
    "share",
    [lambda s: s.publish(), lambda s: s.replay(), lambda s: s.publish().auto_connect(2), lambda s: s.share()],
    ids=["publish", "replay", "auto_connect", "share"],
)
def test_shared_stream_captures_the_context_once(
    share: Callable[[Any], pyrs.Stream[Any]], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured: list[Context | None] = []

    def recording_capture() -> Context | None:
        captured.append(capture())
        return captured[-1]

    stream = share(pyrs.range(3))
    monkeypatch.setattr("pyrs._core.context.capture", recording_capture)
    context.run(stream.subscribe, Recorder())
    assert len(captured) == 1


def test_exception_in_on_next_propagates_through_the_context_wrapper() -> None:
    class RaisingRecorder(Recorder):
        def on_next(self, element: Any, /) -> None:
            raise LookupError

    wrapped = copy_context().run(lambda: (variable.set("mine"), in_context(RaisingRecorder()))[1])
    with pytest.raises(LookupError):
        wrapped.on_next(1)


class ForeignPublisher(pyrs.Publisher[int]):
    """A foreign Publisher that signals on its own thread, with an empty context."""

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        def signal() -> None:
            pyrs.range(3).subscribe(subscriber)

        run_on_threads(lambda: Context().run(signal))


@pytest.mark.parametrize(
    "apply",
    [
        lambda stream: stream,
        lambda stream: stream.filter(lambda n: True),
        lambda stream: stream.concat(pyrs.empty()),
        lambda stream: stream.merge(pyrs.empty()),
        lambda stream: stream.publish_on(pyrs.schedulers.default()),
        lambda stream: pyrs.just(1).flat_map(lambda _: ForeignPublisher()),
        lambda stream: pyrs.defer(ForeignPublisher),
    ],
    ids=["stream", "filter", "concat", "merge", "publish_on", "flat_map", "defer"],
)
def test_signals_of_a_foreign_publisher_run_in_the_subscribers_context(apply: Any) -> None:
    seen: list[str] = []
    token = variable.set("mine")
    try:
        apply(pyrs.Stream(ForeignPublisher())).map(lambda n: seen.append(variable.get()) or n).collect(timeout=DEADLINE)
    finally:
        variable.reset(token)
    assert seen == ["mine"] * 3


def test_for_each_calls_its_function_in_the_callers_context() -> None:
    seen: list[str] = []
    token = variable.set("mine")
    try:
        pyrs.Stream(ForeignPublisher()).for_each(lambda n: seen.append(variable.get()), timeout=DEADLINE)
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
        lambda: pyrs.never().scan(lambda total, n: n, 5).take(1),
        lambda: pyrs.empty().concat(pyrs.empty()).default_if_empty(5),
        lambda: pyrs.empty().concat(pyrs.empty()).materialize(),
    ],
    ids=[
        "range",
        "concat",
        "to_list",
        "create",
        "timer",
        "on_backpressure_buffer",
        "merge",
        "scan",
        "default_if_empty",
        "materialize",
    ],
)
def test_request_from_another_thread_signals_in_the_subscribers_context(make: Any) -> None:
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
    run_on_threads(lambda: Context().run(subscription.request, 10))
    assert ended.wait(DEADLINE)
    assert set(seen) == {"mine"}


@pytest.mark.parametrize("make", [pyrs.never, lambda: pyrs.never().concat(pyrs.empty())], ids=["pushed", "concat"])
@pytest.mark.parametrize("followed", [False, True])
def test_callbacks_for_request_and_cancel_run_in_the_subscribers_context(make: Any, followed: bool) -> None:
    seen: list[str] = []
    stream = (
        make()
        .do_on_request(lambda n: seen.append(variable.get()))
        .do_on_cancel(lambda: seen.append(variable.get()))
        .finally_do(lambda: seen.append(variable.get()))
    )
    token = variable.set("mine")
    subscription = (stream.concat(pyrs.empty()) if followed else stream).subscribe(on_next=print, request=0)
    variable.reset(token)
    Context().run(subscription.request, 1)
    Context().run(subscription.cancel)
    assert seen == ["mine"] * 3


@pytest.mark.parametrize(
    "make",
    [
        lambda stream: stream.concat(pyrs.never()).buffer(5),
        lambda stream: stream.prefetch(2),
        lambda stream: stream.publish(2).ref_count(),
        lambda stream: stream.window(3),
    ],
    ids=["buffer", "prefetch", "publish", "window"],
)
def test_cancel_discards_elements_in_the_subscribers_context(make: Any) -> None:
    seen: list[str] = []
    stream = make(pyrs.range(9)).do_on_discard(lambda element: seen.append(variable.get()))
    token = variable.set("mine")
    subscription = stream.subscribe(on_next=lambda element: None, request=1)
    variable.reset(token)
    subscription.request(1)
    Context().run(subscription.cancel)
    assert set(seen) == {"mine"}


@pytest.mark.parametrize("operator", ["retry_when", "repeat_when"])
def test_signal_of_a_foreign_publisher_subscribes_again_in_the_subscribers_context(operator: str) -> None:
    seen: list[str] = []

    def source() -> pyrs.Stream[int]:
        seen.append(variable.get())
        return pyrs.error(OSError("planned")) if operator == "retry_when" else pyrs.empty()

    signals: TestPublisher[int] = TestPublisher()
    apply = getattr(pyrs.defer(source), operator)
    token = variable.set("mine")
    apply(lambda outcomes: signals).subscribe(on_error=print)
    variable.reset(token)
    Context().run(signals.next, 1)
    assert seen == ["mine", "mine"]


def test_completion_after_the_release_of_unread_rails_is_signalled_in_the_subscribers_context() -> None:
    seen: list[str] = []
    rails: list[Any] = []
    ended = threading.Event()
    stream = pyrs.never().parallel(2).transform_rails(lambda rail: rails.append(rail) or pyrs.empty()).sequential()
    token = variable.set("mine")
    stream.subscribe(on_next=print, on_complete=lambda: (seen.append(variable.get()), ended.set()))
    variable.reset(token)
    rails.clear()
    assert ended.wait(DEADLINE)
    assert seen == ["mine"]


@pytest.mark.parametrize("name", ["delay", "timeout", "delay_subscription"])
def test_error_of_a_closed_scheduler_is_signalled_in_the_subscribers_context(name: str) -> None:
    tasks: list[Any] = []

    class Closing(schedulers.VirtualTime):
        def schedule(self, task: Any, delay: float = 0.0) -> Any:
            tasks.append(task)
            return super().schedule(task, delay)

    seen: list[str] = []
    stream = getattr(pyrs.just(1).concat(pyrs.never()), name)(5, scheduler=Closing())
    token = variable.set("mine")
    stream.subscribe(on_next=lambda element: None, on_error=lambda error: seen.append(variable.get()))
    variable.reset(token)
    Context().run(tasks[0].refused, SchedulerClosed("closed"))
    assert seen == ["mine"]


def test_future_completed_on_another_thread_signals_in_the_subscribers_context() -> None:
    future: Future[int] = Future()
    seen: list[str] = []
    token = variable.set("mine")
    try:
        pyrs.from_future(future).subscribe(on_next=lambda n: seen.append(variable.get()))
    finally:
        variable.reset(token)
    run_on_threads(lambda: Context().run(future.set_result, 1))
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
def test_error_of_a_zero_request_is_signalled_in_the_subscribers_context(
    build: Callable[[Any], pyrs.Stream[Any]],
) -> None:
    seen: list[str] = []
    with schedulers.use(schedulers.VirtualTime()):
        subscription = Context().run(
            lambda: (
                variable.set("mine"),
                build(pyrs.never()).subscribe(request=0, on_error=lambda error: seen.append(variable.get())),
            )
        )[1]
    Context().run(lambda: (variable.set("other"), subscription.request(0)))
    assert seen == ["mine"]


def test_error_hook_receives_the_name_of_the_wrapped_subscriber(context: Context) -> None:
    class Raising(Recorder):
        def on_next(self, element: int, /) -> None:
            raise ValueError("planned")

    where: list[str] = []
    hook = pyrs.set_error_hook(lambda error, place: where.append(place))
    try:
        pyrs.range(1).subscribe(context.run(in_context, Raising()))
    finally:
        pyrs.set_error_hook(hook)
    assert where == ["raised by on_next of Raising"]
