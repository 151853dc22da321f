"""The testing kit: every assertion holds when it should, and fails when it should, with words that help."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core import hooks
from pyrs.testing import DroppedAssertions, StepVerifier, TestPublisher, TestSubscriber, Violation

DEADLINE = 10.0


def fails(check: Callable[[], object], *words: str) -> AssertionError:
    with pytest.raises(AssertionError) as caught:
        check()
    for word in words:
        assert word in str(caught.value)
    return caught.value


@pytest.mark.parametrize("module", ["", ".publisher", ".subscriber", ".verifier"])
def test_the_examples_in_docstrings_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"pyrs.testing{module}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_import_pyrs_loads_nothing_of_the_kit() -> None:
    program = "import sys, pyrs; print(*(name for name in sys.modules if name.startswith('pyrs.testing')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == []


class TestTestSubscriber:
    def subscribed(self, request: int | None = 5) -> tuple[TestPublisher[Any], TestSubscriber[Any]]:
        publisher: TestPublisher[Any] = TestPublisher(cold=True)
        subscriber: TestSubscriber[Any] = TestSubscriber(request, timeout=0.0)
        publisher.subscribe(subscriber)
        return publisher, subscriber

    def test_assertions_of_a_live_stream(self) -> None:
        publisher, subscriber = self.subscribed()
        publisher.next(1, 2)
        subscriber.assert_elements(1, 2).assert_live().assert_rules()
        fails(lambda: subscriber.assert_elements(1), "expected [1]", "on_next(1), on_next(2)")
        fails(subscriber.assert_complete, "not completed")
        fails(subscriber.assert_error, "no BaseException")
        fails(subscriber.await_end, "the end did not come within 0.0 seconds", "on_subscribe, request(5)")
        fails(lambda: subscriber.await_count(3), "3 elements did not come")

    def test_assertions_of_the_end(self) -> None:
        publisher, subscriber = self.subscribed()
        publisher.emit(1)
        assert subscriber.await_complete() == [1]
        fails(subscriber.assert_live, "ended")
        fails(subscriber.assert_error, "on_complete")
        fails(lambda: subscriber.await_count(2), "ended before 2 elements")
        publisher, subscriber = self.subscribed()
        publisher.error(OSError("mine"))
        assert isinstance(subscriber.await_error(OSError), OSError)
        assert isinstance(fails(subscriber.assert_complete).__cause__, OSError)
        assert isinstance(fails(lambda: subscriber.assert_error(ValueError)).__cause__, OSError)

    def test_without_a_subscription(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(timeout=0.0)
        fails(lambda: subscriber.request(1), "on_subscribe did not come", "no signal")
        fails(subscriber.cancel, "on_subscribe did not come")

    @pytest.mark.parametrize("violation", list(Violation))
    def test_sees_every_violation(self, violation: Violation) -> None:
        publisher: TestPublisher[Any] = TestPublisher(violation)
        subscriber: TestSubscriber[Any] = TestSubscriber(0 if violation is Violation.REQUEST_OVERFLOW else 2)
        publisher.subscribe(subscriber)
        if violation is Violation.DEFER_CANCELLATION:
            subscriber.cancel()
            publisher.next(1, 2)
            subscriber.assert_rules()  # 2.8: requested before
            assert subscriber.elements == [1, 2]
            return
        if violation is Violation.ALLOW_NULL:
            publisher.next(None).error(None)
        elif violation is Violation.CLEANUP_ON_TERMINATE:
            publisher.complete().next(1).complete().error(OSError())
        else:
            publisher.next(1, 2)
        rule = violation.value.partition(":")[0]
        fails(subscriber.assert_rules, f"rule {rule} broken")

    def test_rule_2_13_refuses_none(self) -> None:
        subscriber: TestSubscriber[Any] = TestSubscriber()
        for signal in ("on_subscribe", "on_next", "on_error"):
            with pytest.raises(pyrs.NullSignal):
                getattr(subscriber, signal)(None)
        assert len([line for line in subscriber.violations if "2.13" in line]) == 3

    def test_the_story_is_bounded(self) -> None:
        subscriber: TestSubscriber[int] = TestSubscriber(None, timeout=0.0)
        pyrs.range(1_000).subscribe(subscriber)
        fails(subscriber.assert_error, "(973 signals), on_next(971)", "on_next(999), on_complete")


class TestTestPublisher:
    def test_hot_or_cold(self) -> None:
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

    def test_a_cold_one_signals_on_demand(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        publisher.emit(1, 2, 3).subscribe(subscriber)
        subscriber.assert_elements(1).request(1)
        subscriber.assert_elements(1, 2).assert_live().request(1)
        subscriber.assert_elements(1, 2, 3).assert_complete()

    def test_an_element_without_demand_is_the_tests_mistake(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        rich, poor = TestSubscriber[int](None), TestSubscriber[int](1)
        publisher.subscribe(rich)
        publisher.subscribe(poor)
        fails(lambda: publisher.next(1, 2), "on_next(2)", "TestSubscriber (1 requested, 1 sent) has no demand left")
        rich.assert_elements(1)
        poor.assert_elements(1)

    def test_what_waits_counts_against_the_demand(self) -> None:
        def more(subscriber: TestSubscriber[int], element: int) -> None:
            if element == 1:
                publisher.next(2)
                fails(lambda: publisher.next(3), "no demand left")

        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(2, on_element=more)
        publisher.subscribe(subscriber)
        publisher.next(1)
        subscriber.assert_elements(1, 2)

    def test_nothing_after_a_cancel(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        subscriber: TestSubscriber[int] = TestSubscriber(5, on_element=lambda self, n: n == 2 and self.cancel())
        publisher.emit(1, 2, 3).subscribe(subscriber)
        subscriber.request(1)
        subscriber.cancel()
        subscriber.assert_elements(1, 2).assert_live()
        publisher.assert_cancelled(1)
        assert publisher.requests == [5], "3.6"

    def test_nothing_after_the_end(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        publisher.complete()
        for signal in (partial(publisher.next, 1), publisher.complete, partial(publisher.error, OSError())):
            fails(signal, "after the end", "CLEANUP_ON_TERMINATE")

    def test_none_is_refused(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        for signal in ("next", "error", "subscribe", "emit"):
            with pytest.raises(pyrs.NullSignal):
                getattr(publisher, signal)(None)

    def test_bad_arguments(self) -> None:
        with pytest.raises(TypeError, match="violations must be of"):
            TestPublisher("REQUEST_OVERFLOW")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="CONCURRENT needs a hot"):
            TestPublisher(Violation.CONCURRENT, cold=True)

    def test_requests_inside_on_next_do_not_nest(self) -> None:
        depths: set[int] = set()

        def again(subscriber: TestSubscriber[int], element: int) -> None:
            depth, frame = 0, sys._getframe()
            while frame.f_back is not None:
                depth, frame = depth + 1, frame.f_back
            depths.add(depth)
            subscriber.request(1)

        subscriber: TestSubscriber[int] = TestSubscriber(1, on_element=again)
        TestPublisher[int](cold=True).emit(*range(1_000)).subscribe(subscriber)
        assert len(subscriber.await_complete()) == 1_000
        assert max(depths) - min(depths) < 10

    def test_rule_3_9(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        subscriber: TestSubscriber[int] = TestSubscriber()
        publisher.next(1).subscribe(subscriber)
        subscriber.request(0)
        subscriber.assert_elements().assert_error(pyrs.NonPositiveRequest)
        publisher.assert_no_subscribers()

    def test_rule_2_13_a_subscriber_that_raises_is_cancelled_and_reported(self, dropped: Any) -> None:
        def raises(subscriber: TestSubscriber[int], element: int) -> None:
            raise ValueError("mine")

        publisher: TestPublisher[int] = TestPublisher()
        publisher.subscribe(TestSubscriber(5, on_element=raises))
        publisher.next(1, 2).assert_cancelled()
        assert [str(error) for error in dropped.take()] == ["mine"]

    def test_assertions_before_anybody_came(self) -> None:
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

    def test_assertions_with_subscribers(self) -> None:
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

    def test_a_request_that_comes_later_is_awaited(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber()
        steps = threading.Barrier(2)

        def elsewhere() -> None:
            publisher.subscribe(subscriber)
            steps.wait(DEADLINE)
            subscriber.request(2)
            steps.wait(DEADLINE)
            subscriber.cancel()

        thread = threading.Thread(target=elsewhere)
        thread.start()
        publisher.await_subscribers()
        steps.wait(DEADLINE)
        publisher.await_requested(2)
        steps.wait(DEADLINE)
        publisher.await_cancelled()
        thread.join(DEADLINE)

    def test_overflow(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW)
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        publisher.subscribe(subscriber)
        publisher.next(1).assert_no_request_overflow()
        publisher.next(2).assert_request_overflow()
        fails(publisher.assert_no_request_overflow, "no element without demand")
        assert subscriber.elements == [1, 2]

    def test_a_second_subscription_that_is_not_cancelled(self) -> None:
        class Greedy(TestSubscriber[int]):
            def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
                self.subscription = subscription
                subscription.request(1)

        publisher: TestPublisher[int] = TestPublisher(Violation.TWO_ON_SUBSCRIBE)
        publisher.subscribe(Greedy())
        fails(publisher.assert_second_cancelled, "the second Subscription of each cancelled")
        publisher.assert_min_requested(1).assert_max_requested(1)

    def test_concurrent_signals_overlap_in_whoever_holds(self) -> None:
        inside: list[int] = []
        most = 0

        class Counts(TestSubscriber[int]):
            def on_next(self, element: int, /) -> None:
                nonlocal most
                inside.append(element)
                most = max(most, len(inside))
                publisher.hold()
                inside.remove(element)

        publisher: TestPublisher[int] = TestPublisher(Violation.CONCURRENT)
        publisher.subscribe(Counts(None))
        publisher.next(1, 2, 3)
        assert most == 2
        publisher.hold()  # nobody to wait for

    def test_concurrent_signals_that_did_not_overlap(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(Violation.CONCURRENT)
        publisher.stream().filter(lambda n: False).subscribe(TestSubscriber(None))
        fails(lambda: publisher.next(1, 2), "did not overlap", "hold()")

    def test_next_from_two_threads_is_serial(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(None)
        publisher.subscribe(subscriber)
        start = threading.Barrier(2)

        def say() -> None:
            start.wait(DEADLINE)
            publisher.next(*range(2_000))

        threads = [threading.Thread(target=say) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        assert len(subscriber.await_count(4_000)) == 4_000
        subscriber.assert_rules()


def endless() -> pyrs.Stream[int]:
    def count() -> Iterator[int]:
        n = 0
        while True:
            yield n
            n += 1

    return pyrs.from_iterable(count())


class TestStepVerifier:
    def test_elements(self) -> None:
        verifier = StepVerifier.create(pyrs.range(10)).expect_subscription().expect_next(0, 1).expect_next_count(2)
        verifier.expect_next_matches(lambda n: n == 4).expect_next_sequence([5, 6])
        verifier.consume_while(lambda n: n < 9).expect_next(9).expect_complete()
        for _ in range(2):  # it may be used again
            assert verifier.verify() >= 0.0

    @pytest.mark.parametrize(
        ("step", "words"),
        [
            (lambda v: v.expect_next(0, 7), ("expect_next(0, 7)", "expected: on_next(7)", "came: on_next(1)")),
            (lambda v: v.expect_next_sequence(range(1, 3)), ("expected: on_next(1)", "came: on_next(0)")),
            (lambda v: v.expect_next_count(4), ("expected: element 4 of 4", "came: on_complete")),
            (lambda v: v.expect_next_matches(bool), ("for which bool is true", "came: on_next(0)")),
            (lambda v: v.expect_no_event(0.0), ("expected: no signal", "came: on_next(0)")),
            (lambda v: v.consume_next_with(lambda n: 1 // n), ("expected: an element for", "ZeroDivisionError")),
        ],
    )
    def test_what_does_not_come(self, step: Callable[[Any], Any], words: tuple[str, ...]) -> None:
        verifier = step(StepVerifier.create(pyrs.range(3)).expect_subscription())
        fails(verifier.then_cancel().verify, "step 2 of 3", "so far: on_subscribe, request(unbounded)", *words)

    def test_what_ends_otherwise(self) -> None:
        def verifier() -> StepVerifier[int]:
            return StepVerifier.create(pyrs.range(3)).expect_next_count(2)

        fails(verifier().verify_complete, "expected: on_complete", "came: on_next(2)")
        fails(verifier().verify_error, "expected: on_error", "came: on_next(2)")
        fails(lambda: verifier().verify_timeout(0.0), "expected: no signal", "came: on_next(2)")
        fails(verifier().consume_while(bool).expect_next(3).verify_complete, "step 3 of 4", "came: on_complete")

    def test_a_failure_names_the_step_and_its_line(self) -> None:
        verifier = StepVerifier.create(pyrs.just("a", "b"))
        verifier.expect_next("a")
        verifier.expect_next("c")
        line = sys._getframe().f_lineno - 1
        failure = fails(verifier.verify_complete, f"step 2 of 3, expect_next('c'), {__file__}:{line}\n")
        assert str(failure).splitlines()[1:] == [
            "  expected: on_next('c')",
            "  came: on_next('b')",
            "  so far: on_subscribe, request(unbounded), on_next('a'), on_next('b')",
        ]

    def test_errors(self) -> None:
        def failing() -> StepVerifier[Any]:
            return StepVerifier.create(pyrs.error(OSError("paper is out")))

        failing().verify_error()
        failing().verify_error(OSError, matching="paper .* out")
        failing().expect_error_matches(lambda error: isinstance(error, OSError)).verify()
        for verifier, expected in (
            (failing().expect_error(ValueError), "on_error(ValueError)"),
            (failing().expect_error(matching="ink"), "on_error matching 'ink'"),
            (failing().expect_error_matches(lambda error: False), "is true"),
            (failing().expect_complete(), "on_complete"),
            (failing().expect_next(1).expect_complete(), "on_next(1)"),
            (failing().expect_no_event(0).expect_error(), "no signal"),
        ):
            failure = fails(verifier.verify, expected, "came: on_error(OSError('paper is out'))")
            assert isinstance(failure.__cause__, OSError), "the traceback of the stream's error is shown"

    def test_what_a_step_raises(self) -> None:
        def wrong(element: int) -> None:
            assert element == 7, "not seven"

        failure = fails(
            StepVerifier.create(pyrs.just(1)).consume_next_with(wrong).verify_complete,
            "step 1 of 2, consume_next_with(wrong)",
            "not seven",
        )
        assert isinstance(failure.__cause__, AssertionError)
        verifier = StepVerifier.create(pyrs.just(1)).then(lambda: 1 // 0).expect_next(1)
        failure = fails(verifier.verify_complete, "step 1 of 3, then(", "ZeroDivisionError")
        assert isinstance(failure.__cause__, ZeroDivisionError)

    def test_a_task_that_raises_late_is_named_although_the_script_went_on(self) -> None:
        def task() -> None:
            publisher.next(1)
            raise OSError("late")

        publisher: TestPublisher[int] = TestPublisher()
        verifier = StepVerifier.create(publisher).then(task).expect_next(1)
        fails(verifier.verify_complete, "step 1 of 3, then(", "OSError('late')")

    def test_an_interrupt_travels_on(self) -> None:
        def interrupt(element: Any = None) -> None:
            raise KeyboardInterrupt

        publisher: TestPublisher[int] = TestPublisher(cold=True)
        publisher.emit(1)
        with pytest.raises(KeyboardInterrupt):
            StepVerifier.create(publisher).then(interrupt).verify_complete()
        publisher.assert_no_subscribers()
        with pytest.raises(KeyboardInterrupt):
            StepVerifier.create(publisher).consume_next_with(interrupt).verify_complete()
        publisher.assert_no_subscribers()

    def test_recording(self) -> None:
        def verifier() -> StepVerifier[int]:
            return StepVerifier.create(pyrs.range(5)).expect_next(0).record_with(set).expect_next_count(3)

        seen: list[Any] = []
        verifier().consume_recorded_with(seen.append).expect_next(4).verify_complete()
        assert seen == [{1, 2, 3}]
        verifier().expect_recorded_matches(lambda kept: kept == {1, 2, 3}).expect_next(4).verify_complete()
        fails(
            verifier().expect_recorded_matches(lambda kept: 0 in kept).expect_next(4).verify_complete,
            "an assertion that holds",
            "{1, 2, 3}",
        )

    def test_demand(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        publisher.emit(1, 2, 3)
        verifier = StepVerifier.create(publisher, request=0).then(publisher.assert_was_not_requested).then_request(1)
        verifier.expect_next(1).expect_no_event(0.0).then_request(2).expect_next(2, 3).verify_complete()
        assert publisher.requests == [1, 2]
        StepVerifier.create(publisher, request=0).then_request(-1).verify_error(pyrs.NonPositiveRequest)

    def test_an_endless_stream_is_left_as_soon_as_the_script_ends_or_fails(self) -> None:
        StepVerifier.create(endless()).expect_next(0, 1).then_cancel().verify()
        StepVerifier.create(endless(), request=0).then_request(pyrs.UNBOUNDED).expect_next(0).then_cancel().verify()
        ran: list[int] = []
        StepVerifier.create(endless()).expect_next(0).then(lambda: ran.append(1)).expect_next(1).then_cancel().verify()
        assert ran == [1]
        fails(StepVerifier.create(endless()).expect_next(1).then_cancel().verify, "came: on_next(0)")
        fails(StepVerifier.create(endless()).expect_no_event(0.0).then_cancel().verify, "came: on_next(0)")
        fails(StepVerifier.create(endless()).then_await(0.0).then_cancel().verify, "more than 100,000 signals")

    def test_the_deadline_holds_inside_an_endless_stream_too(self) -> None:
        verifier = StepVerifier.create(endless()).expect_next_count(10**12).then_cancel()
        fails(lambda: verifier.verify(timeout=0.05), "nothing more within 0.05 seconds")

    def test_nothing_comes_in_time(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        for verifier, expected in (
            (StepVerifier.create(publisher).expect_next(1).then_cancel(), "expected: on_next(1)"),
            (StepVerifier.create(publisher).expect_complete(), "expected: on_complete"),
            (StepVerifier.create(publisher).then_await(60).then_cancel(), "then_await(60)"),
            (StepVerifier.create(publisher).expect_no_event(60).then_cancel(), "expect_no_event(60)"),
        ):
            fails(lambda verifier=verifier: verifier.verify(timeout=0.01), expected, "nothing more within 0.01 seconds")  # type: ignore[misc]
        publisher.assert_cancelled(4).assert_no_subscribers()
        never_begins: TestPublisher[int] = TestPublisher(Violation.NO_ON_SUBSCRIBE)
        verifier = StepVerifier.create(never_begins).expect_complete()
        fails(lambda: verifier.verify(timeout=0.01), "step 0 of 1, create(", "expected: on_subscribe")

    def test_an_event_ends_the_quiet_at_once(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        begun = threading.Event()

        def speak() -> None:
            assert begun.wait(DEADLINE)
            publisher.next(1)

        thread = threading.Thread(target=speak)
        thread.start()
        verifier = StepVerifier.create(publisher).then(begun.set).expect_no_event(60).then_cancel()
        fails(lambda: verifier.verify(timeout=120), "expected: no signal", "came: on_next(1)")
        thread.join(DEADLINE)

    def test_timeout_and_quiet(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        StepVerifier.create(publisher).then(lambda: publisher.next(1)).expect_next(1).verify_timeout(0.01)
        publisher.assert_cancelled(1)
        StepVerifier.create(publisher).expect_no_event(0.01).then_cancel().expect_no_event(0.0).verify()
        publisher.assert_cancelled(2)

    def test_signals_from_another_thread(self, elsewhere: Callable[[Any], pyrs.Stream[Any]]) -> None:
        verifier = StepVerifier.create(elsewhere(pyrs.range(1_000)), request=10).expect_next_count(10)
        home = threading.get_ident()
        verifier.then(lambda: home == threading.get_ident() or 1 // 0)
        verifier.then_request(2_000).expect_next_sequence(range(10, 1_000)).verify_complete()

    def test_a_task_that_signals(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        verifier = StepVerifier.create(publisher.stream().map(str)).then(lambda: publisher.next(1, 2)).expect_next("1")
        verifier.expect_next("2").then(lambda: publisher.emit(3)).expect_next("3").verify_complete()

    @pytest.mark.parametrize("violation", list(Violation))
    def test_a_publisher_that_breaks_a_rule_fails_it(self, violation: Violation) -> None:
        publisher: TestPublisher[Any] = TestPublisher(violation)
        verifier: StepVerifier[Any] = StepVerifier.create(publisher, request=2)
        if violation is Violation.DEFER_CANCELLATION:
            verifier.then_cancel().then(lambda: publisher.next(1)).expect_no_event(0.0)
            fails(verifier.verify, "expected: no signal", "came: on_next(1)", "cancel, on_next(1)")
            return
        if violation is Violation.ALLOW_NULL:
            verifier.then(lambda: publisher.next(None))
        elif violation is Violation.CLEANUP_ON_TERMINATE:
            verifier.then(lambda: publisher.complete().complete())
        elif violation is Violation.NO_ON_SUBSCRIBE:
            publisher = TestPublisher(violation, cold=True)
            verifier = StepVerifier.create(publisher.next(1))
        elif violation is Violation.REQUEST_OVERFLOW:
            verifier.then(lambda: publisher.next(1, 2, 3)).expect_next_count(3)
        else:
            verifier.then(lambda: publisher.next(1, 2)).expect_next_count(2).then_cancel()
        rule = violation.value.partition(":")[0]
        fails(
            lambda: verifier.verify_complete(timeout=DEADLINE),
            "a Publisher that keeps the rules",
            f"rule {rule} broken",
        )

    def test_rule_1_9_a_subscribe_that_raises(self) -> None:
        class Raises(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                raise OSError("no")

        failure = fails(StepVerifier.create(Raises()).verify_complete, "returns normally (1.9)", "OSError('no')")
        assert isinstance(failure.__cause__, OSError)

    def test_a_subscription_that_comes_too_late_is_cancelled(self) -> None:
        late: list[pyrs.Subscriber[int]] = []

        class Late(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                late.append(subscriber)

        fails(lambda: StepVerifier.create(Late()).verify_complete(timeout=0.0), "expected: on_subscribe")
        publisher: TestPublisher[int] = TestPublisher()
        publisher.subscribe(late[0])
        publisher.assert_cancelled(1)

    def test_scripts_that_make_no_sense(self) -> None:
        verifier = StepVerifier.create(pyrs.just(1)).expect_next(1)
        with pytest.raises(RuntimeError, match="no step says how it ends"):
            verifier.verify()
        with pytest.raises(RuntimeError, match=r"expect_next\(2\) cannot follow expect_complete"):
            verifier.expect_complete().expect_next(2)
        with pytest.raises(RuntimeError, match="needs a record_with"):
            StepVerifier.create(pyrs.just(1)).consume_recorded_with(print)
        create = StepVerifier.create
        wrong: list[tuple[type[Exception], str, Callable[[], object]]] = [
            (TypeError, "publisher", lambda: create(3)),  # type: ignore[arg-type]
            (ValueError, "request", lambda: create(pyrs.just(1), request=-1)),
            (TypeError, "factory", lambda: StepVerifier.with_virtual_time(pyrs.just(1))),  # type: ignore[arg-type]
            (ValueError, "count", lambda: create(pyrs.just(1)).expect_next_count(-1)),
            (TypeError, "elements", lambda: create(pyrs.just(1)).expect_next_sequence(1)),  # type: ignore[arg-type]
            (TypeError, "predicate", lambda: create(pyrs.just(1)).expect_next_matches(1)),  # type: ignore[arg-type]
            (TypeError, "task", lambda: create(pyrs.just(1)).then(1)),  # type: ignore[arg-type]
            (ValueError, "seconds", lambda: create(pyrs.just(1)).then_await(-1)),
            (TypeError, "kind", lambda: create(pyrs.just(1)).expect_error("no")),  # type: ignore[arg-type]
        ]
        for kind, parameter, call in wrong:
            with pytest.raises(kind, match=parameter):
                call()

    def test_shown(self) -> None:
        verifier = StepVerifier.create(pyrs.just(1)).expect_next(1).expect_error(OSError, matching="x")
        assert repr(verifier).splitlines()[2:] == ["  1. expect_next(1)", "  2. expect_error(OSError, matching='x')"]


class Ticks(pyrs.Publisher[int]):
    """Counts up once in so many seconds, by whichever scheduler is in use when it is subscribed to."""

    def __init__(self, seconds: float, count: int) -> None:
        self.seconds, self.count = seconds, count

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        publisher.subscribe(subscriber)
        scheduler = schedulers.current()
        for n in range(self.count):
            scheduler.schedule(partial(publisher.next, n), delay=self.seconds * (n + 1))
        scheduler.schedule(publisher.complete, delay=self.seconds * self.count)


class TestVirtualTime:
    def test_a_day_goes_by(self) -> None:
        verifier = StepVerifier.with_virtual_time(lambda: Ticks(3600, 24)).expect_no_event(3599).then_await(1)
        verifier.expect_next(0).then_await(2 * 3600).expect_next(1, 2).then_await(21 * 3600).expect_next_count(21)
        verifier.expect_complete()
        for _ in range(2):  # each verification has a clock of its own
            assert verifier.verify() == 86_400.0

    def test_too_early_and_too_late(self) -> None:
        verifier = StepVerifier.with_virtual_time(lambda: Ticks(10, 1)).expect_no_event(10).expect_next(0)
        fails(verifier.verify_complete, "expect_no_event(10)", "came: on_next(0)")
        late = StepVerifier.with_virtual_time(lambda: Ticks(10, 1)).then_await(9).expect_next(0).expect_complete()
        fails(lambda: late.verify(timeout=0.05), "expected: on_next(0)", "nothing more within 0.05 seconds")

    def test_what_is_due_at_once_needs_no_waiting(self) -> None:
        StepVerifier.with_virtual_time(lambda: Ticks(0, 2)).expect_next(0, 1).verify_complete()

    def test_timeout(self) -> None:
        assert StepVerifier.with_virtual_time(pyrs.never).verify_timeout(100) == 100.0

    def test_outside_nothing_is_in_use(self) -> None:
        seen: list[Any] = []

        def factory() -> pyrs.Stream[int]:
            seen.append(schedulers.current())
            return pyrs.empty()

        StepVerifier.with_virtual_time(factory).verify_complete()
        assert isinstance(seen[0], schedulers.VirtualTime)
        assert schedulers.current() is not seen[0]

    def test_the_factory_makes_a_publisher(self) -> None:
        with pytest.raises(TypeError, match=r"factory\(\)"):
            StepVerifier.with_virtual_time(lambda: 3).verify_complete()  # type: ignore[arg-type,return-value]


class TestDropped:
    def dropping(self, elements: int, *errors: BaseException) -> DroppedAssertions:
        def drop() -> None:
            hooks.on_next_dropped(elements, "test")
            for error in errors:
                hooks.on_error_dropped(error, "test")

        return StepVerifier.create(pyrs.empty()).then(drop).expect_complete().verify_then_assert_that()

    def test_nothing(self) -> None:
        nothing = self.dropping(0).has_not_dropped().has_not_dropped_errors()
        fails(nothing.has_dropped, "expected some dropped elements: 0 elements")
        fails(lambda: nothing.has_dropped(1), "expected 1 dropped elements")
        fails(nothing.has_dropped_errors, "expected dropped errors")
        fails(lambda: nothing.has_dropped_error_matching("x"), "a dropped error matching 'x'")

    def test_something(self) -> None:
        error = ValueError("late")
        something = self.dropping(3, error).has_dropped().has_dropped(3).has_dropped_errors()
        something.has_dropped_errors(ValueError).has_dropped_error_matching("^late$")
        fails(something.has_not_dropped, "no dropped element: 3 elements")
        fails(lambda: something.has_dropped(2))
        assert fails(something.has_not_dropped_errors).__cause__ is error
        fails(lambda: something.has_dropped_errors(OSError), "OSError", "ValueError('late')")
        fails(lambda: something.has_dropped_errors(ValueError, ValueError))
        fails(lambda: something.has_dropped_error_matching("early"))
        assert repr(something) == "<DroppedAssertions: 3 elements, 1 errors>"

    def test_the_hooks_are_given_back_also_after_a_failure(self, dropped: Any) -> None:
        with pytest.raises(AssertionError):
            StepVerifier.create(pyrs.just(1)).expect_complete().verify_then_assert_that()
        hooks.on_error_dropped(OSError("mine"))
        assert [str(error) for error in dropped.take()] == ["mine"]
