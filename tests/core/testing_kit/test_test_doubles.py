"""TestSubscriber and TestPublisher: each assertion passes and fails as documented."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs.testing import TestPublisher, TestSubscriber, Violation
from tests.core.support import stack_depth
from tests.core.testing_kit.failing import FailsWithText, fails
from tests.waiting import DEADLINE, on_threads, run_on_threads


def test_import_pyrs_does_not_load_the_testing_kit() -> None:
    program = "import sys, pyrs; print(*(name for name in sys.modules if name.startswith('pyrs.testing')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == []


class TestTestSubscriber:
    def subscribe(self, request: int | None = 5) -> tuple[TestPublisher[Any], TestSubscriber[Any]]:
        publisher: TestPublisher[Any] = TestPublisher(cold=True)
        subscriber: TestSubscriber[Any] = TestSubscriber(request, timeout=0.0)
        publisher.subscribe(subscriber)
        return publisher, subscriber

    def test_assertions_distinguish_a_live_stream(self) -> None:
        publisher, subscriber = self.subscribe()
        publisher.next(1, 2)
        subscriber.assert_elements(1, 2).assert_live().assert_rules()
        fails(lambda: subscriber.assert_elements(1), "expected [1]", "on_next(1), on_next(2)")
        fails(subscriber.assert_complete, "not completed")
        fails(subscriber.assert_error, "no BaseException")
        fails(subscriber.await_end, "a terminal signal did not arrive within 0.0 seconds", "on_subscribe, request(5)")
        fails(lambda: subscriber.await_count(3), "3 elements did not arrive")

    def test_assertions_distinguish_completion_and_error(self) -> None:
        publisher, subscriber = self.subscribe()
        publisher.emit(1)
        assert subscriber.await_complete() == [1]
        fails(subscriber.assert_live, "terminated")
        fails(subscriber.assert_error, "on_complete")
        fails(lambda: subscriber.await_count(2), "terminated before 2 elements")
        publisher, subscriber = self.subscribe()
        publisher.error(OSError("mine"))
        assert isinstance(subscriber.await_error(OSError), OSError)
        assert isinstance(fails(subscriber.assert_complete).__cause__, OSError)
        assert isinstance(fails(lambda: subscriber.assert_error(ValueError)).__cause__, OSError)

    def test_request_and_cancel_without_a_subscription_fail(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(timeout=0.0)
        fails(lambda: subscriber.request(1), "on_subscribe did not arrive", "no signal")
        fails(subscriber.cancel, "on_subscribe did not arrive")

    def test_calls_on_the_subscription_itself_are_recorded(self) -> None:
        publisher, subscriber = self.subscribe(0)
        publisher.next(1, 2)
        subscription = subscriber.await_subscription()
        assert subscription is subscriber.subscription
        subscription.request(1)
        subscriber.assert_elements(1).assert_live()
        with pytest.raises(TypeError):
            subscription.request("1")  # type: ignore[arg-type]
        subscription.cancel()
        fails(subscriber.assert_complete, "on_subscribe, request(1), on_next(1), cancel")

    @pytest.mark.parametrize("violation", list(Violation))
    def test_subscriber_reports_every_violation(self, violation: Violation) -> None:
        publisher: TestPublisher[Any] = TestPublisher(violation)
        subscriber: TestSubscriber[Any] = TestSubscriber(0 if violation is Violation.REQUEST_OVERFLOW else 2)
        publisher.subscribe(subscriber)
        if violation is Violation.DEFER_CANCELLATION:
            subscriber.cancel()
            publisher.next(1, 2)
            subscriber.assert_rules()  # 2.8 allows elements that were requested before the cancel
            assert subscriber.elements == [1, 2]
            return
        if violation is Violation.ALLOW_NULL:
            publisher.next(None).error(None)
        elif violation is Violation.CLEANUP_ON_TERMINATE:
            publisher.complete().next(1).complete().error(OSError())
        else:
            publisher.next(1, 2)
        rule = violation.value.partition(":")[0]
        fails(subscriber.assert_rules, f"rule {rule} violated")

    def test_subscriber_reports_several_violations(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW, Violation.CLEANUP_ON_TERMINATE)
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.subscribe(subscriber)
        publisher.next(1)
        fails(lambda: subscriber.assert_elements(1), "rule 1.1 violated")
        publisher.complete().complete()
        assert any("1.7" in violation for violation in subscriber.violations)

    def test_rule_2_13_none_raises_null_signal(self) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        for signal in ("on_subscribe", "on_next", "on_error"):
            with pytest.raises(pyrs.NullSignal):
                getattr(subscriber, signal)(None)
        assert len([line for line in subscriber.violations if "2.13" in line]) == 3

    def test_await_until_sees_condition_that_on_element_makes_true(self) -> None:
        evaluated, done = threading.Event(), threading.Event()

        def condition() -> bool:
            result = done.is_set()
            if subscriber.elements:
                evaluated.set()
            return result

        def on_element(_: Any, element: int) -> None:
            assert evaluated.wait(DEADLINE)  # the waiting thread has evaluated the condition after this element arrived
            done.set()

        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None, on_element=on_element)
        publisher.subscribe(subscriber)
        with on_threads(lambda: subscriber.await_until(condition, "the condition", 4 * DEADLINE)):
            publisher.next(1)  # the only signal

    def test_signals_in_a_failure_message_are_bounded(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(None, timeout=0.0)
        pyrs.range(1_000).subscribe(subscriber)
        fails(subscriber.assert_error, "(973 signals), on_next(971)", "on_next(999), on_complete")


class TestTestPublisher:
    def test_only_a_cold_publisher_replays_its_signals(self) -> None:
        for cold, seen in ((False, [2]), (True, [1, 2])):
            publisher: TestPublisher[int] = TestPublisher(cold=cold)
            first, second, third = (TestSubscriber[int](9) for _ in range(3))
            publisher.subscribe(first)
            publisher.next(1)
            publisher.subscribe(second)
            publisher.emit(2)
            publisher.subscribe(third)
            first.assert_elements(1, 2).assert_complete()
            second.assert_elements(*seen).assert_complete()
            third.assert_elements(*(seen if cold else [])).assert_complete()

    def test_cold_publisher_emits_on_demand(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        publisher.emit(1, 2, 3).subscribe(subscriber)
        subscriber.assert_elements(1).request(1)
        subscriber.assert_elements(1, 2).assert_live().request(1)
        subscriber.assert_elements(1, 2, 3).assert_complete()

    def test_next_without_demand_fails_the_test(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        with_demand, without_demand = TestSubscriber[int](None), TestSubscriber[int](1)
        publisher.subscribe(with_demand)
        publisher.subscribe(without_demand)
        fails(lambda: publisher.next(1, 2), "on_next(2)", "TestSubscriber (1 requested, 1 sent) has no demand left")
        with_demand.assert_elements(1)
        without_demand.assert_elements(1)

    def test_queued_elements_consume_demand(self) -> None:
        def emit_more(subscriber: TestSubscriber[int], element: int) -> None:
            if element == 1:
                publisher.next(2)
                fails(lambda: publisher.next(3), "no demand left")

        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2, on_element=emit_more)
        publisher.subscribe(subscriber)
        publisher.next(1)
        subscriber.assert_elements(1, 2)

    def test_cancel_stops_signals_and_requests(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        subscriber: TestSubscriber[int] = TestSubscriber(5, on_element=lambda self, n: n == 2 and self.cancel())
        publisher.emit(1, 2, 3).subscribe(subscriber)
        subscriber.request(1)
        subscriber.cancel()
        subscriber.assert_elements(1, 2).assert_live()
        publisher.assert_cancelled(1)
        assert publisher.requests == [5], "a request after the cancel has no effect (3.6)"

    def test_signal_after_termination_fails_the_test(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        publisher.complete()
        for signal in (partial(publisher.next, 1), publisher.complete, partial(publisher.error, OSError())):
            fails(signal, "after the terminal signal", "CLEANUP_ON_TERMINATE")

    def test_none_raises_null_signal(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        for signal in ("next", "error", "subscribe", "emit"):
            with pytest.raises(pyrs.NullSignal):
                getattr(publisher, signal)(None)

    def test_wrong_arguments_raise(self) -> None:
        with pytest.raises(TypeError, match=r"violations must be pyrs\.testing\.Violation"):
            TestPublisher("REQUEST_OVERFLOW")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="CONCURRENT needs a hot"):
            TestPublisher(Violation.CONCURRENT, cold=True)

    def test_requests_inside_on_next_use_constant_stack_depth(self) -> None:
        depths: set[int] = set()

        def request_again(subscriber: TestSubscriber[int], element: int) -> None:
            depths.add(stack_depth())
            subscriber.request(1)

        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=request_again)
        TestPublisher[int](cold=True).emit(*range(1_000)).subscribe(subscriber)
        assert len(subscriber.await_complete()) == 1_000
        assert max(depths) - min(depths) < 10

    def test_rule_3_9_zero_request_signals_on_error(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.next(1).subscribe(subscriber)
        subscriber.request(0)
        subscriber.assert_elements().assert_error(pyrs.NonPositiveRequest)
        publisher.assert_no_subscribers()

    def test_rule_2_13_exception_in_on_next_cancels_and_is_reported(self, dropped: Any) -> None:
        def raise_error(subscriber: TestSubscriber[int], element: int) -> None:
            raise ValueError("mine")

        publisher: TestPublisher[int] = TestPublisher()
        publisher.subscribe(TestSubscriber(5, on_element=raise_error))
        publisher.next(1, 2).assert_cancelled()
        assert [str(error) for error in dropped.take()] == ["mine"]

    def test_assertions_about_subscribers_fail_without_one(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(timeout=0.0)
        publisher.assert_no_subscribers().assert_was_not_subscribed().assert_not_cancelled()
        publisher.assert_was_not_requested().assert_max_requested(0).assert_no_request_overflow().assert_subscribers(0)
        for check in (
            publisher.assert_subscribers,
            publisher.assert_was_subscribed,
            publisher.assert_cancelled,
            publisher.assert_was_requested,
            publisher.assert_request_overflow,
            publisher.assert_second_cancelled,
            partial(publisher.assert_min_requested, 0),
            publisher.await_subscribers,
            publisher.await_cancelled,
            partial(publisher.await_requested, 1),
        ):
            fails(check, "expected", "0 subscribed, 0 cancelled")

    def test_assertions_count_subscribers_requests_and_cancels(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(timeout=0.0)
        first, second = TestSubscriber[int](3), TestSubscriber[int](None)
        publisher.subscribe(first)
        publisher.subscribe(second)
        publisher.assert_subscribers().assert_subscribers(2).assert_was_subscribed().await_subscribers(2)
        publisher.assert_was_requested().assert_min_requested(3).assert_max_requested(pyrs.UNBOUNDED).await_requested(3)
        assert publisher.requests == [3, pyrs.UNBOUNDED]
        fails(lambda: publisher.assert_subscribers(1), "expected 1 Subscribers", "2 subscribed")
        fails(lambda: publisher.assert_min_requested(4), "at least 4", "TestSubscriber (3 requested, 0 sent)")
        fails(lambda: publisher.assert_max_requested(3), "at most 3", "an unbounded number requested")
        fails(lambda: publisher.await_requested(4), "within 0.0 seconds")
        for check in (
            publisher.assert_no_subscribers,
            publisher.assert_was_not_subscribed,
            publisher.assert_was_not_requested,
        ):
            fails(check)
        first.cancel()
        publisher.assert_cancelled().assert_cancelled(1).await_cancelled(1).assert_subscribers(1)
        fails(publisher.assert_not_cancelled, "none cancelled")
        fails(lambda: publisher.assert_cancelled(2), "2 cancelled")
        assert repr(publisher) == "<TestPublisher: 1 Subscribers>"

    def test_await_methods_wait_for_another_thread(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        steps = threading.Barrier(2)

        def run_subscriber() -> None:
            publisher.subscribe(subscriber)
            steps.wait(DEADLINE)
            subscriber.request(2)
            steps.wait(DEADLINE)
            subscriber.cancel()

        thread = threading.Thread(target=run_subscriber)
        thread.start()
        publisher.await_subscribers()
        steps.wait(DEADLINE)
        publisher.await_requested(2)
        steps.wait(DEADLINE)
        publisher.await_cancelled()
        thread.join(DEADLINE)

    def test_request_overflow_is_detected(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        publisher.subscribe(subscriber)
        publisher.next(1).assert_no_request_overflow()
        publisher.next(2).assert_request_overflow()
        fails(publisher.assert_no_request_overflow, "no element without demand")
        assert subscriber.elements == [1, 2]

    def test_assert_second_cancelled_fails_for_a_live_second_subscription(self) -> None:
        class Greedy(TestSubscriber[int]):
            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                self.subscription = subscription
                subscription.request(1)

        publisher: TestPublisher[int] = TestPublisher(Violation.TWO_ON_SUBSCRIBE)
        publisher.subscribe(Greedy())
        fails(publisher.assert_second_cancelled, "the second Subscription of each cancelled")
        publisher.assert_min_requested(1).assert_max_requested(1)

    def test_concurrent_signals_overlap_in_hold(self) -> None:
        inside: list[int] = []
        highest = 0

        class CountingSubscriber(TestSubscriber[int]):
            def on_next(self, element: int, /) -> None:
                nonlocal highest
                inside.append(element)
                highest = max(highest, len(inside))
                publisher.hold()
                inside.remove(element)

        publisher: TestPublisher[int] = TestPublisher(Violation.CONCURRENT)
        publisher.subscribe(CountingSubscriber(None))
        publisher.next(1, 2, 3)
        assert highest == 2
        publisher.hold()  # returns immediately without a concurrent signal

    def test_concurrent_signals_without_overlap_fail(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(Violation.CONCURRENT)
        publisher.stream().filter(lambda n: False).subscribe(TestSubscriber(None))
        fails(lambda: publisher.next(1, 2), "did not overlap", "hold()")

    def test_next_from_two_threads_is_serialized(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        publisher.subscribe(subscriber)
        start = threading.Barrier(2)

        def emit() -> None:
            start.wait(DEADLINE)
            publisher.next(*range(2_000))

        run_on_threads(*[emit] * 2)
        assert len(subscriber.await_count(4_000)) == 4_000
        subscriber.assert_rules()


def test_an_error_that_is_not_an_exception_violates_a_rule() -> None:
    for check in (TestSubscriber.assert_rules, TestSubscriber.assert_error, TestSubscriber.await_complete):
        subscriber = TestSubscriber[int]()
        FailsWithText().subscribe(subscriber)
        fails(partial(check, subscriber), "rule 1.4 violated: on_error('down'), whose argument is not an exception")


@pytest.mark.parametrize("error", ["down", ValueError, 5])
def test_error_of_a_test_publisher_must_be_an_exception(error: Any) -> None:
    publisher, subscriber = TestPublisher[int](), TestSubscriber[int]()
    publisher.subscribe(subscriber)
    with pytest.raises(TypeError, match="error must be an exception, not"):
        publisher.error(error)
    subscriber.assert_live()


def test_a_request_that_is_not_an_integer_names_its_type() -> None:
    subscriber = TestSubscriber[int]()
    pyrs.range(3).subscribe(subscriber)
    for n in (None, "1", 1.5):
        with pytest.raises(TypeError, match="n must be an integer, not"):
            subscriber.request(n)  # type: ignore[arg-type]
    subscriber.assert_elements().assert_live()


def test_the_deadline_of_a_wait_may_be_a_timedelta() -> None:
    subscriber, publisher = TestSubscriber[int](), TestPublisher[int]()
    fails(lambda: subscriber.await_end(timedelta(0)), "a terminal signal did not arrive within 0.0 seconds")
    fails(lambda: publisher.await_subscribers(1, timedelta(0)), "1 Subscribers within 0.0 seconds")
    with pytest.raises(TypeError, match="timeout must be a number of seconds or a timedelta, not str"):
        subscriber.await_end("1")  # type: ignore[arg-type]
