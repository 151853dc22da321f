"""using_when: an asynchronous resource is entered and exited exactly once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import notes_of
from tests.waiting import DEADLINE, eventually


class Resource:
    """Records its calls, and raises the given error when it is exited."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self.error = error

    async def __aenter__(self) -> int:
        await asyncio.sleep(0)
        self.calls.append("enter")
        return 3

    async def __aexit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        await asyncio.sleep(0)
        self.calls.append("exit" if error is None else f"exit {error}")
        if self.error is not None:
            raise self.error
        return True  # using_when must not suppress the error


def subscribed(stream: pyrs.Stream[Any], demand: int = 0) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(demand, timeout=DEADLINE)
    stream.subscribe(subscriber)
    return subscriber


def test_resource_is_exited_before_on_complete() -> None:
    resource, seen, ended = Resource(), [], threading.Event()
    pyrs.using_when(lambda: resource, pyrs.range).subscribe(
        on_next=lambda n: seen.append(f"{n} {resource.calls[-1]}"),
        on_complete=lambda: (seen.append(resource.calls[-1]), ended.set()),
    )
    assert ended.wait(DEADLINE)
    assert seen == ["0 enter", "1 enter", "2 enter", "exit"]


def test_completion_needs_no_demand() -> None:
    assert subscribed(pyrs.using_when(Resource, lambda _: pyrs.empty())).await_complete() == []


def test_demand_is_forwarded_unchanged() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber = subscribed(pyrs.using_when(Resource, lambda _: source), 2)
    source.await_requested(2, DEADLINE)
    source.next(1, 2)
    assert subscriber.await_count(2) == [1, 2]
    subscriber.cancel()


def test_each_subscriber_has_its_own_resource() -> None:
    resources: list[Resource] = []

    def make() -> Resource:
        resources.append(Resource())
        return resources[-1]

    stream = pyrs.using_when(make, pyrs.range)
    assert resources == []
    assert stream.collect() + stream.collect() == [0, 1, 2] * 2
    assert [each.calls for each in resources] == [["enter", "exit"]] * 2


def test_error_is_passed_to_exit_and_not_suppressed() -> None:
    resource = Resource()
    with pytest.raises(ValueError, match="no"):
        pyrs.using_when(lambda: resource, lambda _: pyrs.error(ValueError("no"))).collect(timeout=DEADLINE)
    assert resource.calls == ["enter", "exit no"]


def test_cancel_exits_the_resource_once() -> None:
    resource = Resource()
    subscriber = subscribed(pyrs.using_when(lambda: resource, lambda _: pyrs.range(10)), 1)
    assert subscriber.await_count(1) == [0]
    subscriber.cancel()
    subscriber.cancel()
    eventually(lambda: resource.calls == ["enter", "exit"], "the resource was not exited")


def test_cancel_during_the_entry_cancels_it() -> None:
    entering, cancelled = threading.Event(), threading.Event()

    @asynccontextmanager
    async def slow() -> AsyncIterator[int]:
        entering.set()
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        yield 1

    subscriber = subscribed(pyrs.using_when(slow, pyrs.range))
    assert entering.wait(DEADLINE)
    subscriber.cancel()
    assert cancelled.wait(DEADLINE)
    assert not subscriber.ended


def test_cancel_inside_use_exits_the_resource() -> None:
    resource = Resource()
    subscriber: TestSubscriber[int] = TestSubscriber()

    def use(_: int) -> pyrs.Stream[int]:
        subscriber.cancel()
        return pyrs.range(3)

    pyrs.using_when(lambda: resource, use).subscribe(subscriber)
    eventually(lambda: resource.calls == ["enter", "exit"], "the resource was not exited")
    assert not subscriber.ended


@pytest.mark.parametrize("result", [ValueError("use"), "no Publisher"])
def test_failing_use_exits_the_resource(result: Any) -> None:
    resource = Resource()

    def use(_: int) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises((ValueError, TypeError)) as raised:
        pyrs.using_when(lambda: resource, use).collect(timeout=DEADLINE)
    assert resource.calls == ["enter", f"exit {raised.value}"]
    assert "in using_when(" in notes_of(raised.value)[0]


def test_failing_factory_or_entry_fails_the_stream() -> None:
    def make() -> Resource:
        raise OSError("cannot open")

    @asynccontextmanager
    async def refuse() -> AsyncIterator[int]:
        raise OSError("cannot open")
        yield 1

    for resource in (make, refuse):
        with pytest.raises(OSError, match="cannot open") as raised:
            pyrs.using_when(resource, pyrs.range).collect(timeout=DEADLINE)
        assert "in using_when(" in notes_of(raised.value)[0]


@pytest.mark.parametrize("resource", [3, threading.Lock()])
def test_result_that_is_no_asynchronous_context_manager_fails_the_stream(resource: Any) -> None:
    with pytest.raises(TypeError, match="resource must be an asynchronous context manager, not") as raised:
        pyrs.using_when(lambda: resource, pyrs.range).collect(timeout=DEADLINE)
    assert "in using_when(" in notes_of(raised.value)[0]


def test_error_of_the_exit_fails_a_completed_stream_only(dropped: Any) -> None:
    def make() -> Resource:
        return Resource(OSError("cannot close"))

    with pytest.raises(OSError, match="cannot close"):
        pyrs.using_when(make, pyrs.range).collect(timeout=DEADLINE)
    with pytest.raises(ValueError, match="no"):
        pyrs.using_when(make, lambda _: pyrs.error(ValueError("no"))).collect(timeout=DEADLINE)
    eventually(lambda: [str(error) for error in dropped.errors] == ["cannot close"], "the hook was not called")
    dropped.take()


def test_resource_is_exited_once_if_completion_and_cancel_race() -> None:
    for _ in range(100):
        resource, source = Resource(), TestPublisher[int]()
        subscriber = subscribed(pyrs.using_when(lambda resource=resource: resource, lambda _, s=source: s))  # type: ignore[misc]
        source.await_subscribers(timeout=DEADLINE)
        barrier = threading.Barrier(2)

        def cancel(subscriber: TestSubscriber[int] = subscriber, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(DEADLINE)
            subscriber.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        barrier.wait(DEADLINE)
        source.complete()
        thread.join(DEADLINE)
        eventually(lambda resource=resource: resource.calls == ["enter", "exit"], "the resource was not exited")  # type: ignore[misc]


def test_resource_is_entered_on_the_running_loop() -> None:
    loops: list[Any] = []

    @asynccontextmanager
    async def connect() -> AsyncIterator[int]:
        loops.append(asyncio.get_running_loop())
        yield 2
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        assert [n async for n in pyrs.using_when(connect, pyrs.range)] == [0, 1]
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(main())


def test_manager_that_resets_a_context_variable_can_be_exited() -> None:
    variable = ContextVar("variable", default="before")

    @asynccontextmanager
    async def scope() -> AsyncIterator[int]:
        token = variable.set("inside")
        yield 2
        variable.reset(token)

    stream = pyrs.using_when(scope, lambda count: pyrs.range(count).map(lambda _: variable.get()))
    assert stream.collect(timeout=DEADLINE) == ["inside"] * 2


@asynccontextmanager
async def task_group() -> AsyncIterator[Any]:
    async with anyio.create_task_group() as group:
        yield group


def test_manager_that_must_be_exited_in_its_task_can_be_exited() -> None:
    stream = pyrs.using_when(task_group, lambda _: pyrs.range(3))
    assert stream.collect(timeout=DEADLINE) == [0, 1, 2]


def test_failed_task_of_a_group_cancels_the_source_and_fails_the_stream() -> None:
    source: TestPublisher[int] = TestPublisher()

    async def fail() -> None:
        raise OSError("disconnected")

    def use(group: Any) -> TestPublisher[int]:
        group.start_soon(fail)
        return source

    subscriber = subscribed(pyrs.using_when(task_group, use))
    error = subscriber.await_error(BaseException)
    assert "disconnected" in repr(getattr(error, "exceptions", error))
    assert any("in using_when(" in note for note in notes_of(error))
    source.assert_cancelled()


def test_end_of_asyncio_run_exits_the_resource_and_fails_the_stream() -> None:
    resource, source = Resource(), TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber()

    async def main() -> None:
        used = asyncio.Event()

        def use(_: int) -> TestPublisher[int]:
            used.set()
            return source

        pyrs.using_when(lambda: resource, use).subscribe(subscriber)
        await used.wait()

    asyncio.run(main())
    assert "was cancelled" in str(subscriber.assert_error(RuntimeError))
    assert [call.strip() for call in resource.calls] == ["enter", "exit"]
    source.assert_cancelled()


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="resource must be callable"):
        pyrs.using_when(Resource(), pyrs.range)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="use must be callable"):
        pyrs.using_when(Resource, None)  # type: ignore[arg-type]


def test_repr_shows_the_call() -> None:
    assert repr(pyrs.using_when(Resource, pyrs.range)) == "using_when(Resource, range)"
