"""strict: every observable violation is reported with the rule and the party, and legal behaviour is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pyrs
from pyrs import errors
from pyrs.strictness import strict
from pyrs.testing import TestPublisher, TestSubscriber, Violation
from tests.core.support import RecordingSubscription
from tests.waiting import DEADLINE


class ScriptedPublisher(pyrs.Publisher[Any]):
    """Pass each Subscriber to a function of the test."""

    def __init__(self, behavior: Callable[[Any], object]) -> None:
        self.behavior = behavior

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.behavior(subscriber)


class ScriptedSubscriber(pyrs.Subscriber[Any]):
    """Record signals, and call a function of the test for each signal that has one."""

    def __init__(self, **behavior: Callable[..., object]) -> None:
        self.behavior = behavior
        self.errors: list[BaseException] = []
        self.completed = 0
        self.elements: list[Any] = []

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.subscription = subscription
        self._run_behavior("on_subscribe")

    def on_next(self, element: Any, /) -> None:
        self.elements.append(element)
        self._run_behavior("on_next")

    def on_error(self, error: BaseException, /) -> None:
        self.errors.append(error)
        self._run_behavior("on_error")

    def on_complete(self) -> None:
        self.completed += 1
        self._run_behavior("on_complete")

    def _run_behavior(self, signal: str) -> None:
        if signal in self.behavior:
            self.behavior[signal](self)


def send(subscriber: pyrs.Subscriber[Any], signal: str) -> None:
    signals = {"on_next": partial(subscriber.on_next, 1), "on_error": partial(subscriber.on_error, OSError())}
    signals.get(signal, subscriber.on_complete)()


def assert_violation(error: BaseException | None, rule: str, party: str, *words: str) -> errors.SpecViolation:
    assert isinstance(error, errors.SpecViolation), error
    assert (error.rule, error.party) == (rule, party)
    assert f"(rule {rule})" in str(error)
    for word in words:
        assert word in str(error)
    return error


def subscribe_strictly(source: pyrs.Publisher[Any], request: int | None = 5) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    strict(source).subscribe(subscriber)
    return subscriber


# Violations of a Publisher.


def test_rule_1_1_element_without_demand_is_reported() -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW)
    subscriber = subscribe_strictly(publisher, 1)
    publisher.next(1, 2, 3)
    error = subscriber.assert_elements(1).assert_error()
    assert_violation(error, "1.1", "Publisher", "Publisher TestPublisher", "on_next without demand", "1 requested")
    publisher.assert_cancelled(1)


def test_rule_1_1_element_without_demand_after_cancel_is_reported(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW, Violation.DEFER_CANCELLATION)
    subscriber = subscribe_strictly(publisher, 2)
    subscriber.cancel()
    publisher.next(1, 2)
    assert dropped.errors == [], "an element that was requested before the cancel is reported, although 2.8 allows it"
    publisher.next(3)
    (error,) = dropped.take()
    assert_violation(error, "1.1", "Publisher", "TestPublisher")
    subscriber.assert_elements().assert_live()


def test_rule_1_3_concurrent_signals_are_reported() -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.CONCURRENT)
    subscriber = subscribe_strictly(publisher)
    publisher.next(1, 2, 3)
    error = subscriber.assert_elements(1).assert_error(errors.ConcurrentSignals)
    assert_violation(error, "1.3", "Publisher", "TestPublisher", "two threads")


def test_rule_1_4_on_error_with_a_non_exception_is_reported() -> None:
    def raise_error(subscriber: Any) -> None:
        subscriber.on_subscribe(RecordingSubscription())
        subscriber.on_error("out of paper")

    assert_violation(
        subscribe_strictly(ScriptedPublisher(raise_error)).assert_error(),
        "1.4",
        "Publisher",
        "ScriptedPublisher",
        "'out of paper'",
    )


def test_rule_1_7_signals_after_a_terminal_signal_are_reported(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.CLEANUP_ON_TERMINATE)
    subscriber = subscribe_strictly(publisher)
    publisher.emit(1).next(2).complete().error(ValueError("late"))
    subscriber.assert_elements(1).assert_complete()
    reports = dropped.take()
    for error, what in zip(reports, ("on_next", "on_complete", "on_error"), strict=True):
        assert_violation(error, "1.7", "Publisher", "TestPublisher", f"{what} after the terminal signal")


@pytest.mark.parametrize("signal", ["on_next", "on_error", "on_complete"])
def test_rule_1_9_signal_before_on_subscribe_is_reported(signal: str) -> None:
    publisher: TestPublisher[Any] = TestPublisher(Violation.NO_ON_SUBSCRIBE)
    subscriber = subscribe_strictly(publisher, 0)
    signals = {"on_next": partial(publisher.next, 1), "on_error": partial(publisher.error, OSError())}
    signals.get(signal, publisher.complete)()
    error = subscriber.assert_elements().assert_error()
    assert_violation(error, "1.9", "Publisher", "TestPublisher", f"{signal} before on_subscribe")
    assert subscriber.subscription is not None, "the guard did not call on_subscribe"


def test_rule_1_9_late_on_subscribe_is_cancelled_and_not_forwarded(dropped: Any) -> None:
    subscription = RecordingSubscription()

    def start_with_an_element(subscriber: Any) -> None:
        subscriber.on_next(1)
        subscriber.on_subscribe(subscription)
        subscriber.on_next(2)

    subscriber = subscribe_strictly(ScriptedPublisher(start_with_an_element))
    assert_violation(subscriber.assert_elements().assert_error(), "1.9", "Publisher")
    assert (subscription.cancelled, subscription.requested, dropped.errors) == (1, [], [])


def test_rule_1_9_on_subscribe_with_a_non_subscription_is_reported() -> None:
    error = subscribe_strictly(ScriptedPublisher(lambda subscriber: subscriber.on_subscribe(object()))).assert_error()
    assert_violation(error, "1.9", "Publisher", "ScriptedPublisher", "object", "has no request()")


@pytest.mark.parametrize("kind", [OSError, GeneratorExit])
def test_rule_1_9_exception_of_subscribe_is_reported(kind: type[BaseException]) -> None:
    def raise_error(subscriber: Any) -> None:
        raise kind("no")

    error = assert_violation(
        subscribe_strictly(ScriptedPublisher(raise_error)).assert_error(),
        "1.9",
        "Publisher",
        "ScriptedPublisher: subscribe() raised",
    )
    assert isinstance(error.__cause__, kind)


def test_interrupt_in_subscribe_propagates() -> None:
    def interrupted(subscriber: Any) -> None:
        raise KeyboardInterrupt

    subscriber: TestSubscriber[Any] = TestSubscriber()
    with pytest.raises(KeyboardInterrupt):
        strict(ScriptedPublisher(interrupted)).subscribe(subscriber)
    assert_violation(subscriber.assert_error(), "1.9", "Publisher")


def test_rule_1_10_second_subscription_of_the_same_subscriber_is_reported(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher()
    guarded, subscriber = strict(publisher), TestSubscriber[int](5)
    guarded.subscribe(subscriber)
    guarded.subscribe(subscriber)
    (error,) = dropped.take()
    assert_violation(error, "1.10", "Subscriber", "TestSubscriber: was subscribed again")
    publisher.assert_subscribers(1).emit(1)
    subscriber.assert_elements(1).assert_complete()
    guarded.subscribe(subscriber)  # allowed after the first has terminated; the Subscriber then reports 2.12
    assert publisher.subscribe_count == 2
    assert dropped.errors == []
    assert subscriber.violations


def test_rule_2_12_second_on_subscribe_is_reported(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.TWO_ON_SUBSCRIBE)
    subscriber = subscribe_strictly(publisher)
    (error,) = dropped.take()
    assert_violation(error, "2.12", "Publisher", "TestPublisher", "Subscriber TestSubscriber", "second time")
    publisher.assert_second_cancelled().emit(1)  # the second Subscription is cancelled (2.5)
    subscriber.assert_elements(1).assert_complete()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_rule_2_13_none_argument_is_reported(signal: str, dropped: Any) -> None:
    raised: list[BaseException] = []

    def sends_none(subscriber: Any) -> None:
        if signal != "on_subscribe":
            subscriber.on_subscribe(RecordingSubscription())
        try:
            getattr(subscriber, signal)(None)
        except errors.NullSignal as error:
            raised.append(error)
            raise

    error = subscribe_strictly(ScriptedPublisher(sends_none)).assert_elements().assert_error(errors.NullSignal)
    assert_violation(error, "2.13", "Publisher", f"ScriptedPublisher: {signal}(None)")
    assert raised == [error], "the caller did not receive the error at once"
    assert dropped.errors == [], "the error is reported twice"


# Violations of a Subscription.


def test_rule_3_3_unbounded_recursion_is_reported() -> None:
    deepest = 0

    def recursive(subscriber: Any) -> None:
        depth = 0

        def emit(n: int) -> None:
            nonlocal depth, deepest
            depth += 1
            deepest = max(deepest, depth)
            subscriber.on_next(depth)
            depth -= 1

        subscriber.on_subscribe(RecordingSubscription(emit))

    subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda self, element: self.request(1))
    strict(ScriptedPublisher(recursive)).subscribe(subscriber)
    assert_violation(subscriber.assert_error(), "3.3", "Subscription", "Subscription RecordingSubscription", "recurses")
    assert 16 < deepest < 64


def test_rule_3_3_bounded_recursion_is_not_reported() -> None:
    sent = 0

    def recursive(subscriber: Any) -> None:
        def emit(n: int) -> None:
            nonlocal sent
            sent += 1
            if sent <= 10:
                subscriber.on_next(sent)

        subscriber.on_subscribe(RecordingSubscription(emit))

    for source in (ScriptedPublisher(recursive), pyrs.range(1, 11).concat(pyrs.never())):
        subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda self, element: self.request(1))
        strict(source).subscribe(subscriber)
        subscriber.assert_elements(*range(1, 11)).assert_live()


def test_rule_3_15_exception_of_cancel_is_reported(dropped: Any) -> None:
    class Sticky(RecordingSubscription):
        def cancel(self) -> None:
            raise OSError("no")

    subscriber = subscribe_strictly(ScriptedPublisher(lambda subscriber: subscriber.on_subscribe(Sticky())))
    subscriber.cancel()
    (error,) = dropped.take()
    cause = assert_violation(
        error, "3.15", "Subscription", "Subscription Sticky: cancel() raised OSError('no')"
    ).__cause__
    assert isinstance(cause, OSError)


def test_rule_3_16_exception_of_request_is_reported() -> None:
    def raise_error(n: int) -> None:
        raise OSError("no")

    subscription = RecordingSubscription(raise_error)
    subscriber = subscribe_strictly(ScriptedPublisher(lambda subscriber: subscriber.on_subscribe(subscription)))
    error = assert_violation(
        subscriber.assert_error(),
        "3.16",
        "Subscription",
        "Subscription RecordingSubscription: request(5) raised OSError",
    )
    assert isinstance(error.__cause__, OSError)
    assert subscription.cancelled == 1


# Violations of a Subscriber.


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_2_13_exception_of_a_subscriber_is_reported(signal: str, dropped: Any) -> None:
    def raise_error(subscriber: ScriptedSubscriber) -> None:
        raise ValueError("mine")

    subscriber, subscription = ScriptedSubscriber(**{signal: raise_error}), RecordingSubscription()
    guard = strict(subscriber)
    guard.on_subscribe(subscription)
    if signal != "on_subscribe":
        subscriber.subscription.request(2)
        send(guard, signal)
    (error,), dropped.errors = dropped.errors, []
    assert_violation(error, "2.13", "Subscriber", f"Subscriber ScriptedSubscriber: {signal} raised ValueError('mine')")
    assert isinstance(error.__cause__, ValueError)
    assert subscription.cancelled == (signal in ("on_subscribe", "on_next")), (
        "the Subscription is not in the state that 2.13 requires"
    )
    if signal == "on_next":
        guard.on_next(2)
        assert subscriber.elements == [1]


@pytest.mark.parametrize("call", ["request", "cancel"])
@pytest.mark.parametrize("signal", ["on_error", "on_complete"])
def test_rule_2_3_call_inside_a_terminal_signal_is_reported(signal: str, call: str, dropped: Any) -> None:
    def calls(subscriber: ScriptedSubscriber) -> None:
        subscriber.subscription.request(1) if call == "request" else subscriber.subscription.cancel()

    subscription = RecordingSubscription()
    guard = strict(ScriptedSubscriber(**{signal: calls}))
    guard.on_subscribe(subscription)
    send(guard, signal)
    (error,) = dropped.take()
    assert_violation(
        error, "2.3", "Subscriber", "Subscriber ScriptedSubscriber", call, "inside on_error or on_complete"
    )
    assert (subscription.requested, subscription.cancelled) == ([], 0)


def test_rule_2_3_calls_after_a_terminal_signal_are_not_reported(dropped: Any) -> None:
    subscriber = ScriptedSubscriber()
    guard = strict(subscriber)
    guard.on_subscribe(RecordingSubscription())
    guard.on_complete()
    subscriber.subscription.request(1)
    subscriber.subscription.cancel()
    assert dropped.errors == []


@pytest.mark.parametrize("call", ["request", "cancel"])
def test_rule_2_7_concurrent_calls_are_reported_and_forwarded(call: str, dropped: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(n: int) -> None:
        if n == 1:
            inside.set()
            assert leave.wait(DEADLINE)

    subscriber = ScriptedSubscriber()
    subscription = RecordingSubscription(slow)
    strict(subscriber).on_subscribe(subscription)
    first = threading.Thread(target=subscriber.subscription.request, args=(1,))
    first.start()
    assert inside.wait(DEADLINE)
    subscriber.subscription.request(2) if call == "request" else subscriber.subscription.cancel()
    (error,) = dropped.take()
    assert_violation(error, "2.7", "Subscriber", "Subscriber ScriptedSubscriber", call, "while another thread")
    assert (subscription.requested, subscription.cancelled) == (([1, 2], 0) if call == "request" else ([1], 1)), (
        "the call is not forwarded"
    )
    leave.set()
    first.join(DEADLINE)
    subscriber.subscription.request(3)
    assert dropped.errors == []


def test_rule_2_7_cancel_from_another_thread_during_on_next_is_not_reported(dropped: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(subscriber: ScriptedSubscriber) -> None:
        inside.set()
        assert leave.wait(DEADLINE)

    subscriber = ScriptedSubscriber(on_next=slow)
    pyrs.range(10).subscribe(strict(subscriber))
    first = threading.Thread(target=subscriber.subscription.request, args=(10,))
    first.start()
    assert inside.wait(DEADLINE)
    subscriber.subscription.cancel()
    leave.set()
    first.join(DEADLINE)
    assert (subscriber.elements, dropped.errors) == ([0], [])


def test_rule_2_7_is_not_checked_by_a_strict_publisher(dropped: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(n: int) -> None:
        if n == 1:
            inside.set()
            assert leave.wait(DEADLINE)

    subscriber = ScriptedSubscriber()
    strict(ScriptedPublisher(lambda subscriber: subscriber.on_subscribe(RecordingSubscription(slow)))).subscribe(
        subscriber
    )
    first = threading.Thread(target=subscriber.subscription.request, args=(1,))
    first.start()
    assert inside.wait(DEADLINE)
    subscriber.subscription.request(2)
    leave.set()
    first.join(DEADLINE)
    assert dropped.errors == []


@pytest.mark.parametrize("call", ["request", "cancel"])
def test_rule_3_1_call_before_on_subscribe_is_reported(call: str, dropped: Any) -> None:
    guard: Any = strict(ScriptedSubscriber())
    guard.request(1) if call == "request" else guard.cancel()
    (error,) = dropped.take()
    assert_violation(error, "3.1", "Subscriber", "Subscriber ScriptedSubscriber", call, "before on_subscribe")


@pytest.mark.parametrize("n", [0, -1])
def test_rule_3_9_non_positive_request_is_reported(n: int) -> None:
    subscriber, subscription = ScriptedSubscriber(), RecordingSubscription()
    guard = strict(subscriber)
    guard.on_subscribe(subscription)
    subscriber.subscription.request(n)
    (error,) = subscriber.errors
    assert_violation(error, "3.9", "Subscriber", "Subscriber ScriptedSubscriber", f"request({n})")
    assert isinstance(error, ValueError)
    assert (subscription.requested, subscription.cancelled) == ([], 1)


def test_strict_subscriber_names_an_unknown_publisher_by_its_subscription() -> None:
    subscriber = ScriptedSubscriber()
    guard = strict(subscriber)
    guard.on_subscribe(RecordingSubscription())
    guard.on_next(1)
    assert_violation(subscriber.errors[0], "1.1", "Publisher", "the Publisher of RecordingSubscription")


# Legal behaviour, and the names of the parties.


def test_signals_of_legal_publishers_are_forwarded_unchanged() -> None:
    for source in (
        pyrs.range(5),
        pyrs.from_iterable(iter(range(5))),
        pyrs.Stream(TestPublisher[int](cold=True).emit(*range(5))),
    ):
        subscriber: TestSubscriber[int] = TestSubscriber(2)
        strict(source).subscribe(strict(subscriber))
        subscriber.request(pyrs.UNBOUNDED)
        subscriber.assert_elements(0, 1, 2, 3, 4).assert_complete()
    failing: TestSubscriber[int] = TestSubscriber()
    strict(pyrs.error(OSError("its own"))).subscribe(failing)
    failing.assert_error(OSError)


def test_only_the_first_violation_of_a_publisher_is_reported(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW, Violation.DEFER_CANCELLATION)
    subscriber = subscribe_strictly(publisher, 1)
    publisher.next(*range(10)).complete()
    subscriber.assert_elements(0).assert_error(errors.DemandExceeded)
    assert dropped.errors == []


def test_strict_publisher_with_a_strict_subscriber_reports_a_violation() -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW)
    subscriber = ScriptedSubscriber(on_subscribe=lambda self: self.subscription.request(1))
    strict(publisher).subscribe(strict(subscriber))
    publisher.next(1, 2)
    assert subscriber.elements == [1]
    assert_violation(subscriber.errors[0], "1.1", "Publisher", "TestPublisher")


class Echo(ScriptedSubscriber):
    """Emit each element twice, without regard to demand."""

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.downstream = subscriber
        subscriber.on_subscribe(RecordingSubscription(lambda n: self.subscription.request(n)))

    def on_next(self, element: Any, /) -> None:
        self.downstream.on_next(element)
        self.downstream.on_next(element)

    def on_complete(self) -> None:
        self.downstream.on_complete()


def test_rule_4_1_processor_is_guarded_as_subscriber_and_as_publisher(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.TWO_ON_SUBSCRIBE)
    processor = strict(Echo())
    assert isinstance(processor, pyrs.Processor)
    publisher.subscribe(processor)
    (error,) = dropped.take()
    assert_violation(error, "2.12", "Publisher", "Subscriber Echo")
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    processor.subscribe(subscriber)
    publisher.next(1)
    assert_violation(subscriber.assert_elements(1).assert_error(), "1.1", "Publisher", "Publisher Echo")


def test_strict_returns_a_guarded_party_unchanged() -> None:
    for party in (strict(pyrs.range(3)), strict(ScriptedSubscriber()), strict(Echo())):
        assert strict(party) is party
    assert isinstance(strict(TestPublisher[int]()), pyrs.Stream)
    assert strict(pyrs.range(3)).map(str).collect() == ["0", "1", "2"]
    assert repr(strict(ScriptedSubscriber())) == "<strict Subscriber ScriptedSubscriber, waiting for on_subscribe>"


@pytest.mark.parametrize("party", [None, 3, pyrs.Stream, ScriptedSubscriber, object()])
def test_strict_rejects_other_objects(party: Any) -> None:
    with pytest.raises(TypeError, match="party must be a Publisher, Subscriber or Processor"):
        strict(party)


def test_strict_rejects_coroutine_methods() -> None:
    class Asynchronous(ScriptedSubscriber):
        async def on_next(self, element: Any, /) -> None:  # type: ignore[override]
            pass

    with pytest.raises(TypeError, match="Asynchronous has coroutine functions, which a guard cannot await"):
        strict(Asynchronous())
