"""buffer_when: openings, closings, demand, termination and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, Counting, agrees, quick
from tests.core.support import notes_of


class Toggled:
    """A subscribed ``buffer_when`` whose source, openings and closings are TestPublishers."""

    def __init__(self, demand: int = pyrs.UNBOUNDED, prefetch: int = 256) -> None:
        self.source, self.openings = TestPublisher[int](), TestPublisher[str]()
        self.closings: dict[str, TestPublisher[int]] = {}
        self.subscriber: TestSubscriber[list[int]] = TestSubscriber(demand)
        self.counting = [Counting.of(self.source), Counting.of(self.openings)]
        self.counting[0].stream().buffer_when(self.counting[1], self.closing, prefetch=prefetch).subscribe(
            self.subscriber
        )

    def closing(self, name: str) -> TestPublisher[int]:
        self.closings[name] = TestPublisher()
        return self.closings[name]


EVENTS = st.lists(st.sampled_from(["element", "open", "close"]), max_size=30)


@pytest.mark.parametrize(
    "collect",
    [
        lambda s, openings, closing: s.buffer_when(openings, closing),
        lambda s, openings, closing: s.window_when(openings, closing).flat_map(lambda window: window.to_list()),
    ],
    ids=["buffer_when", "window_when"],
)
def test_signals_keep_their_order_while_the_subscriber_is_in_on_next(collect: Callable[..., pyrs.Stream[Any]]) -> None:
    source, openings, closings = TestPublisher[int](), TestPublisher[str](), TestPublisher[str]()

    def fill_the_second_list(subscriber: TestSubscriber[list[int]], numbers: list[int]) -> None:
        if numbers == [1]:
            source.next(2)
            openings.next("second")
            source.next(3, 4)
            closings.next("second")
            source.next(5)

    subscriber = TestSubscriber[list[int]](None, on_element=fill_the_second_list)
    collect(source.stream(), openings, lambda _: closings.stream().take(1)).subscribe(subscriber)
    openings.next("first")
    source.next(1)
    closings.next("first")
    source.emit(6)
    assert subscriber.await_complete() == [[1], [3, 4]]


@quick
@given(events=EVENTS)
def test_buffer_when_matches_the_list_model(events: list[str]) -> None:
    toggled = Toggled()
    lists: dict[str, list[int]] = {}
    closed: list[list[int]] = []
    for n, event in enumerate(events):
        if event == "element":
            toggled.source.next(n)
            for each in lists.values():
                each.append(n)
        elif event == "open":
            toggled.openings.next(str(n))
            lists[str(n)] = []
        elif lists:
            name = sorted(lists)[n % len(lists)]
            toggled.closings[name].next(n)
            closed.append(lists.pop(name))
        assert toggled.subscriber.elements == closed
    toggled.source.complete()
    assert toggled.subscriber.await_complete() == closed + list(lists.values())
    toggled.subscriber.assert_rules()


@quick
@given(numbers=NUMBERS, demands=DEMANDS)
def test_opening_whose_closing_is_empty_emits_an_empty_list(numbers: list[int], demands: list[int]) -> None:
    expected: list[list[int]] = [[] for _ in numbers]
    agrees(lambda s: pyrs.never().buffer_when(s, lambda n: pyrs.empty()), numbers, expected, demands)


def test_source_is_prefetched_and_openings_receive_downstream_demand() -> None:
    toggled = Toggled(2, prefetch=4)
    assert [each.requests for each in toggled.counting] == [[4], [2]]
    toggled.source.next(1, 2, 3)
    assert toggled.counting[0].requests == [4, 3]
    toggled.subscriber.request(1)
    assert toggled.counting[1].requests == [2, 1]


def test_completion_of_a_closing_closes_its_list() -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.source.next(1)
    toggled.closings["a"].complete()
    assert toggled.subscriber.elements == [[1]]


def test_completion_of_the_openings_waits_for_the_open_lists() -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.openings.complete()
    toggled.source.next(1)
    assert not toggled.subscriber.ended
    toggled.closings["a"].next(0)
    assert toggled.subscriber.await_complete() == [[1]]
    toggled.source.assert_cancelled(1)


@pytest.mark.parametrize("failing", ["source", "openings", "closing"])
def test_error_fails_the_stream_and_cancels_the_others(failing: str) -> None:
    toggled = Toggled()
    toggled.openings.next("a")
    toggled.source.next(1)
    publishers = {"source": toggled.source, "openings": toggled.openings, "closing": toggled.closings["a"]}
    publishers.pop(failing).error(ValueError("planned"))
    assert str(toggled.subscriber.await_error()) == "planned"
    assert toggled.subscriber.elements == []
    for each in publishers.values():
        each.assert_cancelled(1)


def test_completion_of_the_source_cancels_the_closings_of_the_open_lists() -> None:
    toggled = Toggled()
    toggled.openings.next("a", "b")
    toggled.source.next(1)
    toggled.source.complete()
    assert toggled.subscriber.await_complete() == [[1], [1]]
    for each in (toggled.openings, *toggled.closings.values()):
        each.assert_cancelled(1)


def test_cancel_reaches_every_stream() -> None:
    toggled = Toggled()
    toggled.openings.next("a", "b")
    toggled.subscriber.cancel()
    for each in (toggled.source, toggled.openings, *toggled.closings.values()):
        each.assert_cancelled(1)


@pytest.mark.parametrize("name", ["buffer_when", "window_when"])
@pytest.mark.parametrize("result", [ValueError, 3])
def test_failing_closing_function_names_the_operator(result: Any, name: str) -> None:
    def closing(opening: int) -> Any:
        if result is ValueError:
            raise ValueError("planned")
        return result

    with pytest.raises((ValueError, TypeError)) as raised:
        getattr(pyrs.never(), name)(pyrs.just(1), closing).collect()
    assert f"in {name}(just(1), closing)" in notes_of(raised.value)[0]


def test_endless_source_does_not_delay_the_closing() -> None:
    closings = TestPublisher[int]()
    subscriber: TestSubscriber[list[int]] = TestSubscriber(1)
    numbers = pyrs.generate(lambda: 0, lambda n: ((n, n + 1)))
    numbers.do_on_next(lambda n: closings.next(n) if n == 5 else None).buffer_when(
        pyrs.just("open"), lambda _: closings
    ).subscribe(subscriber)
    assert subscriber.await_count(1)[0][:5] == [0, 1, 2, 3, 4]


def test_wrong_arguments_raise() -> None:
    never = pyrs.never()
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: never.buffer_when(3, pyrs.just), TypeError, "openings must be a Publisher"),  # type: ignore[arg-type]
        (lambda: never.buffer_when(never, 3), TypeError, "closing must be callable"),  # type: ignore[arg-type]
        (lambda: never.buffer_when(never, pyrs.just, prefetch=0), ValueError, "prefetch must be at least 1"),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()
