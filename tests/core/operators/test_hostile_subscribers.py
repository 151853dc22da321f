"""Illegal requests; cancels and demand at unusual moments; sources that fail, one with an illegal argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyrs
from pyrs.operators import switching
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import RecordingSubscription
from tests.operator_registry import SAMPLES
from tests.waiting import DEADLINE

UNSUITABLE = ("ignore_elements", "on_backpressure_drop", "on_backpressure_error")
"""Samples that emit no element, or do not terminate."""

EMITTING = sorted(name for name, sample in SAMPLES.items() if sample.over is not None and name not in UNSUITABLE)


class IllegalRequest(TestSubscriber[Any]):
    """Sends request(0) inside ``on_next`` of element number ``place``, and subscribes to received Publishers."""

    def __init__(self, place: int) -> None:
        super().__init__(1_000, timeout=DEADLINE)
        self.place = place

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        if isinstance(element, pyrs.Publisher):
            element.subscribe(TestSubscriber[Any](1_000))
        if len(self.elements) == self.place:
            self.request(0)


@pytest.mark.parametrize("name", EMITTING)
def test_rule_3_9_illegal_request_inside_on_next_is_answered_before_another_signal(name: str, dropped: Any) -> None:
    sample = SAMPLES[name]
    assert sample.over is not None
    counter = IllegalRequest(0)
    sample.apply(sample.over()).subscribe(counter)
    total = len(counter.await_end().elements)
    for place in {1, max(1, total // 2), total}:
        subscriber = IllegalRequest(place)
        sample.apply(sample.over()).subscribe(subscriber)
        subscriber.await_end()
        if len(subscriber.elements) >= place:  # a time-based operator may emit fewer than before
            assert isinstance(subscriber.error, pyrs.NonPositiveRequest)
            assert len(subscriber.elements) == place
    dropped.take()


@pytest.mark.parametrize("broken", [0, 1])
def test_merge_comparing_fails_at_once_while_another_source_is_silent(broken: int) -> None:
    sources: list[Any] = [TestPublisher[int](), TestPublisher[int]()]
    subscriber = TestSubscriber[int](9)
    pyrs.Stream(sources[0]).merge_comparing(sources[1]).subscribe(subscriber)
    sources[broken].error(ValueError("planned"))
    assert isinstance(subscriber.error, ValueError)
    sources[1 - broken].assert_cancelled()


def test_sequence_equal_calls_no_comparer_after_the_comparer_cancelled() -> None:
    compared: list[int] = []

    def compare(a: int, b: int) -> bool:
        compared.append(a)
        subscriber.cancel()
        return True

    subscriber = TestSubscriber[bool](1)
    pyrs.range(9).sequence_equal(pyrs.range(9), compare).subscribe(subscriber)
    assert compared == [0]


def test_buffer_when_emits_no_list_after_a_cancel_inside_the_first() -> None:
    discarded: list[Any] = []
    source = TestPublisher[int]()
    subscriber = TestSubscriber[list[int]](9, on_element=lambda this, element: this.cancel())
    stream = source.stream().buffer_when(pyrs.range(2).concat(pyrs.never()), lambda n: pyrs.never())
    stream.do_on_discard(discarded.append).subscribe(subscriber)
    source.next(1, 2).complete()
    assert subscriber.elements == [[1, 2]]
    assert discarded == [2, 1]  # the elements of the second list


def test_switch_on_first_emits_the_first_element_first_if_another_thread_drains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread forwards the demand after it was counted, and before the requesting thread emits."""
    wake = switching._WholeRun.wake

    def overtaken(run: Any) -> None:
        run._after_drain()
        wake(run)

    subscriber = TestSubscriber[int](0)
    pyrs.range(4).concat(pyrs.empty()).switch_on_first(lambda signal, whole: whole).subscribe(subscriber)
    monkeypatch.setattr(switching._WholeRun, "wake", overtaken)
    subscriber.request(3)
    assert subscriber.elements == [0, 1, 2]
    subscriber.request(pyrs.UNBOUNDED)
    assert subscriber.await_complete(DEADLINE) == [0, 1, 2, 3]


def test_switch_on_first_forwards_unbounded_demand_unchanged() -> None:
    requests: list[int] = []
    stream = pyrs.range(4).concat(pyrs.empty()).do_on_request(requests.append)
    assert stream.switch_on_first(lambda signal, whole: whole).collect() == [0, 1, 2, 3]
    assert requests == [1, pyrs.UNBOUNDED]


@pytest.mark.parametrize("shared", [pyrs.Stream.share, pyrs.Stream.cache])
def test_argument_of_on_error_that_is_no_exception_is_forwarded(shared: Callable[[Any], pyrs.Stream[Any]]) -> None:
    class Failing(pyrs.Publisher[int]):
        def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
            subscriber.on_subscribe(RecordingSubscription())
            subscriber.on_error("down")  # type: ignore[arg-type]

    errors: list[Any] = []
    shared(pyrs.Stream(Failing())).subscribe(on_error=errors.append)
    assert errors == ["down"]
