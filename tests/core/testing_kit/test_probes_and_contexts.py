"""PublisherProbe, and ``verify_later`` and the context of StepVerifier."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs.testing import PublisherProbe, StepVerifier, TestPublisher, TestSubscriber
from tests.core.support import RecordingSubscription
from tests.waiting import run_on_threads

USER: ContextVar[str] = ContextVar("user")


def test_probe_records_subscriptions_requests_and_cancels() -> None:
    probe = PublisherProbe(pyrs.range(5))
    probe.assert_not_subscribed().assert_not_requested().assert_not_cancelled()
    subscriber = TestSubscriber[int](2)
    probe.stream().subscribe(subscriber)
    subscriber.request(1)
    subscriber.cancel()
    subscriber.cancel()
    probe.assert_subscribed().assert_subscribed(1).assert_requested().assert_cancelled()
    assert (probe.requests, probe.cancel_count) == ([2, 1], 1)
    assert subscriber.assert_rules().elements == [0, 1, 2]


def test_finalizer_can_cancel_while_a_probe_records_a_request() -> None:
    probe = PublisherProbe[int](pyrs.never())
    abandoned, live = TestSubscriber[int](), TestSubscriber[int]()

    class Requests(list[int]):
        def append(self, n: int) -> None:
            abandoned.cancel()  # the collector may run a finalizer here
            super().append(n)

    for subscriber in (abandoned, live):
        probe.subscribe(subscriber)
    probe.requests = Requests()
    run_on_threads(lambda: live.request(1))
    probe.assert_requested().assert_cancelled()


def test_probe_without_a_publisher_completes() -> None:
    probe = PublisherProbe[int]()
    assert pyrs.error(OSError()).on_error_resume(probe.stream()).collect() == []
    probe.assert_subscribed(1)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("assert_subscribed", "to be subscribed at least once, was subscribed 0 times"),
        ("assert_requested", "to be requested at least once, was requested 0 times"),
        ("assert_cancelled", "to be cancelled at least once, was cancelled 0 times"),
    ],
)
def test_failed_check_of_a_probe_reports_the_count(check: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        getattr(PublisherProbe(pyrs.just(1)), check)()


def test_failed_negative_check_of_a_probe_reports_the_count() -> None:
    probe = PublisherProbe(pyrs.just(1))
    probe.stream().collect()
    for check in (probe.assert_not_subscribed, probe.assert_not_requested):
        with pytest.raises(AssertionError, match="0 times, was"):
            check()


def test_verify_later_subscribes_at_once() -> None:
    publisher = TestPublisher[int]()
    later = StepVerifier.create(publisher).expect_next(1).expect_complete().verify_later()
    publisher.assert_subscribers(1)
    publisher.emit(1)
    assert later.verify() >= 0
    assert publisher.subscribe_count == 1


def test_verify_later_fails_in_verify() -> None:
    publisher = TestPublisher[int]()
    later = StepVerifier.create(publisher).expect_next(1).expect_complete().verify_later()
    publisher.emit(2)
    publisher.assert_cancelled()
    with pytest.raises(AssertionError, match=r"expected: on_next\(1\)"):
        later.verify()


def test_verify_later_times_out_in_verify() -> None:
    later = StepVerifier.create(pyrs.never()).expect_complete().verify_later()
    with pytest.raises(AssertionError, match=r"nothing more within 0\.05 seconds"):
        later.verify(0.05)


def test_verify_later_runs_tasks_in_verify() -> None:
    sink: Any = sinks.multicast()
    later = StepVerifier.create(sink.stream).then(lambda: sink.emit(1)).expect_next(1).then_cancel().verify_later()
    run_on_threads(later.verify)
    assert sink.subscriber_count == 0


def test_verify_later_keeps_its_virtual_time() -> None:
    later = StepVerifier.with_virtual_time(lambda: pyrs.timer(60)).then_await(60).expect_next(0).expect_complete()
    assert later.verify_later().verify() == 60


def test_verify_later_needs_a_terminal_step() -> None:
    with pytest.raises(RuntimeError, match="no terminal step"):
        StepVerifier.create(pyrs.just(1)).verify_later()


def test_context_reaches_every_signal() -> None:
    stream = pyrs.just(1, 2).publish_on(schedulers.default()).delay(0.001)
    StepVerifier.create(stream).with_context(USER, "ada").expect_context(USER, "ada").expect_next(
        1, 2
    ).verify_complete()
    with pytest.raises(LookupError):
        USER.get()


def test_missing_context_is_reported() -> None:
    verifier = StepVerifier.create(pyrs.just(1)).expect_context(USER, "ada").expect_next(1)
    with pytest.raises(AssertionError, match="expected: on_subscribe with user = 'ada'\n  received: on_subscribe with"):
        verifier.verify_complete()


def test_wrong_value_of_the_context_is_reported() -> None:
    class Forgetful(pyrs.Publisher[Any]):
        """Signals without the context of subscribe."""

        def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
            subscriber.on_subscribe(RecordingSubscription())
            token = USER.set("eve")
            subscriber.on_next(1)
            USER.reset(token)

    verifier = StepVerifier.create(Forgetful()).with_context(USER, "ada").expect_context(USER, "ada").expect_next(1)
    with pytest.raises(AssertionError, match="received: on_next with 'eve'"):
        verifier.then_cancel().verify()


def test_context_needs_a_variable() -> None:
    with pytest.raises(TypeError, match=r"must be a contextvars\.ContextVar, not str"):
        StepVerifier.create(pyrs.just(1)).with_context("user", "ada")  # type: ignore[arg-type]


def test_discarded_elements_are_recorded() -> None:
    stream = pyrs.range(6).filter(lambda n: n % 2).take(2)
    verifier = StepVerifier.create(stream).expect_next(1, 3).expect_complete()
    dropped = verifier.verify_then_assert_that().has_discarded().has_discarded(2, 0).has_not_dropped()
    assert dropped.discarded == [0, 2]
    with pytest.raises(AssertionError, match=r"expected discarded elements \(0,\): .*, discarded \[0, 2\]"):
        dropped.has_discarded(0)
    with pytest.raises(AssertionError, match="expected no discarded element"):
        dropped.has_not_discarded()


def test_has_discarded_fails_without_a_discarded_element() -> None:
    dropped = StepVerifier.create(pyrs.just(1)).expect_next(1).expect_complete().verify_then_assert_that()
    dropped.has_not_discarded()
    with pytest.raises(AssertionError, match="expected some discarded elements"):
        dropped.has_discarded()
