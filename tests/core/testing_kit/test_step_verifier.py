"""StepVerifier: each step passes and fails as documented, with a helpful message."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs import schedulers
from pyrs._core import hooks
from pyrs.testing import DroppedAssertions, StepVerifier, TestPublisher, Violation, verifying
from tests.core.testing_kit.failing import FailsWithText, fails
from tests.waiting import DEADLINE


def endless() -> pyrs.Stream[int]:
    def count() -> Iterator[int]:
        n = 0
        while True:
            yield n
            n += 1

    return pyrs.from_iterable(count())


class ExpiringPublisher(pyrs.Publisher[int]):
    """Let the deadline of a verification expire right after ``subscribe`` returns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, source: Any) -> None:
        self.source = source
        self.seconds = 0.0
        monkeypatch.setattr(verifying, "monotonic", lambda: self.seconds)

    def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
        self.source.subscribe(subscriber)
        self.seconds += 100.0


class TestStepVerifier:
    def test_element_steps_pass_on_the_expected_elements(self) -> None:
        verifier = StepVerifier.create(pyrs.range(10)).expect_subscription().expect_next(0, 1).expect_next_count(2)
        verifier.expect_next_matches(lambda n: n == 4).expect_next_sequence([5, 6])
        verifier.consume_while(lambda n: n < 9).expect_next(9).expect_complete()
        for _ in range(2):  # a verifier can be reused
            assert verifier.verify() >= 0.0

    @pytest.mark.parametrize(
        ("step", "words"),
        [
            (lambda v: v.expect_next(0, 7), ("expect_next(0, 7)", "expected: on_next(7)", "received: on_next(1)")),
            (lambda v: v.expect_next_sequence(range(1, 3)), ("expected: on_next(1)", "received: on_next(0)")),
            (lambda v: v.expect_next_count(4), ("expected: element 4 of 4", "received: on_complete")),
            (lambda v: v.expect_next_matches(bool), ("for which bool is true", "received: on_next(0)")),
            (lambda v: v.expect_no_event(0.0), ("expected: no signal", "received: on_next(0)")),
            (lambda v: v.consume_next_with(lambda n: 1 // n), ("expected: an element for", "ZeroDivisionError")),
        ],
    )
    def test_element_step_fails_on_another_signal(self, step: Callable[[Any], Any], words: tuple[str, ...]) -> None:
        verifier = step(StepVerifier.create(pyrs.range(3)).expect_subscription())
        fails(verifier.then_cancel().verify, "step 2 of 3", "so far: on_subscribe, request(unbounded)", *words)

    def test_terminal_step_fails_on_another_signal(self) -> None:
        def verifier() -> StepVerifier[int]:
            return StepVerifier.create(pyrs.range(3)).expect_next_count(2)

        fails(verifier().verify_complete, "expected: on_complete", "received: on_next(2)")
        fails(verifier().verify_error, "expected: on_error", "received: on_next(2)")
        fails(lambda: verifier().verify_timeout(0.0), "expected: no signal", "received: on_next(2)")
        fails(verifier().consume_while(bool).expect_next(3).verify_complete, "step 3 of 4", "received: on_complete")

    def test_failure_names_the_step_and_its_line(self) -> None:
        verifier = StepVerifier.create(pyrs.just("a", "b"))
        verifier.expect_next("a")
        verifier.expect_next("c")
        line = sys._getframe().f_lineno - 1
        failure = fails(verifier.verify_complete, f"step 2 of 3, expect_next('c'), {__file__}:{line}\n")
        assert str(failure).splitlines()[1:] == [
            "  expected: on_next('c')",
            "  received: on_next('b')",
            "  so far: on_subscribe, request(unbounded), on_next('a'), on_next('b')",
        ]

    def test_error_steps_pass_and_fail_on_an_error(self) -> None:
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
            failure = fails(verifier.verify, expected, "received: on_error(OSError('paper is out'))")
            assert isinstance(failure.__cause__, OSError), "the failure must show the traceback of the stream's error"

    def test_exception_of_a_step_fails_the_verification(self) -> None:
        def fail(element: int) -> None:
            assert element == 7, "not seven"

        failure = fails(
            StepVerifier.create(pyrs.just(1)).consume_next_with(fail).verify_complete,
            "step 1 of 2, consume_next_with(fail)",
            "not seven",
        )
        assert isinstance(failure.__cause__, AssertionError)
        verifier = StepVerifier.create(pyrs.just(1)).then(lambda: 1 // 0).expect_next(1)
        failure = fails(verifier.verify_complete, "step 1 of 3, then(", "ZeroDivisionError")
        assert isinstance(failure.__cause__, ZeroDivisionError)

    def test_late_exception_of_a_task_names_its_step(self) -> None:
        def task() -> None:
            publisher.next(1)
            raise OSError("late")

        publisher: TestPublisher[int] = TestPublisher()
        verifier = StepVerifier.create(publisher).then(task).expect_next(1)
        fails(verifier.verify_complete, "step 1 of 3, then(", "OSError('late')")

    def test_interrupt_propagates_and_cancels(self) -> None:
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

    def test_recorded_elements_can_be_checked(self) -> None:
        def verifier() -> StepVerifier[int]:
            return StepVerifier.create(pyrs.range(5)).expect_next(0).record_with(set).expect_next_count(3)

        seen: list[Any] = []
        verifier().consume_recorded_with(seen.append).expect_next(4).verify_complete()
        assert seen == [{1, 2, 3}]
        verifier().expect_recorded_matches(lambda recorded: recorded == {1, 2, 3}).expect_next(4).verify_complete()
        fails(
            verifier().expect_recorded_matches(lambda recorded: 0 in recorded).expect_next(4).verify_complete,
            "an assertion that holds",
            "{1, 2, 3}",
        )

    def test_then_request_controls_demand(self) -> None:
        publisher: TestPublisher[int] = TestPublisher(cold=True)
        publisher.emit(1, 2, 3)
        verifier = StepVerifier.create(publisher, request=0).then(publisher.assert_was_not_requested).then_request(1)
        verifier.expect_next(1).expect_no_event(0.0).then_request(2).expect_next(2, 3).verify_complete()
        assert publisher.requests == [1, 2]
        StepVerifier.create(publisher, request=0).then_request(-1).verify_error(pyrs.NonPositiveRequest)

    def test_infinite_stream_is_cancelled_when_the_script_ends_or_fails(self) -> None:
        StepVerifier.create(endless()).expect_next(0, 1).then_cancel().verify()
        StepVerifier.create(endless(), request=0).then_request(pyrs.UNBOUNDED).expect_next(0).then_cancel().verify()
        ran: list[int] = []
        StepVerifier.create(endless()).expect_next(0).then(lambda: ran.append(1)).expect_next(1).then_cancel().verify()
        assert ran == [1]
        fails(StepVerifier.create(endless()).expect_next(1).then_cancel().verify, "received: on_next(0)")
        fails(StepVerifier.create(endless()).expect_no_event(0.0).then_cancel().verify, "received: on_next(0)")
        fails(StepVerifier.create(endless()).then_await(0.0).then_cancel().verify, "more than 100,000 signals")

    def test_deadline_interrupts_an_infinite_stream(self) -> None:
        verifier = StepVerifier.create(endless()).expect_next_count(10**12).then_cancel()
        fails(lambda: verifier.verify(timeout=0.05), "nothing more within 0.05 seconds")

    def test_missing_signal_fails_at_the_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        publisher = ExpiringPublisher(monkeypatch, TestPublisher[int]())
        for verifier, expected in (
            (StepVerifier.create(publisher).expect_next(1).then_cancel(), "expected: on_next(1)"),
            (StepVerifier.create(publisher).expect_complete(), "expected: on_complete"),
            (StepVerifier.create(publisher).then_await(60).then_cancel(), "then_await(60)"),
            (StepVerifier.create(publisher).expect_no_event(60).then_cancel(), "expect_no_event(60)"),
        ):
            fails(lambda verifier=verifier: verifier.verify(timeout=0.01), expected, "nothing more within 0.01 seconds")  # type: ignore[misc]
        publisher.source.assert_cancelled(4).assert_no_subscribers()
        monkeypatch.undo()
        never_subscribes: TestPublisher[int] = TestPublisher(Violation.NO_ON_SUBSCRIBE)
        verifier = StepVerifier.create(never_subscribes).expect_complete()
        fails(lambda: verifier.verify(timeout=0.01), "step 0 of 1, create(", "expected: on_subscribe")

    def test_event_fails_expect_no_event_immediately(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        started = threading.Event()

        def emit() -> None:
            assert started.wait(DEADLINE)
            publisher.next(1)

        thread = threading.Thread(target=emit)
        thread.start()
        verifier = StepVerifier.create(publisher).then(started.set).expect_no_event(60).then_cancel()
        fails(lambda: verifier.verify(timeout=120), "expected: no signal", "received: on_next(1)")
        thread.join(DEADLINE)

    def test_verify_timeout_and_expect_no_event_pass(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        StepVerifier.create(publisher).then(lambda: publisher.next(1)).expect_next(1).verify_timeout(0.01)
        publisher.assert_cancelled(1)
        StepVerifier.create(publisher).expect_no_event(0.01).then_cancel().expect_no_event(0.0).verify()
        publisher.assert_cancelled(2)

    def test_coroutines_run_although_the_verification_blocks_their_loop(self) -> None:
        async def double(n: int) -> int:
            return 2 * n

        async def verify() -> None:
            StepVerifier.create(pyrs.just(1, 2).map(double)).expect_next(2, 4).verify_complete()

        asyncio.run(verify())

    def test_then_runs_on_the_verifying_thread(self, threaded: Callable[[Any], pyrs.Stream[Any]]) -> None:
        verifier = StepVerifier.create(threaded(pyrs.range(1_000)), request=10).expect_next_count(10)
        main_thread = threading.get_ident()
        verifier.then(lambda: main_thread == threading.get_ident() or 1 // 0)
        verifier.then_request(2_000).expect_next_sequence(range(10, 1_000)).verify_complete()

    def test_task_can_emit(self) -> None:
        publisher: TestPublisher[int] = TestPublisher()
        verifier = StepVerifier.create(publisher.stream().map(str)).then(lambda: publisher.next(1, 2)).expect_next("1")
        verifier.expect_next("2").then(lambda: publisher.emit(3)).expect_next("3").verify_complete()

    @pytest.mark.parametrize("violation", list(Violation))
    def test_publisher_that_violates_a_rule_fails_the_verification(self, violation: Violation) -> None:
        publisher: TestPublisher[Any] = TestPublisher(violation)
        verifier: StepVerifier[Any] = StepVerifier.create(publisher, request=2)
        if violation is Violation.DEFER_CANCELLATION:
            verifier.then_cancel().then(lambda: publisher.next(1)).expect_no_event(0.0)
            fails(verifier.verify, "expected: no signal", "received: on_next(1)", "cancel, on_next(1)")
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
            "a Publisher that obeys the rules",
            f"rule {rule} violated",
        )

    def test_rule_1_9_exception_of_subscribe_fails_the_verification(self) -> None:
        class RaisingPublisher(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                raise OSError("no")

        failure = fails(
            StepVerifier.create(RaisingPublisher()).verify_complete, "returns normally (1.9)", "OSError('no')"
        )
        assert isinstance(failure.__cause__, OSError)

    def test_subscription_after_the_deadline_is_cancelled(self) -> None:
        late: list[pyrs.Subscriber[int]] = []

        class LatePublisher(pyrs.Publisher[int]):
            def subscribe(self, subscriber: pyrs.Subscriber[int], /) -> None:
                late.append(subscriber)

        fails(lambda: StepVerifier.create(LatePublisher()).verify_complete(timeout=0.0), "expected: on_subscribe")
        publisher: TestPublisher[int] = TestPublisher()
        publisher.subscribe(late[0])
        publisher.assert_cancelled(1)

    def test_invalid_scripts_raise(self) -> None:
        verifier = StepVerifier.create(pyrs.just(1)).expect_next(1)
        with pytest.raises(RuntimeError, match="no terminal step"):
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

    def test_repr_lists_the_steps(self) -> None:
        verifier = StepVerifier.create(pyrs.just(1)).expect_next(1).expect_error(OSError, matching="x")
        assert repr(verifier).splitlines()[2:] == ["  1. expect_next(1)", "  2. expect_error(OSError, matching='x')"]


class Ticks(pyrs.Publisher[int]):
    """Emit a counter at an interval, on the scheduler that is current during ``subscribe``."""

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
    def test_verification_of_a_day_runs_in_virtual_time(self) -> None:
        verifier = StepVerifier.with_virtual_time(lambda: Ticks(3600, 24)).expect_no_event(3599).then_await(1)
        verifier.expect_next(0).then_await(2 * 3600).expect_next(1, 2).then_await(21 * 3600).expect_next_count(21)
        verifier.expect_complete()
        for _ in range(2):  # each verification has its own clock
            assert verifier.verify() == 86_400.0

    def test_signals_too_early_and_too_late_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        verifier = StepVerifier.with_virtual_time(lambda: Ticks(10, 1)).expect_no_event(10).expect_next(0)
        fails(verifier.verify_complete, "expect_no_event(10)", "received: on_next(0)")
        expiring = ExpiringPublisher(monkeypatch, Ticks(10, 1))
        late = StepVerifier.with_virtual_time(lambda: expiring).then_await(9).expect_next(0).expect_complete()
        fails(lambda: late.verify(timeout=0.05), "expected: on_next(0)", "nothing more within 0.05 seconds")

    def test_elements_without_delay_need_no_then_await(self) -> None:
        StepVerifier.with_virtual_time(lambda: Ticks(0, 2)).expect_next(0, 1).verify_complete()

    def test_verify_timeout_waits_in_virtual_time(self) -> None:
        assert StepVerifier.with_virtual_time(pyrs.never).verify_timeout(100) == 100.0

    def test_virtual_time_is_current_only_during_the_verification(self) -> None:
        seen: list[Any] = []

        def factory() -> pyrs.Stream[int]:
            seen.append(schedulers.current())
            return pyrs.empty()

        StepVerifier.with_virtual_time(factory).verify_complete()
        assert isinstance(seen[0], schedulers.VirtualTime)
        assert schedulers.current() is not seen[0]

    def test_factory_must_return_a_publisher(self) -> None:
        with pytest.raises(TypeError, match=r"factory\(\)"):
            StepVerifier.with_virtual_time(lambda: 3).verify_complete()  # type: ignore[arg-type,return-value]


class TestDropped:
    def dropping(self, elements: int, *errors: BaseException) -> DroppedAssertions:
        def drop() -> None:
            hooks.on_next_dropped(elements, "test")
            for error in errors:
                hooks.on_error_dropped(error, "test")

        return StepVerifier.create(pyrs.empty()).then(drop).expect_complete().verify_then_assert_that()

    def test_drop_assertions_fail_without_drops(self) -> None:
        assertions = self.dropping(0).has_not_dropped().has_not_dropped_errors()
        fails(assertions.has_dropped, "expected some dropped elements: 0 elements")
        fails(lambda: assertions.has_dropped(1), "expected 1 dropped elements")
        fails(assertions.has_dropped_errors, "expected dropped errors")
        fails(lambda: assertions.has_dropped_error_matching("x"), "a dropped error matching 'x'")

    def test_drop_assertions_check_the_number_and_type_of_drops(self) -> None:
        error = ValueError("late")
        assertions = self.dropping(3, error).has_dropped().has_dropped(3).has_dropped_errors()
        assertions.has_dropped_errors(ValueError).has_dropped_error_matching("^late$")
        fails(assertions.has_not_dropped, "no dropped element: 3 elements")
        fails(lambda: assertions.has_dropped(2))
        assert fails(assertions.has_not_dropped_errors).__cause__ is error
        fails(lambda: assertions.has_dropped_errors(OSError), "OSError", "ValueError('late')")
        fails(lambda: assertions.has_dropped_errors(ValueError, ValueError))
        fails(lambda: assertions.has_dropped_error_matching("early"))
        assert repr(assertions) == "<DroppedAssertions: 3 elements, 1 errors>"

    def test_hooks_are_restored_after_a_failure(self, dropped: Any) -> None:
        with pytest.raises(AssertionError):
            StepVerifier.create(pyrs.just(1)).expect_complete().verify_then_assert_that()
        hooks.on_error_dropped(OSError("mine"))
        assert [str(error) for error in dropped.take()] == ["mine"]


@pytest.mark.parametrize(
    "verify",
    [
        lambda verifier: verifier.verify_complete(),
        lambda verifier: verifier.verify_error(),
        lambda verifier: verifier.verify_error(ValueError),
        lambda verifier: verifier.expect_no_event(0).expect_next(1).verify_complete(),
    ],
    ids=["complete", "error", "ValueError", "element"],
)
def test_an_error_that_is_not_an_exception_fails_the_verification(verify: Callable[[Any], float]) -> None:
    error = fails(lambda: verify(StepVerifier.create(FailsWithText())), "on_error('down')")
    assert error.__cause__ is None
