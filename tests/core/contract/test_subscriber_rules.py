"""Subscriber rules 2.1 to 2.13, checked for stages, callbacks, terminal operations and ``async for``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import pyrs
from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.guard import GuardedPublisher, GuardedSubscriber
from pyrs._core.pushed_chain import PushedChainSubscriber
from pyrs.aio.iteration import _Inbox
from pyrs.aio.waking import AsyncioWaker
from pyrs.operators.filtering import Filter, Take
from pyrs.operators.terminal import _ForEach, _Queue
from pyrs.operators.transforming import Map
from pyrs.testing import TestSubscriber
from tests.core.support import RecordingSubscription

Source = Callable[[Iterable[Any]], pyrs.Stream[Any]]


def _pushed() -> pyrs.Subscriber[Any]:
    return PushedChainSubscriber(TestSubscriber(5), [Map(str), Filter(bool), Take(3)])


SUBSCRIBERS: dict[str, Callable[[], pyrs.Subscriber[Any]]] = {
    "pushed": _pushed,
    "callables": lambda: CallbackSubscriber(lambda element: None, lambda error: None, None, None),
    "for_each": lambda: _ForEach(lambda element: None),
    "to_iterable": lambda: _Queue(4),
    "async for": lambda: _Inbox(AsyncioWaker(asyncio.new_event_loop()), 4),
    "guarded": lambda: GuardedSubscriber(TestSubscriber(5)),
}


@pytest.fixture(params=list(SUBSCRIBERS))
def subscriber_of_pyrs(request: pytest.FixtureRequest) -> Any:
    subscriber = SUBSCRIBERS[request.param]()
    yield subscriber
    if isinstance(subscriber, _Inbox):
        subscriber._waker._loop.close()  # type: ignore[attr-defined]


def test_rule_2_1_on_subscribe_requests_elements(subscriber_of_pyrs: pyrs.Subscriber[Any]) -> None:
    subscription = RecordingSubscription()
    subscriber_of_pyrs.on_subscribe(subscription)
    assert sum(subscription.requested) > 0


def test_rule_2_3_and_2_4_no_call_after_a_terminal_signal(subscriber_of_pyrs: pyrs.Subscriber[Any]) -> None:
    subscription = RecordingSubscription()
    subscriber_of_pyrs.on_subscribe(subscription)
    requested = list(subscription.requested)
    subscriber_of_pyrs.on_complete()
    if isinstance(subscriber_of_pyrs, pyrs.Subscription):
        subscriber_of_pyrs.request(1)
        subscriber_of_pyrs.cancel()
    assert (subscription.requested, subscription.cancelled) == (requested, 0)


def test_rule_2_5_second_subscription_is_cancelled(subscriber_of_pyrs: pyrs.Subscriber[Any], dropped: Any) -> None:
    first, second = RecordingSubscription(), RecordingSubscription()
    subscriber_of_pyrs.on_subscribe(first)
    subscriber_of_pyrs.on_subscribe(second)
    assert (first.cancelled, second.cancelled, second.requested) == (0, 1, [])
    assert all(isinstance(error, pyrs.SpecViolation) for error in dropped.take())


@pytest.mark.parametrize("name", ["callables", "to_iterable", "async for", "pushed"])
def test_rule_2_6_subscription_is_cancelled_when_no_longer_needed(name: str) -> None:
    subscriber = SUBSCRIBERS[name]()
    subscription = RecordingSubscription()
    subscriber.on_subscribe(subscription)
    if isinstance(subscriber, _Inbox):
        subscriber.close()
        subscriber._waker._loop.close()  # type: ignore[attr-defined]
    elif isinstance(subscriber, _Queue):
        subscriber.cancel()
    elif name == "pushed":
        for n in range(3):
            subscriber.on_next(n)  # take(3) cancels after the third
    else:
        subscriber.cancel()  # type: ignore[attr-defined]
    assert subscription.cancelled == 1


def test_rule_2_7_to_iterable_requests_on_the_consuming_thread_only() -> None:
    requesting: set[int] = set()

    class Watched(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            class Subscription(pyrs.Subscription):
                def request(self, n: int, /) -> None:
                    requesting.add(threading.get_ident())
                    threads.append(threading.Thread(target=lambda: [subscriber.on_next(k) for k in range(n)]))
                    threads[-1].start()

                def cancel(self) -> None: ...

            subscriber.on_subscribe(Subscription())

    threads: list[threading.Thread] = []
    assert [n for n, _ in zip(pyrs.Stream(Watched()).to_iterable(prefetch=1, timeout=30), range(5), strict=False)]
    for thread in threads:
        thread.join(30)
    assert requesting == {threading.get_ident()}


def test_rule_2_12_guard_reports_a_second_on_subscribe(dropped: Any) -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(5)
    guard: GuardedSubscriber[Any] = GuardedSubscriber(subscriber)
    guard.on_subscribe(RecordingSubscription())
    guard.on_subscribe(RecordingSubscription())
    guard.on_next(1)
    subscriber.assert_elements(1).assert_live()
    assert [error.rule for error in dropped.take()] == ["2.12"]


def test_rule_2_8_elements_after_cancel_are_ignored() -> None:
    for wrap in (lambda subscriber: PushedChainSubscriber(subscriber, [Map(str)]), GuardedSubscriber):
        subscriber: TestSubscriber[Any] = TestSubscriber(5)
        staged: Any = wrap(subscriber)
        staged.on_subscribe(RecordingSubscription())
        staged.cancel()
        staged.on_next(1)
        assert subscriber.elements == []


WITHOUT_REQUEST: dict[str, Callable[[TestSubscriber[Any]], pyrs.Subscriber[Any]]] = {
    "pushed": lambda downstream: PushedChainSubscriber(downstream, [Map(str), Filter(bool), Take(3)]),
    "callables": lambda downstream: CallbackSubscriber(None, downstream.on_error, downstream.on_complete, 0),
    "guarded": GuardedSubscriber,
}


@pytest.mark.parametrize("signal", ["on_complete", "on_error"])
@pytest.mark.parametrize("name", WITHOUT_REQUEST)
def test_rule_2_9_and_2_10_terminal_signal_is_forwarded_without_a_request(name: str, signal: str) -> None:
    subscription, downstream = RecordingSubscription(), TestSubscriber[Any](0)
    subscriber = WITHOUT_REQUEST[name](downstream)
    subscriber.on_subscribe(subscription)
    if signal == "on_complete":
        subscriber.on_complete()
    else:
        subscriber.on_error(ValueError("early"))
    assert (subscription.requested, subscription.cancelled) == ([], 0)
    assert (downstream.completed, str(downstream.error)) == (
        (True, "None") if signal == "on_complete" else (False, "early")
    )


def test_rule_2_9_and_2_10_empty_sources_terminate_without_a_request() -> None:
    for stream in (pyrs.empty(), pyrs.error(ValueError("at once")), pyrs.range(0), pyrs.range(5).take(0)):
        subscriber: TestSubscriber[Any] = TestSubscriber()
        stream.subscribe(subscriber)
        subscriber.assert_elements().await_end(0)


def test_rule_2_13_none_raises_null_signal(subscriber_of_pyrs: pyrs.Subscriber[Any]) -> None:
    subscriber_of_pyrs.on_subscribe(RecordingSubscription())
    with pytest.raises(pyrs.NullSignal):
        subscriber_of_pyrs.on_next(None)
    with pytest.raises(pyrs.NullSignal):
        subscriber_of_pyrs.on_error(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["pushed", "callables", "for_each", "to_iterable", "guarded"])
@pytest.mark.timeout(20)  # a Subscriber that accepts None may wait for it without end
def test_rule_2_13_none_instead_of_the_first_subscription_raises_null_signal(name: str) -> None:
    with pytest.raises(pyrs.NullSignal):
        SUBSCRIBERS[name]().on_subscribe(None)  # type: ignore[arg-type]


def test_rule_2_13_share_forwards_an_error_that_follows_on_error_with_none() -> None:
    receivers: list[pyrs.Subscriber[int]] = []

    class Faulty(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            receivers.append(subscriber)
            subscriber.on_subscribe(RecordingSubscription())

    shared = pyrs.defer(Faulty).share()
    subscriber = TestSubscriber[int]()
    shared.subscribe(subscriber)
    with pytest.raises(pyrs.NullSignal):
        receivers[0].on_error(None)  # type: ignore[arg-type]
    receivers[0].on_error(ValueError("real"))
    assert str(subscriber.await_error(ValueError)) == "real"


def test_rule_2_13_exception_in_on_next_cancels_and_is_reported(source: Source, dropped: Any) -> None:
    def raise_error(subscriber: TestSubscriber[int], number: int) -> None:
        if number == 1:
            raise asyncio.CancelledError  # not an Exception

    subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=raise_error)
    source(range(10)).subscribe(subscriber)
    subscriber.assert_elements(0, 1).assert_live()
    assert [type(error) for error in dropped.take()] == [asyncio.CancelledError]


@pytest.mark.parametrize(("cancels", "place"), [(False, "raised by on_next of Falsy"), (True, "raised by on_next")])
def test_rule_2_13_report_names_the_signal_and_the_subscriber(source: Source, cancels: bool, place: str) -> None:
    class Falsy(TestSubscriber[int]):
        def __bool__(self) -> bool:
            return False

        def on_next(self, element: int, /) -> None:
            if cancels:
                self.cancel()
            raise ValueError("mine")

    stream = source(range(3))
    if isinstance(stream.source, GuardedPublisher):
        place = "strict"
    places: list[str] = []
    hook = pyrs.set_error_hook(lambda error, where: places.append(where))
    try:
        stream.subscribe(Falsy(5))
    finally:
        pyrs.set_error_hook(hook)
    assert places == [place]


@pytest.mark.parametrize("signal", ["on_error", "on_complete"])
def test_rule_2_13_exception_in_a_terminal_signal_is_reported(source: Source, dropped: Any, signal: str) -> None:
    class RaisingSubscriber(TestSubscriber[int]):
        def on_complete(self) -> None:
            raise ValueError("mine")

        def on_error(self, error: BaseException, /) -> None:
            raise ValueError("mine")

    stream = source(range(2))
    if signal == "on_error":
        stream = stream.map(lambda n: 1 // 0)
    stream.subscribe(RaisingSubscriber(5))
    assert [str(error) for error in dropped.take()] == ["mine"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["on_next", "function"])
def test_interrupt_terminates_the_stream_and_propagates(source: Source, kind: type[BaseException], where: str) -> None:
    def interrupt(*_: Any) -> Any:
        raise kind

    subscriber: TestSubscriber[int] = TestSubscriber(on_element=interrupt if where == "on_next" else None)
    stream = source(range(10)).map(interrupt) if where == "function" else source(range(10))
    stream.subscribe(subscriber)
    with pytest.raises(kind):
        subscriber.request(5)
    if where == "function":
        subscriber.assert_elements().assert_error(kind)
    else:
        subscriber.assert_elements(0).assert_live()
    subscriber.request(5)  # the drain loop is not blocked, and the stream has terminated
    assert len(subscriber.elements) <= 1


def test_rule_2_2_and_2_11_elements_of_other_threads_arrive_on_the_loop(
    threaded: Callable[[Any], pyrs.Stream[Any]],
) -> None:
    async def main() -> list[tuple[int, bool]]:
        mine = threading.get_ident()
        return [(n, threading.get_ident() == mine) async for n in threaded(pyrs.range(50))]

    assert asyncio.run(main()) == [(n, True) for n in range(50)]
