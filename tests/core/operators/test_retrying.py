"""retry, retry_when and Backoff: number of attempts, delays, demand and cleanup."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyrs
from pyrs import schedulers
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import error_of, notes_of, stack_depth


class Attempts:
    """A source that emits its elements and fails a given number of times, then emits them and completes."""

    def __init__(self, failures: int, *elements: Any) -> None:
        self.failures = failures
        self.elements = elements
        self.count = 0

    def stream(self) -> pyrs.Stream[Any]:
        return pyrs.from_iterable(self)

    def __iter__(self) -> Iterator[Any]:
        self.count += 1
        return self._attempt(self.count)

    def _attempt(self, number: int) -> Iterator[Any]:
        yield from self.elements
        if number <= self.failures:
            raise OSError(f"attempt {number}")


class TestRetry:
    def test_retry_resubscribes_until_the_source_completes(self) -> None:
        source = Attempts(2, 1, 2)
        assert source.stream().retry().collect() == [1, 2] * 3
        assert source.count == 3

    def test_retry_fails_after_the_given_number_of_retries_and_notes_the_attempts(self) -> None:
        source = Attempts(9)
        error = error_of(source.stream().retry(2))
        assert str(error) == "attempt 3"
        assert source.count == 3
        notes = [note for note in notes_of(error) if note.startswith("after")]
        assert len(notes) == 1
        assert notes[0].startswith("after 3 attempts in retry(2), assembled at ")
        assert __file__ in notes[0]

    def test_single_attempt_adds_no_note(self) -> None:
        assert not any(note.startswith("after") for note in notes_of(error_of(Attempts(9).stream().retry(0))))

    def test_repeated_error_object_has_each_note_once(self) -> None:
        error = error_of(pyrs.error(OSError("always the same")).retry(50).retry(1))
        assert [note.partition(",")[0] for note in notes_of(error)] == [
            "after 51 attempts in retry(50)",
            "after 2 attempts in retry(1)",
        ]

    def test_when_selects_the_errors_to_retry(self) -> None:
        for when in (OSError, (KeyError, OSError), lambda error: "attempt" in str(error)):
            assert Attempts(1, 1).stream().retry(when=when).collect() == [1, 1]
        for other in (KeyError, (), lambda error: False):
            assert str(error_of(Attempts(1, 1).stream().retry(when=other))) == "attempt 1"

    def test_exception_of_the_predicate_replaces_the_error(self) -> None:
        def when(error: BaseException) -> bool:
            raise KeyError("mine")

        error = error_of(Attempts(1).stream().retry(when=when))
        assert isinstance(error, KeyError)
        assert isinstance(error.__context__, OSError)
        assert notes_of(error)[0].startswith("in retry(when=when), assembled at")

    def test_retry_requests_the_outstanding_demand(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        failing: TestPublisher[int] = TestPublisher()
        publishers = [failing, source]
        subscriber: TestSubscriber[int] = TestSubscriber(5)
        pyrs.defer(lambda: publishers.pop(0)).retry(1).subscribe(subscriber)
        failing.next(1, 2).error(OSError())
        assert source.requests == [3]
        source.next(3, 4, 5)
        subscriber.request(1)
        assert source.requests == [3, 1]
        subscriber.cancel()
        source.assert_cancelled(1)

    @given(
        failures=st.integers(0, 3),
        times=st.one_of(st.none(), st.integers(0, 4)),
        size=st.integers(0, 3),
        requests=st.lists(st.integers(1, 5), max_size=12),
    )
    def test_retry_matches_the_list_model(
        self, failures: int, times: int | None, size: int, requests: list[int]
    ) -> None:
        source = Attempts(failures, *range(size))
        attempts = failures + 1 if times is None else min(failures, times) + 1
        model = list(range(size)) * attempts
        subscriber: TestSubscriber[int] = TestSubscriber()
        source.stream().retry(times).subscribe(subscriber)
        demanded = 0
        for n in requests:
            subscriber.request(n)
            demanded += n
            assert subscriber.elements == model[:demanded]
        if demanded > len(model):
            assert subscriber.await_end().completed == (attempts > failures)
            assert source.count == attempts

    def test_10000_attempts_use_constant_stack_depth(self) -> None:
        deepest = 0

        class FailingPublisher(pyrs.Publisher[Any]):
            count = 0

            def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
                nonlocal deepest
                self.count += 1
                if not self.count % 1_000:
                    deepest = max(deepest, stack_depth())
                done = pyrs.just("done") if self.count == 10_000 else pyrs.error(OSError(str(self.count)))
                done.subscribe(subscriber)

        assert pyrs.Stream(FailingPublisher()).retry().collect() == ["done"]
        assert deepest < stack_depth() + 30

    def test_errors_of_attempts_are_not_chained(self) -> None:
        source = Attempts(1_000, 1)
        subscriber: TestSubscriber[int] = TestSubscriber()
        source.stream().retry(500).subscribe(subscriber)
        for _ in range(600):
            subscriber.request(1)
        error: BaseException | None = subscriber.await_error()
        length = 0
        while error is not None:
            error, length = error.__context__, length + 1
        assert length < 5

    def test_cancel_stops_retrying(self) -> None:
        source = Attempts(10**9, 1)
        subscriber: TestSubscriber[int] = TestSubscriber(
            None, on_element=lambda self, _: self.cancel() if len(self.elements) == 3 else None
        )
        source.stream().retry().subscribe(subscriber)
        assert (subscriber.elements, source.count) == ([1, 1, 1], 3)


class TestRetryWithBackoff:
    def test_backoff_waits_on_the_scheduler(self) -> None:
        source = Attempts(3)
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        with schedulers.use(schedulers.VirtualTime()) as time:
            source.stream().retry(backoff=pyrs.Backoff(first=1, factor=2, jitter=0)).subscribe(subscriber)
            for second, count in ((0.9, 1), (0.2, 2), (1.8, 2), (0.2, 3), (3.7, 3), (0.3, 4)):
                time.advance_by(second)
                assert source.count == count
        assert subscriber.await_complete() == []
        assert time.pending == 0

    def test_cancel_during_backoff_stops_retrying(self) -> None:
        time = schedulers.VirtualTime()
        source = Attempts(9)
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        source.stream().retry(backoff=pyrs.Backoff(), scheduler=time).subscribe(subscriber)
        assert time.pending == 1
        subscriber.cancel()
        time.advance_by(60)
        assert source.count == 1
        subscriber.assert_live()

    def test_requests_during_backoff_are_kept(self) -> None:
        time = schedulers.VirtualTime()
        subscriber: TestSubscriber[int] = TestSubscriber(0)
        Attempts(1, 1, 2).stream().retry(backoff=pyrs.Backoff(), scheduler=time).subscribe(subscriber)
        subscriber.request(3)
        subscriber.assert_elements(1, 2)
        subscriber.request(1)
        time.advance_by(60)
        subscriber.assert_elements(1, 2, 1, 2)

    def test_illegal_request_during_backoff_signals_on_error(self) -> None:
        time = schedulers.VirtualTime()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        Attempts(1).stream().retry(backoff=pyrs.Backoff(), scheduler=time).subscribe(subscriber)
        subscriber.request(0)
        subscriber.assert_error(pyrs.NonPositiveRequest)

    def test_illegal_request_is_not_retried(self) -> None:
        source = Attempts(0, 1, 2)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        source.stream().retry().on_error_return(9).subscribe(subscriber)
        subscriber.request(-1)
        subscriber.assert_elements(1).assert_error(pyrs.NonPositiveRequest)
        assert source.count == 1

    def test_closed_scheduler_signals_on_error(self) -> None:
        time = schedulers.VirtualTime()
        time.close()
        error = error_of(Attempts(1).stream().retry(backoff=pyrs.Backoff(), scheduler=time))
        assert isinstance(error, schedulers.SchedulerClosed)
        assert isinstance(error.__cause__, OSError)

    def test_attempts_run_in_the_subscribers_context(self) -> None:
        variable: ContextVar[str] = ContextVar("variable", default="none")
        seen: list[str] = []

        def attempt() -> str:
            seen.append(variable.get())
            if len(seen) < 3:
                raise OSError
            return "up"

        time = schedulers.VirtualTime()
        token = variable.set("mine")
        pyrs.from_callable(attempt).retry(backoff=pyrs.Backoff(), scheduler=time).subscribe(on_next=print)
        variable.reset(token)
        time.advance_by(60)
        assert seen == ["mine"] * 3

    def test_cancel_while_the_timer_is_armed_leaves_no_timer(self) -> None:
        """The cancel precedes the timer, so the code that arms the timer must check for a cancel."""
        subscriber: TestSubscriber[int] = TestSubscriber(None)

        class CancellingScheduler(schedulers.VirtualTime):
            def schedule(self, task: Callable[[], object], delay: float = 0.0) -> schedulers.Cancellable:
                subscriber.cancel()
                return super().schedule(task, delay)

        time = CancellingScheduler()
        Attempts(9).stream().retry(backoff=pyrs.Backoff(), scheduler=time).subscribe(subscriber)
        assert time.pending == 0

    def test_backoff_works_on_the_default_scheduler(self) -> None:
        assert Attempts(3, 1).stream().retry(backoff=pyrs.Backoff(0.001)).collect(timeout=30) == [1] * 4

    def test_cancel_and_timer_race_leaves_no_timer(self, dropped: Any) -> None:
        for _ in range(300):
            time = schedulers.VirtualTime()
            source = Attempts(10**9, 1)
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            source.stream().retry(backoff=pyrs.Backoff(1, 1, jitter=0), scheduler=time).subscribe(subscriber)
            start = threading.Barrier(2)

            def cancel(start: threading.Barrier = start, subscriber: TestSubscriber[int] = subscriber) -> None:
                start.wait(30)
                subscriber.cancel()

            thread = threading.Thread(target=cancel)
            thread.start()
            start.wait(30)
            time.advance_by(3)
            thread.join(30)
            count = source.count
            time.advance_by(10)
            assert source.count == count
            assert time.pending == 0
            subscriber.assert_rules()
        # An attempt that was active at the cancel may drop its error.
        assert all(isinstance(error, OSError) for error in dropped.take())


class TestBackoff:
    def test_delay_grows_to_the_maximum(self) -> None:
        backoff = pyrs.Backoff(first=timedelta(seconds=1), factor=3, most=20, jitter=0)
        assert [backoff.delay(n) for n in (1, 2, 3, 4, 5)] == [1, 3, 9, 20, 20]
        assert backoff.delay(10**9) == 20
        assert pyrs.Backoff(first=0, jitter=0).delay(10**9) == 0

    @given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 40))
    def test_jitter_stays_within_its_bounds(self, jitter: float, random: float, attempt: int) -> None:
        exact = pyrs.Backoff(jitter=0).delay(attempt)
        delay = pyrs.Backoff(jitter=jitter, random=lambda: random).delay(attempt)
        assert exact * (1 - jitter) * 0.999 <= delay <= min(10.0, exact * (1 + jitter) * 1.001)

    def test_jitter_is_random_by_default(self) -> None:
        assert len({pyrs.Backoff().delay(3) for _ in range(20)}) > 1

    def test_backoff_is_a_value(self) -> None:
        assert pyrs.Backoff(1) == pyrs.Backoff(1.0)
        assert hash(pyrs.Backoff(1)) == hash(pyrs.Backoff(1.0))
        assert pyrs.Backoff(1) != pyrs.Backoff(2)
        assert pyrs.Backoff(1) != 1
        assert repr(pyrs.Backoff(1)) == "Backoff(first=1.0, factor=2.0, most=10.0, jitter=0.5)"

    def test_random_function_may_be_false(self) -> None:
        class Middle(list[float]):
            def __call__(self) -> float:
                return 0.5

        assert pyrs.Backoff(first=1, jitter=1, random=Middle()).delay(1) == 1.0

    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            (lambda: pyrs.Backoff("1"), TypeError, "first must be a number of seconds"),  # type: ignore[arg-type]
            (lambda: pyrs.Backoff(-1), ValueError, "first must be finite"),
            (lambda: pyrs.Backoff(most=float("inf")), ValueError, "most must be finite"),
            (lambda: pyrs.Backoff(5, most=1), ValueError, "most must be at least 5.0, the value of first, not 1.0"),
            (lambda: pyrs.Backoff(factor=0.5), ValueError, "factor must be finite and at least 1"),
            (lambda: pyrs.Backoff(factor="2"), TypeError, "factor must be a number"),  # type: ignore[arg-type]
            (lambda: pyrs.Backoff(factor=float("nan")), ValueError, "factor must be finite and at least 1"),
            (lambda: pyrs.Backoff(jitter=1.5), ValueError, "jitter must be between 0 and 1"),
            (lambda: pyrs.Backoff(random=3), TypeError, "random must be callable"),  # type: ignore[arg-type]
            (lambda: pyrs.Backoff().delay(0), ValueError, "attempt must be at least 1"),
        ],
    )
    def test_backoff_rejects_wrong_arguments(
        self, wrong: Callable[[], object], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            wrong()


class TestRetryWhen:
    def test_retry_when_retries_for_each_signal(self) -> None:
        source = Attempts(3, 1)
        seen: list[str] = []

        def signals(errors: pyrs.Stream[BaseException]) -> pyrs.Stream[str]:
            def note(error: BaseException) -> str:
                seen.append(str(error))
                return "go"

            return errors.map(note)

        assert source.stream().retry_when(signals).collect() == [1] * 4
        assert seen == ["attempt 1", "attempt 2", "attempt 3"]

    def test_retry_when_requests_signals_one_at_a_time(self) -> None:
        signals: TestPublisher[str] = TestPublisher()
        source = Attempts(3, 1)
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        source.stream().retry_when(lambda errors: signals).subscribe(subscriber)
        assert (source.count, signals.requests) == (1, [1])
        signals.next("go")
        assert (source.count, signals.requests) == (2, [1, 1])
        signals.next("go")
        signals.next("go")
        assert subscriber.await_complete() == [1] * 4
        signals.assert_cancelled(1)

    def test_completion_of_the_signals_completes_the_stream(self) -> None:
        assert Attempts(9, 1).stream().retry_when(lambda errors: errors.take(2)).collect() == [1] * 3
        assert Attempts(9, 1).stream().retry_when(lambda errors: pyrs.just("a", "b")).collect() == [1] * 3
        assert Attempts(9, 1).stream().retry_when(lambda errors: pyrs.empty()).collect() == [1]

    def test_error_of_the_signals_fails_the_stream(self) -> None:
        def signals(errors: pyrs.Stream[BaseException]) -> pyrs.Stream[Any]:
            def give_up(error: BaseException) -> BaseException:
                raise KeyError("enough") from error

            return errors.map(give_up)

        error = error_of(Attempts(9, 1).stream().retry_when(signals))
        assert isinstance(error, KeyError)
        assert isinstance(error.__cause__, OSError)

    def test_error_of_the_signals_waits_for_the_current_attempt(self, dropped: Any) -> None:
        for completes in (True, False):
            signals: TestPublisher[str] = TestPublisher()
            source: TestPublisher[int] = TestPublisher()
            subscriber: TestSubscriber[int] = TestSubscriber(None)
            source.stream().retry_when(lambda errors, s=signals: s).subscribe(subscriber)  # type: ignore[misc]
            signals.error(KeyError("enough"))
            source.next(1)
            subscriber.assert_elements(1).assert_live()
            if completes:
                source.complete()
                subscriber.await_complete()
                assert isinstance(dropped.take()[0], KeyError)
            else:
                source.error(OSError())
                assert isinstance(subscriber.await_error(), KeyError)

    def test_function_that_raises_or_returns_no_publisher_signals_on_error(self) -> None:
        def function(errors: pyrs.Stream[BaseException]) -> pyrs.Stream[int]:
            raise KeyError("mine")

        source = Attempts(1)
        error = error_of(source.stream().retry_when(function))
        assert isinstance(error, KeyError)
        assert notes_of(error)[0].startswith("in retry_when(function), assembled at")
        error = error_of(source.stream().retry_when(lambda errors: 3))  # type: ignore[arg-type, return-value]
        assert "the result of function must be a Publisher" in str(error)
        assert source.count == 0

    def test_errors_may_have_several_subscribers(self) -> None:
        seen: list[str] = []
        events: list[str] = []

        def signals(errors: pyrs.Stream[BaseException]) -> pyrs.Stream[BaseException]:
            errors.subscribe(
                on_next=lambda error: seen.append(str(error)), on_complete=lambda: events.append("completed")
            )
            return errors

        assert Attempts(2, 1).stream().retry_when(signals).collect() == [1] * 3
        assert (seen, events) == (["attempt 1", "attempt 2"], ["completed"])

    def test_late_subscriber_of_the_errors_receives_on_complete(self) -> None:
        recorded: list[pyrs.Stream[BaseException]] = []

        def signals(errors: pyrs.Stream[BaseException]) -> pyrs.Stream[BaseException]:
            recorded.append(errors)
            return errors

        assert Attempts(1, 1).stream().retry_when(signals).collect() == [1, 1]
        assert recorded[0].collect(timeout=10) == []

    def test_handled_error_is_not_kept(self) -> None:
        signals: TestPublisher[str] = TestPublisher()
        listener: TestSubscriber[BaseException] = TestSubscriber(0)

        def function(errors: pyrs.Stream[BaseException]) -> pyrs.Publisher[str]:
            errors.subscribe(listener)
            return signals

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        Attempts(9).stream().retry_when(function).subscribe(subscriber)
        signals.next("go").next("go")
        listener.request(5)
        assert [str(error) for error in listener.elements] == ["attempt 3"]
        subscriber.cancel()
        listener.await_complete()

    def test_handled_error_is_not_delivered_during_the_next_attempt(self) -> None:
        signals: TestPublisher[str] = TestPublisher()
        source: TestPublisher[int] = TestPublisher()
        publishers: list[pyrs.Publisher[int]] = [pyrs.error(OSError("down")), source]
        listener: TestSubscriber[BaseException] = TestSubscriber(0)

        def function(errors: pyrs.Stream[BaseException]) -> pyrs.Publisher[str]:
            errors.subscribe(listener)
            return signals

        subscriber: TestSubscriber[int] = TestSubscriber(None)
        pyrs.defer(lambda: publishers.pop(0)).retry_when(function).subscribe(subscriber)
        signals.next("go")
        listener.request(5)
        listener.assert_elements().assert_live()
        source.error(OSError("again"))
        assert [str(error) for error in listener.elements] == ["again"]
        subscriber.cancel()

    def test_function_is_called_for_each_subscriber(self) -> None:
        calls: list[int] = []

        def function(errors: pyrs.Stream[BaseException]) -> pyrs.Stream[BaseException]:
            calls.append(1)
            return errors

        source = Attempts(1, 1)
        stream = source.stream().retry_when(function)
        assert stream.collect() == [1, 1]
        assert stream.collect() == [1]
        assert len(calls) == 2

    def test_20000_attempts_use_constant_stack_depth(self) -> None:
        source = Attempts(20_000)
        assert source.stream().retry_when(lambda errors: errors).collect() == []
        assert source.count == 20_001

    def test_cancel_reaches_the_source_and_the_signals(self) -> None:
        signals: TestPublisher[str] = TestPublisher()
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        source.stream().retry_when(lambda errors: signals).subscribe(subscriber)
        subscriber.cancel()
        source.assert_cancelled(1)
        signals.assert_cancelled(1)

    @pytest.mark.parametrize("rival", ["cancel", "end"])
    def test_signal_races_with_cancel_and_completion(self, rival: str) -> None:
        """No attempt starts after a cancel, and no signal is duplicated or concurrent."""
        rounds = 1_000
        start = threading.Barrier(3)
        signals: TestPublisher[str] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()

        def signal() -> None:
            for _ in range(rounds):
                start.wait(30)
                try:
                    signals.next("go")
                except AssertionError:
                    pass  # the cancel or the completion preceded the signal
                start.wait(30)

        def end() -> None:
            for _ in range(rounds):
                start.wait(30)
                if rival == "cancel":
                    subscriber.cancel()
                else:
                    signals.complete()
                start.wait(30)

        threads = [threading.Thread(target=work, daemon=True) for work in (signal, end)]
        for thread in threads:
            thread.start()
        for _ in range(rounds):
            source = Attempts(1, 1)
            signals = TestPublisher()
            subscriber = TestSubscriber(None)
            source.stream().retry_when(lambda errors, s=signals: s).subscribe(subscriber)  # type: ignore[misc]
            start.wait(30)
            start.wait(30)
            subscriber.assert_rules()
            assert subscriber.elements in ([1], [1, 1])
            if rival == "end":
                subscriber.await_complete()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
