"""for_each, collect and to_iterable: they wait, with deadlines, and cancel what they leave."""

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
    """Notes what is requested and when it is cancelled."""

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

        class Between(pyrs.Subscriber[Any]):
            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                subscriber.on_subscribe(Subscription(subscription))

            def on_next(self, element: Any, /) -> None:
                subscriber.on_next(element)

            def on_error(self, error: BaseException, /) -> None:
                subscriber.on_error(error)

            def on_complete(self) -> None:
                subscriber.on_complete()

        self.source.subscribe(Between())


def test_collect_and_for_each(source: Source, elsewhere: Wrap) -> None:
    for stream in (source(range(100)), elsewhere(source(range(100)))):
        assert stream.collect(timeout=DEADLINE) == list(range(100))
        seen: list[int] = []
        stream = source(range(10))
        stream.for_each(seen.append)
        assert seen == list(range(10))


def test_what_the_stream_failed_with_is_raised(source: Source) -> None:
    with pytest.raises(ZeroDivisionError):
        source(range(3)).map(lambda n: 1 // (n - 1)).collect()
    with pytest.raises(pyrs.NullSignal):
        source(range(3)).map(lambda n: None).collect()
    with pytest.raises(ZeroDivisionError):
        list(source(range(3)).map(lambda n: 1 // (n - 1)).to_iterable())
    with pytest.raises(pyrs.NullSignal):
        list(source(range(3)).map(lambda n: None).to_iterable())


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_the_action_raises_cancels_and_is_raised(source: Source, kind: type[BaseException]) -> None:
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


def test_deadlines_cancel() -> None:
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
    """Interrupts the main thread once it has begun and a second signal finds it just where the first one did."""
    main = threading.main_thread().ident
    assert main is not None
    over = threading.Event()
    last: tuple[int, int] | None = None

    def strike(number: int, frame: FrameType | None) -> None:
        nonlocal last
        here = (id(frame), frame.f_lasti if frame else 0)
        waits, last = here == last, here
        if waits and begun() and not over.is_set():
            over.set()
            raise KeyboardInterrupt

    def signals() -> None:
        while not over.wait(0.01):
            signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, strike)
    thread = threading.Thread(target=signals)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(DEADLINE)
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("ending", ["collect", "to_iterable"])
def test_an_interrupt_while_waiting_cancels(ending: str) -> None:
    watched = Watched(pyrs.never())
    with pytest.raises(KeyboardInterrupt), interrupted_where_it_waits(lambda: watched.requested):
        if ending == "collect":
            pyrs.Stream(watched).collect()
        else:
            list(pyrs.Stream(watched).to_iterable())
    assert watched.cancelled.is_set()


def test_to_iterable_demands_each_element_of_a_chain_as_it_is_wanted() -> None:
    pulled: list[int] = []
    stream = pyrs.from_iterable(pulled.append(n) or n for n in range(10)).map(str)  # type: ignore[func-returns-value]
    iterator = stream.to_iterable()
    assert pulled == []
    assert (next(iterator), pulled) == ("0", [0])
    assert list(iterator) == [str(n) for n in range(1, 10)]


def test_to_iterable_requests_a_bounded_number_ahead_of_any_other(elsewhere: Wrap) -> None:
    watched = Watched(elsewhere(pyrs.range(100)))
    iterator = pyrs.Stream(watched).to_iterable(prefetch=8, timeout=DEADLINE)
    assert watched.requested == []
    assert [next(iterator) for _ in range(7)] == list(range(7))
    assert watched.requested == [8, 6]
    assert list(iterator) == list(range(7, 100))
    assert sum(watched.requested) < 100 + 8


def test_leaving_to_iterable_cancels(elsewhere: Wrap) -> None:
    watched = Watched(elsewhere(pyrs.range(10**9)))
    for n in pyrs.Stream(watched).to_iterable(prefetch=1, timeout=DEADLINE):
        if n == 3:
            break
    assert watched.cancelled.wait(DEADLINE)
