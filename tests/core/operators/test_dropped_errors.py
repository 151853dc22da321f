"""An error that the Subscriber does not receive because it has cancelled is reported as dropped, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core.downstream import DownstreamSubscription
from pyrs._core.inputs import Input
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import eventually_on_loop

Build = Callable[[pyrs.Stream[int]], pyrs.Publisher[Any]]


def pushed(stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
    return pyrs.create(lambda it: stream.subscribe(on_next=it.next, on_error=it.error, on_complete=it.complete))


BUFFERING: dict[str, Build] = {
    "buffer by time": lambda s: s.buffer(1, seconds=60, scheduler=schedulers.VirtualTime()),
    "combine_latest": lambda s: s.combine_latest(pyrs.just(1)),
    "concat_map": lambda s: s.concat_map(pyrs.just),
    "create": pushed,
    "delay": lambda s: s.delay(60, scheduler=schedulers.VirtualTime()),
    "delay_until": lambda s: s.delay_until(pyrs.just),
    "expand": lambda s: s.expand(lambda _: pyrs.empty()),
    "filter_when": lambda s: s.filter_when(lambda _: pyrs.just(True)),
    "flat_map": lambda s: pyrs.just(1).flat_map(lambda _: s),
    "flat_map_sequential": lambda s: s.flat_map_sequential(pyrs.just),
    "limit_rate": lambda s: s.limit_rate(4),
    "merge": lambda s: s.merge(pyrs.never()),
    "merge_comparing": lambda s: s.merge_comparing(pyrs.never()),
    "on_backpressure_buffer": lambda s: s.on_backpressure_buffer(4),
    "on_backpressure_latest": lambda s: s.on_backpressure_latest(),
    "prefetch": lambda s: s.prefetch(4),
    "publish_on": lambda s: s.publish_on(schedulers.inline()),
    "sequence_equal": lambda s: s.sequence_equal(pyrs.never()),
    "share": lambda s: s.share(),
    "switch_map": lambda s: pyrs.just(1).concat(pyrs.never()).switch_map(lambda _: s),
    "window_until": lambda s: s.window_until(bool),
    "zip": lambda s: s.zip(pyrs.never()),
}


@pytest.mark.parametrize("build", BUFFERING.values(), ids=BUFFERING)
def test_cancel_reports_the_error_behind_an_undelivered_element(build: Build, dropped: Any) -> None:
    source, error = TestPublisher[int](), ValueError("not delivered")
    subscriber: TestSubscriber[Any] = TestSubscriber(1 if build is BUFFERING["delay"] else 0)
    build(source.stream()).subscribe(subscriber)
    source.next(1)
    source.error(error)
    assert dropped.errors == []
    subscriber.cancel()
    assert dropped.take() == [error]
    assert subscriber.error is None


OVERTAKEN: dict[str, Build] = {
    "buffer_when": lambda s: s.buffer_when(pyrs.never(), lambda _: pyrs.never()),
    "combine_latest, second": lambda s: pyrs.never().combine_latest(s),
    "concat_map, active": lambda s: s.concat_map(lambda _: pyrs.never()),
    "debounce": lambda s: s.debounce(60, scheduler=schedulers.VirtualTime()),
    "first_with_signal": lambda s: s.first_with_signal(pyrs.never()),
    "first_with_value": lambda s: s.first_with_value(pyrs.never()),
    "group_by": lambda s: s.group_by(lambda n: n),
    "parallel": lambda s: s.parallel(2).sequential(),
    "repeat_when": lambda s: pyrs.just(1).repeat_when(lambda _: s),
    "replay": lambda s: s.replay().ref_count(),
    "sample": lambda s: s.sample(60, scheduler=schedulers.VirtualTime()),
    "skip_until": lambda s: s.skip_until(pyrs.never()),
    "subscribe_on": lambda s: s.subscribe_on(schedulers.inline()),
    "switch_on_first": lambda s: s.switch_on_first(lambda _, whole: whole),
    "take_until": lambda s: s.take_until(pyrs.never()),
    "timeout": lambda s: s.timeout(60, scheduler=schedulers.VirtualTime()),
    "window by time": lambda s: s.window(1, seconds=60, scheduler=schedulers.VirtualTime()),
    "window_when": lambda s: s.window_when(pyrs.never(), lambda _: pyrs.never()),
    "with_latest_from": lambda s: s.with_latest_from(pyrs.never()),
    "with_latest_from, second": lambda s: pyrs.never().with_latest_from(s),
}
OVERTAKEN.update((name, build) for name, build in BUFFERING.items() if name != "create")  # create has no Input


@pytest.mark.parametrize("name", OVERTAKEN)
def test_error_is_reported_once_if_a_cancel_overtakes_it(
    name: str, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    """The cancel occurs after an input has accepted the error, and before it has stored it."""
    source, error = TestPublisher[int](), ValueError("not delivered")
    subscriber: TestSubscriber[Any] = TestSubscriber(0 if name in BUFFERING and name != "delay" else 9)
    OVERTAKEN[name](source.stream()).subscribe(subscriber)
    source.next(1)
    original = Input._close

    def close_and_cancel(each: Input[Any]) -> bool:
        first = original(each)
        subscriber.cancel()
        return first

    monkeypatch.setattr(Input, "_close", close_and_cancel)
    source.error(error)
    assert dropped.take() == [error]


def test_error_of_create_is_reported_once_if_a_cancel_overtakes_it(
    monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    original = DownstreamSubscription._fail

    def cancel_and_fail(run: DownstreamSubscription[Any], error: BaseException) -> None:
        run.cancel()
        original(run, error)

    monkeypatch.setattr(DownstreamSubscription, "_fail", cancel_and_fail)
    error = ValueError("not delivered")
    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.create(lambda emitter: emitter.error(error)).subscribe(subscriber)
    assert dropped.take() == [error]
    subscriber.assert_live()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("raises", ["before the cancel", "in its clean-up"])
def test_cancel_reports_the_error_of_a_call_of_map_that_is_not_due(raises: str, ordered: bool, dropped: Any) -> None:
    error = ValueError("not delivered")

    async def call(n: int) -> int:
        await asyncio.sleep(0)
        if n and raises == "before the cancel":
            raise error
        if n:
            try:
                await asyncio.Event().wait()
            finally:
                raise error
        return n

    async def main() -> None:
        subscriber: TestSubscriber[int] = TestSubscriber()
        pyrs.range(2).map(call, concurrency=2, ordered=ordered).subscribe(subscriber)
        for _ in range(5):
            await asyncio.sleep(0)
        assert dropped.errors == []
        subscriber.cancel()
        await eventually_on_loop(lambda: dropped.errors)
        subscriber.assert_elements().assert_live()

    asyncio.run(main())
    assert dropped.take() == [error]


SPLITTING: dict[str, Build] = {
    "window by count": lambda s: s.window(3).concat_map(lambda part: part),
    "window_until": lambda s: s.window_until(lambda n: n > 5).concat_map(lambda part: part),
    "window_until_changed": lambda s: s.window_until_changed().concat_map(lambda part: part.to_list()),
    "group_by": lambda s: s.group_by(lambda n: n % 3).flat_map(lambda part: part),
    "group_by, sequentially": lambda s: s.group_by(lambda n: n % 3).concat_map(lambda part: part),
    "group_by, errors last": lambda s: s.group_by(lambda n: n % 3).flat_map(lambda part: part, delay_errors=True),
    "group_by, sequentially, errors last": lambda s: s.group_by(lambda n: n % 3).concat_map(
        lambda part: part, delay_errors=True
    ),
    "parallel": lambda s: s.parallel(2).sequential(),
}


@pytest.mark.parametrize("build", SPLITTING.values(), ids=SPLITTING)
def test_error_that_reaches_several_inputs_is_reported_once(build: Build) -> None:
    """The stream fails with the error. The fixture ``dropped`` checks that it is not reported as well."""
    source, error = TestPublisher[int](), ValueError("delivered")
    subscriber: TestSubscriber[Any] = TestSubscriber(0)
    build(source.stream()).subscribe(subscriber)
    source.next(1, 2)
    source.error(error)
    subscriber.request(9)
    assert subscriber.error is error


CALLING: dict[str, Callable[[pyrs.Stream[int], Callable[..., Any]], pyrs.Publisher[Any]]] = {
    "buffer_when": lambda s, function: s.buffer_when(pyrs.just(1), function),
    "concat_map": lambda s, function: s.concat_map(function),
    "expand": lambda s, function: s.expand(function, depth_first=True),
    "flat_map": lambda s, function: s.flat_map(function),
    "flat_map_sequential": lambda s, function: s.flat_map_sequential(function),
    "group_by": lambda s, function: s.group_by(function),
    "map": lambda s, function: s.map(function),
    "merge_comparing": lambda s, function: s.merge_comparing(pyrs.just(1), key=function),
    "on_backpressure_buffer": lambda s, function: s.on_backpressure_buffer(1, "drop_latest", function),
    "on_backpressure_drop": lambda s, function: s.on_backpressure_drop(function),
    "on_backpressure_reduce": lambda s, function: s.on_backpressure_reduce(function),
    "switch_map": lambda s, function: s.switch_map(function),
    "window_when": lambda s, function: s.window_when(pyrs.just(1), function),
    "zip": lambda s, function: s.zip([1], combine=function),
}


@pytest.mark.parametrize("build", CALLING.values(), ids=CALLING)
def test_exception_of_a_function_that_has_cancelled_is_reported(
    build: Callable[[pyrs.Stream[int], Callable[..., Any]], pyrs.Publisher[Any]], dropped: Any
) -> None:
    error, cancels = ValueError("after the cancel"), list[None]()
    source, subscriber = TestPublisher[int](), TestSubscriber[Any](0)

    def cancel_and_raise(*_: object) -> Any:
        cancels.append(subscriber.cancel())
        raise error

    build(source.stream(), cancel_and_raise).subscribe(subscriber)
    subscriber.request(1)
    source.next(1)
    if not cancels:  # on_backpressure_*, for an element without demand
        source.next(2, 3)
    assert dropped.take() == [error]
