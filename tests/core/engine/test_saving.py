"""The state of operators is saved between two elements, and restored in another subscription."""

from __future__ import annotations

from typing import Any

import pyrs
from pyrs import schedulers
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.saving import SavedRun, resumed
from pyrs.testing import TestPublisher, TestSubscriber


def emitted(chain: Any, states: Any, *elements: int) -> tuple[list[Any], list[Any]]:
    """Resume a chain from the given states; return the elements that it emits, and its new states."""
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    runs: list[SavedRun] = []
    resumed(chain, source, runs, states).subscribe(subscriber)
    source.next(*elements)
    assert all(run.is_idle for run in runs)
    return list(subscriber.elements), [run.state() for run in reversed(runs)]


def chain_of(stream: pyrs.Stream[Any], source: Any) -> list[Any]:
    chain: list[Any] = []
    publisher: Any = stream.source
    while publisher is not source:
        chain.insert(0, publisher)
        publisher = publisher.source
    return chain


def test_a_chain_continues_in_another_subscription() -> None:
    source: TestPublisher[int] = TestPublisher()
    stream = pyrs.Stream(source).distinct().map(str).flat_map(lambda text: pyrs.just(text)).with_index().buffer(3)
    chain = chain_of(stream, source)
    assert [type(each) is PushedChainPublisher for each in chain] == [True, False, True]
    found, states = emitted(chain, (), 7, 7, 8)
    assert (found, repr(states)) == ([], "[[{8, 7}], [], [], [count(2)], [[(0, '7'), (1, '8')], 0, 0]]")
    found, states = emitted(chain, states, 8, 9, 7, 6)
    assert (found, states[-1]) == ([[(0, "7"), (1, "8"), (2, "9")]], [[(3, "6")], 0, 0])


def test_a_restored_timer_fires_at_its_time() -> None:
    source: TestPublisher[int] = TestPublisher()
    with schedulers.use(schedulers.VirtualTime()) as time:
        chain = chain_of(pyrs.Stream(source).debounce(5), source)
        found, states = emitted(chain, (), 1, 2)
        assert (found, states) == ([], [[2, 5.0]])
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        resumed(chain, source, [], states).subscribe(subscriber)
        time.advance_by(4.9)
        assert list(subscriber.elements) == []
        time.advance_by(0.2)
        assert list(subscriber.elements) == [2]


def test_an_inner_stream_that_has_not_completed_is_not_idle() -> None:
    for name in ("flat_map", "concat_map", "flat_map_sequential"):
        source: TestPublisher[int] = TestPublisher()
        runs: list[SavedRun] = []
        stream = getattr(pyrs.Stream(source), name)(lambda _: pyrs.never())
        resumed(chain_of(stream, source), source, runs).subscribe(TestSubscriber(None))
        assert runs[0].is_idle
        source.next(1)
        assert not runs[0].is_idle
