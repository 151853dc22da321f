"""Concurrent requests and cancels, and interrupts at any line: no element is lost or duplicated, no stream blocks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

import pyrs
from pyrs._core.callbacks import CallbackSubscriber
from pyrs._core.iterating import IteratorSubscription
from pyrs.operators.terminal import _Collect, _ForEach
from pyrs.testing import TestPublisher, TestSubscriber
from tests.waiting import DEADLINE, run_on_threads, uncollected


@pytest.mark.parametrize("way", ["list", "generator", "pushed"])
def test_concurrent_requests_cancels_and_illegal_requests_lose_no_element(
    way: str, hidden: Callable[[Any], pyrs.Stream[Any]], dropped: Any
) -> None:
    random = Random(7)
    for _ in range(150):
        count = random.choice([5, 50])
        stream = pyrs.range(count) if way != "generator" else pyrs.from_iterable(n for n in range(count))
        if way == "pushed":
            stream = hidden(stream).map(lambda n: n).filter(lambda n: True)
        subscriber: TestSubscriber[int] = TestSubscriber()
        stream.subscribe(subscriber)
        cancel, illegal = random.random() < 0.3, random.random() < 0.2
        start = threading.Barrier(3 + cancel + illegal)

        def work(call: Callable[[], object], times: int, start: threading.Barrier = start) -> None:
            start.wait(30)
            for _ in range(times):
                call()

        jobs: list[tuple[Callable[[], object], int]] = [(lambda s=subscriber: s.request(1), count)] * 3
        jobs += [(subscriber.cancel, 1)] * cancel + [(lambda s=subscriber: s.request(0), 1)] * illegal
        run_on_threads(*(partial(work, *job) for job in jobs))
        subscriber.assert_elements(*range(len(subscriber.elements)))
        if not cancel:
            subscriber.await_end()
        if not cancel and not illegal:
            assert len(subscriber.assert_complete().elements) == count
    # A cancel may overtake the error of an illegal request, which is then dropped.
    assert {type(error) for error in dropped.take()} <= {pyrs.NonPositiveRequest}


@pytest.mark.parametrize("call", ["cancel", "request"])
def test_callbacks_stop_taking_elements_only_after_the_call_has_reached_the_source(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the source would regard the missing elements as the end of its iterator, and complete or fail."""
    entered, released = threading.Event(), threading.Event()
    original: Callable[..., None] = getattr(IteratorSubscription, call)
    signals: list[object] = []

    def delayed(source: IteratorSubscription[Any], *arguments: int) -> None:
        if threading.current_thread() is caller:
            entered.set()
            assert released.wait(DEADLINE)
        original(source, *arguments)

    def mapped(n: int) -> int:
        if n == 1:
            caller.start()
            assert entered.wait(DEADLINE)
        elif n == 3:
            released.set()
            caller.join(DEADLINE)
        return n

    monkeypatch.setattr(IteratorSubscription, call, delayed)
    subscription = (
        pyrs.range(9)
        .map(mapped)
        .subscribe(
            on_next=signals.append,
            on_error=lambda error: signals.append(type(error)),
            on_complete=lambda: signals.append("completed"),
            request=0,
        )
    )
    caller = threading.Thread(target=subscription.cancel if call == "cancel" else partial(subscription.request, 0))
    subscription.request(9)
    assert signals == [0, 1, 2, 3, *([] if call == "cancel" else [pyrs.NonPositiveRequest])]


@pytest.mark.parametrize("kind", ["callbacks", "for_each"])
def test_cancel_during_on_subscribe_cancels_the_stored_subscription(kind: str) -> None:
    """The cancel occurs after ``on_subscribe`` has found the Subscriber open, before it has stored the Subscription."""

    class Callbacks(CallbackSubscriber[int]):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "_subscription" and value is not None:
                self.cancel()
            super().__setattr__(name, value)

    class ForEach(_ForEach[int]):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "_subscription" and value is not None:
                self.cancel()
            super().__setattr__(name, value)

    source: TestPublisher[int] = TestPublisher()
    subscriber = Callbacks(None, None, None, None) if kind == "callbacks" else ForEach(lambda element: None)
    source.subscribe(subscriber)
    source.assert_cancelled()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system cannot send a signal to a thread")
def test_interrupt_at_any_moment_blocks_no_stream(dropped: Any) -> None:
    class OneByOne(pyrs.Subscriber[int]):
        seen = 0
        subscription: pyrs.Subscription | None = None

        def __init__(self, flowing: threading.Event) -> None:
            self.flowing = flowing

        def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
            self.subscription = subscription
            subscription.request(1)

        def on_next(self, element: int, /) -> None:
            self.seen += 1
            if element == 10:
                self.flowing.set()
            assert self.subscription is not None
            self.subscription.request(1)

        def on_error(self, error: BaseException, /) -> None: ...
        def on_complete(self) -> None: ...

    main = threading.main_thread().ident
    assert main is not None
    for _ in range(100):
        flowing = threading.Event()
        subscriber = OneByOne(flowing)

        def interrupt(flowing: threading.Event = flowing) -> None:
            assert flowing.wait(30)
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with uncollected(), pytest.raises(KeyboardInterrupt):
            pyrs.range(10**9).map(lambda n: n).subscribe(subscriber)
        thread.join(30)
        subscription, seen = subscriber.subscription, subscriber.seen
        assert subscription is not None
        subscription.request(1)  # must neither wait for a lock nor resume the interrupted drain loop
        subscription.cancel()
        assert subscriber.seen == seen
        assert "over" in repr(subscription)
    dropped.take()  # an interrupt inside on_next may surface as an error of the cancelled source


def delay_cancel(monkeypatch: pytest.MonkeyPatch, stop: Callable[[], object]) -> Callable[[int], int]:
    """Return a function for ``map``: on another thread, ``stop`` is in the source's ``cancel`` from 1 until 3."""
    entered, released = threading.Event(), threading.Event()
    original = IteratorSubscription.cancel

    def delayed(source: IteratorSubscription[Any]) -> None:
        if threading.current_thread() is stopper:
            entered.set()
            assert released.wait(DEADLINE)
        original(source)

    def mapped(n: int) -> int:
        if n == 1:
            stopper.start()
            assert entered.wait(DEADLINE)
        elif n == 3:
            released.set()
            stopper.join(DEADLINE)
        return n

    monkeypatch.setattr(IteratorSubscription, "cancel", delayed)
    stopper = threading.Thread(target=stop)
    return mapped


@pytest.mark.parametrize("kind", ["for_each", "collect"])
def test_deadline_of_a_terminal_operation_does_not_look_like_the_end_of_the_iterator(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the source would fail, with "a function of this stream raised StopIteration"."""
    signals: list[object] = []

    class ForEach(_ForEach[int]):
        def on_error(self, error: BaseException, /) -> None:
            signals.append(error)

    class Collect(_Collect[int]):
        def on_error(self, error: BaseException, /) -> None:
            signals.append(error)

    seen: list[int] = []
    waiting = ForEach(seen.append) if kind == "for_each" else Collect(seen)
    pyrs.range(9).map(delay_cancel(monkeypatch, lambda: waiting.cancel())).subscribe(waiting)
    assert seen == [0, 1]
    assert signals == []


def test_on_next_callback_is_not_called_again_after_it_raised_while_another_thread_cancels(
    monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    seen: list[int] = []

    def fail(n: int) -> None:
        seen.append(n)
        if n == 1:
            raise ValueError("wrong")

    mapped = delay_cancel(monkeypatch, lambda: subscription.cancel())
    subscription = pyrs.range(9).map(mapped).subscribe(on_next=fail, request=0)
    subscription.request(9)
    assert seen == [0, 1]
    assert [str(error) for error in dropped.take()] == ["wrong"]


def test_error_after_the_deadline_of_a_terminal_operation_is_reported(dropped: Any) -> None:
    error = ValueError("late")

    class FailingOnCancel(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            class Failing(pyrs.Subscription):
                def request(self, n: int, /) -> None: ...

                def cancel(self) -> None:
                    subscriber.on_error(error)

            subscriber.on_subscribe(Failing())

    with pytest.raises(TimeoutError):
        pyrs.Stream(FailingOnCancel()).collect(timeout=0)
    assert dropped.take() == [error]


def test_error_that_overtakes_an_interrupt_of_a_terminal_operation_is_reported(
    monkeypatch: pytest.MonkeyPatch, dropped: Any
) -> None:
    source, error = TestPublisher[int](), ValueError("not raised")

    def fail_and_interrupt(*_: Any) -> bool:
        source.error(error)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", fail_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        source.stream().collect()
    monkeypatch.undo()
    assert dropped.take() == [error]
