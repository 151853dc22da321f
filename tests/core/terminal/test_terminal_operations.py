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
from pyrs.operators import terminal
from tests.core.modelling import Counting
from tests.waiting import DEADLINE, eventually

Source = Callable[[Iterable[Any]], pyrs.Stream[Any]]
Wrap = Callable[[Any], pyrs.Stream[Any]]


def test_collect_and_for_each_return_all_elements(source: Source, threaded: Wrap) -> None:
    for wrap in (pyrs.Stream, threaded):
        assert wrap(source(range(100))).collect(timeout=DEADLINE) == list(range(100))
        seen: list[int] = []
        wrap(source(range(100))).for_each(seen.append, timeout=DEADLINE)
        assert seen == list(range(100))


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
    counting = Counting.of(pyrs.range(9))
    with pytest.raises(kind, match="mine"):
        counting.stream().for_each(action)
    assert counting.cancels == 1


def test_callers_iterator_keeps_the_elements_after_none() -> None:
    numbers = iter([1, None, 3])
    with pytest.raises(pyrs.NullSignal):
        pyrs.from_iterable(numbers).collect()
    assert list(numbers) == [3]


def test_timeout_cancels_upstream() -> None:
    counting = Counting.of(pyrs.never())
    with pytest.raises(TimeoutError, match=r"did not terminate within 0\.01 seconds"):
        counting.stream().collect(timeout=0.01)
    assert counting.cancels == 1
    counting = Counting.of(pyrs.never())
    with pytest.raises(TimeoutError, match=r"no element arrived within 0\.01 seconds"):
        list(counting.stream().to_iterable(timeout=0.01))
    assert counting.cancels == 1


@contextmanager
def interrupted_while_waiting(begun: Callable[[], object]) -> Iterator[None]:
    """Interrupt the main thread while it waits, once ``begun`` returns true."""
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
    counting = Counting.of(pyrs.never())
    with pytest.raises(KeyboardInterrupt), interrupted_while_waiting(lambda: counting.requests):
        if operation == "collect":
            counting.stream().collect()
        else:
            list(counting.stream().to_iterable())
    assert counting.cancels == 1


def test_to_iterable_pulls_each_element_on_demand() -> None:
    pulled: list[int] = []
    stream = pyrs.from_iterable(pulled.append(n) or n for n in range(10)).map(str)  # type: ignore[func-returns-value]
    iterator = stream.to_iterable()
    assert pulled == []
    assert (next(iterator), pulled) == ("0", [0])
    assert list(iterator) == [str(n) for n in range(1, 10)]


def test_to_iterable_prefetches_a_bounded_number(threaded: Wrap) -> None:
    counting = Counting.of(threaded(pyrs.range(100)))
    iterator = counting.stream().to_iterable(prefetch=8, timeout=DEADLINE)
    assert counting.requests == []
    assert [next(iterator) for _ in range(7)] == list(range(7))
    assert counting.requests == [8, 6]
    assert list(iterator) == list(range(7, 100))
    assert sum(counting.requests) < 100 + 8


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1e9, [256, 768 + 192, 3072 + 768, 3072, 3072]), (0.0, [256, 192, 192, 192, 192])],
    ids=["fast consumer", "slow consumer"],
)
def test_to_iterable_prefetches_more_only_for_a_fast_consumer(
    threaded: Wrap, monkeypatch: pytest.MonkeyPatch, seconds: float, expected: list[int]
) -> None:
    monkeypatch.setattr(terminal, "_FAST_SECONDS", seconds)
    counting = Counting.of(threaded(pyrs.range(20_000)))
    iterator = counting.stream().to_iterable(timeout=DEADLINE)
    assert list(iterator) == list(range(20_000))
    assert counting.requests[:5] == expected
    largest = 4096 if seconds else 256
    assert sum(counting.requests) < 20_000 + largest


def test_breaking_out_of_to_iterable_cancels(threaded: Wrap) -> None:
    counting = Counting.of(threaded(pyrs.range(10**9)))
    for n in counting.stream().to_iterable(prefetch=1, timeout=DEADLINE):
        if n == 3:
            break
    eventually(lambda: counting.cancels == 1)
