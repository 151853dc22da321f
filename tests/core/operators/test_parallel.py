"""parallel: dispatch by demand, rails on threads, termination, errors, cancels and discarded elements."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.modelling import DEMANDS, NUMBERS, WAYS, Counting, quick
from tests.core.support import notes_of
from tests.waiting import eventually


@pytest.fixture
def pool() -> Iterator[schedulers.Scheduler]:
    threads = schedulers.pool(5, "rails")
    yield threads
    threads.close()


class Rails:
    """A parallel stream whose rails are read by TestSubscribers, and replaced by streams that the test controls."""

    def __init__(self, count: int, demand: int = 0) -> None:
        self.source = TestPublisher[int]()
        self.counting = Counting.of(self.source)
        self.rails: list[TestSubscriber[int]] = []
        self.results: list[TestPublisher[int]] = []
        self.demand = demand
        self.outer: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
        self.counting.stream().parallel(count).transform_rails(self.read).sequential().subscribe(self.outer)

    def read(self, rail: pyrs.Stream[int]) -> pyrs.Publisher[int]:
        self.rails.append(TestSubscriber(self.demand))
        rail.subscribe(self.rails[-1])
        self.results.append(TestPublisher())
        return self.results[-1]

    def elements(self) -> list[list[int]]:
        return [each.elements for each in self.rails]


@quick
@given(numbers=NUMBERS, demands=DEMANDS, rails=st.integers(1, 4), prefetch=st.integers(1, 5))
def test_emits_each_element_once_and_never_more_than_demanded(
    numbers: list[int], demands: list[int], rails: int, prefetch: int
) -> None:
    for way, source in WAYS.items():
        subscriber: TestSubscriber[int] = TestSubscriber()
        parallel = source(numbers).parallel(rails).map(lambda n: 10 * n).filter(lambda n: n != 30)
        parallel.sequential(prefetch).subscribe(subscriber)
        expected = Counter(10 * n for n in numbers if n != 3)
        demanded = 0
        for n in demands:
            subscriber.request(n)
            demanded += n
            assert len(subscriber.elements) == min(demanded, expected.total()), way
        subscriber.request(len(numbers) + 1)
        assert Counter(subscriber.await_complete()) == expected, way
        subscriber.assert_rules()


@quick
@given(requests=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), max_size=12))
def test_dispatch_matches_the_round_robin_model(requests: list[tuple[int, int]]) -> None:
    rails = Rails(3)
    demand, model, position, number = [0, 0, 0], [[], [], []], -1, 0  # type: ignore[var-annotated]
    for index, n in requests:
        rails.rails[index].request(n)
        demand[index] += n
        assert rails.counting.requested == number + sum(demand)
        for _ in range(sum(demand) // 2):
            position = next(place % 3 for place in range(position + 1, position + 4) if demand[place % 3])
            demand[position] -= 1
            model[position].append(number)
            rails.source.next(number)
            number += 1
        assert rails.elements() == model
    rails.source.complete()
    for each in rails.rails:
        each.await_complete()
        each.assert_rules()


def test_elements_are_requested_when_each_rail_has_a_subscriber() -> None:
    counting = Counting(range(9))
    gates = [TestPublisher[int](), TestPublisher[int]()]
    waiting = iter(gates)
    stream = counting.stream().parallel(2).transform_rails(lambda rail: next(waiting).stream().concat(rail))
    subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
    stream.sequential(4).subscribe(subscriber)
    gates[0].complete()
    assert counting.requests == []
    gates[1].complete()
    assert sorted(subscriber.await_complete()) == list(range(9))
    assert counting.requests[0] == 8


def test_cancel_before_each_rail_has_a_subscriber_cancels_the_source() -> None:
    source = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    delayed = source.stream().parallel(2).transform_rails(lambda rail: pyrs.never().concat(rail))
    delayed.sequential().subscribe(subscriber)
    subscriber.cancel()
    source.assert_cancelled(1)


def test_rails_that_the_function_ignores_cancel_the_source() -> None:
    source = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
    source.stream().parallel(2).transform_rails(lambda rail: pyrs.just(7)).sequential().subscribe(subscriber)
    assert subscriber.await_complete() == [7, 7]
    source.await_cancelled(1)


def test_demand_of_a_cancelled_rail_goes_to_the_others() -> None:
    rails = Rails(2)
    rails.rails[0].request(3)
    rails.source.next(0)
    rails.rails[0].cancel()
    rails.source.next(1, 2)  # requested for the cancelled rail
    assert rails.elements() == [[0], []]
    rails.rails[1].request(1)
    assert rails.elements() == [[0], [1]]
    assert rails.counting.requests == [3]
    rails.source.complete()
    assert not rails.rails[1].ended
    rails.rails[1].request(1)
    assert rails.rails[1].await_complete() == [1, 2]


@pytest.mark.parametrize("completes", [False, True])
def test_element_that_changes_rails_is_not_released_under_the_lock(completes: bool) -> None:
    class Element:
        def __del__(self) -> None:
            released.append(dispatcher.lock._is_owned())

    class Consumed(deque[Any]):
        """The elements of a rail that another thread has consumed before ``append`` returns."""

        def append(self, element: Any) -> None:
            pass

    released: list[bool] = []
    rails = Rails(2)
    dispatcher = rails.rails[0].await_subscription()._subscription._part.dispatcher  # type: ignore[attr-defined]
    rails.rails[0].request(1)
    rails.rails[0].cancel()
    rails.source.next(Element())  # type: ignore[arg-type]
    for each in dispatcher._rails:
        each.elements = Consumed()
    if completes:
        rails.source.complete()
    else:
        rails.rails[1].request(1)
    assert released == [False]


def test_source_is_cancelled_once_when_each_rail_was_cancelled() -> None:
    rails = Rails(2, demand=2)
    rails.rails[0].cancel()
    rails.source.assert_not_cancelled()
    rails.rails[1].cancel()
    rails.source.assert_cancelled(1)
    for each in rails.results:
        each.complete()
    rails.outer.await_complete()


def test_rails_that_complete_early_complete_the_stream() -> None:
    counting = Counting(range(100))
    taken = counting.stream().parallel(3).transform_rails(lambda rail: rail.take(2)).sequential().collect()
    assert taken == list(range(6))
    assert counting.cancels <= 1


@pytest.mark.parametrize("threads", [False, True])
def test_error_of_a_rail_cancels_the_source_once_and_is_signalled_once(
    threads: bool, pool: schedulers.Scheduler
) -> None:
    source = TestPublisher[int]()
    discarded: list[int] = []
    rails = source.stream().parallel(3)
    if threads:
        rails = rails.run_on(pool)
    subscriber: TestSubscriber[int] = TestSubscriber()
    rails.map(lambda n: n if n < 3 else 1 // 0).sequential().do_on_discard(discarded.append).subscribe(subscriber)
    source.await_requested(96)
    source.next(1, 2, 3)
    assert isinstance(subscriber.await_error(), ZeroDivisionError)
    source.await_cancelled(1)
    eventually(lambda: sorted(discarded) == [1, 2, 3], lambda: str(discarded))
    subscriber.assert_rules()


def test_error_of_the_source_is_signalled_once_after_the_elements() -> None:
    source = TestPublisher[int]()
    subscriber: TestSubscriber[int] = TestSubscriber(pyrs.UNBOUNDED)
    source.stream().parallel(3).sequential().subscribe(subscriber)
    source.next(1, 2, 3, 4)
    source.error(ValueError("planned"))
    assert str(subscriber.await_error()) == "planned"
    assert subscriber.elements == [1, 2, 3, 4]
    subscriber.assert_rules()


def test_error_and_empty_source_terminate_the_stream() -> None:
    assert pyrs.empty().parallel(2).sequential().collect() == []
    with pytest.raises(ValueError, match="planned"):
        pyrs.error(ValueError("planned")).parallel(2).sequential().collect()


def test_cancel_discards_the_buffered_elements_and_reaches_the_source_once() -> None:
    source = TestPublisher[int]()
    discarded: list[int] = []
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    stream = source.stream().parallel(2).sequential().do_on_discard(discarded.append)
    stream.subscribe(subscriber)
    source.next(*range(7))
    subscriber.cancel()
    assert subscriber.elements == [0]
    assert sorted(discarded) == [1, 2, 3, 4, 5, 6]
    source.assert_cancelled(1)


def test_rails_run_concurrently_on_a_pool(pool: schedulers.Scheduler) -> None:
    together = threading.Barrier(3)
    names: set[str] = set()

    def meet(n: int) -> int:
        together.wait(30)  # returns only when three rails wait at the same time
        names.add(threading.current_thread().name.rpartition("-")[0])
        return n

    result = pyrs.range(9).parallel(3).run_on(pool, prefetch=1).map(meet).sequential().collect()
    assert sorted(result) == list(range(9))
    assert names == {"pyrs-rails"}


@pytest.mark.parametrize("prefetch", [1, 4, 256])
def test_no_element_is_lost_between_threads(prefetch: int, pool: schedulers.Scheduler) -> None:
    for source in (pyrs.range(2_000), Counting(range(2_000)).stream()):
        rails = source.parallel(4).run_on(pool, prefetch).map(lambda n: n + 1).filter(lambda n: n % 3)
        assert sorted(rails.sequential(8).collect()) == [n for n in range(1, 2_001) if n % 3]


def test_closed_scheduler_fails_the_stream(dropped: Any) -> None:
    closed = schedulers.single("closed")
    closed.close()
    source = TestPublisher[int]()
    with pytest.raises(pyrs.errors.SchedulerClosed):
        source.stream().parallel(2).run_on(closed).sequential().collect(timeout=30)
    source.await_cancelled(1)
    dropped.take()  # the second rail fails, too


def test_operators_apply_to_each_rail() -> None:
    seen: list[int] = []
    rails = pyrs.range(4).parallel(2).do_on_next(seen.append)
    assert sorted(rails.flat_map(lambda n: pyrs.just(n, 10 + n)).sequential().collect()) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert sorted(rails.concat_map(pyrs.just).sequential().collect()) == seen[:4] == [0, 1, 2, 3]

    async def double(n: int) -> int:
        return 2 * n

    assert sorted(rails.map(double, concurrency=2).sequential().collect()) == [0, 2, 4, 6]


def test_reduce_emits_a_value_for_each_rail_with_elements() -> None:
    rails = pyrs.range(2).parallel(3)
    assert sorted(rails.reduce(add).sequential().collect()) == [0, 1]
    assert sorted(rails.reduce(add, 10).sequential().collect()) == [10, 10, 11]


def test_error_names_the_line_of_the_operator() -> None:
    rails = pyrs.range(3).parallel(2).map(lambda n: 1 // n)
    stream = rails.filter(bool).sequential()
    with pytest.raises(ZeroDivisionError) as raised:
        stream.collect()
    line = test_error_names_the_line_of_the_operator.__code__.co_firstlineno + 1
    assert notes_of(raised.value) == [f"in map(<lambda>), assembled at {__file__}:{line}"]


def test_failing_function_of_a_rail_names_the_stream() -> None:
    def fail(rail: pyrs.Stream[int]) -> pyrs.Stream[int]:
        raise ValueError("planned")

    source = TestPublisher[int]()
    with pytest.raises(ValueError, match="planned") as raised:
        source.stream().parallel(2).transform_rails(fail).sequential().collect(timeout=30)
    assert "in parallel(2).transform_rails(fail).sequential()" in notes_of(raised.value)[0]
    source.assert_cancelled(1)


def test_explain_shows_the_schedulers_of_the_rails() -> None:
    disk = schedulers.single("disk")
    stream = pyrs.range(3).parallel(2).run_on(disk).map(str).sequential(8)
    disk.close()
    step = stream.explain().steps[-1]
    assert step[0] == "parallel(2).run_on(single('disk')).map(str).sequential()"
    assert (step.demand, step.holds, step.thread) == ("ahead: 8 of each rail", "8 of each rail", "single('disk')")


def test_wrong_arguments_raise() -> None:
    rails: Any = pyrs.range(3).parallel(2)
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: pyrs.range(3).parallel(0), ValueError, "rails must be at least 1"),
        (lambda: pyrs.range(3).parallel(2**70), ValueError, "rails must be at most 65536"),
        (lambda: pyrs.range(3).parallel("2"), TypeError, "rails must be an integer"),  # type: ignore[arg-type]
        (lambda: rails.run_on(3), TypeError, "scheduler must be a Scheduler"),
        (lambda: rails.run_on(schedulers.inline(), 0), ValueError, "prefetch must be at least 1"),
        (lambda: rails.map(3), TypeError, "function must be callable"),
        (lambda: rails.reduce(3), TypeError, "function must be callable"),
        (lambda: rails.transform_rails(3), TypeError, "function must be callable"),
        (lambda: rails.sequential(0), ValueError, "prefetch must be at least 1"),
        (lambda: rails.transform_rails(lambda rail: 3).sequential().collect(), TypeError, "must be a Publisher"),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()
