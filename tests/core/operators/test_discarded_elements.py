"""The elements that individual operators and streams pass to ``do_on_discard``."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

import pyrs
from pyrs._core import hooks
from pyrs.operators.buffering import BufferCount
from pyrs.operators.coroutines import AsyncMap, _Call
from pyrs.operators.filtering import SkipLast
from pyrs.operators.flattening import _Holding
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import RecordingSubscription


def test_on_backpressure_reduce_discards_the_element_for_which_the_function_raises() -> None:
    discarded: list[str] = []

    def fail(a: str, b: str) -> str:
        raise ValueError(a + b)

    source, subscriber = TestPublisher[str](), TestSubscriber[str](0)
    source.stream().on_backpressure_reduce(fail).do_on_discard(discarded.append).subscribe(subscriber)
    source.next("a", "b")
    subscriber.request(1)
    assert subscriber.elements == ["a"]
    assert isinstance(subscriber.error, ValueError)
    assert discarded == ["b"]


def test_on_backpressure_reduce_discards_the_result_of_a_function_that_cancels() -> None:
    discarded: list[str] = []

    def cancel(a: str, b: str) -> str:
        subscriber.cancel()
        return a + b

    source, subscriber = TestPublisher[str](), TestSubscriber[str](0)
    source.stream().on_backpressure_reduce(cancel).do_on_discard(discarded.append).subscribe(subscriber)
    source.next("a", "b")
    assert discarded == ["ab"]


def test_skip_last_discards_an_element_that_arrives_during_the_cancel() -> None:
    discarded: list[str] = []
    run: Any = SkipLast(1).run()
    run.discard_all = lambda elements: hooks.discard_all((discarded.append,), elements)
    run.emit = discarded.append
    run.on_next("a")
    run.release()
    run.on_next("b")
    run.on_next("c")
    assert discarded == ["a", "b", "c"]


def test_overlapping_buffer_discards_the_new_element_if_two_threads_drop_its_chunk() -> None:
    class Chunk(list[int]):
        def __delitem__(self, key: Any) -> None:
            super().__delitem__(key)
            if not raced:
                raced.append(True)
                run._drop_chunk(self)  # simulates on_next on another thread, after the release

    raced: list[bool] = []
    discarded: list[int] = []
    run: Any = BufferCount(4, 1).run()
    run.discard_all = lambda elements: hooks.discard_all((discarded.append,), elements)
    run.emit = lambda element: None
    for element in range(4):
        run.on_next(element)
    run._chunk = Chunk([*run._chunk, 4])
    run.release()
    assert discarded == [4]


def test_result_of_a_coroutine_that_ends_during_the_cancel_is_discarded() -> None:
    class RacingCall(_Call):
        @property
        def released(self) -> bool:
            run.cancel()  # simulates a cancel on another thread
            return False

        @released.setter
        def released(self, value: bool) -> None: ...

    async def same(element: str) -> str:
        return element

    discarded: list[str] = []
    subscriber = TestSubscriber[str]()
    run: Any = AsyncMap(pyrs.never(), same, 1, True).run(subscriber)
    run.discards = (discarded.append,)
    call, task = RacingCall("element"), Future[str]()
    run._calls.add(call)
    task.set_result("result")
    run._task_ended(call, task)
    assert discarded == ["result"]


@pytest.mark.parametrize("waits", [False, True])
def test_decision_that_arrives_during_the_cancel_is_ignored(waits: bool) -> None:
    discarded: list[str] = []
    run: Any = _Holding("a", waits).run()
    run.discard_all = lambda elements: hooks.discard_all((discarded.append,), elements)
    run.complete = lambda: None
    run.release()
    run.on_next(True)
    run.on_complete()
    assert discarded == ["a"]


@pytest.mark.parametrize("default", ["a", "b"])
def test_last_discards_an_element_that_is_identical_to_the_default(default: str) -> None:
    discarded: list[str] = []
    source, subscriber = TestPublisher[str](), TestSubscriber[str](1)
    source.stream().last(default=default).do_on_discard(discarded.append).subscribe(subscriber)
    source.next("a", "b").complete()
    assert (subscriber.elements, discarded) == (["b"], ["a"])


def test_last_does_not_discard_its_default() -> None:
    discarded: list[str] = []
    source, subscriber = TestPublisher[str](), TestSubscriber[str](1)
    source.stream().last(default="a").do_on_discard(discarded.append).subscribe(subscriber)
    source.complete()
    assert (subscriber.elements, discarded) == (["a"], [])


def test_window_when_discards_an_element_that_arrives_while_its_window_is_cancelled() -> None:
    discarded: list[int] = []

    def discard(element: int) -> None:
        discarded.append(element)
        if element == 1:
            source.next(2)

    source, windows, inner = TestPublisher[int](), TestSubscriber[Any](9), TestSubscriber[int](0)
    openings = pyrs.just(0).concat(pyrs.never())
    source.stream().window_when(openings, lambda _: pyrs.never()).do_on_discard(discard).subscribe(windows)
    windows.elements[0].subscribe(inner)
    source.next(1)
    inner.cancel()
    assert discarded == [1, 2]


@pytest.mark.parametrize("operator", ["buffer_when", "window_when"])
def test_opening_that_arrives_after_the_cancel_is_discarded(operator: str) -> None:
    discarded: list[str] = []

    class Openings(pyrs.Publisher[str]):
        def subscribe(self, subscriber: pyrs.Subscriber[str], /) -> None:
            subscriber.on_subscribe(RecordingSubscription())
            late.append(subscriber)

    late: list[pyrs.Subscriber[str]] = []
    lists = TestSubscriber[Any](9)
    opened = getattr(TestPublisher[int]().stream(), operator)(Openings(), lambda _: pyrs.never())
    opened.do_on_discard(discarded.append).subscribe(lists)
    lists.cancel()
    late[0].on_next("late")
    assert discarded == ["late"]


def _replayed(limit: int | None = None) -> tuple[TestPublisher[int], pyrs.ConnectableStream[int], list[int]]:
    """Return a source, its replay, and a list to record the discarded elements."""
    source, discarded = TestPublisher[int](), list[int]()
    shared = source.stream().replay(limit)
    return source, shared, discarded


def test_replay_discards_an_element_that_leaves_the_history_before_the_first_subscriber() -> None:
    source, shared, discarded = _replayed(limit=2)
    before = pyrs.set_discard_hook(discarded.append)
    try:
        shared.connect()
        source.next(1, 2, 3, 4)
        assert discarded == [1, 2]
    finally:
        pyrs.set_discard_hook(before)


def test_replay_discards_the_elements_that_only_a_cancelled_subscriber_buffered() -> None:
    source, shared, discarded = _replayed(limit=2)
    slow, late = TestSubscriber[int](1), TestSubscriber[int](1)
    shared.do_on_discard(discarded.append).subscribe(slow)
    shared.connect()
    source.next(1, 2, 3, 4, 5)  # the history contains 4 and 5
    shared.subscribe(late)
    slow.cancel()
    assert (slow.elements, late.elements, discarded) == ([1], [4], [2, 3])


def test_replay_discards_no_element_that_another_subscriber_received() -> None:
    source, shared, discarded = _replayed(limit=1)
    slow, fast = TestSubscriber[int](1), TestSubscriber[int](9)
    shared.do_on_discard(discarded.append).subscribe(slow)
    shared.subscribe(fast)
    shared.connect()
    source.next(1, 2, 3)
    slow.cancel()
    fast.cancel()
    source.next(4, 5)
    assert discarded == [4]  # 5 is in the history, so a later Subscriber can receive it


@pytest.mark.parametrize("limit", [None, 5])
def test_replay_discards_undelivered_history_when_its_connection_is_cancelled(limit: int | None) -> None:
    source, shared, discarded = _replayed(limit)
    subscriber = TestSubscriber[int](1)
    shared.do_on_discard(discarded.append).subscribe(subscriber)
    connection = shared.connect()
    source.next(1, 2, 3)
    subscriber.cancel()
    assert discarded == []  # a later Subscriber can receive the history
    connection.cancel()
    assert discarded == [2, 3]


@pytest.mark.parametrize("share", [lambda s: s.publish(), lambda s: s.replay()], ids=["publish", "replay"])
def test_last_subscriber_of_a_cancelled_connection_discards_its_undelivered_elements(share: Any) -> None:
    source, discarded = TestPublisher[int](), list[int]()
    shared, subscriber = share(source.stream()), TestSubscriber[int](1)
    shared.do_on_discard(discarded.append).subscribe(subscriber)
    connection = shared.connect()
    source.next(1, 2, 3).complete()
    connection.cancel()  # the source has completed, so the Subscriber can still receive its elements
    subscriber.request(1)
    subscriber.cancel()
    assert (subscriber.elements, discarded) == ([1, 2], [3])


@pytest.mark.parametrize("ends", ["cancel", "fail"])
def test_split_lines_discards_its_buffered_lines_and_the_incomplete_line(ends: str) -> None:
    discarded: list[str] = []
    source, subscriber = TestPublisher[str](), TestSubscriber[str](1)
    source.stream().split_lines().do_on_discard(discarded.append).subscribe(subscriber)
    source.next("a\nb\nc\nd")
    if ends == "cancel":
        subscriber.cancel()
        assert discarded == ["b", "c", "d"]
    else:
        source.error(ValueError("planned"))
        subscriber.request(2)
        assert discarded == ["d"]
    assert subscriber.elements == ["a", "b", "c"][: 1 if ends == "cancel" else 3]


def test_decode_discards_the_text_that_waits_for_demand_after_completion() -> None:
    discarded: list[str] = []
    source, subscriber = TestPublisher[bytes](), TestSubscriber[str](1)
    source.stream().decode("utf-8", "replace").do_on_discard(discarded.append).subscribe(subscriber)
    source.next(b"a\xc3").complete()
    subscriber.cancel()
    assert (subscriber.elements, discarded) == (["a"], ["\N{REPLACEMENT CHARACTER}"])


TRIGGERED: dict[str, Any] = {
    "take_until": lambda s, trigger: s.take_until(trigger),
    "skip_until": lambda s, trigger: s.skip_until(trigger),
    "buffer_when": lambda s, trigger: s.buffer_when(pyrs.just(0).concat(pyrs.never()), lambda _: trigger),
    "window_when": lambda s, trigger: s.window_when(pyrs.just(0).concat(pyrs.never()), lambda _: trigger),
    "retry_when": lambda s, trigger: pyrs.error(ValueError()).retry_when(lambda _: trigger),
    "repeat_when": lambda s, trigger: pyrs.empty().repeat_when(lambda _: trigger),
}


@pytest.mark.parametrize("operator", TRIGGERED.values(), ids=TRIGGERED)
def test_element_that_triggers_an_operator_is_discarded(operator: Any) -> None:
    discarded: list[str] = []
    trigger, subscriber = pyrs.just("trigger").concat(pyrs.never()), TestSubscriber[Any]()
    operator(pyrs.never(), trigger).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(1)
    subscriber.cancel()
    assert discarded == ["trigger"]


class Pooled(str):
    """An element with an identity."""


@pytest.mark.parametrize(
    ("collect", "excluded"),
    [(lambda s: s.to_set(), [2, 4]), (lambda s: s.to_dict(str), [0, 2]), (lambda s: s.to_dict(str, len), [])],
    ids=["to_set", "to_dict", "to_dict with values"],
)
@pytest.mark.parametrize("pushed", [False, True])
def test_elements_that_a_set_or_dict_excludes_are_discarded(collect: Any, excluded: list[int], pushed: bool) -> None:
    elements = [Pooled(letter) for letter in "abaca"]
    discarded: list[Any] = []
    source = pyrs.from_iterable(elements).concat(pyrs.empty()) if pushed else pyrs.from_iterable(elements)
    collect(source).do_on_discard(discarded.append).block()
    assert list(map(id, discarded)) == [id(elements[place]) for place in excluded]


@pytest.mark.parametrize("collect", [lambda s: s.to_set(), lambda s: s.to_dict(lambda element: hash(element))])
def test_element_is_discarded_once_if_its_hash_cancels(collect: Any) -> None:
    """The cancel empties the set or dict before the new element is stored."""

    class Cancelling:
        def __hash__(self) -> int:
            subscriber.cancel()
            return 7

    discarded: list[Any] = []
    source, subscriber = TestPublisher[Any](), TestSubscriber[Any](1)
    collect(source.stream()).do_on_discard(discarded.append).subscribe(subscriber)
    elements = ["a", Cancelling()]
    source.next(*elements)
    assert discarded == elements


def test_buffer_when_discards_each_occurrence_of_an_element() -> None:
    discarded: list[str] = []
    source, subscriber = TestPublisher[str](), TestSubscriber[list[str]](9)
    openings = pyrs.just(1, 2).concat(pyrs.never())
    buffered = source.stream().buffer_when(openings, lambda _: pyrs.never())
    buffered.do_on_discard(discarded.append).subscribe(subscriber)
    source.next("a", "a")
    subscriber.cancel()
    assert discarded == ["a", "a"]
