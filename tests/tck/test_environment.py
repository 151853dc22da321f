"""Timeouts by argument and by environment variable, and errors recorded on other threads."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count
from threading import Thread
from typing import Any
from unittest import SkipTest

import pytest

from pyrs.tck import PublisherVerification, Status, TestEnvironment, as_test_case, judge, waiting
from pyrs.tck.beyond_publisher import stops
from pyrs.tck.environment import named
from pyrs.tck.waiting import Latch, Promise, Receptacle
from tests.tck.right import RightPublisher, RightSubscription

VARIABLES = (
    "PYRS_TCK_TIMEOUT_SCALE",
    "DEFAULT_TIMEOUT_MILLIS",
    "DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS",
    "PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS",
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_defaults_are_those_of_the_official_tck() -> None:
    env = TestEnvironment()
    assert (env.timeout, env.no_signals_timeout, env.reference_timeout) == (0.5, 0.1, 1.0)


def test_arguments_are_seconds() -> None:
    assert TestEnvironment(timeout=0.25).timeout == 0.25


def test_the_variables_of_the_official_tck_are_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEFAULT_TIMEOUT_MILLIS", "300")
    monkeypatch.setenv("DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS", "50")
    monkeypatch.setenv("PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS", "3000")
    env = TestEnvironment()
    assert (env.timeout, env.no_signals_timeout, env.reference_timeout) == (0.3, 0.05, 3.0)
    assert TestEnvironment(timeout=2).timeout == 2  # an argument takes precedence


def test_one_variable_scales_every_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TestEnvironment(timeout=0.25)
    monkeypatch.setenv("PYRS_TCK_TIMEOUT_SCALE", "4")
    scaled = TestEnvironment(timeout=0.25)
    names = ("timeout", "no_signals_timeout", "reference_timeout", "hook_timeout", "deadline")
    assert [getattr(scaled, name) for name in names] == [4 * getattr(plain, name) for name in names]
    assert scaled.fresh().timeout == scaled.timeout


@pytest.mark.parametrize("text", ["fast", "0", "-1", "nan", "inf"])
@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_that_is_not_a_positive_number_is_rejected(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(
        ValueError, match=f"the environment variable {variable} must be a positive number, not '{text}'"
    ):
        TestEnvironment()


@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_an_argument_that_is_not_positive_is_rejected(value: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
        TestEnvironment(timeout=value)
    with pytest.raises(ValueError, match="deadline must be a positive number of seconds"):
        TestEnvironment(deadline=value)


def test_an_argument_that_is_not_a_number_is_rejected() -> None:
    with pytest.raises(TypeError, match="hook_timeout must be a number of seconds, not str"):
        TestEnvironment(hook_timeout="2")  # type: ignore[arg-type]


def test_an_error_recorded_on_another_thread_fails_the_test() -> None:
    env = TestEnvironment().fresh()
    thread = Thread(target=env.flop, args=("too many elements",))
    thread.start()
    with pytest.raises(AssertionError, match="too many elements"):
        env.verify_no_async_errors(30)
    thread.join()


def test_a_recorded_exception_is_the_cause_of_the_failure() -> None:
    env = TestEnvironment().fresh()
    error = ValueError("3.9")
    env.flop("on_error arrived", error)
    with pytest.raises(AssertionError, match=r"async error during the test: ValueError: 3\.9") as caught:
        env.verify_no_async_errors_no_delay()
    assert caught.value.__cause__ is error
    assert env.drop_async_error() is error
    assert env.drop_async_error() is None
    env.verify_no_async_errors_no_delay()


def test_the_number_of_recorded_errors_is_bounded() -> None:
    env = TestEnvironment().fresh()
    for _ in range(1_100):
        env.flop("again", ValueError())
    dropped = sum(env.drop_async_error() is not None for _ in range(1_100))
    assert dropped == 1_000


def test_cleared_errors_do_not_fail_the_test() -> None:
    env = TestEnvironment().fresh()
    env.flop("expected by the caller")
    env.clear_async_errors()
    env.verify_no_async_errors_no_delay()


def test_environments_of_two_tests_share_no_errors() -> None:
    env = TestEnvironment()
    first, second = env.fresh(), env.fresh()
    first.flop("only here")
    second.verify_no_async_errors_no_delay()
    env.verify_no_async_errors_no_delay()


def test_promise_records_an_error_for_a_second_value() -> None:
    env = TestEnvironment().fresh()
    promise: Promise[int] = Promise(env)
    promise.complete(1)
    promise.complete(2)
    assert promise.value == 1
    assert "received a second value, 2, after 1" in str(env.drop_async_error())


def test_reading_a_missing_value_fails() -> None:
    promise: Promise[int] = Promise(TestEnvironment().fresh())
    with pytest.raises(AssertionError, match="has not arrived yet"):
        _ = promise.value


def test_a_receptacle_distinguishes_elements_and_completion() -> None:
    env = TestEnvironment().fresh()
    received: Receptacle[int] = Receptacle(env)
    received.add(1)
    received.complete()
    assert received.next("nothing") == 1
    received.expect_completion("no end")
    env.verify_no_async_errors_no_delay()
    received.complete()
    assert "unexpected additional on_complete" in str(env.drop_async_error())


def test_a_missing_element_of_several_names_the_timeout_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "remaining", lambda deadline: 0.0)  # the first element arrived late
    received: Receptacle[int] = Receptacle(TestEnvironment(timeout=0.5).fresh())
    received.add(1)
    with pytest.raises(AssertionError, match=r"too few \(element 2 of 2\) within 500 ms"):
        received.next_n(2, "too few")


def test_a_latch_waits_for_its_event() -> None:
    env = TestEnvironment(timeout=0.01).fresh()
    latch = Latch(env)
    latch.expect_close("nothing happened")
    assert "nothing happened within 10 ms" in str(env.drop_async_error())
    latch.close()
    latch.expect_close("nothing happened")
    env.verify_no_async_errors_no_delay()


def test_stops_waits_until_late_signals_end() -> None:
    moves = iter([1, 2, 3])
    assert stops(TestEnvironment(timeout=30, no_signals_timeout=0.01).fresh(), lambda: next(moves, 4))
    assert next(moves, None) is None
    assert not stops(TestEnvironment(timeout=0.01, no_signals_timeout=0.01).fresh(), count().__next__)


def test_an_object_whose_str_raises_has_a_name() -> None:
    class Nameless(RightPublisher):
        def __str__(self) -> str:
            raise OSError

    assert named(Nameless(1)) == "<Nameless, whose str() raises OSError>"

    class Verification(PublisherVerification[int]):
        environment = TestEnvironment(timeout=0.1, hook_timeout=30, deadline=60)

        def create_publisher(self, elements: int) -> Nameless:
            return Nameless(0)

    verdict = judge(Verification, "required_createPublisher1MustProduceAStreamOfExactly1Element")
    assert verdict.status is Status.FAILED
    assert "<Nameless" in verdict.reason


def test_debugging_prints_the_signals(capsys: pytest.CaptureFixture[str]) -> None:
    class Verification(PublisherVerification[int]):
        environment = TestEnvironment(timeout=30, hook_timeout=30, deadline=60, debug=True)

        def create_publisher(self, elements: int) -> RightPublisher:
            return RightPublisher(elements)

    judge(Verification, "required_createPublisher1MustProduceAStreamOfExactly1Element")
    printed = capsys.readouterr().out
    signals = ["on_subscribe", "request(1)", "1", "request(1)", "|"]
    assert printed.splitlines() == [f"[tck] test: {signal}" for signal in signals]


@pytest.mark.parametrize("environment", [TestEnvironment, {"timeout": 1}, 5])
def test_environment_of_a_wrong_type_fails_a_test_that_names_the_attribute(environment: Any) -> None:
    class Wrong(PublisherVerification[int]):
        def create_publisher(self, elements: int) -> Any:
            return RightPublisher(elements)

    Wrong.environment = environment
    verdict = judge(Wrong, "required_validate_maxElementsFromPublisher")
    assert verdict.status is Status.FAILED
    assert verdict.reason.startswith(
        "TypeError: Wrong.environment must be an object such as TestEnvironment(timeout=2)"
    )
    result = as_test_case(Wrong)("test_required_validate_maxElementsFromPublisher").run()
    assert result is not None and len(result.failures) == 1 and not result.errors


def test_invalid_variable_fails_a_test_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRS_TCK_TIMEOUT_SCALE", "fast")
    verdict = judge(PublisherVerification, "required_validate_maxElementsFromPublisher")
    assert verdict.status is Status.FAILED
    assert "PYRS_TCK_TIMEOUT_SCALE must be a positive number, not 'fast'" in verdict.reason


def test_message_of_a_removed_error_is_not_used_for_another_error() -> None:
    """An object may have the ``id`` of an earlier one."""
    environment = TestEnvironment()
    error = RuntimeError("lost")
    environment.flop("unexpected on_error", error)
    assert environment.drop_async_error() is error
    environment.flop("a concurrent call raised it", error)
    with pytest.raises(AssertionError, match="RuntimeError: lost; a concurrent call raised it"):
        environment.verify_no_async_errors_no_delay()


def test_a_function_that_a_context_manager_calls_is_not_blamed() -> None:
    """The method that the TCK called is ``subscribe``."""

    class Publisher(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            with ExitStack() as stack:
                stack.callback(self.cancel)

        def cancel(self) -> None:
            raise OSError("no route")

    class Verification(PublisherVerification[Any]):
        def create_publisher(self, elements: int) -> Any:
            return Publisher(elements)

    verdict = judge(Verification, "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates")
    assert verdict.reason == "subscribe raised OSError: no route (rule 1.9)"


def test_a_skip_does_not_hide_a_violation_before_it() -> None:
    class IgnoresCancel(RightSubscription):
        def cancel(self) -> None:
            pass

    class Verification(PublisherVerification[Any]):
        created = 0

        def create_publisher(self, elements: int) -> Any:
            self.created += 1
            if self.created == 2:
                raise SkipTest("no connection")
            return type("Publisher", (RightPublisher,), {"subscription": IgnoresCancel})(elements)

    verdict = judge(Verification, "beyond_spec306_requestAfterCancelMustHaveNoEffectBetweenElements")
    assert (verdict.status, verdict.reason) == (Status.FAILED, "expected no element but received [2]")
