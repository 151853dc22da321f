"""strict: each rule that a guard can see broken is reported, with the party by name; what is legal passes."""

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

DEADLINE = 30.0


class Wire(pyrs.Subscription):
    """A Subscription that notes what is asked of it."""

    def __init__(self, on_request: Callable[[int], object] | None = None) -> None:
        self.requested: list[int] = []
        self.cancelled = 0
        self.on_request = on_request

    def request(self, n: int, /) -> None:
        self.requested.append(n)
        if self.on_request is not None:
            self.on_request(n)

    def cancel(self) -> None:
        self.cancelled += 1


class Careless(pyrs.Publisher[Any]):
    """Does with a Subscriber what the test says."""

    def __init__(self, does: Callable[[Any], object]) -> None:
        self.does = does

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.does(subscriber)


class Listener(pyrs.Subscriber[Any]):
    """Keeps its Subscription and does what the test says."""

    def __init__(self, **does: Callable[..., object]) -> None:
        self.does = does
        self.errors: list[BaseException] = []
        self.completed = 0
        self.elements: list[Any] = []

    def on_subscribe(self, subscription: pyrs.Subscription, /) -> None:
        self.subscription = subscription
        self._do("on_subscribe")

    def on_next(self, element: Any, /) -> None:
        self.elements.append(element)
        self._do("on_next")

    def on_error(self, error: BaseException, /) -> None:
        self.errors.append(error)
        self._do("on_error")

    def on_complete(self) -> None:
        self.completed += 1
        self._do("on_complete")

    def _do(self, signal: str) -> None:
        if signal in self.does:
            self.does[signal](self)


def send(subscriber: pyrs.Subscriber[Any], signal: str) -> None:
    signals = {"on_next": partial(subscriber.on_next, 1), "on_error": partial(subscriber.on_error, OSError())}
    signals.get(signal, subscriber.on_complete)()


def verdict(error: BaseException | None, rule: str, party: str, *words: str) -> errors.SpecViolation:
    assert isinstance(error, errors.SpecViolation), error
    assert (error.rule, error.party) == (rule, party)
    assert f"(rule {rule})" in str(error)
    for word in words:
        assert word in str(error)
    return error


def told(source: pyrs.Publisher[Any], request: int | None = 5) -> TestSubscriber[Any]:
    subscriber: TestSubscriber[Any] = TestSubscriber(request)
    strict(source).subscribe(subscriber)
    return subscriber


# A Publisher that breaks a rule.


def test_rule_1_1_more_than_requested() -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW)
    subscriber = told(publisher, 1)
    publisher.next(1, 2, 3)
    error = subscriber.assert_elements(1).assert_error()
    verdict(error, "1.1", "Publisher", "Publisher TestPublisher", "on_next without demand", "1 requested")
    publisher.assert_cancelled(1)


def test_rule_1_1_after_a_cancel_too(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW, Violation.DEFER_CANCELLATION)
    subscriber = told(publisher, 2)
    subscriber.cancel()
    publisher.next(1, 2)
    assert dropped.errors == [], "2.8: these were requested"
    publisher.next(3)
    (error,) = dropped.take()
    verdict(error, "1.1", "Publisher", "TestPublisher")
    subscriber.assert_elements().assert_live()


def test_rule_1_3_two_threads_at_once() -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.CONCURRENT)
    subscriber = told(publisher)
    publisher.next(1, 2, 3)
    error = subscriber.assert_elements(1).assert_error(errors.ConcurrentSignals)
    verdict(error, "1.3", "Publisher", "TestPublisher", "two threads")


def test_rule_1_4_an_error_that_is_none() -> None:
    def fails(subscriber: Any) -> None:
        subscriber.on_subscribe(Wire())
        subscriber.on_error("out of paper")

    verdict(told(Careless(fails)).assert_error(), "1.4", "Publisher", "Careless", "'out of paper'")


def test_rule_1_7_signals_after_the_end(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.CLEANUP_ON_TERMINATE)
    subscriber = told(publisher)
    publisher.emit(1).next(2).complete().error(ValueError("late"))
    subscriber.assert_elements(1).assert_complete()
    reports = dropped.take()
    for error, what in zip(reports, ("on_next", "on_complete", "on_error"), strict=True):
        verdict(error, "1.7", "Publisher", "TestPublisher", f"{what} after the end")


@pytest.mark.parametrize("signal", ["on_next", "on_error", "on_complete"])
def test_rule_1_9_nothing_before_on_subscribe(signal: str) -> None:
    publisher: TestPublisher[Any] = TestPublisher(Violation.NO_ON_SUBSCRIBE)
    subscriber = told(publisher, 0)
    say = {"on_next": partial(publisher.next, 1), "on_error": partial(publisher.error, OSError())}
    say.get(signal, publisher.complete)()
    error = subscriber.assert_elements().assert_error()
    verdict(error, "1.9", "Publisher", "TestPublisher", f"{signal} before on_subscribe")
    assert subscriber.subscription is not None, "the guard itself keeps the rule"


def test_rule_1_9_an_on_subscribe_that_comes_too_late_is_cancelled_and_no_second_one(dropped: Any) -> None:
    wire = Wire()

    def begins_with_an_element(subscriber: Any) -> None:
        subscriber.on_next(1)
        subscriber.on_subscribe(wire)
        subscriber.on_next(2)

    subscriber = told(Careless(begins_with_an_element))
    verdict(subscriber.assert_elements().assert_error(), "1.9", "Publisher")
    assert (wire.cancelled, wire.requested, dropped.errors) == (1, [], [])


def test_rule_1_9_a_subscription_that_is_none() -> None:
    error = told(Careless(lambda subscriber: subscriber.on_subscribe(object()))).assert_error()
    verdict(error, "1.9", "Publisher", "Careless", "object", "has no request()")


@pytest.mark.parametrize("kind", [OSError, GeneratorExit])
def test_rule_1_9_subscribe_returns_normally(kind: type[BaseException]) -> None:
    def raises(subscriber: Any) -> None:
        raise kind("no")

    error = verdict(told(Careless(raises)).assert_error(), "1.9", "Publisher", "Careless: subscribe() raised")
    assert isinstance(error.__cause__, kind)


def test_an_interrupt_in_subscribe_travels_on() -> None:
    def interrupted(subscriber: Any) -> None:
        raise KeyboardInterrupt

    subscriber: TestSubscriber[Any] = TestSubscriber()
    with pytest.raises(KeyboardInterrupt):
        strict(Careless(interrupted)).subscribe(subscriber)
    verdict(subscriber.assert_error(), "1.9", "Publisher")


def test_rule_1_10_the_same_subscriber_twice(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher()
    guarded, subscriber = strict(publisher), TestSubscriber[int](5)
    guarded.subscribe(subscriber)
    guarded.subscribe(subscriber)
    (error,) = dropped.take()
    verdict(error, "1.10", "Subscriber", "TestSubscriber was subscribed again")
    publisher.assert_subscribers(1).emit(1)
    subscriber.assert_elements(1).assert_complete()
    guarded.subscribe(subscriber)  # 3.13 does not forbid it once the first is over; what comes is 2.12's
    assert publisher.subscribe_count == 2
    assert dropped.errors == []
    assert subscriber.violations


def test_rule_2_12_on_subscribe_twice(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.TWO_ON_SUBSCRIBE)
    subscriber = told(publisher)
    (error,) = dropped.take()
    verdict(error, "2.12", "Publisher", "TestPublisher", "Subscriber TestSubscriber", "second time")
    publisher.assert_second_cancelled().emit(1)  # 2.5
    subscriber.assert_elements(1).assert_complete()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_rule_2_13_none(signal: str, dropped: Any) -> None:
    raised: list[BaseException] = []

    def sends_none(subscriber: Any) -> None:
        if signal != "on_subscribe":
            subscriber.on_subscribe(Wire())
        try:
            getattr(subscriber, signal)(None)
        except errors.NullSignal as error:
            raised.append(error)
            raise

    error = told(Careless(sends_none)).assert_elements().assert_error(errors.NullSignal)
    verdict(error, "2.13", "Publisher", f"Careless: {signal}(None)")
    assert raised == [error], "the caller is told at once"
    assert dropped.errors == [], "and once"


# A Subscription that breaks a rule.


def test_rule_3_3_recursion_without_a_bound() -> None:
    deepest = 0

    def recursive(subscriber: Any) -> None:
        depth = 0

        def emit(n: int) -> None:
            nonlocal depth, deepest
            depth += 1
            deepest = max(deepest, depth)
            subscriber.on_next(depth)
            depth -= 1

        subscriber.on_subscribe(Wire(emit))

    subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda self, element: self.request(1))
    strict(Careless(recursive)).subscribe(subscriber)
    verdict(subscriber.assert_error(), "3.3", "Subscription", "Subscription Wire", "nest")
    assert 16 < deepest < 64


def test_rule_3_3_recursion_with_a_bound_is_legal() -> None:
    subscriber: TestSubscriber[Any] = TestSubscriber(1, on_element=lambda self, element: self.request(1))
    strict(pyrs.range(10_000)).subscribe(subscriber)
    assert len(subscriber.await_complete()) == 10_000


def test_rule_3_15_cancel_returns_normally(dropped: Any) -> None:
    class Sticky(Wire):
        def cancel(self) -> None:
            raise OSError("no")

    subscriber = told(Careless(lambda subscriber: subscriber.on_subscribe(Sticky())))
    subscriber.cancel()
    (error,) = dropped.take()
    cause = verdict(error, "3.15", "Subscription", "Subscription Sticky: cancel() raised OSError('no')").__cause__
    assert isinstance(cause, OSError)


def test_rule_3_16_request_returns_normally() -> None:
    def fails(n: int) -> None:
        raise OSError("no")

    wire = Wire(fails)
    subscriber = told(Careless(lambda subscriber: subscriber.on_subscribe(wire)))
    error = verdict(subscriber.assert_error(), "3.16", "Subscription", "Subscription Wire: request(5) raised OSError")
    assert isinstance(error.__cause__, OSError)
    assert wire.cancelled == 1


# A Subscriber that breaks a rule.


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_2_13_a_subscriber_that_raises(signal: str, dropped: Any) -> None:
    def raises(listener: Listener) -> None:
        raise ValueError("mine")

    listener, wire = Listener(**{signal: raises}), Wire()
    guard = strict(listener)
    guard.on_subscribe(wire)
    if signal != "on_subscribe":
        listener.subscription.request(2)
        send(guard, signal)
    (error,), dropped.errors = dropped.errors, []
    verdict(error, "2.13", "Subscriber", f"Subscriber Listener: {signal} raised ValueError('mine')")
    assert isinstance(error.__cause__, ValueError)
    assert wire.cancelled == (signal in ("on_subscribe", "on_next")), "2.13: considered cancelled"
    if signal == "on_next":
        guard.on_next(2)
        assert listener.elements == [1]


@pytest.mark.parametrize("call", ["request", "cancel"])
@pytest.mark.parametrize("signal", ["on_error", "on_complete"])
def test_rule_2_3_the_end_calls_nothing(signal: str, call: str, dropped: Any) -> None:
    def calls(listener: Listener) -> None:
        listener.subscription.request(1) if call == "request" else listener.subscription.cancel()

    wire = Wire()
    guard = strict(Listener(**{signal: calls}))
    guard.on_subscribe(wire)
    send(guard, signal)
    (error,) = dropped.take()
    verdict(error, "2.3", "Subscriber", "Subscriber Listener", call, "inside on_error or on_complete")
    assert (wire.requested, wire.cancelled) == ([], 0)


def test_rule_2_3_calls_after_the_end_are_legal(dropped: Any) -> None:
    listener = Listener()
    guard = strict(listener)
    guard.on_subscribe(Wire())
    guard.on_complete()
    listener.subscription.request(1)
    listener.subscription.cancel()
    assert dropped.errors == []


@pytest.mark.parametrize("call", ["request", "cancel"])
def test_rule_2_7_calls_from_two_threads_at_once(call: str, dropped: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(n: int) -> None:
        if n == 1:
            inside.set()
            assert leave.wait(DEADLINE)

    listener = Listener()
    wire = Wire(slow)
    strict(listener).on_subscribe(wire)
    first = threading.Thread(target=listener.subscription.request, args=(1,))
    first.start()
    assert inside.wait(DEADLINE)
    listener.subscription.request(2) if call == "request" else listener.subscription.cancel()
    (error,) = dropped.take()
    verdict(error, "2.7", "Subscriber", "Subscriber Listener", call, "while another thread")
    assert (wire.requested, wire.cancelled) == (([1, 2], 0) if call == "request" else ([1], 1)), "it is passed on"
    leave.set()
    first.join(DEADLINE)
    listener.subscription.request(3)
    assert dropped.errors == []


def test_rule_2_7_a_request_that_emits_can_be_cancelled_from_elsewhere(dropped: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(listener: Listener) -> None:
        inside.set()
        assert leave.wait(DEADLINE)

    listener = Listener(on_next=slow)
    pyrs.range(10).subscribe(strict(listener))
    first = threading.Thread(target=listener.subscription.request, args=(10,))
    first.start()
    assert inside.wait(DEADLINE)
    listener.subscription.cancel()
    leave.set()
    first.join(DEADLINE)
    assert (listener.elements, dropped.errors) == ([0], [])


def test_rule_2_7_is_the_subscribers_and_not_asked_of_a_strict_publisher(dropped: Any) -> None:
    inside, leave = threading.Event(), threading.Event()

    def slow(n: int) -> None:
        if n == 1:
            inside.set()
            assert leave.wait(DEADLINE)

    listener = Listener()
    strict(Careless(lambda subscriber: subscriber.on_subscribe(Wire(slow)))).subscribe(listener)
    first = threading.Thread(target=listener.subscription.request, args=(1,))
    first.start()
    assert inside.wait(DEADLINE)
    listener.subscription.request(2)
    leave.set()
    first.join(DEADLINE)
    assert dropped.errors == []


@pytest.mark.parametrize("call", ["request", "cancel"])
def test_rule_3_1_calls_before_on_subscribe(call: str, dropped: Any) -> None:
    guard: Any = strict(Listener())
    guard.request(1) if call == "request" else guard.cancel()
    (error,) = dropped.take()
    verdict(error, "3.1", "Subscriber", "Subscriber Listener", call, "before on_subscribe")


@pytest.mark.parametrize("n", [0, -1])
def test_rule_3_9_a_request_of_nothing(n: int) -> None:
    listener, wire = Listener(), Wire()
    guard = strict(listener)
    guard.on_subscribe(wire)
    listener.subscription.request(n)
    (error,) = listener.errors
    verdict(error, "3.9", "Subscriber", "Subscriber Listener", f"request({n})")
    assert isinstance(error, ValueError)
    assert (wire.requested, wire.cancelled) == ([], 1)


def test_a_strict_subscriber_names_the_publisher_as_far_as_it_is_known() -> None:
    listener = Listener()
    guard = strict(listener)
    guard.on_subscribe(Wire())
    guard.on_next(1)
    verdict(listener.errors[0], "1.1", "Publisher", "the Publisher of Wire")


# What is legal, and who is who.


def test_what_keeps_the_rules_is_not_touched(dropped: Any) -> None:
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


def test_a_publisher_is_reported_once_however_long_it_goes_on(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW, Violation.DEFER_CANCELLATION)
    subscriber = told(publisher, 1)
    publisher.next(*range(10)).complete()
    subscriber.assert_elements(0).assert_error(errors.DemandExceeded)
    assert dropped.errors == []


def test_both_at_once() -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.REQUEST_OVERFLOW)
    listener = Listener(on_subscribe=lambda self: self.subscription.request(1))
    strict(publisher).subscribe(strict(listener))
    publisher.next(1, 2)
    assert listener.elements == [1]
    verdict(listener.errors[0], "1.1", "Publisher", "TestPublisher")


class Echo(Listener):
    """A Processor that passes on without a look at anybody's demand."""

    def subscribe(self, subscriber: pyrs.Subscriber[Any], /) -> None:
        self.downstream = subscriber
        subscriber.on_subscribe(Wire(lambda n: self.subscription.request(n)))

    def on_next(self, element: Any, /) -> None:
        self.downstream.on_next(element)
        self.downstream.on_next(element)

    def on_complete(self) -> None:
        self.downstream.on_complete()


def test_rule_4_1_a_processor_is_guarded_on_both_faces(dropped: Any) -> None:
    publisher: TestPublisher[int] = TestPublisher(Violation.TWO_ON_SUBSCRIBE)
    processor = strict(Echo())
    assert isinstance(processor, pyrs.Processor)
    publisher.subscribe(processor)
    (error,) = dropped.take()
    verdict(error, "2.12", "Publisher", "Subscriber Echo")
    subscriber: TestSubscriber[int] = TestSubscriber(1)
    processor.subscribe(subscriber)
    publisher.next(1)
    verdict(subscriber.assert_elements(1).assert_error(), "1.1", "Publisher", "Publisher Echo")


def test_who_is_guarded_already_is_returned() -> None:
    for party in (strict(pyrs.range(3)), strict(Listener()), strict(Echo())):
        assert strict(party) is party
    assert isinstance(strict(TestPublisher[int]()), pyrs.Stream)
    assert strict(pyrs.range(3)).map(str).collect() == ["0", "1", "2"]
    assert repr(strict(Listener())) == "<strict Subscriber Listener, waiting for on_subscribe>"


@pytest.mark.parametrize("party", [None, 3, pyrs.Stream, Listener, object()])
def test_what_is_no_party(party: Any) -> None:
    with pytest.raises(TypeError, match="party must be a Publisher, Subscriber or Processor"):
        strict(party)


def test_the_example_in_the_docstring_runs() -> None:
    import doctest

    from pyrs import strictness

    assert doctest.testmod(strictness) == (0, 4)
