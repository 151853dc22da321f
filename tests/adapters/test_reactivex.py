"""Conversion between streams and Observables of the reactivex package."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("reactivex")  # reactivex does not support Python 3.10

import reactivex
from reactivex import operators as rx
from reactivex.disposable import Disposable
from reactivex.scheduler import NewThreadScheduler, VirtualTimeScheduler
from reactivex.subject import Subject

import pyrs
from pyrs._core.inputs import Input
from pyrs.adapters.reactivex import from_observable, to_observable
from pyrs.errors import BufferOverflow
from pyrs.testing import TestPublisher, TestSubscriber, Violation
from tests.core.conftest import Dropped, Hidden
from tests.waiting import DEADLINE


class TestFromObservable:
    def test_cold_observable_is_subscribed_for_each_subscriber(self) -> None:
        stream = from_observable(reactivex.from_iterable(range(5)).pipe(rx.map(lambda n: n * 2)))
        assert stream.collect() == [0, 2, 4, 6, 8]
        assert stream.collect() == [0, 2, 4, 6, 8]

    def test_elements_of_a_subject_are_buffered(self) -> None:
        subject: Subject[int] = Subject()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        from_observable(subject).subscribe(subscriber)
        for n in range(3):
            subject.on_next(n)
        subject.on_completed()
        subscriber.assert_elements(0).assert_live()
        subscriber.request(5)
        subscriber.assert_elements(0, 1, 2).assert_complete()

    @pytest.mark.parametrize(
        ("overflow", "expected"), [("drop", [0]), ("latest", [0, 4]), ("drop_oldest", [0, 3, 4]), ("error", [0, 1, 2])]
    )
    def test_from_observable_applies_its_overflow_strategy(
        self, overflow: str, expected: list[int], dropped: Dropped
    ) -> None:
        subject: Subject[int] = Subject()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        from_observable(subject, overflow=overflow, capacity=2).subscribe(subscriber)
        for n in range(5):
            subject.on_next(n)
        subscriber.request(5)
        subscriber.assert_elements(*expected)
        if overflow == "error":
            subscriber.assert_error(BufferOverflow)
            assert not subject.observers

    def test_error_is_propagated(self) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        from_observable(reactivex.throw(ValueError("no"))).subscribe(subscriber)
        subscriber.assert_error(ValueError)

    def test_error_that_is_not_an_exception_signals_spec_violation(self) -> None:
        subject: Subject[int] = Subject()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        from_observable(subject).subscribe(subscriber)
        subject.on_error("text")  # type: ignore[arg-type]
        assert "'text'" in str(subscriber.assert_error(pyrs.SpecViolation))

    def test_cancel_disposes_the_subscription(self) -> None:
        disposed = threading.Event()

        def subscribe(observer: Any, scheduler: Any) -> Disposable:
            observer.on_next(1)
            return Disposable(disposed.set)

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        from_observable(reactivex.create(subscribe)).subscribe(subscriber)
        subscriber.assert_elements(1).assert_live()
        assert not disposed.is_set()
        subscriber.cancel()
        assert disposed.is_set()

    def test_take_stops_an_infinite_observable(self) -> None:
        assert from_observable(reactivex.repeat_value(1)).take(3).collect() == [1, 1, 1]
        endless = reactivex.generate(0, lambda n: True, lambda n: n + 1)
        assert from_observable(endless).take(3).collect() == [0, 1, 2]

    def test_observables_subscribed_inside_the_trampoline_emit_every_element(self) -> None:
        """Inside an Observable, subscribe() only queues the subscription."""
        results: list[int] = []
        source = reactivex.of(1, 2).pipe(
            rx.flat_map(lambda n: to_observable(from_observable(reactivex.of(n, n * 10)).take(2)))
        )
        source.subscribe(results.append)
        assert sorted(results) == [1, 2, 10, 20]

    def test_elements_from_another_thread_arrive_in_order(self) -> None:
        numbers = reactivex.from_iterable(range(2_000), scheduler=NewThreadScheduler())
        assert from_observable(numbers).collect(timeout=DEADLINE) == list(range(2_000))

    def test_none_element_signals_null_signal(self) -> None:
        subject: Subject[Any] = Subject()
        subscriber: TestSubscriber[Any] = TestSubscriber(None)
        from_observable(subject).subscribe(subscriber)
        subject.on_next(None)
        subscriber.assert_error(pyrs.NullSignal)
        assert not subject.observers

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="observable must be an Observable"):
            from_observable([1])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="overflow must be one of"):
            from_observable(reactivex.never(), overflow="spill")
        shown = repr(from_observable(reactivex.never(), overflow="latest"))
        assert shown.startswith("from_observable(<reactivex.")
        assert shown.endswith(", overflow='latest')")


class TestToObservable:
    @pytest.mark.parametrize("request_", [None, 1, 3])
    @pytest.mark.parametrize("hide", [False, True])
    def test_elements_and_completion_are_delivered(self, request_: int | None, hide: bool) -> None:
        stream = pyrs.range(10)
        observable = to_observable(Hidden(stream) if hide else stream, request=request_)
        for _ in range(2):
            assert observable.pipe(rx.map(lambda n: n + 1), rx.to_list()).run() == list(range(1, 11))

    def test_error_is_propagated(self) -> None:
        seen: list[Exception] = []
        to_observable(pyrs.error(ValueError("no"))).subscribe(on_error=seen.append)
        assert isinstance(seen[0], ValueError)

    def test_request_is_refilled_after_on_next_returns(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        requested: list[int] = []
        stream = pyrs.Stream(source).do_on_request(requested.append)
        seen: list[tuple[int, list[int]]] = []
        to_observable(stream, request=4).subscribe(lambda n: seen.append((n, list(requested))))
        assert requested == [4]
        source.next(1, 2, 3, 4)
        assert requested == [4, 3]
        assert seen[2] == (3, [4])  # the refill follows the return of on_next

    def test_observer_requests_unbounded_demand_by_default(self) -> None:
        requested: list[int] = []
        to_observable(pyrs.never().do_on_request(requested.append)).subscribe()
        assert requested == [pyrs.UNBOUNDED]

    def test_dispose_cancels_upstream_once(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        seen: list[int] = []
        subscription = to_observable(source).subscribe(seen.append)
        source.next(1)
        subscription.dispose()
        subscription.dispose()
        source.assert_cancelled(1)
        assert seen == [1]

    def test_element_after_a_dispose_is_discarded(self, discarded: list[Any]) -> None:
        source: TestPublisher[int] = TestPublisher(Violation.DEFER_CANCELLATION)
        to_observable(source).subscribe().dispose()
        source.next(1)
        assert discarded == [1]

    def test_error_that_a_dispose_overtakes_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, dropped: Dropped
    ) -> None:
        original = Input._close

        def close_and_dispose(observing: Input[Any]) -> bool:
            first = original(observing)
            disposable.dispose()
            return first

        source, error, errors = TestPublisher[int](), ValueError("not delivered"), list[Any]()
        disposable = to_observable(source).subscribe(on_error=errors.append)
        monkeypatch.setattr(Input, "_close", close_and_dispose)
        source.error(error)
        assert (dropped.take(), errors) == ([error], [])

    def test_take_closes_an_infinite_stream(self) -> None:
        closed: list[bool] = []

        def endless() -> Iterator[int]:
            n = 0
            try:
                while True:
                    yield n
                    n += 1
            finally:
                closed.append(True)

        class InfiniteIterable:
            def __iter__(self) -> Iterator[int]:
                return endless()

        seen: list[int] = []
        to_observable(pyrs.from_iterable(InfiniteIterable())).pipe(rx.take(3)).subscribe(seen.append)
        assert (seen, closed) == ([0, 1, 2], [True])

    def test_exception_of_the_observer_cancels_and_is_dropped(self, dropped: Dropped) -> None:
        wrong = ValueError("wrong")

        def fail(n: int) -> None:
            raise wrong

        source: TestPublisher[int] = TestPublisher()
        to_observable(source).subscribe(fail)
        source.next(1)
        source.assert_cancelled()
        assert dropped.take() == [wrong]

    def test_elements_are_emitted_on_the_given_scheduler(self) -> None:
        time = VirtualTimeScheduler()
        seen: list[int] = []
        to_observable(pyrs.range(2), scheduler=time).subscribe(seen.append)
        assert seen == []
        time.start()
        assert seen == [0, 1]
        to_observable(pyrs.range(2)).subscribe(seen.append, scheduler=time)
        assert seen == [0, 1]
        time.start()
        assert seen == [0, 1, 0, 1]

    def test_dispose_prevents_a_scheduled_subscription(self) -> None:
        time = VirtualTimeScheduler()
        source: TestPublisher[int] = TestPublisher()
        to_observable(source, scheduler=time).subscribe().dispose()
        time.start()
        assert repr(source) == repr(TestPublisher())

    def test_round_trip_keeps_the_elements(self) -> None:
        stream = from_observable(to_observable(pyrs.range(1_000)).pipe(rx.filter(lambda n: n % 2 == 0)))
        assert stream.collect() == list(range(0, 1_000, 2))

    def test_bounded_requests_receive_every_element_of_another_thread(self) -> None:
        threaded = pyrs.range(1_000).publish_on(pyrs.schedulers.default())
        results = to_observable(threaded, request=16).pipe(rx.to_list()).run()
        assert results == list(range(1_000))

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match="stream must be a Publisher"):
            to_observable([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="scheduler must be a reactivex scheduler"):
            to_observable(pyrs.range(1), scheduler=pyrs.schedulers.inline())  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="request must be at least 1"):
            to_observable(pyrs.range(1), request=0)
