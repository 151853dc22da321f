"""switch_on_first: the function's arguments, demand, termination and cancellation."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given

import pyrs
from pyrs import Notification
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.core.support import notes_of
from tests.waiting import DEADLINE, on_threads


def itself(signal: Any, stream: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
    return stream


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_stream_passed_to_the_function_emits_all_elements(numbers: list[int], demands: list[int]) -> None:
    agrees(lambda s: s.switch_on_first(itself), numbers, numbers, demands)


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_function_may_derive_a_stream(numbers: list[int], demands: list[int]) -> None:
    def choose(signal: Notification[int], stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
        return stream.take(2) if signal.kind == "next" else pyrs.just(7, 8)

    agrees(lambda s: s.switch_on_first(choose), numbers, numbers[:2] or [7, 8], demands)


def test_function_receives_the_first_signal() -> None:
    signals: list[Any] = []

    def note(signal: Any, stream: pyrs.Stream[Any]) -> pyrs.Stream[Any]:
        signals.append(signal)
        return stream

    error = ValueError("planned")
    for source in (pyrs.just(1, 2), pyrs.empty(), pyrs.error(error).on_error_map(lambda e: e)):
        source.switch_on_first(note).on_error_return(0).collect()
    assert signals == [Notification.next(1), Notification.completed(), Notification.failed(error)]


def test_one_element_is_requested_and_then_the_exact_demand() -> None:
    counting = Counting([1, 2, 3, 4])
    subscriber: TestSubscriber[int] = TestSubscriber()
    counting.stream().switch_on_first(itself).subscribe(subscriber)
    assert (counting.requests, subscriber.elements) == ([1], [])
    subscriber.request(1)
    assert (counting.requests, subscriber.elements) == ([1], [1])
    subscriber.request(2)
    assert (counting.requests, subscriber.elements) == ([1, 2], [1, 2, 3])
    subscriber.cancel()
    assert counting.cancels == 1


def test_rule_3_17_unbounded_request_inside_on_next_does_not_drain_the_source_at_once() -> None:
    counting = Counting(range(10**6))
    subscriber: TestSubscriber[int] = TestSubscriber(
        1, on_element=lambda this, n: this.cancel() if n == 3 else this.request(pyrs.UNBOUNDED)
    )
    counting.stream().switch_on_first(itself).subscribe(subscriber)
    assert (subscriber.elements, counting.pulled) == ([0, 1, 2, 3], 4)


def test_another_publisher_replaces_the_stream_and_its_completion_cancels_the_source() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[str] = TestSubscriber(1)
    source.stream().switch_on_first(lambda signal, stream: pyrs.just("a")).subscribe(subscriber)
    source.next(1)
    assert subscriber.await_complete() == ["a"]
    source.assert_cancelled(1)


def test_cancel_before_the_first_signal_reaches_the_source() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source.stream().switch_on_first(itself).subscribe(subscriber)
    subscriber.cancel()
    source.assert_cancelled(1)


def test_error_follows_the_elements_before_it() -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber()
    source.stream().switch_on_first(itself).subscribe(subscriber)
    source.next(1)
    source.error(ValueError("planned"))
    assert not subscriber.ended
    subscriber.request(1)
    assert str(subscriber.await_error()) == "planned"
    assert subscriber.elements == [1]


def test_error_of_an_unused_stream_is_dropped(dropped: Any) -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source.stream().switch_on_first(lambda signal, stream: pyrs.never()).subscribe(subscriber)
    source.next(1)
    source.error(ValueError("planned"))
    subscriber.cancel()
    assert [str(error) for error in dropped.take()] == ["planned"]


@pytest.mark.parametrize("result", [ValueError("planned"), 3])
def test_failing_function_fails_the_stream_and_cancels_the_source(result: Any) -> None:
    def choose(signal: Any, stream: Any) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    source.stream().switch_on_first(choose).subscribe(subscriber)
    source.next(1)
    assert "in switch_on_first(choose)" in notes_of(subscriber.await_error())[0]
    source.assert_cancelled(1)


def test_error_after_an_element_that_was_not_requested_is_dropped_on_cancel(dropped: Any) -> None:
    source: TestPublisher[int] = TestPublisher()
    subscriber: TestSubscriber[int] = TestSubscriber(0)
    pyrs.Stream(source).switch_on_first(itself).subscribe(subscriber)
    source.next(1)
    source.error(ValueError("planned"))
    subscriber.cancel()
    assert [str(error) for error in dropped.take()] == ["planned"]


@pytest.mark.parametrize("numbers", [[], [1], [1, 2]])
def test_stream_passed_to_the_function_fails_a_late_subscriber(numbers: list[int]) -> None:
    streams: list[pyrs.Stream[int]] = []

    def keep(signal: Any, stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
        streams.append(stream)
        return pyrs.just(7)

    assert pyrs.from_iterable(numbers).switch_on_first(keep).collect() == [7]
    with pytest.raises(RuntimeError, match="is over: the Publisher of the function terminated"):
        streams[0].collect(timeout=DEADLINE)


def test_stream_passed_to_the_function_fails_a_subscriber_after_a_cancel() -> None:
    streams: list[pyrs.Stream[int]] = []

    def keep(signal: Any, stream: pyrs.Stream[int]) -> pyrs.Stream[int]:
        streams.append(stream)
        return pyrs.never()

    subscriber: TestSubscriber[int] = TestSubscriber()
    pyrs.just(1, 2).switch_on_first(keep).subscribe(subscriber)
    subscriber.cancel()
    with pytest.raises(RuntimeError, match="terminated or was cancelled"):
        streams[0].collect(timeout=DEADLINE)


def test_stream_passed_to_the_function_accepts_one_subscriber() -> None:
    with pytest.raises(RuntimeError, match="accepts one Subscriber"):
        pyrs.just(1, 2).switch_on_first(lambda signal, stream: stream.concat(stream)).collect()


def test_elements_keep_their_order_if_requests_and_elements_race() -> None:
    for _ in range(100):
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(timeout=DEADLINE)
        source.stream().switch_on_first(itself).subscribe(subscriber)
        source.next(0)
        with on_threads(*[partial(subscriber.request, 3)] * 2):
            source.await_requested(1 + 5, DEADLINE)
            source.next(1, 2, 3)
        source.complete()
        assert subscriber.await_complete() == [0, 1, 2, 3]


def test_repr_shows_the_call() -> None:
    assert repr(pyrs.never().switch_on_first(itself)) == "never().switch_on_first(itself)"


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="function must be callable"):
        pyrs.never().switch_on_first(3)  # type: ignore[arg-type]
