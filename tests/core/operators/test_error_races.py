"""An error that races with a cancel is delivered or reported as dropped, once.

Each test forces one interleaving: the cancel occurs at a point between the source's ``on_error`` and the Subscriber's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs._core.arbiter import ActiveSource
from pyrs._core.coordinator import Coordinator
from pyrs._core.downstream import DownstreamSubscription
from pyrs._core.hub import Hub
from pyrs._core.inputs import Input
from pyrs.operators.splitting import SplitRun
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import subscribe

Build = Callable[[pyrs.Stream[int]], pyrs.Publisher[Any]]

CLOCK = schedulers.VirtualTime()

# Operators that emit the first element at once, without further signals.
OPERATORS: dict[str, Build] = {
    "buffer": lambda s: s.buffer(1),
    "combine_latest": lambda s: s.combine_latest(pyrs.just(1).concat(pyrs.never())),
    "concat_map": lambda s: s.concat_map(lambda n: pyrs.just(n).concat(pyrs.never())),
    "concat_map, errors last": lambda s: pyrs.just(1, 2).concat_map(lambda _: s, delay_errors=True),
    "concat_map, empty queue": lambda s: s.concat_map(pyrs.just),
    "expand": lambda s: s.expand(lambda _: pyrs.empty()),
    "first_with_signal": lambda s: s.first_with_signal(pyrs.never()),
    "flat_map": lambda s: s.flat_map(pyrs.just),
    "flat_map, inner": lambda s: pyrs.just(1).concat(pyrs.never()).flat_map(lambda _: s),
    "flat_map, errors last": lambda s: pyrs.just(1).flat_map(lambda _: s, delay_errors=True),
    "limit_rate": lambda s: s.limit_rate(4),
    "merge": lambda s: s.merge(pyrs.never()),
    "on_backpressure_buffer": lambda s: s.on_backpressure_buffer(4),
    "on_backpressure_latest": lambda s: s.on_backpressure_latest(),
    "prefetch": lambda s: s.prefetch(4),
    "publish, auto_connect": lambda s: s.publish().auto_connect(),
    "publish, ref_count": lambda s: s.publish().ref_count(),
    "publish_on": lambda s: s.publish_on(schedulers.inline()),
    "replay, ref_count": lambda s: s.replay().ref_count(),
    "share": lambda s: s.share(),
    "subscribe_on": lambda s: s.subscribe_on(schedulers.inline()),
    "switch_map": lambda s: s.switch_map(pyrs.just),
    "switch_map, inner": lambda s: pyrs.just(1).concat(pyrs.never()).switch_map(lambda _: s),
    "switch_on_first": lambda s: s.switch_on_first(lambda signal, whole: whole),
    "take_until": lambda s: s.take_until(pyrs.never()),
    "throttle_latest": lambda s: s.throttle_latest(60, scheduler=CLOCK),
    "timeout": lambda s: s.timeout(60, scheduler=CLOCK),
    "timeout, fallback": lambda s: s.timeout(60, fallback=pyrs.never(), scheduler=CLOCK),
    "with_latest_from": lambda s: s.with_latest_from(pyrs.just(1).concat(pyrs.never())),
    "zip": lambda s: s.zip(pyrs.just(1).concat(pyrs.never())),
}

# Operators whose error reaches several Subscribers: those of the parts, and that of the stream.
SPLITTING: dict[str, Build] = {
    "group_by, concat_map": lambda s: s.group_by(lambda n: n % 3).concat_map(lambda part: part),
    "group_by, flat_map": lambda s: s.group_by(lambda n: n % 3).flat_map(lambda part: part),
    "group_by, flat_map of map": lambda s: s.group_by(lambda n: n % 3).flat_map(lambda part: part.map(str)),
    "parallel": lambda s: s.parallel(2).sequential(),
    "window, concat_map": lambda s: s.window(9).concat_map(lambda part: part),
    "window, flat_map": lambda s: s.window(9).flat_map(lambda part: part),
    "window, overlapping": lambda s: s.window(9, skip=1).flat_map(lambda part: part),
    "window_until": lambda s: s.window_until(lambda n: n > 5).flat_map(lambda part: part),
}

ALL = {**OPERATORS, **SPLITTING}


UNBUFFERED = (
    "buffer",
    "concat_map, errors last",
    "first_with_signal",
    "subscribe_on",
    "take_until",
    "timeout",
    "timeout, fallback",
    "with_latest_from",
)
"""Operators that forward demand, so that a source emits inside ``request``."""


def cancel_before(
    call: str, owner: type[Any], place: int, subscriber: Callable[[], TestSubscriber[Any]], patch: pytest.MonkeyPatch
) -> None:
    """Cancel before the call number ``place`` of a method."""
    original = getattr(owner, call)
    calls = 0

    def cancel_and_call(this: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == place + 1:
            subscriber().cancel()
        return original(this, *arguments)

    patch.setattr(owner, call, cancel_and_call)


BUFFERING = [name for name in ALL if name not in UNBUFFERED]


@pytest.mark.parametrize("name", BUFFERING)
def test_error_that_arrives_inside_on_next_is_reported_once_if_on_next_cancels(name: str, dropped: Any) -> None:
    """The element is emitted by the drain loop of the operator, so the source may emit a signal at the same time."""
    source, error = TestPublisher[int](), ValueError("not delivered")

    def fail_and_cancel(subscriber: TestSubscriber[Any], element: Any) -> None:
        source.error(error)
        subscriber.cancel()

    subscriber = TestSubscriber[Any](0, on_element=fail_and_cancel)
    ALL[name](source.stream()).subscribe(subscriber)
    source.next(1)
    subscriber.request(9)
    assert len(subscriber.elements) == 1
    assert dropped.take() == [error]
    subscriber.assert_live()


@pytest.mark.parametrize("build", ALL.values(), ids=ALL)
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    ("call", "owner"),
    [
        ("_close", Input),
        ("_end_with", DownstreamSubscription),
        ("_terminate", DownstreamSubscription),
        ("wake", Coordinator),
        ("try_emit_error", Hub),
        ("_finish", Hub),
    ],
)
def test_error_is_delivered_or_reported_if_a_cancel_overtakes_it(
    call: str, owner: type[Any], place: int, build: Build, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    source, error = TestPublisher[int](), ValueError("not delivered")
    subscriber = TestSubscriber[Any](9)
    build(source.stream()).subscribe(subscriber)
    source.next(1, 2)
    cancel_before(call, owner, place, lambda: subscriber, monkeypatch)
    source.error(error)
    subscriber.cancel()
    assert [*dropped.take(), *filter(None, [subscriber.error])] == [error]


@pytest.mark.parametrize("name", [name for name in ALL if name != "group_by, flat_map of map"])
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(
    ("call", "owner"), [("cancel", Input), ("cancel", ActiveSource), ("_forget", DownstreamSubscription)]
)
def test_error_that_arrives_while_the_cancel_is_in_progress_is_reported_once(
    call: str, owner: type[Any], place: int, name: str, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    """The error arrives when some of the operators and inputs are cancelled and others are not yet."""
    source, error = TestPublisher[int](), ValueError("not delivered")
    subscriber = subscribe(ALL[name](source.stream()), 9)
    source.next(1, 2)
    original, calls = getattr(owner, call), 0
    expected: list[ValueError] = []

    def fail_and_call(this: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == place + 1 and not source.cancel_count:
            expected.append(error)
            source.error(error)
        original(this)

    monkeypatch.setattr(owner, call, fail_and_call)
    subscriber.cancel()
    assert dropped.take() == expected
    subscriber.assert_live()


@pytest.mark.parametrize("name", [name for name in BUFFERING if name != "group_by, flat_map of map"])
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(
    ("call", "owner"),
    [("cancel", Input), ("cancel_upstream", Input), ("_on_cancel", Coordinator), ("_forget", DownstreamSubscription)],
)
def test_error_that_arrives_while_a_cancel_in_on_next_is_in_progress_is_reported_once(
    call: str, owner: type[Any], place: int, name: str, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    source, error = TestPublisher[int](), ValueError("not delivered")
    original, calls = getattr(owner, call), 0
    expected: list[ValueError] = []

    def fail_and_call(this: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == place + 1 and not source.cancel_count:
            expected.append(error)
            source.error(error)
        original(this)

    def cancel(subscriber: TestSubscriber[Any], element: Any) -> None:
        monkeypatch.setattr(owner, call, fail_and_call)
        subscriber.cancel()

    subscriber = TestSubscriber[Any](0, on_element=cancel)
    ALL[name](source.stream()).subscribe(subscriber)
    source.next(1)
    subscriber.request(9)
    assert len(subscriber.elements) == 1
    assert dropped.take() == expected
    subscriber.assert_live()


@pytest.mark.parametrize("build", ALL.values(), ids=ALL)
def test_error_is_reported_once_if_each_subscription_is_cancelled_before_it_fails(
    build: Build, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    original = DownstreamSubscription._fail

    def cancel_and_fail(run: DownstreamSubscription[Any], error: BaseException) -> None:
        run.cancel()
        original(run, error)

    source, error = TestPublisher[int](), ValueError("not delivered")
    subscriber = subscribe(build(source.stream()), 9)
    source.next(1, 2)
    monkeypatch.setattr(DownstreamSubscription, "_fail", cancel_and_fail)
    source.error(error)
    subscriber.cancel()
    assert dropped.take() == [error]
    subscriber.assert_live()


@pytest.mark.parametrize("leaves", [0, 1])
@pytest.mark.parametrize("name", ["share", "publish, ref_count", "replay, ref_count"])
def test_error_of_a_shared_stream_that_one_of_two_subscribers_receives_is_not_reported(
    name: str, leaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them cancels before its terminal signal. The fixture ``dropped`` checks that nothing is reported."""
    source, error = TestPublisher[int](), ValueError("delivered")
    shared = OPERATORS[name](source.stream())
    both = [subscribe(shared, 9), subscribe(shared, 9)]
    cancel_before("_terminate", DownstreamSubscription, leaves, lambda: both[leaves], monkeypatch)
    source.error(error)
    assert [each.error for each in both] == [error if place != leaves else None for place in range(2)]


def test_error_that_a_replay_has_delivered_is_not_reported_when_the_connection_is_cancelled() -> None:
    source, error = TestPublisher[int](), ValueError("delivered")
    replay = source.stream().replay()
    subscriber = subscribe(replay)
    connection = replay.connect()
    source.error(error)
    connection.cancel()
    assert subscriber.error is error


def test_error_of_a_replay_without_subscribers_is_reported_when_the_connection_is_cancelled(dropped: Any) -> None:
    source, error = TestPublisher[int](), ValueError("not delivered")
    replay = source.stream().replay()
    connection = replay.connect()
    source.error(error)
    assert dropped.errors == []
    connection.cancel()
    connection.cancel()
    assert dropped.take() == [error]


def test_error_behind_buffered_elements_of_a_shared_stream_is_not_reported_if_a_later_subscriber_receives_it() -> None:
    source, error = TestPublisher[int](), ValueError("delivered")
    publish = source.stream().publish()
    first = subscribe(publish, 0)
    connection = publish.connect()
    source.next(1)
    source.error(error)
    first.cancel()
    second = subscribe(publish)
    assert (second.elements, second.error) == ([1], error)
    connection.cancel()


def test_error_of_the_signals_of_retry_when_is_reported_once_if_the_subscriber_cancels(dropped: Any) -> None:
    error = ValueError("not delivered")
    subscriber = subscribe(pyrs.never().retry_when(lambda errors: pyrs.error(error)))
    assert dropped.errors == []
    subscriber.cancel()
    assert dropped.take() == [error]


def test_error_of_the_signals_of_retry_when_is_reported_once_if_a_cancel_overtakes_it(
    monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    signals, error = TestPublisher[int](), ValueError("not delivered")
    subscriber = subscribe(pyrs.never().retry_when(lambda errors: signals))
    cancel_before("_close", Input, 0, lambda: subscriber, monkeypatch)
    signals.error(error)
    assert dropped.take() == [error]


@pytest.mark.parametrize("make", [sinks.unicast, sinks.multicast])
def test_error_of_a_sink_is_reported_once_if_a_cancel_overtakes_it(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    """A multicast sink keeps the error for later Subscribers."""
    sink, error = make(), ValueError("not delivered")
    subscriber = subscribe(sink.stream)
    cancel_before("_terminate", DownstreamSubscription, 0, lambda: subscriber, monkeypatch)
    sink.emit_error(error)
    assert dropped.take() == ([error] if make is sinks.unicast else [])
    subscriber.assert_live()


def failing(error: BaseException) -> pyrs.Stream[int]:
    """Return a stream of 1 and 2 that fails."""

    def emit(emitter: pyrs.Emitter[int]) -> None:
        emitter.next(1)
        emitter.next(2)
        emitter.error(error)

    return pyrs.create(emit)


def test_error_behind_an_element_is_reported_if_to_iterable_is_closed(dropped: Any) -> None:
    error = ValueError("not delivered")
    iterator: Any = failing(error).to_iterable(prefetch=8)
    assert next(iterator) == 1
    assert dropped.errors == []
    iterator.close()
    assert dropped.take() == [error]


def test_error_behind_an_element_is_reported_if_async_for_ends(dropped: Any) -> None:
    error = ValueError("not delivered")

    async def main() -> None:
        async with failing(error).iterate(prefetch=8) as elements:
            async for element in elements:
                assert element == 1
                break

    asyncio.run(main())
    assert dropped.take() == [error]


@pytest.mark.parametrize("call", ["_close", "_end", "_notify", "take_error", "_drop_error"])
def test_error_that_is_the_first_signal_of_switch_on_first_reaches_the_function_or_is_reported(
    call: str, monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    def choose(signal: pyrs.Notification[int], whole: pyrs.Stream[int]) -> pyrs.Stream[int]:
        received.append(signal.error)
        return pyrs.never()

    source, error, received = TestPublisher[int](), ValueError("first"), list[Any]()
    subscriber = subscribe(source.stream().switch_on_first(choose))
    cancel_before(call, Input, 0, lambda: subscriber, monkeypatch)
    source.error(error)
    subscriber.cancel()
    assert [*dropped.take(), *received] == [error]


def test_error_that_another_one_accompanies_is_not_reported_after_its_delivery(
    monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    """The other error is reported as dropped while the stream begins to fail."""
    source, error, other = TestPublisher[int](), ValueError("delivered"), ValueError("other")
    original = DownstreamSubscription._terminate

    def drop_and_terminate(run: DownstreamSubscription[Any], *arguments: Any) -> Any:
        if isinstance(run, SplitRun):
            run._dispatcher._drop(other)
        return original(run, *arguments)

    subscriber = subscribe(source.stream().window(9))
    monkeypatch.setattr(DownstreamSubscription, "_terminate", drop_and_terminate)
    source.error(error)
    assert subscriber.error is error
    assert dropped.take() == [other]


def test_error_behind_elements_that_one_pull_emits_is_reported_if_async_for_ends(dropped: Any) -> None:
    async def main() -> None:
        async with pyrs.just("1\n2\nthree\n4").split_lines().map(int).iterate() as numbers:
            async for number in numbers:
                assert number == 1
                break

    asyncio.run(main())
    assert [type(error) for error in dropped.take()] == [ValueError]
