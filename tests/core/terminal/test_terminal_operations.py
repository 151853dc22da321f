"""for_each, collect and to_iterable: waiting, deadlines, errors and cancellation."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import pyrs
from tests.waiting import DEADLINE

Source = Callable[[Iterable[Any]], pyrs.Stream[Any]]
Wrap = Callable[[Any], pyrs.Stream[Any]]


class Watched(pyrs.Publisher[Any]):
    """Record requests and the cancel."""

    def __init__(self, source: pyrs.Publisher[Any]) -> None:
        self.source = source
        self.requested: list[int] = []
        self.cancelled = threading.Event()

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        watched = self

        class Subscription(pyrs.Subscription):
            def __init__(self, inner: pyrs.Subscription) -> None:
                self.inner = inner

            def request(self, n: int, /) -> None:
                watched.requested.append(n)
                self.inner.request(n)

            def cancel(self) -> None:
                watched.cancelled.set()
                self.inner.cancel()

        class Forwarding(pyrs.Subscriber[Any]):
            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                subscriber.on_subscribe(Subscription(subscription))

            def on_next(self, element: Any, /) -> None:
                subscriber.on_next(element)

            def on_error(self, error: BaseException, /) -> None:
                subscriber.on_error(error)

            def on_complete(self) -> None:
                subscriber.on_complete()

        self.source.subscribe(Forwarding())


def test_collect_and_for_each_return_all_elements(source: Source, elsewhere: Wrap) -> None:
    for stream in (source(range(100)), elsewhere(source(range(100)))):
        assert stream.collect(timeout=DEADLINE) == list(range(100))
        seen: list[int] = []
        stream = source(range(10))
        stream.for_each(seen.append)
        assert seen == list(range(10))


def test_error_of_the_stream_is_raised(source: Source) -> None:
    with pytest.raises(ZeroDivisionError):
        source(range(3)).map(lambda n: 1 // (n - 1)).collect()
    with pytest.raises(pyrs.NullSignal):
        source(range(3)).map(lambda n: None).collect()
    with pytest.raises(ZeroDivisionError):
        list(source(range(3)).map(lambda n: 1 // (n - 1)).to_iterable())
    with pytest.raises(pyrs.NullSignal):
        list(source(range(3)).map(lambda n: None).to_iterable())


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_exception_of_the_action_cancels_and_is_raised(source: Source, kind: type[BaseException]) -> None:
    seen: list[int] = []

    def action(n: int) -> None:
        seen.append(n)
        if n == 2:
            raise kind("mine")

    with pytest.raises(kind, match="mine"):
        source(range(9)).for_each(action)
    assert seen == [0, 1, 2]
    watched = Watched(pyrs.range(9))
    with pytest.raises(kind, match="mine"):
        pyrs.Stream(watched).for_each(action)
    assert watched.cancelled.is_set()


def test_timeout_cancels() -> None:
    watched = Watched(pyrs.never())
    with pytest.raises(TimeoutError, match=r"did not end within 0\.01 seconds"):
        pyrs.Stream(watched).collect(timeout=0.01)
    assert watched.cancelled.is_set()
    watched = Watched(pyrs.never())
    with pytest.raises(TimeoutError, match=r"no element came within 0\.01 seconds"):
        list(pyrs.Stream(watched).to_iterable(timeout=0.01))
    assert watched.cancelled.is_set()


@contextmanager
def interrupted_where_it_waits(begun: Callable[[], object]) -> Iterator[None]:
    """Interrupt the main thread when ``begun`` is true and two signals in a row find it at the same place."""
    main = threading.main_thread().ident
    assert main is not None
    finished = threading.Event()
    last: tuple[int, int] | None = None

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal last
        here = (id(frame), frame.f_lasti if frame else 0)
        waits, last = here == last, here
        if waits and begun() and not finished.is_set():
            finished.set()
            raise KeyboardInterrupt

    def send_signals() -> None:
        while not finished.wait(0.01):
            signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, handle)
    thread = threading.Thread(target=send_signals)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join(DEADLINE)
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("operation", ["collect", "to_iterable"])
def test_interrupt_while_waiting_cancels(operation: str) -> None:
    watched = Watched(pyrs.never())
    with pytest.raises(KeyboardInterrupt), interrupted_where_it_waits(lambda: watched.requested):
        if operation == "collect":
            pyrs.Stream(watched).collect()
        else:
            list(pyrs.Stream(watched).to_iterable())
    assert watched.cancelled.is_set()


def test_to_iterable_pulls_each_element_on_demand() -> None:
    pulled: list[int] = []
    stream = pyrs.from_iterable(pulled.append(n) or n for n in range(10)).map(str)  # type: ignore[func-returns-value]
    iterator = stream.to_iterable()
    assert pulled == []
    assert (next(iterator), pulled) == ("0", [0])
    assert list(iterator) == [str(n) for n in range(1, 10)]


def test_to_iterable_prefetches_a_bounded_number(elsewhere: Wrap) -> None:
    watched = Watched(elsewhere(pyrs.range(100)))
    iterator = pyrs.Stream(watched).to_iterable(prefetch=8, timeout=DEADLINE)
    assert watched.requested == []
    assert [next(iterator) for _ in range(7)] == list(range(7))
    assert watched.requested == [8, 6]
    assert list(iterator) == list(range(7, 100))
    assert sum(watched.requested) < 100 + 8


def test_breaking_out_of_to_iterable_cancels(elsewhere: Wrap) -> None:
    watched = Watched(elsewhere(pyrs.range(10**9)))
    for n in pyrs.Stream(watched).to_iterable(prefetch=1, timeout=DEADLINE):
        if n == 3:
            break
    assert watched.cancelled.wait(DEADLINE)
